"""The numbers that a Type keeps, and what is computed with them."""

import math
import operator

import numpy as np
import pytest

import tengen as tg
from tengen.core.numbers import Numbers


def numbers(dtype):
    return tg.ones(1, dtype=dtype)._type.numbers


@pytest.mark.parametrize("dtype", [tg.float32, tg.float64, tg.complex64, tg.complex128])
@pytest.mark.parametrize("value", [1, 2.5, -3, 1e-3, float("inf")])
def test_an_array_of_the_dtype_made_once(dtype, value):
    kept = Numbers(np.full, dtype.array_dtype, dtype.category)  # that of the Type may be full
    array = kept[value]
    assert array.shape == () and array.dtype == dtype.array_dtype and array == np.asarray(value, array.dtype)
    assert kept[value] is array


@pytest.mark.parametrize("value", [True, 1j, -0.0, float("nan"), None])
def test_what_stays_a_number(value):
    kept = numbers(tg.float64)
    assert kept[value] is value or (value is True and kept[value] == 1)


def test_bool_keeps_none():
    kept = numbers(tg.bool)
    assert kept[2] == 2 and kept[2].__class__ is int and not kept


@pytest.mark.parametrize("dtype", [tg.float16, tg.bfloat16, tg.float32, tg.float8_e4m3fn, tg.float8_e5m2])
def test_comparisons_round_the_number_to_the_dtype(dtype):
    """0.1 is no number of any, and yet a tensor of it equals it."""
    x = tg.tensor([0.1, 2.3, 3], dtype=dtype)
    assert (x == 0.1).tolist() == [True, False, False]
    assert (x != 2.3).tolist() == [True, False, True]
    assert (x == 3).tolist() == [False, False, True]


def test_integers_are_exact():
    assert numbers(tg.int64)[2**53 + 1] == 2**53 + 1
    assert numbers(tg.int64)[2.5] == 2.5
    assert numbers(tg.int64)[2**70] == 2**70  # it is said where it is used


def test_only_so_many():
    kept = numbers(tg.float64)
    for i in range(2 * kept.limit):
        assert kept[i + 0.25] == i + 0.25
    assert len(kept) <= kept.limit


@pytest.mark.parametrize("dtype", [tg.float32, tg.float64])
def test_signs_of_zero(dtype):
    x = tg.tensor([0.0, -0.0, 2.0], dtype=dtype)

    def signs(t):
        return [math.copysign(1, v) for v in t.tolist()]

    assert signs(x * 0.0) == [1, -1, 1] and signs(x * -0.0) == [-1, 1, -1]
    assert signs(x + 0.0) == [1, 1, 1] and signs(x + -0.0) == [1, -1, 1]
    assert signs(x - 0) == [1, -1, 1]
    assert (x[2] / -0.0).item() == -math.inf


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: x + n,
        lambda x, n: n - x,
        lambda x, n: x * n,
        lambda x, n: n / x,
        lambda x, n: x > n,
        lambda x, n: x == n,
        lambda x, n: x.clamp(min=n),
        lambda x, n: x.clone().add_(n),
        lambda x, n: x.clone().mul_(n),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 3, 0.1, -2.5, 1e300, float("nan"), float("inf"), -0.0])
@pytest.mark.parametrize("dtype", [tg.float32, tg.float64, tg.complex64])
def test_a_number_is_a_tensor_of_the_dtype(f, n, dtype):
    x = tg.tensor([0.1, -2.5, 3.0, 1e-3], dtype=dtype)
    try:
        expected = f(x, tg.tensor(n, dtype=dtype))
    except (RuntimeError, NotImplementedError, TypeError):  # complex numbers have no order
        with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
            f(x, n)
        return
    for _ in range(2):
        found = f(x, n)
        assert found.dtype is expected.dtype and found.shape == expected.shape
        assert tg.allclose(found, expected, equal_nan=True, rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, -7, True])
@pytest.mark.parametrize("dtype", [tg.uint8, tg.int8, tg.int32, tg.int64])
def test_integers_keep_their_dtype(n, dtype):
    x = tg.tensor([1, 2, 3], dtype=dtype)
    assert (x + n).dtype is dtype and (x * 2.0).dtype is tg.float32 and (x / 2).dtype is tg.float32
    assert (x + n).tolist() == [(v + int(n)) % 256 if dtype is tg.uint8 else v + n for v in (1, 2, 3)]


def test_long_doubles_of_numpy_are_numbers():
    """They are real, or complex, and are rounded; comparisons and dtypes are those with Python's numbers."""
    long, pair = np.longdouble(2.5), np.clongdouble(2 + 1j)
    for dtype in (tg.float32, tg.float16, tg.bfloat16, tg.float64, tg.int32):
        x = tg.tensor([1, 2, 3], dtype=dtype)
        for function in (operator.add, operator.mul, operator.truediv, operator.lt, operator.ge, operator.eq):
            for a, b in ((function(x, long), function(x, 2.5)), (function(long, x), function(2.5, x))):
                assert a.dtype is b.dtype and a.tolist() == b.tolist()
    assert tg.full((2,), long).dtype is tg.float32 and tg.full((2,), pair).tolist() == [2 + 1j] * 2
    assert tg.arange(long).tolist() == [0.0, 1.0, 2.0]
    assert (tg.ones(1) + pair).tolist() == [3 + 1j]


@pytest.mark.parametrize(
    "wrong", [np.datetime64("2020-01-01"), np.timedelta64(3), np.str_("3"), np.bytes_(b"3")]
)
def test_dates_and_texts_of_numpy_are_none(m, wrong):
    x = m.ones(2)
    for call in (
        lambda: m.full((2,), wrong),
        lambda: x.clamp(wrong),
        lambda: m.mul(x, wrong),
        lambda: m.add(x, x, alpha=wrong),
        lambda: m.where(x > 0, x, wrong),
        lambda: m.linspace(0, wrong, 3),
        lambda: x < wrong,
        lambda: x - wrong,
    ):
        with pytest.raises(TypeError):
            call()
