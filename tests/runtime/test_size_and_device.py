"""Size, device, layouts and memory formats."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import pytest

import tengen


def test_size_is_a_tuple():
    size = tengen.Size([2, 3])
    assert size == (2, 3) and hash(size) == hash((2, 3)) and repr(size) == "tengen.Size([2, 3])"
    assert size.numel() == 6 and tengen.Size().numel() == 1
    for other in (size[:1], size + size, operator.add((4,), size), size * 2, 2 * size):
        assert type(other) is tengen.Size
    assert size[-1] == 3 and type(size[0]) is int
    assert tengen.Size([tengen.tensor(3)]) == (3,)


def test_size_errors():
    with pytest.raises(TypeError, match=r"takes an iterable of 'int' \(item 1 is 'float'\)"):
        tengen.Size([1, 1.5])
    with pytest.raises(TypeError, match=r"can only concatenate tuple \(not list\) to tengen.Size"):
        operator.add(tengen.Size([1]), [2])


def test_device():
    cpu = tengen.device("cpu")
    assert str(cpu) == "cpu" and repr(cpu) == "device(type='cpu')" and cpu.index is None
    assert tengen.device("meta", 1) == tengen.device("meta:1") != tengen.device("meta")
    assert repr(tengen.device("meta:1")) == "device(type='meta', index=1)"
    assert tengen.device(cpu) == cpu and cpu != "cpu" and hash(cpu) == hash(tengen.device("cpu"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("foo",), r"Expected one of cpu, meta, jax, dask(, \w+)* device type at start of .*: foo"),
        (("",), "Device string must not be empty"),
        (("cpu:x",), "Invalid device string: 'cpu:x'"),
        (("cpu:01",), "Invalid device string: 'cpu:01'"),
        (("cpu", -1), "Device index must not be negative"),
        (("cpu:1", 1), "must not include an index because index was passed explicitly"),
    ],
)
def test_device_errors(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        tengen.device(*arguments)
    with pytest.raises(TypeError, match="must be str, not float"):
        tengen.device(1.5)


@pytest.mark.parametrize(
    "value",
    [
        tengen.Size([2, 3]),
        tengen.device("cpu", 0),
        tengen.device("meta"),
        tengen.strided,
        tengen.channels_last,
    ],
)
def test_copies_and_pickles(value):
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)


def test_constants():
    assert repr(tengen.contiguous_format) == "tengen.contiguous_format"
    assert isinstance(tengen.strided, tengen.layout)
    assert isinstance(tengen.preserve_format, tengen.memory_format)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", [
    *[
        f"{first} + {second}"
        for a in ("()", "(3,)", "('a',)", "(1.5,)", "[3]", "3", "Size([3])", "(lib.tensor(3),)")
        for first, second in ((a, "Size([1, 2])"), ("Size([1, 2])", a))
    ],
    *[
        f"{first} * {second}"
        for a in ("2", "0", "-1", "True", "1.5", "'a'", "(2,)")
        for first, second in ((a, "Size([1, 2])"), ("Size([1, 2])", a))
    ],
    *[f"Size([1, 2, 3])[{index}]" for index in ("0", "-1", "5", "'a'", "1:", "::-1", "::2", "5:", "True")],
    *[f"Size({sizes}).numel()" for sizes in ("[]", "()", "[2, 0]", "[2, 3]")],
    *[
        f"Size({sizes})"
        for sizes in (
            "", "3", "None", "[1.5]", "['a']", "'12'", "[True, 2]", "[-1]", "range(3)", "iter([1])", "{1: 2}",
            "lib.tensor([1, 2])", "[lib.tensor(2)]", "[lib.tensor(2.5)]", "[1], [2]", "a=[1]", "b'ab'",
        )
    ],
    "pickle.loads(pickle.dumps(Size([1, 2])))",
    "copy.copy(Size([1, 2])), copy.deepcopy(Size([1, 2]))",
    "hash(Size([1, 2])) == hash((1, 2)), Size([1, 2]) == (1, 2), (1, 2) == Size([1, 2])",
    "Size([1, 2]) == [1, 2], Size([1, 2]) < (1, 3), {Size([1, 2]): 1}[1, 2]",
    "Size([1, 2]).index(2), Size([1, 2]).count(2), 2 in Size([1, 2])",
    "sum([Size([1]), Size([2])], ())",
])  # fmt: skip
def test_sizes_as_in_torch(expression):
    """The same value, of the same class, or an error of the same class."""
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tengen, torch):
        try:
            value = eval(expression, {"lib": lib, "Size": lib.Size, "pickle": pickle, "copy": copy})
        except Exception as error:
            value = type(error)
        found.append(repr(value).replace("torch.", "tengen."))
    assert found[0] == found[1]


SHAPES: list[tuple[Any, ...]] = [
    (),
    (3,),
    ((2,), (3, 1), (1, 1, 1)),
    ((6, 7), (5, 6, 7), (7,)),
    (3, (2, 1)),
    ([1, 2], 1),
    ((0,), (1,)),
    ((), 1),
    ((2,), (3,)),
    ((0,), (2,)),
    ((-1,), (2,)),
    ("a",),
    (((1,),),),
]


def broadcast(m: Any, shapes: tuple[Any, ...]) -> Any:
    try:
        found = m.broadcast_shapes(*shapes)
    except Exception as error:
        return type(error).__name__
    assert isinstance(found, m.Size)
    return tuple(found)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcast_shapes(shapes: tuple[Any, ...]) -> None:
    found = broadcast(tengen, shapes)
    if isinstance(found, tuple) and shapes:
        assert found == tuple(tengen.broadcast_tensors([tengen.ones(s) for s in shapes])[0].shape)
    else:
        assert found in ((), "RuntimeError", "ValueError", "TypeError")


@pytest.mark.oracle
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcast_shapes_as_in_torch(shapes: tuple[Any, ...]) -> None:
    import torch

    assert broadcast(tengen, shapes) == broadcast(torch, shapes)
