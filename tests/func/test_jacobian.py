"""``func.jacrev``, ``jacfwd`` and ``hessian``: the same programs in tengen and in torch."""

from __future__ import annotations

from collections import namedtuple
from types import ModuleType
from typing import Any

import pytest

import tengen

Pair = namedtuple("Pair", "a b")
REVERSE_AND_FORWARD = pytest.mark.parametrize("mode", ["jacrev", "jacfwd"])


@REVERSE_AND_FORWARD
def test_of_a_vector(m: ModuleType, mode: str) -> None:
    found = getattr(m.func, mode)(lambda x: x * x)(m.tensor([1.0, 2.0]))
    assert found.tolist() == [[2.0, 0.0], [0.0, 4.0]] and not found.requires_grad


@REVERSE_AND_FORWARD
@pytest.mark.parametrize(
    ("given", "returned"), [((), ()), ((), (2,)), ((2,), ()), ((2, 3), (3, 2)), ((1,), (1,))]
)
def test_shapes(m: ModuleType, mode: str, given: Any, returned: Any) -> None:
    found = getattr(m.func, mode)(lambda x: x.sum() * m.ones(returned))(m.ones(given))
    assert found.shape == (*returned, *given)
    assert set(found.reshape(-1).tolist()) == {1.0}


@REVERSE_AND_FORWARD
def test_of_nothing(m: ModuleType, mode: str) -> None:
    assert getattr(m.func, mode)(lambda x: x * 2)(m.ones(0)).shape == (0, 0)


@REVERSE_AND_FORWARD
def test_argnums(m: ModuleType, mode: str) -> None:
    jacobian = getattr(m.func, mode)
    f = lambda x, y: (x * y, y.sum())  # noqa: E731
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])
    rows = jacobian(f)(x, y)
    assert rows[0].tolist() == [[3.0, 0.0], [0.0, 4.0]] and rows[1].tolist() == [0.0, 0.0]
    ((one,), (two,)) = jacobian(f, argnums=(1,))(x, y)
    assert one.tolist() == [[1.0, 0.0], [0.0, 2.0]] and two.tolist() == [1.0, 1.0]
    both = jacobian(f, argnums=(1, 0))(x, y)
    assert both[0][1].tolist() == [[3.0, 0.0], [0.0, 4.0]] and both[1][0].tolist() == [1.0, 1.0]
    for argnums, message in (
        (2, "Got argnum=2"),
        ((), "non-empty"),
        ((0, 0), "unique"),
        ([0], "int or Tuple"),
    ):
        with pytest.raises(RuntimeError, match=message):
            jacobian(f, argnums=argnums)(x, y)


def test_all_arguments(m: ModuleType) -> None:
    found = m.func.jacfwd(lambda x, y: x * y, argnums=None)(m.tensor(2.0), m.tensor(3.0))
    assert [t.item() for t in found] == [3.0, 2.0]
    with pytest.raises(RuntimeError, match="argnums must be int or Tuple"):
        m.func.jacrev(lambda x, y: x * y, argnums=None)(m.tensor(2.0), m.tensor(3.0))


@REVERSE_AND_FORWARD
def test_trees(m: ModuleType, mode: str) -> None:
    tree = {"a": m.tensor([2.0, 3.0]), "b": [m.tensor(4.0)]}
    found = getattr(m.func, mode)(lambda t: Pair(t["a"] * t["b"][0], t["a"].sum()))(tree)
    assert isinstance(found, Pair) and list(found.a) == ["a", "b"]
    assert found.a["a"].tolist() == [[4.0, 0.0], [0.0, 4.0]] and found.a["b"][0].tolist() == [2.0, 3.0]
    assert found.b["a"].tolist() == [1.0, 1.0] and found.b["b"][0].item() == 0.0


@REVERSE_AND_FORWARD
def test_aux(m: ModuleType, mode: str) -> None:
    found, aux = getattr(m.func, mode)(lambda x: (x * 2, {"s": x.sum(), "c": m.ones(3)}), has_aux=True)(
        m.ones(2)
    )
    assert found.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert aux["s"].item() == 2.0 and aux["c"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 6, 100, None])
def test_chunks(m: ModuleType, chunk_size: int | None) -> None:
    f = lambda x: (x * x, (x.sum() * x)[:2], x.prod())  # noqa: E731
    x = m.tensor([1.0, 2.0, 3.0])
    found = m.func.jacrev(f, chunk_size=chunk_size)(x)
    assert found[0].tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    assert found[1].tolist() == [[7.0, 1.0, 1.0], [2.0, 8.0, 2.0]]
    assert found[2].tolist() == [6.0, 3.0, 2.0]


@pytest.mark.parametrize("chunk_size", [0, -1])
def test_chunks_of_nothing(m: ModuleType, chunk_size: int) -> None:
    with pytest.raises(ValueError, match="`chunk_size` should be greater than 0"):
        m.func.jacrev(lambda x: x, chunk_size=chunk_size)


def test_chunks_of_one_do_without_vmap(m: ModuleType) -> None:
    class Refuses(m.autograd.Function):  # type: ignore[name-defined]
        generate_vmap_rule = False

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert float(grad.sum()) == 1.0  # looks at elements
            return grad * 3

    found = m.func.jacrev(Refuses.apply, chunk_size=1)(m.ones(2))
    assert found.tolist() == [[3.0, 0.0], [0.0, 3.0]]


@REVERSE_AND_FORWARD
def test_complex_is_refused(m: ModuleType, mode: str) -> None:
    jacobian = getattr(m.func, mode)
    with pytest.raises(RuntimeError, match=f"{mode}: Expected all inputs to be real"):
        jacobian(lambda x, y: x)(m.ones(2), m.ones(2) + 1j)
    with pytest.raises(RuntimeError, match=f"{mode}: Expected all outputs to be real"):
        jacobian(lambda x: x + 1j)(m.ones(2))


