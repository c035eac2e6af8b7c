"""In-place operators that write as they compute: what they share with those that copy."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x.add_(y),
    "add with alpha": lambda x, y: x.add_(y, alpha=0.5),
    "operator": lambda x, y: x.__imul__(y),
    "number": lambda x, y: x.div_(4.0),
    "unary": lambda x, y: x.exp_(),
    "row": lambda x, y: x.sub_(y[0]),
    "clamp": lambda x, y: x.clamp_(min=0.0),
    "fill": lambda x, y: x.fill_(2.0),
    "zero": lambda x, y: x.zero_(),
    "mask": lambda x, y: x.masked_fill_(y > 0, 3.0),
}


def start(m: ModuleType) -> tuple[Any, Any]:
    return m.tensor([[-1.0, 2.0], [0.5, -3.0]]), m.tensor([[1.0, -2.0], [4.0, 0.25]])


@pytest.mark.parametrize("name", list(WRITES))
def test_values_version_and_identity(m: ModuleType, name: str) -> None:
    x, y = start(m)
    alias, before = x.detach(), x._version
    other = {"add": x + y, "row": x - y[0], "unary": x.exp(), "number": x / 4}.get(name)
    assert WRITES[name](x, y) is x
    assert x._version == before + 1 and alias._version == x._version
    assert alias.tolist() == x.tolist()
    if other is not None:
        assert x.tolist() == other.tolist()


@pytest.mark.parametrize("name", list(WRITES))
def test_a_write_to_what_a_node_saved_is_seen(m: ModuleType, name: str) -> None:
    x, y = start(m)
    weight = m.ones(2, 2, requires_grad=True)
    product = weight * x
    with m.no_grad():
        WRITES[name](x, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@pytest.mark.parametrize("name", ["add", "number", "unary", "clamp", "row"])
def test_recorded_writes_have_their_gradients(m: ModuleType, name: str) -> None:
    x, y = start(m)
    x.requires_grad_()
    copy = x * 1
    WRITES[name](copy, y).sum().backward()
    expected = {"add": 1.0, "number": 0.25, "row": 1.0}.get(name)
    if expected is not None:
        assert x.grad.tolist() == [[expected] * 2] * 2
    elif name == "clamp":
        assert x.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    else:
        assert m.allclose(x.grad, x.detach().exp())


def test_a_gradient_flows_to_an_operand_that_alone_requires_it(m: ModuleType) -> None:
    x, y = start(m)
    y.requires_grad_()
    x.mul_(y)
    x.sum().backward()
    assert y.grad.tolist() == [[-1.0, 2.0], [0.5, -3.0]]


def test_leaves_are_refused_unless_nothing_is_recorded(m: ModuleType) -> None:
    x, y = start(m)
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.add_(y)
    view = x[0]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        view.add_(1)
    with m.no_grad():
        x.add_(y)
    assert x.is_leaf and x.tolist() == [[0.0, 0.0], [4.5, -2.75]]


def test_what_does_not_fit_leaves_all_as_it_was(m: ModuleType) -> None:
    x, _ = start(m)
    before, version = x.tolist(), x._version
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(m.ones(3, 2, 2))
    with pytest.raises(RuntimeError):
        x.add_(m.ones(3))
    whole = m.ones(2, 2, dtype=m.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole.mul_(x)
    with pytest.raises(RuntimeError, match="single memory location"):
        m.zeros(1, 2).expand(2, 2).add_(x)
    assert (x.tolist(), x._version, whole.tolist()) == (before, version, [[1, 1], [1, 1]])


def test_operands_that_overlap_are_read_before_they_are_written(m: ModuleType) -> None:
    x, _ = start(m)
    x.add_(x)
    assert x.tolist() == [[-2.0, 4.0], [1.0, -6.0]]
    y = m.arange(4.0).reshape(2, 2)
    y.mul_(y.t().clone())
    assert y.tolist() == [[0.0, 2.0], [2.0, 9.0]]


def test_other_types_are_converted(m: ModuleType) -> None:
    x, _ = start(m)
    x.add_(m.tensor([1, 2]))
    x.mul_(m.tensor(2.0, dtype=m.float64))
    assert x.dtype is m.float32 and x.tolist() == [[0.0, 8.0], [3.0, -2.0]]
    half = m.ones(2, dtype=m.float16)
    half.add_(m.ones(2, dtype=m.float16)).mul_(2)
    assert half.dtype is m.float16 and half.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("number", [1, 2.5])
def test_a_quotient_of_a_number_may_be_written_to(m: ModuleType, number: float) -> None:
    x = m.tensor([2.0, 4.0], requires_grad=True)
    y = number / x
    y += 1
    y.sum().backward()
    assert x.grad.tolist() == [-number / 4, -number / 16]
