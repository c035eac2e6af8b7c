"""The last line of a traceback that comes out of generated code: where that was declared."""

from __future__ import annotations

from types import TracebackType
from typing import Any

_MARK = "declared in "


def note_operator(error: BaseException, name: str) -> None:
    """Add where the operator with this full name, or function, is declared, unless that was said."""
    from tengen.generated.operators import OVERLOADS
    from tengen.generated.places import OPERATORS

    full = name if name in OPERATORS else next(iter(OVERLOADS.get(name, ())), name)
    place = OPERATORS.get(full)
    if place is not None:
        _note(error, f"{full} is {_MARK}{place}")


def note_derivative(error: BaseException) -> None:
    """Add where the derivative is declared whose Node the error came out of."""
    from tengen.generated.places import NODES

    node: Any = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name in ("apply", "apply_graph") and "generated" in code.co_filename:
            node = trace.tb_frame.f_locals.get("node")
        trace = trace.tb_next
    found = NODES.get(type(node).__name__) if node is not None else None
    if found is not None:
        _note(error, f"the derivative of {found[0]} is {_MARK}{found[1]}", "the derivative of ")


def _note(error: BaseException, text: str, kind: str = "") -> None:
    """Add a note, the innermost one of its kind only."""
    for note in getattr(error, "__notes__", ()):
        if _MARK in note and note.startswith("the derivative of ") == bool(kind):
            return
    error.add_note(text)
