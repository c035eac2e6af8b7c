"""Which operators a piece of code calls."""

from __future__ import annotations

from typing import Any

from tengen.core.interception import Layer


class Called(Layer):
    """Notes the operators that are called: ``names`` has them with their overloads."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __call__(self, operator: Any, arguments: Any, proceed: Any) -> Any:
        self.names.add(operator.name)
        return proceed(*arguments)
