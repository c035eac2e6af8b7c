"""The multivariate normal distribution of which the covariance is of low rank, and a diagonal."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import eye, log, matmul
from tengen.generated.linalg_functions import cholesky, solve_triangular

from ..core.size import Size
from ..functional import broadcast_tensors
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]

# With the covariance W @ W.mT + D the matrix of the low rank is C = I + W.mT @ inverse(D) @ W: by Woodbury's
# identity the inverse of the covariance is inverse(D) - inverse(D) @ W @ inverse(C) @ W.mT @ inverse(D), and
# by the lemma of determinants that of the covariance is det(C) * det(D).


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of C, (..., m, m), of ``W``, (..., n, m), and the diagonal ``D``, (..., n)."""
    identity = eye(W.shape[-1], dtype=W.dtype, device=W.device)
    return cholesky(matmul(W.mT / D.unsqueeze(-2), W) + identity)


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of the covariance."""
    return 2 * log(capacitance_tril.diagonal(dim1=-2, dim2=-1)).sum(-1) + log(D).sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """``x @ inverse(covariance) @ x``, of vectors (..., n)."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with the covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    ``loc`` and ``cov_diag`` are (..., n), ``cov_factor`` is (..., n, m), where m may be much smaller than n:
    no matrix of n rows is inverted. ValueError for shapes that do not fit.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        _check_shapes(loc, cov_factor, cov_diag)
        try:
            columns = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = columns[0][..., 0], columns[1], columns[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape, size = Size(batch_shape), self._event_shape
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        new.loc, new.cov_diag = self.loc.expand(batch_shape + size), self.cov_diag.expand(batch_shape + size)
        new.cov_factor = self.cov_factor.expand((*batch_shape, *self.cov_factor.shape[-2:]))
        Distribution.__init__(new, batch_shape, size, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def _given(self) -> tuple[Tensor, Tensor]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        factor, diagonal = self._given
        return (factor.pow(2).sum(-1) + diagonal).expand(self._batch_shape + self._event_shape)

    @property
    def _matrix_shape(self) -> Size:
        return self._batch_shape + self._event_shape + self._event_shape

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance, (..., n, n)."""
        factor, diagonal = self._given
        # Of D and of I + V @ V.mT with V = W / sqrt(D): that matrix is not singular where D is small.
        root = diagonal.sqrt().unsqueeze(-1)
        scaled = factor / root
        identity = eye(self._event_shape[0], dtype=factor.dtype, device=factor.device)
        return (root * cholesky(matmul(scaled, scaled.mT) + identity)).expand(self._matrix_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariances, (..., n, n)."""
        factor, diagonal = self._given
        return (matmul(factor, factor.mT) + diagonal.diag_embed()).expand(self._matrix_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances, (..., n, n)."""
        factor, diagonal = self._given
        solved = solve_triangular(self._capacitance_tril, factor.mT / diagonal.unsqueeze(-2), upper=False)
        return (diagonal.reciprocal().diag_embed() - matmul(solved.mT, solved)).expand(self._matrix_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, factor = self._extended_shape(sample_shape), self._unbroadcasted_cov_factor
        common = _standard_normal(shape[:-1] + factor.shape[-1:], self.loc.dtype, self.loc.device)
        own = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(factor, common) + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_lowrank_mahalanobis(*self._given, value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._given, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = _batch_lowrank_logdet(*self._given, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape)


def _check_shapes(loc: Tensor, cov_factor: Tensor, cov_diag: Tensor) -> None:
    if loc.dim() < 1:
        raise ValueError("loc must be at least one-dimensional.")
    if cov_factor.dim() < 2:
        raise ValueError(
            "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        )
    event_shape = loc.shape[-1:]
    if cov_factor.shape[-2:-1] != event_shape:
        raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
    if cov_diag.shape[-1:] != event_shape:
        raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
