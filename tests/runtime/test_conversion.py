"""Tensors as Python numbers, NumPy arrays and DLPack capsules, and as containers."""

from __future__ import annotations

import math
import operator
from types import ModuleType

import numpy as np
import pytest

import tengen
from tengen.utils.dlpack import to_dlpack


def test_item_and_tolist():
    assert tengen.tensor([[5]]).item() == 5
    assert tengen.tensor(2.5, dtype=tengen.bfloat16).item() == 2.5
    assert type(tengen.tensor(True).item()) is bool
    assert tengen.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert tengen.tensor(3).tolist() == 3
    with pytest.raises(RuntimeError, match="a Tensor with 0 elements cannot be converted to Scalar"):
        tengen.tensor([]).item()
    meta = tengen.tensor(1.0, device="meta")
    with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
        meta.item()
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        meta.tolist()


CONVERSIONS = {
    "item": (lambda t: t.item(), RuntimeError, "a Tensor with {n} elements cannot be converted to Scalar"),
    "bool": (bool, RuntimeError, "Boolean value of Tensor with {many} is ambiguous"),
    "is_nonzero": (
        lambda t: t.is_nonzero(),
        RuntimeError,
        "Boolean value of Tensor with {many} is ambiguous",
    ),
    "int": (int, ValueError, "only one element tensors can be converted to Python scalars"),
    "float": (float, ValueError, "only one element tensors can be converted to Python scalars"),
    "complex": (complex, ValueError, "only one element tensors can be converted to Python scalars"),
    "index": (operator.index, TypeError, "only integer tensors of a single element can be converted"),
}


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1), (0,), (2, 0), (2,), (1, 2), (2, 2)], ids=str)
def test_one_element_is_a_number(name, shape):
    """Whatever the number of dimensions; none and several are errors."""
    convert, error, text = CONVERSIONS[name]
    x = tengen.full(shape, 3, dtype=tengen.int64)
    if x.numel() == 1:
        assert convert(x) == (True if name in ("bool", "is_nonzero") else 3)
        return
    many = "more than one value" if x.numel() else "no values"
    with pytest.raises(error, match=text.format(n=x.numel(), many=many)):
        convert(x)


