"""Where the program is that uses tengen: the frames of the stack that are not the library's own.

A frame belongs to the library by the name of its module, wherever that is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

#: What stands between the program and the library: context managers and decorators.
_BETWEEN = ("contextlib", "functools")


def _is_program(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0] != "tengen" and name not in _BETWEEN


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
