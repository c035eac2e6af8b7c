"""In-place operators and ``out=``: what is allowed, what is written, what becomes of the history."""

from __future__ import annotations

import warnings

import pytest

import tengen as tg


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def test_the_history_is_rebased() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    before = y.grad_fn
    same = y.add_(1)
    assert same is y and y.grad_fn is not before
    assert y.grad_fn.next_functions[0][0] is before
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_memory_and_version() -> None:
    x = tg.ones(3)
    pointer = x.data_ptr()
    x.add_(1)
    x.mul_(2)
    assert x.data_ptr() == pointer and x._version == 2
    assert x.tolist() == [4.0] * 3
    assert not x.requires_grad


def test_a_tensor_comes_to_require_gradients() -> None:
    x, w = tg.ones(2), leaf(3.0, 4.0)
    x.mul_(w)
    assert x.requires_grad and not x.is_leaf
    x.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_under_no_grad_only_the_version_changes() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    node = y.grad_fn
    with tg.no_grad():
        x.add_(1)
        y.add_(1)
    assert x.is_leaf and x.requires_grad and x._version == 1
    assert y.grad_fn is node and y._version == 1


def test_leaves_are_refused() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        x[0].add_(1)
    assert x.tolist() == [1.0, 2.0] and x._version == 0


def test_a_view_that_is_a_leaf_of_its_own_is_refused() -> None:
    v = tg.zeros(3)[0]
    v.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        v.add_(1)


def test_a_result_that_does_not_fit_changes_nothing() -> None:
    x = tg.ones(3)
    with pytest.raises(RuntimeError, match=r"shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        x.add_(tg.ones(2, 3))
    i = tg.tensor([1, 2])
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        i.add_(tg.tensor([1.5, 1.5]))
    with pytest.raises(RuntimeError, match="ComplexFloat can't be cast to the desired output type Float"):
        x.mul_(tg.tensor([1j, 1j, 1j]))
    assert x.tolist() == [1.0] * 3 and x._version == 0
    assert i.tolist() == [1, 2] and i._version == 0


def test_expanded_memory_is_refused() -> None:
    x = tg.ones(1).expand(3)
    with pytest.raises(RuntimeError, match=r"more than one element of the written-to tensor.*clone\(\)"):
        x.add_(1)


def test_a_wider_type_is_cast_back() -> None:
    x, w = leaf(1.0, 2.0), tg.tensor([3.0, 4.0], dtype=tg.float64, requires_grad=True)
    y = x * 1
    y.mul_(w)
    assert y.dtype is tg.float32
    y.sum().backward()
    assert x.grad.dtype is tg.float32 and x.grad.tolist() == [3.0, 4.0]
    assert w.grad.dtype is tg.float64 and w.grad.tolist() == [1.0, 2.0]


def test_zero_cuts_the_history() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    y.zero_()
    (y + x).sum().backward()
    assert y.tolist() == [0.0, 0.0] and x.grad.tolist() == [1.0, 1.0]


def test_copy() -> None:
    x, w = leaf(1.0, 2.0), leaf(5.0)
    y = x * 1
    y.copy_(w)
    assert y.tolist() == [5.0, 5.0]
    y.sum().backward()
    assert w.grad.tolist() == [2.0]
    assert x.grad is None or x.grad.tolist() == [0.0, 0.0]


def test_double_backward_through_an_in_place_operator() -> None:
    x = leaf(2.0, 3.0)
    y = x * x
    y.mul_(x)
    (g,) = tg.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12.0, 27.0]
    assert tg.autograd.grad(g.sum(), x)[0].tolist() == [12.0, 18.0]


# -- out= ------------------------------------------------------------------------------


def test_out_writes_and_casts() -> None:
    out = tg.zeros(3, dtype=tg.float64)
    pointer = out.data_ptr()
    assert tg.add(tg.ones(3), 1, out=out) is out
    assert out.tolist() == [2.0] * 3 and out.dtype is tg.float64
    assert out.data_ptr() == pointer and out._version == 1


def test_out_is_resized() -> None:
    out = tg.zeros(2)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        tg.add(tg.ones(3), 1, out=out)
    assert out.tolist() == [2.0] * 3
    empty = tg.zeros(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.add(tg.ones(2, 3), 1, out=empty)
    assert empty.tolist() == [[2.0] * 3] * 2


def test_out_stays_in_its_memory_when_that_is_large_enough() -> None:
    whole = tg.zeros(6)
    out = whole[:5]
    with pytest.warns(UserWarning):
        tg.add(tg.ones(2, 2), 1, out=out)
    assert out.shape == (2, 2) and out.data_ptr() == whole.data_ptr()
    assert whole.tolist() == [2.0] * 4 + [0.0] * 2


def test_out_refuses_gradients() -> None:
    x = leaf(1.0, 2.0)
    for arguments, out in (((x, tg.ones(2)), tg.ones(2)), ((tg.ones(2), tg.ones(2)), x)):
        with pytest.raises(RuntimeError, match=r"add\(\): functions with out=... arguments don't support"):
            tg.add(*arguments, out=out)
    with tg.no_grad():
        out = tg.ones(2)
        tg.add(x, x, out=out)
    assert out.tolist() == [2.0, 4.0] and not out.requires_grad


def test_out_refuses_a_narrower_kind() -> None:
    out = tg.zeros(3, dtype=tg.int64)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        tg.add(tg.ones(3), 1.5, out=out)
    assert out.tolist() == [0, 0, 0] and out._version == 0
