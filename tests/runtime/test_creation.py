"""Tensors from data: inference, conversion, sharing, errors."""

from __future__ import annotations

import array
import os
import random
import warnings

import numpy as np
import pytest

import tengen


class Sequence:
    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index > 1:
            raise IndexError
        return index + 0.5


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


class Float:
    def __float__(self):
        return 2.5


def looped():
    endless = [1]
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, tengen.int64, ()),
        (True, tengen.bool, ()),
        (1.5, tengen.float32, ()),
        (1j, tengen.complex64, ()),
        ([], tengen.float32, (0,)),
        ([[], []], tengen.float32, (2, 0)),
        ([True, 2], tengen.int64, (2,)),
        ([1, 2.5], tengen.float32, (2,)),
        ([[1, 2], (3, 4j)], tengen.complex64, (2, 2)),
        (range(3), tengen.int64, (3,)),
        ([range(2)] * 3, tengen.int64, (3, 2)),
        (np.float64(1), tengen.float64, ()),
        ([np.float64(1), 2.5], tengen.float64, (2,)),
        ([np.int8(1), np.int8(2)], tengen.int8, (2,)),
        ([np.int8(1), 2], tengen.int64, (2,)),
        ([tengen.tensor(1.0), tengen.tensor(2)], tengen.float32, (2,)),
        ([tengen.tensor([1.0]), tengen.tensor([[2]])], tengen.float32, (2,)),
        ([np.array([1, 2]), [3, 4]], tengen.int64, (2, 2)),
        (np.zeros((2, 3), np.int16), tengen.int16, (2, 3)),
        (bytearray(b"ab"), tengen.int64, (2,)),
        (array.array("d", [1, 2]), tengen.float32, (2,)),
        (Sequence(), tengen.float32, (2,)),
        (ArrayLike(), tengen.float64, (3,)),
        ([2**64, 1.5], tengen.float32, (2,)),
    ],
)
@pytest.mark.filterwarnings("ignore:A tensor is made from a list")
def test_inference(data, dtype, shape):
    made = tengen.tensor(data)
    assert made.dtype is dtype
    assert made.shape == shape


