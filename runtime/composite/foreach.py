"""What the operators over lists of tensors, ``_foreach_*``, are made of beside the operators themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.grad_mode import no_grad
from ..core.scalar_type import dtype, float32

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


def tensors_of(function: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The tensors. RuntimeError if there are none."""
    if not tensors:
        raise RuntimeError(f"{function}(): Tensor list must have at least one tensor.")
    return tensors


def in_step(function: str, **lists: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """What the lists have at the same places. RuntimeError where they are empty, or not equally long."""
    (first, tensors), *others = lists.items()
    count = len(tensors_of(function, tensors))
    for name, other in others:
        if len(other) != count:
            came = f"{count} in '{first}' and {len(other)} in '{name}'"
            if all([isinstance(x, (bool, int, float, complex)) for x in other]):
                what = "Tensor list must have same number of elements as scalar list"
            else:
                what = "Tensor lists must have the same number of tensors"
            raise RuntimeError(f"{function}(): {what}, got {came}")
    return zip(*lists.values(), strict=True)


def repeated(function: str, tensor: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """A 0-d tensor, once for each of the tensors. RuntimeError if it has dimensions."""
    if tensor.ndim:
        raise RuntimeError(
            f"{function}(): scalar tensor expected to be 0 dim but it has {tensor.ndim} dimensions and"
            f" {tensor.numel()} elements."
        )
    return [tensor] * len(tensors)


def numbers(function: str, tensor: Tensor, tensors: Sequence[Tensor]) -> list[Number]:
    """The elements of a 1-d tensor, one for each of the tensors. RuntimeError if its shape is another."""
    if tensor.ndim != 1:
        raise RuntimeError(
            f"{function}(): Expected packed scalar Tensor to be of dimension 1. Got {tensor.ndim} instead."
        )
    if len(tensor) != len(tensors_of(function, tensors)):
        raise RuntimeError(
            f"{function}(): Expected length of scalars to match input of length {len(tensors)} but got"
            f" {len(tensor)} instead."
        )
    return tensor.tolist()  # type: ignore[no-any-return]


def nothing(written: Sequence[Tensor]) -> None:
    """What is returned where tensors have been written to."""


def foreach_powsum(tensor: Tensor, ord: Number, dtype: dtype | None) -> Tensor:
    """The sum of the sizes to a power, computed in at least float32. RuntimeError for integers."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(
            f"_foreach_powsum(): expected floating point or complex tensors, got {tensor.dtype}"
        )
    if isinstance(ord, complex):
        raise RuntimeError(f"_foreach_powsum(): ord must be a real number, not {ord}")
    sizes = tensor.abs() if dtype is None else tensor.to(dtype).abs()
    wide = sizes.float() if sizes.dtype.itemsize < 4 else sizes
    return wide.pow(ord).sum().to(sizes.dtype)


def amp_foreach_non_finite_check_and_unscale(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Unscale the tensors and note what is not finite. RuntimeError for scales that are not one float32."""
    for name, given in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if given.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if given.dtype is not float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    with no_grad():
        for tensor in self:
            if not tensor.is_floating_point():
                raise NotImplementedError(f"gradients of {tensor.dtype} cannot be unscaled")
            if not tensor.isfinite().all():
                found_inf.fill_(1)
            tensor.mul_(inv_scale.reshape(()))
