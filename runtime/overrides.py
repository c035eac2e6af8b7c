"""Function overrides, as ``torch.overrides``: tensor subclasses, tensor-like objects and modes.

A class that defines the classmethod ``__tengen_function__(cls, func, types, args=(), kwargs=None)`` is given
each call of a public function, method or property of Tensor that has one of its instances as an argument, or
in a list that is one. What it returns is the result; NotImplemented leaves the call to the next one asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from types import FunctionType, ModuleType, TracebackType
from typing import Any, Self

from .core.function_dispatch import (
    NO_ARGUMENTS,
    NOTHING,
    UNHANDLED,
    at_level,
    disabled_impl as _disabled_tengen_function_impl,  # noqa: F401
    dispatch,
    handler_of,
    nobody,
    overloaded,
    overridable_functions,
    state,
)
from .core.interception import Layer
from .core.package_name import package
from .tensors.overridable import NOT_OVERRIDABLE, get_default_nowrap_functions as get_default_nowrap_functions
from .tensors.tensor import Tensor

__all__ = [
    "BaseTengenFunctionMode",
    "DisableTengenFunction",
    "DisableTengenFunctionSubclass",
    "TengenFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_tengen_function",
    "has_tengen_function",
    "has_tengen_function_unary",
    "has_tengen_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_tengen_function",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class DisableTengenFunctionSubclass(at_level):
    """``with DisableTengenFunctionSubclass():`` no argument overrides anything in this thread; modes do."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(NO_ARGUMENTS)


class DisableTengenFunction(at_level):
    """``with DisableTengenFunction():`` nothing is overridden in this thread, by arguments or modes."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(NOTHING)


class TengenFunctionMode:
    """``with mode:`` hands each call of this thread to ``mode.__tengen_function__``, whatever its arguments.

    A subclass defines ``__tengen_function__(self, func, types, args=(), kwargs=None)``. While that runs, the
    mode itself is left: ``func(*args, **kwargs)`` goes on to the next mode, to subclasses, and to tensors.
    Attributes and methods of plain tensors that compute nothing (``x.shape``, ``x.dim()``) are not seen.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if package.name != "tengen" and "__torch_function__" in cls.__dict__:
            cls.__tengen_function__ = cls.__torch_function__  # type: ignore[attr-defined,method-assign]

    def __tengen_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        # What makes the bindings come by; as an interceptor of operators it does nothing.
        layer = Layer()
        self.__dict__.setdefault("_layers", []).append(layer)
        layer.enter()
        state.modes = (*state.modes, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.modes = state.modes[:-1]
        layers = self.__dict__["_layers"]
        layer = layers[-1]
        del layers[-1]  # not ``pop``: a call is where an interrupt may come
        layer.__exit__()


class BaseTengenFunctionMode(TengenFunctionMode):
    """A mode that runs each call as it is: a base for modes that change some of them."""

    def __tengen_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


# -- for functions that are written outside ----------------------------------------------------


def has_tengen_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments overrides functions, or a mode is entered."""
    if state.level == NOTHING:
        return False
    if state.modes:
        return True
    return state.level < NO_ARGUMENTS and any([handler_of(value) is not None for value in relevant_args])


def has_tengen_function_unary(value: Any) -> bool:
    """Whether ``value`` overrides functions, or a mode is on: ``has_tengen_function((value,))``."""
    return has_tengen_function((value,))


def has_tengen_function_variadic(*values: Any) -> bool:
    """Whether one of ``values`` overrides functions, or a mode is on: ``has_tengen_function(values)``."""
    return has_tengen_function(values)


def handle_tengen_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let whoever overrides the call ``public_api(*args, **kwargs)`` run it, and return the result.

    ``relevant_args`` are the arguments to be asked. TypeError when none takes it.
    """
    result = dispatch(public_api, args, kwargs, overloaded(relevant_args))
    if result is UNHANDLED:
        raise nobody(public_api, (), [])
    return result


def wrap_tengen_function(
    dispatcher: Callable[..., Iterable[Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes a function overridable; ``dispatcher`` gives the arguments to be asked."""

    def inner(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_tengen_function(relevant):
                return handle_tengen_function(public, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return public

    return inner


def is_tensor_like(value: Any) -> bool:
    """Whether it is a Tensor, or an object with ``__tengen_function__``."""
    return type(value) is Tensor or hasattr(value, "__tengen_function__")


# -- what there is -----------------------------------------------------------------------------------


def _namespaces() -> list[ModuleType]:
    import tengen
    import tengen.linalg
    import tengen.nn.functional
    import tengen.special

    return [tengen, tengen.nn.functional, tengen.linalg, tengen.special]


@cache
def _overridable_by_name() -> dict[Any, str]:
    """Each function, method and property's getter that can be overridden, and its name."""
    found: dict[Any, str] = {}
    for module in _namespaces():
        for name, value in vars(module).items():
            if not name.startswith("_") and isinstance(value, FunctionType) and _is_overridable(value):
                found.setdefault(value, f"{module.__name__}.{name}")
    for name, value in _method_dict().items():
        if isinstance(value, property):
            found[value.__get__] = f"tengen.Tensor.{name}.__get__"
            if value.fset is not None:
                found[value.__set__] = f"tengen.Tensor.{name}.__set__"
            if value.fdel is not None:
                found[value.__delete__] = f"tengen.Tensor.{name}.__delete__"
        elif isinstance(value, FunctionType):
            found[value] = f"tengen.Tensor.{name}"
    return found


def _method_dict() -> Mapping[str, Any]:
    from .tensors.metaclass import ancestor

    found: Mapping[str, Any] = vars(ancestor())
    return found


def _is_overridable(function: FunctionType) -> bool:
    return function in overridable_functions or function.__module__.startswith("tengen.generated.")


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """What can be overridden, by where it is: ``tengen``, ``tengen.nn.functional``, ``tengen.Tensor`` ..."""
    homes: dict[str, Any] = {module.__name__: module for module in _namespaces()} | {"tengen.Tensor": Tensor}
    found: dict[Any, list[Callable[..., Any]]] = {home: [] for home in homes.values()}
    for function, name in _overridable_by_name().items():
        home = "tengen.Tensor" if name.startswith("tengen.Tensor.") else name.rpartition(".")[0]
        found[homes[home]].append(function)
    return found


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be overridden one that takes the same arguments, and returns -1.

    They are for tests of whether a class overrides all there is.
    """
    return {function: _returning(function) for function in _overridable_by_name()}


def _returning(function: Callable[..., Any]) -> Callable[..., int]:
    """A function of the same signature. TypeError, as from that, for arguments which it does not take."""
    signature = inspect.signature(function)

    def override(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    override.__signature__ = signature  # type: ignore[attr-defined]
    return override


@cache
def get_ignored_functions() -> frozenset[Callable[..., Any]]:
    """The public functions that nothing overrides: they take no tensors, or make them of something else."""
    found: set[Callable[..., Any]] = {getattr(Tensor, name) for name in NOT_OVERRIDABLE}
    for module in _namespaces():
        for name, value in vars(module).items():
            if not name.startswith("_") and isinstance(value, FunctionType) and not _is_overridable(value):
                found.add(value)
    return frozenset(found)


def resolve_name(f: Callable[..., Any]) -> str | None:
    """``"tengen.Tensor.add"`` and the like, of a function that can be overridden; None for any other."""
    return _overridable_by_name().get(f)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is a method, or what reads, sets or deletes a property, of Tensor."""
    name = resolve_name(func)
    return name is not None and name.startswith("tengen.Tensor.")