def test_truth():
    assert tengen.tensor(0.5) and not tengen.tensor([[0]]) and tengen.tensor(math.nan)
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(tengen.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
        tengen.tensor([]).is_nonzero()


def test_numbers():
    assert float(tengen.tensor([1.5])) == 1.5
    assert int(tengen.tensor(1.7)) == 1
    assert complex(tengen.tensor(1)) == 1
    assert float(tengen.tensor(2 + 0j)) == 2.0
    assert math.floor(tengen.tensor(1.6)) == 1
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        float(tengen.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        float(tengen.tensor(1j))
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        int(tengen.tensor(math.nan))
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        float(tengen.tensor(1.0, requires_grad=True))


def test_index():
    assert operator.index(tengen.tensor([3])) == 3
    assert [1, 2, 3][tengen.tensor(1)] == 2
    assert range(5)[tengen.tensor(True)] == 1
    for wrong in (tengen.tensor(3.0), tengen.tensor([3, 4])):
        with pytest.raises(TypeError, match="only integer tensors of a single element"):
            operator.index(wrong)


def test_format():
    assert f"{tengen.tensor(1.5):.3f}" == "1.500"
    assert f"{tengen.tensor([1.5])}" == "tensor([1.5000])"
    assert f"{tengen.tensor(1.0, device='meta')}" == "tensor(..., device='meta', size=())"
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
        f"{tengen.tensor([1.5]):.3f}"


def test_container():
    x = tengen.tensor([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert [row.tolist() for row in reversed(x)] == [[3, 4], [1, 2]]
    assert 3 in x and tengen.tensor(3) in x and 7 not in x
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(x[0, 0])
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(x[0, 0])
    with pytest.raises(
        RuntimeError, match=r"only supports Tensor or scalar, but you passed in a <class 'str'>"
    ):
        "a" in x  # noqa: B015


def test_identity():
    x = tengen.tensor([1, 2])
    assert {x: "x"}[x] == "x" and len({x, tengen.tensor([1, 2])}) == 2
    x.mark = 1
    assert "mark" in dir(x) and "reshape" in dir(x)


def test_numpy_shares():
    x = tengen.tensor([1.0, 2.0])
    view = x.numpy()
    view[0] = 7
    assert x[0].item() == 7
    view.shape = (2, 1)
    assert x.shape == (2,)
    assert np.shares_memory(np.asarray(x), view)
    assert np.asarray(x, dtype=np.int32).dtype == np.int32
    assert not np.shares_memory(np.array(x, copy=True), view)
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype=np.int32, copy=False)
    assert np.array([tengen.tensor([1, 2]), tengen.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_numpy_of_what_requires_grad():
    x = tengen.tensor([1.0], requires_grad=True)
    message = r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead."
    with pytest.raises(RuntimeError, match=message):
        x.numpy()
    with pytest.raises(RuntimeError, match=message):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == x.detach().numpy().tolist() == [1.0]
    for mode in (tengen.no_grad(), tengen.inference_mode()):
        with mode:  # nothing is recorded that would miss what is done to the array
            assert x.numpy().tolist() == np.asarray(x).tolist() == [1.0]


def test_numpy_of_meta():
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        tengen.tensor([1.0], device="meta").numpy()


def test_numpy_functions_give_tensors():
    x = tengen.tensor([0.0, 1.0])
    assert isinstance(np.sin(x), tengen.Tensor) and np.sin(x).dtype is tengen.float32
    assert np.add(x, np.ones(2)).dtype is tengen.float64
    assert isinstance(np.less(x, 1), tengen.Tensor)
    assert np.sin(tengen.tensor(1.0)).shape == ()


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_dlpack_round_trip(name):
    x = tengen.tensor([[1, 0, 3], [4, 5, 6]], dtype=getattr(tengen, name))[:, ::2]
    y = tengen.from_dlpack(x)
    assert y.dtype is x.dtype and y.stride() == x.stride() and y.storage_offset() == 0
    y[0, 0] = 0
    assert x[0, 0].item() == 0
    assert tengen.from_dlpack(to_dlpack(x)).tolist() == x.tolist()


def test_dlpack_with_numpy():
    x = tengen.tensor([1, 2])
    assert np.shares_memory(np.from_dlpack(x), x.numpy())
    source = np.arange(4)
    tengen.from_dlpack(source)[0] = 9
    assert source[0] == 9
    assert x.__dlpack_device__() == (1, 0)


def test_dlpack_errors():
    x = tengen.tensor([1.0], requires_grad=True)
    with pytest.raises(BufferError, match=r"require gradient, use tensor.detach\(\)"):
        x.__dlpack__()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        x.detach().__dlpack__(stream=1)
    with pytest.raises(ValueError, match="Unknown device type meta for Dlpack"):
        tengen.from_dlpack(tengen.tensor([1.0], device="meta"))
    with pytest.raises(RuntimeError, match="invalid capsule"):
        tengen.from_dlpack(3)
    capsule = to_dlpack(x)
    tengen.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        tengen.from_dlpack(capsule)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["bool", "int16", "bfloat16", "float64", "complex128"])
def test_dlpack_with_torch(name):
    torch = pytest.importorskip("torch")
    theirs = torch.tensor([1, 0, 3], dtype=getattr(torch, name))
    ours = tengen.from_dlpack(theirs)
    assert ours.dtype is getattr(tengen, name) and ours.tolist() == theirs.tolist()
    ours[0] = 0
    assert theirs[0].item() == 0
    back = torch.from_dlpack(ours[1:])
    assert back.dtype is theirs.dtype and back.data_ptr() == theirs[1:].data_ptr()


@pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64", "int8", "int64", "bool"])
def test_integers_of_every_dtype_are_indices(name):
    assert "abc"[tengen.tensor(1, dtype=getattr(tengen, name))] == "b"


REFUSED_BY_NUMPY = {
    "requires grad": (lambda m: m.ones(2, requires_grad=True), RuntimeError, None),
    "meta": (lambda m: m.ones(2, device="meta"), TypeError, NotImplementedError),
    "meta that requires grad": (
        lambda m: m.ones(2, device="meta", requires_grad=True),
        TypeError,
        NotImplementedError,
    ),
    "sparse": (lambda m: m.ones(2).to_sparse(), TypeError, TypeError),
    "sparse that requires grad": (lambda m: m.ones(2).to_sparse().requires_grad_(), TypeError, TypeError),
    "compressed": (lambda m: m.ones(2, 2).to_sparse_csr(), TypeError, TypeError),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("name", REFUSED_BY_NUMPY)
def test_numpy_by_force(m: ModuleType, name: str) -> None:
    """What keeps the memory from NumPy is said before what the history does; force is about the latter."""
    make, plain, forced = REFUSED_BY_NUMPY[name]
    with pytest.raises(plain):
        make(m).numpy()
    if forced is None:
        assert make(m).numpy(force=True).tolist() == [1.0, 1.0]
    else:
        with pytest.raises(forced):
            make(m).numpy(force=True)
    for no_bool in (1, None, "True"):
        with pytest.raises(TypeError, match="argument 'force'"):
            make(m).numpy(force=no_bool)


def test_capsules_are_arrays(m: ModuleType) -> None:
    x = m.arange(3.0)
    shared = m.asarray(x.__dlpack__())
    shared[0] = 5.0
    assert x.tolist() == [5.0, 1.0, 2.0] and shared.dtype is m.float32
    assert m.asarray(x.__dlpack__(), dtype=m.float64).tolist() == [5.0, 1.0, 2.0]
    copy = m.asarray(x.__dlpack__(), copy=True, requires_grad=True)
    assert copy.requires_grad and copy.data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="alias"):
        m.asarray(x.__dlpack__(), dtype=m.float64, copy=False)


def test_the_legacy_constructor_with_a_device(m: ModuleType) -> None:
    assert m.Tensor(1, device="cpu").shape == (1,)
    assert m.Tensor([1, 2], device="cpu").tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="not supported"):
        m.Tensor(m.ones(2), device="cpu")
    with pytest.raises(RuntimeError, match="legacy constructor expects device type"):
        m.Tensor(1, device="meta")
