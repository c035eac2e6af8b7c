"""Max pooling as ``torch.nn.functional`` has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from tengen.generated import functions as F

from ..tensors.tensor import Tensor

Sizes = int | Sequence[int]
Pooled = Any  # a Tensor, or with return_indices two; as a union it would help no caller


def steps_of(stride: Sizes | None) -> Sizes:
    """None is an empty list to operators: the kernel's size."""
    return () if stride is None else stride


# ------------------------------------------------------------------------------- maximum


def _max_pool(
    plain: Callable[..., Any], with_indices: Callable[..., Any], return_indices: bool, *args: Any
) -> Any:
    input, kernel_size, stride, *rest = args
    return (with_indices if return_indices else plain)(input, kernel_size, steps_of(stride), *rest)


@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The maxima of windows of the last dim; with ``return_indices`` also where they are.

    ``input`` has the shape (N, C, L) or (C, L); the result has an element for each window, and the same
    dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    args = (input, kernel_size, stride, padding, dilation, ceil_mode)
    out: Pooled = _max_pool(F.max_pool1d, F.max_pool1d_with_indices, return_indices, *args)
    return out


@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The maxima of windows of the last two dims; with ``return_indices`` also where they are.

    ``input`` has the shape (N, C, H, W) or (C, H, W); the result has an element for each window, and the
    same dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    args = (input, kernel_size, stride, padding, dilation, ceil_mode)
    out: Pooled = _max_pool(F.max_pool2d, F.max_pool2d_with_indices, return_indices, *args)
    return out


@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The maxima of windows of the last three dims; with ``return_indices`` also where they are.

    ``input`` has the shape (N, C, D, H, W) or (C, D, H, W); the result has an element for each window,
    and the same dtype. Indices are int64, and number the elements of the dimensions that the windows go
    over.
    """
    args = (input, kernel_size, stride, padding, dilation, ceil_mode)
    out: Pooled = _max_pool(F.max_pool3d, F.max_pool3d_with_indices, return_indices, *args)
    return out


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` with ``return_indices``.

    ``input`` has the shape (N, C, L) or (C, L); the result has an element for each window, and the same
    dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    return F.max_pool1d_with_indices(input, kernel_size, steps_of(stride), padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` with ``return_indices``.

    ``input`` has the shape (N, C, H, W) or (C, H, W); the result has an element for each window, and the
    same dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    return F.max_pool2d_with_indices(input, kernel_size, steps_of(stride), padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool3d`` with ``return_indices``.

    ``input`` has the shape (N, C, D, H, W) or (C, D, H, W); the result has an element for each window,
    and the same dtype. Indices are int64, and number the elements of the dimensions that the windows go
    over.
    """
    return F.max_pool3d_with_indices(input, kernel_size, steps_of(stride), padding, dilation, ceil_mode)
