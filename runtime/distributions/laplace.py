"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import abs, exp, expm1, log, log1p, rand, where

from ..core.scalar_type import finfo
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution around ``loc``: an exponential one of scale ``scale`` to both sides."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, Laplace, batch_shape, _instance, "loc", "scale")

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, dtype = self._extended_shape(sample_shape), self.loc.dtype
        # Within (-1, 1): at -1 the sample would be infinite.
        sides = rand(shape, dtype=dtype, device=self.loc.device) * 2 - 1
        sizes = abs(sides).clamp(max=1 - finfo(dtype).eps / 2)
        return self.loc - self.scale * sides.sign() * log1p(-sizes)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -log(2 * self.scale) - abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        tail = -abs(z)
        return where(z < 0, 0.5 * exp(tail), 0.5 - 0.5 * expm1(tail))

    def icdf(self, value: Tensor) -> Tensor:
        z = where(value < 0.5, log(2 * value), -log(2 * (1 - value)))
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        return 1 + log(2 * self.scale)
