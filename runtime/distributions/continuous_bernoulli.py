"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

from tengen.generated.functions import abs, exp, expm1, log, log1p, rand, where

from ..autograd.grad_mode import no_grad
from ..tensors.tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .parameters import BinaryParameters, Parameter, expanded
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


def _coth_series(terms: int) -> tuple[float, ...]:
    """Those of x, x**3, x**5 ... in ``coth(x / 2) / 2 - 1 / x``: Bernoulli numbers by factorials."""
    found: list[Fraction] = [Fraction(1)]
    for n in range(1, 2 * terms + 1):
        found.append(-sum((found[k] / math.factorial(n - k + 1) for k in range(n)), Fraction()))
    return tuple(float(c) for c in found[2::2])


#: All digits of a float64 for logits of at most 1, where the closed forms cancel.
_SERIES: Final = _coth_series(11)


def _even(x: Tensor, coefficients: list[float]) -> Tensor:
    """The polynomial of ``x**2`` with these coefficients, the constant first."""
    square, total = x * x, x.new_full((), coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * square + coefficient
    return total


class ContinuousBernoulli(BinaryParameters, ExponentialFamily):
    """Values in [0, 1] whose density is proportional to ``probs**x * (1 - probs)**(1 - x)``.

    ``logits`` are the log odds, in place of ``probs``. ``lims`` are those between which PyTorch expands its
    formulas; here they are exact for all probabilities, and it is only kept. ValueError unless one of
    ``probs`` and ``logits`` is given, and for ``probs`` outside [0, 1].
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set_odds(probs, logits)
        if probs is not None:
            # Before they are clamped: then all are valid.
            check = self._validate_args if validate_args is None else validate_args
            if check and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        names = ("probs", "logits", "_param")
        return expanded(self, ContinuousBernoulli, batch_shape, _instance, *names, kept=("_lims",))

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, between eps and 1 - eps of the dtype."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _cases(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Where the logits are small; those that are, else 0; the sizes of those that are not, else 1."""
        small = abs(logits) < 1
        return small, where(small, logits, 0), abs(where(small, 1, logits))

    @property
    def mean(self) -> Tensor:
        small, x, size = self._cases(self.logits)
        tail = 1 / size + exp(-size) / expm1(-size)
        return where(small, 0.5 + x * _even(x, [*_SERIES]), where(self.logits < 0, tail, 1 - tail))

    @property
    def variance(self) -> Tensor:
        small, x, size = self._cases(self.logits)
        series = _even(x, [(2 * k + 1) * c for k, c in enumerate(_SERIES)])
        return where(small, series, size**-2 - exp(-size) / expm1(-size) ** 2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, param = self._extended_shape(sample_shape), self._param
        return self.icdf(rand(shape, dtype=param.dtype, device=param.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        small, x, size = self._cases(logits)
        near = (value - 0.5) * x - self._half_series(x)
        # From the side where the density is high.
        far = -size * where(logits > 0, 1 - value, value) - log(-expm1(-size) / size)
        return where(small, near, far)

    @staticmethod
    def _half_series(x: Tensor) -> Tensor:
        """``log(sinh(x / 2) / (x / 2))``, for small x."""
        return x * x * _even(x, [c / (2 * k + 2) for k, c in enumerate(_SERIES)])

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, inside = broadcast_all(self.logits, value.clamp(0, 1))
        tiny = abs(logits) < 1e-5
        x = where(tiny, 1, logits)
        size = abs(x)
        # expm1(x v) / expm1(x), without overflow.
        shifted = exp(size * (inside - 1).clamp(max=0)) * expm1(-size * inside) / expm1(-size)
        ratio = where(x > 0, shifted, expm1(-size * inside) / expm1(-size))
        return where(tiny, inside + 0.5 * logits * inside * (inside - 1), ratio)

    def icdf(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        tiny = abs(logits) < 1e-5
        x = where(tiny, 1, logits)
        # From the end where the density is high; where it does not overflow, also from 0.
        size, share = abs(x), where(x < 0, value, 1 - value)
        less = share * expm1(-size)
        half = less > -0.5
        distance = -where(half, log1p(where(half, less, 0)), log((1 - share) + share * exp(-size))) / size
        moderate = (x > 0) & (x < 50)
        from_0 = log1p(value * expm1(where(moderate, x, 1))) / where(moderate, x, 1)
        steep = where(x < 0, distance, 1 - distance)
        near = value - 0.5 * logits * value * (value - 1)
        return where(tiny, near, where(moderate, from_0, steep))

    def entropy(self) -> Tensor:
        small, x, size = self._cases(self.logits)
        near = self._half_series(x) - x * x * _even(x, [*_SERIES])
        far = 1 + log(-expm1(-size) / size) + size * exp(-size) / expm1(-size)
        return where(small, near, far)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        small, near, size = self._cases(x)
        far = where(x > 0, x, 0) + log(-expm1(-size) / size)
        return where(small, 0.5 * near + self._half_series(near), far)
