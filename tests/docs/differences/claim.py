"""What a claim is, and how its program is run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Claim:
    """The name of a paragraph, a program, and what it gives here and there: a value, or an error's class.

    In the program ``m`` is the library. Its last line is the expression looked at.
    """

    name: str
    program: str
    here: Any
    there: Any


def outcome(program: str, library: Any) -> Any:
    """What a program's last line gives, or the class of the error it ends with."""
    *_, last = program.strip().splitlines()
    scope = {"m": library, "np": np, "warnings": warnings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tengen\.")
        try:
            exec(program.strip().removesuffix(last), scope)
            return eval(last, scope)
        except Exception as error:
            return type(error)
