"""Products and linear algebra beside PyTorch: values, dtypes, two derivatives, errors, shapes on Meta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from linalg_calls import CALLS
from linalg_cases import LINALG, NORMS, PRODUCTS, normal

import tengen
import tengen.nn.functional

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

CASES = {**PRODUCTS, **LINALG, **NORMS}
# PyTorch writes into its own result there, and then cannot differentiate it.
NO_GRADIENT = {"cond_1"}


def ours(array: Any) -> Any:
    return tengen.from_numpy(array.copy())


def theirs(array: Any) -> Any:
    return torch.from_numpy(array.copy())


def tensors(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def array_of(t: Any) -> Any:
    if isinstance(t, tengen.Tensor):
        return (t.float() if t.dtype is tengen.bfloat16 else t).detach().numpy()
    t = (t.float() if t.dtype is torch.bfloat16 else t).detach()
    return t.resolve_conj().resolve_neg().numpy(force=True)


def name_of(dtype: Any) -> str:
    return str(dtype).partition(".")[2]


def assert_same(found: Any, expected: Any, tolerance: float, nan_may_be_finite: bool = False) -> None:
    assert name_of(found.dtype) == name_of(expected.dtype)
    assert tuple(found.shape) == tuple(expected.shape)
    a, b = array_of(found), array_of(expected)
    if nan_may_be_finite:  # a second derivative at a kink, where we say 0 and PyTorch nothing
        a = np.where(np.isnan(b), b, a)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def assert_gradients(found: Any, expected: Any, tolerance: float, kinks: bool = False) -> None:
    for g, e in zip(found, expected, strict=True):
        if g is None or e is None:  # nothing is as good as zeros
            assert all(t is None or not array_of(t).any() for t in (g, e))
        else:
            assert_same(g, e, tolerance, kinks)


def inputs(name: str, dtype: str) -> list[Any]:
    rng = np.random.default_rng(3)
    return [np.asarray(make(rng, np.dtype(dtype))) for make in CASES[name][1]]


@pytest.mark.parametrize("name", CASES)
def test_values_and_two_derivatives(name: str) -> None:
    function = CASES[name][0]
    for dtype in ("float64", "complex128"):
        arrays = inputs(name, dtype)
        xs, ys = [ours(a).requires_grad_() for a in arrays], [theirs(a).requires_grad_() for a in arrays]
        found, expected = tensors(function(tengen, *xs)), tensors(function(torch, *ys))
        assert [t.requires_grad for t in found] == [t.requires_grad for t in expected]
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e, 1e-8)
        if name in NO_GRADIENT:
            continue
        rng = np.random.default_rng(5)
        kept = [i for i, t in enumerate(expected) if t.requires_grad]
        vs = [normal(*expected[i].shape)(rng, array_of(expected[i]).dtype) for i in kept]
        results, wanted = [found[i] for i in kept], [expected[i] for i in kept]
        g = tengen.autograd.grad(results, xs, list(map(ours, vs)), create_graph=True, allow_unused=True)
        e = torch.autograd.grad(wanted, ys, list(map(theirs, vs)), create_graph=True, allow_unused=True)
        assert_gradients(g, e, 1e-7)
        plain = tensors(function(tengen, *xs))
        once = tengen.autograd.grad([plain[i] for i in kept], xs, list(map(ours, vs)), allow_unused=True)
        assert_gradients(once, e, 1e-7)
        second_derivatives(g, e, xs, ys, rng)


def second_derivatives(g: Any, e: Any, xs: Any, ys: Any, rng: np.random.Generator) -> None:
    ws = [normal(*y.shape)(rng, array_of(y).dtype) for y in ys]
    kept = [i for i in range(len(xs)) if e[i] is not None and e[i].requires_grad]
    kept = [i for i in kept if g[i] is not None and g[i].requires_grad]
    if kept:
        found = tengen.autograd.grad([g[i] for i in kept], xs, [ours(ws[i]) for i in kept], allow_unused=True)
        expected = torch.autograd.grad(
            [e[i] for i in kept], ys, [theirs(ws[i]) for i in kept], allow_unused=True
        )
        assert_gradients(found, expected, 1e-6, kinks=True)


@pytest.mark.parametrize(
    "dtype", ["float32", "complex64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]
)
def test_dtypes(dtype: str) -> None:
    """The same dtypes are taken, and the results have the same."""
    tolerance = {"float32": 2e-3, "complex64": 2e-3, "float16": 4e-3, "bfloat16": 3e-2}.get(dtype, 1e-4)
    for name, (function, _) in CASES.items():
        if (name, dtype) in DTYPE_DIFFERENCES or name in NO_DTYPES:
            continue
        arrays = inputs(name, "complex128" if dtype == "complex64" else "float64")
        if "int" in dtype:
            arrays = [np.asarray((a * 30).astype("int64")) for a in arrays]
        outcomes: list[Any] = []
        for library, make in ((tengen, ours), (torch, theirs)):
            try:
                given = [make(a).to(getattr(library, dtype)) for a in arrays]
                outcomes.append(tensors(function(library, *given)))
            except (RuntimeError, TypeError) as error:
                outcomes.append(error)
        found, expected = outcomes
        if isinstance(expected, Exception) or isinstance(found, Exception):
            assert isinstance(found, Exception) and isinstance(expected, Exception), (name, outcomes)
            continue
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e, tolerance)


# Sums of narrow integers widen inside PyTorch's einsum, which then refuses them.
DTYPE_DIFFERENCES = {("einsum_size_1", d) for d in ("uint8", "int32")} | {("mm_empty", "bool")}
# Its inverse is formed in float32, as its products are; PyTorch has no inverse of these.
DTYPE_DIFFERENCES |= {("matrix_power_negative", d) for d in ("float16", "bfloat16")}
# In half precision PyTorch's exponential overflows; ill-conditioned results of random truth values.
NO_DTYPES = {"matrix_exp", "eigh_values", "eigh_vectors", "eigvalsh", "cond", "cond_1", "cond_nuc"}


@pytest.mark.parametrize("name", CASES)
def test_meta(name: str) -> None:
    """Without data: the shapes and dtypes of results and gradients."""
    function = CASES[name][0]
    for dtype in ("float32", "complex128"):
        arrays = inputs(name, dtype)
        found: list[list[Any]] = []
        for device in ("cpu", "meta"):
            xs = [ours(a).to(device).requires_grad_() for a in arrays]
            results = tensors(function(tengen, *xs))
            loss = sum(r.abs().sum() for r in results if r.requires_grad)
            grads = (
                tengen.autograd.grad(loss, xs, allow_unused=True) if isinstance(loss, tengen.Tensor) else []
            )
            found.append([None if t is None else (t.shape, t.dtype) for t in (*results, *grads)])
        assert found[0] == found[1]


@pytest.mark.parametrize("text", CALLS)
def test_calls_and_errors(text: str) -> None:
    """Each call gives the same, or an error of the same class."""
    outcomes: list[Any] = []
    for library in (torch, tengen):
        s = library.tensor([[1.0, 2.0], [2.0, 4.0]])
        names = {
            "ns": library,
            "t": library.ones,
            "L": library.linalg,
            "F": library.nn.functional,
            "d": library.float64,
            "inf": float("inf"),
            "nan": float("nan"),
            "S": s,
            "B": library.stack([library.eye(2), s]),
            "I": library.eye(3) * 2 + 1,
        }
        try:
            outcomes.append(tensors(eval(text, names)))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            outcomes.append(error)
    expected, found = outcomes
    if isinstance(expected, Exception):
        wanted = type(expected).__name__.lstrip("_")
        assert wanted in [c.__name__ for c in type(found).__mro__], f"{found!r} is not {expected!r}"
        return
    assert not isinstance(found, Exception), found
    for f, e in zip(found, expected, strict=True):
        if isinstance(f, tengen.Tensor):
            assert_same(
                f.abs() if f.dtype.is_floating_point else f, e.abs() if e.is_floating_point() else e, 1e-4
            )
        else:
            assert str(f).partition(".")[2] == str(e).partition(".")[2] or f == e
