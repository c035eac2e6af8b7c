"""Invertible maps, which know how they stretch: of numbers, of vectors, of matrices.

They make distributions of others (``TransformedDistribution``), and parameters of real numbers
(``transform_to``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tengen.generated.functions import (
    arange,
    atanh,
    constant_pad_nd,
    eye,
    full_like,
    sigmoid,
    softmax,
    softplus,
)
from tengen.generated.linalg_functions import cholesky

from ..core.scalar_type import finfo
from ..core.size import Size
from ..functional import broadcast_shapes
from ..tensors.tensor import Tensor
from . import constraints
from .compositions import (
    TOO_FEW,
    CatTransform as CatTransform,
    ComposeTransform as ComposeTransform,
    IndependentTransform as IndependentTransform,
    SameClass,
    StackTransform as StackTransform,
    Transform as Transform,
    _InverseTransform as _InverseTransform,
    identity_transform as identity_transform,
)
from .distribution import Distribution
from .utils import _sum_rightmost, broadcast_all, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

# -- of numbers --------------------------------------------------------------------------------------


class ExpTransform(SameClass):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """``y = x ** exponent``; the exponent is a number or a tensor that broadcasts."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _parameters = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)


def _same(one: Any, other: Any) -> bool:
    """Whether two numbers or tensors are equal."""
    equal = one == other
    return bool(equal.all()) if isinstance(equal, Tensor) else bool(equal)


def _inside(shares: Tensor) -> Tensor:
    """The numbers, where they are neither 0 nor 1 nor closer to these than the dtype tells."""
    limits = finfo(shares.dtype)
    return shares.clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(SameClass):
    """``y = 1 / (1 + exp(-x))``, which does not reach 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _inside(sigmoid(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(SameClass):
    """``y = log(1 + exp(x))``, and ``x`` where that is greater than 20."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


def _log_slope_of_tanh(x: Tensor) -> Tensor:
    """``log(1 - tanh(x)**2)``, also where the hyperbolic tangent rounds to 1."""
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class TanhTransform(SameClass):
    """``y = tanh(x)``. With a cache the inverse is exact where the result rounds to 1."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _log_slope_of_tanh(x)


class AbsTransform(SameClass):
    """``y = |x|``, of which the inverse is ``y``."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``, of numbers or tensors; events have ``event_dim`` dimensions."""

    bijective = True
    _parameters = ("loc", "scale", "event_dim")

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return (
            constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real
        )

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self.domain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, int | float):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x * self.scale + self.loc

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, int | float):
            found = full_like(x, math.log(abs(self.scale)))
        else:
            found = self.scale.abs().log()
        if not self.event_dim:
            return found.expand(x.shape)
        found = found.expand(broadcast_shapes(x.shape[-self.event_dim :], found.shape))
        return _sum_rightmost(found, self.event_dim).expand(x.shape[: -self.event_dim])

    def _shape(self, shape: Any) -> Size:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def forward_shape(self, shape: Any) -> Any:
        return self._shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._shape(shape)


class CumulativeDistributionTransform(Transform):
    """The map of a distribution's samples to the probability of smaller ones, its ``cdf``."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1
    _parameters = ("distribution",)

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


# -- of vectors and matrices -------------------------------------------------------------------------


class ReshapeTransform(Transform):
    """Events of shape ``in_shape`` in the shape ``out_shape``. ValueError of other sizes."""

    bijective = True
    _parameters = ("in_shape", "out_shape")

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                "in_shape, out_shape have different numbers of elements: "
                f"{tuple(self.in_shape)} and {tuple(self.out_shape)}"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result. ValueError of one that does not end as it should."""
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the inverse's result. ValueError of one that does not end as it should."""
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape: Any, old: Size, new: Size) -> Size:
    """A shape that ends with ``new`` in place of ``old``. ValueError where it does not end with that."""
    cut = len(shape) - len(old)
    if cut < 0:
        raise ValueError(TOO_FEW)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {tuple(old)} but got {tuple(shape[cut:])}")
    return Size((*shape[:cut], *new))


class CorrCholeskyTransform(Transform):
    """Vectors of D (D - 1) / 2 numbers as Cholesky factors of correlation matrices of D rows.

    The hyperbolic tangents of the numbers are the entries below the diagonal, each as a share of what the
    entries before it leave of the row, whose length is 1. The diagonal has the rest.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        shares = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - shares**2).sqrt().cumprod(-1)
        shares = shares + eye(shares.shape[-1], dtype=x.dtype, device=x.device)
        return shares * constant_pad_nd(left[..., :-1], [1, 0], 1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = constant_pad_nd(1 - (y * y).cumsum(-1)[..., :-1], [1, 0], 1)
        return atanh(tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt())

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        # A share's own slope, and the square root of what it leaves, for each entry after it in its row.
        rows = arange(y.shape[-1], dtype=x.dtype, device=x.device)
        times = tril_matrix_to_vec((rows.unsqueeze(-1) - rows + 1) / 2, diag=-1)
        return (_log_slope_of_tanh(x) * times).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result. ValueError of a length that no matrix has."""
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        count = shape[-1]
        size = (1 + math.isqrt(1 + 8 * count)) // 2
        if size * (size - 1) // 2 != count:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {count}")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the inverse's result. ValueError of one that no factor has."""
        if len(shape) < 2:
            raise ValueError(TOO_FEW)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {tuple(shape[-2:])}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(SameClass):
    """Vectors as parts of 1, by ``softmax``. Not bijective: the inverse is the logarithm."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result. ValueError of one with too few dimensions."""
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the inverse's result. ValueError of one with too few dimensions."""
        return self.forward_shape(shape)


class StickBreakingTransform(SameClass):
    """Vectors of K numbers as K + 1 parts of 1: each breaks its share off what the numbers before it left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _centred(self, x: Tensor) -> Tensor:
        """The log odds of the shares: zeros break off equal parts."""
        return x - arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        shares = _inside(sigmoid(self._centred(x)))
        left = (1 - shares).cumprod(-1)
        return constant_pad_nd(shares, [0, 1], 1) * constant_pad_nd(left, [1, 0], 1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        # Sums round: what is left is not to be zero.
        left = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        places = arange(parts.shape[-1], 0, -1, dtype=y.dtype, device=y.device)
        return parts.log() - left.log() + places.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # The matrix is triangular; a part y moves by y times what its share leaves.
        return (y[..., :-1].log() - softplus(self._centred(x))).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result. ValueError of one with too few dimensions."""
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the inverse's result. ValueError of one with too few dimensions."""
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(SameClass):
    """Matrices as lower triangular ones, with the exponentials of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(SameClass):
    """Matrices as positive definite ones, by the Cholesky factors that ``LowerCholeskyTransform`` makes."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))  # type: ignore[no-any-return]


def __dir__() -> list[str]:
    return sorted(__all__)
