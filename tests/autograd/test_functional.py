"""``autograd.functional``: the same programs in tengen and in torch."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest

import tengen

PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]


def functional(m: ModuleType) -> Any:
    return importlib.import_module(f"{m.__name__}.autograd.functional")


def cube(x: Any) -> Any:
    return (x**3).sum()


def test_it_is_found_without_an_import() -> None:
    assert tengen.autograd.functional.jacobian is functional(tengen).jacobian
    with pytest.raises(AttributeError, match="no attribute 'functionals'"):
        _ = tengen.autograd.functionals


# -- values -------------------------------------------------------------------------------


def test_products(m: ModuleType) -> None:
    x, v = m.tensor([1.0, 2.0]), m.tensor([10.0, 1.0])
    api = functional(m)
    value, found = api.vjp(lambda x: x * x, x, v)
    assert value.tolist() == [1.0, 4.0] and found.tolist() == [20.0, 4.0]
    value, found = api.jvp(cube, x, v)
    assert value.item() == 9.0 and found.item() == 42.0
    for name in ("vhp", "hvp"):
        value, found = getattr(api, name)(cube, x, v)
        assert value.item() == 9.0 and found.tolist() == [60.0, 12.0]
        assert not found.requires_grad and not value.requires_grad


def test_tuples(m: ModuleType) -> None:
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])
    api = functional(m)
    values, found = api.vjp(lambda x, y: (x * y, y.sum()), (x, y), (m.ones(2), m.tensor(2.0)))
    assert isinstance(values, tuple) and [t.tolist() for t in found] == [[3.0, 4.0], [3.0, 4.0]]
    _, found = api.jvp(lambda x, y: (x * y, y.sum()), (x, y), (m.ones(2), m.ones(2)))
    assert [t.tolist() for t in found] == [[4.0, 6.0], 2.0]
    _, found = api.hvp(lambda x, y: (x * y * y).sum(), (x, y), (m.ones(2), m.zeros(2)))
    assert [t.tolist() for t in found] == [[0.0, 0.0], [6.0, 8.0]]


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]
)
def test_jacobian(m: ModuleType, options: Any) -> None:
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])
    jacobian = functional(m).jacobian
    assert jacobian(lambda x: x * x, x, **options).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert jacobian(cube, x, **options).tolist() == [3.0, 12.0]
    found = jacobian(lambda x, y: (x * y, x.sum()), (x, y), **options)
    assert [[t.tolist() for t in row] for row in found] == [
        [[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]],
        [[1.0, 1.0], [0.0, 0.0]],
    ]
    assert jacobian(lambda x: x.reshape(2, 1) @ x.reshape(1, 2), x, **options).shape == (2, 2, 2)


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_hessian(m: ModuleType, options: Any) -> None:
    hessian = functional(m).hessian
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])
    assert hessian(cube, x, **options).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    found = hessian(lambda x, y: (x * y * y).sum(), (x, y), **options)
    assert found[0][1].tolist() == [[6.0, 0.0], [0.0, 8.0]]
    assert found[1][1].tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert hessian(lambda x: cube(x).reshape(1, 1), x, **options).shape == (2, 2)


def test_create_graph(m: ModuleType) -> None:
    api = functional(m)
    x = m.tensor([1.0, 2.0], requires_grad=True)
    for found, expected in (
        (api.jacobian(lambda x: x**3, x, create_graph=True), [6.0, 12.0]),
        (api.jacobian(lambda x: x**3, x, create_graph=True, vectorize=True), [6.0, 12.0]),
        (api.hessian(lambda x: (x**4).sum(), x, create_graph=True), [24.0, 48.0]),
        (api.vjp(lambda x: x**3, x, m.ones(2), create_graph=True)[1], [6.0, 12.0]),
        (api.jvp(lambda x: x**3, x, m.ones(2), create_graph=True)[1], [6.0, 12.0]),
        (api.hvp(lambda x: (x**4).sum(), x, m.ones(2), create_graph=True)[1], [24.0, 48.0]),
        (api.vhp(lambda x: (x**4).sum(), x, m.ones(2), create_graph=True)[1], [24.0, 48.0]),
    ):
        assert found.requires_grad
        assert m.autograd.grad(found.sum(), x)[0].tolist() == expected
    assert not api.jacobian(lambda x: x**3, x).requires_grad


def test_what_is_captured_is_not_what_is_given(m: ModuleType) -> None:
    x = m.tensor([2.0], requires_grad=True)
    assert functional(m).jacobian(lambda y: x * y, x).tolist() == [[2.0]]
    assert functional(m).vjp(lambda y: (x * y).sum(), x)[1].tolist() == [2.0]


def test_under_no_grad(m: ModuleType) -> None:
    with m.no_grad():
        assert functional(m).jacobian(lambda x: x * x, m.tensor([3.0])).tolist() == [[6.0]]
        assert functional(m).hessian(cube, m.tensor([3.0])).tolist() == [[18.0]]
        assert not m.is_grad_enabled()


# -- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PRODUCTS, "jacobian", "hessian"])
def test_inputs_and_outputs_are_tensors(m: ModuleType, name: str) -> None:
    call = getattr(functional(m), name)
    with pytest.raises(TypeError, match=f"The inputs given to {name} must be either a Tensor or a tuple"):
        call(cube, 1.0)
    with pytest.raises(TypeError, match="but the value at index 1 has type <class 'float'>"):
        call(cube, (m.ones(1), 1.0))
    with pytest.raises(
        TypeError, match=r"The outputs of the user-provided function given to .* must be either"
    ):
        call(lambda x: 1.0, m.ones(1))


@pytest.mark.parametrize("name", PRODUCTS)
def test_vectors(m: ModuleType, name: str) -> None:
    call = getattr(functional(m), name)
    for v, error, message in (
        (m.ones(3), RuntimeError, "v has invalid size: should be"),
        ((m.ones(2), m.ones(2)), RuntimeError, "The given v should contain a single Tensor"),
        (1.0, TypeError, f"The v given to {name} must be either a Tensor or a tuple of Tensors"),
        (None, RuntimeError, "The vector v can only be None if"),
    ):
        f = (lambda x: x * x) if name == "vjp" else cube
        with pytest.raises(error, match=message):
            call(f, m.ones(2), v)
    with pytest.raises(RuntimeError, match="Entry 1 in v has invalid size"):
        pair = lambda x, y: (x, y) if name == "vjp" else (x * y).sum()  # noqa: E731
        call(pair, (m.ones(2), m.ones(2)), (m.ones(2), m.ones(3)))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        call(pair, (m.ones(2), m.ones(2)), m.ones(2))


@pytest.mark.parametrize("name", ["vhp", "hvp", "hessian"])
def test_second_derivatives_are_of_one_number(m: ModuleType, name: str) -> None:
    call = getattr(functional(m), name)
    given = (m.ones(2),) if name == "hessian" else (m.ones(2), m.ones(2))
    with pytest.raises(RuntimeError, match=f"given to {name} should contain a single element"):
        call(lambda x: x * x, *given)
    with pytest.raises(RuntimeError, match=f"given to {name} should return a single Tensor"):
        call(lambda x: (cube(x),), *given)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"strategy": "sideways"}, AssertionError, "Expected strategy to be either"),
        ({"strategy": "forward-mode"}, NotImplementedError, "implemented for `vectorize=True`"),
        (
            {"strategy": "forward-mode", "vectorize": True, "create_graph": True},
            NotImplementedError,
            '`create_graph=True` and `strategy="forward-mode"` are not supported together',
        ),
        (
            {"strategy": "forward-mode", "vectorize": True, "strict": True},
            RuntimeError,
            "not supported together",
        ),
        ({"vectorize": True, "strict": True}, RuntimeError, "not supported together"),
    ],
)
def test_options_that_contradict(m: ModuleType, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        functional(m).jacobian(lambda x: x * x, m.ones(2), **options)


STRICT: list[tuple[str, Callable[[Any, Any], Any], bool, str]] = [
    (
        "vjp",
        lambda m, x: m.ones(()),
        False,
        "Output 0 of the user-provided function does not require gradients",
    ),
    (
        "vjp",
        lambda m, x: x.sum(),
        True,
        "The jacobian of the user-provided function is independent of input 0",
    ),
    ("jvp", lambda m, x: x.sum() * 2, True, "The jacobian of the user-provided function is independent of"),
    ("jacobian", lambda m, x: m.ones(2), False, "Output 0 of the user-provided function does not require"),
    ("jacobian", lambda m, x: x * 2, True, "strict mode when create_graph=True"),
    ("hessian", lambda m, x: (x * 2).sum(), False, "While computing the hessian, found that the jacobian"),
    ("vhp", lambda m, x: (x * 2).sum(), False, "found that the jacobian of the user-provided function"),
    ("hvp", lambda m, x: (x * 2).sum(), False, "found that the jacobian of the user-provided function"),
    ("vhp", lambda m, x: (x * x).sum(), True, "The hessian of the user-provided function is independent"),
    ("hvp", lambda m, x: (x * x).sum(), True, "The hessian of the user-provided function is independent"),
]


@pytest.mark.parametrize(("name", "f", "create_graph", "message"), STRICT)
def test_strict(m: ModuleType, name: str, f: Any, create_graph: bool, message: str) -> None:
    call = getattr(functional(m), name)
    v = {"vjp": (None,), "jvp": (m.ones(2),), "vhp": (m.ones(2),), "hvp": (m.ones(2),)}.get(name, ())
    with pytest.raises(RuntimeError, match=message):
        call(lambda x: f(m, x), m.ones(2), *v, create_graph=create_graph, strict=True)
    call(lambda x: f(m, x), m.ones(2), *v, create_graph=create_graph)


def test_strict_and_one_of_several_inputs(m: ModuleType) -> None:
    api = functional(m)
    both = (m.ones(2), m.ones(2))
    f = lambda x, y: (x * x).sum()  # noqa: E731
    with pytest.raises(
        RuntimeError, match="Output 0 of the user-provided function is independent of input 1"
    ):
        api.jacobian(f, both, strict=True)
    with pytest.raises(
        RuntimeError, match="The output of the user-provided function is independent of input 1"
    ):
        api.vjp(f, both, strict=True)
    assert [t.tolist() for t in api.vjp(f, both)[1]] == [[2.0, 2.0], [0.0, 0.0]]


# -- a table, beside torch --------------------------------------------------------------------

ONE: dict[str, Callable[[Any, Any], Any]] = {
    "square": lambda m, x: x * x,
    "cube": lambda m, x: cube(x),
    "linear": lambda m, x: x * 3,
    "linear sum": lambda m, x: (x * 3).sum(),
    "constant": lambda m, x: m.ones(2),
    "two": lambda m, x: (x * x, x.sum()),
    "one constant": lambda m, x: (x * x, m.ones(2)),
    "detached": lambda m, x: x.detach(),
    "itself": lambda m, x: x,
    "one element": lambda m, x: (x * x * x).sum().reshape(1),
}
VECTORS: dict[str, Callable[[Any], Any]] = {
    "none": lambda m: None,
    "three": lambda m: m.tensor([1.0, 2.0, 3.0]),
    "one": lambda m: m.tensor(2.0),
    "both": lambda m: (m.ones(3), m.tensor(2.0)),
}


def outcome(m: Any, run: Callable[[Any, Any], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(run(m, functional(m)))
        except Exception as error:
            return type(error).__name__


def described(value: Any) -> Any:
    if isinstance(value, tuple):
        return [described(v) for v in value]
    return [value.tolist(), tuple(value.shape), str(value.dtype).rpartition(".")[2], value.requires_grad]


@pytest.mark.oracle
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("f", ONE)
def test_products_beside_torch(name: str, f: str) -> None:
    torch = pytest.importorskip("torch")
    flags = (False, True)
    for create_graph, strict, requires, v in itertools.product(flags, flags, flags, VECTORS):
        run = partial(_product, name, f, requires, v, {"create_graph": create_graph, "strict": strict})
        assert outcome(tengen, run) == outcome(torch, run), (create_graph, strict, requires, v)


def _product(name: str, f: str, requires: bool, v: str, options: Any, m: Any, api: Any) -> Any:
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=requires)
    return getattr(api, name)(lambda x: ONE[f](m, x), x, VECTORS[v](m), **options)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
@pytest.mark.parametrize("f", ONE)
def test_matrices_beside_torch(name: str, f: str) -> None:
    torch = pytest.importorskip("torch")
    key = "strategy" if name == "jacobian" else "outer_jacobian_strategy"
    for create_graph, strict, vectorize, mode in itertools.product(
        (False, True), (False, True), (False, True), ("reverse-mode", "forward-mode")
    ):
        options = {"create_graph": create_graph, "strict": strict, "vectorize": vectorize, key: mode}
        run = partial(_matrix, name, f, options)
        assert outcome(tengen, run) == outcome(torch, run), options


def _matrix(name: str, f: str, options: Any, m: Any, api: Any) -> Any:
    return getattr(api, name)(lambda x: ONE[f](m, x), m.tensor([1.0, 2.0, 3.0]), **options)
