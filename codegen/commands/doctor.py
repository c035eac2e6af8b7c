"""``tengen doctor``: whether tengen and NumPy could be faster on this machine, and what makes them so.

The kernels that NumPy's OpenBLAS chose are named and timed beside others, and it is said which native
kernels tengen has here, why, and what they bring. Nothing is changed; the exit status is 1 where a setting
is advised.
"""

from __future__ import annotations

import argparse
from importlib import import_module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none."""


def run(options: argparse.Namespace) -> int:
    """Print the report."""
    doctor = import_module("tengen.utils.doctor")  # it needs NumPy, which the generator does not
    status: int = doctor.main([])
    return status
