"""The attributes of a tensor that have to do with gradients."""

from __future__ import annotations

import pytest

import tengen as tg


def test_requires_grad() -> None:
    x = tg.ones(2)
    assert not x.requires_grad and x.is_leaf and x.grad_fn is None and x.grad is None
    assert x.requires_grad_() is x and x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    x.requires_grad_()
    y = x * 2
    assert y.requires_grad and not y.is_leaf and y.output_nr == 0
    y.requires_grad = True
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        x.requires_grad = 1
    with pytest.raises(TypeError, match="must be bool, not int"):
        x.requires_grad_(1)
    with pytest.raises(RuntimeError, match="only Tensors of floating point and complex dtype"):
        tg.tensor([1, 2]).requires_grad_()
    assert tg.tensor([1j]).requires_grad_().requires_grad


def test_grad_can_be_set() -> None:
    x = tg.ones(2, requires_grad=True)
    g = tg.ones(2)
    x.grad = g
    assert x.grad is g
    (x * 2).sum().backward()
    assert g.tolist() == [3.0, 3.0]
    del x.grad
    assert x.grad is None
    x.grad = None


def test_what_grad_refuses() -> None:
    x = tg.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="expected to be a Tensor or None but got grad of type int"):
        x.grad = 3
    with pytest.raises(RuntimeError, match=r"gradient of size '\[3\]' to a tensor of size '\[2\]'"):
        x.grad = tg.ones(3)
    with pytest.raises(RuntimeError, match=r"gradient with dtype '.*float64' to a tensor with"):
        x.grad = tg.ones(2, dtype=tg.float64)
    with pytest.raises(RuntimeError, match="as its own grad"):
        x.grad = x
    assert x.grad is None


def test_detach() -> None:
    x = tg.ones(2, requires_grad=True)
    y = x * 2
    d = y.detach()
    assert d.is_leaf and not d.requires_grad and d.data_ptr() == y.data_ptr()
    assert y.detach_() is y and y.is_leaf and not y.requires_grad


def test_data() -> None:
    x = tg.ones(2, requires_grad=True)
    d = x.data
    assert not d.requires_grad and d.data_ptr() == x.data_ptr()
    d.add_(1)
    assert x._version == 0 and d._version == 1 and x.tolist() == [2.0, 2.0]
    other = tg.zeros(3, dtype=tg.float64)
    x.data = other
    assert x.shape == (3,) and x.dtype is tg.float64 and x.data_ptr() == other.data_ptr()
    assert x.requires_grad and x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3
    with pytest.raises(TypeError, match="data has to be a tensor, but got int"):
        x.data = 3
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        x.data = tg.tensor([1, 2])


def test_data_of_a_leaf_that_a_graph_waits_for() -> None:
    x = tg.ones(2, requires_grad=True)
    y = x.sum()
    x.data = tg.zeros(2, dtype=tg.float64)
    y.backward()
    assert x.grad.dtype is tg.float64


def test_name_and_version() -> None:
    x = tg.ones(2)
    assert x.name is None and x._version == 0
    with pytest.raises(AttributeError):
        x.name = "x"
