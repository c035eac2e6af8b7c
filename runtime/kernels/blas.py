"""The memory in which the BLAS library puts matrices in order before it multiplies them.

OpenBLAS prefetches beyond what a product needs of it. Where no product came before that needed so much, there
are no pages, and the processor looks for them in vain: small products take up to three times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.costs import BLAS_TOUCHED_FROM

#: Empty when that memory was touched.
untouched = [True]


def touch_for(matrix: Any) -> None:
    """Touch it, in about a millisecond, before a product with a matrix, unless that is small."""
    if matrix.size >= BLAS_TOUCHED_FROM:
        untouched.clear()
        np.ones((64, 256)).dot(np.ones((256, 256)))