@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        ([3.7, -3.7], tengen.int32, [3, -3]),
        (-1, tengen.uint8, 255),
        ([-255], tengen.uint8, [1]),
        ([2, 0.0, float("nan")], tengen.bool, [True, False, True]),
        ([[], [1]], tengen.int8, [[], []]),
        (1j, tengen.bool, True),
        (1e39, tengen.float32, float("inf")),
        ([1e39], tengen.bfloat16, [float("inf")]),
        (1, tengen.complex64, 1 + 0j),
        ([Float()], tengen.float32, [2.5]),
        ([tengen.tensor(3)], tengen.float64, [3.0]),
        (2**63, tengen.float32, 2.0**63),
        ([1], float, [1.0]),
    ],
)
def test_conversion(data, dtype, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tengen.tensor(data, dtype=dtype).tolist() == expected


@pytest.mark.parametrize(
    ("data", "dtype", "error", "message"),
    [
        ([[1, 2], [3]], None, ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
        ([[1], [2, 3]], None, ValueError, r"expected sequence of length 1 at dim 1 \(got 2\)"),
        ([[1, 2], 3], None, TypeError, "not a sequence"),
        ([1, [2, 3]], None, TypeError, "'list' object cannot be interpreted as an integer"),
        (["a"], None, ValueError, "too many dimensions 'str'"),
        ([1, "a"], None, TypeError, r"new\(\): invalid data type 'str'"),
        ("a", None, TypeError, r"new\(\): invalid data type 'str'"),
        (np.str_("a"), None, TypeError, r"new\(\): invalid data type 'numpy.str_'"),
        (None, None, RuntimeError, "Could not infer dtype of NoneType"),
        ({1: 2}, None, RuntimeError, "Could not infer dtype of dict"),
        (looped(), None, TypeError, "self-referential lists"),
        (2**63, None, ValueError, "Overflow when unpacking long long"),
        ([2**63], tengen.uint8, ValueError, "Overflow when unpacking long long"),
        (10**400, tengen.float32, OverflowError, "int too large"),
        ([300], tengen.uint8, RuntimeError, "value cannot be converted to type uint8 without overflow"),
        ([-256], tengen.uint8, RuntimeError, "without overflow"),
        ([-1.0], tengen.uint8, RuntimeError, "without overflow"),
        (np.float32(1), tengen.int8, TypeError, "'numpy.float32' object cannot be interpreted as an integer"),
        ([float("nan")], tengen.int64, RuntimeError, "type int64 without overflow"),
        (1j, tengen.float32, TypeError, "must be real number, not complex"),
        ([1j], tengen.int32, TypeError, "'complex' object cannot be interpreted as an integer"),
        ([None], tengen.float32, TypeError, "must be real number, not NoneType"),
        ([np.array(1)], None, TypeError, "unsized object"),
        ([tengen.tensor([1.0, 2.0])] * 2, None, ValueError, "only one element tensors can be converted"),
        ([tengen.tensor(1.5)], tengen.int64, TypeError, "only integer tensors of a single element"),
        (np.zeros(2, object), None, TypeError, "can't convert np.ndarray of type numpy.object_"),
        (np.zeros(2, ">f4"), None, ValueError, "byte order different"),
        (np.zeros(4)[::-1], None, ValueError, "At least one stride in the given numpy array is negative"),
        ([1], "float32", TypeError, r"tensor\(\): argument 'dtype' must be tengen.dtype, not str"),
    ],
)
def test_errors(data, dtype, error, message):
    with pytest.raises(error, match=message):
        tengen.tensor(data, dtype=dtype)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8"])
def test_bounds_of_integers(name):
    """The least and the greatest fit, whether numbers stand alone, in lists or beside tensors."""
    dtype, info = getattr(tengen, name), np.iinfo(name)
    least = info.min if info.min else -info.max  # which wraps, as in PyTorch
    for number, expected in ((least, info.min or 1), (info.max, info.max)):
        beside = tengen.tensor(number)
        for data in (number, [0, number], [[number], [0]], [np.int64(number)], [beside, 0], (number,) * 3):
            assert expected in np.ravel(tengen.tensor(data, dtype=dtype).tolist())
    for number in (least - 1, info.max + 1):
        for data in (number, [0, number], [[number], [0]], [tengen.tensor(0), number]):
            with pytest.raises((RuntimeError, ValueError), match=r"without overflow|Overflow when unpacking"):
                tengen.tensor(data, dtype=dtype)


def test_tensor_copies():
    source = np.zeros((3, 4), order="F")
    made = tengen.tensor(source)
    source[0, 0] = 1
    assert made[0, 0].item() == 0 and made.stride() == (1, 3)
    assert tengen.tensor(np.broadcast_to(np.zeros((1, 4)), (3, 4))).stride() == (4, 1)
    with pytest.warns(UserWarning, match="recommended to use sourceTensor"):
        again = tengen.tensor(made)
    assert again.data_ptr() != made.data_ptr()


def test_options():
    assert tengen.tensor([1.0], requires_grad=True).requires_grad
    meta = tengen.tensor([[1, 2]], device="meta")
    assert meta.is_meta and meta.shape == (1, 2) and meta.dtype is tengen.int64
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        tengen.tensor([1], requires_grad=True)
    with pytest.raises(TypeError, match="argument 'requires_grad' must be bool, not int"):
        tengen.tensor([1.0], requires_grad=1)
    with pytest.raises(RuntimeError, match="pin_memory"):
        tengen.tensor([1.0], pin_memory=True)


def test_from_numpy_shares():
    source = np.arange(6.0).reshape(2, 3)
    made = tengen.from_numpy(source)
    source[1, 1] = 40
    made[0, 0] = -1
    assert made[1, 1].item() == 40 and source[0, 0] == -1
    source.shape = (6,)  # the tensor's shape is its own
    assert made.shape == (2, 3)


def test_storage_of_a_slice_is_the_slice():
    source = np.arange(20)
    made = tengen.from_numpy(source[2:8:2])
    assert made.tolist() == [2, 4, 6] and made.stride() == (2,)
    assert made.storage_offset() == 0 and made.untyped_storage().nbytes() == 40
    made[1] = 0
    assert source[4] == 0


def test_from_numpy_errors():
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        tengen.from_numpy([1])
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got numpy.float32\)"):
        tengen.from_numpy(np.float32(1))
    fields = np.zeros(2, [("a", "f4"), ("b", "i2")])
    with pytest.raises(ValueError, match="strides not a multiple of the element byte size"):
        tengen.from_numpy(fields["a"])
    with pytest.warns(UserWarning, match="not writable"):
        tengen.from_numpy(np.broadcast_to(np.zeros(1), (3,)))


def test_as_tensor():
    made = tengen.tensor([1, 2])
    assert tengen.as_tensor(made) is made
    assert tengen.as_tensor(made, dtype=tengen.int64) is made
    assert tengen.as_tensor(made, dtype=tengen.float32).tolist() == [1.0, 2.0]
    source = np.zeros(3)
    tengen.as_tensor(source)[0] = 5
    assert source[0] == 5
    assert tengen.as_tensor(source, dtype=tengen.float32).dtype is tengen.float32
    assert tengen.as_tensor(5).shape == ()
    assert tengen.as_tensor(made, device="meta").is_meta


def test_asarray():
    made, source = tengen.tensor([1.0]), np.zeros(2)
    assert tengen.asarray(made) is made
    assert tengen.asarray(made, copy=True) is not made
    assert tengen.asarray(source, copy=True).data_ptr() != source.ctypes.data
    assert tengen.asarray(source, copy=False).data_ptr() == source.ctypes.data
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Double' into dtype 'Float'"):
        tengen.asarray(source, dtype=tengen.float32, copy=False)
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        tengen.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="can't alias tensor from device 'cpu' to 'meta'"):
        tengen.asarray(made, device="meta", copy=False)
    leaf = tengen.tensor([1.0], requires_grad=True)
    assert tengen.asarray(leaf).requires_grad
    assert not tengen.asarray(leaf * 2, requires_grad=False).requires_grad
    assert tengen.asarray([1.0], requires_grad=True).requires_grad
    assert tengen.asarray(bytearray(b"abcd"), dtype=tengen.uint8).tolist() == [97, 98, 99, 100]


