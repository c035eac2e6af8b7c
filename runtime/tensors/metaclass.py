"""The class of the class Tensor: it gives subclasses methods that can be overridden.

Plain tensors keep the methods that Tensor has, and pay nothing. A subclass that takes part in function
overrides gets an ancestor between itself and Tensor, whose methods ask ``__tengen_function__`` first. These
are also what ``Tensor.add`` is when it is looked up in the class: a handler is given that function, compares
it, and calls it with arguments that may be overridden again.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from ..core.function_dispatch import disabled_impl
from ..core.package_name import package
from ..core.tensor_base import declare_tensor

_get = type.__getattribute__
#: The ancestor of Tensor's subclasses, with its methods by name; made late.
_ancestor: Any = None
Tensor: Any = None  # until it is defined
declare_tensor(globals())


class TensorMeta(type):
    """The metaclass of Tensor."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        if package.name != "tengen" and "__torch_function__" in namespace:
            namespace.setdefault("__tengen_function__", namespace["__torch_function__"])
        namespace.setdefault("__module__", sys._getframe(1).f_globals.get("__name__", "builtins"))
        if Tensor is not None and not options.pop("is_ancestor", False):
            bases = _with_ancestor(bases, namespace)
        return super().__new__(mcls, name, bases, namespace, **options)

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        options.pop("is_ancestor", None)
        super().__init__(name, bases, namespace)

    def __getattribute__(cls, name: str) -> Any:
        found = _get(cls, name)
        if cls is Tensor and (found.__class__ is FunctionType or found.__class__ is property):
            return _get(ancestor(), "__dict__").get(name, found)
        return found

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        cls._changed(name)

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        cls._changed(name)

    def _changed(cls, name: str) -> None:
        """Subclasses of Tensor follow when somebody gives it another method."""
        if cls is Tensor and _ancestor is not None:
            from .overridable import refresh

            refresh(_ancestor, name)


def ancestor() -> Any:
    """The class between Tensor and its subclasses."""
    global _ancestor
    if _ancestor is None:
        from .overridable import make_ancestor

        _ancestor = make_ancestor(Tensor)
    return _ancestor


def _with_ancestor(bases: tuple[type, ...], namespace: dict[str, Any]) -> tuple[type, ...]:
    """The bases of a subclass of Tensor: with the ancestor unless it opts out of overrides."""
    inherited = [vars(k) for b in bases for k in b.__mro__]
    handler = next(
        (v for d in (namespace, *inherited) if (v := d.get("__tengen_function__")) is not None), None
    )
    if handler is disabled_impl or any([_ancestor in b.__mro__ for b in bases]):
        return bases
    if Tensor in bases:
        return tuple([ancestor() if b is Tensor else b for b in bases])
    return (*bases, ancestor())
