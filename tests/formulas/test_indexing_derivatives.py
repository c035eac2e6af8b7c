"""Gradients of indexing and scattering: repeated positions, parts of sources, zeros in products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 4))
WHERE, ROWS = RNG.integers(0, 3, (5, 4)), np.array([0, 2, 2, 1, 0])


def test_repeated_positions_add_up() -> None:
    x = tengen.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = tengen.tensor([0, 0, 2])
    for y in (x[index], x.index_select(0, index), x.take(index - 3)):
        (grad,) = tengen.autograd.grad(y.sum(), x)
        assert grad.tolist() == [2, 0, 1]


def test_what_of_a_source_is_not_used_has_no_gradient() -> None:
    x, src = tengen.zeros(3), tengen.ones(4, requires_grad=True)
    index = tengen.tensor([0, 2])
    for y in (
        x.scatter(0, index, src),
        x.scatter_add(0, index, src),
        x.scatter_reduce(0, index, src, "mean"),
    ):
        (grad,) = tengen.autograd.grad(y.sum(), src)
        assert grad[2:].tolist() == [0, 0]
        assert (grad[:2] > 0).all()


def test_a_mask_is_differentiated_where_it_is_true() -> None:
    x = tengen.tensor([1.0, 2.0, 3.0], requires_grad=True)
    mask = tengen.tensor([True, False, True])
    value = tengen.tensor(5.0, requires_grad=True)
    first = tengen.autograd.grad(x.masked_fill(mask, value).sum(), (x, value))
    assert [g.tolist() for g in first] == [[0, 1, 0], 2]
    (grad,) = tengen.autograd.grad(x.masked_select(mask).sum(), x)
    assert grad.tolist() == [1, 0, 1]


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("values", [[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("held", [0.0, 5.0])
def test_products_of_zeros_to_the_second_derivative(
    values: list[float], held: float, include_self: bool
) -> None:
    x = tengen.tensor([held, 7.0], dtype=tengen.float64, requires_grad=True)
    src = tengen.tensor(values, dtype=tengen.float64, requires_grad=True)
    index = tengen.tensor([0, 0, 0])
    expected = src[0] * src[1] * src[2] * (x[0] if include_self else 1) + x[1]
    for found in (
        x.scatter_reduce(0, index, src, "prod", include_self=include_self).sum(),
        x.index_reduce(0, index, src, "prod", include_self=include_self).sum(),
    ):
        results = []
        for y in (found, expected):
            first = tengen.autograd.grad(y, (x, src), create_graph=True)
            weighted = (first[0] * tengen.tensor([1.0, 2.0])).sum() + (
                first[1] * tengen.tensor([1.0, 2.0, 3.0])
            ).sum()
            second = tengen.autograd.grad(weighted, (x, src), retain_graph=True, allow_unused=True)
            filled = [tengen.zeros_like(t) if g is None else g for g, t in zip(second, (x, src), strict=True)]
            results.append(tengen.cat([*first, *filled]).tolist())
        assert results[0] == pytest.approx(results[1])


# -- against PyTorch -------------------------------------------------------------------------------

CALLS = [
    "a[i]", "a[:, None, 0][i]", "a[m]", "a.gather(0, w)", "a.index_select(0, i)", "a.take(w)",
    "a.index_add(0, i, b, alpha=2)", "a.index_copy(0, p, b[:3])", "a.index_fill(0, p[:2], 3.0)",
    "a.index_fill(0, p[:2], b[0, 0])", "a.index_put((i,), b, True)", "a.index_put((p,), b[:3])",
    "a.index_put((m,), b[0, 0])", "a.masked_fill(m, 0)", "a.masked_fill(m, b[0, 0])",
    "a.masked_scatter(m, b)", "a.masked_select(m)", "a.put(w[:2], b[:2], True)",
    "a.scatter(0, p[:, None], b[:3, :1])",
    "a.scatter(0, w, 2.0)", "a.scatter_add(0, w, b)", "L.take_along_dim(a, w[:1], 0)",
    "a.scatter_reduce(0, w, b, 'sum')", "a.scatter_reduce(0, w, b, 'mean', include_self=False)",
    "a.scatter_reduce(0, w, b, 'prod')", "a.scatter_reduce(0, w, b, 'prod', include_self=False)",
    "a.scatter_reduce(0, w, b, 'amax')", "a.scatter_reduce(0, w, b, 'amin', include_self=False)",
    "a.index_reduce(0, i, b, 'mean')", "a.index_reduce(0, i, b, 'prod', include_self=False)",
    "a.index_reduce(0, i, b, 'amax')",
]  # fmt: skip


def derivatives(library: Any, call: str, arrays: tuple[Any, Any]) -> list[Any]:
    """Gradients and second derivatives of a fixed weighted sum of what ``call`` gives, as arrays."""
    a, b = [library.tensor(x).requires_grad_() for x in arrays]
    names = {"w": library.tensor(WHERE), "i": library.tensor(ROWS), "p": library.tensor([2, 0, 1])}
    y = eval(call, {"L": library, "a": a, "b": b, "m": library.tensor(A > 0), **names})
    weights = library.tensor(np.linspace(0.5, 1.5, y.numel()).reshape(tuple(y.shape)))
    first = library.autograd.grad((y * y * weights).sum(), (a, b), create_graph=True, allow_unused=True)
    loss = sum([(g * g).sum() for g in first if g is not None])
    second = library.autograd.grad(loss, (a, b), allow_unused=True)
    return [np.zeros(1) if g is None else np.array(g.tolist()) for g in (*first, *second)]


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["random", "zeros", "ties"])
def test_against_torch(call: str, kind: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = A.copy(), B.copy()
    if kind == "zeros":
        a[0, 1] = b[1, 0] = b[3, 2] = 0
    elif kind == "ties":
        a, b = np.round(a), np.round(b)
        if "prod" in call:
            pytest.skip("where two zeros meet, torch refuses the second derivative")
        if "amin" in call:
            pytest.skip("torch shares the gradient also with what include_self=False leaves out")
    for found, expected in zip(
        derivatives(tengen, call, (a, b)), derivatives(torch, call, (a, b)), strict=True
    ):
        np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-9, atol=1e-11)
