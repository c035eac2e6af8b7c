"""Matrix products of groups: experts of a layer, each with as many rows as it got."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.scalar_type import bfloat16, dtype, float16, float32, int32

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

ALIGNMENT = 16  # bytes


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: dtype | None = None,
) -> Tensor:
    """One product after the other; what lies behind the last offset is 0."""
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a.bmm(mat_b)
    flat = mat_a.ndim == 2
    if flat:
        length = mat_a.shape[0] if mat_b.ndim == 3 else mat_a.shape[1]
    else:
        length = mat_b.shape[1]
    sizes = _sizes(offs, length)
    if flat and mat_b.ndim == 2:
        pairs = zip(mat_a.split(sizes, 1)[:-1], mat_b.split(sizes, 0)[:-1], strict=True)
        return F.stack([a.mm(b) for a, b in pairs])
    if flat:
        parts = [a.mm(b) for a, b in zip(mat_a.split(sizes)[:-1], mat_b.unbind(), strict=True)]
        return F.cat([*parts, mat_a.new_zeros((sizes[-1], mat_b.shape[2]))])
    parts = [a.mm(b) for a, b in zip(mat_a.unbind(), mat_b.split(sizes, 1)[:-1], strict=True)]
    return F.cat([*parts, mat_a.new_zeros((mat_a.shape[1], sizes[-1]))], 1)


def _check(
    mat_a: Tensor, mat_b: Tensor, offs: Tensor | None, bias: Tensor | None, out_dtype: dtype | None
) -> None:
    """RuntimeError for what there are no grouped products of."""
    for name, mat in (("mat_a", mat_a), ("mat_b", mat_b)):
        if mat.dtype not in (float32, bfloat16, float16):
            raise RuntimeError(
                f"grouped_mm: expected {name} to be of float32, bfloat16 or float16, but got {mat.dtype}"
            )
        if mat.ndim not in (2, 3):
            raise RuntimeError(f"grouped_mm: {name} has to have 2 or 3 dims, but it has {mat.ndim}")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(
            f"grouped_mm: mat_a and mat_b must be of one dtype, but got {mat_a.dtype} and {mat_b.dtype}"
        )
    if out_dtype is not None and out_dtype != mat_a.dtype:
        raise RuntimeError(f"grouped_mm: out_dtype must be that of mat_a, {mat_a.dtype}, but got {out_dtype}")
    if bias is not None:
        raise RuntimeError("grouped_mm: a bias is not supported")
    _check_sizes(mat_a, mat_b, offs)
    _check_strides("mat_a", mat_a)
    _check_strides("mat_b", mat_b)


def _check_sizes(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None) -> None:
    """RuntimeError unless the matrices have the same inner sizes, and there are as many offsets as groups."""
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            f"grouped_mm: contraction dimension of mat_a and mat_b must match, but got {mat_a.shape[-1]} and "
            f"{mat_b.shape[-2]}"
        )
    batches = {mat.shape[0] for mat in (mat_a, mat_b) if mat.ndim == 3}
    if (offs is None) != (mat_a.ndim == mat_b.ndim == 3):
        raise RuntimeError(
            "grouped_mm: have to provide offs if there is a 2-d matrix, and none if both matrices are 3-d"
        )
    if offs is not None:
        if offs.ndim != 1 or offs.dtype != int32:
            raise RuntimeError(
                f"grouped_mm: offs has to be 1-d and of int32, but got {offs.ndim} dims of {offs.dtype}"
            )
        batches.add(offs.shape[0])
    if len(batches) > 1:
        raise RuntimeError(f"grouped_mm: matrix batch sizes have to match, but got {sorted(batches)}")


def _check_strides(name: str, mat: Tensor) -> None:
    """RuntimeError unless rows or columns are dense, and each begins at a multiple of 16 bytes."""
    strides, sizes = mat.stride(), mat.shape
    for dense, other in ((-1, -2), (-2, -1)):
        if strides[dense] == 1 and strides[other] >= max(1, sizes[dense]):
            if strides[other] * mat.element_size() % ALIGNMENT:
                raise RuntimeError(
                    f"grouped_mm: strides should be multiple of {ALIGNMENT} bytes, but {name} has strides "
                    f"{list(strides)}"
                )
            return
    raise RuntimeError(f"grouped_mm: {name} has invalid strides {list(strides)} for sizes {list(sizes)}")


def _sizes(offs: Tensor, length: int) -> list[int]:
    """The size of each group, and of what is behind the last; RuntimeError where offsets fall or exceed."""
    ends: list[int] = offs.tolist()
    sizes = [b - a for a, b in pairwise([0, *ends, length])]
    if any([size < 0 for size in sizes]):
        raise RuntimeError(f"grouped_mm: offs must rise from 0 to at most {length}, but got {ends}")
    return sizes
