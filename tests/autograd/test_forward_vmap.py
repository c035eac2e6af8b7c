"""Forward mode and vmap: tangents of examples, examples of tangents, and in-place operators on both."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.func import grad, hessian, jacfwd, jacrev, jvp, vmap

Program = Callable[[ModuleType, Any], Any]


def written(m: ModuleType, x: Any) -> Any:
    """Builds a result up by writes into parts of what has examples, but no tangent at first."""
    y = m.zeros(4, dtype=x.dtype) + 0 * x.detach().sum()
    y[0] = x[0] * x[1]
    y[1:] = x.exp()
    y[1:].mul_(x)
    return y * 2


def written_over(m: ModuleType, x: Any) -> Any:
    y = x.clone()
    y[0].mul_(x[1])
    y *= x
    return y


PROGRAMS: dict[str, Program] = {
    "chain": lambda m, x: (x.sin() * x.sum()).exp(),
    "sort": lambda m, x: x.sort(descending=True)[0] * x,
    "cumsum": lambda m, x: x.cumsum(0) ** 2,
    "max": lambda m, x: x.max(0)[0] * x,
    "gather": lambda m, x: x.gather(0, m.tensor([2, 1, 1])) * x,
    "cat": lambda m, x: m.cat([x, x * x]),
    "where": lambda m, x: m.where(x > 0.4, x * x, x),
    "matmul": lambda m, x: x[None] @ x[:, None] * x,
    "index": lambda m, x: x[m.tensor([0, 2])] * x[1],
    "masked": lambda m, x: x.masked_fill(x > 0.4, 1.0) * x,
    "cast": lambda m, x: x.float().double() * x,
    "norm": lambda m, x: m.nn.functional.layer_norm(x * x, (3,)).softmax(0),
    "view": lambda m, x: x.reshape(3, 1).expand(3, 2).T.sum(0) * x,
    "written": written,
    "written over": written_over,
}

POINT = np.array([0.3, 0.5, 0.7])
POINTS = np.stack([POINT, POINT[::-1] * 2])


def numeric_jacobian(program: Program, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The Jacobian by differences, the derivative last."""
    step = 1e-5
    if program is PROGRAMS["cast"]:
        step = 1e-3
    columns = []
    for i in range(x.size):
        at = np.zeros_like(x)
        at.reshape(-1)[i] = step
        ahead, behind = (program(tengen, tengen.tensor(x + s * at)).numpy() for s in (1, -1))
        columns.append((ahead - behind) / (2 * step))
    return np.stack(columns, -1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jacobians(name: str) -> None:
    """Columns at once, rows at once, for one point and for several, against differences."""

    def function(x: Any) -> Any:
        return PROGRAMS[name](tengen, x)

    x, xs = tengen.tensor(POINT), tengen.tensor(POINTS)
    expected = numeric_jacobian(PROGRAMS[name], POINT)
    several = np.stack([numeric_jacobian(PROGRAMS[name], p) for p in POINTS])
    tolerance = {"rtol": 1e-3, "atol": 1e-3} if name == "cast" else {"rtol": 1e-6, "atol": 1e-7}
    np.testing.assert_allclose(jacfwd(function)(x).numpy(), expected, **tolerance)
    np.testing.assert_allclose(vmap(jacfwd(function))(xs).numpy(), several, **tolerance)
    along = (several @ POINT[:, None])[..., 0]
    v = tengen.tensor(POINT)
    np.testing.assert_allclose(vmap(lambda x: jvp(function, (x,), (v,))[1])(xs).numpy(), along, **tolerance)
    each = jvp(vmap(function), (xs,), (v.expand(2, 3),))[1]
    np.testing.assert_allclose(each.numpy(), along, **tolerance)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hessians(name: str) -> None:
    """Forward over reverse, forward over forward, reverse over forward, of one point and of several."""

    def function(x: Any) -> Any:
        return PROGRAMS[name](tengen, x).sum() * x.prod()

    x, xs = tengen.tensor(POINT), tengen.tensor(POINTS)
    expected = jacrev(jacrev(function))(x).numpy()
    tolerance = 1e-6 if name == "cast" else 1e-9
    for transform in (
        hessian,
        lambda f: jacfwd(jacfwd(f)),
        lambda f: jacrev(jacfwd(f)),
        lambda f: jacfwd(grad(f)),
    ):
        np.testing.assert_allclose(transform(function)(x).numpy(), expected, rtol=tolerance, atol=tolerance)
        found = vmap(transform(function))(xs).numpy()
        np.testing.assert_allclose(found[0], expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(
            found[1], transform(function)(xs[1]).numpy(), rtol=tolerance, atol=tolerance
        )


def test_tangents_of_examples_meet_examples() -> None:
    """An operand of no example has tangents for many; the other one has both."""
    x, vs = tengen.tensor(POINT), tengen.tensor(POINTS)

    def along(v: Any) -> Any:
        return jvp(lambda x: x * v.sin() + x[0] * v, (x,), (v,))[1]

    expected = [v * np.sin(v) + v[0] * v for v in POINTS]
    np.testing.assert_allclose(vmap(along)(vs).numpy(), expected, rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "written over"])
def test_like_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for m, func, x in (
        (tengen, tengen.func, tengen.tensor(POINTS)),
        (torch, torch.func, torch.tensor(POINTS)),
    ):
        along = func.vmap(func.jacfwd(lambda x, m=m: PROGRAMS[name](m, x)))(x)
        found.append(along.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)
