"""Interrupts (Ctrl-C) wherever CPython may deliver one while a program runs.

A signal is looked at when a function starts, when a call has returned and when a loop goes round. ``run``
runs a program and raises KeyboardInterrupt at one of these points in tengen's code; ``points`` counts them.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import tengen

#: The code in which interrupts are delivered.
ROOTS = (str(Path(tengen.__file__).resolve().parent), str(Path(tengen.generated.__file__).resolve().parent))
_CHECKING = ("CALL", "JUMP_BACKWARD", "CALL_FUNCTION_EX", "CALL_KW")
#: Once its own code runs, nobody else can undo what a context did.
_UNDOING = "__exit__"
#: What it raises, and what it calls, Python only prints: an interrupt there is lost.
_FINALIZING = "__del__"


class Interruptions:
    """Counts the points that a program passes, and raises at one of them."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        #: Where each point so far was: the code and the place in it.
        self.places: list[tuple[CodeType, int]] = []
        self.raised = False
        self._last: dict[FrameType, str] = {}
        self._finalizing = False

    def start(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A function is entered."""
        if frame.f_back is not None:
            self._last.pop(frame.f_back, None)  # nothing is looked at when a function of Python's returns
        if self._finalizing or not _ours(frame.f_code):
            return None
        if frame.f_code.co_name == _FINALIZING:
            self._finalizing = True
            return self._finalized
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if frame.f_code.co_name != _UNDOING and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            self._point(frame)
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            before = self._last.get(frame, "")
            self._last[frame] = _names(frame.f_code).get(frame.f_lasti, "")
            if before in _CHECKING:
                self._point(frame)
        elif event == "return":
            self._last.pop(frame, None)
        return self._step

    def _finalized(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._finalizing = event != "return"
        return self._finalized

    def _point(self, frame: FrameType) -> None:
        self.places.append((frame.f_code, frame.f_lasti))
        if len(self.places) == self.at:
            self.raised = True
            sys.settrace(None)
            raise KeyboardInterrupt


@cache
def _ours(code: CodeType) -> bool:
    return code.co_filename.startswith(ROOTS)


@cache
def _names(code: CodeType) -> dict[int, str]:
    return {i.offset: i.opname for i in dis.get_instructions(code)}


def run(program: Callable[[], object], at: int | None) -> Interruptions:
    """Run a program; at the ``at``-th point it is interrupted, if it has as many."""
    found = Interruptions(at)
    before = sys.gettrace()
    sys.settrace(found.start)
    try:
        program()
    except KeyboardInterrupt:
        if not found.raised:
            raise
    finally:
        sys.settrace(before)
    return found


def points(program: Callable[[], object]) -> list[tuple[CodeType, int]]:
    """The points at which the program can be interrupted: the code and the place in it."""
    return run(program, None).places
