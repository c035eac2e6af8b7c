"""PyTorch's compiler, by its names: there is none here, so functions and modules run as they are written.

``compile`` gives back what it was given, and the questions answer that nothing is being compiled. The graph
of a function is made by ``tengen.jit.trace``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """The function or module itself, uncompiled; without one a decorator.

    The options change nothing. RuntimeError where both ``mode`` and ``options`` are given, TypeError for what
    cannot be called.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if model is None:
        return lambda function: compile(function)
    if not callable(model):
        raise TypeError(f"compile(): expected a function or a module, but got {type(model).__name__}")
    return model


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_exporting() -> bool:
    """False: nothing is exported by a compiler."""
    return False


def reset() -> None:
    """Nothing: there are no compiled functions to forget."""


def list_backends(exclude_tags: Iterable[str] = ("debug", "experimental")) -> list[str]:
    """The compilers that there are: none."""
    return []


def cudagraph_mark_step_begin() -> None:
    """Nothing: work is not recorded."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself; without one a decorator that changes nothing."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself."""
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[Any], Any]:
    """A decorator that changes nothing."""
    return lambda function: function


class set_stance(nullcontext[None]):
    """How to compile from here on, or within ``with``: it changes nothing. Also a decorator."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        super().__init__()

    def __call__(self, fn: Any) -> Any:
        return fn
