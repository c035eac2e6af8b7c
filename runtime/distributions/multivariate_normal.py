"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import cholesky_inverse, eye, log, matmul
from tengen.generated.linalg_functions import cholesky, solve_triangular

from ..core.size import Size
from ..functional import broadcast_shapes
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """The products of matrices (..., n, m) with vectors (..., m), which broadcast."""
    if bmat.dim() == 2:
        return matmul(bvec, bmat.mT)
    return matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """The squared lengths of ``inverse(bL) @ bx``, of lower triangles (..., n, n) and vectors (..., n).

    The batch of ``bL`` broadcasts to that of ``bx``. All vectors for one matrix are columns of one right
    side.
    """
    more = bx.shape[: bx.dim() + 1 - bL.dim()]
    columns = bx.reshape(more.numel(), *bx.shape[len(more) :]).movedim(0, -1)
    squares = solve_triangular(bL, columns, upper=False).pow(2).sum(-2).movedim(-1, 0)
    return squares.reshape(more + squares.shape[1:])


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of ``P``.

    Reversed in both dimensions the factor of the reversed ``P`` is an upper triangle ``U`` with ``P = U @
    U.mT``, so the inverse of ``P`` is the product of the inverse of ``U.mT``, a lower triangle, with its own
    transpose.
    """
    lower = cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    identity = eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return solve_triangular(lower, identity, upper=False)


class OfScaleTril(Distribution):
    """A distribution with a positive definite matrix, given as itself, its inverse or its Cholesky factor."""

    _unbroadcasted_scale_tril: Tensor

    def _set_matrix(self, name: str, matrix: Tensor, batch_shape: Size) -> None:
        """Keep the matrix that was given, expanded."""
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))

    def _set_factor(self, name: str, matrix: Tensor) -> None:
        """Keep the Cholesky factor, not expanded. An error of linalg.cholesky where there is none."""
        if name == "covariance_matrix":
            matrix = cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix

    @property
    def _matrix_shape(self) -> Size:
        return self._batch_shape + self._event_shape[-1:] + self._event_shape[-1:]

    def _half_log_det(self) -> Tensor:
        """Half the logarithm of the determinant of the matrix."""
        return log(self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)).sum(-1)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor, a lower triangle."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The matrix itself."""
        factor = self._unbroadcasted_scale_tril
        return matmul(factor, factor.mT).expand(self._matrix_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the matrix."""
        return cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape)


def given_matrix(**matrices: Tensor | None) -> list[tuple[str, Tensor]]:
    """Those that are not None, with their names."""
    return [(name, matrix) for name, matrix in matrices.items() if matrix is not None]


class MultivariateNormal(OfScaleTril):
    """The normal distribution of vectors with the means ``loc``, (..., n).

    One of ``covariance_matrix``, ``precision_matrix``, its inverse, and ``scale_tril``, its Cholesky factor,
    is given, (..., n, n); they broadcast. ValueError unless exactly one is, and for too few dimensions.
    """

    support = constraints.real_vector
    has_rsample = True
    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = given_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError(
                f"{name}{' matrix' if name == 'scale_tril' else ''} must be at least two-dimensional, "
                "with optional leading batch dimensions"
            )
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self._set_matrix(name, matrix, batch_shape)
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        batch_shape, size = Size(batch_shape), self._event_shape
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new.loc = self.loc.expand(batch_shape + size)
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                new._set_matrix(name, self.__dict__[name], batch_shape)
        Distribution.__init__(new, batch_shape, size, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        size = self._event_shape[0]
        return -0.5 * (size * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        entropy = 0.5 * size * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)
