"""What a function must not do while it is transformed, and what it may: the same in tengen and in torch."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import tengen

TRANSFORMS = ("grad", "jvp", "vmap")


def transformed(m: ModuleType, transform: str, function: Callable[[Any], Any]) -> Any:
    """The function run by a transform."""
    x = m.ones(2, 3) if transform == "vmap" else m.ones(3)
    if transform == "jvp":
        return m.func.jvp(function, (x,), (x,))
    return getattr(m.func, transform)(function)(x)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_requires_grad_(m: ModuleType, transform: str, requires_grad: bool) -> None:
    for change in (lambda x: x, lambda x: x.detach(), lambda x: m.ones(3)):
        with pytest.raises(RuntimeError, match=r"Tensor\.requires_grad_\(\).*functional"):
            transformed(m, transform, lambda x, c=change: (c(x).requires_grad_(requires_grad) * x).sum())


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f.jacobian(lambda y: y**2, x),
        lambda f, x: f.hessian(lambda y: (y**2).sum(), x),
        lambda f, x: f.vjp(lambda y: y**2, x, x)[1],
        lambda f, x: f.jvp(lambda y: y**2, x, x)[1],
    ],
)
def test_functional(m: ModuleType, transform: str, call: Callable[[Any, Any], Any]) -> None:
    """They make leaves, of which gradients of the transform would be zeros."""
    with pytest.raises(RuntimeError, match="use the functorch transforms"):
        transformed(m, transform, lambda x: call(m.autograd.functional, x).sum())


def test_retain_grad(m: ModuleType) -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        return y.sum()

    with pytest.raises(RuntimeError, match=r"Tensor\.retain_grad\(\)"):
        m.func.grad(function)(m.ones(2))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_new_leaves_may_be_made(m: ModuleType, transform: str) -> None:
    for make in (
        lambda x: m.ones(3, requires_grad=True),
        lambda x: m.tensor([1.0, 2.0, 3.0], requires_grad=True),
        lambda x: m.asarray([1.0, 2.0, 3.0], requires_grad=True),
        lambda x: x.new_ones(3, requires_grad=True),
    ):
        transformed(m, transform, lambda x, make=make: (make(x) * x).sum())


def test_data_under_vmap(m: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="accessing `data` under vmap transform is not allowed"):
        m.vmap(lambda x: x.data * 2)(m.ones(3))


def _with_other_data(x: Any) -> Any:
    y = x * 2
    y.data = x.detach() * 0
    return (y * x).sum()


@pytest.mark.parametrize("transform", ["grad", "jacrev", "jacfwd", "hessian", "vmap"])
def test_data_is_not_assigned(m: ModuleType, transform: str) -> None:
    run = getattr(m, transform) if transform == "vmap" else getattr(m.func, transform)
    with pytest.raises(
        RuntimeError, match=r"`\.data` (inside functorch|under vmap) transform is not allowed"
    ):
        run(_with_other_data)(m.ones(3))


def _detached_in_place(y: Any) -> Any:
    y = y.clone()
    y.detach_()
    return y


#: Transforms of a function of one tensor, by letter: ``v`` is around all to its right.
AROUND: dict[str, Callable[[ModuleType, Any], Callable[[Any], Any]]] = {
    "g": lambda m, f: m.func.grad(lambda x: f(x).sum()),
    "j": lambda m, f: lambda x: m.func.jvp(f, (x,), (x.detach() + 1,))[1],
    "v": lambda m, f: m.vmap(f),
    "f": lambda m, f: m.func.jacfwd(f),
    "r": lambda m, f: m.func.jacrev(f),
}


@pytest.mark.parametrize("chain", ["g", "j", "f", "r", "vg", "vj", "vr"])
def test_data_under_what_differentiates(m: ModuleType, chain: str) -> None:
    """Also inside of vmap: there the level that differentiates has the tensor."""

    def value(cut: Callable[[Any], Any]) -> Any:
        f = lambda x: cut(x * 2) * x * x  # noqa: E731
        for letter in reversed(chain):
            f = AROUND[letter](m, f)
        return f(m.tensor([1.0, 2.0, 3.0])).tolist()

    assert value(lambda y: y.data) == value(_detached_in_place) == value(lambda y: y.detach())


@pytest.mark.parametrize("chain", ["gg", "gj", "jg", "jj", "gv", "gvg", "ggg", "fr", "rf", "vgg", "fvr"])
def test_a_history_is_cut_off_at_all_levels(chain: str) -> None:
    """By ``data`` and ``detach_()`` as by ``detach()``; in PyTorch the former cut at the newest one."""

    def value(cut: Callable[[Any], Any]) -> Any:
        f = lambda x: cut(x * 2) * x * x  # noqa: E731
        for letter in reversed(chain):
            f = AROUND[letter](tengen, f)
        return f(tengen.tensor([1.0, 2.0, 3.0])).tolist()

    if chain[-1] != "v":
        assert value(lambda y: y.data) == value(lambda y: y.detach())
    assert value(_detached_in_place) == value(lambda y: y.detach())


def test_a_pullback_made_under_no_grad_records_where_it_is_called(m: ModuleType) -> None:
    x = m.tensor(3.0, requires_grad=True)
    with m.no_grad():
        value, pullback = m.func.vjp(lambda x: x**2, x)
        (silent,) = pullback(m.tensor(1.0))
    (found,) = pullback(m.tensor(1.0))
    assert not value.requires_grad and not silent.requires_grad and found.requires_grad
    assert m.autograd.grad(found, x)[0].item() == 2.0


def test_the_same_numbers_in_all_chunks(m: ModuleType) -> None:
    def drawn(chunk_size: int | None) -> list[list[float]]:
        m.manual_seed(5)
        found: list[list[float]] = m.vmap(lambda x: x + m.rand(2), randomness="same", chunk_size=chunk_size)(
            m.zeros(6, 1)
        ).tolist()
        return found

    assert drawn(4) == drawn(1) == drawn(None) == [drawn(None)[0]] * 6
    m.manual_seed(5)
    different = m.vmap(lambda x: x + m.rand(2), randomness="different", chunk_size=2)(m.zeros(6, 1)).tolist()
    assert len({tuple(row) for row in different}) == 6


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers_in_forward_mode(m: ModuleType, randomness: str) -> None:
    found = m.func.jacfwd(lambda x: m.bernoulli(x) + x, randomness=randomness)(m.full((3,), 0.5))
    assert found.tolist() == m.eye(3).tolist()
