"""``func.jvp`` and ``func.linearize``: the same programs in tengen and in torch."""

from __future__ import annotations

import gc
import weakref
from collections import namedtuple
from types import ModuleType
from typing import Any

import pytest

import tengen

Pair = namedtuple("Pair", "a b")


def square(x: Any) -> Any:
    return (x * x).sum()


# -- jvp ----------------------------------------------------------------------------------


def test_jvp(m: ModuleType) -> None:
    value, tangent = m.func.jvp(square, (m.tensor([1.0, 2.0]),), (m.tensor([10.0, 1.0]),))
    assert value.item() == 5.0 and tangent.item() == 24.0


def test_several_arguments_and_results(m: ModuleType) -> None:
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])
    values, tangents = m.func.jvp(lambda x, y: (x * y, {"s": x.sum()}), (x, y), (m.ones(2), m.zeros(2)))
    assert values[0].tolist() == [3.0, 8.0] and values[1]["s"].item() == 3.0
    assert tangents[0].tolist() == [3.0, 4.0] and tangents[1]["s"].item() == 2.0


def test_trees(m: ModuleType) -> None:
    tree = {"a": m.tensor([2.0]), "b": Pair(m.tensor([3.0]), [m.tensor([5.0])])}
    along = {"a": m.ones(1), "b": Pair(m.zeros(1), [m.ones(1)])}
    value, tangent = m.func.jvp(lambda t: t["a"] * t["b"].a * t["b"].b[0], (tree,), (along,))
    assert value.tolist() == [30.0] and tangent.tolist() == [15.0 + 6.0]


def test_aux(m: ModuleType) -> None:
    value, tangent, aux = m.func.jvp(
        lambda x: (x * 2, {"c": x.cos()}), (m.zeros(2),), (m.ones(2),), has_aux=True
    )
    assert value.tolist() == [0.0, 0.0] and tangent.tolist() == [2.0, 2.0]
    assert aux["c"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="output of function f should be a tuple"):
        m.func.jvp(square, (m.ones(2),), (m.ones(2),), has_aux=True)


def test_what_has_no_tangent_adds_nothing(m: ModuleType) -> None:
    """Not even where zero times it would be NaN."""
    infinite = m.tensor([float("inf"), 1.0])
    for f in (lambda x: x * infinite, lambda x: infinite * x):
        assert m.func.jvp(f, (m.ones(2),), (m.ones(2),))[1].tolist() == [float("inf"), 1.0]
    assert m.func.jvp(lambda x: x / infinite, (m.ones(2),), (m.ones(2),))[1].tolist() == [0.0, 1.0]


def test_an_operand_with_a_tangent_that_is_the_smaller_one(m: ModuleType) -> None:
    """The result's tangent has the result's shape, also where only the smaller operand has one."""
    x, y = m.tensor([1.0]), m.ones(2, 3)
    for f in (lambda x: x + y, lambda x: y - x, lambda x: m.atan2(x, y), lambda x: m.hypot(y, x)):
        value, tangent = m.func.jvp(f, (x,), (m.ones(1),))
        assert tuple(tangent.shape) == tuple(value.shape) == (2, 3)


def test_mixed_types_saved_for_a_gradient_keep_their_tangents(m: ModuleType) -> None:
    """What is saved of a promoting operator is cast: so must its tangent be."""
    x, z = m.tensor([2.0, 3.0]), m.tensor([1j, 2 + 1j])

    def f(x: Any) -> Any:
        return (x * z * x).real.sum()

    _, tangent = m.func.jvp(m.func.grad(f), (x,), (m.ones(2),))
    assert tangent.tolist() == [0.0, 4.0]


def test_complex(m: ModuleType) -> None:
    x = m.tensor([1 + 2j, 3 - 1j])
    _, tangent = m.func.jvp(lambda x: x * x, (x,), (m.tensor([1j, 1 + 0j]),))
    assert tangent.tolist() == [2j * (1 + 2j), 2 * (3 - 1j)]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)])
def test_shapes(m: ModuleType, shape: tuple[int, ...]) -> None:
    value, tangent = m.func.jvp(lambda x: x.exp(), (m.zeros(shape),), (m.ones(shape),))
    assert value.shape == tangent.shape == shape
    assert all(v == 1.0 for v in tangent.reshape(-1).tolist())


