"""Products and linear algebra by what they must satisfy, without PyTorch."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from linalg_cases import LINALG, PRODUCTS, general, normal, posdef, singular

import tengen
from tengen.linalg import LinAlgError

inf, nan = float("inf"), float("nan")
DTYPES = ("float32", "float64", "complex64", "complex128")
pytestmark = pytest.mark.filterwarnings("ignore")


def make(maker: Callable[..., Any], dtype: str = "float64", seed: int = 0) -> tengen.Tensor:
    return tengen.from_numpy(np.asarray(maker(np.random.default_rng(seed), np.dtype(dtype))))


def close(a: Any, b: Any, tolerance: float = 1e-8) -> None:
    a, b = (x.detach().numpy() if isinstance(x, tengen.Tensor) else np.asarray(x) for x in (a, b))
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def tolerance(dtype: str) -> float:
    return 2e-4 if dtype in ("float32", "complex64") else 1e-10


# -- products ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)), ((2, 3), (3, 4)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4)),
        ((0, 2, 3), (0, 3, 4)), ((5, 2, 0), (0, 4)), ((5, 2, 0), (0,)), ((2, 0, 3), (3, 4)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["int32", "float64", "complex128"])
def test_matmul_of_all_ranks(a: tuple[int, ...], b: tuple[int, ...], dtype: str) -> None:
    x, y = (make(normal(*s), "float64") * 4 for s in (a, b))
    x, y = x.to(getattr(tengen, dtype)), y.to(getattr(tengen, dtype))
    close(x @ y, x.numpy() @ y.numpy())
    assert (x @ y).dtype is x.dtype


def test_integers_wrap_around() -> None:
    x = tengen.tensor([[100, 100]], dtype=tengen.int8)
    assert (x @ x.t()).item() == (20000 + 128) % 256 - 128
    assert tengen.addmm(x[:, :1], x, x.t(), beta=2).item() == (20200 + 128) % 256 - 128


@pytest.mark.parametrize("dtype", [tengen.float16, tengen.bfloat16])
def test_half_precision_is_rounded_once(dtype: tengen.dtype) -> None:
    """A sum that is exact in float32 and that no sequence of half-precision sums would give."""
    ones = tengen.ones(4097, dtype=dtype)
    assert tengen.dot(ones, ones) == tengen.tensor(4097.0).to(dtype)
    assert (ones.unsqueeze(0) @ ones.unsqueeze(1)).item() == tengen.tensor(4097.0).to(dtype).item()


@pytest.mark.parametrize("name", ["addmm", "addmv", "addbmm", "baddbmm", "addr"])
def test_beta_0_ignores_nan(name: str) -> None:
    shapes = {
        "addmm": ((2, 3), (3, 4)), "addmv": ((2, 3), (3,)), "addbmm": ((2, 2, 3), (2, 3, 4)),
        "baddbmm": ((2, 2, 3), (2, 3, 4)), "addr": ((2,), (3,)),
    }[name]  # fmt: skip
    a, b = (tengen.ones(*s) for s in shapes)
    result = getattr(tengen, name)(tengen.tensor(nan), a, b, beta=0)
    assert not result.isnan().any()


def test_expanded_and_strided_operands() -> None:
    x = make(normal(4, 6))
    ones = tengen.ones(1, 1, dtype=tengen.float64).expand(6, 4)
    close(x @ ones, x.numpy().sum(1, keepdims=True).repeat(4, 1))
    close(x[:, ::2] @ x[::2, :: -1 if False else 2].T, x.numpy()[:, ::2] @ x.numpy()[::2, ::2].T)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ba", ((2, 3),)), ("ii->i", ((3, 3),)),
        ("ii", ((3, 3),)), ("iij->ji", ((3, 3, 2),)), ("iii->i", ((2, 2, 2),)), ("...ii->...i", ((2, 3, 3),)),
        ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2))), ("i...,j...->ij...", ((2, 3), (4, 3))),
        ("...->...", ((2, 3),)), ("ij->", ((2, 3),)), ("i,j->ji", ((2,), (3,))),
        ("ij,ij->ij", ((2, 3), (2, 3))),
        ("bi,bi->b", ((2, 3), (2, 3))), ("ijk,jil->kl", ((3, 4, 5), (4, 3, 2))), ("i,,j", ((2,), (), (3,))),
        ("ab,bc,cd,de->ae", ((2, 3), (3, 4), (4, 5), (5, 2))), ("bn,anm,bm->ba", ((2, 3), (5, 3, 4), (2, 4))),
        ("ab,ab,c->", ((2, 3), (2, 3), (4,))), (" i j , j k -> i k ", ((2, 3), (3, 4))), ("->", ((),)),
        ("ij,kj->ik", ((2, 0), (3, 0))), ("aB,Bc->ca", ((2, 3), (3, 4))), ("ij,j,i->", ((2, 3), (3,), (2,))),
    ],
)  # fmt: skip
def test_einsum(equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    tensors = [make(normal(*s), seed=i) for i, s in enumerate(shapes)]
    expected = np.einsum(equation, *[t.numpy() for t in tensors])
    close(tengen.einsum(equation, *tensors), expected)
    close(tengen.einsum(equation, tensors), expected)


def test_einsum_of_lists_and_paths() -> None:
    a, b, c = make(normal(2, 3)), make(normal(3, 4)), make(normal(4, 5))
    close(tengen.einsum(a, [0, 1], b, [1, 2], [2, 0]), (a @ b).T)
    close(tengen.einsum(a, [..., 1], b, [1, 2]), a @ b)
    composed = tengen.dispatch.operator.operator("einsum")
    for path in ([0, 1, 0, 1], [1, 2, 0, 1], [0, 2, 0, 1]):
        close(composed("ij,jk,kl->il", [a, b, c], path), a @ b @ c)
    with pytest.raises(RuntimeError, match="size 4"):
        composed("ij,jk,kl->il", [a, b, c], [0, 1])
    with pytest.raises(RuntimeError, match=r"pair \(1, 1\)"):
        composed("ij,jk,kl->il", [a, b, c], [1, 1, 0, 1])


def test_einsum_errors_name_the_place() -> None:
    x = tengen.ones(2, 3)
    for equation, text in {
        "i1->i": "index 1", "ij->i1": "index 5", "ij->il": "subscript l", "ij->ii": "more than once",
        "ijk": r"\(3\)", "ij,jk": "fewer operands", "ii": "repeated for operand 0",
        "i..j": "not part of any ellipsis",
    }.items():  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            tengen.einsum(equation, x)


def test_chains_take_the_cheapest_order() -> None:
    """(A B) C costs 10 * 1000 * 10 + ..., A (B C) a hundred times as much."""
    from tengen.composite.matmul import _cheapest_splits

    assert _cheapest_splits([10, 1000, 10, 1000])[0, 2] == 1
    assert _cheapest_splits([1000, 10, 1000, 10])[0, 2] == 0
    sizes = [7, 3, 9, 2, 8, 4]
    matrices = [make(normal(a, b)) for a, b in itertools.pairwise(sizes)]
    expected = matrices[0].numpy()
    for m in matrices[1:]:
        expected = expected @ m.numpy()
    close(tengen.linalg.multi_dot(matrices), expected)
    close(tengen.chain_matmul(*matrices), expected)


def test_matrix_power_squares() -> None:
    a = make(general(3, 3)) / 5
    for n in (0, 1, 2, 3, 6, 7, -1, -3):
        close(tengen.linalg.matrix_power(a, n), np.linalg.matrix_power(a.numpy(), n))


# -- systems and decompositions -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (0, 0), (0, 3, 3), (2, 0, 0), (1, 1)])
def test_square_matrices(dtype: str, shape: tuple[int, ...]) -> None:
    a, p = make(general(*shape), dtype), make(posdef(*shape), dtype)
    p = (p + p.mH) / 2
    eps, identity = tolerance(dtype), np.broadcast_to(np.eye(shape[-1]), shape)
    linalg = tengen.linalg
    close(a @ linalg.inv(a), identity, eps)
    b = make(normal(*shape[:-1], 2), dtype)
    close(a @ linalg.solve(a, b), b, eps)
    close(linalg.solve(a, b.mT, left=False) @ a, b.mT, eps)
    sign, logarithm = linalg.slogdet(a)
    close(linalg.det(a), sign * logarithm.exp(), 1e-3 if eps > 1e-8 else 1e-8)
    for upper in (False, True):
        factor = linalg.cholesky(p, upper=upper)
        close(factor.mH @ factor if upper else factor @ factor.mH, p, eps * 10)
        close(factor, factor.triu() if upper else factor.tril(), 0)
        close(p @ tengen.cholesky_solve(b, factor, upper=upper), b, eps * 10)
    values, vectors = linalg.eigh(p)
    close(vectors * values.unsqueeze(-2) @ vectors.mH, p, eps * 10)
    values, vectors = linalg.eig(a)
    assert values.dtype.is_complex and vectors.dtype.is_complex
    close(vectors * values.unsqueeze(-2), a.to(vectors.dtype) @ vectors, eps * 10)
    close(linalg.matrix_exp(a * 0), identity, eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (2, 4, 3), (0, 3), (3, 0), (2, 0, 3)])
def test_matrices_of_any_shape(dtype: str, shape: tuple[int, ...]) -> None:
    a, eps = make(normal(*shape), dtype), tolerance(dtype)
    m, n = shape[-2:]
    k = min(m, n)
    for mode in ("reduced", "complete"):
        q, r = tengen.linalg.qr(a, mode)
        close(q @ r, a, eps)
        close(r, r.triu(), 0)
        close(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1])), eps)
    assert tengen.linalg.qr(a, "r").Q.shape == (0,)
    for full in (False, True):
        u, s, vh = tengen.linalg.svd(a, full_matrices=full)
        assert u.shape[-1] == (m if full else k) and vh.shape[-2] == (n if full else k)
        close((u[..., :k] * s.unsqueeze(-2).to(u.dtype)) @ vh[..., :k, :], a, eps)
        assert not s.dtype.is_complex and bool((s[..., :-1] >= s[..., 1:]).all())
    p, lower, upper = tengen.linalg.lu(a)
    close(p @ lower @ upper, a, eps)
    pinv = tengen.linalg.pinv(a)
    close(a @ pinv @ a, a, eps)
    close(pinv @ a @ pinv, pinv, eps * 10)


def test_one_half_is_read() -> None:
    """Of Hermitian and of triangular matrices; NaN elsewhere does not matter."""
    p, b = make(posdef(3, 3)), make(normal(3, 2))
    mask = tengen.ones(3, 3).triu(1).bool()
    lower = tengen.where(mask, nan, p)
    close(tengen.linalg.cholesky(lower), tengen.linalg.cholesky(p))
    close(tengen.linalg.cholesky(lower.mT, upper=True), tengen.linalg.cholesky(p, upper=True))
    close(tengen.linalg.eigvalsh(lower, "L"), tengen.linalg.eigvalsh(p))
    close(tengen.linalg.eigvalsh(lower.mT, "U"), tengen.linalg.eigvalsh(p))
    x = tengen.linalg.solve_triangular(lower, b, upper=False)
    close(p.tril() @ x, b)
    unit = tengen.where(tengen.ones(3, 3).triu().bool(), nan, p)
    x = tengen.linalg.solve_triangular(unit, b, upper=False, unitriangular=True)
    close((p.tril(-1) + tengen.eye(3, dtype=p.dtype)) @ x, b)


def test_what_is_no_matrix_names_the_operator() -> None:
    for name, arguments in {
        "inv": (),
        "det": (),
        "cholesky": (),
        "eigh": (),
        "solve": (tengen.ones(2),),
    }.items():
        with pytest.raises(RuntimeError, match=rf"{name}.*2 by 3 matrices"):
            getattr(tengen.linalg, name)(tengen.ones(2, 3), *arguments)
        with pytest.raises(RuntimeError, match=rf"{name}.*at least 2 dimensions"):
            getattr(tengen.linalg, name)(tengen.ones(3), *arguments)


SINGULAR = tengen.tensor([[1.0, 2.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tengen.linalg.inv(SINGULAR), r"linalg\.inv: The diagonal element 2 is zero"),
        (
            lambda: tengen.inverse(tengen.stack([tengen.eye(2), SINGULAR])),
            r"\(Batch element 1\): The diagonal",
        ),
        (lambda: tengen.linalg.solve(SINGULAR, tengen.ones(2)), r"linalg\.solve: The solver failed"),
        (lambda: tengen.linalg.cholesky(-tengen.eye(3)), "leading minor of order 1 is not positive-definite"),
        (lambda: tengen.linalg.cholesky(SINGULAR), "leading minor of order 2"),
        (lambda: tengen.linalg.cholesky(SINGULAR * nan), "leading minor of order 1"),
        (lambda: tengen.linalg.cholesky_ex(-tengen.eye(3), check_errors=True), "linalg_cholesky_ex"),
        (lambda: tengen.linalg.svd(SINGULAR * nan), "non-finite"),
        (lambda: tengen.linalg.pinv(SINGULAR * nan), "non-finite"),
    ],
)
def test_singular_matrices(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(LinAlgError, match=text):
        call()


def test_lin_alg_error() -> None:
    assert issubclass(LinAlgError, RuntimeError)
    assert LinAlgError.__module__ == "tengen.linalg"
    assert isinstance(pickle.loads(pickle.dumps(LinAlgError("x"))), LinAlgError)


def test_info_tells_instead_of_raising() -> None:
    batch = tengen.stack([tengen.eye(2), SINGULAR])
    inverse, info = tengen.linalg.inv_ex(batch)
    assert info.tolist() == [0, 2] and info.dtype is tengen.int32
    close(inverse[0], np.eye(2))
    assert not inverse[1].isfinite().any()
    assert tengen.linalg.solve_ex(batch, tengen.ones(2, 2)).info.tolist() == [0, 2]
    assert tengen.linalg.cholesky_ex(SINGULAR - 2).info.item() == 1
    assert tengen.linalg.lu_factor_ex(batch).info.tolist() == [0, 2]


# -- derivatives where there is something to say ---------------------------------------------------


def numeric_gradient(function: Callable[[tengen.Tensor], tengen.Tensor], x: tengen.Tensor) -> Any:
    """By central differences, element by element."""
    base = x.detach().numpy().copy()
    result = np.zeros_like(base)
    for i in np.ndindex(base.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = base.copy()
            moved[i] += step
            ends.append(function(tengen.from_numpy(moved)).item())
        result[i] = (ends[0] - ends[1]) / 2e-6
    return result


@pytest.mark.parametrize("size", [1, 2, 4])
def test_det_of_a_singular_matrix_has_a_gradient(size: int) -> None:
    x = make(singular(size, size) if size > 1 else normal(1, 1)) if size > 1 else tengen.zeros(1, 1).double()
    x.requires_grad_()
    tengen.linalg.det(x).backward()
    close(x.grad, numeric_gradient(tengen.linalg.det, x), 1e-6)


def test_det_of_rank_n_minus_2_has_gradient_0() -> None:
    x = tengen.ones(3, 3, dtype=tengen.float64, requires_grad=True)
    tengen.linalg.det(x).backward()
    close(x.grad, np.zeros((3, 3)))
    zero = tengen.zeros(2, 3, 3, dtype=tengen.float64, requires_grad=True)
    tengen.linalg.det(zero).sum().backward()
    close(zero.grad, np.zeros((2, 3, 3)))


@pytest.mark.parametrize("order", [0, 0.5, 1, 1.5, 2, 3, inf, -inf, -1])
def test_vector_norm_at_0_has_gradient_0(order: float) -> None:
    x = tengen.zeros(2, 3, dtype=tengen.float64, requires_grad=True)
    (g,) = tengen.autograd.grad(tengen.linalg.vector_norm(x, order, 1).sum(), x, create_graph=True)
    close(g, np.zeros((2, 3)))
    if g.requires_grad:
        (h,) = tengen.autograd.grad(g.sum(), x, allow_unused=True)
        assert h is None or not h.isnan().any()


def test_largest_elements_share_the_gradient() -> None:
    x = tengen.tensor([1.0, -3.0, 3.0, 2.0], requires_grad=True)
    tengen.linalg.vector_norm(x, inf).backward()
    assert x.grad.tolist() == [0.0, -0.5, 0.5, 0.0]
    x.grad = None
    tengen.linalg.vector_norm(x, -inf).backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tengen.linalg.qr(x, "r").R,
        lambda x: tengen.linalg.qr(x, "complete").R,
        lambda x: tengen.svd(x, compute_uv=False).S,
    ],
)
def test_no_derivative(call: Callable[[Any], Any]) -> None:
    x = make(normal(4, 3)).requires_grad_()
    with pytest.raises(RuntimeError):
        call(x).sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tengen.linalg.svd(x, full_matrices=False).U,
        lambda x: tengen.linalg.eigh(x @ x.mH).eigenvectors,
        lambda x: tengen.linalg.eig(x @ x.mH).eigenvectors,
    ],
)
def test_a_loss_of_phases_is_an_error(call: Callable[[Any], Any]) -> None:
    x = make(normal(3, 3), "complex128").requires_grad_()
    with pytest.raises(RuntimeError, match="ill-defined"):
        tengen.imag((call(x) * make(normal(3, 3), "complex128", 1)).sum()).backward()


def test_singular_values_alone_need_no_vectors() -> None:
    x = make(normal(3, 2)).requires_grad_()
    assert tengen.linalg.svdvals(x).requires_grad
    close(tengen.linalg.svdvals(x), np.linalg.svd(x.detach().numpy(), compute_uv=False))
    tengen.linalg.svdvals(x).sum().backward()
    u, _, vh = np.linalg.svd(x.detach().numpy(), full_matrices=False)
    close(x.grad, u @ vh)


@pytest.mark.parametrize("name", [*PRODUCTS, *LINALG])
def test_gradients_by_differences(name: str) -> None:
    """The gradient of a random functional of each case along a random direction."""
    function, makers = {**PRODUCTS, **LINALG}[name]
    rng = np.random.default_rng(7)
    xs = [tengen.from_numpy(np.asarray(m(rng, np.dtype("float64")))).requires_grad_() for m in makers]
    us = [tengen.from_numpy(normal(*x.shape)(rng, np.dtype("float64"))) for x in xs]

    def loss(*points: Any) -> Any:
        results = function(tengen, *points)
        total, seed = 0, np.random.default_rng(11)
        for r in results if isinstance(results, tuple) else (results,):
            weight = tengen.from_numpy(normal(*r.shape)(seed, np.dtype("float64")))
            total = total + ((tengen.real(r) if r.is_complex() else r) * weight).sum()
        return total

    grads = tengen.autograd.grad(loss(*xs), xs, allow_unused=True)
    found = sum(float((g * u).sum()) for g, u in zip(grads, us, strict=True) if g is not None)
    with tengen.no_grad():
        ends = [
            float(loss(*[x.detach() + h * u for x, u in zip(xs, us, strict=True)])) for h in (1e-6, -1e-6)
        ]
    difference = (ends[0] - ends[1]) / 2e-6
    assert abs(found - difference) <= 1e-5 * max(1, abs(difference))


# -- imports ---------------------------------------------------------------------------------------


def test_scipy_is_imported_when_needed() -> None:
    """Only LU factors, triangular systems, exponentials and least squares need it."""
    program = """
import sys, tengen
a = tengen.eye(3, requires_grad=True)
(tengen.linalg.inv(a @ a).sum() + tengen.linalg.det(a) + tengen.linalg.svd(a).S.sum()).backward()
assert not any(m.split(".")[0] == "scipy" for m in sys.modules)
tengen.linalg.solve_triangular(a, a, upper=True)
assert "scipy.linalg" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
