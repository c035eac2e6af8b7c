"""Copies, pickles and files."""

from __future__ import annotations

import copy
import io
import pickle
from collections import OrderedDict

import pytest

import tengen


def again(value):
    return pickle.loads(pickle.dumps(value))


class Special(tengen.Tensor):
    pass


@pytest.mark.parametrize("name", ["bool", "int16", "bfloat16", "float64", "complex64"])
def test_round_trip(name):
    x = tengen.tensor([[1, 0, 3], [4, 5, 6]], dtype=getattr(tengen, name))
    for y in (x, x.t(), x[1:, ::2], x[0, 0], x[:0]):
        z = again(y)
        assert z.dtype is y.dtype and z.stride() == y.stride() and z.tolist() == y.tolist()
        assert z.storage_offset() == y.storage_offset()


def test_gradients():
    leaf = tengen.tensor([1.0, 2.0], requires_grad=True)
    assert again(leaf).requires_grad and again(leaf).is_leaf
    result = again(leaf * 2)
    assert result.requires_grad and result.is_leaf


def test_views_share_their_storage():
    x = tengen.tensor([1.0, 2.0, 3.0])
    a, b = again((x, x[1:]))
    b[0] = 9
    assert a[1].item() == 9 and a.untyped_storage() is b.untyped_storage()
    assert a._version == b._version == 1


def test_meta():
    x = tengen.zeros(2, 3, device="meta").t()
    y = again(x)
    assert y.is_meta and y.stride() == (1, 3)
    assert copy.deepcopy(x).shape == (3, 2)


def test_attributes_and_subclasses():
    x = tengen.tensor([1.0, 2.0], requires_grad=True)
    x.note = "kept"
    assert again(x).note == "kept" and again(x).requires_grad
    special = again(x.detach().as_subclass(Special))
    assert type(special) is Special and special.tolist() == [1.0, 2.0]


def test_copy_shares_and_deepcopy_does_not():
    x = tengen.tensor([1.0, 2.0], requires_grad=True)
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    assert shallow is not x and shallow.data_ptr() == x.data_ptr() and shallow.requires_grad
    assert deep.data_ptr() != x.data_ptr() and deep.requires_grad and deep.tolist() == [1.0, 2.0]


def test_deepcopy_keeps_structure():
    x = tengen.tensor([1.0, 2.0])
    x.friends = [x]
    first, view, same = copy.deepcopy((x, x[1:], x))
    assert first is same and first.friends[0] is first
    view[0] = 5
    assert first[1].item() == 5 and x[1].item() == 2


def test_deepcopy_of_gradients():
    x = tengen.tensor([1.0, 2.0], requires_grad=True)
    x.grad = tengen.tensor([3.0, 4.0])
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [3.0, 4.0] and y.grad is not x.grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_files(tmp_path):
    state = OrderedDict(weight=tengen.tensor([[1.0]], requires_grad=True), count=3, names=["a"])
    path = tmp_path / "state.pt"
    tengen.save(state, path)
    found = tengen.load(path)
    assert list(found) == ["weight", "count", "names"] and found["weight"].tolist() == [[1.0]]
    assert tengen.load(path, map_location="meta")["weight"].is_meta
    with open(path, "rb") as file:
        assert tengen.load(file)["count"] == 3


def test_weights_only_builds_nothing_else():
    buffer = io.BytesIO()
    tengen.save({"f": print}, buffer)
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"builtins.print, which is not allowed"):
        tengen.load(buffer)
    buffer.seek(0)
    assert tengen.load(buffer, weights_only=False)["f"] is print