@REVERSE_AND_FORWARD
def test_integers(m: ModuleType, mode: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match="floating point"):
        getattr(m.func, mode)(lambda x: x * 2)(m.arange(3))
    with pytest.raises((RuntimeError, ValueError, AttributeError)):
        getattr(m.func, mode)(lambda x: x * 2)(1.0)


def test_integer_outputs(m: ModuleType) -> None:
    assert m.func.jacfwd(lambda x: x.long())(m.ones(2)).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(RuntimeError, match="All outputs of f must be floating-point or complex Tensors"):
        m.func.jacrev(lambda x: x.long())(m.ones(2))


def test_randomness(m: ModuleType) -> None:
    draws = lambda x: x * m.rand(2)  # noqa: E731
    with pytest.raises(RuntimeError, match="randomness"):
        m.func.jacfwd(draws)(m.ones(2))
    same = m.func.jacfwd(draws, randomness="same")(m.ones(2))
    assert same[0, 1].item() == same[1, 0].item() == 0.0


def test_hessian(m: ModuleType) -> None:
    x = m.tensor([1.0, 2.0])
    found = m.func.hessian(lambda x: (x**3).sum() + x[0] * x[1])(x)
    assert found.tolist() == [[6.0, 1.0], [1.0, 12.0]]
    found = m.func.hessian(lambda x: x**3)(x)
    assert found.tolist() == [[[6.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 12.0]]]
    found = m.func.hessian(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(m.tensor(2.0), m.tensor(3.0))
    assert [[t.item() for t in row] for row in found] == [[0.0, 6.0], [6.0, 4.0]]


def through_detach(m: ModuleType, x: Any) -> Any:
    x.detach().mul_(2)
    return (x**3).sum()


def through_a_view(m: ModuleType, x: Any) -> Any:
    x[1:].detach().mul_(2)
    return (x**3).sum()


def through_what_is_multiplied(m: ModuleType, x: Any) -> Any:
    z = x.detach()
    z.mul_(2)
    return (x * x * z).sum()


def through_out(m: ModuleType, x: Any) -> Any:
    z = x.detach()
    m.mul(z, m.tensor([2.0, 3.0]), out=z)
    return (x**3).sum()


def through_a_result(m: ModuleType, x: Any) -> Any:
    y = x * x
    y.detach().mul_(2)
    return (y * x).sum()


@pytest.mark.parametrize(
    "function",
    [through_detach, through_a_view, through_what_is_multiplied, through_out, through_a_result],
)
def test_hessians_of_what_writes_to_its_detached_argument(m: ModuleType, function: Any) -> None:
    """The memory is the same for all directions, and written once: as without transforms around."""
    x, plain = m.tensor([1.0, 2.0]), m.tensor([1.0, 2.0])
    found = m.func.hessian(lambda x: function(m, x))(x)
    leaf = plain.clone().requires_grad_()
    (slope,) = m.autograd.grad(function(m, leaf), leaf, create_graph=True)
    rows = [m.autograd.grad(part, leaf, retain_graph=True)[0] for part in slope]
    m.testing.assert_close(found, m.stack(rows))
    m.testing.assert_close(x, leaf.detach())


def test_a_batched_operand_is_not_written_to_memory_of_all() -> None:
    x = tengen.ones(3)

    def function(x: Any, y: Any) -> Any:
        return tengen.func.grad(lambda x: (x.detach().mul_(y) * x).sum())(x)

    with pytest.raises(RuntimeError, match="is not possible because there exists a Tensor `other`"):
        tengen.func.vmap(function, in_dims=(None, 0))(x, tengen.ones(2, 3))
    assert x.tolist() == [1, 1, 1]


def test_results_have_the_history_of_the_input(m: ModuleType) -> None:
    w = m.tensor([1.0, 2.0], requires_grad=True)
    for jacobian in (m.func.jacrev, m.func.jacfwd):
        found = jacobian(lambda x: x**3)(w)
        assert found.requires_grad
        assert m.autograd.grad(found.sum(), w)[0].tolist() == [6.0, 12.0]
    found = m.func.hessian(lambda x: (x**4).sum())(w)
    assert m.autograd.grad(found.sum(), w)[0].tolist() == [24.0, 48.0]
    with m.no_grad():
        assert not m.func.jacrev(lambda x: x**3)(w).requires_grad


@REVERSE_AND_FORWARD
def test_the_function_runs_once(m: ModuleType, mode: str) -> None:
    calls = []
    getattr(m.func, mode)(lambda x: (calls.append(1), x * 2)[1])(m.ones(3))
    assert len(calls) == 1


@REVERSE_AND_FORWARD
def test_the_function_keeps_its_name(m: ModuleType, mode: str) -> None:
    def named(x: Any) -> Any:
        return x

    assert getattr(m.func, mode)(named).__name__ == "named"
    assert m.func.hessian(named).__name__ == "named"


@REVERSE_AND_FORWARD
def test_an_exception_leaves_nothing(m: ModuleType, mode: str) -> None:
    def fails(x: Any) -> Any:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        getattr(m.func, mode)(fails)(m.ones(2))
    assert m.func.hessian(lambda x: (x * x).sum())(m.ones(2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("mode", ["jacrev", "jacfwd", "hessian"])
def test_of_examples(m: ModuleType, mode: str) -> None:
    x = m.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    f = lambda x: (x**3).sum() if mode == "hessian" else x * x  # noqa: E731
    found = m.func.vmap(getattr(m.func, mode)(f))(x)
    factor = 6 if mode == "hessian" else 2
    assert found.tolist() == [[[factor * a, 0.0], [0.0, factor * b]] for a, b in x.tolist()]
