"""What forward mode computes with tangents beside the forward formulas: where they lie in memory.

The tangent of a tensor is laid out as the tensor is, so that the tangent of a view is a view of the
tangent, and what may be done to the one may be done to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tengen.generated import functions as F

from ...core.memory_format import contiguous_format
from ...native.layout import extent
from ..node_support import zero_tangent as zero_tangent
from ..view_geometry import TensorGeometry, geometry_of
from .forward_grad import wraps


def view_like(whole: Any, base: Any, view: Any) -> Any:
    """The view of ``whole``, laid out as ``base`` is, that lies in it as ``view`` does in ``base``."""
    if wraps(whole):
        from ...func.batched import move_batch_dim_to_front, wrap

        return wrap(view_like(move_batch_dim_to_front(whole), base, view), 0, whole._layer)
    inner, outer = geometry_of(view), geometry_of(base)
    offset = inner.offset - outer.offset * outer.itemsize // inner.itemsize
    if inner.type.scalar_type.is_complex is outer.type.scalar_type.is_complex:
        return _strided(whole, outer, inner.shape, inner.strides, offset)
    if outer.type.scalar_type.is_complex:
        return _strided(F.view_as_real(whole), outer, inner.shape, inner.strides, offset, real=True)
    shape, strides = (*inner.shape, 2), (*[2 * s for s in inner.strides], 1)
    return F.view_as_complex(_strided(whole, outer, shape, strides, 2 * offset))


def _strided(
    whole: Any,
    outer: TensorGeometry,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    real: bool = False,
) -> Any:
    """``whole`` with other dims in place of those of ``outer``, which are its last."""
    lead = whole.ndim - len(outer.shape) - real
    shape, strides = (*whole.shape[:lead], *shape), (*whole.stride()[:lead], *strides)
    return whole.as_strided(shape, strides, offset + whole.storage_offset())


def laid_out(tangent: Any, primal: Any, copied: bool = False) -> Any:
    """The tangent laid out as the primal is; a copy where it is not so yet, or ``copied``."""
    if wraps(tangent):
        from ...func.batched import is_batched_at, move_batch_dim_to_front, wrap

        layer = tangent._layer
        value = move_batch_dim_to_front(primal) if is_batched_at(primal, layer) else primal
        return wrap(laid_out(move_batch_dim_to_front(tangent), value, copied), 0, layer)
    dense = primal._type.backend.lib.is_contiguous
    mine, its = tangent._array, primal._array
    if not copied and mine.ndim == its.ndim and dense(its) and dense(mine):  # the usual case, told at once
        return tangent
    geometry = geometry_of(primal)
    lead = tangent.ndim - len(geometry.shape)
    if not copied and (geometry.overlaps_itself() or _same_steps(geometry, tangent.stride()[lead:])):
        return tangent
    if geometry.overlaps_itself() or primal.is_contiguous():
        return tangent.clone(memory_format=contiguous_format)
    return _memory(tangent, geometry, tangent.shape[:lead]).copy_(tangent)


def _same_steps(geometry: TensorGeometry, strides: Sequence[int]) -> bool:
    """Whether strides lead to the same places as those of a geometry."""
    return all(n < 2 or s == t for n, s, t in zip(geometry.shape, geometry.strides, strides, strict=True))


def _memory(like: Any, geometry: TensorGeometry, lead: Sequence[int]) -> Any:
    """Uninitialised memory laid out as a geometry is, once for each place of the dims ``lead``."""
    step = max(extent(geometry.shape, geometry.strides), 1)
    strides = list(geometry.strides)
    for size in reversed(lead):
        strides.insert(0, step)
        step *= size
    return like.detach().new_empty_strided((*lead, *geometry.shape), strides)


def zeros_for(base: Any, tangent: Any) -> Any:
    """Zeros laid out as ``base`` is; batched by vmap as ``tangent`` is."""
    layers, sizes = [], []
    while wraps(tangent):
        layers.append(tangent._layer)
        sizes.append(tangent._layer.size)
        tangent = tangent._value
    zeros = _memory(base, geometry_of(base), sizes).zero_()
    if layers:
        from ...func.batched import wrap

        for layer in reversed(layers):
            zeros = wrap(zeros, 0, layer)
    return zeros


def write(tangent: Any, value: Any) -> None:
    """Write into a tangent, and so into those that share its memory."""
    tangent.copy_(value)


def root(tensor: Any) -> Any:
    """The tensor that a tensor is a view of, or itself; of one that wraps another, that one's."""
    while wraps(tensor):
        tensor = tensor._value
    return tensor if tensor._base is None else tensor._base


def same_memory(a: Any, b: Any) -> bool:
    """Whether one of two tensors is a view of the other, or both are of one base."""
    return root(a) is root(b)


def moved(tensor: Any, source: int, destination: int) -> Any:
    """The tensor with a dimension moved."""
    return tensor if source == destination else tensor.movedim(source, destination)
