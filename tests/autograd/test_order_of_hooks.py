"""Several hooks of one kind: each is called in the order of registration, on what the one before returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen

#: Registers a hook that makes of a list of gradients another one, and gives its handle.
Register = Callable[[Any, Callable[[list[Any]], list[Any]]], Any]


def of_tensor(node: Any, hook: Any) -> Any:
    return node["y"].register_hook(lambda grad: hook([grad])[0])


def of_leaf(node: Any, hook: Any) -> Any:
    return node["x"].register_hook(lambda grad: hook([grad])[0])


def before_node(node: Any, hook: Any) -> Any:
    return node["y"].grad_fn.register_prehook(lambda grads: tuple(hook(list(grads))))


def behind_node(node: Any, hook: Any) -> Any:
    return node["y"].grad_fn.register_hook(lambda grads, _: tuple(hook(list(grads))))


def behind_accumulation(node: Any, hook: Any) -> Any:
    def call(leaf: Any) -> None:
        leaf.grad = hook([leaf.grad])[0]

    return node["x"].register_post_accumulate_grad_hook(call)


KINDS: list[Register] = [of_tensor, of_leaf, before_node, behind_node, behind_accumulation]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("register", KINDS, ids=lambda k: k.__name__)
def test_each_is_given_what_the_one_before_returned(register: Register, create_graph: bool) -> None:
    """Adding and doubling do not commute. One that was removed is not called."""
    x = tengen.tensor([1.0, 2.0], dtype=tengen.float64, requires_grad=True)
    y = x * 1
    node = {"x": x, "y": y}
    seen: list[tuple[str, float]] = []

    def hook(name: str, change: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
        def call(grads: list[Any]) -> list[Any]:
            first = grads[0].detach()
            seen.append((name, first[0].item()))
            return [None if g is None else change(g.detach()) for g in grads]

        return call

    register(node, hook("add", lambda g: g + 1))
    removed = register(node, hook("removed", lambda g: g * 0))
    register(node, hook("double", lambda g: g * 2))
    register(node, hook("again", lambda g: g + 3))
    removed.remove()
    (y * 5).sum().backward(create_graph=create_graph)
    assert seen == [("add", 5.0), ("double", 6.0), ("again", 12.0)]
    assert x.grad.tolist() == [15.0, 15.0]


@pytest.mark.parametrize("register", KINDS, ids=lambda k: k.__name__)
def test_an_error_in_one_ends_the_pass_and_leaves_the_others(register: Register) -> None:
    """In the next pass all are called again."""
    x = tengen.tensor([1.0], requires_grad=True)
    y = x * 1
    seen: list[str] = []

    def hook(name: str) -> Callable[[list[Any]], list[Any]]:
        def call(grads: list[Any]) -> list[Any]:
            seen.append(name)
            if name == "fails" and seen.count("fails") == 1:
                raise KeyError(name)
            return grads

        return call

    for name in ("first", "fails", "last"):
        register({"x": x, "y": y}, hook(name))
    loss = (y * 5).sum()
    with pytest.raises(KeyError):
        loss.backward(retain_graph=True)
    assert seen == ["first", "fails"] and tengen.is_grad_enabled()
    x.grad = None
    loss.backward()
    assert seen == ["first", "fails", "first", "fails", "last"] and x.grad.tolist() == [5.0]
