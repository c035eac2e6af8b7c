"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated import scalar_types
from tengen.generated.functions import (
    acos,
    arange,
    cos,
    log,
    rand,
    sin,
    special_i0e as i0e,
    special_i1e as i1e,
)

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import Parameter, expanded
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _deviations(concentration: Tensor) -> Tensor:
    """Angles of the distribution around 0, one for each concentration, (n,) in float64; by rejection.

    By Best and Fisher (Applied Statistics 28, 1979): proposals of a wrapped Cauchy distribution, whose
    parameter is here in a form that does not cancel. At least 65 of 100 are taken.
    """
    found = concentration.new_empty(concentration.shape)
    waiting = arange(len(found), device=found.device)
    ratio = (1 + (1 + 4 * concentration**2).sqrt()) / (2 * concentration)
    while len(waiting):
        share, height, side = rand(3, len(waiting), dtype=found.dtype, device=found.device)
        z = cos(math.pi * share)
        cosine = (1 + ratio * z) / (ratio + z)
        level = concentration * (ratio - cosine)
        taken = (level * (2 - level) > height) | (log(level / height) + 1 - level >= 0)
        angles = (side - 0.5).sign() * acos(cosine.clamp(-1, 1))
        found[waiting[taken]] = angles[taken]
        waiting, ratio, concentration = waiting[~taken], ratio[~taken], concentration[~taken]
    return found


class VonMises(Distribution):
    """The normal distribution of angles, around ``loc``, the narrower the larger ``concentration``.

    Samples are in [-pi, pi); values may be any. Mean and variance are the circular ones.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Parameter, concentration: Parameter, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, VonMises, batch_shape, _instance, "loc", "concentration")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, dtype = self._extended_shape(sample_shape), scalar_types.float64
        with no_grad():
            angles = _deviations(self.concentration.to(dtype).expand(shape).reshape(-1)).reshape(shape)
            turned = (angles + math.pi + self.loc) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # concentration * (cos(difference) - 1), and the scaled Bessel function, which does not overflow.
        away = -2 * self.concentration * sin(0.5 * (value - self.loc)) ** 2
        return away - math.log(2 * math.pi) - log(i0e(self.concentration))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - i1e(self.concentration) / i0e(self.concentration)