def test_results_that_do_not_depend_on_the_primals(m: ModuleType) -> None:
    constant = lambda x: m.ones(2, dtype=m.float64)  # noqa: E731
    value, tangent = m.func.jvp(constant, (m.ones(3),), (m.ones(3),))
    assert value.tolist() == [1.0, 1.0] and tangent.tolist() == [0.0, 0.0]
    assert tangent.dtype is m.float64
    with pytest.raises(RuntimeError, match="is independent of the inputs"):
        m.func.jvp(constant, (m.ones(3),), (m.ones(3),), strict=True)
    _, tangent = m.func.jvp(lambda x: x.long(), (m.ones(3),), (m.ones(3),))
    assert tangent.tolist() == [0, 0, 0] and tangent.dtype is m.int64


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "message"),
    [
        (lambda m: [m.ones(2)], lambda m: [m.ones(2)], RuntimeError, "Expected primals to be a tuple"),
        (lambda m: (m.ones(2),), lambda m: m.ones(2), RuntimeError, "the same python structure"),
        (lambda m: (m.ones(2),), lambda m: (m.ones(2),) * 2, RuntimeError, "the same python structure"),
        (lambda m: (1.0,), lambda m: (1.0,), RuntimeError, "Expected primals to only contain Tensors"),
        (lambda m: (m.ones(2),), lambda m: (1.0,), RuntimeError, "Expected tangents to only contain Tensors"),
        (
            lambda m: (m.ones(2),),
            lambda m: (None,),
            RuntimeError,
            "Expected tangents to only contain Tensors",
        ),
        (lambda m: (), lambda m: (), RuntimeError, "Expected primals to contain at least one Tensor"),
        (lambda m: (m.ones(2),), lambda m: (m.ones(3),), RuntimeError, "different size"),
        (lambda m: (m.arange(2),), lambda m: (m.ones(2),), ValueError, "floating point or complex"),
    ],
)
def test_what_is_refused(m: ModuleType, primals: Any, tangents: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        m.func.jvp(lambda x: x * 2, primals(m), tangents(m))


@pytest.mark.parametrize("returned", [None, (), 1.0])
def test_outputs_that_are_no_tensors(m: ModuleType, returned: Any) -> None:
    with pytest.raises(RuntimeError, match=r"non-empty output|to return only tensors"):
        m.func.jvp(lambda x: returned, (m.ones(2),), (m.ones(2),))


def test_no_grad_makes_no_difference(m: ModuleType) -> None:
    with m.no_grad():
        assert m.func.jvp(square, (m.ones(2),), (m.ones(2),))[1].item() == 4.0
    assert m.func.jvp(m.no_grad()(square), (m.ones(2),), (m.ones(2),))[1].item() == 4.0


def test_forward_gradients_switched_off_inside(m: ModuleType) -> None:
    def f(x: Any) -> Any:
        with m.autograd.forward_ad._set_fwd_grad_enabled(False):
            y = x * x
        return y * x

    assert m.func.jvp(f, (m.tensor(3.0),), (m.tensor(1.0),))[1].item() == 9.0
    with m.autograd.forward_ad._set_fwd_grad_enabled(False):
        assert m.func.jvp(square, (m.ones(2),), (m.ones(2),))[1].item() == 4.0


def test_histories_go_through(m: ModuleType) -> None:
    w = m.tensor([1.0, 2.0], requires_grad=True)
    value, tangent = m.func.jvp(lambda x: x**3, (w,), (m.ones(2),))
    assert value.requires_grad and tangent.requires_grad
    assert m.autograd.grad(tangent.sum(), w)[0].tolist() == [6.0, 12.0]
    t = m.ones(2, requires_grad=True)
    _, tangent = m.func.jvp(lambda x: x**3, (m.tensor([1.0, 2.0]),), (t,))
    assert m.autograd.grad(tangent.sum(), t)[0].tolist() == [3.0, 12.0]


def test_levels_nest(m: ModuleType) -> None:
    x = m.tensor(2.0)

    def along(f: Any) -> Any:
        return lambda x: m.func.jvp(f, (x,), (m.ones(()),))[1]

    f: Any = lambda x: x**4  # noqa: E731
    for expected in (32.0, 48.0, 48.0, 24.0, 0.0):
        f = along(f)
        assert f(x).item() == expected


def test_no_confusion_of_perturbations(m: ModuleType) -> None:
    def inner(x: Any) -> Any:
        return x * m.func.jvp(lambda y: x + y, (m.tensor(1.0),), (m.tensor(1.0),))[1]

    assert m.func.jvp(inner, (m.tensor(3.0),), (m.tensor(1.0),))[1].item() == 1.0


def test_an_exception_leaves_nothing(m: ModuleType) -> None:
    x = m.ones(2)

    def fails(x: Any) -> Any:
        raise KeyError("stop")

    for _ in range(2):
        with pytest.raises(KeyError):
            m.func.jvp(lambda x: m.func.jvp(fails, (x,), (x,)), (x,), (x,))
    assert m.func.jvp(square, (x,), (x,))[1].item() == 4.0


# -- linearize ----------------------------------------------------------------------------

#: torch warns of how it traces.
quiet = pytest.mark.filterwarnings("ignore")


@quiet
def test_linearize(m: ModuleType) -> None:
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])
    value, push = m.func.linearize(lambda x, y: (x * y, {"s": x.sum()}), x, y)
    assert value[0].tolist() == [3.0, 8.0] and value[1]["s"].item() == 3.0
    for tx, ty in ((1.0, 0.0), (0.0, 1.0), (2.0, 3.0)):
        found = push(m.full((2,), tx), m.full((2,), ty))
        assert found[0].tolist() == [3 * tx + ty, 4 * tx + 2 * ty]
        assert found[1]["s"].item() == 2 * tx and not found[0].requires_grad


