"""``tengen.compile``: functions and modules whose calls become programs of machine code.

A compiled function gives what the function gives. Its first call is made as it is written and recorded; the
program that is made of it is compared with it, in the next call once more. What no program repeats is called
as it is written in all calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compilation.explain import Report

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

#: The compilers by PyTorch's names: there is one.
_BACKENDS = ("native", "inductor")
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_CHECKS = ("first", "always")


def __dir__() -> list[str]:
    return sorted(__all__)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "native",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """The function or module ``model``, compiled; without one a decorator.

    A call runs a program that was made for its kind: the dtypes, shapes and strides of the tensors, the
    values of all other arguments, the modes of tengen, and what the function reads of Python's objects. A
    call of another kind makes one, of at most ``options={"limit": 8}``. Results, errors, random numbers and
    gradients of any order are the function's. Of a Module the result is a Module with the same parameters.
    Without llvmlite (``pip install tengen[compile]``) all calls are made as they are written.

    ``fullgraph``: a call of which no program can be made is a RuntimeError, which says why. ``backend`` is
    ``"native"`` (``"inductor"`` means the same); with ``"eager"`` and ``"aot_eager"`` all calls are made as
    they are written. ``options={"check": "always"}`` compares each call with the function. ``mode`` and
    ``dynamic`` are PyTorch's, and change nothing. ``disable`` gives back the model.

    Raises RuntimeError where both ``mode`` and ``options`` are given, or one of them is unknown, or the
    backend; TypeError for what cannot be called.
    """
    given = _options(fullgraph, backend, mode, options)
    if model is None:
        return lambda function: _compiled(function, given, disable)
    return _compiled(model, given, disable)


def _options(
    fullgraph: bool, backend: Any, mode: str | None, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    given = {"fullgraph": fullgraph, **(options or {})}
    if backend in ("eager", "aot_eager"):
        given["eager"] = True
    elif backend not in _BACKENDS:
        known = ", ".join([*_BACKENDS, "eager", "aot_eager"])
        raise RuntimeError(f"compile(): backend={backend!r} is unknown, there are {known}")
    if given.get("check", "first") not in _CHECKS:
        raise RuntimeError(
            f"compile(): options['check'] must be one of {', '.join(_CHECKS)}, not {given['check']!r}"
        )
    limit = given.get("limit", 1)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise RuntimeError(f"compile(): options['limit'] must be a number of programs, not {limit!r}")
    return given


def _compiled(model: Any, options: dict[str, Any], disable: bool) -> Any:
    if not callable(model):
        raise TypeError(f"compile(): expected a function or a module, but got {type(model).__name__}")
    if disable or options.get("eager"):
        return model
    from .compilation.function import Compiled
    from .compilation.optimized_module import OptimizedModule
    from .nn.modules.module import Module

    if isinstance(model, Compiled | OptimizedModule):
        return model
    return OptimizedModule(model, options) if isinstance(model, Module) else Compiled(model, options)


def explain(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """Call a function, compiled or not, and say what its program is, and what of it is called as it is."""
    from .compilation.explain import explain

    return explain(fn, *args, **kwargs)


def is_compiling() -> bool:
    """False: the call of which a program is made is the function's own."""
    return False


def is_dynamo_compiling() -> bool:
    """False, as ``is_compiling``."""
    return False


def is_exporting() -> bool:
    """False: nothing is exported by a compiler."""
    return False


def reset() -> None:
    """Forget the programs of all compiled functions."""
    from .compilation.function import functions

    for function in list(functions):
        function.reset()


def list_backends(exclude_tags: Iterable[str] = ("debug", "experimental")) -> list[str]:
    """The compilers that there are."""
    return [*_BACKENDS]


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


class set_stance:
    """What calls of compiled functions do from here on in this thread, or within ``with``. Also a decorator.

    ``"default"``; ``"force_eager"``: they are made as they are written; ``"eager_on_recompile"``: so are
    those that would need another program; ``"fail_on_recompile"``: these are a RuntimeError. RuntimeError for
    another.
    """

    def __init__(self, stance: str = "default", **options: Any) -> None:
        from .compilation.stances import STANCES, stance as current

        if stance not in STANCES:
            raise RuntimeError(f"invalid stance {stance!r}, there are {', '.join(STANCES)}")
        self._stance, self._before = stance, current.name
        current.name = stance

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *error: object) -> None:
        self._set(self._before)

    def __call__(self, fn: Any) -> Any:
        self._set(self._before)

        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self._stance):
                return fn(*args, **kwargs)

        return called

    @staticmethod
    def _set(name: str) -> None:
        from .compilation.stances import stance

        stance.name = name
