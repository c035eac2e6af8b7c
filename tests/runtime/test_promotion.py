"""Type promotion: the table, the categories, against torch for all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tengen
from tengen.promotion import common_dtype

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
NUMBERS = (True, 3, 2.5, 1j)


def test_some_of_the_table():
    assert tengen.promote_types(tengen.uint8, tengen.int8) is tengen.int16
    assert tengen.promote_types(tengen.int64, tengen.float16) is tengen.float16
    assert tengen.promote_types(tengen.float16, tengen.bfloat16) is tengen.float32
    assert tengen.promote_types(tengen.float64, tengen.complex64) is tengen.complex128


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NAMES, NAMES)))
def test_table_is_a_lattice(a, b):
    first, second = getattr(tengen, a), getattr(tengen, b)
    both = tengen.promote_types(first, second)
    assert both is tengen.promote_types(second, first)
    assert tengen.promote_types(both, first) is both
    assert tengen.can_cast(first, both)


def test_dimensions_go_before_0d_before_numbers():
    sized = tengen.tensor([1], dtype=tengen.int8)
    scalar = tengen.tensor(1, dtype=tengen.int64)
    assert tengen.result_type(sized, scalar) is tengen.int8
    assert tengen.result_type(scalar, 1.5) is tengen.float32
    assert tengen.result_type(sized, tengen.tensor(1.0, dtype=tengen.float64)) is tengen.float64
    assert tengen.result_type(tengen.tensor([1.0], dtype=tengen.float16), 1j) is tengen.complex64
    assert tengen.result_type(tengen.tensor([True]), 3) is tengen.int64
    assert tengen.result_type(np.float32(1), sized) is tengen.float32


def test_kinds_of_operators():
    ints, bools = tengen.tensor([1]), tengen.tensor([True])
    assert common_dtype([ints, 2], "default") is tengen.int64
    assert common_dtype([ints, 2], "int_to_float") is tengen.float32
    assert common_dtype([bools], "bool_to_long") is tengen.int64
    assert common_dtype([bools], "always_bool") is tengen.bool


def test_errors():
    with pytest.raises(TypeError, match=r"argument 'type2' \(position 2\) must be tengen.dtype, not int"):
        tengen.promote_types(tengen.int8, 1)
    with pytest.raises(TypeError, match="must be Tensor or Number, not str"):
        tengen.result_type("a", 1)
    with pytest.raises(TypeError, match="argument 'from_'"):
        tengen.can_cast("int8", tengen.int8)


@pytest.mark.oracle
@pytest.mark.parametrize(("a", "b"), list(itertools.product(NAMES, NAMES)))
def test_pairs_as_torch(a, b):
    torch = pytest.importorskip("torch")

    def both(call):
        ours, theirs = (str(call(lib, getattr(lib, a), getattr(lib, b))) for lib in (tengen, torch))
        # torch has a complex type of half precision, whose place complex64 takes here
        return ours, theirs.replace("torch", "tengen").replace("complex32", "complex64")

    def result(shape_a, shape_b):
        return lambda lib, x, y: lib.result_type(lib.tensor(shape_a, dtype=x), lib.tensor(shape_b, dtype=y))

    for call in (
        lambda lib, x, y: lib.promote_types(x, y),
        lambda lib, x, y: lib.can_cast(x, y),
        result([1], [1]),
        result([1], 1),
        result(1, [1]),
        result(1, 1),
    ):
        ours, theirs = both(call)
        assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "number"), list(itertools.product(NAMES, NUMBERS)))
def test_numbers_as_torch(name, number):
    torch = pytest.importorskip("torch")
    for data in ([1], 1):
        ours = str(tengen.result_type(tengen.tensor(data, dtype=getattr(tengen, name)), number))
        theirs = str(torch.result_type(torch.tensor(data, dtype=getattr(torch, name)), number))
        assert ours == theirs.replace("torch", "tengen").replace("complex32", "complex64")
