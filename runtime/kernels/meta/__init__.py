"""The Meta backend: operators on arrays that have no data.

Shapes, dtypes and strides are computed; nothing else is. ``array`` has the array type,
``backend`` what the runtime asks of every backend, ``namespace`` the elementwise functions,
and the other modules the ``meta_*`` kernels of operators that are no pointwise expressions.
"""

from __future__ import annotations

from .array import MetaArray, meta_elementwise
from .common import meta_broadcast, meta_like, meta_reduced, meta_shape

__all__ = ["MetaArray", "meta_broadcast", "meta_elementwise", "meta_like", "meta_reduced", "meta_shape"]
