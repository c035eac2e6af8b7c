"""Shapes and dtypes of special functions with several results."""

from __future__ import annotations

import numpy as np

from .array import MetaArray


def meta_frexp(self: MetaArray) -> tuple[MetaArray, MetaArray]:
    """The mantissa, and the exponent as int32."""
    return MetaArray(self.shape, self.dtype), MetaArray(self.shape, np.dtype(np.int32))
