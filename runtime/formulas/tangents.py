"""What forward mode computes with tangents beside the forward formulas: where they lie in memory.

The tangent of a tensor is laid out as the tensor is, so that the tangent of a view is a view of the
tangent, and what may be done to the one may be done to the other.
"""

from __future__ import annotations

from typing import Any

import tengen
from tengen.autograd.linear import window_of


def view_like(whole: Any, base: Any, view: Any) -> Any:
    """The view of ``whole``, laid out as ``base`` is, that lies in it as ``view`` does in ``base``."""
    inner, outer = window_of(view), window_of(base)
    offset = inner.offset - outer.offset * outer.itemsize // inner.itemsize
    if inner.type.scalar_type.is_complex is outer.type.scalar_type.is_complex:
        return whole.as_strided(inner.shape, inner.strides, offset + whole.storage_offset())
    if outer.type.scalar_type.is_complex:
        parts = tengen.view_as_real(whole)
        return parts.as_strided(inner.shape, inner.strides, offset + parts.storage_offset())
    pairs = whole.as_strided(
        (*inner.shape, 2), (*[2 * s for s in inner.strides], 1), 2 * offset + whole.storage_offset()
    )
    return tengen.view_as_complex(pairs)


def laid_out(tangent: Any, primal: Any, copied: bool = False) -> Any:
    """The tangent laid out as the primal is; a copy where it is not so yet, or ``copied``."""
    if getattr(tangent, "wraps", False):
        return tangent.clone() if copied else tangent
    window = window_of(primal)
    same = all(
        n < 2 or s == t
        for n, s, t in zip(window.shape, window.strides, window_of(tangent).strides, strict=True)
    )
    if (same and not copied) or (window.overlaps_itself() and not copied):
        return tangent
    if window.overlaps_itself() or primal.is_contiguous():
        return tangent.clone(memory_format=tengen.contiguous_format)
    memory = tangent.new_empty_strided(window.shape, window.strides)
    return memory.copy_(tangent)


def zeros_for(base: Any, tangent: Any) -> Any:
    """Zeros laid out as ``base`` is; of as many examples as ``tangent``, when vmap batches that."""
    if getattr(tangent, "wraps", False):
        nothing = tangent.reshape(-1)[:0].sum().to(base.dtype)
        return nothing.expand(base.shape).clone(memory_format=tengen.contiguous_format)
    zeros = base.detach().new_empty_strided(base.shape, base.stride()).zero_()
    return zeros


def write(tangent: Any, value: Any) -> None:
    """Write into a tangent, and so into those that share its memory."""
    tangent.copy_(value)


def root(tensor: Any) -> Any:
    """The tensor that a tensor is a view of, or itself; of one that wraps another, that one's."""
    while getattr(tensor, "wraps", False):
        tensor = tensor._value
    return tensor if tensor._base is None else tensor._base


def same_memory(a: Any, b: Any) -> bool:
    """Whether one of two tensors is a view of the other, or both are of one base."""
    return root(a) is root(b)
