"""``vmap`` over nested tensors is the function of each component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from loops import BOTH, BY_NUMBER, LAYOUTS, SIZES, compare, parts

import tengen
from tengen.func import grad, jacrev, jvp, vmap

GIVEN = {name: function for name, (_, function) in BOTH.items() if name not in BY_NUMBER}
#: What a nested tensor itself is not asked for, but its components are.
OF_COMPONENTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: x * x.shape[0] + x.numel(),
    "sum": lambda x: x.sum(),
    "transpose": lambda x: x.t() + 1,
    "product": lambda x: x @ x.t(),
    "both dimensions": lambda x: x.t()[:, :, None] * x[None],
    "gradient": grad(lambda x: (x**3).sum()),
    "Jacobian": lambda x: jacrev(lambda y: y.sin().sum(-1))(x),
    "tangent": lambda x: jvp(lambda y: y.exp(), (x,), (x * 2,))[1],
    "inner": vmap(lambda row: row.cumsum(0)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*GIVEN, *OF_COMPONENTS])
def test_it_is_the_function_of_each_component(name: str, layout: str) -> None:
    function = {**GIVEN, **OF_COMPONENTS}[name]
    compare(vmap(function), lambda part, _: function(part), LAYOUTS[layout])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_arguments(layout: str) -> None:
    """Rows of a tensor and components go together; what is not mapped over is the same for all."""
    n = tengen.nested.nested_tensor(parts(), layout=LAYOUTS[layout])
    rows = tengen.arange(9.0, dtype=tengen.float64).reshape(3, 3)
    found = vmap(lambda x, r, c, other: (x * r + c * other["k"], r + 1), in_dims=(0, 1, None, {"k": 0}))(
        n, rows, 2.0, {"k": n}
    )
    for number, (made, part) in enumerate(zip(found[0].unbind(), parts(), strict=True)):
        tengen.testing.assert_close(made, part * rows[:, number] + 2 * part)
    assert tengen.equal(found[1], rows.t() + 1)
    assert found[0].layout is LAYOUTS[layout]


def test_layouts() -> None:
    """Results are of the layout of what was given where it has tensors of their shapes, else strided."""
    n = tengen.nested.nested_tensor(parts(), layout=tengen.jagged)
    assert vmap(lambda x: x.t())(n).layout is tengen.jagged
    assert vmap(lambda x: x.sum())(n).layout is tengen.strided
    assert vmap(lambda x: x @ x.t())(n).layout is tengen.strided
    assert not vmap(lambda x: tengen.ones(2))(n).is_nested


def test_randomness() -> None:
    n = tengen.nested.nested_tensor([tengen.ones(4), tengen.ones(4)])
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(tengen.rand_like)(n)
    first, second = vmap(tengen.rand_like, randomness="same")(n).unbind()
    assert tengen.equal(first, second)
    first, second = vmap(tengen.rand_like, randomness="different")(n).unbind()
    assert not tengen.equal(first, second)


def test_writes_reach_the_components() -> None:
    n = tengen.nested.nested_tensor(parts())
    vmap(lambda x: x.mul_(2))(n)
    for made, part in zip(n.unbind(), parts(), strict=True):
        assert tengen.equal(made, 2 * part)


def test_refused() -> None:
    n = tengen.nested.nested_tensor(parts())
    with pytest.raises(RuntimeError, match="can only be vmapped over dim=0, but got dim=1"):
        vmap(lambda x: x, in_dims=1)(n)
    with pytest.raises(RuntimeError, match="can only be vmapped over dim=0, but got dim=1"):
        vmap(lambda x: x, out_dims=1)(n)
    with pytest.raises(RuntimeError, match="Only one level of vmap is supported"):
        vmap(lambda y: vmap(lambda x: x * y)(n))(tengen.ones(2, 3))
    with pytest.raises(ValueError, match=r"got sizes \[3, 2\]"):
        vmap(lambda x, y: x * y)(n, tengen.ones(2))
    with pytest.raises(RuntimeError, match="without components"):
        vmap(lambda x: x)(tengen.nested.nested_tensor([]))
    assert len(SIZES) == n.size(0)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "function",
    [
        lambda m, n: m.func.vmap(lambda x: x.sin().cos() + x)(n),
        lambda m, n: m.func.vmap(lambda x, y: x * y)(n, n),
        lambda m, n: m.func.vmap(lambda x, y: x * y)(n, m.arange(2.0)),
        lambda m, n: m.func.vmap(lambda x, y: x * y, in_dims=(0, None))(n, m.arange(3.0)),
        lambda m, n: m.func.vmap(lambda x: x.sum())(n),
        lambda m, n: m.func.vmap(lambda x: x.sum(-1))(n),
        lambda m, n: m.func.vmap(lambda x: x @ m.ones(3, 2))(n),
        lambda m, n: m.func.vmap(lambda x: x * x.size(1))(n),
        lambda m, n: m.func.vmap(lambda x: m.nn.functional.linear(x, m.ones(5, 3)))(n),
        lambda m, n: m.func.vmap(lambda x: x.softmax(-1))(n),
    ],
)
def test_beside_torch(function: Callable[..., Any], torch: Any) -> None:
    results = []
    for m in (tengen, torch):
        components = [m.arange(6.0).reshape(2, 3) + 1, m.arange(12.0).reshape(4, 3) + 2]
        results.append([t.tolist() for t in function(m, m.nested.nested_tensor(components)).unbind()])
    tengen.testing.assert_close(*[[tengen.tensor(t) for t in found] for found in results])
