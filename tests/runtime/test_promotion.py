"""Type promotion: the table, the categories, against torch for all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dtype_names import PROMOTED

import tengen
from tengen.core.promotion import combined, common_dtype

NUMBERS = (True, 3, 2.5, 1j)
#: As PyTorch's documentation writes them: the letter of the kind, and the bytes.
SHORT = dict(
    zip(["b1", "u1", "i1", "i2", "i4", "i8", "f2", "bf", "f4", "f8", "c8", "c16"], PROMOTED, strict=True)
)

#: What two tensors with dimensions promote to.
TABLE = """
b1:  b1  u1  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
u1:  u1  u1  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i1:  i1  i2  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
i2:  i2  i2  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i4:  i4  i4  i4  i4  i4  i8  f2  bf  f4  f8  c8  c16
i8:  i8  i8  i8  i8  i8  i8  f2  bf  f4  f8  c8  c16
f2:  f2  f2  f2  f2  f2  f2  f2  f4  f4  f8  c8  c16
bf:  bf  bf  bf  bf  bf  bf  f4  bf  f4  f8  c8  c16
f4:  f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16
f8:  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8:  c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16
c16: c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""

#: What a tensor with dimensions (the row) and one without promote to.
WITH_ZERO_DIM = """
b1:  b1  u1  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
u1:  u1  u1  u1  u1  u1  u1  f2  bf  f4  f8  c8  c16
i1:  i1  i1  i1  i1  i1  i1  f2  bf  f4  f8  c8  c16
i2:  i2  i2  i2  i2  i2  i2  f2  bf  f4  f8  c8  c16
i4:  i4  i4  i4  i4  i4  i4  f2  bf  f4  f8  c8  c16
i8:  i8  i8  i8  i8  i8  i8  f2  bf  f4  f8  c8  c16
f2:  f2  f2  f2  f2  f2  f2  f2  f2  f2  f2  c4  c4
bf:  bf  bf  bf  bf  bf  bf  bf  bf  bf  bf  c8  c8
f4:  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  c8  c8
f8:  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8:  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8
c16: c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""

#: What a tensor (the row) and one of NUMBERS promote to, and that where the default dtype is float64.
WITH_NUMBERS = """
b1:  b1  i8  f4  c8   b1  i8  f8  c16
u1:  u1  u1  f4  c8   u1  u1  f8  c16
i1:  i1  i1  f4  c8   i1  i1  f8  c16
i2:  i2  i2  f4  c8   i2  i2  f8  c16
i4:  i4  i4  f4  c8   i4  i4  f8  c16
i8:  i8  i8  f4  c8   i8  i8  f8  c16
f2:  f2  f2  f2  c4   f2  f2  f2  c4
bf:  bf  bf  bf  c8   bf  bf  bf  c8
f4:  f4  f4  f4  c8   f4  f4  f4  c8
f8:  f8  f8  f8  c16  f8  f8  f8  c16
c8:  c8  c8  c8  c8   c8  c8  c8  c8
c16: c16 c16 c16 c16  c16 c16 c16 c16
"""


def rows(table):
    """The dtypes of each row of a table, by that of the row."""
    lines = [line.split() for line in table.split("\n") if line]
    return {named(first.rstrip(":")): [named(word) for word in rest] for first, *rest in lines}


def named(short):
    return tengen.complex32 if short == "c4" else getattr(tengen, SHORT[short])


DTYPES = [named(short) for short in SHORT]


def test_two_dtypes():
    for first, row in rows(TABLE).items():
        for second, expected in zip(DTYPES, row, strict=True):
            assert tengen.promote_types(first, second) is expected, (first, second)
            sized, zero_dim = [1], 1
            for shape in (sized, zero_dim):
                pair = tengen.tensor(shape, dtype=first), tengen.tensor(shape, dtype=second)
                assert tengen.result_type(*pair) is expected, (first, second)
                assert tengen.add(*pair).dtype is expected, (first, second)


def test_a_tensor_and_one_without_dimensions():
    for first, row in rows(WITH_ZERO_DIM).items():
        for second, expected in zip(DTYPES, row, strict=True):
            pair = tengen.tensor([1], dtype=first), tengen.tensor(1, dtype=second)
            for one, other in (pair, reversed(pair)):
                assert tengen.result_type(one, other) is expected, (first, second)
                assert (one * other).dtype is expected, (first, second)


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_a_tensor_and_a_number(default):
    """With dimensions or without."""
    before = tengen.get_default_dtype()
    tengen.set_default_dtype(getattr(tengen, default))
    try:
        for dtype, row in rows(WITH_NUMBERS).items():
            for number, expected in zip(NUMBERS, row[:4] if default == "float32" else row[4:], strict=True):
                for data in ([1], 1):
                    x = tengen.tensor(data, dtype=dtype)
                    assert tengen.result_type(x, number) is tengen.result_type(number, x) is expected
                    assert (x * number).dtype is (number + x).dtype is expected, (dtype, number)
                    assert tengen.where(x == x, x, number).dtype is expected, (dtype, number)
    finally:
        tengen.set_default_dtype(before)


def test_three_categories():
    """The number joins the tensor without dimensions before that joins the one with some."""
    with_numbers, with_zero_dim = rows(WITH_NUMBERS), rows(WITH_ZERO_DIM)
    for (sized, row), zero_dim, (k, number) in itertools.product(
        with_zero_dim.items(), DTYPES, enumerate(NUMBERS)
    ):
        joined = with_numbers[zero_dim][k]
        if joined is not tengen.complex32:
            expected = row[DTYPES.index(joined)]
        else:  # which no tensor in the tables is of: its parts' precision counts beside integers alone
            higher = sized.is_floating_point or sized.is_complex
            expected = row[DTYPES.index(tengen.complex64)] if higher else joined
        operands = [tengen.tensor([1], dtype=sized), tengen.tensor(1, dtype=zero_dim), number]
        for order in itertools.permutations(operands):
            assert combined(order) is expected, (sized, zero_dim, number)


def test_casts_of_in_place_operators():
    """To no lower kind of number: bool, integral, floating, complex."""
    kinds = dict(zip(DTYPES, (0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3), strict=True))
    for from_, to in itertools.product(DTYPES, DTYPES):
        allowed = kinds[from_] <= kinds[to]
        assert tengen.can_cast(from_, to) is allowed, (from_, to)
        target, other = tengen.tensor([1], dtype=to), tengen.tensor([1], dtype=from_)
        if allowed:
            assert target.mul_(other).dtype is to
            continue
        with pytest.raises(RuntimeError, match="can't be cast to"):
            target.mul_(other)
        assert target.tolist() == [1] and target._version == 0


def test_some_of_the_table():
    assert tengen.promote_types(tengen.uint8, tengen.int8) is tengen.int16
    assert tengen.promote_types(tengen.int64, tengen.float16) is tengen.float16
    assert tengen.promote_types(tengen.float16, tengen.bfloat16) is tengen.float32
    assert tengen.promote_types(tengen.float64, tengen.complex64) is tengen.complex128


@pytest.mark.parametrize(("a", "b"), list(itertools.product(PROMOTED, PROMOTED)))
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
    assert tengen.result_type(tengen.tensor([1.0], dtype=tengen.float16), 1j) is tengen.complex32
    assert tengen.result_type(tengen.tensor([True]), 3) is tengen.int64
    assert tengen.result_type(np.float32(1), sized) is tengen.float32


def test_kinds_of_operators():
    ints, bools = tengen.tensor([1]), tengen.tensor([True])
    assert common_dtype([ints, 2], "default") is tengen.int64
    assert common_dtype([ints, 2], "int_to_float") is tengen.float32
    assert common_dtype([bools], "bool_to_long") is tengen.int64
    assert common_dtype([bools], "always_bool") is tengen.bool


@pytest.mark.oracle
def test_limited_dtypes_as_in_torch():
    """What they promote to with every dtype, with which they do not, and what they cast to."""
    torch = pytest.importorskip("torch")
    every = {d.name: d for d in tengen.dtype.registry.values()}
    limited = [n for n, d in every.items() if d.category in ("unsigned", "float8", "reduced_complex")]
    assert limited

    def outcome(lib, code, a, b):
        try:
            found = eval(code, {"lib": lib, "a": getattr(lib, a), "b": getattr(lib, b)})
        except Exception as error:
            return type(error), str(error).partition(", attempted")[0]
        return str(found).replace("torch.", "tengen.")

    for code in (
        "lib.promote_types(a, b)",
        "lib.promote_types(b, a)",
        "lib.can_cast(a, b)",
        "lib.can_cast(b, a)",
        "lib.result_type(lib.ones(2, dtype=a), lib.ones((), dtype=b))",
        "lib.result_type(lib.ones((), dtype=a), lib.ones(2, dtype=b))",
        "[lib.result_type(lib.ones(2, dtype=a), number) for number in (True, 1, 2.5)]",
    ):
        for a, b in itertools.product(limited, every):
            assert outcome(tengen, code, a, b) == outcome(torch, code, a, b), (code, a, b)


def test_errors():
    with pytest.raises(TypeError, match=r"argument 'type2' \(position 2\) must be tengen.dtype, not int"):
        tengen.promote_types(tengen.int8, 1)
    with pytest.raises(TypeError, match=r"each a Tensor or Number, not \(str, int\)"):
        tengen.result_type("a", 1)
    with pytest.raises(TypeError, match=r"two operands must be given"):
        tengen.result_type(tengen.ones(2), None)
    with pytest.raises(TypeError, match="argument 'from_'"):
        tengen.can_cast("int8", tengen.int8)


@pytest.mark.oracle
@pytest.mark.parametrize(("a", "b"), list(itertools.product(PROMOTED, PROMOTED)))
def test_pairs_as_torch(a, b):
    torch = pytest.importorskip("torch")

    def both(call):
        ours, theirs = (str(call(lib, getattr(lib, a), getattr(lib, b))) for lib in (tengen, torch))
        return ours, theirs.replace("torch", "tengen")

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
@pytest.mark.parametrize(("name", "number"), list(itertools.product(PROMOTED, NUMBERS)))
def test_numbers_as_torch(name, number):
    torch = pytest.importorskip("torch")
    for data in ([1], 1):
        ours = str(tengen.result_type(tengen.tensor(data, dtype=getattr(tengen, name)), number))
        theirs = str(torch.result_type(torch.tensor(data, dtype=getattr(torch, name)), number))
        assert ours == theirs.replace("torch", "tengen")
