"""Saved values: their versions, and the history they come back with."""

from __future__ import annotations

import weakref

import pytest

import tengen as tg

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def test_a_saved_input_that_was_written_to() -> None:
    x, w = leaf(1.0, 2.0), tg.ones(2) * 3
    y = x * w
    w.mul_(2)
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    text = str(error.value)
    assert text.startswith(MODIFIED)
    assert "[tengen.FloatTensor [2]] is at version 1; expected version 0 instead" in text
    assert "anomaly" in text


def test_a_saved_result_that_was_written_to() -> None:
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"\[2\]\], which is output 0 of Exp.* at version 1; expected"):
        y.sum().backward()


def test_a_saved_result_written_through_a_view_or_a_detached_handle() -> None:
    for through in (lambda y: y[0], lambda y: y.detach(), lambda y: y.detach()[1]):
        x = leaf(1.0, 2.0)
        y = x.exp()
        with tg.no_grad():
            through(y).mul_(2)
        with pytest.raises(RuntimeError, match=MODIFIED):
            y.sum().backward()


def test_writing_through_data_is_not_noticed() -> None:
    x, w = leaf(1.0, 2.0), tg.ones(2)
    y = x * w
    w.data.mul_(2)
    y.sum().backward()
    assert w._version == 0
    assert x.grad.tolist() == [2.0, 2.0]


def test_operators_that_save_nothing_do_not_mind() -> None:
    x, w = leaf(1.0, 2.0), tg.ones(2)
    y = x + w
    w.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_leaf_that_is_updated_before_backward() -> None:
    w = leaf(1.0, 2.0)
    y = w * w
    with tg.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_an_in_place_operator_on_what_another_saved() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"which is output 0 of Add.* is at version 1; expected version 0"):
        z.sum().backward()


def test_an_in_place_operator_saves_its_own_input_as_it_was() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    assert w.grad.tolist() == [1.0, 2.0] and x.grad.tolist() == [3.0, 4.0]


def test_an_in_place_operator_that_saves_its_result() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    y.exp_()
    expected = y.tolist()
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == expected
    y.mul_(2)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_a_tensor_multiplied_by_itself_in_place_is_an_error() -> None:
    y = leaf(1.0, 2.0) * 2
    y.mul_(y)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_what_was_saved_has_the_history_of_then() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * y
    y.detach_()
    assert y.is_leaf and not y.requires_grad
    (g,) = tg.autograd.grad(z, x, create_graph=True)
    assert g.item() == 32.0
    assert tg.autograd.grad(g, x)[0].item() == 48.0


def test_what_needed_no_gradient_when_saved_needs_none_later() -> None:
    x, w = leaf(2.0), tg.ones(1)
    y = x * x * w
    w.requires_grad_()
    (g,) = tg.autograd.grad(y, x, create_graph=True)
    assert tg.autograd.grad(g, w, allow_unused=True) == (None,)


def test_a_saved_result_can_be_differentiated_again() -> None:
    x = leaf(0.0, 1.0)
    y = x.exp()
    (g,) = tg.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = tg.autograd.grad(g.sum(), x, create_graph=True)
    assert h.tolist() == y.tolist()
    y.mul_(1)  # which the results unpacked above must not hide
    with pytest.raises(RuntimeError, match=MODIFIED):
        tg.autograd.grad(g.sum(), x)


def test_an_accumulated_gradient_that_was_saved() -> None:
    x = leaf(1.0)
    (x * 2).sum().backward()
    w = leaf(1.0)
    y = x.grad * w
    (x * 2).sum().backward()
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_saved_lists_are_let_go() -> None:
    """Each tensor of a list that a Node saved, by the first pass that need not keep the graph."""
    places = [tg.tensor([0, 1]), tg.tensor([1, 2])]
    kept = [weakref.ref(p) for p in places]
    x = tg.ones(3, 4, requires_grad=True)
    y = (x * 2)[places[0], places[1]]
    node = y.grad_fn
    del places
    assert all(ref() is not None for ref in kept) and len(node._saved_indices) == 2
    y.sum().backward(retain_graph=True)
    assert all(ref() is not None for ref in kept)
    y.sum().backward()
    assert all(ref() is None for ref in kept)
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node._saved_indices  # noqa: B018
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
