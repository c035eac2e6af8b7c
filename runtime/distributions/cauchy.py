"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import atan2, full, log, log1p, ones_like, tan, where

from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy (Lorentz) distribution with median ``loc`` and half width at half maximum ``scale``.

    It has no mean and no variance: they are nan and inf.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, Cauchy, batch_shape, _instance, "loc", "scale")

    def _filled(self, value: float) -> Tensor:
        return full(self._extended_shape(), value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self) -> Tensor:
        return self._filled(math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._filled(math.inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - log(self.scale) - log1p(z**2)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # The angle of (-z, 1) goes from 0 to pi, and keeps the lower tail.
        z = (self.loc - value) / self.scale
        return atan2(ones_like(z), z) / math.pi

    def icdf(self, value: Tensor) -> Tensor:
        lower = value < 0.5
        tail = where(lower, value, 1 - value)
        # In the tails tan(pi / 2 - x) would have the error of pi / 2.
        size = where(tail < 0.25, 1 / tan(math.pi * tail), tan(math.pi * (0.5 - tail)))
        return self.loc + self.scale * where(lower, -size, size)

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + log(self.scale)
