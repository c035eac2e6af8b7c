"""Sparse tensors from indices and values: ``tengen.sparse_coo_tensor``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

import tengen.generated.functions as F

from ..core.device import as_device, device as Device
from ..core.memory_format import sparse_coo
from ..core.scalar_type import dtype as DType, get_default_dtype, int64
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import type_of
from ..kernels.compressed.array import KINDS
from ..kernels.compressed.invariants import check_dimensions, check_sizes
from ..kernels.sparse.array import empty_coo, flat_indices
from ..kernels.sparse.invariants import checking
from .creation import tensor

if TYPE_CHECKING:
    from .tensor import Tensor


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor in coordinate format: ``values`` at ``indices``, zero elsewhere.

    ``indices`` is ``(sparse_dim, nnz)``, ``values`` ``(nnz, *dense sizes)``, of any dtype. What is given for
    one index several times adds up. Without ``size`` it is the smallest that holds all.
    A ``size`` alone, by its name or not, stores nothing. ``is_coalesced`` says that the indices are in order,
    each once, which ``check_invariants`` checks. Gradients flow to ``values``.

    RuntimeError for indices out of bounds, and for sizes that do not agree;
    TypeError where values lack indices, or all is missing; NotImplementedError on the device meta.
    """
    if (indices is None and size is None) or (indices is None and values is not None):
        raise TypeError("sparse_coo_tensor() takes indices and values, or a size, or all three")
    if values is None:
        return required(_nothing_stored(indices if size is None else size, dtype, device), requires_grad)
    places = as_strided_tensor(indices, int64, device).detach()
    stored = as_strided_tensor(values, dtype, device)
    if not stored.ndim:
        stored = stored.unsqueeze(0)
    if places.ndim != 2:
        raise RuntimeError(
            f"sparse_coo_tensor: indices must be sparse_dim x nnz, but got: {list(places.shape)}"
        )
    if places.shape[1] != stored.shape[0]:
        raise RuntimeError(
            "sparse_coo_tensor: indices and values must have same nnz, but got nnz from indices: "
            f"{places.shape[1]}, nnz from values: {stored.shape[0]}"
        )
    type_of(stored.dtype, stored.device, None, sparse_coo.name)  # NotImplementedError on meta
    found = places._array
    shape = _inferred(found, stored.shape) if size is None else _checked(found, stored.shape, size)
    checked = checking.enabled if check_invariants is None else check_invariants
    if is_coalesced and checked and not _in_order(found, shape):
        raise RuntimeError(
            "sparse_coo_tensor: cannot set is_coalesced to true if indices correspond to uncoalesced "
            "COO tensor"
        )
    return required(F._sparse_coo_tensor_unsafe(places, stored, shape, is_coalesced), requires_grad)


def as_strided_tensor(data: Any, dtype: DType | None, device: Any) -> Tensor:
    """``data`` as a strided tensor: what is one keeps its memory and its history."""
    if not isinstance(data, TensorBase):
        if dtype is int64:
            data = np.asarray(data)  # numbers with points, too
        return tensor(data, dtype=dtype, device=device)
    return data.to(device=device, dtype=dtype)  # type: ignore[attr-defined, no-any-return]


def required(made: Tensor, requires_grad: bool) -> Tensor:
    return made.requires_grad_() if requires_grad else made


def _nothing_stored(size: Any, dtype: DType | None, device: Any) -> Tensor:
    sizes = tuple([int(n) for n in size])
    T = type_of(dtype or get_default_dtype(), as_device(device), None, "sparse_coo")
    made: Tensor = T.wrap(empty_coo(sizes, T.dtype))
    return made


def _inferred(indices: Any, stored: Sequence[int]) -> tuple[int, ...]:
    """The smallest sizes that hold the indices. RuntimeError for a negative index."""
    if indices.size and indices.min() < 0:
        raise RuntimeError(f"sparse_coo_tensor: found negative index {indices.min()} in indices")
    sparse = (indices.max(1) + 1).tolist() if indices.size else [0] * len(indices)
    return (*sparse, *stored[1:])


def _checked(indices: Any, stored: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """The sizes, with which the indices and the values agree."""
    shape, sparse = tuple(size), len(indices)
    if any([n < 0 for n in shape]):
        raise RuntimeError(f"sparse_coo_tensor: sizes must be non-negative, got {list(shape)}")
    if len(shape) != sparse + len(stored) - 1:
        raise RuntimeError(
            "sparse_coo_tensor: 'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(shape)}, "
            f"sparse_dim = {sparse}, dense_dim = {len(stored) - 1}"
        )
    expected = (stored[0], *shape[sparse:])
    if tuple(stored) != expected:
        raise RuntimeError(
            f"sparse_coo_tensor: values has incorrect size, expected {list(expected)}, got {list(stored)}"
        )
    if indices.size:
        for dim, (least, largest) in enumerate(zip(indices.min(1), indices.max(1), strict=True)):
            if least < 0:
                raise RuntimeError(
                    f"sparse_coo_tensor: found negative index {least} for dim {dim} in indices"
                )
            if largest >= shape[dim]:
                raise RuntimeError(
                    f"sparse_coo_tensor: size is inconsistent with indices: for dim {dim}, size is "
                    f"{shape[dim]} "
                    f"but found index {largest}"
                )
    if prod(shape) > np.iinfo(np.int64).max:
        raise RuntimeError(f"sparse_coo_tensor: the sizes {list(shape)} have too many elements")
    return shape


def _in_order(indices: Any, shape: tuple[int, ...]) -> bool:
    """Whether each index occurs once, in C's order."""
    return bool((np.diff(flat_indices(indices, shape[: len(indices)])) > 0).all())


def check_stored(layout: str, parts: Sequence[Any], facts: tuple[Any, ...]) -> None:
    """RuntimeError where arrays and facts are not those of an array in a sparse layout."""
    shape, rest = facts
    if layout == sparse_coo.name:
        if len(parts) != 2 or rest.__class__ is not bool:
            raise RuntimeError(f"{layout}: expected indices, values, and whether it is coalesced")
        indices, values = parts
        if indices.ndim != 2 or indices.dtype != np.int64 or indices.shape[1:] != values.shape[:1]:
            raise RuntimeError(f"{layout}: indices {indices.shape} do not fit to values {values.shape}")
        _checked(indices, values.shape, shape)
        if rest and not _in_order(indices, shape):
            raise RuntimeError(f"{layout}: the indices are not coalesced")
        return
    if layout not in KINDS or layout != rest or len(parts) != 3:
        raise RuntimeError(f"{layout} is no sparse layout of {len(parts)} arrays")
    check_dimensions(parts[0], parts[1], parts[2], layout)
    check_sizes(parts[0], parts[1], parts[2], shape, layout)