def test_frombuffer():
    memory = bytearray(b"\x01\x00\x00\x00\x02\x00\x00\x00")
    made = tengen.frombuffer(memory, dtype=tengen.int32)
    memory[0] = 9
    assert made.tolist() == [9, 2]
    assert tengen.frombuffer(memory, dtype=tengen.int32, offset=4).tolist() == [2]
    assert tengen.frombuffer(memory, dtype=tengen.int8, count=2, offset=4).tolist() == [2, 0]
    assert tengen.frombuffer(memory, dtype=tengen.float32, requires_grad=True).requires_grad
    with pytest.warns(UserWarning, match="buffer is not writable"):
        tengen.frombuffer(b"abcd", dtype=tengen.int32)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, r"both buffer length \(0\) and count \(-1\) must not be 0"),
        (bytearray(8), {"count": 0}, r"both buffer length \(8\) and count \(0\) must not be 0"),
        (bytearray(8), {"offset": 8}, r"offset \(8 bytes\) must be non-negative and no greater"),
        (bytearray(8), {"offset": -1}, r"offset \(-1 bytes\) must be non-negative"),
        (bytearray(7), {}, "must be a multiple of element size"),
        (bytearray(8), {"count": 5}, "must not be greater than actual buffer length"),
        (3, {}, "does not implement Python buffer protocol"),
    ],
)
def test_frombuffer_errors(content, options, message):
    with pytest.raises(ValueError, match=message):
        tengen.frombuffer(content, dtype=tengen.int32, **options)


@pytest.mark.parametrize("dtype", ["int32", "bool", None])
def test_from_file(m, tmp_path, dtype):
    path, options = str(tmp_path / "numbers"), {} if dtype is None else {"dtype": getattr(m, dtype)}
    written = m.from_file(path, shared=True, size=6, **options)
    assert os.path.getsize(path) == 6 * written.element_size()
    assert written.dtype is options.get("dtype", m.get_default_dtype())
    assert written.tolist() == [0] * 6
    written.copy_(m.arange(6))
    read = m.from_file(path, size=4, **options)
    assert read.tolist() == m.arange(4).to(read.dtype).tolist()
    read.zero_()
    assert m.from_file(path, False, 6, **options).tolist() == written.tolist()
    longer = m.from_file(path, True, 8, **options)
    assert longer[:6].tolist() == written.tolist() and not longer[6:].any()
    assert m.from_file(path, size=0, **options).shape == (0,)


