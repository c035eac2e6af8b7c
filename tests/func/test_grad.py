"""``func.grad``, ``grad_and_value`` and ``vjp``: the same programs in tengen and in torch."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict, namedtuple
from types import ModuleType
from typing import Any

import pytest
from in_threads import in_threads

import tengen

Pair = namedtuple("Pair", "a b")


def values(tree: Any) -> Any:
    """A tree with the elements of its tensors."""
    if isinstance(tree, dict):
        return {key: values(item) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [values(item) for item in tree]
    return tree.tolist() if hasattr(tree, "tolist") else tree


def square(x: Any) -> Any:
    return (x * x).sum()


# -- what comes -------------------------------------------------------------------------


def test_the_gradient(m: ModuleType) -> None:
    x = m.tensor([1.0, 2.0, 3.0])
    found = m.func.grad(square)(x)
    assert found.tolist() == [2.0, 4.0, 6.0]
    assert not found.requires_grad and not x.requires_grad and x.grad is None


def test_the_gradient_and_the_value(m: ModuleType) -> None:
    found, value = m.func.grad_and_value(square)(m.tensor([1.0, 2.0]))
    assert found.tolist() == [2.0, 4.0] and value.item() == 5.0
    assert not value.requires_grad


@pytest.mark.parametrize("value", [3.0, -1.0])
def test_of_a_scalar(m: ModuleType, value: float) -> None:
    found = m.func.grad(lambda x: x * x)(m.tensor(value))
    assert found.shape == () and found.item() == 2 * value


def test_of_nothing(m: ModuleType) -> None:
    assert m.func.grad(square)(m.ones(0)).shape == (0,)
    assert m.func.grad(square)(m.ones((2, 0))).shape == (2, 0)


def test_of_what_is_not_contiguous(m: ModuleType) -> None:
    x = m.arange(6.0).reshape(2, 3).t()
    assert m.func.grad(square)(x).tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]


def test_of_a_complex_tensor(m: ModuleType) -> None:
    x = m.tensor([1 + 2j, 3 - 1j])
    found = m.func.grad(lambda x: (x * x.conj()).real.sum())(x)
    assert found.tolist() == [2 + 4j, 6 - 2j]


def test_of_other_dtypes(m: ModuleType) -> None:
    x = m.tensor([1.0, 2.0], dtype=m.float64)
    assert m.func.grad(square)(x).dtype is m.float64
    # The output's dtype is another one than the input's.
    assert m.func.grad(lambda x: square(x.double()))(m.ones(2)).dtype is m.float32


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, [3.0]),
        (1, [2.0]),
        (-1, [2.0]),
        (-2, [3.0]),
        ((0,), [[3.0]]),
        ((1, 0), [[2.0], [3.0]]),
        ((0, -1), [[3.0], [2.0]]),
        (True, [2.0]),
    ],
)
def test_argnums(m: ModuleType, argnums: Any, expected: Any) -> None:
    found = m.func.grad(lambda x, y: (x * y).sum(), argnums=argnums)(m.tensor([2.0]), m.tensor([3.0]))
    assert isinstance(found, tuple) is isinstance(argnums, tuple)
    assert values(found) == expected


@pytest.mark.parametrize(
    ("argnums", "message"),
    [
        (2, "Got argnum=2, but only 2 positional inputs"),
        (-3, "Got argnum=-3, but only 2 positional inputs"),
        ((0, 2), "Got argnum=2, but only 2 positional inputs"),
        ((0, 0), "argnums elements must be unique"),
        ((0, -2), "argnums elements must be unique"),
        ((), "argnums must be non-empty"),
        ([0], "argnums must be int or Tuple"),
        (None, "argnums must be int or Tuple"),
        (0.0, "argnums must be int or Tuple"),
        ((0, "x"), "argnum must be int, got: <class 'str'>"),
    ],
)
def test_argnums_that_there_are_not(m: ModuleType, argnums: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message.replace("(", r"\(")):
        m.func.grad(lambda x, y: (x * y).sum(), argnums=argnums)(m.ones(2), m.ones(2))


def test_only_positional_arguments_are_differentiated(m: ModuleType) -> None:
    x = m.tensor([1.0, 2.0])
    assert m.func.grad(lambda x, scale=1: (x * scale).sum())(x, scale=m.tensor(3.0)).tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="but only 0 positional inputs"):
        m.func.grad(square)(x=x)


def test_trees(m: ModuleType) -> None:
    tree = {
        "w": m.tensor([2.0]),
        "rest": [m.tensor(3.0), (m.tensor(4.0),)],
        "pair": Pair(m.tensor(5.0), m.ones(2)),
    }

    def product(t: Any) -> Any:
        return (t["w"] * t["rest"][0] * t["rest"][1][0] * t["pair"].a).sum()

    found = m.func.grad(product)(tree)
    assert list(found) == ["w", "rest", "pair"] and isinstance(found["pair"], Pair)
    assert values(found) == {"w": [60.0], "rest": [40.0, [30.0]], "pair": [24.0, [0.0, 0.0]]}
    ordered = m.func.grad(lambda d: (d["x"] * 2).sum())(OrderedDict(x=m.ones(2)))
    assert isinstance(ordered, OrderedDict) and ordered["x"].tolist() == [2.0, 2.0]
    assert m.func.grad(lambda t: m.tensor(1.0))([]) == []


def test_aux(m: ModuleType) -> None:
    x = m.tensor([1.0, 2.0])

    def loss(x: Any) -> Any:
        y = x * x
        return y.sum(), {"y": y, "more": [x.sin()]}

    found, aux = m.func.grad(loss, has_aux=True)(x)
    assert found.tolist() == [2.0, 4.0] and aux["y"].tolist() == [1.0, 4.0]
    assert not aux["y"].requires_grad and not aux["more"][0].requires_grad
    found, (value, aux) = m.func.grad_and_value(loss, has_aux=True)(x)
    assert value.item() == 5.0 and aux["y"].tolist() == [1.0, 4.0]


@pytest.mark.parametrize(
    "returned", [lambda x: x.sum(), lambda x: [x.sum(), x], lambda x: (x.sum(),), lambda x: (x.sum(), x, x)]
)
def test_aux_needs_a_pair(m: ModuleType, returned: Any) -> None:
    with pytest.raises(RuntimeError, match=r"output of function f should be a tuple: \(output, aux\)"):
        m.func.grad(returned, has_aux=True)(m.ones(2))
    with pytest.raises(RuntimeError, match=r"vjp\(f, \*primals\): output of function f should be a tuple"):
        m.func.vjp(returned, m.ones(2), has_aux=True)


@pytest.mark.parametrize("aux", ["text", 1.5, None, (1,)])
def test_aux_is_tensors(m: ModuleType, aux: Any) -> None:
    with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
        m.func.grad(lambda x: (x.sum(), aux), has_aux=True)(m.ones(2))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda m, x: x,
            "to return a scalar Tensor, got tensor with 1 dims. Maybe you wanted to use the vjp",
        ),
        (lambda m, x: x[:1], "to return a scalar Tensor, got tensor with 1 dims"),
        (lambda m, x: None, "to return a Tensor, got <class 'NoneType'>"),
        (lambda m, x: 1.0, "to return a Tensor, got <class 'float'>"),
        (lambda m, x: (x.sum(),), "to return a Tensor, got <class 'tuple'>"),
        (lambda m, x: (x + 1j).sum(), "only for real scalar outputs but got"),
    ],
)
def test_what_is_no_scalar_is_refused(m: ModuleType, returned: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        m.func.grad(lambda x: returned(m, x))(m.ones(2))


def test_outputs_that_do_not_depend_on_the_input(m: ModuleType) -> None:
    x = m.ones(2)
    for constant in (m.tensor(1.0), m.tensor(1j), m.tensor(1)):
        assert m.func.grad(lambda x, constant=constant: constant)(x).tolist() == [0.0, 0.0]
    assert m.func.grad(lambda x: x.sum().long())(x).tolist() == [0.0, 0.0]
    assert m.func.grad(lambda x: x.detach().sum())(x).tolist() == [0.0, 0.0]


def test_what_cannot_be_differentiated_is_refused(m: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        m.func.grad(square)(m.arange(3))
    with pytest.raises(ValueError, match="must be Tensor, got <class 'float'>"):
        m.func.grad(square)(1.0)
    with pytest.raises(ValueError, match="must be Tensor, got <class 'str'>"):
        m.func.grad(lambda t: t[0].sum())([m.ones(2), "x"])


def test_the_function_keeps_its_name(m: ModuleType) -> None:
    for transform in (m.func.grad, m.func.grad_and_value):
        assert transform(square).__name__ == "square"


# -- what the function sees ---------------------------------------------------------------


def test_inside_the_input_is_a_leaf(m: ModuleType) -> None:
    seen = []

    def look(x: Any) -> Any:
        seen.append((x.requires_grad, x.is_leaf, x.grad_fn))
        return x.sum()

    m.func.grad(look)(m.ones(2))
    m.func.grad(look)(m.ones(2, requires_grad=True))
    assert seen == [(True, True, None)] * 2


def test_an_input_cannot_be_written_to(m: ModuleType) -> None:
    x = m.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        m.func.grad(lambda x: x.add_(1).sum())(x)
    assert x.tolist() == [1.0, 1.0]


def test_writes_into_what_was_computed(m: ModuleType) -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[0] = 0
        y.mul_(x)
        return y.sum()

    assert m.func.grad(f)(m.tensor([3.0, 4.0])).tolist() == [0.0, 16.0]


def test_no_grad_inside_is_respected_and_outside_is_not(m: ModuleType) -> None:
    def f(x: Any) -> Any:
        with m.no_grad():
            c = x * x
        return (x * 3 - c).sum()

    x = m.tensor([1.0, 2.0])
    assert m.func.grad(f)(x).tolist() == [3.0, 3.0]
    with m.no_grad():
        assert m.func.grad(f)(x).tolist() == [3.0, 3.0]
        assert m.func.grad(m.func.grad(lambda x: x**3))(m.tensor(2.0)).item() == 12.0
        assert not m.is_grad_enabled()
    assert m.func.grad(m.no_grad()(square))(x).tolist() == [0.0, 0.0]
    assert m.func.vjp(m.no_grad()(square), x)[1](m.tensor(1.0))[0].tolist() == [0.0, 0.0]


def test_inference_mode_outside(m: ModuleType) -> None:
    with m.inference_mode():
        made = m.ones(2)
        assert m.func.grad(square)(made).tolist() == [2.0, 2.0]
        assert m.is_inference_mode_enabled()
        _, pull = m.func.vjp(square, made)
        assert pull(m.tensor(1.0))[0].tolist() == [2.0, 2.0]
    assert m.func.grad(square)(made).tolist() == [2.0, 2.0]


def test_backward_inside_is_refused(m: ModuleType) -> None:
    w = m.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        (x * w).sum().backward()
        return x.sum()

    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        m.func.grad(f)(m.ones(2))


def test_autograd_grad_inside(m: ModuleType) -> None:
    def f(x: Any) -> Any:
        (found,) = m.autograd.grad((x**3).sum(), x, create_graph=True)
        return found.sum()

    assert m.func.grad(f)(m.tensor([1.0, 2.0])).tolist() == [6.0, 12.0]


# -- histories of the results ---------------------------------------------------------------


def test_results_require_gradients_if_the_input_does(m: ModuleType) -> None:
    w = m.tensor([1.0, 2.0], requires_grad=True)
    found, value = m.func.grad_and_value(lambda x: (x**3).sum())(w)
    assert found.requires_grad and value.requires_grad
    found.sum().backward()
    assert w.grad.tolist() == [6.0, 12.0]
    value.backward()
    assert w.grad.tolist() == [9.0, 24.0]


def test_results_require_gradients_if_they_depend_on_what_does(m: ModuleType) -> None:
    w = m.tensor([5.0, 7.0], requires_grad=True)
    found = m.func.grad(lambda x: (x * x * w).sum())(m.tensor([1.0, 2.0]))
    assert found.tolist() == [10.0, 28.0] and found.requires_grad
    found.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    # The value depends on w, the gradient does not.
    found, value = m.func.grad_and_value(lambda x: x.sin().sum() + w.sum())(m.ones(2))
    assert not found.requires_grad and value.requires_grad


def test_results_have_no_history_under_no_grad(m: ModuleType) -> None:
    w = m.tensor([5.0, 7.0], requires_grad=True)
    with m.no_grad():
        found, value = m.func.grad_and_value(lambda x: (x * w).sum())(m.ones(2))
        output, pull = m.func.vjp(lambda x: x * w, w)
    assert not found.requires_grad and not value.requires_grad and not output.requires_grad
    assert pull(m.ones(2))[0].tolist() == [5.0, 7.0]  # the other factor is what was captured


def test_aux_may_have_a_history_of_its_own(m: ModuleType) -> None:
    w = m.tensor([5.0], requires_grad=True)

    def f(x: Any) -> Any:
        y = x.exp()
        return y.sum(), (y * w, w, y)

    found, aux = m.func.grad(f, has_aux=True)(m.zeros(1))
    assert not found.requires_grad and not aux[2].requires_grad
    assert aux[1] is w
    aux[0].sum().backward()
    assert w.grad.tolist() == [1.0]


def test_what_is_only_handed_on_is_itself(m: ModuleType) -> None:
    x, w = m.ones(2), m.ones(2, requires_grad=True)
    assert m.func.vjp(lambda x: x, x)[0] is x
    assert m.func.vjp(lambda x: x, w)[0] is w
    output = m.func.vjp(lambda x: (w, x * 1), x)[0]
    assert output[0] is w and not output[1].requires_grad


def test_a_leaf_made_inside_stays_one() -> None:
    made = []

    def f(x: Any) -> Any:
        made.append(tengen.ones(2, requires_grad=True))
        return (x * made[0]).sum()

    found = tengen.func.grad(f)(tengen.ones(2))
    assert found.requires_grad
    found.sum().backward()
    assert made[0].grad.tolist() == [1.0, 1.0]


# -- vjp --------------------------------------------------------------------------------------


def test_vjp(m: ModuleType) -> None:
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])
    output, pull = m.func.vjp(lambda x, y: (x * y, (x + y).sum()), x, y)
    assert values(output) == [[3.0, 8.0], 10.0]
    assert values(pull((m.tensor([1.0, 10.0]), m.tensor(100.0)))) == [[103.0, 140.0], [101.0, 120.0]]
    # As often as one likes, with other cotangents.
    assert values(pull((m.zeros(2), m.tensor(1.0)))) == [[1.0, 1.0], [1.0, 1.0]]


def test_vjp_of_trees(m: ModuleType) -> None:
    tree = {"a": m.tensor([1.0, 2.0]), "b": [m.tensor([3.0, 4.0])]}
    output, pull = m.func.vjp(lambda t: {"p": t["a"] * t["b"][0], "q": Pair(t["a"], t["a"].sum())}, tree)
    assert isinstance(output["q"], Pair)
    (found,) = pull({"p": m.ones(2), "q": Pair(m.ones(2), m.tensor(2.0))})
    assert values(found) == {"a": [6.0, 7.0], "b": [[1.0, 2.0]]}
    with pytest.raises(RuntimeError, match="Expected pytree structure of cotangents to be the same"):
        pull({"p": m.ones(2), "q": (m.ones(2), m.tensor(2.0))})


def test_vjp_with_aux(m: ModuleType) -> None:
    output, pull, aux = m.func.vjp(lambda x: (x * 2, {"s": x.sum()}), m.ones(2), has_aux=True)
    assert output.tolist() == [2.0, 2.0] and aux["s"].item() == 2.0
    assert pull(m.ones(2))[0].tolist() == [2.0, 2.0]


def test_vjp_is_differentiable_in_its_cotangents(m: ModuleType) -> None:
    x = m.tensor([1.0, 2.0])
    _, pull = m.func.vjp(lambda x: x * x, x)
    c = m.ones(2, requires_grad=True)
    found = pull(c)[0]
    assert found.requires_grad and not pull(m.ones(2))[0].requires_grad
    found.sum().backward()
    assert c.grad.tolist() == [2.0, 4.0]
    again = m.func.grad(lambda c: pull(c)[0].sum())(m.ones(2))
    assert again.tolist() == [2.0, 4.0] and not again.requires_grad


def test_vjp_of_what_requires_gradients(m: ModuleType) -> None:
    w = m.tensor([1.0, 2.0], requires_grad=True)
    output, pull = m.func.vjp(lambda x: x**3, w)
    assert output.requires_grad
    found = pull(m.ones(2))[0]
    assert found.requires_grad
    assert m.autograd.grad(found.sum(), w)[0].tolist() == [6.0, 12.0]


def test_vjp_of_nothing(m: ModuleType) -> None:
    x = m.ones(2)
    output, pull = m.func.vjp(lambda: x)
    assert output is x and pull(m.ones(2)) == ()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda m, x: None, "non-empty output"),
        (lambda m, x: (), "non-empty output"),
        (lambda m, x: 1.0, "to return only tensors, got unsupported type <class 'float'>"),
        (lambda m, x: (x, None), "to return only tensors, got unsupported type <class 'NoneType'>"),
        (lambda m, x: x.long(), "All outputs of f must be floating-point or complex Tensors"),
    ],
)
def test_vjp_refuses_outputs(m: ModuleType, returned: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        m.func.vjp(lambda x: returned(m, x), m.ones(2))


def test_vjp_refuses_cotangents(m: ModuleType) -> None:
    _, pull = m.func.vjp(lambda x: x * 2, m.ones(2))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        pull(m.ones(3))
    with pytest.raises(RuntimeError, match="Expected pytree structure of cotangents"):
        pull((m.ones(2),))
    with pytest.raises(RuntimeError, match="For complex Tensors"):
        pull(m.ones(2) + 0j)
    with pytest.raises(TypeError, match="float"):
        pull(1.0)
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        pull(None)
    assert pull(m.ones(2, dtype=m.float64))[0].dtype is m.float32


def test_vjp_that_frees_its_graph(m: ModuleType) -> None:
    _, pull = m.func.vjp(square, m.ones(2))
    assert pull(m.tensor(1.0), retain_graph=False)[0].tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        pull(m.tensor(1.0))


# -- nesting, and what stays behind -----------------------------------------------------------


def test_gradients_of_gradients(m: ModuleType) -> None:
    cube = m.func.grad
    x = m.tensor(2.0)
    f = lambda x: x**5  # noqa: E731
    expected = [80.0, 160.0, 240.0, 240.0, 120.0, 0.0]
    for value in expected:
        f = cube(f)
        found = f(x)
        assert found.item() == value and not found.requires_grad


def test_no_confusion_of_perturbations(m: ModuleType) -> None:
    grad = m.func.grad
    assert grad(lambda x: x * grad(lambda y: x + y)(m.tensor(1.0)))(m.tensor(3.0)).item() == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(x))(m.tensor(3.0)).item() == 6.0


def test_the_inner_function_depends_on_the_outer_variable(m: ModuleType) -> None:
    def outer(x: Any) -> Any:
        found, value = m.func.grad_and_value(lambda y: (y * y * x).sum())(m.tensor([2.0]))
        return (found * value).sum()

    assert m.func.grad(outer)(m.tensor([3.0])).tolist() == [96.0]  # 4x * 4x


def test_an_exception_leaves_nothing(m: ModuleType) -> None:
    def fails(x: Any) -> Any:
        m.func.grad(square)(x)
        raise KeyError("stop")

    x = m.ones(2)
    for transform in (m.func.grad(fails), lambda x: m.func.vjp(fails, x)):
        with m.no_grad():
            with pytest.raises(KeyError):
                transform(x)
            assert not m.is_grad_enabled()
        with pytest.raises(KeyError):
            transform(x)
        assert m.is_grad_enabled()
    assert m.func.grad(square)(x).tolist() == [2.0, 2.0]
    y = x.clone().requires_grad_()
    (y * y).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]


def test_side_effects_happen_once(m: ModuleType) -> None:
    calls = []
    m.func.grad_and_value(lambda x: (calls.append(1), x.sum())[1])(m.ones(2))
    m.func.grad(m.func.grad(lambda x: (calls.append(1), x**2)[1]))(m.tensor(1.0))
    assert len(calls) == 2


def test_hooks_see_gradients(m: ModuleType) -> None:
    seen = []

    def f(x: Any) -> Any:
        x.register_hook(lambda g: seen.append(g.tolist()))
        y = x * 3
        y.register_hook(lambda g: g * 2)
        return y.sum()

    assert m.func.grad(f)(m.ones(2)).tolist() == [6.0, 6.0]
    assert seen == [[6.0, 6.0]]


def test_custom_functions(m: ModuleType) -> None:
    class Triple(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7

    assert m.func.grad(lambda x: Triple.apply(x).sum())(m.ones(2)).tolist() == [7.0, 7.0]


def test_threads(m: ModuleType) -> None:
    found: list[Any] = [None] * 8

    def work(number: int) -> None:
        f = m.func.grad(m.func.grad(lambda x: (x**3) * (number + 1)))
        found[number] = [f(m.tensor(2.0)).item() for _ in range(20)]

    in_threads(work, range(8))
    assert found == [[12.0 * (n + 1)] * 20 for n in range(8)]


def test_a_deep_graph() -> None:
    def f(x: Any) -> Any:
        for _ in range(20000):
            x = x + 1
        return x * x

    found, value = tengen.func.grad_and_value(f)(tengen.tensor(1.0, dtype=tengen.float64))
    assert found.item() == 2 * 20001.0 and value.item() == 20001.0**2


def test_the_graph_is_freed() -> None:
    refs = []

    def f(x: Any) -> Any:
        y = x.exp()
        refs.append(weakref.ref(y))
        refs.append(weakref.ref(y.grad_fn))
        return y.sum()

    gc.disable()
    try:
        kept = tengen.func.grad_and_value(f)(tengen.ones(3))
        assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()
    assert kept[0].shape == (3,)


def test_saved_tensor_hooks_work_inside() -> None:
    seen = []
    hooks = tengen.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(1), t)[1], lambda t: t)

    def f(x: Any) -> Any:
        with hooks:
            return (x * x).sum()

    assert tengen.func.grad(f)(tengen.ones(2)).tolist() == [2.0, 2.0]
    assert seen
