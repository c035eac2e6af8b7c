"""Parametrizations: orthogonal weights, weights of norm one in the spectral norm, lengths and directions."""

from __future__ import annotations

import enum
from typing import Any

from tengen.generated.functions import (
    allclose,
    cat,
    eye,
    geqrf,
    matrix_exp,
    mv,
    norm_except_dim,
    randn,
    vdot,
    zeros_like,
)
from tengen.generated.linalg_functions import householder_product, solve

from ...autograd.grad_mode import no_grad
from ...core.memory_format import contiguous_format
from ...core.scalar_type import finfo
from ...tensors.tensor import Tensor
from ..functional import normalize
from ..modules.module import Module
from . import parametrize
from .spectral_norm import check_iterations, output_dim
from .weight_norm import normalized_weight

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def __dir__() -> list[str]:
    return sorted(__all__)


# -- orthogonal


class _OrthMaps(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


def _is_orthogonal(q: Tensor) -> bool:
    identity = eye(q.size(-1), dtype=q.dtype, device=q.device)
    close: bool = allclose(q.mH @ q, identity, atol=10.0 * q.size(-2) * finfo(q.dtype).eps)
    return close


def _make_orthogonal(a: Tensor) -> Tensor:
    """The factor Q of a tall matrix whose R has a diagonal that is real and not negative."""
    x, tau = geqrf(a)
    q: Tensor = householder_product(x, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _of_columns(x: Tensor, map: _OrthMaps) -> Tensor:
    """The orthogonal matrix of a tall one, (..., n, k), by the exponential or Cayley's map."""
    n, k = x.size(-2), x.size(-1)
    x = x.tril()
    if n != k:  # as a square one, of n * k - k * (k - 1) / 2 parameters
        x = cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
    a = x - x.mH
    if map is _OrthMaps.matrix_exp:
        q = matrix_exp(a)
    else:
        identity = eye(n, dtype=a.dtype, device=a.device)
        q = solve(identity - 0.5 * a, identity + 0.5 * a)
    return q[..., :k]


def _of_reflectors(x: Tensor) -> Tensor:
    """The product of the reflections by the columns below the diagonal, which says their signs."""
    a = x.tril(diagonal=-1)
    q = householder_product(a, 2.0 / (1.0 + (a * a).sum(dim=-2)))
    signs: Any = x.diagonal(dim1=-2, dim2=-1).int()  # integers: they have no gradient
    result: Tensor = q * signs.unsqueeze(-2)
    return result


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """The orthogonal matrix of ``X``, (..., m, n): with orthonormal columns, or rows where m < n."""
        transposed = X.size(-2) < X.size(-1)
        x = X.mT if transposed else X
        reflects = self.orthogonal_map is _OrthMaps.householder
        q = _of_reflectors(x) if reflects else _of_columns(x, self.orthogonal_map)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if transposed else q

    def right_inverse(self, Q: Tensor) -> Tensor:
        """What gives ``Q``, made orthogonal if it is not; with trivialization ``base`` changes."""
        with no_grad():
            return self._inverse(Q)

    def _inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                f"{Q.shape}."
            )
        transposed = Q.size(-2) < Q.size(-1)
        q = Q.mT if transposed else Q
        if not hasattr(self, "base"):
            found = self._reflectors(q)
            return found.mT if transposed else found
        n, k = q.size(-2), q.size(-1)
        if n != k:
            rest = randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            self.base = _make_orthogonal(cat([q, rest], dim=-1))
        else:
            self.base = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        negative = zeros_like(Q)  # of which all maps make the identity
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative

    def _reflectors(self, q: Tensor) -> Tensor:
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        a, tau = geqrf(q)
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1  # LAPACK gives exactly zero where it reflects nothing
        return a


def _tensor_of(module: Any, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Make a tensor of a module, (..., m, n), orthogonal or unitary matrices; return the module.

    They have orthonormal columns, or rows where m < n. ``orthogonal_map`` says how they follow from the
    original: "matrix_exp" or "cayley" of a skew-symmetric matrix, or "householder", a product of
    reflections. The first is taken for square and complex matrices, else the last. With
    ``use_trivialization`` a matrix, ``base``, is kept which the first value is made of: the tensor as it is
    if it is orthogonal, and else its factor Q.

    ValueError where the module has no such tensor, for one of less than two dimensions, for another map, and
    for "householder" of complex tensors.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


# -- lengths and directions


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The direction ``weight_v`` with the norms ``weight_g``."""
        return normalized_weight(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norms, and the weight itself for the direction."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Make a tensor of a module a norm, ``original0``, times a direction, ``original1``; return the module.

    The norms are of what has one index of ``dim``, or of all with ``dim=None``. A state that was saved with
    ``nn.utils.weight_norm`` can be loaded. ValueError where the module has no such tensor.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *rest: Any) -> None:
        older = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all([key in state_dict for key in older]):
            for i, key in enumerate(older):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


# -- the spectral norm


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            for attribute, size in zip(("_u", "_v"), matrix.size(), strict=True):
                vector = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(attribute, normalize(vector, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        """The weight with ``dim`` first, and all other dimensions as one."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.flatten(1)

    def _power_method(self, matrix: Tensor, count: int) -> None:
        """Improve the two vectors, in place: replicas of the module share them."""
        with no_grad():
            for _ in range(count):
                normalize(mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
                normalize(mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        """The weight divided by its largest singular value; in training the estimate is improved before."""
        if weight.ndim == 1:
            normalized: Tensor = normalize(weight, dim=0, eps=self.eps)
            return normalized
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, so that another forward pass may write to the buffers before this one goes backward.
        u, v = (t.clone(memory_format=contiguous_format) for t in (self._u, self._v))
        result: Tensor = weight / vdot(u, mv(matrix, v))
        return result

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself, as it is."""
        return value


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a tensor of a module by its largest singular value, a vector by its norm; return the module.

    The value is estimated by the power method, of which each reading in training does ``n_power_iterations``
    steps. A tensor of more than two dimensions is a matrix whose rows are of ``dim``: 0, or 1 for transposed
    convolutions. ValueError where the module has no such tensor, and for no iterations; IndexError for a
    ``dim`` that it does not have.
    """
    weight = _tensor_of(module, name)
    made = _SpectralNorm(weight, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return parametrize.register_parametrization(module, name, made)
