"""Every routine is as accurate as it declares, over all magnitudes and at the ends of the range."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from routine_errors import SPECIAL, compiled, declared, errors, exact, in_domain, largest_error

CASES = [(name, dtype) for name, of in declared().items() for dtype in of]
needs_llvmlite = pytest.mark.skipif(
    "not __import__('importlib').util.find_spec('llvmlite')", reason="NOT TESTED: llvmlite is not installed"
)


def test_errors_are_counted_in_units_in_the_last_place() -> None:
    one, nan = np.float32(1), np.float32(np.nan)
    above, top = np.nextafter(one, np.float32(2)), np.finfo(np.float32).max
    got = np.array([above, one, 0.0, -0.0, nan, nan, np.inf, np.inf, 2.0**-149], np.float32)
    want = np.array([1.0, 1 - 2.0**-24, 0.0, 0.0, np.nan, 1.0, np.inf, float(top), 2.0**-150])
    np.testing.assert_array_equal(errors(got, want), [1, 1, 0, np.inf, 0, np.inf, 0, 1, 0.5])


@needs_llvmlite
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_errors_are_within_the_bound(name: str, dtype: str) -> None:
    try:
        error, at = largest_error(compiled(name, dtype), name, dtype)
    except ModuleNotFoundError as missing:
        pytest.skip(f"NOT TESTED: {missing.name} is not installed")
    assert error <= declared()[name][dtype].ulp, f"{error} ulp at {at}"


@needs_llvmlite
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="all others have fma")
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_errors_are_within_the_bound_where_fma_rounds_twice(name: str, dtype: str) -> None:
    try:
        error, at = largest_error(compiled(name, dtype, "x86-64-v2"), name, dtype, share=8)
    except ModuleNotFoundError as missing:
        pytest.skip(f"NOT TESTED: {missing.name} is not installed")
    assert error <= declared()[name][dtype].ulp, f"{error} ulp at {at}"


@needs_llvmlite
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_special_values_are_exact(name: str, dtype: str) -> None:
    """Of zeros, infinities and NaN, and wherever the exact value is one of them."""
    operands = len(declared()[name][dtype].operands)
    given = [a.ravel() for a in np.meshgrid(*[np.array([*SPECIAL, 1, -1], dtype)] * operands)]
    given = [*in_domain(name, *given)]
    try:
        want = exact(name, dtype)[0](*given)
    except ModuleNotFoundError as missing:
        pytest.skip(f"NOT TESTED: {missing.name} is not installed")
    got = compiled(name, dtype)(*given)
    special = ~np.isfinite(want) | (want == 0) | (np.abs(want) == 1)
    np.testing.assert_array_equal(got[special], want[special].astype(dtype))
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))
