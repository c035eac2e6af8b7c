"""Masks that fit their tensors, and what stands in the places that they mask out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from ..core.memory_format import layout, sparse_coo, sparse_csr, strided
from ..core.scalar_type import dtype as DType, iinfo
from ..kernels.dims import wrap_dim, wrap_dims
from ..tensors.tensor import Tensor

_F = TypeVar("_F", bound=Callable[..., Any])


def takes_masked(function: _F) -> _F:
    """A masked function that takes a MaskedTensor, too: its data, and its mask as well as ``mask``."""

    @wraps(function)
    def public(input: Any, *args: Any, mask: Tensor | None = None, **keywords: Any) -> Any:
        data, kept = data_and_mask(input, mask)
        return function(data, *args, mask=kept, **keywords)

    return public  # type: ignore[return-value]


#: What masked reductions give where nothing is left: a number, what finds it for a dtype, or None.
IDENTITIES: dict[str, float | Callable[[str, DType], float] | None] = {}


def with_identity(value: float | Callable[[str, DType], float] | None) -> Callable[[_F], _F]:
    """Of the function what is in ``IDENTITIES``."""

    def noted(function: _F) -> _F:
        IDENTITIES[function.__name__] = value
        return function

    return noted


def data_and_mask(input: Any, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Of a MaskedTensor the data and what both masks leave; of another tensor what was given."""
    own = getattr(input, "_masked_mask", None)
    if own is None:
        return input, mask
    return input.get_data(), own if mask is None else own & mask.to(bool)


def fitting(function: str, input: Tensor, mask: Tensor) -> Tensor:
    """The mask as bools in the shape and the layout of ``input``, coalesced if that is sparse_coo.

    IndexError where it has more dimensions than that.
    """
    if not isinstance(mask, Tensor):
        raise TypeError(f"masked.{function}(): argument 'mask' must be Tensor, not {type(mask).__name__}")
    if mask.ndim > input.ndim:
        raise IndexError(
            f"masked.{function}: expected a mask that broadcasts to the input, but it has {mask.ndim} "
            f"dimensions, and the input {input.ndim}"
        )
    mask = mask.to(bool)
    if input.layout is strided:
        return (mask if mask.layout is strided else mask.to_dense()).expand(input.shape)
    check_layout(function, input, sparse_coo, sparse_csr)
    found = _in_coordinates(mask, input)
    return found if input.layout is sparse_coo else found.to_sparse_csr()


def _in_coordinates(mask: Tensor, input: Tensor) -> Tensor:
    """The mask in coordinate format, with the shape and the indexed dimensions of ``input``."""
    if mask.layout not in (strided, sparse_coo):
        mask = mask.to_sparse()
    if mask.shape != input.shape:
        mask = mask.expand(input.shape)
    indexed = input.sparse_dim() if input.layout is sparse_coo else input.ndim
    if mask.layout is not strided and mask.sparse_dim() != indexed:
        mask = mask.to_dense()
    return (mask.to_sparse(indexed) if mask.layout is strided else mask).coalesce()


def check_layout(function: str, input: Tensor, *sparse: layout) -> None:
    """ValueError where ``input`` is neither strided nor of one of the layouts ``sparse``."""
    if input.layout is not strided and input.layout not in sparse:
        expected = " or ".join([str(one) for one in (strided, *sparse)])
        raise ValueError(f"masked.{function}(): expected a {expected} tensor, but got {input.layout}")


def input_mask(input: Tensor, *args: Any, mask: Tensor, **keywords: Any) -> Tensor:
    """For a call of a masked function, the mask as bools in the shape of ``input``."""
    return fitting("_input_mask", input, mask)


def filled(
    function: str, input: Tensor, mask: Tensor | None, value: float | Callable[[str, DType], float]
) -> Tensor:
    """``input`` with a value, or with what an identity is of its dtype, in the places that are masked out.

    ValueError for a sparse tensor.
    """
    check_layout(function, input)
    if mask is None:
        return input
    number = value(function, input.dtype) if callable(value) else value
    return input.where(fitting(function, input, mask), number)


def lowest(function: str, dtype: DType) -> float:
    """The identity of the maximum. NotImplementedError for bools, TypeError for complex numbers."""
    return -math.inf if dtype.is_floating_point else _limits(function, dtype)[0]


def highest(function: str, dtype: DType) -> float:
    """The identity of the minimum. NotImplementedError for bools, TypeError for complex numbers."""
    return math.inf if dtype.is_floating_point else _limits(function, dtype)[1]


def log_of_nothing(function: str, dtype: DType) -> float:
    """The identity of ``logsumexp``. NotImplementedError for bools."""
    return -math.inf if dtype.is_complex else lowest(function, dtype)


def _limits(function: str, dtype: DType) -> tuple[int, int]:
    if dtype.is_complex:
        raise TypeError(f"masked.{function}: {dtype} has no order, and so no identity")
    if dtype.name == "bool":
        raise NotImplementedError(f"masked.{function}: no identity for {dtype}")
    info = iinfo(dtype)
    return info.min, info.max


def dimensions(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The dimensions that are meant, in ascending order: all for None and ``()``; none of a 0-d tensor.

    IndexError where one is out of range, RuntimeError where one is named twice.
    """
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    return tuple(sorted(wrap_dims([dim] if isinstance(dim, int) else dim, ndim)))


def canonical_dim(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """As ``dimensions``, with its errors, but that a 0-d tensor has a dimension 0 where that is named."""
    return dimensions(dim, ndim if dim is None or dim == () else max(ndim, 1))


def dimension(dim: int | None, ndim: int) -> int:
    """The one dimension that is meant, counted from the front: the first for None, as in PyTorch.

    IndexError where it is out of range.
    """
    return wrap_dim(0 if dim is None else dim, ndim)
