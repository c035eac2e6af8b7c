"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import arange, cat, lgamma, log, mvlgamma, randn, where

from ..autograd.grad_mode import no_grad
from ..core.scalar_type import finfo
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of ``dim`` rows, of density ``det**(concentration - 1)``.

    With a concentration of 1 all correlation matrices are equally likely. ValueError for a ``dim`` below 2.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Parameter = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        dtype, device = self.concentration.dtype, self.concentration.device
        # The squares of the i elements of row i sum to a Beta(i / 2, ...); that of row 0 is not used.
        rows = arange(dim - 1, dtype=dtype, device=device)
        rows = cat([rows.new_zeros((1,)), rows])
        above = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * rows
        self._beta = Beta(0.5 * rows + 0.5, above)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        names = ("concentration",)
        new = expanded(self, LKJCholesky, batch_shape, _instance, *names, event_dims=0, kept=("dim",))
        new._beta = self._beta.expand((*new._batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            # Both parts of the beta variables: 1 minus a rounded one would lose the diagonal.
            below, diagonal = self._beta._dirichlet.sample(sample_shape).unbind(-1)
            shape = self._extended_shape(sample_shape)
            directions = randn(shape, dtype=below.dtype, device=below.device).tril(-1)
            first = arange(self.dim, device=below.device) == 0
            lengths = where(first, 1, directions.norm(dim=-1))
            rows = directions * (below.sqrt() / lengths).unsqueeze(-1)
            diagonal = where(first, 1, diagonal.clamp(min=finfo(diagonal.dtype).tiny).sqrt())
            return rows + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # det is the product of the squares of the diagonal, and the matrix has dim - i times the elements of
        # row i.
        left = arange(self.dim - 2, -1, -1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + left
        density = (powers * log(value.diagonal(dim1=-2, dim2=-1)[..., 1:])).sum(-1)
        return density - self._log_normalizer()

    def _log_normalizer(self) -> Tensor:
        """The logarithm of the integral of the density over all factors."""
        rest = self.dim - 1
        shape = self.concentration + 0.5 * rest
        return 0.5 * rest * math.log(math.pi) + mvlgamma(shape - 0.5, rest) - rest * lgamma(shape)
