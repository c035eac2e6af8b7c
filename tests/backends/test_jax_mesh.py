"""Tensors spread over several devices of JAX's: 8 virtual ones, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="NOT TESTED: JAX is not installed")

PROGRAM = Path(__file__).resolve().with_name("jax_mesh_program.py")


def test_parallel_training_has_the_numbers_of_one_device_and_shardings_are_kept() -> None:
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
