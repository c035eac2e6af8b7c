"""``Tensor.grad_dtype``: which dtype the gradient of a leaf has, where that is not the leaf's own."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.scalar_type import dtype
from .autograd_meta import meta_of


class AnyDtype:
    """Stands for the Type of gradients that arrive in any dtype, and keep it."""

    __slots__ = ("backend", "leaf")

    #: The dtype of no array, so that none passes for one that needs no look.
    dtype: ClassVar[Any] = object()
    scalar_type: ClassVar[None] = None
    any_dtype: ClassVar[bool] = True

    def __init__(self, leaf: Any) -> None:
        self.leaf = leaf  # its Type
        self.backend = leaf.backend

    def of_array(self, array: Any) -> Any:
        """The Type of a gradient."""
        return self.leaf.of_array(array)

    def accepted(self, array: Any) -> Any:
        """The Type that it has there: its own, but a real one for a real leaf."""
        found = self.leaf.of_array(array)
        return found if self.leaf.scalar_type.is_complex else found.real_type

    def wrap(self, array: Any) -> Any:
        """A new tensor over a gradient."""
        return self.leaf.of_array(array).wrap(array)


def grad_type_of(tensor: Any) -> Any:
    """The Type that gradients have where they are added to a leaf's ``grad``."""
    meta = tensor._meta
    return tensor._type if meta is None or meta.grad_type is None else meta.grad_type


def grad_dtype_of(tensor: Any) -> dtype | None:
    """The dtype of a leaf's gradient; None for any. RuntimeError for a tensor that is no leaf."""
    if tensor._edge is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    found: dtype | None = grad_type_of(tensor).scalar_type
    return found


def set_grad_dtype(tensor: Any, value: Any) -> None:
    """Let a leaf's gradient have another dtype, or with None any; RuntimeError where it cannot."""
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"grad_dtype must be a tengen.dtype or None, but got {type(value).__name__}")
    if tensor._edge is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    meta = meta_of(tensor)
    grad = meta.grad
    if value is not None and grad is not None and grad._type.scalar_type is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value}' because there is already a gradient with dtype "
            f"'{grad._type.scalar_type}'. Please clear the gradient (.grad = None) before changing "
            "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
        )
    meta.grad_type = AnyDtype(tensor._type) if value is None else tensor._type.of(value)
    meta.fit_accumulator(tensor._array.shape, tensor._type)


def check_grad_dtype(tensor: Any, grad: Any) -> None:
    """Raise RuntimeError for a gradient whose dtype a tensor's may not have."""
    found, wanted = grad._type.scalar_type, grad_type_of(tensor).scalar_type
    if wanted is not None and found is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{found}' to a tensor with grad_dtype '{wanted}'. "
            "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set "
            "the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
            "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match."
        )
