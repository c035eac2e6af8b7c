"""The Meta backend: operators on arrays that have no data.

Shapes, dtypes and strides are computed; nothing else is. ``array`` has the array type,
``backend`` what the runtime asks of every backend, ``namespace`` the elementwise functions,
and the other modules the ``meta_*`` kernels of operators that are no pointwise expressions.
"""

from __future__ import annotations

from .array import MetaArray, broadcast_shapes, meta_elementwise

__all__ = ["MetaArray", "broadcast", "meta_elementwise", "meta_like", "meta_reduced", "meta_shape"]


def broadcast(*arrays: MetaArray) -> tuple[int, ...]:
    """The shape that the arrays broadcast to."""
    return broadcast_shapes(*[a.shape for a in arrays])


from .common import meta_like, meta_reduced, meta_shape  # noqa: E402
