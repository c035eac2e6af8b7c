"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tengen.generated.functions import (
    arange,
    cholesky_solve,
    digamma,
    matmul,
    mvlgamma,
    randn,
    tril_indices,
    where,
)
from tengen.generated.linalg_functions import slogdet

from ..core.scalar_type import finfo
from ..core.size import Size
from ..core.user_stack import program_stacklevel
from ..functional import broadcast_shapes
from ..tensors.creation import tensor
from ..tensors.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .multivariate_normal import OfScaleTril, given_matrix

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of ``mvlgamma(x, p)``."""
    return digamma(x.unsqueeze(-1) - 0.5 * arange(p, dtype=x.dtype, device=x.device)).sum(-1)


class Wishart(OfScaleTril, ExponentialFamily):
    """Scatter matrices of ``df`` normal vectors with a covariance: positive definite, (..., n, n).

    One of ``covariance_matrix``, ``precision_matrix``, its inverse, and ``scale_tril``, its Cholesky factor,
    is given. AssertionError unless exactly one is, ValueError for too few dimensions and for a ``df`` up to n
    - 1.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = given_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        if isinstance(df, Tensor):
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        else:
            batch_shape = matrix.shape[:-2]
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        event_shape = matrix.shape[-2:]
        self._check_df(df, event_shape[-1])
        self._set_matrix(name, matrix, batch_shape)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._set_factor(name, matrix)
        self._set_chi2()

    def _check_df(self, given: Any, size: int) -> None:
        """ValueError where there is no density; a warning where samples are likely to be singular."""
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={given} expected to be greater than ndim - 1 = {size - 1}.")
        if self.df.lt(size).any():
            warnings.warn(
                "Low df values detected. "
                "Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=program_stacklevel(),
            )

    def _set_chi2(self) -> None:
        """The squares of the diagonal of Bartlett's factor: of the first row with df degrees of freedom."""
        factor = self._unbroadcasted_scale_tril
        rows = arange(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        self._dist_chi2 = Chi2((self.df.unsqueeze(-1) - rows).expand((*self._batch_shape, -1)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        new.df = self.df.expand(batch_shape)
        for name in ("_unbroadcasted_scale_tril", "covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                new._set_matrix(name, self.__dict__[name], batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        new._set_chi2()
        return new

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def _over_matrices(self, values: Tensor) -> Tensor:
        return values.reshape((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._over_matrices(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._over_matrices(where(factor > 0, factor, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._over_matrices(self.df) * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Tensor:
        """Samples made of a factor: chi variables in the diagonal, and normal ones below."""
        size = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed()
        rows, columns = tril_indices(size, size, offset=-1)
        shape = (*noise.shape[:-2], len(rows))
        noise[..., rows, columns] = randn(shape, dtype=noise.dtype, device=noise.device)
        factor = matmul(self._unbroadcasted_scale_tril, noise)
        return matmul(factor, factor.mT)

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Samples, with gradients; singular ones are drawn again, ``max_try_correction`` (10) times.

        A UserWarning where there are some.
        """
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        dims = tuple(range(len(sample_shape), len(sample_shape) + len(self._batch_shape)))
        for attempt in range(10 if max_try_correction is None else max_try_correction):
            singular = ~self.support.check(sample)
            # A batch is drawn again as a whole.
            singular = singular.any(dims) if dims else singular
            if not singular.any():
                break
            if not attempt:
                warnings.warn("Singular sample detected.", stacklevel=program_stacklevel())
            sample[singular] = self._bartlett_sampling(Size([int(singular.sum())] if sample_shape else []))
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        size = self._event_shape[-1]
        log_det = slogdet(value).logabsdet
        trace = cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -self.df * (size * math.log(2) / 2 + self._half_log_det())
            - mvlgamma(self.df / 2, p=size)
            + (self.df - size - 1) / 2 * log_det
            - trace / 2
        )

    def entropy(self) -> Tensor:
        size, half = self._event_shape[-1], self.df / 2
        return (
            (size + 1) * (size * math.log(2) / 2 + self._half_log_det())
            + mvlgamma(half, p=size)
            - (half - (size + 1) / 2) * _mvdigamma(half, p=size)
            + half * size
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        size = self._event_shape[-1]
        shape = y + (size + 1) / 2
        return shape * (size * math.log(2) - slogdet(-2 * x).logabsdet) + mvlgamma(shape, p=size)
