"""Scalar types: the objects, the default one, finfo and iinfo."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from dtype_names import PROMOTED

import tengen
from tengen.core.scalar_type import from_array_dtype

NAMES = [
    *PROMOTED,
    "uint16",
    "uint32",
    "uint64",
    "complex32",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "float8_e8m0fnu",
]
#: Of this PyTorch says an eps that is half of what it is: tests/docs/test_differences.py.
OTHER_EPS = "float8_e5m2fnuz"
FLOAT_LIMITS = ["bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny"]


@pytest.fixture
def default_dtype():
    before = tengen.get_default_dtype()
    yield
    tengen.set_default_dtype(before)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_one_object(name):
    found = getattr(tengen, name)
    assert repr(found) == str(found) == f"tengen.{name}"
    assert pickle.loads(pickle.dumps(found)) is found
    assert copy.deepcopy(found) is copy.copy(found) is found
    assert from_array_dtype(found.array_dtype) is found
    assert found.array_dtype.itemsize == found.itemsize


def test_aliases():
    assert tengen.float is tengen.float32
    assert tengen.double is tengen.float64
    assert tengen.half is tengen.float16
    assert tengen.int is tengen.int32
    assert tengen.long is tengen.int64
    assert tengen.short is tengen.int16
    assert tengen.cfloat is tengen.complex64
    assert tengen.cdouble is tengen.complex128


def test_attributes():
    assert tengen.bfloat16.is_floating_point and not tengen.bfloat16.is_complex
    assert not tengen.uint8.is_signed and tengen.int8.is_signed and not tengen.bool.is_signed
    assert tengen.complex64.is_complex and tengen.complex64.is_signed
    assert tengen.complex128.to_real() is tengen.float64
    assert tengen.int32.to_real() is tengen.int32
    assert tengen.float64.to_complex() is tengen.complex128
    assert tengen.bfloat16.to_complex() is tengen.complex64
    assert tengen.float16.to_complex() is tengen.complex32
    assert tengen.float16.opmath is tengen.float32
    assert tengen.int8.opmath is tengen.int8
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Int"):
        tengen.int32.to_complex()


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (tengen.uint8, -1, 255),
        (tengen.int8, 200, -56),
        (tengen.int64, 2**63, -(2**63)),
        (tengen.float32, np.float64(2), 2.0),
        (tengen.float32, True, 1),
        (tengen.bool, 3, True),
        (tengen.complex64, 2, 2 + 0j),
    ],
)
def test_numbers_become_weak(type_, value, expected):
    found = type_.scalar(value)
    assert found == expected and type(found) is type(expected)


def test_python_types_stand_for_scalar_types():
    assert tengen.dtype.of_python(float) is tengen.float64
    assert tengen.dtype.of_python(int) is tengen.int64
    with pytest.raises(KeyError):
        tengen.dtype.of_python(str)


@pytest.mark.usefixtures("default_dtype")
def test_default_dtype():
    assert tengen.get_default_dtype() is tengen.float32
    tengen.set_default_dtype(tengen.float64)
    assert tengen.tensor(1.5).dtype is tengen.float64
    assert tengen.tensor(1j).dtype is tengen.complex128
    tengen.set_default_dtype(tengen.bfloat16)
    assert tengen.tensor([1.5]).dtype is tengen.bfloat16
    assert tengen.tensor(1j).dtype is tengen.complex64
    for wrong in (tengen.int32, tengen.complex64, "float32", None):
        with pytest.raises(TypeError, match="only floating-point types are supported"):
            tengen.set_default_dtype(wrong)
    assert tengen.get_default_dtype() is tengen.bfloat16


def test_array_dtypes_without_a_scalar_type():
    for wrong in ("S3", np.longdouble, np.dtype(">f4"), object):
        with pytest.raises(KeyError):
            from_array_dtype(np.dtype(wrong))
    assert from_array_dtype(np.dtype(np.longlong)) is tengen.int64


def test_limits():
    assert (tengen.iinfo(tengen.int8).min, tengen.iinfo(tengen.int8).max) == (-128, 127)
    assert tengen.finfo(tengen.bfloat16).eps == 2.0**-7
    assert tengen.finfo().dtype == "float32"
    with pytest.raises(TypeError, match="requires a floating point input type"):
        tengen.finfo(tengen.int8)
    with pytest.raises(TypeError, match="requires an integer input type"):
        tengen.iinfo(tengen.float32)
    with pytest.raises(TypeError, match=r"tengen\.bool is not supported"):
        tengen.iinfo(tengen.bool)


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_as_torch(name):
    torch = pytest.importorskip("torch")
    ours, theirs = getattr(tengen, name), getattr(torch, name)
    for attribute in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert repr(ours.to_real()) == repr(theirs.to_real()).replace("torch", "tengen")
    if ours.is_floating_point or ours.is_complex:
        found = repr(tengen.finfo(ours))
        assert (found.replace("eps=0.25", "eps=0.125") if name == OTHER_EPS else found) == repr(
            torch.finfo(theirs)
        )
    elif name != "bool":
        assert repr(tengen.iinfo(ours)) == repr(torch.iinfo(theirs))


@pytest.mark.oracle
@pytest.mark.parametrize("expression", [
    "dtype.abbr",
    "dtype.itemsize",
    "dtype.is_floating_point",
    "dtype.is_complex",
    "dtype.is_signed",
    "dtype.to_real()",
    *[f"lib.finfo(dtype).{name}" for name in FLOAT_LIMITS],
    *[f"lib.iinfo(dtype).{name}" for name in ["bits", "dtype", "max", "min"]],
    "lib.finfo(dtype)",
    "lib.iinfo(dtype)",
    "lib.finfo(type=dtype) == lib.finfo(dtype)",
    "lib.finfo(dtype) == lib.finfo(lib.float32)",
    "lib.iinfo(dtype) == lib.iinfo(dtype)",
    "lib.iinfo(dtype) == lib.iinfo(lib.uint8)",
    "hash(lib.finfo(dtype))",
    "hash(lib.iinfo(dtype))",
    "setattr(lib.finfo(dtype), 'bits', 3)",
    "setattr(lib.iinfo(dtype), 'max', 3)",
    "setattr(lib.iinfo(dtype), 'other', 3)",
    "[lib.promote_types(dtype, other) for other in python]",
    "[lib.promote_types(other, dtype) for other in python]",
    "[lib.can_cast(dtype, other) for other in python]",
    "[lib.can_cast(other, dtype) for other in python]",
])  # fmt: skip
def test_every_dtype_as_in_torch(expression):
    """The same value, or an error of the same class."""
    torch = pytest.importorskip("torch")
    of_eps = expression in ("lib.finfo(dtype)", "lib.finfo(dtype).eps")
    for name in [n for n in NAMES if not (of_eps and n == OTHER_EPS)]:
        ours, theirs = (outcome(expression, lib, name) for lib in (tengen, torch))
        assert ours == theirs, name


@pytest.mark.oracle
@pytest.mark.parametrize("expression", [
    "lib.finfo()",
    "lib.iinfo()",
    "lib.finfo(None)",
    "lib.finfo(3)",
    "lib.iinfo('int8')",
    *[f"lib.{info}({cls})" for info in ("finfo", "iinfo") for cls in ("bool", "int", "float", "complex")],
    "lib.result_type(tensor=lib.ones(2), other=1)",
    "lib.result_type(scalar=3, tensor=lib.ones(2))",
    "lib.result_type(scalar1=3, scalar2=2.5)",
    "lib.result_type(1)",
    "lib.result_type(1, None)",
    "lib.result_type(1, 2, 3)",
    "lib.result_type([1], 2)",
    "lib.promote_types(lib.int8, 'int8')",
    "lib.can_cast(3, lib.int8)",
    "sorted(lib.Tag.__members__)",
    "{name: int(tag) for name, tag in lib.Tag.__members__.items()}",
    "['a', 'b'][lib.Tag.core]",
    "lib.Tag(0), lib.Tag.core.name, lib.Tag.core.value, lib.Tag.core == 0",
    "repr(lib.Tag.core), str(lib.Tag.core)",
])  # fmt: skip
def test_functions_of_dtypes_as_in_torch(expression):
    torch = pytest.importorskip("torch")
    ours, theirs = (outcome(expression, lib, "int8") for lib in (tengen, torch))
    assert ours == theirs


def outcome(expression, lib, name):
    """What an expression gives with a library, as text, or the class of its error."""
    python = (bool, int, float, complex)
    try:
        found = eval(expression, {"lib": lib, "dtype": getattr(lib, name), "python": python})
    except Exception as error:
        return type(error)
    return repr(found).replace("torch.", "tengen.").replace("_C.", "")
