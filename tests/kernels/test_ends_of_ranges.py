"""Kernels at infinities and at the ends of what a dtype holds."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import tengen

INF = math.inf


@pytest.mark.parametrize("p", [1, 2, 5])
def test_mvlgamma_at_infinities(p: int) -> None:
    assert tengen.mvlgamma(tengen.tensor([INF, -INF]), p).tolist() == [INF, INF]


def test_a_dimension_of_more_than_memory_holds() -> None:
    for p in (1 << 62, 1 << 63):
        with pytest.raises(RuntimeError, match="mvlgamma"):
            tengen.mvlgamma(tengen.ones(2), p)


def test_polygamma_at_infinities() -> None:
    for n in (1, 2, 3):
        below, above = tengen.polygamma(n, tengen.tensor([-INF, INF])).tolist()
        assert math.isnan(below) and above == 0


def test_kaiser_window_of_a_great_beta() -> None:
    """Beside what the asymptotic form of the Bessel function gives."""
    found = tengen.kaiser_window(5, False, 1000.0, dtype=tengen.float64).tolist()
    inside = math.sqrt(0.75)
    assert found[2] == 1 and found[1] == found[3]
    expected = math.exp(1000 * (inside - 1)) / math.sqrt(inside)
    assert found[1] == pytest.approx(expected, rel=1e-3)  # the next term is 1 / (8 * 1000) of the first


def test_a_single_power_of_integers() -> None:
    for kind in (tengen.int64, tengen.int32, tengen.uint8):
        assert tengen.logspace(1.5, 3, 1, dtype=kind).tolist() == [31]
    with pytest.raises(RuntimeError, match="overflow"):
        tengen.logspace(2.9, 3, 1, dtype=tengen.uint8)


@pytest.mark.parametrize("kind", [tengen.complex64, tengen.complex128])
def test_running_sums_of_infinite_terms(kind: tengen.dtype) -> None:
    given = [complex(-INF, 1), complex(-INF, 2), 1j, complex(INF, 1), complex(INF, 1), complex(INF, 2)]
    found = tengen.logcumsumexp(tengen.tensor(given, dtype=kind), 0).tolist()
    assert found[:2] == [complex(-INF, 0)] * 2
    assert cmath.isclose(found[2], 1j, abs_tol=1e-6)
    assert found[3] == found[4] == complex(INF, 1)
    assert found[5].real == INF and math.isnan(found[5].imag)


@pytest.mark.parametrize("kind", [tengen.float16, tengen.bfloat16])
def test_integers_are_not_rounded_out_of_their_range(kind: tengen.dtype) -> None:
    for low, high in ((0, 4096), (-4097, -4090), (0, 1), (3, 2049)):
        found = tengen.empty(4000, dtype=kind).random_(low, high).tolist()
        assert max(found) < high and min(found) >= low


def test_ends_that_a_dtype_cannot_hold() -> None:
    half = tengen.zeros(3, dtype=tengen.float16)
    for write in (
        lambda: half.random_(0, 70000),
        lambda: half.uniform_(-70000, 0),
        lambda: half.uniform_(0, INF),
        lambda: half.uniform_(-40000, 40000),
        lambda: half.uniform_(2, 1),
    ):
        with pytest.raises(RuntimeError):
            write()
        assert half.tolist() == [0.0] * 3


def test_numbers_of_numpy_are_compared_elementwise() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = tengen.tensor([1.0, 2.0])
    for number in (ml_dtypes.bfloat16(2), np.complex64(2), np.complex128(2), np.float16(2), np.longdouble(2)):
        assert (x == number).tolist() == (number == x).tolist() == [False, True]
        assert (x != number).tolist() == (number != x).tolist() == [True, False]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("start", [-100.25, -1234.5, -4096.75, -1e6 + 0.5, -(2.0**52) + 0.5])
def test_between_far_poles(order: int, start: float) -> None:
    """Not a term for each number below 0: that does not end."""
    given = tengen.tensor([start, -(2.0**60)], dtype=tengen.float64)
    found = tengen.polygamma(order, given).tolist()
    # Of the sum over all integers near and far from the start; those below it are less than 1 / 99 ** order.
    places = np.arange(-(10**5), 10**5) + (start - math.floor(start))
    factor = (-1) ** (order + 1) * math.gamma(order + 1)
    expected = factor * (places ** -(order + 1.0)).sum()
    assert found[0] == pytest.approx(expected, abs=2 * math.gamma(order + 1) / 99**order)
    assert math.isinf(found[1])
    zeta = tengen.special.zeta(order + 1.0, given).tolist()
    assert zeta[0] == pytest.approx(found[0] / factor, rel=1e-14) and math.isinf(zeta[1])


def test_far_gradients_of_digamma() -> None:
    for kind in (tengen.float32, tengen.float64):
        x = tengen.tensor([-1.0e6 + 0.5], dtype=kind, requires_grad=True)
        tengen.digamma(x).sum().backward()
        assert x.grad is not None and x.grad.item() == pytest.approx(math.pi**2, rel=1e-5)


FILLS = {
    "full": lambda shape, number: tengen.full(shape, number, dtype=tengen.complex32),
    "full_like": lambda shape, number: tengen.full_like(tengen.zeros(shape, dtype=tengen.complex32), number),
    "new_full": lambda shape, number: tengen.zeros(2).new_full(shape, number, dtype=tengen.complex32),
    "fill_": lambda shape, number: tengen.zeros(shape, dtype=tengen.complex32).fill_(number),
}


@pytest.mark.parametrize("name", FILLS)
def test_many_elements_of_complex32_are_filled_by_casting(name: str) -> None:
    """One element is not, nor with what complex64 has not, as in PyTorch."""
    for number, expected in (
        (1e6, complex(INF)),
        (-7e4, complex(-INF)),
        (1e6j, complex(0, INF)),
        (65504.0, 65504),
    ):
        assert FILLS[name]((2, 2), number).flatten().tolist() == [expected] * 4
    for shape, number in (((), 1e6), ((1, 1), -7e4), ((1,), 1e6j), ((3,), 1e300)):
        with pytest.raises(RuntimeError, match="without overflow"):
            FILLS[name](shape, number)


@pytest.mark.parametrize("kind", [tengen.float16, tengen.bfloat16, tengen.float32, tengen.float64])
def test_no_power_moves_zero_and_infinity(kind: tengen.dtype) -> None:
    for power in (3000, 1000, 400, -400, -1000, -5000):
        for number in (0.0, -0.0, INF, -INF):
            found = tengen.ldexp(tengen.tensor(number, dtype=kind), tengen.tensor(power)).item()
            assert found == number and math.copysign(1, found) == math.copysign(1, number)


POLYNOMIALS = [n for n in dir(tengen.special) if "_polynomial_" in n]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_that_overflow_are_infinite(name: str) -> None:
    """With the sign of the greatest term: of ``x ** n``, or of ``(-x) ** n`` of Laguerre's."""
    evaluate = getattr(tengen.special, name)
    for size in (1e300, 1e160, INF):
        for sign in (1, -1):
            x = tengen.tensor(sign * size, dtype=tengen.float64)
            for degree in (2, 3, 4, 7, 12, 31):
                expected = INF if degree % 2 == 0 or (sign > 0) is ("laguerre" not in name) else -INF
                assert evaluate(x, degree).item() == expected, (x, degree)


