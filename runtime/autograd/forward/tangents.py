"""The memory layout of tangents.

The tangent of a tensor has the tensor's layout, so that the tangent of a view is a view of the tangent, and
any view or write of the one is possible for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tengen.generated import functions as F

from ...core.memory_format import contiguous_format
from ...kernels.layout import extent
from ..node_support import zero_tangent as zero_tangent
from ..view_geometry import TensorGeometry, geometry_of
from .forward_grad import wraps


def view_like(whole: Any, base: Any, view: Any) -> Any:
    """The view of ``whole``, which has the layout of ``base``, that corresponds to ``view`` of ``base``."""
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
    batch_dims = whole.ndim - len(outer.shape) - real
    shape, strides = (*whole.shape[:batch_dims], *shape), (*whole.stride()[:batch_dims], *strides)
    return whole.as_strided(shape, strides, offset + whole.storage_offset())


def match_layout(tangent: Any, primal: Any, copy: bool = False) -> Any:
    """The tangent in the layout of the primal: a copy if it has another one, or with ``copy``."""
    if wraps(tangent):
        from ...func.batched import is_batched_at, move_batch_dim_to_front, wrap

        layer = tangent._layer
        value = move_batch_dim_to_front(primal) if is_batched_at(primal, layer) else primal
        return wrap(match_layout(move_batch_dim_to_front(tangent), value, copy), 0, layer)
    backend = primal._type.backend
    if not backend.is_strided:
        return tangent.clone() if copy else tangent
    dense = backend.lib.is_contiguous
    mine, its = tangent._array, primal._array
    if not copy and mine.ndim == its.ndim and dense(its) and dense(mine):  # the usual case
        return tangent
    geometry = geometry_of(primal)
    batch_dims = tangent.ndim - len(geometry.shape)
    if not copy and (geometry.overlaps_itself() or _same_strides(geometry, tangent.stride()[batch_dims:])):
        return tangent
    if geometry.overlaps_itself() or primal.is_contiguous():
        return tangent.clone(memory_format=contiguous_format)
    return _empty_with_geometry(tangent, geometry, tangent.shape[:batch_dims]).copy_(tangent)


def _same_strides(geometry: TensorGeometry, strides: Sequence[int]) -> bool:
    """Whether strides are those of a geometry, but for dimensions of size 1."""
    return all(n < 2 or s == t for n, s, t in zip(geometry.shape, geometry.strides, strides, strict=True))


def _empty_with_geometry(like: Any, geometry: TensorGeometry, batch_dims: Sequence[int]) -> Any:
    """An uninitialised tensor in the layout of a geometry, with the sizes ``batch_dims`` in front."""
    step = max(extent(geometry.shape, geometry.strides), 1)
    strides = list(geometry.strides)
    for size in reversed(batch_dims):
        strides.insert(0, step)
        step *= size
    return like.detach().new_empty_strided((*batch_dims, *geometry.shape), strides)


def zeros_with_layout(base: Any, tangent: Any) -> Any:
    """Zeros in the layout of ``base``, batched by vmap as ``tangent`` is."""
    layers, sizes = [], []
    while wraps(tangent):
        layers.append(tangent._layer)
        sizes.append(tangent._layer.size)
        tangent = tangent._value
    zeros = _empty_with_geometry(base, geometry_of(base), sizes).zero_()
    if layers:
        from ...func.batched import wrap

        for layer in reversed(layers):
            zeros = wrap(zeros, 0, layer)
    return zeros


def write(tangent: Any, value: Any) -> None:
    """Write into a tangent, and into those that share its memory."""
    tangent.copy_(value)


def base_of(tensor: Any) -> Any:
    """The tensor that a tensor is a view of, or itself; of one that wraps another, that one's."""
    while wraps(tensor):
        tensor = tensor._value
    return tensor if tensor._base is None else tensor._base


def same_memory(a: Any, b: Any) -> bool:
    """Whether one of two tensors is a view of the other, or both are of one base."""
    return base_of(a) is base_of(b)


def moved(tensor: Any, source: int, destination: int) -> Any:
    """The tensor with a dimension moved."""
    return tensor if source == destination else tensor.movedim(source, destination)
