"""Of variances: the numbers that they are divided by, and what elements are less their mean."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.user_stack import program_stacklevel
from .dims import Dims
from .reductions import count, sum_dim

Array = Any  # an ndarray, or the 0-d result of a ufunc


def centred(self: Array, dim: Dims) -> Array:
    """An array less its mean over ``dim``: twice, for the first one was rounded, as large as it may be."""
    deviation = self - sum_dim(self, dim, True, None) / count(self, dim)
    rest = sum_dim(np.asarray(deviation), dim, True, None) / count(deviation, dim)
    return deviation - np.where(np.isfinite(rest), rest, 0)


def degrees_of_freedom(function: str, elements: int, correction: Any) -> float | Callable[[], float]:
    """The divisor of a variance; what gives it where there is an error or a warning to tell first."""
    if isinstance(correction, complex) or elements <= (1 if correction is None else correction):
        return partial(_no_degrees_of_freedom, function, elements, correction)
    return float(elements - (1 if correction is None else correction))


def _no_degrees_of_freedom(function: str, elements: int, correction: Any) -> float:
    """A warning that the divisor is 0. RuntimeError for a complex correction."""
    if isinstance(correction, complex):
        raise RuntimeError(f"correction must be a real number, but got {correction}")
    warnings.warn(
        f"{function}(): degrees of freedom is <= 0. Correction should be strictly less than the "
        f"{elements} elements of each result, but is {1 if correction is None else correction}.",
        UserWarning,
        stacklevel=program_stacklevel(),
    )
    return 0.0