@pytest.mark.parametrize("kind", [tengen.bfloat16, tengen.float32])
def test_a_deviation_whose_square_is_out_of_range(kind: tengen.dtype) -> None:
    bound = 2 * tengen.finfo(kind).eps
    for size in (1e20, 1e-25):
        x = (size * tengen.tensor([1.0, 2.0, 4.0], dtype=tengen.float64)).to(kind).requires_grad_()
        for found in (x[:2].std(), tengen.masked.std(x, 0, mask=tengen.arange(3) < 2)):
            assert found.item() == pytest.approx(size / math.sqrt(2), rel=bound)
            (grad,) = tengen.autograd.grad(found, x)
            assert grad.tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5, 0.0], abs=bound)


#: zeta(n) / n for n from 2 on: coefficients of the logarithm of the gamma function at 1.
SERIES = (
    0.8224670334241132,
    0.40068563438653143,
    0.27058080842778454,
    0.20738555102867398,
    0.16955717699740818,
)


@pytest.mark.parametrize("kind", [tengen.float32, tengen.float64])
def test_logarithms_of_gamma_near_their_zeros(kind: tengen.dtype) -> None:
    """Beside the series, which leaves out ``distance ** 7 / 7``: less than 2**-61 of the whole."""
    eps = tengen.finfo(kind).eps
    for power in range(10, -int(math.log2(eps))):
        for distance in (2.0**-power, -(2.0**-power)):
            terms = [c * (-distance) ** k for k, c in enumerate(SERIES, 2)]
            at_one = math.fsum([-0.5772156649015329 * distance, *terms])
            for zero, expected in ((1, at_one), (2, at_one + math.log1p(distance))):
                x = tengen.tensor(zero + distance, dtype=kind)
                if x.item() == zero + distance != zero:
                    # At 2 a half of what is added cancels.
                    assert x.lgamma().item() == pytest.approx(expected, rel=4 * eps), x
