"""Numbers that are the same up to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np


class Near:
    """Numbers of any shape that equal others of that shape within ``tolerance``: absolute, or of what
    is larger than 1.

    Numbers that are rounded to some digits and then compared would differ where an error of one unit
    in the last place turns a digit.
    """

    def __init__(self, numbers: Any, tolerance: float) -> None:
        self.numbers, self.tolerance = np.asarray(numbers), tolerance

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Near) or self.numbers.shape != other.numbers.shape:
            return False
        t = max(self.tolerance, other.tolerance)
        return bool(np.allclose(self.numbers, other.numbers, rtol=t, atol=t, equal_nan=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.numbers.tolist())