@quiet
def test_linearize_a_complex_function(m: ModuleType) -> None:
    _, push = m.func.linearize(lambda x: x * x, m.tensor([1 + 2j]))
    assert push(m.tensor([1j])).tolist() == [2j * (1 + 2j)]


@quiet
def test_linearize_what_has_no_tangent(m: ModuleType) -> None:
    x = m.tensor([1.0, 3.0])
    value, push = m.func.linearize(lambda x: (x * 2, m.ones(3), x.argmax()), x)
    assert value[2].item() == 1
    tangents = push(m.ones(2))
    assert [t.tolist() for t in tangents] == [[2.0, 2.0], [0.0, 0.0, 0.0], 0]


@quiet
def test_linearize_refuses_tangents(m: ModuleType) -> None:
    _, push = m.func.linearize(lambda x: x * 2, m.ones(2))
    for tangents, message in (
        ((m.ones(2), m.ones(2)), "to have the same argspec as the primals"),
        ((m.ones(3),), "doesn't match the shape"),
        ((m.ones(2, dtype=m.float64),), "doesn't match the dtype"),
    ):
        with pytest.raises(RuntimeError, match=message):
            push(*tangents)


def test_linearize_of_what_requires_gradients() -> None:
    w = tengen.tensor([1.0, 2.0], requires_grad=True)
    value, push = tengen.func.linearize(lambda x: x**3, w)
    assert value.requires_grad
    tangent = push(tengen.ones(2))
    assert tengen.autograd.grad(tangent.sum(), w)[0].tolist() == [6.0, 12.0]


@quiet
def test_linearize_gives_examples_to_vmap(m: ModuleType) -> None:
    _, push = m.func.linearize(lambda x: x * x, m.tensor([1.0, 2.0]))
    assert m.func.vmap(push)(m.eye(2)).tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_linearize_runs_the_function_once() -> None:
    calls = []
    _, push = tengen.func.linearize(lambda x: (calls.append(1), x.exp())[1], tengen.zeros(2))
    for _ in range(3):
        assert push(tengen.ones(2)).tolist() == [1.0, 1.0]
    assert len(calls) == 1


def test_linearize_inside_other_transforms() -> None:
    """torch computes zeros here: it folds what depends on the outer variable into constants."""
    x = tengen.tensor([1.0, 2.0])

    def product(x: Any) -> Any:
        return tengen.func.linearize(lambda x: x**3, x)[1](x)  # 3 x^3

    assert tengen.func.grad(lambda x: product(x).sum())(x).tolist() == [9.0, 36.0]
    assert tengen.func.jvp(product, (x,), (tengen.ones(2),))[1].tolist() == [9.0, 36.0]
    assert tengen.func.vmap(product)(tengen.stack([x, x])).tolist() == [[3.0, 24.0]] * 2


def test_linearize_frees_what_it_kept() -> None:
    refs = []

    def f(x: Any) -> Any:
        refs.append(weakref.ref(x))
        return x.exp() * x

    gc.disable()
    try:
        _, push = tengen.func.linearize(f, tengen.ones(2))
        push(tengen.ones(2))
        assert refs[0]() is not None
        del push, _
        assert refs[0]() is None
    finally:
        gc.enable()
