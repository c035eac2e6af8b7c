"""Nested tensors of the layout jagged: of values and offsets, of slices, of what a mask chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tengen.generated.functions as F

from ..core.memory_format import jagged as jagged_layout, layout as Layout, strided
from ..core.scalar_type import bool_, int64
from ..core.tensor_base import TensorBase
from ..tensors.creation import as_tensor
from .lists import as_nested_tensor

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["masked_select", "narrow", "nested_tensor_from_jagged"]


def __dir__() -> list[str]:
    return sorted(__all__)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor of the layout ``jagged``, whose B components are components of ``values``.

    ``offsets``, (B + 1,), says where the components begin. ``lengths``, (B,), says how long they are: alone,
    or with ``offsets`` where there are gaps. The ragged dimension is the number ``jagged_dim`` of the result,
    1 by default. ``min_seqlen`` and ``max_seqlen`` are looked up, not taken. The result shares the memory of
    ``values``, and gradients flow to it. RuntimeError for offsets and lengths that are absent or out of
    bounds; ValueError for a ``jagged_dim`` that is out of range.
    """
    name = "nested_tensor_from_jagged()"
    if values.is_nested:
        raise RuntimeError(f"{name}: argument values must not be nested itself")
    at = 1 if jagged_dim is None else jagged_dim
    if not 1 <= at <= values.ndim:
        raise ValueError(
            f"{name}: Expected jagged_dim >=1 and at most {values.ndim}, the number of dimensions of values, "
            f"but got {at}."
        )
    if offsets is None:
        if lengths is None:
            raise RuntimeError(f"{name}: At least one of offsets or lengths is required.")
        _check_integers(name, "lengths", lengths)
        offsets = F.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        lengths = None
    _check_places(name, offsets, lengths, values.shape[at - 1])
    return F._nested_view_from_jagged(values, offsets, lengths, at)


def _is_tensor(given: Any) -> bool:
    return isinstance(given, TensorBase)


def _check_integers(name: str, what: str, given: Any) -> None:
    if not _is_tensor(given):
        raise TypeError(f"{name}: argument {what} must be Tensor, not {type(given).__name__}")
    if given.ndim != 1 or given.dtype.is_floating_point or given.dtype.is_complex or given.dtype is bool_:
        raise RuntimeError(
            f"{name}: {what} must be 1D and of integers, but got {given.ndim}D of {given.dtype}"
        )


def _check_places(name: str, offsets: Any, lengths: Any, total: int) -> None:
    """RuntimeError for offsets that do not ascend, or that do not divide up so many elements."""
    _check_integers(name, "offsets", offsets)
    starts = offsets._array
    if not len(starts):
        raise RuntimeError(
            f"{name}: offsets must have at least one element, that of where the last component ends"
        )
    if lengths is None:
        if (np.diff(starts) < 0).any():
            raise RuntimeError(f"{name}: offsets must ascend, but got {starts.tolist()}")
        if starts[0] < 0 or starts[-1] > total:
            raise RuntimeError(
                f"{name}: offsets {starts.tolist()} are out of bounds for values with {total} elements in "
                "the "
                "ragged dimension"
            )
        return
    _check_integers(name, "lengths", lengths)
    counts = lengths._array
    if len(counts) != len(starts) - 1:
        raise RuntimeError(
            f"{name}: got {len(counts)} lengths for {len(starts)} offsets, of {len(starts) - 1} components"
        )
    ends = starts[:-1] + counts
    if (counts < 0).any() or (starts[:-1] < 0).any() or (ends > total).any():
        raise RuntimeError(
            f"{name}: offsets {starts.tolist()} and lengths {counts.tolist()} are out of bounds for values "
            "with "
            f"{total} elements in the ragged dimension"
        )


def narrow(
    tensor: Tensor,
    dim: int,
    start: int | Tensor,
    length: int | Tensor,
    layout: Layout = strided,
) -> Tensor:
    """A slice ``start : start + length`` of each row of a tensor, as a nested tensor.

    With the layout ``tengen.jagged`` the bounds are numbers, or tensors with one for each row; ``dim`` is 1,
    and the memory is shared, with gaps between the components. With ``tengen.strided`` they are numbers.
    RuntimeError for others, and out of bounds.
    """
    if layout is strided:
        if not isinstance(start, int) or not isinstance(length, int):
            raise RuntimeError("narrow(): start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(tensor.narrow(dim, start, length).unbind(), layout=strided)
    if layout is not jagged_layout:
        raise RuntimeError(f"narrow(): Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError(f"narrow(): jagged layout only supports dim=1, but got dim={dim}")
    rows, size = tensor.shape[0], tensor.shape[1]
    starts, counts = [as_tensor(n, dtype=int64) for n in (start, length)]
    for given in (starts, counts):
        if given.ndim > 1 or given.shape not in ((), (1,), (rows,)):
            raise RuntimeError(
                "narrow(): When constructing a jagged nested tensor using narrow(), your start and length "
                "must be "
                f"Tensors that broadcast to input.shape[0], but got {list(given.shape)} for {rows} rows"
            )
    starts, counts = starts.expand(rows), counts.expand(rows)
    if rows and bool((starts < 0).any() | (counts < 0).any() | (starts + counts > size).any()):
        raise RuntimeError(
            f"narrow(): start {starts.tolist()} and length {counts.tolist()} are out of bounds for dimension "
            "1 of "
            f"size {size}"
        )
    begins = F.arange(rows) * size + starts
    offsets = F.cat([begins, begins[-1:] + counts[-1:]]) if rows else F.zeros(1, dtype=int64)
    return nested_tensor_from_jagged(tensor.flatten(0, 1), offsets, counts.contiguous())


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor where a mask is true, as a nested tensor of the layout ``jagged``.

    Each row gives a component. ``tensor`` and ``mask`` broadcast; gradients flow to ``tensor``. RuntimeError
    for a mask that is not of bools.
    """
    if tensor.layout is not strided or tensor.is_nested:
        raise RuntimeError(
            f"masked_select(): torch.nested.masked_select requires a strided tensor, found {tensor.layout}"
        )
    values = tensor.masked_select(mask)
    there = F.broadcast_tensors([tensor.detach(), mask])[1]
    lengths = there.sum(there.ndim - 1).reshape(-1)
    offsets = F.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return nested_tensor_from_jagged(values, offsets)
