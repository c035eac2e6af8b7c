"""How near is near enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from tengen.codegen.model import Operator

TOLERANCE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 2e-4,
    "complex64": 2e-4,
    "float16": 2e-2,
    "bfloat16": 1e-1,
}


def tolerance(operator: Operator, *kinds: Any) -> float:
    """The tolerance of the coarsest of the dtypes, or the operator's own where that is wider."""
    names = [k if isinstance(k, str) else k.name for k in kinds]
    return max(max(TOLERANCE.get(n, 0.0), operator.tolerance.get(n, 0.0)) for n in names)


def close(found: Any, expected: Any, allowed: float, what: str = "") -> None:
    """Equal shapes and, to a tolerance, equal values; NaN equals NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape} is not {expected.shape}"
    if inexact(found) and inexact(expected):
        wide = np.complex128 if np.iscomplexobj(expected) or np.iscomplexobj(found) else np.float64
        found, expected = found.astype(wide), expected.astype(wide)
        equal = np.isclose(found, expected, rtol=allowed, atol=allowed, equal_nan=True)
    else:
        equal = found == expected
    if not np.all(equal):
        wrong = tuple(np.argwhere(~np.asarray(equal))[0])
        where = f" at {tuple(map(int, wrong))}" if wrong else ""
        raise AssertionError(f"{what}: {found[wrong]} is not {expected[wrong]}{where}")


def inexact(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array's numbers are rounded."""
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"
