"""Indexing and assignment, case by case: what each kind of index means, and what is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen import tensor
from tengen.tensors.indexing import _apply


@pytest.fixture
def x() -> Any:
    return tengen.arange(24.0).reshape(2, 3, 4).clone()


def values(t: Any) -> Any:
    return t.detach().numpy()


VIEWS = [
    np.index_exp[1],
    np.index_exp[-1],
    np.index_exp[1, 2],
    np.index_exp[1, 2, 3],
    np.index_exp[:],
    np.index_exp[1:],
    np.index_exp[:, 1:3],
    np.index_exp[:, ::2, 1:],
    np.index_exp[..., 0],
    np.index_exp[0, ...],
    np.index_exp[...],
    np.index_exp[0, ..., 1],
    np.index_exp[None],
    np.index_exp[:, None],
    np.index_exp[..., None],
    np.index_exp[0, None, :, None, 1],
    np.index_exp[5:],
    np.index_exp[2:1],
    np.index_exp[-9:9],
    (),
]

COPIES = [
    np.index_exp[[0, 1]],
    np.index_exp[[]],
    np.index_exp[[1, 0, 1], 2],
    np.index_exp[:, [0, 2]],
    np.index_exp[:, [0, 2], [1, 3]],
    np.index_exp[[0, 1], :, [1, 3]],
    np.index_exp[[0, 1], ..., 0],
    np.index_exp[[[0, 1], [1, 0]], 1:],
    np.index_exp[[[0], [1]], [[0, 2]]],
    np.index_exp[[0, 1], None, [0, 1]],
    np.index_exp[[True, False]],
    np.index_exp[:, [True, False, True]],
    np.index_exp[:, [True, False, True], 0],
    np.index_exp[np.array([[True, False, True], [False, False, True]])],
    np.index_exp[np.array([[True, False, True], [False, False, True]]), 1],
    np.index_exp[True],
    np.index_exp[False],
]


@pytest.mark.parametrize("index", VIEWS, ids=str)
def test_views(x: Any, index: Any) -> None:
    y = x[index]
    expected = values(x)[index].copy()
    np.testing.assert_array_equal(values(y), expected)
    assert y._is_view() and y._base is x
    x.mul_(2)
    np.testing.assert_array_equal(values(y), 2 * expected)


@pytest.mark.parametrize("index", COPIES, ids=str)
def test_copies(x: Any, index: Any) -> None:
    y = x[index]
    np.testing.assert_array_equal(values(y), values(x)[index])
    assert not y._is_view()


@pytest.mark.parametrize("index", VIEWS + COPIES, ids=str)
def test_assignment_of_a_number(x: Any, index: Any) -> None:
    expected = values(x).copy()
    expected[index] = -1
    x[index] = -1
    np.testing.assert_array_equal(values(x), expected)


@pytest.mark.parametrize("index", VIEWS + COPIES, ids=str)
def test_history(index: Any) -> None:
    """The gradient goes to where the elements came from, and a write takes it away there."""
    leaf = tengen.arange(24.0).reshape(2, 3, 4).clone().requires_grad_()
    y = leaf[index]
    (grad,) = tengen.autograd.grad([y], [leaf], [tengen.ones_like(y)])
    expected = np.zeros((2, 3, 4))
    np.add.at(expected, index, 1)
    np.testing.assert_array_equal(values(grad), expected)
    z = leaf * 1
    written = tengen.ones(y.shape).requires_grad_()
    z[index] = written
    grads = tengen.autograd.grad([z * z], [leaf, written], [tengen.ones_like(z)], allow_unused=True)
    np.testing.assert_array_equal(values(grads[0]), np.where(expected > 0, 0, 2 * values(leaf)))
    if grads[1] is not None and (expected <= 1).all():
        np.testing.assert_array_equal(values(grads[1]), 2 * np.ones(y.shape))


def test_tensors_that_are_numbers(x: Any) -> None:
    for index in (
        tensor(1),
        tensor(1, dtype=tengen.int32),
        tensor(1, dtype=tengen.int8),
        np.int64(1),
        np.array(1),
    ):
        y = x[index]
        assert y._is_view() and y.shape == (3, 4)
        np.testing.assert_array_equal(values(y), values(x)[1])
    assert x[tensor(0) : tensor(1)].shape == (1, 3, 4)
    assert x[np.int64(0) :: np.int32(2)].shape == (1, 3, 4)
    assert x[tensor(True)].shape == (1, 2, 3, 4)
    assert x[0, tensor(False)].shape == (0, 3, 4)


def test_index_tensors(x: Any) -> None:
    np.testing.assert_array_equal(values(x[tensor([1, 0])]), values(x)[[1, 0]])
    np.testing.assert_array_equal(values(x[tensor([1], dtype=tengen.int32)]), values(x)[[1]])
    np.testing.assert_array_equal(values(x[x > 3]), values(x)[values(x) > 3])
    np.testing.assert_array_equal(values(x[:, tensor([True, False, True])]), values(x)[:, [0, 2]])
    np.testing.assert_array_equal(values(x[range(2)]), values(x))


def test_numbers_are_taken_first(x: Any) -> None:
    """To NumPy a number among lists is a list too; here it makes a view before the lists are looked at."""
    np.testing.assert_array_equal(values(x[0, :, [1, 2]]), values(x)[0][:, [1, 2]])
    np.testing.assert_array_equal(values(x[[0, 1], :, 2]), values(x)[..., 2][[0, 1]])
    np.testing.assert_array_equal(values(x[:, 0, [1, 2]]), values(x)[:, 0][:, [1, 2]])


def test_lists_that_stand_for_tuples(x: Any) -> None:
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[slice(0, 1), 0]].shape == (1, 4)
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[[0, 1], [1, 0]]].shape == (2, 4)
    assert x[[0] * 40].shape == (40, 3, 4)


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, -4), IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        ((0, np.ones((3, 4, 1), bool)), IndexError, "too many indices for tensor of dimension 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        (slice(0.5, 1), TypeError, "slice indices must be integers"),
        (slice("a", 1), TypeError, "slice indices must be integers"),
        (1.0, IndexError, r"only integers, slices .* are valid indices \(got float\)"),
        (1j, IndexError, r"got complex"),
        ({}, IndexError, r"got dict"),
        (np.float32(1), IndexError, r"got numpy.float32"),
        ("a", TypeError, "invalid data type 'str'"),
        ([5], IndexError, "out of bounds"),
        ([True], IndexError, "shape of the mask"),
        (([0, 1], [0, 1, 2]), IndexError, "could not be broadcast"),
    ],
    ids=str,
)
def test_errors(x: Any, index: Any, error: type[Exception], text: str) -> None:
    before = values(x).copy()
    with pytest.raises(error, match=text):
        x[index]
    with pytest.raises(error, match=text):
        x[index] = 1
    np.testing.assert_array_equal(values(x), before)


def test_errors_of_index_tensors(x: Any) -> None:
    for index in (tensor([0.0]), tensor(1.0), tensor([0], dtype=tengen.int16)):
        with pytest.raises(IndexError, match="must be long, int, byte or bool"):
            x[index]
    with pytest.raises(IndexError, match="0-dim tensor"):
        tensor(1.0)[0]
    with pytest.raises(IndexError, match="0-dim tensor"):
        tensor(1.0)[0:1]
    with pytest.raises(TypeError, match="deleting"):
        del x[0]


def test_scalar_tensors() -> None:
    s = tensor(3.0)
    assert s[...]._is_view() and s[()].shape == ()
    assert s[None].shape == (1,) and s[True].shape == (1,) and s[False].shape == (0,)
    s[...] = 4
    s[True] = s * 2
    s[False] = 9
    assert s.item() == 8


def test_assigned_values(x: Any) -> None:
    x[0] = tengen.ones(4)
    x[1] = tengen.zeros(1, 1, 3, 1)
    np.testing.assert_array_equal(values(x), np.repeat([1.0, 0.0], 12).reshape(2, 3, 4))
    x[:, 0] = tensor([1, 2, 3, 4])  # integers become floats
    x[0, 0, 0] = tensor([[7.0]])
    assert values(x)[0, 0].tolist() == [7, 2, 3, 4]
    x[x > 6] = tensor(0.5, dtype=tengen.float64)
    x[[0, 1], 1] = tensor([[1.0], [2.0]])
    assert values(x)[:, 1].tolist() == [[1.0] * 4, [2.0] * 4]
    n = tengen.arange(4)
    n[0], n[1:3], n[n == 3] = 2.9, tensor([5.5, 6.5]), True
    assert n.tolist() == [2, 5, 6, 1]
    for value in (np.int64(3), np.float64(3), True, 3):
        x[0, 0, 0] = value
        assert x[0, 0, 0].item() == (1 if value is True else 3)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([1, 2], TypeError, "can't assign a list to a tengen.FloatTensor"),
        (np.zeros(4), TypeError, "can't assign a numpy.ndarray"),
        (np.float32(1), TypeError, "can't assign a numpy.float32"),
        ("a", TypeError, "can't assign a str"),
        (None, TypeError, "can't assign a NoneType"),
        (1j, RuntimeError, "without overflow"),
        (1e300, RuntimeError, "without overflow"),
        (tengen.zeros(5), RuntimeError, "size|shape"),
        (tengen.zeros(2, 3, 4), RuntimeError, "size|shape"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_values_that_do_not_fit(x: Any, value: Any, error: type[Exception], text: str) -> None:
    before = values(x).copy()
    for index in (0, (0, slice(None)), ([0],)):
        with pytest.raises(error, match=text):
            x[index] = value
    np.testing.assert_array_equal(values(x), before)


def test_overlapping_assignment() -> None:
    x = tengen.arange(5.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] = x[:-1]
    assert x.tolist() == [0, 1, 2, 3, 4]
    y = tengen.zeros(2, 1).expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        y[0] = tengen.arange(3.0)
    y[:, 0] = 1
    assert y.tolist() == [[1.0] * 3] * 2


def test_leaves_cannot_be_written_to() -> None:
    leaf = tengen.zeros(3).requires_grad_()
    for index in (0, slice(1), [0], None, ...):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            leaf[index] = 1
    with tengen.no_grad():
        leaf[0] = 1
    assert leaf.tolist() == [1, 0, 0]


def test_writes_are_counted(x: Any) -> None:
    y = (x.requires_grad_() * 1).exp()
    z = y * y
    with tengen.no_grad():
        y[0, 0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward(tengen.ones_like(z))


def test_meta() -> None:
    x = tengen.empty(2, 3, 4, device="meta")
    for index in VIEWS:
        y = tengen.empty(2, 3, 4)[index]
        m = x[index]
        assert m.shape == y.shape and m.stride() == y.stride()
        assert m.storage_offset() == y.storage_offset() or not y.numel()
    assert x[[0, 1, 1], :, [0]].shape == (3, 3)
    x[0] = 1
    x[0, 1:] = tengen.empty(4, device="meta")
    with pytest.raises(RuntimeError):
        x[0] = tengen.empty(5, device="meta")


def history(node: Any) -> list[str]:
    """The names of Nodes that have one input each."""
    return [node.name(), *(name for before, _ in node.next_functions for name in history(before))]


@pytest.mark.parametrize(
    "index",
    [
        (slice(2, 6), 1),
        (1, slice(None), -1),
        (..., 0),
        (0, ..., slice(1, None, 2)),
        (..., slice(0, 3)),
        (slice(0, 0), 1),
        (slice(-3, None), slice(None, 2), ...),
    ],
    ids=str,
)
def test_recorded_parts_are_those_of_the_general_way(index: tuple[Any, ...]) -> None:
    """The same views, and the same Nodes behind them."""
    x = tengen.arange(192.0).reshape(8, 4, 6).requires_grad_()
    direct = x[index]
    general = _apply(x, index)[0]
    assert direct.shape == general.shape and direct.stride() == general.stride()
    assert direct.storage_offset() == general.storage_offset()
    assert direct.tolist() == general.tolist()
    assert history(direct.grad_fn) == history(general.grad_fn)
    direct.sum().backward()
    expected = tengen.zeros(8, 4, 6)
    expected[index] = 1
    assert x.grad.tolist() == expected.tolist()
