"""Nested tensors of the layout jagged: of values and offsets, of slices, of what a mask chooses."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

import tengen.generated.functions as F

from ..autograd.relatives import relate
from ..core.memory_format import jagged as jagged_layout, layout as Layout, strided
from ..core.scalar_type import bool_, int64
from ..core.tensor_base import TensorBase
from ..tensors.creation import as_tensor
from .lists import as_nested_tensor, check_device

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
    1 by default. No component may be shorter than ``min_seqlen`` or longer than ``max_seqlen``, which change
    nothing else. The result shares the memory of ``values``, and gradients flow to it. RuntimeError for
    offsets and lengths that are absent or out of bounds; ValueError for a ``jagged_dim`` that is out of
    range; TypeError for arguments of other classes.
    """
    name = "nested_tensor_from_jagged()"
    check_strided(name, "values", values)
    at = _integer(name, "jagged_dim", 1 if jagged_dim is None else jagged_dim)
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
    _check_lengths(name, offsets, lengths, min_seqlen, max_seqlen)
    made = F._nested_view_from_jagged(values, offsets, lengths, at)
    if _is_tensor(made):
        relate(values, made)  # a write to one is a write to the other
    return made


def _is_tensor(given: Any) -> bool:
    return isinstance(given, TensorBase)


def check_strided(name: str, what: str, given: Any) -> None:
    """TypeError for what is no tensor, RuntimeError for one that is nested or sparse.

    NotImplementedError for one on a device that has no nested tensors.
    """
    if not _is_tensor(given):
        raise TypeError(f"{name}: argument {what} must be Tensor, not {type(given).__name__}")
    if given.is_nested or given.layout is not strided:
        found = "a nested one" if given.is_nested else given.layout
        raise RuntimeError(f"{name}: argument {what} must be a strided tensor, but got {found}")
    check_device(f"{name}: argument {what}", given.device)


def _integer(name: str, what: str, given: Any) -> int:
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name}: argument {what} must be int, not {type(given).__name__}")
    return index(given)


def _check_integers(name: str, what: str, given: Any) -> None:
    check_strided(name, what, given)
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


def _check_lengths(name: str, offsets: Any, lengths: Any, least: int | None, most: int | None) -> None:
    """TypeError for bounds that are no integers, RuntimeError where a component is not within them."""
    counts = np.diff(offsets._array) if lengths is None else lengths._array
    for what, bound, within in (("min_seqlen", least, np.less_equal), ("max_seqlen", most, np.greater_equal)):
        if bound is not None and not within(_integer(name, what, bound), counts).all():
            raise RuntimeError(f"{name}: got {what}={bound} for components of the lengths {counts.tolist()}")


def narrow(
    tensor: Tensor,
    dim: int,
    start: int | Tensor,
    length: int | Tensor,
    layout: Layout = strided,
) -> Tensor:
    """A slice ``start : start + length`` of each row of a tensor, as a nested tensor.

    With the layout ``tengen.jagged`` the bounds are numbers, or tensors of integers with one for each row;
    ``dim`` is 1, and the memory is shared, with gaps between the components, where the rows lie one behind
    the other. With ``tengen.strided`` they are numbers. RuntimeError for others, and out of bounds.
    """
    check_strided("narrow()", "tensor", tensor)
    if layout is strided:
        if not _is_number(start) or not _is_number(length):
            raise RuntimeError("narrow(): start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(tensor.narrow(dim, start, length).unbind(), layout=strided)
    if layout is not jagged_layout:
        raise RuntimeError(f"narrow(): Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError(f"narrow(): jagged layout only supports dim=1, but got dim={dim}")
    if tensor.ndim < 2:
        raise RuntimeError(f"narrow(): tensor must have 2 dimensions or more, but has {tensor.ndim}")
    rows, size = tensor.shape[0], tensor.shape[1]
    starts, counts = _bound("start", start), _bound("length", length)
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


def _is_number(given: Any) -> TypeGuard[int]:
    return isinstance(given, int) and not isinstance(given, bool)


def _bound(what: str, given: Any) -> Tensor:
    """A bound of slices as a tensor. RuntimeError for what is neither an integer nor a tensor of integers."""
    if _is_tensor(given):
        check_strided("narrow()", what, given)
        if given.dtype.is_floating_point or given.dtype.is_complex or given.dtype is bool_:
            raise RuntimeError(f"narrow(): {what} must be a tensor of integers, but got {given.dtype}")
    elif not _is_number(given):
        raise RuntimeError(f"narrow(): {what} must be an integer or a tensor, not {type(given).__name__}")
    return as_tensor(given, dtype=int64)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor where a mask is true, as a nested tensor of the layout ``jagged``.

    Each row gives a component. ``tensor`` and ``mask`` broadcast; gradients flow to ``tensor``. RuntimeError
    for a mask that is not of bools, and where one of them is not strided.
    """
    for what, given in (("tensor", tensor), ("mask", mask)):
        check_strided("masked_select()", what, given)
    values = tensor.masked_select(mask)
    there = F.broadcast_tensors([tensor.detach(), mask])[1]
    lengths = there.sum(there.ndim - 1).reshape(-1)
    offsets = F.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return nested_tensor_from_jagged(values, offsets)
