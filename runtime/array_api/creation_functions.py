"""Making arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Literal

from tengen.generated import functions as _f

from .. import functional
from ..core.scalar_type import dtype as DType, get_default_dtype
from ..tensors import creation, interop
from ..tensors.tensor import Tensor
from .operands import Scalar, Where, shape_of


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """The numbers from ``start`` (0) to below ``stop``; none where the step leads away."""
    if stop is None:
        start, stop = 0, start
    if step and ceil((stop - start) / step) <= 0:
        kind = get_default_dtype() if float in map(type, (start, stop, step)) else DType.registry["int64"]
        return _f.empty((0,), dtype=dtype or kind, device=device)
    return _f.arange(start, stop, step, dtype=dtype, device=device)


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Where = None, copy: bool | None = None
) -> Tensor:
    """A tensor of an array, numbers, nested sequences or a buffer.

    ``copy=None`` copies where it must; ``copy=False`` raises ValueError there.
    """
    if device is None and isinstance(obj, Tensor):
        device = obj.device
    return creation.asarray(obj, dtype=dtype, device=device, copy=copy)


def empty(shape: int | Sequence[int], *, dtype: DType | None = None, device: Where = None) -> Tensor:
    """An array whose elements are not set."""
    return _f.empty(shape_of(shape), dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Where = None) -> Tensor:
    """An array of the shape of ``x`` whose elements are not set."""
    return _f.empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """A matrix with ones on the ``k``-th diagonal, and zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    found = _f.zeros((n_rows, columns), dtype=dtype, device=device)
    if -n_rows < k < columns:
        _f.diagonal(found, offset=k).fill_(1)
    return found


def from_dlpack(x: Any, /, *, device: Where = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an array with ``__dlpack__``, or over a copy."""
    options: dict[str, Any] = {} if device is None else {"device": device}
    return interop.from_dlpack(x, copy=copy, **options)


def full(
    shape: int | Sequence[int], fill_value: Scalar, *, dtype: DType | None = None, device: Where = None
) -> Tensor:
    """An array of one value."""
    return _f.full(shape_of(shape), fill_value, dtype=dtype, device=device)


def full_like(
    x: Tensor, /, fill_value: Scalar, *, dtype: DType | None = None, device: Where = None
) -> Tensor:
    """An array of the shape and dtype of ``x``, of one value."""
    return _f.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: int | float | complex,
    stop: int | float | complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Where = None,
    endpoint: bool = True,
) -> Tensor:
    """``num`` numbers at equal distances from ``start`` to ``stop``, without the last if not ``endpoint``."""
    if endpoint:
        return _f.linspace(start, stop, num, dtype=dtype, device=device)
    return _f.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid, of those along each of its axes."""
    return tuple(functional.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def ones(shape: int | Sequence[int], *, dtype: DType | None = None, device: Where = None) -> Tensor:
    """An array of ones."""
    return _f.ones(shape_of(shape), dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Where = None) -> Tensor:
    """An array of ones of the shape of ``x``."""
    return _f.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices without what stands above their ``k``-th diagonal."""
    return _f.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices without what stands below their ``k``-th diagonal."""
    return _f.triu(x, k)


def zeros(shape: int | Sequence[int], *, dtype: DType | None = None, device: Where = None) -> Tensor:
    """An array of zeros."""
    return _f.zeros(shape_of(shape), dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Where = None) -> Tensor:
    """An array of zeros of the shape of ``x``."""
    return _f.zeros_like(x, dtype=dtype, device=device)
