"""``segment_reduce``, by scattering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.scalar_type import int32, int64
from ..kernels.dims import wrap_dim

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex

#: What each reduction is to ``scatter_reduce``, and what it gives of nothing.
_REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "prod": ("prod", 1.0),
    "max": ("amax", float("-inf")),
    "min": ("amin", float("inf")),
}


def segment_reduce(
    data: Tensor,
    reduce: str,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Tensor:
    """Each segment along ``axis`` taken together.

    RuntimeError for arguments that do not fit, NotImplementedError for other dtypes than floating-point ones.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"segment_reduce(): reduce must be one of {', '.join(_REDUCTIONS)}, but got {reduce}"
        )
    if not data.ndim:
        raise RuntimeError("segment_reduce(): Expected data with dimensions, but got none")
    if not data.is_floating_point():
        raise NotImplementedError(f'"segment_reduce" not implemented for {data.dtype}')
    axis = wrap_dim(axis, data.ndim)
    bounds = _bounds(data, lengths, indices, offsets, axis, unsafe)
    count = bounds.shape[-1] - 1
    places = F.arange(data.shape[axis], device=data.device).expand(data.shape[: axis + 1]).contiguous()
    # 0 is in front of the first segment, and what is behind the last one has a place of its own, too.
    segment = F.searchsorted(bounds, places, right=True)
    segment = segment.view((*segment.shape, *(1,) * (data.ndim - axis - 1))).expand(data.shape)
    shape = (*data.shape[:axis], count + 2, *data.shape[axis + 1 :])
    wide = data.to(data.dtype.opmath)  # rounded once, at the end
    found = _scattered(reduce, wide, axis, segment, shape).narrow(axis, 1, count).contiguous()
    found = found if initial is None else _with_initial(found, reduce, initial)
    if reduce == "mean":
        sizes = bounds.diff().view((*bounds.shape[:-1], count, *(1,) * (data.ndim - axis - 1)))
        found = found / (sizes if initial is None else sizes.clamp(1))
    return found.to(data.dtype)


def _scattered(reduce: str, data: Tensor, axis: int, segment: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The reductions without an initial number.

    The gradient of a maximum that is NaN is shared by the NaNs, and that of a factor NaN is the product of
    the others, as PyTorch has it.
    """
    way, nothing = _REDUCTIONS[reduce]
    full, none, is_nan = data.new_full(shape, nothing), data.new_zeros(shape), data.isnan()
    if way == "sum":
        return full.scatter_reduce(axis, segment, data, way)
    nans = none.scatter_add(axis, segment, F.where(is_nan, data, 0))
    count = none.scatter_add(axis, segment, is_nan.to(data.dtype))
    if way == "prod":
        others = full.scatter_reduce(axis, segment, F.where(is_nan, 1, data), way)
        return others * F.where(count == 0, 1, nans * F.where(count > 1, nans.detach(), 1))
    found = full.scatter_reduce(axis, segment, data, way)
    return F.where(found.isnan(), nans / count.clamp(1), found)


def _with_initial(found: Tensor, reduce: str, initial: Number) -> Tensor:
    """The reductions with a number; where that is as great as an element, the gradient is the element's."""
    if isinstance(initial, complex):
        if initial.imag:
            raise RuntimeError("value cannot be converted to type float without overflow")
        initial = initial.real
    if reduce in ("sum", "mean"):
        return found + initial
    if reduce == "prod":
        return found * initial
    beyond = found < initial if reduce == "max" else found > initial
    return F.where(beyond | (initial != initial), initial, found)


def _bounds(
    data: Tensor,
    lengths: Tensor | None,
    indices: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    unsafe: bool,
) -> Tensor:
    """Where the segments begin, and the last one ends; of the dimensions up to ``axis``."""
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    given = offsets if lengths is None else lengths
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    name = "offsets" if lengths is None else "lengths"
    if given.dtype not in (int32, int64):
        raise NotImplementedError(f"segment_reduce(): {name} must be int32 or int64, but got {given.dtype}")
    if not given.ndim:
        raise RuntimeError(f"segment_reduce(): {name} must have at least 1 dimension, but got a 0-d tensor")
    if given.ndim - 1 != axis or given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name}, behind those of data, "
            f"{list(data.shape[:axis])}, but got axis {axis} and {name} of shape {list(given.shape)}"
        )
    if lengths is None:
        if given.device.type != "meta" and bool((given.diff() < 0).any()):
            raise RuntimeError("segment_reduce(): offsets must not fall")
        return given.to(int64)
    if lengths.device.type != "meta":
        if lengths.numel() and int(lengths.min()) < 0:
            raise RuntimeError("segment_reduce(): lengths contains negative value!")
        if not unsafe and bool((lengths.sum(-1) != int(data.shape[axis])).any()):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to the size of data there, "
                f"{data.shape[axis]}, when !unsafe."
            )
    return F.cat([lengths.new_zeros((*lengths.shape[:-1], 1)), lengths.cumsum(-1)], -1).to(int64)