def test_from_file_errors(m, tmp_path):
    path = str(tmp_path / "numbers")
    with pytest.raises(RuntimeError, match=r"unable to open file <.*numbers> in read-only mode"):
        m.from_file(path, size=2)
    m.from_file(path, True, 2)
    with pytest.raises(RuntimeError, match=r"size <8> is smaller than the required mapping size <12>"):
        m.from_file(path, False, 3)
    for wrong in ({"filename": 3}, {"size": 1.5}, {"shared": "no"}, {"requires_grad": 1}):
        with pytest.raises(TypeError, match=rf"from_file\(\): argument '{next(iter(wrong))}'"):
            m.from_file(**{"filename": path, "size": 1, **wrong})
    with pytest.raises(RuntimeError):  # torch: NotImplementedError, which is one
        m.from_file(path, size=1, device="meta")
    assert m.from_file(path, size=2, dtype=m.float32, requires_grad=True).requires_grad


def test_new_tensor():
    like = tengen.tensor([1], dtype=tengen.int16)
    assert like.new_tensor([1.5]).dtype is tengen.int16
    assert like.new_tensor(np.zeros(2)).dtype is tengen.int16
    assert like.new_tensor([1], dtype=tengen.float64, requires_grad=True).requires_grad
    assert like.new_tensor([1], device="meta").is_meta


def test_legacy_constructor():
    assert tengen.Tensor(2, 3).shape == (2, 3)
    assert tengen.Tensor(tengen.Size([2, 3])).shape == (2, 3)
    assert tengen.Tensor().shape == (0,)
    assert tengen.Tensor([1, 2]).dtype is tengen.float32
    assert tengen.Tensor((2, 3)).tolist() == [2.0, 3.0]
    source = tengen.tensor([1, 2])
    assert tengen.Tensor(source).data_ptr() == source.data_ptr()
    assert tengen.Tensor(tengen.tensor([1.0, 2.0]).untyped_storage()).tolist() == [1.0, 2.0]
    for wrong, error in ((2.5, TypeError), ("a", TypeError), (None, TypeError), (-1, RuntimeError)):
        with pytest.raises(error):
            tengen.Tensor(wrong)
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu"):
        tengen.Tensor(2, device="meta")


def test_large_lists_are_not_slow_to_fail():
    with pytest.raises(ValueError, match="expected sequence of length 3"):
        tengen.tensor([[1, 2, 3]] * 1000 + [[1, 2]])


LEAVES = {
    "int": lambda lib, v: int(v),
    "float": lambda lib, v: float(v),
    "bool": lambda lib, v: bool(v),
    "complex": lambda lib, v: complex(v, 1),
    "tensor": lambda lib, v: lib.tensor(v),
    "1-d tensor": lambda lib, v: lib.tensor([v]),
    "float32": lambda lib, v: np.float32(v),
    "float64": lambda lib, v: np.float64(v),
    "int16": lambda lib, v: np.int16(int(v) % 100),
    "bool_": lambda lib, v: np.bool_(v),
    "array": lambda lib, v: np.array([v, v]),
    "none": lambda lib, v: None,
    "str": lambda lib, v: "x",
    "big": lambda lib, v: 2**70,
    "nan": lambda lib, v: float("nan"),
}
WEIGHTS = (20, 20, 8, 4, 6, 2, 4, 4, 4, 3, 1, 0.4, 0.4, 0.5, 2)


def plan(rng, depth):
    """Nested tuples of (kind of leaf, value), often ragged or mixed."""
    if depth == 0 or rng.random() < 0.05:
        return rng.choices(list(LEAVES), WEIGHTS)[0], rng.choice([0, 1, 2.5, -3, 200, 300, -0.5, 1e10])
    size, mixed = rng.choice([0, 1, 2, 2, 3]), rng.random() < 0.4
    items = [plan(rng, depth - 1) for _ in range(size)]
    if depth == 1 and not mixed and items and isinstance(items[0], tuple):
        items = [(items[0][0], item[1]) for item in items]
    return items


def build(lib, planned):
    if isinstance(planned, tuple):
        return LEAVES[planned[0]](lib, planned[1])
    return [build(lib, item) for item in planned]


