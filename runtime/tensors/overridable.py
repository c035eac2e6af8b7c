"""What subclasses of Tensor have in place of its methods: such as ``__tengen_function__`` can take over."""

from __future__ import annotations

import operator as _operators
from collections.abc import Callable, Sequence
from functools import cache, wraps
from types import FunctionType
from typing import Any

from tengen.generated.tensor_methods import SPECIAL

from ..core.function_dispatch import NO_ARGUMENTS, UNHANDLED, at_level, dispatch
from ..core.tensor_base import TensorBase
from .tensor import Tensor


@cache
def get_default_nowrap_functions() -> frozenset[Any]:
    """The functions whose results the default handler leaves as they are: they return a tensor kept."""
    return frozenset({Tensor.grad.__get__})


def default_handler(
    cls: type[Tensor], func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...], kwargs: Any
) -> Any:
    """``Tensor.__tengen_function__``: what ``func`` returns, its tensors as instances of ``cls``."""
    if not all([issubclass(cls, kind) for kind in types]):
        return NotImplemented
    with at_level(NO_ARGUMENTS):
        result = func(*args, **(kwargs or {}))
        return result if func in get_default_nowrap_functions() else _convert(result, cls)


def _convert(result: Any, cls: type[Tensor]) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)([_convert(value, cls) for value in result])
    return result


# -- the methods of subclasses ---------------------------------------------------------------------

#: What a subclass has as plain tensors do: making instances, and what calls other methods only.
NOT_OVERRIDABLE = frozenset(
    {"__new__", "__hash__", "__dir__", "__iter__", "__delitem__", "__tengen_function__", "as_subclass"}
)


def make_ancestor(tensor: Any) -> Any:
    """The class between Tensor and its subclasses: the methods and properties that can be overridden."""
    namespace: dict[str, Any] = {
        "__module__": "tengen.overrides",
        "__slots__": (),
        "__doc__": "What subclasses of Tensor have in place of its methods: such as can be overridden.",
        "__hash__": tensor.__hash__,
    }
    for kind in reversed(tensor.__mro__):
        if kind is not object and kind is not TensorBase:
            for name, raw in vars(kind).items():
                made = _override(name, raw)
                if made is not None:
                    namespace[name] = made
    return type(tensor)("OverridableTensor", (tensor,), namespace, is_ancestor=True)


def refresh(ancestor: Any, name: str) -> None:
    """Follow an assignment to an attribute of Tensor, or its end."""
    if name in vars(ancestor):
        delattr(ancestor, name)
    raw = next((vars(k)[name] for k in Tensor.__mro__ if name in vars(k)), None)
    made = _override(name, raw)
    if made is not None:
        setattr(ancestor, name, made)


def _override(name: str, raw: Any) -> Any:
    """The method or property ``raw`` as one that can be overridden; None when it is not to be."""
    special = name.startswith("__") and name.endswith("__")
    if name in NOT_OVERRIDABLE or (name.startswith("_") and not special and not isinstance(raw, property)):
        return None
    return _made_of(name, raw) if isinstance(raw, (FunctionType, property)) else None


@cache  # handlers compare functions: what was assigned to Tensor for a while is the same again afterwards
def _made_of(name: str, raw: Any) -> Any:
    if isinstance(raw, property):
        return _property(raw)
    known = SPECIAL.get(name)
    made = _method(name, raw) if known is None else _special(name, raw, known)
    made.__name__, made.__qualname__, made.__module__ = name, f"Tensor.{name}", "tengen"
    return made


def _method(name: str, raw: FunctionType) -> Any:
    @wraps(raw)
    def method(*args: Any, **kwargs: Any) -> Any:
        result = dispatch(method, args, kwargs)
        if result is not UNHANDLED:
            return result
        if args:
            _check_self(name, args[0])
        return raw(*args, **kwargs)

    return method


def _check_self(name: str, value: Any) -> None:
    """Raise TypeError where a method is called, as a function, with something else than a tensor first."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"descriptor '{name}' for 'Tensor' objects doesn't apply to a '{type(value).__name__}' object"
        )


def _special(name: str, raw: FunctionType, known: str) -> Any:
    """One of Python's operators. It sees to it that handlers are given the operands in their order."""
    reflected = name.startswith("__r") and hasattr(_operators, f"__{name[3:]}")

    @wraps(raw)
    def method(self: Any, *others: Any) -> Any:
        if (
            reflected
            and type(self) is not Tensor
            and type(others[0]) is Tensor
            and getattr(type(self), name) is method
        ):
            # Python asks the subclass first; the plain operand on the left comes to the same handler.
            return NotImplemented
        try:
            result = dispatch(method if known == name else known, (self, *others), {})
        except TypeError:
            if others:
                return NotImplemented
            raise
        if result is not UNHANDLED:
            return result
        _check_self(name, self)
        return raw(self, *others)

    return method


def _property(raw: property) -> property:
    plain: Any = raw  # of which a checker believes that it may lack what it has

    def getter(self: Any) -> Any:
        result = dispatch(made.__get__, (self,), {})
        return plain.fget(self) if result is UNHANDLED else result

    def setter(self: Any, value: Any) -> None:
        if dispatch(made.__set__, (self, value), {}) is UNHANDLED:
            plain.fset(self, value)

    def deleter(self: Any) -> None:
        if dispatch(made.__delete__, (self,), {}) is UNHANDLED:
            plain.fdel(self)

    made = property(getter, raw.fset and setter, raw.fdel and deleter, raw.__doc__)
    return made
