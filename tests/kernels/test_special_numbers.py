"""Kernels at numbers that are not finite, and at the ends of the integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.kernels import pointwise


@pytest.mark.parametrize("exponent", [-1, -2, -3, -0.5, -1.5 + 2j])
def test_infinite_numbers_to_negative_powers_vanish(exponent: Any) -> None:
    infinite = [complex(a, b) for a in (np.inf, -np.inf) for b in (0.0, -0.0, 1.0, np.inf)]
    infinite += [complex(z.imag, z.real) for z in infinite]
    finite = [2 - 1j, 0.5j, -3.0 + 0j]
    bases = np.array(infinite + finite)
    for found in (
        pointwise.pow_scalar(bases, exponent),
        pointwise.power(bases, np.full(len(bases), complex(exponent))),
    ):
        assert np.abs(found[: len(infinite)]).tolist() == [0.0] * len(infinite)
        # An error of the logarithm of three roundings grows with what it is multiplied by; exp adds a few.
        logarithms = exponent * np.log(finite)
        allowed = 2 * (3 * np.abs(logarithms).max() + 4) * np.finfo(float).eps
        np.testing.assert_allclose(found[len(infinite) :], np.exp(logarithms), rtol=allowed)


def test_the_mean_of_the_least_integers_is_the_least() -> None:
    """Its absolute value is no integer."""
    least = np.iinfo(np.int64).min
    image = tengen.tensor([[[least, 0], [1, -8]]])
    alone, halves = (tengen.nn.functional.avg_pool2d(image, (1, n)) for n in (1, 2))
    assert alone.tolist() == image.tolist()
    assert halves.tolist() == [[[least // 2], [-3]]]
