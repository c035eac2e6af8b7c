"""The gradients of leaves: set, added to, never in memory that is somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import fast_paths


def leaf(shape: tuple[int, ...] = (3, 4), dtype: Any = tengen.float32) -> Any:
    tengen.manual_seed(0)
    return tengen.randn(shape, dtype=dtype, requires_grad=True)


def twice(x: Any) -> None:
    for _ in range(2):
        (x * x).sum().backward()


def both(x: Any) -> None:
    (x + x).sum().backward()


def with_hooks(x: Any) -> None:
    x.register_hook(lambda g: g * 2)

    def tripled(t: Any) -> None:
        t.grad.mul_(3)

    x.register_post_accumulate_grad_hook(tripled)
    twice(x)


def transposed(x: Any) -> None:
    (x.T * tengen.arange(12.0).view(4, 3)).sum().backward()


def over_a_shown_gradient(x: Any) -> None:
    (x * 2).sum().backward()
    view = x.grad.view(-1)
    (x * 3).sum().backward()
    assert view.tolist() == x.grad.view(-1).tolist()


def through_graph(x: Any) -> None:
    (x**3).sum().backward(create_graph=True)
    x.grad = x.grad * 1
    (x**2).sum().backward()


def overflowing(x: Any) -> None:
    """NumPy has to be asked for the second sum, after the write was counted."""
    for _ in range(2):
        x.backward(tengen.full_like(x, tengen.finfo(x.dtype).max))


USES: dict[str, Callable[[Any], None]] = {
    f.__name__: f
    for f in (twice, both, with_hooks, transposed, over_a_shown_gradient, through_graph, overflowing)
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dtype", [tengen.float32, tengen.float64])
def test_as_in_python(use: str, dtype: Any) -> None:
    found = []
    for stop in (True, False, False):
        x = leaf(dtype=dtype)
        if stop:
            with fast_paths.stopped():
                USES[use](x)
        else:
            USES[use](x)
        grad = x.grad
        array = grad.detach().numpy()
        found.append((array.tobytes(), array.strides, grad.dtype, grad._version, grad.requires_grad))
    assert found[1] == found[0] and found[2] == found[0]


def test_a_gradient_that_is_given_is_copied() -> None:
    x, given = leaf(), tengen.ones(3, 4)
    x.view(3, 4).backward(given)
    assert not np.shares_memory(x.grad.numpy(), given.numpy())
    y = leaf()
    y.backward(given)
    y.backward(given)
    assert given.tolist() == [[1] * 4] * 3 and y.grad.tolist() == [[2] * 4] * 3


def kept(grad: Any, seen: list[Any]) -> None:
    """A hook that keeps the array of a gradient, and a copy of it."""
    seen.append((grad.detach().numpy(), grad.detach().numpy().copy()))


@pytest.mark.parametrize("uses", [2, 3])
@pytest.mark.parametrize("how", ["given", "hook", "Function", "graph"])
def test_a_gradient_that_somebody_holds_is_not_added_to(how: str, uses: int) -> None:
    """It comes to a Node by several edges, as the first of what waits for it there."""

    class Passed(tengen.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            kept(grad, seen)
            return grad

    seen: list[Any] = []
    x, given = leaf(), tengen.ones(3, 4)
    inner = x * 3
    parts = [inner] * uses if how != "Function" else [Passed.apply(inner) for _ in range(uses)]
    result = parts[0] + parts[1] if uses == 2 else (parts[0] + parts[1]) + parts[2]
    if how == "hook":
        result.register_hook(lambda grad: kept(grad, seen))
    result.backward(given, create_graph=how == "graph")
    assert given.tolist() == [[1] * 4] * 3
    assert all(np.array_equal(array, copy) for array, copy in seen)
    assert x.grad.tolist() == [[3 * uses] * 4] * 3


def test_two_leaves_do_not_share() -> None:
    x, y = leaf(), leaf()
    (x + y).sum().backward()
    assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())
    x.grad.mul_(5)
    assert y.grad.tolist() == [[1] * 4] * 3


def test_a_leaf_that_became_a_result_is_an_error() -> None:
    x = leaf()
    y = x * 2
    with tengen.no_grad():
        x._edge = y._edge
    with pytest.raises(RuntimeError, match="moved into the graph interior"):
        y.sum().backward()


def test_a_leaf_that_wants_none_any_more_gets_none() -> None:
    x = leaf()
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None
