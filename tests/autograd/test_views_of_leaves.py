"""Views of a leaf that came to require gradients after they were made: they require gradients as it does."""

from __future__ import annotations

from typing import Any

import pytest


def later(m: Any) -> tuple[Any, Any]:
    """A leaf, and a view of it that is older than that it requires gradients."""
    base = m.ones(3)
    view = base[:2]
    base.requires_grad_()
    return base, view


def test_views_follow_their_base(m: Any) -> None:
    base = m.ones(4)
    view, other, whole, ints, detached = (
        base[:2],
        *base.unbind(0)[:1],
        base.view(4),
        base.view(m.int32),
        base.detach(),
    )
    inner = view[:1]
    for value in (True, False, True):
        base.requires_grad = value
        for follower in (view, inner, other, whole):
            assert follower.requires_grad is value and follower.is_leaf and follower.grad_fn is None
        assert not ints.requires_grad and not detached.requires_grad


def test_no_gradient_comes_to_such_a_view_or_through_it(m: Any) -> None:
    base, view = later(m)
    product = view * base[:2]
    product.sum().backward()
    assert base.grad.tolist() == [1.0, 1.0, 0.0] and view.grad is None
    doubled = view * 2
    assert doubled.requires_grad and doubled.grad_fn.next_functions[0] == (None, 0)
    doubled.sum().backward()
    assert base.grad.tolist() == [1.0, 1.0, 0.0]
    assert m.autograd.grad((view * 2).sum(), view, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        m.autograd.grad((view * 2).sum(), view)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        view.backward(m.ones(2))


def test_such_a_view_cannot_be_written_to(m: Any) -> None:
    _, view = later(m)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.add_(1)


def test_a_view_may_require_gradients_itself(m: Any) -> None:
    base, view = later(m)
    view.requires_grad_(False)
    assert view.requires_grad
    view.requires_grad_()
    (view * 2).sum().backward()
    assert view.grad.tolist() == [2.0, 2.0] and base.grad is None
    base.requires_grad_(False)
    assert view.requires_grad


def test_after_a_write_the_view_leads_to_its_base(m: Any) -> None:
    base, view = later(m)
    with m.no_grad():
        base.add_(1)
    assert view.requires_grad and view.grad_fn is not None and not view.is_leaf
    (view * 2).sum().backward()
    assert base.grad.tolist() == [2.0, 2.0, 0.0] and view.tolist() == [2.0, 2.0]


def test_a_base_that_comes_to_have_a_history(m: Any) -> None:
    base = m.ones(3)
    view = base[:2]
    factor = m.full((3,), 2.0, requires_grad=True)
    base.mul_(factor)
    view.sum().backward()
    assert factor.grad.tolist() == [1.0, 1.0, 0.0]


def test_a_base_that_is_detached_in_place(m: Any) -> None:
    base, view = later(m)
    base.detach_()
    assert not view.requires_grad
