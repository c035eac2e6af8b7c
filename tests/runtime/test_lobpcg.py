"""``tengen.lobpcg``: some eigenpairs as the dense solver has them; options, tracker, gradients, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen

RNG = np.random.default_rng(0)
M, N = 24, 3
FACTOR = RNG.standard_normal((2, M, M))
#: Two matrices whose eigenvalues are well apart, and a second one for the generalized problem.
MATRICES = FACTOR @ FACTOR.transpose(0, 2, 1) + np.diag(np.arange(M) * 3.0)
SECOND = FACTOR[::-1] @ FACTOR[::-1].transpose(0, 2, 1) / M + np.eye(M)
START = RNG.standard_normal((2, M, N))

A, B, X = (tengen.tensor(value) for value in (MATRICES, SECOND, START))
#: The tolerance of an eigenvalue, relative: the residual's one squared, and rounding.
RTOL = 1e-12


def expected(matrix: Any, second: Any = None, *, largest: bool = True, k: int = N) -> Any:
    """The eigenvalues by NumPy, the wanted ones first."""
    if second is not None:
        root = np.linalg.inv(np.linalg.cholesky(second))
        matrix = root @ matrix @ root.T
    values = np.linalg.eigvalsh(matrix)
    return values[::-1][:k] if largest else values[:k]


def check(E: tengen.Tensor, V: tengen.Tensor, matrix: Any, second: Any = None, largest: bool = True) -> None:
    """Values, residuals, and that the vectors are orthonormal."""
    second_or_eye = np.eye(M) if second is None else second
    np.testing.assert_allclose(E.numpy(), expected(matrix, second, largest=largest, k=len(E)), rtol=RTOL)
    v = V.numpy()
    scale = np.abs(matrix).sum()
    np.testing.assert_allclose(matrix @ v, second_or_eye @ v * E.numpy(), atol=1e-7 * scale)
    np.testing.assert_allclose(v.T @ second_or_eye @ v, np.eye(v.shape[1]), atol=1e-9)


@pytest.mark.parametrize("method", ["basic", "ortho", None])
@pytest.mark.parametrize("largest", [True, False, None])
@pytest.mark.parametrize("generalized", [False, True])
def test_pairs_are_those_of_the_dense_solver(method: Any, largest: Any, generalized: bool) -> None:
    second = B[0] if generalized else None
    found = tengen.lobpcg(A[0], B=second, X=X[0], method=method, largest=largest)
    wanted = True if largest is None else largest
    check(*found, MATRICES[0], SECOND[0] if generalized else None, wanted)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("method", ["basic", "ortho"])
def test_matrices_may_be_sparse(layout: str, method: str) -> None:
    given = tengen.tensor(np.diag(np.arange(1.0, M + 1)) + np.eye(M, k=1) + np.eye(M, k=-1))
    stored = given.to_sparse(layout=getattr(tengen, layout))
    second = B[0].to_sparse(layout=getattr(tengen, layout))
    check(*tengen.lobpcg(stored, X=X[0], B=second, method=method), given.numpy(), SECOND[0])


def test_batches() -> None:
    E, V = tengen.lobpcg(A[None], X=X[None], B=B[None])
    assert (E.shape, V.shape) == ((1, 2, N), (1, 2, M, N))
    for i in range(2):
        check(E[0, i], V[0, i], MATRICES[i], SECOND[i])
    empty = tengen.lobpcg(tengen.zeros(0, 9, 9), k=2)
    assert [tuple(t.shape) for t in empty] == [(0, 2), (0, 9, 2)]


def test_how_many_and_from_where() -> None:
    tengen.manual_seed(0)
    for keywords, k in (({}, 1), ({"k": 2}, 2), ({"k": 1, "n": 4}, 1), ({"X": X[0], "k": 2, "n": 7}, 2)):
        E, V = tengen.lobpcg(A[0], **keywords)
        assert (E.shape, V.shape) == ((k,), (M, k))
        check(E, V, MATRICES[0])
    before = X.clone()
    tengen.lobpcg(A[0], X=X[0], method="basic")
    assert tengen.equal(X, before)


def test_complex_hermitian_matrices() -> None:
    rotation = np.exp(1j * RNG.uniform(0, 6, (M, M)))
    matrix = np.triu(MATRICES[0] * rotation, 1)
    matrix = matrix + matrix.conj().T + np.eye(M) * 400
    for method in ("basic", "ortho"):
        E, V = tengen.lobpcg(tengen.tensor(matrix), X=tengen.tensor(START[0] + 0j), tol=1e-9, method=method)
        np.testing.assert_allclose(E.numpy(), expected(matrix), rtol=1e-9)
        np.testing.assert_allclose(matrix @ V.numpy(), V.numpy() * E.numpy(), atol=1e-5)


def steps(**keywords: Any) -> int:
    """How many steps a call takes."""
    seen: list[int] = []
    tengen.lobpcg(A[0], X=X[0], tracker=lambda solver: seen.append(solver.ivars["istep"]), **keywords)
    assert seen == list(range(1, len(seen) + 1))
    return len(seen)


def test_options_reach_the_solver() -> None:
    assert steps(niter=4) == 4
    assert steps(tol=1e-2) < steps() < steps(tol=1e-12)
    assert steps(niter=-1) == steps()
    inverse = tengen.linalg.inv(A[0])
    basic = {"method": "basic", "largest": False}
    assert steps(iK=inverse, **basic) < steps(**basic) / 2
    assert steps(ortho_fparams={"tol": 1e-2}) == steps(tol=1e-2)


def test_the_tracker_sees_the_parameters_and_stops() -> None:
    solvers = []

    def tracker(solver: Any) -> None:
        solvers.append(solver)
        solver.bvars["force_stop"] = solver.ivars["istep"] == 3

    options = {"ortho_i_max": 5}, {"ortho_tol": 1e-6}, {"ortho_use_drop": True}
    names = "ortho_iparams", "ortho_fparams", "ortho_bparams"
    given = dict(zip(names, options, strict=True))
    tengen.lobpcg(A, X=X, k=2, tracker=tracker, **given)
    assert len(solvers) == 2 * 3  # of each matrix of the batch
    last = solvers[-1]
    assert last.iparams == {
        "m": M,
        "n": N,
        "k": 2,
        "niter": 1000,
        "ortho_i_max": 5,
        "ortho_j_max": 3,
        "batch_index": 1,
    }
    tol = 2.23e-16**0.5
    tolerances = {"ortho_tol": 1e-6, "ortho_tol_drop": tol, "ortho_tol_replace": tol}
    assert last.fparams == {"tol": tol, **tolerances}
    assert last.bparams == {"largest": True, "ortho_use_drop": True}
    assert last.tvars["rerr"].shape == last.E.shape == (N,)
    assert (last.S.shape, last.R.shape, last.ivars["converged_end"]) == ((M, 3 * N), (M, N), 3 * N)
    assert str(last).startswith("LOBPCG:\n  iparams={'m': 24")


def test_the_basis_is_orthonormal() -> None:
    def tracker(solver: Any) -> None:
        basis = solver.S[:, : solver.ivars["converged_end"]].numpy()
        np.testing.assert_allclose(basis.T @ SECOND[0] @ basis, np.eye(basis.shape[1]), atol=1e-6)

    tengen.lobpcg(A[0], B=B[0], X=X[0], tracker=tracker)


@pytest.mark.parametrize("method", ["basic", "ortho"])
def test_what_had_converged_may_have_not(method: str) -> None:
    """The tolerance is made smaller once a pair has converged: then none has, and all do in the end."""
    counts: list[int] = []

    def tracker(solver: Any) -> None:
        counts.append(solver.ivars["converged_count"])
        if counts[-1]:
            solver.fparams["tol"] = 1e-9

    found = tengen.lobpcg(A[0], X=X[0], tol=1e-3, method=method, tracker=tracker)
    falls = [after for before, after in itertools.pairwise(counts) if after < before]
    assert falls
    assert counts[-1] == N
    check(*found, MATRICES[0])


def signed(a: tengen.Tensor, **keywords: Any) -> tuple[tengen.Tensor, tengen.Tensor]:
    """Eigenpairs, of vectors whose first element is positive: so they are functions of the matrix."""
    E, V = tengen.lobpcg(a, tol=1e-14, niter=300, **keywords)
    return E, V * V[..., :1, :].detach().sign()


@pytest.mark.parametrize("largest", [True, False])
def test_gradients_are_those_of_the_dense_solver(largest: bool) -> None:
    matrix, start, weights = A[:, :9, :9], X[:, :9, :2], tengen.tensor(RNG.standard_normal((2, 9, 2)))

    def dense(a: tengen.Tensor, **_: Any) -> tuple[tengen.Tensor, tengen.Tensor]:
        E, V = tengen.linalg.eigh((a + a.mT) / 2)
        order = [8, 7] if largest else [0, 1]
        E, V = E[..., order], V[..., order]
        return E, V * V[..., :1, :].detach().sign()

    def gradient(pairs: Callable[..., Any]) -> Any:
        a = matrix.clone().requires_grad_()
        E, V = pairs(a, X=start, largest=largest)
        (E.prod() + (V * weights).sum() ** 2).backward()
        return a.grad

    found = gradient(signed)
    np.testing.assert_allclose(found.numpy(), gradient(dense).numpy(), rtol=1e-8, atol=1e-8)
    assert tengen.equal(found, found.mT)


def test_derivatives_of_first_and_second_order() -> None:
    """Of all pairs a solver for a third of them can have, k = 2 of 6."""
    start = X[:, :6, :2]
    a = tengen.tensor(MATRICES[:, :6, :6] / 10, requires_grad=True)
    assert tengen.autograd.gradcheck(lambda a: signed(a, X=start), (a,))
    assert tengen.autograd.gradgradcheck(lambda a: signed(a, X=start), (a,))


def test_gradients_that_there_are_none_of() -> None:
    leaf = A[0].clone().requires_grad_()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"A": leaf, "B": B[0]}, "does not support backward with B != I yet."),
        ({"A": A[0], "B": leaf}, "does not support backward with B != I yet."),
        ({"A": A[0].to_sparse().requires_grad_()}, "does not support sparse input yet."),
        (
            {"A": (A[0] + 0j).requires_grad_(), "X": X[0] + 0j},
            "does not support complex input yet.",
        ),
    ]
    for keywords, message in cases:
        E, _ = tengen.lobpcg(**{"X": X[0], **keywords})
        assert E.requires_grad
        with pytest.raises(ValueError, match=f"lobpcg.backward {message}"):
            E.abs().sum().backward()


def errors(lib: Any) -> dict[str, Callable[[], Any]]:
    """Calls that are refused."""
    a, x = lib.eye(9), lib.ones(9, 2)
    return {
        "square": lambda: lib.lobpcg(a[:5]),
        "B": lambda: lib.lobpcg(a, B=a[:5, :5]),
        "few rows": lambda: lib.lobpcg(a, k=4),
        "X": lambda: lib.lobpcg(a, X=x[:5]),
        "dtype": lambda: lib.lobpcg(a, X=x.double()),
        "int": lambda: lib.lobpcg(a.long()),
        "complex": lambda: lib.lobpcg(a.to(lib.complex64)),
        "vector": lambda: lib.lobpcg(a[0]),
        "zeros": lambda: lib.lobpcg(a, X=x * 0),
        "dependent": lambda: lib.lobpcg(a, X=x),
    }


EXPECTED = {
    "square": (AssertionError, "A must be square, got shape {}.Size([5, 9])"),
    "B": (AssertionError, "A and B must have same shape, got {0}.Size([9, 9]) vs {0}.Size([5, 5])"),
    "few rows": (
        ValueError,
        "LOBPCG algorithm is not applicable when the number of A rows (=9) is smaller than 3 x the number of "
        "requested eigenpairs (=4)",
    ),
    "X": (AssertionError, "X shape mismatch: got {}.Size([5, 2]), expected (9, 2)"),
    "dtype": (RuntimeError, "to have the same dtype, but got: "),
    "int": (RuntimeError, "to have the same dtype, but got: "),
    "complex": (RuntimeError, "to have the same dtype, but got: "),
    "vector": (IndexError, ""),
    "zeros": (ZeroDivisionError, "0.0"),
    "dependent": (RuntimeError, "not positive-definite"),
}


def _refused(lib: Any, name: str) -> None:
    kind, message = EXPECTED[name]
    with pytest.raises(kind) as caught:
        errors(lib)[name]()
    assert message.format(lib.__name__) in str(caught.value)


@pytest.mark.parametrize("name", EXPECTED)
def test_bad_arguments_are_refused(name: str) -> None:
    _refused(tengen, name)


@pytest.mark.oracle
@pytest.mark.parametrize("name", EXPECTED)
def test_pytorch_refuses_them_alike(torch: Any, name: str) -> None:
    _refused(torch, name)


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"method": "basic"},
        {"B": True},
        {"B": True, "method": "basic"},
        {"largest": False},
        {"k": 1},
        {"niter": 3},
        {"method": "basic", "iK": True, "largest": False},
        {"ortho_bparams": {"ortho_use_drop": True}},
    ],
    ids=str,
)
def test_the_steps_are_pytorchs(torch: Any, dtype: str, keywords: dict[str, Any]) -> None:
    """The approximations after each of the first steps, before rounding is what differs."""
    few = 4

    def run(lib: Any) -> list[tuple[Any, Any, Any]]:
        seen: list[tuple[Any, Any, Any]] = []

        def tracker(solver: Any) -> None:
            state = solver.E.abs().clone(), solver.X.abs().clone(), dict(solver.ivars)
            seen.append(state)

        a, b, x = (lib.tensor(v[0].astype(dtype)) for v in (MATRICES, SECOND, START))
        tensors = {"B": b, "iK": lib.linalg.inv(a)}
        given = {k: tensors.get(k, v) for k, v in keywords.items()}
        lib.lobpcg(a, X=x, tracker=tracker, **given)
        return seen

    ours, theirs = run(tengen), run(torch)
    rtol = 1e-3 if dtype == "float32" else 1e-9
    for (e, v, state), (e2, v2, state2) in zip(ours[:few], theirs[:few], strict=True):
        np.testing.assert_allclose(e.numpy(), e2.numpy(), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(v.numpy(), v2.numpy(), rtol=rtol, atol=rtol)
        assert state == state2
    if keywords.get("method") != "basic":  # which finds pairs there again that have converged
        assert abs(len(ours) - len(theirs)) <= 2
        np.testing.assert_allclose(ours[-1][0].numpy(), theirs[-1][0].numpy(), rtol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("largest", [True, False])
def test_gradients_are_pytorchs(torch: Any, largest: bool) -> None:
    def gradient(lib: Any) -> Any:
        a = lib.tensor(MATRICES, requires_grad=True)
        E, V = lib.lobpcg(a, X=lib.tensor(START), tol=1e-13, niter=300, largest=largest)
        V = V * V[..., :1, :].detach().sign()
        (E.sum() ** 2 + (V**3).sum()).backward()
        return a.grad.numpy()

    np.testing.assert_allclose(gradient(tengen), gradient(torch), rtol=1e-6, atol=1e-6)
