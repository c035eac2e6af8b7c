"""Errors of compiled functions are those of the functions, and leave nothing half done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from compared import alike

import tengen
from tengen.nn import functional as F


def x() -> Any:
    return tengen.arange(12.0).reshape(3, 4) / 3


def index(*numbers: int) -> Any:
    return tengen.tensor(numbers)


#: A function, arguments that fit, and arguments of the same kind that are an error.
ERRORS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "index_select": (lambda t, i: t.index_select(0, i) * 2, (x(), index(0, 2)), (x(), index(0, 3))),
    "gather": (lambda t, i: t.gather(1, i[None]) + 1, (x(), index(0, 2)), (x(), index(0, 4))),
    "take": (lambda t, i: t.take(i).sin(), (x(), index(0, 11)), (x(), index(0, 12))),
    "indexed": (lambda t, i: t[i] * 2, (x(), index(0, -3)), (x(), index(0, -4))),
    "indexed twice": (lambda t, i: t[i, i] * 2, (x(), index(0, 2)), (x(), index(0, 3))),
    "embedding": (lambda t, i: F.embedding(i, t).sum(-1), (x(), index(0, 2)), (x(), index(5, 2))),
    "one_hot": (lambda i: F.one_hot(i, 3), (index(0, 2),), (index(0, 3),)),
    "scatter": (lambda t, i: t.scatter(1, i[None], 5.0), (x(), index(0, 2)), (x(), index(0, 4))),
    "index_add": (lambda t, i: t.index_add(0, i, t[:2]), (x(), index(0, 2)), (x(), index(0, 3))),
    "nll": (lambda t, i: F.nll_loss(t.log_softmax(1), i), (x(), index(0, 1, 2)), (x(), index(0, 1, 4))),
    "cross entropy": (lambda t, i: F.cross_entropy(t, i), (x(), index(0, 1, 2)), (x(), index(0, 1, 9))),
    "cholesky": (lambda t: tengen.linalg.cholesky(t) * 2, (tengen.eye(3),), (-tengen.eye(3),)),
    "inverse": (lambda t: tengen.linalg.inv(t) + 1, (tengen.eye(3),), (tengen.zeros(3, 3),)),
    "solve": (lambda t: tengen.linalg.solve(t, t) + 1, (tengen.eye(3),), (tengen.zeros(3, 3),)),
    "division": (lambda a, b: a // b, (index(4, 5), index(1, 2)), (index(4, 5), index(0, 2))),
    "remainder": (lambda a, b: a % b, (index(4, 5), index(1, 2)), (index(4, 5), index(0, 2))),
    "power": (lambda a, b: a**b, (index(4, 5), index(1, 2)), (index(4, 5), index(1, -2))),
    "multinomial": (lambda t: t.multinomial(2), (tengen.ones(3),), (-tengen.ones(3),)),
    "bernoulli": (lambda t: t.bernoulli(), (tengen.ones(3) / 2,), (tengen.ones(3) * 2,)),
    "item": (lambda t: t * (1 / t.sum().item()), (tengen.ones(3),), (tengen.zeros(3),)),
}  # fmt: skip


@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, needs: bool) -> None:
    function, right, wrong = ERRORS[name]
    right, wrong = ([_needing(t, needs) for t in args] for args in (right, wrong))
    try:
        expected: Any = function(*wrong)
    except Exception as error:
        expected = error
    compiled = tengen.compile(function)
    for turn in range(4):
        alike(compiled, function, *right)
        if not turn or isinstance(expected, Exception):
            _same_error(compiled, function, wrong)
    for _ in range(2):
        alike(compiled, function, *right)


def _needing(tensor: Any, needs: bool) -> Any:
    return tensor.clone().requires_grad_(needs and tensor.is_floating_point())


def _same_error(compiled: Any, function: Any, wrong: Any) -> None:
    try:
        function(*wrong)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            compiled(*wrong)
        assert str(caught.value) == str(error)
    else:
        alike(compiled, function, *wrong)


def test_errors_in_the_first_call() -> None:
    for function, right, wrong in ERRORS.values():
        compiled = tengen.compile(function)
        _same_error(compiled, function, wrong)
        for _ in range(3):
            alike(compiled, function, *right)


def test_nothing_is_written() -> None:
    kept = tengen.zeros(4)

    def function(t: Any, i: Any) -> Any:
        picked = t.index_select(0, i)
        kept.add_(1)
        t.mul_(2)
        return picked + tengen.rand(4)

    compiled = tengen.compile(function)
    for turn in range(5):
        t = x()
        compiled(t, index(0, 2))
        assert bool((t == x() * 2).all()) and bool((kept == turn + 1).all())
        t, state = x(), tengen.get_rng_state()
        with pytest.raises(IndexError):
            compiled(t, index(0, 3))
        assert bool((t == x()).all()) and bool((kept == turn + 1).all())
        assert bool((tengen.get_rng_state() == state).all())


def test_shapes_that_do_not_fit() -> None:
    function = lambda a, b: a @ b + 1  # noqa: E731
    compiled = tengen.compile(function)
    for a, b in [(x(), x().t()), (x(), x()), (x(), x().t()), (x(), x()[0, 0]), (x(), x().t().double())] * 2:
        for _ in range(2):
            _same_error(compiled, function, [a, b])


def test_errors_in_backward() -> None:
    compiled = tengen.compile(lambda t: t.sin() * 2)
    for _ in range(4):
        t = x().requires_grad_()
        out = compiled(t)
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            out.backward()
        with pytest.raises(RuntimeError, match=r"[Mm]ismatch in shape"):
            out.backward(tengen.ones(7))


def test_wrong_arguments() -> None:
    compiled = tengen.compile(lambda a, b: a + b)
    for args, keywords in [((x(),), {}), ((x(), x(), x()), {}), ((x(),), {"c": 1})]:
        for _ in range(3):
            with pytest.raises(TypeError):
                compiled(*args, **keywords)
    alike(compiled, compiled.__wrapped__, x(), x())
