"""Parameter and Buffer: tensors that a module takes for its own when they are assigned to it.

They are here, below ``tengen.nn``, for files of weights have them; ``tengen.nn.parameter`` is their name.
"""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import empty

from ..core.function_dispatch import disabled_impl, plain, without_overrides
from ..core.memory_format import preserve_format
from .metaclass import TensorMeta
from .pickling import rebuild_parameter
from .tensor import Tensor, make_subclass


class _ParameterMeta(TensorMeta):
    """Tensors of other subclasses that a Parameter was to be made of are instances, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter: one that is assigned to a module is in its ``parameters()``.

    It shares the memory of ``data``, an empty tensor if that is None, and is a leaf. Of a subclass of Tensor
    an instance of that is made, for which ``isinstance(p, Parameter)`` holds as well. RuntimeError where
    ``detach()`` of it returns something else, or where a dtype can not have gradients that it is to have.
    Functions of parameters return plain tensors.
    """

    __module__ = "tengen.nn.parameter"
    __slots__ = ()
    __tengen_function__ = disabled_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            made = make_subclass(cls, data)
            if requires_grad:
                made.requires_grad = True
            return made
        other = data.detach().requires_grad_(requires_grad)
        if type(other) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
                f"returns an instance of the same type, but return type {type(other).__name__} was found "
                "instead. To use the type as a Parameter, please correct the detach() semantics "
                "defined by its __tengen_function__() implementation."
            )
        other._is_param = True
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A Parameter with memory of its own; neither its gradient nor attributes given to it are copied."""
        if id(self) not in memo:
            copied = self.data.clone(memory_format=preserve_format)
            memo[id(self)] = type(self)(copied, self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return rebuild_parameter, (self.data, self.requires_grad, dict(self.__dict__))


class _BufferMeta(TensorMeta):
    """Plain tensors that ``Buffer`` made are its instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is a module's buffer: one that is assigned to a module is in its ``buffers()``.

    What is made is detached of ``data``, whose memory it shares, and has its class. With
    ``persistent=False`` it is not in the module's ``state_dict``.
    """

    __module__ = "tengen.nn.parameter"
    __slots__ = ()
    __tengen_function__ = disabled_impl

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


# Bindings and dispatch take parameters for plain tensors: they override nothing.
plain.add(Parameter)
without_overrides.add(Parameter)
