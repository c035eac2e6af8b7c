"""How near is near enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from tengen.codegen.model.operators import Operator

from .failure import Mismatch

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


def close(found: Any, expected: Any, allowed: float, what: str = "", atol: float | None = None) -> None:
    """Equal shapes and, to a tolerance, equal values; NaN equals NaN. Mismatch where they are not."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        raise Mismatch(
            f"{what}: shape {found.shape} is not {expected.shape}",
            got=str(found.shape),
            expected=str(expected.shape),
        )
    if inexact(found) and inexact(expected):
        wide = np.complex128 if np.iscomplexobj(expected) or np.iscomplexobj(found) else np.float64
        found, expected = found.astype(wide), expected.astype(wide)
        atol = allowed if atol is None else atol
        equal = np.isclose(found, expected, rtol=allowed, atol=atol, equal_nan=True)
    else:
        equal = found == expected
    if not np.all(equal):
        raise differing(found, expected, np.asarray(~np.asarray(equal)), what)


def differing(found: Any, expected: Any, wrong: Any, what: str) -> Mismatch:
    """The Mismatch of two arrays of one shape, of which some elements are wrong: the worst is shown."""
    errors = absolute_errors(found, expected)
    worst = tuple(
        int(i) for i in np.unravel_index(int(np.argmax(np.where(wrong, errors, -1.0))), wrong.shape)
    )
    where = f" at {worst}" if worst else ""
    return Mismatch(
        f"{what}: {found[worst]} is not {expected[worst]}{where}",
        got=excerpt(found, worst),
        expected=excerpt(expected, worst),
        error=float(errors[worst]),
        index=worst,
        count=(int(np.sum(wrong)), int(wrong.size)),
        help=relation(found, expected),
    )


def absolute_errors(found: Any, expected: Any) -> Any:
    """How far apart each two elements are; infinity where one of them is NaN."""
    with np.errstate(all="ignore"):
        wide = np.complex128 if np.iscomplexobj(found) or np.iscomplexobj(expected) else np.float64
        errors = np.abs(np.asarray(found).astype(wide) - np.asarray(expected).astype(wide))
    return np.where(np.isnan(errors), np.inf, errors)


_SHOWN = 4


def excerpt(values: Any, index: tuple[int, ...]) -> str:
    """The elements of the last dimension around an index, as they are printed."""
    if not index:
        return number(np.asarray(values)[()])
    row = np.asarray(values)[index[:-1]]
    start = max(0, min(index[-1] - 1, len(row) - _SHOWN))
    shown = [number(v) for v in row[start : start + _SHOWN]]
    before, after = (["..."] if start else []), (["..."] if start + _SHOWN < len(row) else [])
    return f"[{', '.join([*before, *shown, *after])}]"


def number(value: Any) -> str:
    """A number in eight digits."""
    if np.iscomplexobj(value):
        return f"{value.real:.8g}{value.imag:+.8g}j"
    return f"{float(value):.8g}" if inexact(np.asarray(value)) else str(value)


def relation(found: Any, expected: Any) -> str:
    """What all of the wrong values have in common with the right ones; "" where that is nothing."""
    a, b = (np.ravel(np.asarray(x)) for x in (found, expected))
    if not (a.dtype.kind in "fc" and b.dtype.kind in "fc" and np.all(np.isfinite(a) & np.isfinite(b))):
        return ""
    size = float(np.max(np.abs(b), initial=0.0))
    if size < 1e-6 or a.size < 2:
        return ""

    def near(x: Any, y: Any) -> bool:
        return bool(np.allclose(x, y, rtol=1e-4, atol=1e-6 * size))

    if near(a, 0):
        return "all of it is zero"
    if near(a, -b):
        return "the sign is the wrong one throughout"
    if near(a, np.conj(b)):
        return "it is the conjugate of what it should be"
    factor = complex(np.vdot(b, a) / np.vdot(b, b))
    if abs(factor.imag) < 1e-6 * abs(factor) and near(a, factor.real * b):
        return f"it is {factor.real:.6g} times what it should be"
    return ""


def inexact(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array's numbers are rounded."""
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"
