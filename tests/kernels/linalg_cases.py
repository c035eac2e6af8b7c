"""Calls of products and of linear algebra that mean the same to tengen and to torch.

A case is ``name: (function, makers)``: ``function(ns, *tensors)`` takes the namespace, tengen or
torch, and tensors; its results do not depend on the signs or phases of eigenvectors and singular
vectors. ``makers`` make the NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Maker = Callable[[np.random.Generator, np.dtype[Any]], Array]


def normal(*shape: int) -> Maker:
    """Normally distributed numbers."""

    def make(rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        values = np.asarray(rng.standard_normal(shape))
        if dtype.kind == "c":
            values = np.asarray(values + 1j * rng.standard_normal(shape))
        return np.asarray(values.astype(dtype))

    return make


def posdef(*shape: int) -> Maker:
    """Positive-definite matrices with distinct eigenvalues of a few units."""

    def make(rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        a = normal(*shape)(rng, np.result_type(dtype, np.float64))
        n = shape[-1]
        return (a @ a.conj().swapaxes(-1, -2) / 2 + np.diag(np.arange(1, n + 1))).astype(dtype)

    return make


def general(*shape: int) -> Maker:
    """Well-conditioned square matrices without structure."""

    def make(rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        a = normal(*shape)(rng, np.result_type(dtype, np.float64))
        return (a / 2 + np.diag(np.arange(2, shape[-1] + 2))).astype(dtype)

    return make


def singular(*shape: int) -> Maker:
    """Matrices with one singular value that is 0."""

    def make(rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        a = normal(*shape)(rng, dtype)
        a[..., -1] = a[..., 0]
        return a

    return make


def with_zeros(*shape: int) -> Maker:
    """Numbers of which the first row is 0."""

    def make(rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        a = normal(*shape)(rng, dtype)
        a[0] = 0
        return a

    return make


def _rebuilt(ns: Any, u: Any, s: Any, vh: Any) -> Any:
    """A function of singular vectors that knows no phases: U f(S) Vh."""
    k = s.shape[-1]
    return (u[..., :k] * s.sqrt().unsqueeze(-2).to(u.dtype)) @ vh[..., :k, :]


def _projectors(v: Any) -> Any:
    """Of each column its projector: also free of phases."""
    return v.unsqueeze(-2) * v.unsqueeze(-3).conj()


PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[Maker, ...]]] = {
    "mm": (lambda ns, a, b: ns.mm(a, b), (normal(2, 3), normal(3, 4))),
    "mm_empty": (lambda ns, a, b: ns.mm(a, b), (normal(2, 0), normal(0, 4))),
    "bmm": (lambda ns, a, b: a.bmm(b), (normal(2, 3, 4), normal(2, 4, 5))),
    "mv": (lambda ns, a, b: a.mv(b), (normal(2, 3), normal(3))),
    "dot": (lambda ns, a, b: ns.dot(a, b), (normal(3), normal(3))),
    "vdot": (lambda ns, a, b: ns.vdot(a, b), (normal(3), normal(3))),
    "inner": (lambda ns, a, b: ns.inner(a, b), (normal(2, 3), normal(4, 3))),
    "inner_scalar": (lambda ns, a, b: ns.inner(a, b), (normal(), normal(4, 3))),
    "outer": (lambda ns, a, b: ns.outer(a, b), (normal(2), normal(3))),
    "ger": (lambda ns, a, b: a.ger(b), (normal(2), normal(3))),
    "matmul_11": (lambda ns, a, b: a @ b, (normal(3), normal(3))),
    "matmul_12": (lambda ns, a, b: a @ b, (normal(3), normal(3, 2))),
    "matmul_21": (lambda ns, a, b: a @ b, (normal(2, 3), normal(3))),
    "matmul_22": (lambda ns, a, b: a @ b, (normal(2, 3), normal(3, 2))),
    "matmul_32": (lambda ns, a, b: a @ b, (normal(4, 2, 3), normal(3, 2))),
    "matmul_31": (lambda ns, a, b: a @ b, (normal(4, 2, 3), normal(3))),
    "matmul_13": (lambda ns, a, b: a @ b, (normal(3), normal(4, 3, 2))),
    "matmul_23": (lambda ns, a, b: a @ b, (normal(2, 3), normal(4, 3, 2))),
    "matmul_43": (lambda ns, a, b: a @ b, (normal(2, 1, 2, 3), normal(4, 3, 2))),
    "matmul_33_transposed": (lambda ns, a, b: a.mT @ b[:, ::2], (normal(2, 3, 4), normal(2, 6, 2))),
    "addmm": (
        lambda ns, c, a, b: ns.addmm(c, a, b, beta=2, alpha=3),
        (normal(4), normal(2, 3), normal(3, 4)),
    ),
    "addmm_plain": (lambda ns, c, a, b: ns.addmm(c, a, b), (normal(2, 4), normal(2, 3), normal(3, 4))),
    "addmm_beta_0": (lambda ns, c, a, b: ns.addmm(c, a, b, beta=0), (normal(), normal(2, 3), normal(3, 4))),
    "addmv": (lambda ns, c, a, b: ns.addmv(c, a, b, beta=2, alpha=3), (normal(2), normal(2, 3), normal(3))),
    "addbmm": (
        lambda ns, c, a, b: ns.addbmm(c, a, b, beta=2, alpha=3),
        (normal(5), normal(2, 3, 4), normal(2, 4, 5)),
    ),
    "baddbmm": (
        lambda ns, c, a, b: ns.baddbmm(c, a, b, beta=2, alpha=3),
        (normal(5), normal(2, 3, 4), normal(2, 4, 5)),
    ),
    "addr": (lambda ns, c, a, b: ns.addr(c, a, b, beta=2, alpha=3), (normal(3), normal(2), normal(3))),
    "linear": (lambda ns, x, w, b: ns.nn.functional.linear(x, w, b), (normal(2, 3), normal(4, 3), normal(4))),
    "linear_3d": (
        lambda ns, x, w, b: ns.nn.functional.linear(x, w, b),
        (normal(5, 2, 3), normal(4, 3), normal(4)),
    ),
    "linear_1d": (lambda ns, x, w: ns.nn.functional.linear(x, w), (normal(3), normal(4, 3))),
    "linear_vector": (lambda ns, x, w: ns.nn.functional.linear(x, w), (normal(2, 3), normal(3))),
    "tensordot": (
        lambda ns, a, b: ns.tensordot(a, b, ([1, 2], [1, 0])),
        (normal(2, 3, 4), normal(4, 3, 5)),
    ),
    "tensordot_broadcast": (lambda ns, a, b: ns.tensordot(a, b, 1), (normal(2, 3), normal(1, 4))),
    "kron": (lambda ns, a, b: ns.kron(a, b), (normal(2, 3), normal(4, 2))),
    "kron_ranks": (lambda ns, a, b: ns.kron(a, b), (normal(2), normal(3, 2))),
    "trace": (lambda ns, a: ns.trace(a), (normal(2, 3),)),
    "cross": (lambda ns, a, b: ns.linalg.cross(a, b), (normal(2, 3), normal(1, 3))),
    "cross_dim": (lambda ns, a, b: ns.cross(a, b, dim=0), (normal(3, 2), normal(3, 2))),
    "matrix_power": (lambda ns, a: ns.matrix_power(a, 5), (normal(2, 3, 3),)),
    "matrix_power_0": (lambda ns, a: ns.matrix_power(a, 0) + 0 * a, (normal(2, 3, 3),)),
    "multi_dot": (
        lambda ns, *t: ns.linalg.multi_dot(t),
        (normal(4, 3), normal(3, 2), normal(2, 5), normal(5)),
    ),
    "chain_matmul": (lambda ns, *t: ns.chain_matmul(*t), (normal(4, 3), normal(3, 2), normal(2, 5))),
    "vecdot": (lambda ns, a, b: ns.linalg.vecdot(a, b), (normal(2, 3), normal(4, 1, 3))),
    "block_diag": (lambda ns, a, b: ns.block_diag(a, b), (normal(2, 3), normal(2))),
    "einsum_matmul": (lambda ns, a, b: ns.einsum("ij,jk->ik", a, b), (normal(2, 3), normal(3, 4))),
    "einsum_implicit": (lambda ns, a, b: ns.einsum("bij,bjk", a, b), (normal(2, 3, 4), normal(2, 4, 5))),
    "einsum_diagonal": (lambda ns, a: ns.einsum("...ii->...i", a), (normal(2, 3, 3),)),
    "einsum_trace": (lambda ns, a: ns.einsum("ii", a), (normal(3, 3),)),
    "einsum_ellipsis": (
        lambda ns, a, b: ns.einsum("...ij,...jk->...ik", a, b),
        (normal(2, 1, 3, 4), normal(5, 4, 2)),
    ),
    "einsum_chain": (
        lambda ns, a, b, c: ns.einsum("ij,jk,kl->li", a, b, c),
        (normal(2, 3), normal(3, 4), normal(4, 2)),
    ),
    "einsum_outer": (lambda ns, a, b: ns.einsum("i,j->ji", a, b), (normal(2), normal(3))),
    "einsum_size_1": (lambda ns, a, b: ns.einsum("ijk,ij->k", a, b), (normal(2, 1, 3), normal(2, 4))),
    "einsum_lists": (
        lambda ns, a, b: ns.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        (normal(2, 3), normal(3, 4)),
    ),
    "einsum_bilinear": (
        lambda ns, a, w, b: ns.einsum("bn,anm,bm->ba", a, w, b),
        (normal(2, 3), normal(5, 3, 4), normal(2, 4)),
    ),
    "einsum_transposed": (lambda ns, a: ns.einsum("ba", a), (normal(2, 3),)),
    "einsum_sum": (lambda ns, a: ns.einsum("ab->", a), (normal(2, 3),)),
}

LINALG: dict[str, tuple[Callable[..., Any], tuple[Maker, ...]]] = {
    "inv": (lambda ns, a: ns.linalg.inv(a), (general(2, 3, 3),)),
    "inverse": (lambda ns, a: a.inverse(), (general(3, 3),)),
    "solve": (lambda ns, a, b: ns.linalg.solve(a, b), (general(2, 3, 3), normal(3, 2))),
    "solve_vector": (lambda ns, a, b: ns.linalg.solve(a, b), (general(2, 3, 3), normal(3))),
    "solve_vectors": (lambda ns, a, b: ns.linalg.solve(a, b), (general(2, 3, 3), normal(2, 3))),
    "solve_right": (lambda ns, a, b: ns.linalg.solve(a, b, left=False), (general(3, 3), normal(2, 4, 3))),
    "solve_triangular": (
        lambda ns, a, b: ns.linalg.solve_triangular(a, b, upper=True),
        (general(3, 3), normal(2, 3, 2)),
    ),
    "solve_triangular_unit": (
        lambda ns, a, b: ns.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        (general(2, 3, 3), normal(2, 3)),
    ),
    "det": (lambda ns, a: ns.linalg.det(a), (general(2, 3, 3),)),
    "slogdet": (lambda ns, a: tuple(ns.linalg.slogdet(a)), (general(2, 3, 3),)),
    "logdet": (lambda ns, a: ns.logdet(a), (posdef(2, 3, 3),)),
    "cholesky": (lambda ns, a: ns.linalg.cholesky((a + a.mH) / 2), (posdef(2, 3, 3),)),
    "cholesky_upper": (lambda ns, a: ns.linalg.cholesky((a + a.mH) / 2, upper=True), (posdef(3, 3),)),
    "cholesky_solve": (lambda ns, b, a: ns.cholesky_solve(b, a.tril()), (normal(3, 2), general(2, 3, 3))),
    "cholesky_solve_upper": (
        lambda ns, b, a: ns.cholesky_solve(b, a.triu(), upper=True),
        (normal(3, 2), general(3, 3)),
    ),
    "cholesky_inverse": (
        lambda ns, a: ns.cholesky_inverse(ns.linalg.cholesky((a + a.mH) / 2)),
        (posdef(3, 3),),
    ),
    "qr_tall": (lambda ns, a: tuple(ns.linalg.qr(a)), (normal(2, 4, 3),)),
    "qr_wide": (lambda ns, a: tuple(ns.linalg.qr(a)), (normal(2, 3, 5),)),
    "qr_square": (lambda ns, a: tuple(ns.linalg.qr(a, "complete")), (normal(3, 3),)),
    "eigh_values": (lambda ns, a: ns.linalg.eigh((a + a.mH) / 2)[0], (posdef(2, 3, 3),)),
    "eigh_vectors": (lambda ns, a: _projectors(ns.linalg.eigh((a + a.mH) / 2, "U")[1]), (posdef(2, 3, 3),)),
    "eigvalsh": (lambda ns, a: ns.linalg.eigvalsh((a + a.mH) / 2), (posdef(2, 3, 3),)),
    "eig": (lambda ns, a: _eig_rebuilt(*ns.linalg.eig(a)), (general(2, 3, 3),)),
    "svd_values": (lambda ns, a: ns.linalg.svd(a)[1], (normal(2, 3, 4),)),
    "svd_tall": (lambda ns, a: _rebuilt(ns, *ns.linalg.svd(a, full_matrices=False)), (normal(2, 4, 3),)),
    "svd_wide": (lambda ns, a: _rebuilt(ns, *ns.linalg.svd(a, full_matrices=False)), (normal(2, 3, 4),)),
    "svd_full": (lambda ns, a: _rebuilt(ns, *ns.linalg.svd(a)), (normal(3, 4),)),
    "svd_u": (lambda ns, a: _projectors(ns.linalg.svd(a, full_matrices=False)[0]), (normal(4, 3),)),
    "svd_vh": (lambda ns, a: _projectors(ns.linalg.svd(a, full_matrices=False)[2].mH), (normal(3, 4),)),
    "svd_old": (lambda ns, a: _rebuilt(ns, *_with_vh(*ns.svd(a))), (normal(4, 3),)),
    "svdvals": (lambda ns, a: ns.linalg.svdvals(a), (normal(2, 3, 4),)),
    "pinv": (lambda ns, a: ns.linalg.pinv(a), (normal(2, 4, 3),)),
    "pinv_wide": (lambda ns, a: ns.linalg.pinv(a, rtol=1e-3), (normal(3, 4),)),
    "pinverse": (lambda ns, a: ns.pinverse(a), (normal(3, 4),)),
    "lu": (lambda ns, a: tuple(ns.linalg.lu(a)), (normal(2, 3, 3),)),
    "lu_tall": (lambda ns, a: tuple(ns.linalg.lu(a)), (normal(2, 4, 3),)),
    "lu_wide": (lambda ns, a: tuple(ns.linalg.lu(a)), (normal(3, 4),)),
    "lu_factor": (lambda ns, a: ns.linalg.lu_factor(a)[0], (normal(2, 3, 3),)),
    "lu_factor_tall": (lambda ns, a: ns.linalg.lu_factor(a)[0], (normal(2, 4, 3),)),
    "lu_factor_wide": (lambda ns, a: ns.linalg.lu_factor(a)[0], (normal(3, 4),)),
    "lu_solve": (
        lambda ns, a, b: ns.linalg.lu_solve(*ns.linalg.lu_factor(a), b),
        (normal(3, 3), normal(2, 3, 2)),
    ),
    "lu_solve_right_adjoint": (
        lambda ns, a, b: ns.linalg.lu_solve(*ns.linalg.lu_factor(a), b, left=False, adjoint=True),
        (normal(2, 3, 3), normal(4, 3)),
    ),
    "lstsq": (
        lambda ns, a, b: tuple(ns.linalg.lstsq(a, b, driver="gelsd"))[:2],
        (normal(2, 4, 3), normal(2, 4, 2)),
    ),
    "lstsq_wide": (lambda ns, a, b: ns.linalg.lstsq(a, b, driver="gelsd")[0], (normal(3, 4), normal(3))),
    "matrix_exp": (lambda ns, a: ns.linalg.matrix_exp(a), (normal(2, 3, 3),)),
    "matrix_power_negative": (lambda ns, a: ns.linalg.matrix_power(a, -2), (general(3, 3),)),
    "cond": (lambda ns, a: ns.linalg.cond(a), (general(2, 3, 3),)),
    "cond_1": (lambda ns, a: ns.linalg.cond(a, 1), (general(2, 3, 3),)),
    "cond_nuc": (lambda ns, a: ns.linalg.cond(a, "nuc"), (general(3, 3),)),
    "matrix_norm": (lambda ns, a: ns.linalg.matrix_norm(a), (normal(2, 3, 4),)),
    "matrix_norm_nuc": (lambda ns, a: ns.linalg.matrix_norm(a, "nuc", (0, 2), True), (normal(2, 3, 4),)),
    "matrix_norm_2": (lambda ns, a: ns.linalg.matrix_norm(a, 2), (normal(2, 3, 4),)),
    "matrix_norm_-2": (lambda ns, a: ns.linalg.matrix_norm(a, -2), (normal(2, 3, 4),)),
    "matrix_norm_1": (lambda ns, a: ns.linalg.matrix_norm(a, 1), (normal(2, 3, 4),)),
    "matrix_norm_inf": (lambda ns, a: ns.linalg.matrix_norm(a, float("-inf"), (0, 1)), (normal(2, 3, 4),)),
    "norm": (lambda ns, a: ns.linalg.norm(a), (normal(2, 3, 4),)),
    "norm_vector": (lambda ns, a: ns.linalg.norm(a, 3), (normal(4),)),
    "tensorinv": (lambda ns, a: ns.linalg.tensorinv(a.reshape(2, 3, 6)), (general(6, 6),)),
    "tensorsolve": (
        lambda ns, a, b: ns.linalg.tensorsolve(a.reshape(2, 3, 6), b),
        (general(6, 6), normal(2, 3)),
    ),
    "vander": (lambda ns, a: ns.linalg.vander(a, N=4), (normal(2, 3),)),
    "nuclear_norm": (lambda ns, a: ns.nuclear_norm(a), (normal(3, 4),)),
    "frobenius_norm": (lambda ns, a: ns.frobenius_norm(a, (0, 1)), (normal(3, 4),)),
}


def _with_vh(u: Any, s: Any, v: Any) -> tuple[Any, Any, Any]:
    return u, s, v.mH


def _eig_rebuilt(values: Any, vectors: Any) -> Any:
    """A function of all eigenvalues and eigenvectors that knows neither order nor phase."""
    return (_projectors(vectors) * values.unsqueeze(-2).unsqueeze(-2) ** 2).sum(-1)


ORDERS = (2, 1, 0, 3, 1.5, 0.5, -1, -2.5, float("inf"), float("-inf"))
NORMS: dict[str, tuple[Callable[..., Any], tuple[Maker, ...]]] = {
    f"vector_norm_{order}_{dim}_{make.__qualname__.split('.')[0]}": (
        lambda ns, a, order=order, dim=dim: ns.linalg.vector_norm(a, order, dim, keepdim=dim == 0),
        (make(3, 2),),
    )
    for order in ORDERS
    for dim in (None, 0, 1)
    for make in (normal, with_zeros)
}
