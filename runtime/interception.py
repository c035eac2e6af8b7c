"""What stands between a call of an operator and its Type.

The profiler, tracing, forward mode, batching and function overrides all hang on the one
object below: a generated binding tests it once and takes the second path when it is not
empty. Whatever enters this list sees every call of an operator, newest first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tengen.operator import Operator


class Interceptor(Protocol):
    """Runs an operator in place of its Type; ``proceed`` is the rest of the path."""

    def __call__(
        self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]
    ) -> Any: ...


#: The active interceptors. Never rebound: generated code holds this very list.
active: list[Interceptor] = []
