"""Where the program is that uses tengen: the frames of the stack that are not tengen's own, nor a library's.

A frame belongs to them by the name of its module, wherever that is installed.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import ClassVar

#: What stands between the program and the library: context managers and decorators.
_BETWEEN = ("contextlib", "functools")
#: The packages of a library with what its declarations name or generate: what else it has is a program.
_OF_LIBRARIES = ("generated", "kernels", "composite", "formulas", "onnx")
_libraries: tuple[str, ...] = ()


def add_library(package: str) -> None:
    """From now on the operators of a library are no program, and their numbers no event."""
    global _libraries
    _libraries += tuple([f"{package}.{name}." for name in _OF_LIBRARIES])
    ignore_numbers()


def ignore_numbers() -> None:
    """Warn of no division by zero in code of tengen and its libraries: the result says so, as in PyTorch."""
    own = "|".join([re.escape(name) for name in ("tengen.", *_libraries)])
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=own)


def _is_program(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__") or ""
    own = name.partition(".")[0] == "tengen" or name in _BETWEEN
    return not own and not f"{name}.".startswith(_libraries)


def program_frames() -> Iterator[FrameType]:
    """The frames of the program, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_program(frame):
            yield frame
        frame = frame.f_back


def program_stacklevel() -> int:
    """The ``stacklevel`` with which the caller's ``warnings.warn`` points at the program."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and not _is_program(frame):
        level, frame = level + 1, frame.f_back
    return level


class Warned:
    """What ``warn_once`` has warned of."""

    subjects: ClassVar[set[str]] = set()
    #: Whether it warns each time, as ``set_warn_always`` says.
    always = False


def warn_once(subject: str, text: str) -> None:
    """Give a UserWarning at the program's line, unless one of this subject was given before."""
    if subject not in Warned.subjects or Warned.always:
        Warned.subjects.add(subject)
        warnings.warn(text, UserWarning, stacklevel=program_stacklevel())


def warn_old(function: str, now: str) -> None:
    """Warn once that a function of ``tengen`` is PyTorch's older form of what is ``now``."""
    warn_once(function, f"tengen.{function} is deprecated, as it is in PyTorch. Please use {now} instead.")


def program_call() -> tuple[str, str]:
    """The function of tengen's that the program called, by its name, and where: ``step.py, line 12``."""
    frame, function = sys._getframe(1), ""
    while frame.f_back is not None and not _is_program(frame):
        function, frame = frame.f_code.co_name, frame.f_back
    return function, f"{frame.f_code.co_filename}, line {frame.f_lineno}"
