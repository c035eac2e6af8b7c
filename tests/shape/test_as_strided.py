"""What ``as_strided`` and its kin do to memory that is not theirs alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen import func


def test_the_gradient_of_as_strided_scatter_may_be_a_view() -> None:
    x, s = tengen.arange(12.0).reshape(3, 4).requires_grad_(), tengen.ones(2, 2, requires_grad=True)
    y = tengen.as_strided_scatter(x, s, (2, 2), (4, 1), 1)
    grad = tengen.arange(24.0).reshape(6, 4)[3:]
    found = tengen.autograd.grad(y, (x, s), grad)
    assert found[0].tolist() == [[12.0, 0.0, 0.0, 15.0], [16.0, 0.0, 0.0, 19.0], [20.0, 21.0, 22.0, 23.0]]
    assert found[1].tolist() == [[13.0, 14.0], [17.0, 18.0]]


#: Inputs over 24 elements that own memory of their own geometry, and windows on that memory.
INPUTS: dict[str, Callable[[Any], Any]] = {
    "matrix": lambda z: z.reshape(4, 6),
    "transposed": lambda z: z.reshape(6, 4).t(),
    "permuted": lambda z: z.reshape(2, 3, 4).permute(2, 0, 1),
}
WINDOWS = [
    ((2, 2), (4, 1), 1), ((3,), (2,), 1), ((), (), 2), ((2, 2), (3, 1), None), ((0, 2), (1, 1), 0),
]  # fmt: skip
OVERLAPPING = [((2, 2), (1, 1), 0), ((2, 3), (0, 1), 0), ((4,), (0,), 3)]


def values() -> Any:
    return tengen.arange(24, dtype=tengen.float64) * 0.1 + 0.3


def close(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(tengen.allclose(a, b, rtol=1e-9, atol=1e-11))


def windowed(shape: str, window: Any) -> Callable[[Any], Any]:
    return lambda z: (tengen.as_strided(INPUTS[shape](z), *window) ** 2).sum()


@pytest.mark.parametrize("shape", INPUTS)
@pytest.mark.parametrize("window", [*WINDOWS, *OVERLAPPING], ids=str)
def test_derivatives_of_as_strided(shape: str, window: Any) -> None:
    """By indices into the memory, in both modes, twice, and of many examples."""
    f, x = windowed(shape, window), values()
    memory = tengen.as_strided(INPUTS[shape](tengen.arange(24)), *window).flatten()
    places = INPUTS[shape](tengen.arange(24)).flatten()
    at = tengen.stack([(places == m).nonzero()[0, 0] for m in memory]) if memory.numel() else memory

    def indexed(z: Any) -> Any:
        return (INPUTS[shape](z).flatten()[at] ** 2).sum()

    assert close(func.grad(f)(x), func.grad(indexed)(x))
    assert close(func.jacfwd(f)(x), func.grad(indexed)(x))
    expected = func.jacrev(func.grad(indexed))(x)
    for outer, inner in itertools.product((func.jacrev, func.jacfwd), repeat=2):
        assert close(outer(inner(f))(x), expected)
    many = tengen.stack([x, x * 2, x + 1])
    for transform in (lambda f: f, func.grad, func.hessian):
        found = tengen.vmap(transform(f))(many)
        assert close(found, tengen.stack([transform(f)(row.clone()) for row in many]))
        assert close(tengen.vmap(transform(f))(x.expand(3, 24)), transform(f)(x).expand(found.shape))


@pytest.mark.parametrize("shape", INPUTS)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_derivatives_of_as_strided_scatter(shape: str, window: Any) -> None:
    """It is linear: the gradients are the transpose of the tangents, and these are the operator."""
    x = values()
    count = tengen.as_strided(INPUTS[shape](x), *window).numel()
    src = tengen.arange(float(count), dtype=tengen.float64).reshape(window[0]) - 0.5

    def f(z: Any, s: Any) -> Any:
        return tengen.as_strided_scatter(INPUTS[shape](z), s, *window)

    result = f(x, src)
    assert result.stride() == INPUTS[shape](x).stride()
    assert close(tengen.as_strided(result, *window), src)
    by_tangents, by_gradients = func.jacfwd(f, (0, 1))(x, src), func.jacrev(f, (0, 1))(x, src)
    for tangents, gradients, point in zip(by_tangents, by_gradients, (x, src), strict=True):
        assert close(tangents, gradients)
        basis = tengen.eye(point.numel(), dtype=x.dtype).reshape(point.numel(), *point.shape)
        rows = [f(e.clone(), src * 0) if point is x else f(x * 0, e) for e in basis]
        found = tangents.reshape(*result.shape, point.numel())
        assert close(found, tengen.stack(rows, -1)) if rows else not found.numel()
    many = tengen.stack([x, x * 2, x + 1])
    assert close(tengen.vmap(lambda z: f(z, src))(many), tengen.stack([f(row.clone(), src) for row in many]))
    gradient = func.grad(lambda z: (f(z, src) ** 3).sum())
    assert close(tengen.vmap(gradient)(many), tengen.stack([gradient(row.clone()) for row in many]))


@pytest.mark.oracle
def test_as_strided_scatter_keeps_the_geometry() -> None:
    torch = pytest.importorskip("torch")
    for m in (torch, tengen):
        base = m.arange(12.0)
        views = [base[4:], base.reshape(3, 4)[:, ::2], base.reshape(3, 4).t()[1:], base.reshape(3, 4)[1:, 1]]
        found = [
            m.as_strided_scatter(v, m.tensor([-1.0, -2.0]), (2,), (2,), o) for v in views for o in (5, None)
        ]
        said = [(t.tolist(), tuple(t.stride()), t.storage_offset()) for t in found]
        if m is torch:
            expected = said
    assert said == expected


def test_the_gradient_counts_from_where_the_input_begins() -> None:
    x = tengen.arange(6.0)[2:].detach().requires_grad_()
    (found,) = tengen.autograd.grad(x.as_strided((2,), (1,), 3), x, tengen.tensor([5.0, 7.0]))
    assert found.tolist() == [0, 5, 7, 0]


def test_memory_that_an_input_shows_several_times_shares_its_gradient_out() -> None:
    x = tengen.zeros(1).expand(3).detach().requires_grad_()
    (found,) = tengen.autograd.grad(x.as_strided((1,), (1,), 0), x, tengen.tensor([6.0]))
    assert found.tolist() == [2, 2, 2]
