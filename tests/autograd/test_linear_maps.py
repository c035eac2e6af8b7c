"""The linear maps that the runtime applies to gradients: each against its adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen as tg
from tengen.autograd.linear_maps import (
    BroadcastTo,
    Cast,
    Copy,
    Erase,
    Gather,
    LinearMap,
    Scatter,
    SumTo,
    apply_linear,
)
from tengen.autograd.view_geometry import TensorGeometry, ViewGeometry, geometry_of

FLOAT = tg.ones(1, dtype=tg.float64)._type
SINGLE = tg.ones(1, dtype=tg.float32)._type
COMPLEX = tg.ones(1, dtype=tg.complex128)._type
Shape = tuple[int, ...]
random = np.random.default_rng(0)


def values(shape: tuple[int, ...], T: Any) -> Any:
    found = random.standard_normal(shape)
    if T is COMPLEX:
        found = found + 1j * random.standard_normal(shape)
    return np.asarray(found, T.dtype)


def inner(a: Any, b: Any) -> float:
    """The real inner product: complex numbers count as pairs of real ones."""
    return float(np.vdot(np.asarray(a, complex), np.asarray(b, complex)).real)


def assert_adjoint(
    map: LinearMap, source: tuple[int, ...], source_type: Any, target: tuple[int, ...]
) -> None:
    x, y = values(source, source_type), values(target, map.result_type())
    there, back = map(x), map.adjoint()(y)
    assert there.shape == target and back.shape == source
    assert there.dtype == map.result_type().dtype and back.dtype == source_type.dtype
    assert inner(there, y) == pytest.approx(inner(x, back))


def row(shape: tuple[int, ...], offset: int = 0, T: Any = FLOAT) -> TensorGeometry:
    strides = tuple([int(np.prod(shape[i + 1 :])) for i in range(len(shape))])
    return TensorGeometry(shape, strides, offset, T)


PAIRS = {
    "row": ViewGeometry(row((2, 3)), TensorGeometry((3,), (1,), 3, FLOAT)),
    "column": ViewGeometry(row((2, 3)), TensorGeometry((2,), (3,), 1, FLOAT)),
    "transposed base": ViewGeometry(
        TensorGeometry((3, 2), (1, 3), 0, FLOAT), TensorGeometry((2,), (1,), 4, FLOAT)
    ),
    "element": ViewGeometry(row((2, 3)), TensorGeometry((), (), 4, FLOAT)),
    "nothing": ViewGeometry(row((2, 3)), TensorGeometry((0, 3), (3, 1), 0, FLOAT)),
    "base with an offset": ViewGeometry(row((2, 3), 5), TensorGeometry((2, 2), (3, 1), 6, FLOAT)),
    "geometries that overlap": ViewGeometry(row((6,)), TensorGeometry((4, 3), (1, 1), 0, FLOAT)),
    "expanded": ViewGeometry(row((2, 3)), TensorGeometry((4, 3), (0, 1), 3, FLOAT)),
    "expanded and overlapping": ViewGeometry(row((6,)), TensorGeometry((2, 3, 2), (0, 1, 1), 1, FLOAT)),
    "real part": ViewGeometry(row((2, 3), T=COMPLEX), TensorGeometry((2, 3), (6, 2), 0, FLOAT)),
    "imaginary part of a row": ViewGeometry(row((2, 3), 1, COMPLEX), TensorGeometry((3,), (2,), 9, FLOAT)),
    "complex over pairs": ViewGeometry(row((2, 4)), TensorGeometry((2, 2), (2, 1), 0, COMPLEX)),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_gather_and_scatter(pair: ViewGeometry) -> None:
    assert_adjoint(Gather(pair), pair.base.shape, pair.base.type, pair.view.shape)
    assert_adjoint(Erase(pair), pair.base.shape, pair.base.type, pair.base.shape)
    base = values(pair.base.shape, pair.base.type)
    view = Gather(pair)(base)
    if not pair.view.overlaps_itself():
        whole = Erase(pair)(base) + Scatter(pair)(view)
        assert np.array_equal(whole, base)
    assert not np.any(Gather(pair)(Erase(pair)(base)))


def test_a_view_that_leaves_its_base() -> None:
    pair = ViewGeometry(row((2,), 2), TensorGeometry((4,), (1,), 1, FLOAT))
    assert Gather(pair)(np.array([5.0, 6.0])).tolist() == [0.0, 5.0, 6.0, 0.0]
    assert Scatter(pair)(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [2.0, 3.0]


def test_gather_shows_what_the_view_shows() -> None:
    x = tg.tensor(np.arange(12.0).reshape(3, 4))
    for view in (x[1], x.t(), x[:, 1:3], x[2, 3], x.as_strided((2, 2), (3, 2), 1)):
        pair = ViewGeometry(geometry_of(x), geometry_of(view))
        assert Gather(pair)(x.numpy()).tolist() == view.tolist()


def test_shapes_and_types() -> None:
    assert_adjoint(SumTo(FLOAT, (2, 3), (3,)), (2, 3), FLOAT, (3,))
    assert_adjoint(SumTo(COMPLEX, (2, 3), (2, 1)), (2, 3), COMPLEX, (2, 1))
    assert_adjoint(BroadcastTo(FLOAT, (), (2, 3)), (), FLOAT, (2, 3))
    assert_adjoint(Cast(FLOAT, COMPLEX), (3,), FLOAT, (3,))
    assert_adjoint(Cast(COMPLEX, FLOAT), (3,), COMPLEX, (3,))
    assert_adjoint(Cast(SINGLE, FLOAT), (3,), SINGLE, (3,))
    assert_adjoint(Copy(FLOAT), (3,), FLOAT, (3,))


def test_they_are_recorded() -> None:
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tg.float64, requires_grad=True)
    y = apply_linear(SumTo(FLOAT, (2, 2), (2,)), x * x)
    assert y.grad_fn.name() == "SumToBackward0"
    (g,) = tg.autograd.grad((y * y).sum(), x, create_graph=True)
    s = (x.detach() * x.detach()).numpy().sum(0)
    assert np.allclose(g.detach().numpy(), 4 * s * x.detach().numpy())
    assert tg.autograd.grad(g.sum(), x)[0].shape == (2, 2)
    with tg.no_grad():
        assert not apply_linear(Copy(FLOAT), x).requires_grad