def outcome(lib, planned, dtype):
    try:
        made = lib.tensor(build(lib, planned), dtype=dtype and getattr(lib, dtype))
    except Exception as error:
        return type(error).__name__, str(error).replace("torch", "tengen")
    return str(made.dtype).partition(".")[2], tuple(made.shape), repr(made.tolist())


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_nested_data_as_torch():
    torch = pytest.importorskip("torch")
    rng = random.Random(3)
    dtypes = ["float32", "int64", "uint8", "bool", "complex64", "float16", "bfloat16", "int8", None, None]
    for _ in range(3000):
        planned, dtype = plan(rng, rng.choice([0, 1, 1, 2, 2, 3])), rng.choice(dtypes)
        assert outcome(tengen, planned, dtype) == outcome(torch, planned, dtype), (planned, dtype)


FACTORIES = {
    "arange": (3,),
    "empty": (3,),
    "eye": (3,),
    "full": ((3,), 2.0),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "normal": (0.0, 1.0, (3,)),
    "ones": (3,),
    "rand": (3,),
    "randint": (0, 4, (3,)),
    "randn": (3,),
    "randperm": (3,),
    "zeros": (3,),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_options_beside_out(name: str) -> None:
    """What is said of the tensor to be made must be so of ``out``."""
    make, arguments = getattr(tengen, name), FACTORIES[name]
    out = tengen.empty(0, dtype=tengen.float64)
    options = {"dtype": tengen.float64, "device": "cpu", "layout": tengen.strided, "pin_memory": False}
    assert make(*arguments, **options, out=out) is out
    assert out.numel() >= 3
    for wrong in ({"dtype": tengen.float32}, {"device": "meta"}):
        with pytest.raises(RuntimeError, match=rf"^{name}: {next(iter(wrong))} .* does not match"):
            make(*arguments, **wrong, out=out)
    with pytest.raises(TypeError):
        make(*arguments, dtype="float64", out=out)
    assert make(*arguments, out=tengen.empty(0, dtype=tengen.float64), requires_grad=True).requires_grad


def test_lists_of_arrays_are_warned_of() -> None:
    """Once, or each time where that is asked for; not of numbers of NumPy."""
    arrays = [np.ones(2), np.ones(2)]
    tengen.set_warn_always(True)
    try:
        for make in (tengen.tensor, tengen.as_tensor, tengen.Tensor, tengen.ones(1).new_tensor):
            with pytest.warns(UserWarning, match=r"list of numpy\.ndarrays, which is extremely slow"):
                assert make(arrays).shape == (2, 2)
    finally:
        tengen.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tengen.tensor(arrays).shape == (2, 2)
        tengen.tensor([np.float32(1), np.float32(2)])


ENDS = ((0, 2), (-1.5, 300))


def spaced_outcome(call):
    """The dtype, shape and elements of a result; the name of an error."""
    try:
        made = call()
    except RuntimeError as error:
        return type(error).__name__
    return str(made.dtype).split(".")[-1], tuple(made.shape), made.tolist()


def spaced(m, name, dtype):
    """Results of few steps: in a dtype, by ``out`` of it, from 0-d tensors of it."""
    make, dtype = getattr(m, name), getattr(m, dtype)
    found = [spaced_outcome(lambda e=e, n=n: make(*e, n, dtype=dtype)) for e in ENDS for n in (0, 1, 2)]
    for n in (0, 1):
        for size in (n, 3, ()):
            found.append(spaced_outcome(lambda n=n, s=size: make(0, 2, n, out=m.zeros(s, dtype=dtype))))
        for to in (m.bool, m.int64):
            found.append(spaced_outcome(lambda n=n, to=to: make(m.tensor(1, dtype=dtype), 2, n, dtype=to)))
    return found


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_few_steps_as_in_torch(name, dtype):
    import torch

    for ours, theirs in zip(spaced(tengen, name, dtype), spaced(torch, name, dtype), strict=True):
        if (
            not isinstance(ours, str) and name == "logspace" and ours[2]
        ):  # torch's powers are rounded otherwise
            assert ours[:2] == theirs[:2]
            assert np.allclose(ours[2], theirs[2], rtol=1e-3, equal_nan=True)
        else:
            assert ours == theirs
