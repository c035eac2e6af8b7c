"""What the two runs of a checkpoint have done, for when they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.interception import Layer
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_frames


class OperatorLog(Layer):
    """Notes each operator that is called, what with, and where the call is in the program."""

    observer = True

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[str] = []

    def __enter__(self) -> OperatorLog:
        self.lines.clear()
        self.places.clear()
        self.enter()
        return self

    def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        if not operator.decomposes:
            given = ", ".join([_described(value) for value in arguments])
            self.lines.append(f"{operator.name}({given})")
            self.places.append(_place())
        return proceed(*arguments)

    def text(self) -> str:
        """The operators, one a line, each below the line of the program that called it."""
        pairs = zip(self.places, self.lines, strict=True)
        return "\n".join([f"{place}\n    {line}" for place, line in pairs]) or "(no operator)"


def _described(value: Any) -> str:
    if isinstance(value, TensorBase):
        return f"{value._type.scalar_type}{list(value._array.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join([_described(v) for v in value])}]"
    return repr(value)


def _place() -> str:
    """The innermost line of the program that is not the library's own."""
    for frame in program_frames():
        return f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}"
    return ""


def explained(error: Exception, first: OperatorLog, second: OperatorLog) -> str:
    """The text of an error together with both logs."""
    return (
        f"{error}\n\nThe operators of both runs follow, as `debug=True` asks for.\n\n"
        f"Operations executed during the original forward:\n\n{first.text()}\n\n"
        f"Operations executed during recomputation:\n\n{second.text()}"
    )
