"""Files of unknown origin: what they must not be able to do."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import archive

import tengen
from tengen.serialization.weights_unpickler import MAX_DEPTH

HERE = Path(__file__).resolve().parent

PROTO = b"\x80\x04"


def name(module: str, what: str) -> bytes:
    return f"c{module}\n{what}\n".encode()


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def number(value: int) -> bytes:
    content = value.to_bytes(9, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content


TENSOR, ARRAY = name("torch", "Tensor"), name("numpy", "ndarray")
DICT = name("collections", "OrderedDict") + b")R"
FLOAT, BOOL, INT = (name("torch", t) for t in ("float32", "bool", "int32"))
CPU, META = (name("torch", "device") + text(d) + b"\x85R" for d in ("cpu", "meta"))
NAMED = name("torch", "FloatStorage")


def dtype(code: str, state: bytes = b"") -> bytes:
    return name("numpy", "dtype") + text(code) + b"\x89\x88\x87R" + state


def array(code: str, shape: bytes, data: bytes, version: bytes = b"K\x01") -> bytes:
    """An array by ``_reconstruct`` and its state."""
    made = name("numpy._core.multiarray", "_reconstruct") + ARRAY + b"K\x00\x85C\x01b\x87R"
    return made + b"(" + version + shape + dtype(code) + b"\x89" + data + b"tb"


def content(count: int, value: bytes = b"\0") -> bytes:
    return b"B" + count.to_bytes(4, "little") + value * count


def storage(
    count: bytes = b"K\2",
    kind: bytes = NAMED,
    key: bytes = text("0"),
    where: bytes = text("cpu"),
    tag: bytes = text("storage"),
) -> bytes:
    """A persistent id: of the 8 bytes that the record data/0 has."""
    return b"(" + tag + kind + key + where + count + b"tQ"


BYTES = storage(b"K\x08", name("torch.storage", "UntypedStorage"))


def tensor(
    offset: bytes = b"K\0",
    size: bytes = b"K\x02\x85",
    strides: bytes = b"K\1\x85",
    requires_grad: bytes = b"\x89",
    held: bytes = storage(),
    hooks: bytes = DICT,
    end: bytes = b"",
    function: str = "_rebuild_tensor_v2",
) -> bytes:
    called = name("torch._utils", function)
    return called + b"(" + held + offset + size + strides + requires_grad + hooks + end + b"tR"


def of_bytes(dtype: bytes = FLOAT, **given: bytes) -> bytes:
    return tensor(held=BYTES, end=dtype, function="_rebuild_tensor_v3", **given)


def meta(
    size: bytes = b"K\x02\x85", strides: bytes = b"K\1\x85", dtype: bytes = FLOAT, end: bytes = b"\x89"
) -> bytes:
    return (
        name("torch._utils", "_rebuild_meta_tensor_no_storage") + b"(" + dtype + size + strides + end + b"tR"
    )


def with_attributes(attributes: bytes, cls: bytes = TENSOR) -> bytes:
    function, window = tensor().removesuffix(b"R").split(b"(", 1)
    return (
        name("torch._tensor", "_rebuild_from_type_v2")
        + b"("
        + function
        + cls
        + b"("
        + window
        + attributes
        + b"tR"
    )


def nested(opening: bytes, closing: bytes, depth: int = 100_000) -> bytes:
    return opening * depth + b"N" + closing * depth


#: What a file says -> what the error says.
REFUSED: dict[str, tuple[bytes, str]] = {
    # states of what is no data
    "slots of a class": (TENSOR + b"(N}" + text("__add__") + b"Nstb", "sets the state of torch.Tensor"),
    "slots of ndarray": (ARRAY + b"(N}" + text("sum") + b"Nstb", "sets the state of numpy.ndarray"),
    "state of a function": (
        name("torch._utils", "_rebuild_tensor_v2") + b"}b",
        "sets the state of torch",
    ),
    "state of a device": (CPU + b"(N}" + text("type") + b"K\1stb", "sets the state of a device"),
    "state of a dtype": (FLOAT + b"(N}" + text("itemsize") + b"K\1stb", "sets the state of a dtype"),
    "state of a tensor": (tensor() + b"}" + text("_array") + b"Nsb", "sets the state of a Tensor"),
    "state of a storage": (BYTES + b"(N}" + text("_root") + b"Nstb", "sets the state of a UntypedStorage"),
    "state of a list": (b"]}b", "sets the state of a list"),
    "slots of a dict": (DICT + b"(N}" + text("keys") + b"Nstb", "sets the state of a OrderedDict"),
    "method of a dict": (DICT + b"}" + text("items") + b"Nsb", "attribute 'items', which the class has"),
    "number as attribute": (DICT + b"}K\1Nsb", "attribute whose name is a int"),
    "two states": (
        array("u1", b"K\1\x85", b"C\1a") + b"(K\1K\1\x85" + dtype("u1") + b"\x89C\1atb",
        "sets the state",
    ),
    # calls
    "a class called": (TENSOR + b")R", "calls torch.Tensor"),
    "ndarray called": (ARRAY + b"K\1\x85" + dtype("O8") + b"\x86R", "dtype 'O8'"),
    "ndarray called with a code": (
        ARRAY + b"K\1\x85" + dtype("u8") + b"C\x08aaaaaaaa\x87R",
        "calls numpy.ndarray",
    ),
    "a new object": (TENSOR + b")\x81", "makes an instance of torch.Tensor"),
    "a new object with keywords": (TENSOR + b")}\x92", "NEWOBJ_EX is not allowed"),
    "a list called": (b"])R", "calls a list"),
    "a result called": (FLOAT + b")R", "calls a dtype"),
    "called with a list": (name("torch", "Size") + b"]R", "with a list"),
    "an instance": (b"(itorch\nTensor\n", "INST is not allowed"),
    "an object": (b"(" + TENSOR + b"o", "OBJ is not allowed"),
    # names
    "eval": (name("builtins", "eval"), "builtins.eval, which is not allowed"),
    "eval of Python 2": (name("__builtin__", "eval"), "builtins.eval, which is not allowed"),
    "a dotted name": (
        text("torch") + text("Tensor.__add__") + b"\x93",
        "Tensor.__add__, which is not allowed",
    ),
    "a module's module": (
        text("torch") + text("serialization.os.system") + b"\x93",
        "system, which is not allowed",
    ),
    "a part of the name elsewhere": (
        text("torch.nn") + text("Tensor") + b"\x93",
        "torch.nn.Tensor, which is not",
    ),
    "a name that is a number": (text("torch") + b"K\1\x93", "by what is no string"),
    "a name without end": (b"ctorch" + b"x" * 1000 + b"\nTensor\n", "a name that does not end"),
    "a class as a value": (TENSOR + b"\x85", "holds torch.Tensor itself"),
    "a function as a value": (
        b"}" + text("f") + name("_codecs", "encode") + b"s",
        "holds _codecs.encode itself",
    ),
    "a class as a key": (b"}" + TENSOR + b"Ns", "torch.Tensor as a key"),
    "an extension": (b"\x82\x01", "EXT1 is not allowed"),
    "a persistent id of nothing": (b"Q", "IndexError"),
    "a persistent id in text": (b"P1\n", "PERSID is not allowed"),
    "a buffer outside": (b"\x97", "NEXT_BUFFER is not allowed"),
    "a number in text": (b"I1\n", "INT is not allowed"),
    "a string in text": (b"S'a'\n", "STRING is not allowed"),
    "a copy of the stack": (b"N2", "DUP is not allowed"),
    "no opcode": (b"\xff", "is not allowed"),
    # items
    "items of a tensor": (tensor() + b"K\0K\1s", "puts items into a Tensor"),
    "items of an array": (array("u1", b"K\1\x85", b"C\1a") + b"K\0K\1s", "puts items into a ndarray"),
    "items of a class": (TENSOR + b"K\0K\1s", "puts items into torch.Tensor"),
    "more of a class": (TENSOR + b"Na", "puts items into torch.Tensor"),
    "more of a bytearray": (b"\x96" + b"\1" + b"\0" * 7 + b"aK\1a", "puts items into a bytearray"),
    "more of a tuple": (b")(Ne", "puts items into a tuple"),
    "elements of a dict": (b"}(N\x90", "puts items into a dict"),
    "a list as a key": (b"}]Ns", "a list as a key"),
    "a list in a set": (b"\x8f(]\x90", "a list as a key"),
    "a list in a tuple in a frozenset": (b"(]\x85\x91", "a list as a key"),
    "a key without a value": (b"}(Nu", "ValueError"),
    "a tuple that takes long to hash": (b"}N" + b"\x85" * 2000 + b"Ns", "a key of more than 1000 parts"),
    "a small file of a tuple that takes long to hash": (
        b"}N" + b"".join([b"\x94h" + bytes([n]) + b"\x86" for n in range(60)]) + b"Ns",
        "a key of more than 1000 parts",
    ),
    # dtypes and arrays
    "objects": (dtype("O8"), "the dtype 'O8'"),
    "raw memory": (dtype("V8"), "the dtype 'V8'"),
    "records": (dtype("f4,O"), "the dtype 'f4,O'"),
    "a date": (dtype("M8"), "the dtype 'M8'"),
    "a dtype that is aligned": (name("numpy", "dtype") + text("f4") + b"\x88\x88\x87R", "the dtype 'f4'"),
    "a dtype with fields": (
        dtype("f4", b"(K\3" + text("<") + b"N" + text("a") + b"\x85}NK\0K\0tb"),
        "with a state",
    ),
    "a dtype of another size": (dtype("S3", b"(K\3" + text("|") + b"NNNK\x7fK\1K\0tb"), "with a state"),
    "a dtype with flags": (
        dtype("f4", b"(K\3" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb"),
        "a state",
    ),
    "a state after use": (
        dtype("u1")
        + b"\x940"
        + array("u1", b"K\1\x85", b"C\1a").replace(dtype("u1"), b"h\0")
        + b"h\0(K\3"
        + text("|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb",
        "sets the state",
    ),
    "an array of objects": (array("O8", b"K\1\x85", b"]Na"), "the dtype 'O8'"),
    "an array too short": (array("u8", b"K\2\x85", content(8)), "for an array of another size"),
    "an array too long": (array("u8", b"K\2\x85", content(24)), "for an array of another size"),
    "a negative size": (
        array("u8", number(-1) + number(-1) + b"\x86", content(8)),
        "for an array of another size",
    ),
    "True as a size": (array("u8", b"\x88\x85", content(8)), "for an array of another size"),
    "an array of a list": (array("u1", b"K\1\x85", b"]"), "calls ndarray.__setstate__"),
    "an array without version": (array("u1", b"K\1\x85", b"C\1a", b""), "calls ndarray.__setstate__"),
    "65 dimensions": (array("u1", b"(" + b"K\1" * 65 + b"t", b"C\1a"), "for an array of another size"),
    "bytes that are no bools": (array("b1", b"K\2\x85", b"C\2\1\2"), "neither 0 nor 1"),
    "what are no characters": (array("U1", b"K\1\x85", content(4, b"\xff")), "no characters"),
    "a class of arrays": (
        name("numpy._core.multiarray", "_reconstruct") + TENSOR + b"K\0\x85C\1b\x87R",
        "_reconstruct",
    ),
    "a number of objects": (
        name("numpy._core.multiarray", "scalar") + dtype("u8") + b"]\x86R",
        "calls numpy",
    ),
    "a number too short": (
        name("numpy._core.multiarray", "scalar") + dtype("u8") + b"C\1a\x86R",
        "another size",
    ),
    # storages and tensors
    "a number as a persistent id": (b"K\1Q", "persistent id that is none of a storage"),
    "no id of a storage": (storage(tag=text("module")), "persistent id that is none of a storage"),
    "an id without a number": (storage(b""), "persistent id that is none of a storage"),
    "True as a number of elements": (storage(b"\x88"), "persistent id that is none of a storage"),
    "a class as a storage": (storage(kind=TENSOR), "persistent id that is none of a storage"),
    "a number as a key of a storage": (storage(key=b"K\0"), "persistent id that is none of a storage"),
    "a storage that is not there": (storage(key=text("1")), "no record 'data/1'"),
    "a storage elsewhere": (storage(key=text("../version")), "no record 'data/../version'"),
    "too many elements": (storage(b"K\3"), "8 bytes, and names it as one of 3 elements of 4 bytes"),
    "too few elements": (storage(b"K\1"), "8 bytes, and names it as one of 1 elements of 4 bytes"),
    "a negative number of elements": (storage(number(-2)), "names it as one of -2 elements"),
    "more elements than memory": (
        storage(number(1 << 62)),
        "names it as one of 4611686018427387904 elements",
    ),
    "two numbers of elements": (
        b"]" + storage() + b"a" + storage(b"K\1") + b"a",
        "names it as one of 1 elements",
    ),
    "no such device": (name("torch", "device") + text("tpu") + b"\x85R", "RuntimeError: Expected one of "),
    "tensors on no such device": (tensor(held=storage(where=text("tpu"))), "device 'tpu', which is not here"),
    "no such type": (name("torch", "float31"), "torch.float31, which is not allowed"),
    "no such layout": (
        name("torch.serialization", "_get_layout") + text("torch.float32") + b"\x85R",
        "the layout 'torch.float32'",
    ),
    "over the end": (tensor(offset=b"K\1"), "reaches over the end of its storage of 8 bytes"),
    "over the end by strides": (tensor(strides=b"K\2\x85"), "reaches over the end"),
    "over the end of bytes": (of_bytes(name("torch", "float64")), "reaches over the end"),
    "a negative offset": (tensor(offset=number(-1)), "calls _rebuild_tensor"),
    "a negative stride": (tensor(strides=number(-1) + b"\x85"), "calls _rebuild_tensor"),
    "a negative size of a tensor": (tensor(size=number(-1) + b"\x85"), "calls _rebuild_tensor"),
    "as many strides": (tensor(strides=b"K\1K\1\x86"), "calls _rebuild_tensor"),
    "a list as a size": (tensor(size=b"]K\2a"), "calls _rebuild_tensor"),
    "True as a size of a tensor": (tensor(size=b"\x88\x85"), "calls _rebuild_tensor"),
    "True as an offset": (tensor(offset=b"\x88"), "calls _rebuild_tensor"),
    "requires grad by a number": (tensor(requires_grad=b"K\1"), "calls _rebuild_tensor"),
    "a string as dtype": (of_bytes(text("float32")), "calls _rebuild_tensor"),
    "bytes in place of a storage": (tensor(held=content(8)), "calls _rebuild_tensor"),
    "a storage of bytes in place of a dtype's": (tensor(held=BYTES), "calls _rebuild_tensor_v2"),
    "hooks": (tensor(hooks=DICT + b"K\1Ns"), "a tensor with hooks"),
    "no hooks": (tensor(hooks=b"}"), "calls _rebuild_tensor"),
    "bits": (tensor(end=b"}" + text("conj") + b"K\1s"), "calls _rebuild_tensor"),
    "other bits": (tensor(end=b"}" + text("zero") + b"\x88s"), "the bit 'zero'"),
    "more elements than addresses": (
        tensor(size=number(1 << 62) + b"\x85", strides=b"K\0\x85"),
        "more bytes than",
    ),
    "a stride around the memory": (
        tensor(size=b"K\1\x85", strides=number(1 << 62) + b"\x85"),
        "more bytes than",
    ),
    "bools that are none": (of_bytes(BOOL, offset=b"K\6"), "neither 0 nor 1"),
    "65 dimensions of a tensor": (
        tensor(size=b"(" + b"K\1" * 65 + b"t", strides=b"(" + b"K\1" * 65 + b"t"),
        "calls _rebuild_tensor",
    ),
    "an integer that requires grad": (of_bytes(INT, requires_grad=b"\x88"), "RuntimeError.*floating"),
    "without data, a negative size": (meta(size=number(-1) + b"\x85"), "calls _rebuild_meta_tensor"),
    "without data, as many strides": (meta(strides=b"K\1K\1\x86"), "calls _rebuild_meta_tensor"),
    "without data, more bytes than addresses": (meta(size=number(1 << 61) + b"\x85"), "more bytes than"),
    "without data, an integer that requires grad": (meta(dtype=INT, end=b"\x88"), "RuntimeError.*floating"),
    "a device of a number": (
        name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor")
        + b"("
        + tensor()
        + FLOAT
        + b"K\0\x89tR",
        "calls _rebuild_device_tensor",
    ),
    "a parameter of a number": (
        name("torch._utils", "_rebuild_parameter") + b"K\0\x89" + DICT + b"\x87R",
        "calls",
    ),
    "a parameter with hooks": (
        name("torch._utils", "_rebuild_parameter") + tensor() + b"\x89" + DICT + b"K\1Ns\x87R",
        "calls _rebuild_parameter",
    ),
    "a sparse tensor of numbers": (
        name("torch._utils", "_rebuild_sparse_tensor")
        + name("torch.serialization", "_get_layout")
        + text("torch.sparse_coo")
        + b"\x85RK\0K\0K\0\x87\x86R",
        "calls _rebuild_sparse_tensor",
    ),
    # attributes
    "a method": (
        with_attributes(b"}" + text("backward") + b"Ns"),
        "attribute 'backward', which the class has",
    ),
    "a special method": (
        with_attributes(b"}" + text("__add__") + b"Ns"),
        "attribute '__add__', which the class has",
    ),
    "a slot": (with_attributes(b"}" + text("_array") + b"Ns"), "attribute '_array', which the class has"),
    "the class": (with_attributes(b"}" + text("__class__") + TENSOR + b"s"), "attribute '__class__'"),
    "another class": (with_attributes(b"}", ARRAY), "a tensor of the class numpy.ndarray"),
    "a function as a class": (
        with_attributes(b"}", name("torch._utils", "_rebuild_parameter")),
        "a tensor of the class torch._utils._rebuild_parameter",
    ),
    "a tensor of what is no function": (
        with_attributes(b"}").replace(name("torch._utils", "_rebuild_tensor_v2"), TENSOR),
        "calls torch.Tensor",
    ),
    "a tensor that is a Size": (
        name("torch._tensor", "_rebuild_from_type_v2") + b"(" + name("torch", "Size") + TENSOR + b")\x85}tR",
        "a tensor of the class torch.Tensor",
    ),
    "a number as a name": (with_attributes(b"}K\1Ns"), "attribute whose name is a int"),
    # builtins
    "a bytearray of a size": (
        name("builtins", "bytearray") + number(1 << 40) + b"\x85R",
        "calls builtins.bytearray",
    ),
    "bytes of a size": (name("builtins", "bytes") + number(1 << 40) + b"\x85R", "calls builtins.bytes"),
    "another codec": (
        name("_codecs", "encode") + text("a") + text("rot13") + b"\x86R",
        "calls _codecs.encode",
    ),
    "complex of a string": (name("builtins", "complex") + text("1j") + b"\x85R", "calls builtins.complex"),
    "a factory": (name("collections", "defaultdict") + TENSOR + b"\x85R", "calls collections.defaultdict"),
    "a factory of numbers": (
        name("collections", "defaultdict") + name("builtins", "complex") + b"\x85R",
        "calls collections.defaultdict",
    ),
    "a dict of pairs": (name("collections", "OrderedDict") + b"]\x85R", "calls collections.OrderedDict"),
    "a set of a string": (name("builtins", "set") + text("ab") + b"\x85R", "calls builtins.set"),
    "a Size of floats": (name("torch", "Size") + b"G" + b"\0" * 8 + b"\x85\x85R", "calls torch.Size"),
    "a Size of bools": (name("torch", "Size") + b"\x88\x85\x85R", "calls torch.Size"),
    # lengths
    "a string as long as memory": (b"X\xff\xff\xff\xff", "ends early"),
    "bytes as long as memory": (b"\x8e" + b"\xff" * 7 + b"\x7f", "ends early"),
    "a bytearray as long as memory": (b"\x96" + b"\xff" * 7 + b"\x7f", "ends early"),
    "a number as long as memory": (b"\x8b\xff\xff\xff\x7f", "ends early"),
    "an object that was not kept": (b"j\xff\xff\xff\xff", "refers to an object 4294967295"),
    "nothing": (b"", "no object|IndexError"),
    "nothing to keep": (b"\x94", "IndexError"),
    "no mark": (b"t", "IndexError"),
    "a tuple of too few": (b"N\x86", "a tuple of items that it does not have"),
    "no characters": (b"\x8c\1\xff", "UnicodeDecodeError"),
    # depth
    "lists": (nested(b"]", b"a"), "nests containers more than 500 deep"),
    "tuples": (nested(b"", b"\x85"), "nests containers more than 500 deep"),
    "dicts": (nested(b"}N", b"s"), "nests containers more than 500 deep"),
    "ordered dicts": (nested(DICT + b"N", b"s"), "nests containers more than 500 deep"),
    "frozensets": (nested(b"(", b"\x91"), "nests containers more than 500 deep"),
    "defaultdicts": (nested(name("collections", "defaultdict") + b")RN", b"s"), "more than 500 deep"),
    "defaultdicts thrown away": (
        nested(name("collections", "defaultdict") + b")RN", b"s") + b"0N",
        "500 deep",
    ),
    "lists, from the inside": (
        b"]\x94"
        + b"".join(
            [
                b"]r" + (n + 1).to_bytes(4, "little") + b"j" + n.to_bytes(4, "little") + b"a"
                for n in range(600)
            ]
        ),
        "nests containers more than 500 deep",
    ),
}


def load(data: bytes, proto: bytes = PROTO, **options: Any) -> Any:
    """What a file of the pickle holds; its one storage has 8 bytes, of which the last is no bool."""
    file = archive(proto + data + b".", {"data/0": b"\0" * 7 + b"\2"})
    return tengen.load(io.BytesIO(file), **options)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    data, expected = REFUSED[case]
    with pytest.raises(pickle.UnpicklingError, match=expected):
        load(data)


def test_the_cases_are_files_but_for_what_is_refused() -> None:
    """The pieces that the cases are made of load, so that these are not refused for another reason."""
    assert load(tensor()).shape == load(of_bytes()).shape == load(meta()).shape == (2,)
    assert load(BYTES).tolist() == [0] * 7 + [2]
    assert load(with_attributes(b"}" + text("note") + b"K\1s")).note == 1
    assert load(array("b1", b"K\2\x85", b"C\2\1\0")).tolist() == [True, False]
    assert load(DICT + b"}" + text("_metadata") + b"K\1sb")._metadata == 1
    assert load(nested(b"]", b"a", MAX_DEPTH - 2)) and repr(load(nested(b"}N", b"s", MAX_DEPTH - 2)))
    assert load(dtype("f4", b"(K\3" + text(">") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb")) == np.dtype(
        ">f4"
    )
    assert load(of_bytes(BOOL)).tolist() == [False, False]
    assert load(tensor(end=b"}" + text("neg") + b"\x88s")).shape == (2,)


def test_classes_are_as_they_were() -> None:
    before = (
        dict(vars(tengen.Tensor)),
        dict(vars(tengen.core.tensor_base.TensorBase)),
        dict(vars(tengen.Size)),
    )
    for data, _ in REFUSED.values():
        for proto in (b"", PROTO):
            with pytest.raises(pickle.UnpicklingError):
                load(data, proto)
    assert before == (
        dict(vars(tengen.Tensor)),
        dict(vars(tengen.core.tensor_base.TensorBase)),
        dict(vars(tengen.Size)),
    )
    with pytest.raises(pickle.UnpicklingError, match="does not begin as a pickle"):
        load(b"ctorch\nTensor\n(N}X\x07\0\0\0__add__Nstb", b"")


def test_every_beginning_of_a_file_is_refused() -> None:
    file = io.BytesIO()
    tengen.save({"a": tengen.ones(2, 3, requires_grad=True), "b": [1.5, "text", 1j]}, file)
    for length in range(len(file.getvalue())):
        with pytest.raises(pickle.UnpicklingError if length else EOFError):
            tengen.load(io.BytesIO(file.getvalue()[:length]))


def test_errors_of_the_file_itself_stay() -> None:
    class Broken(io.BytesIO):
        def read(self, size: Any = -1) -> bytes:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        tengen.load(Broken())
    with pytest.raises(FileNotFoundError):
        tengen.load("/nowhere")


COPIES = {
    "bytearrays": (content(50_000), name("builtins", "bytearray")),
    "sets": (b"](" + b"N" * 50_000 + b"e", name("builtins", "frozenset")),
    "Sizes": (b"(" + b"K\1" * 50_000 + b"t", name("torch", "Size")),
    "bytes": (
        b"X" + (50_000).to_bytes(4, "little") + b"a" * 50_000 + text("latin1"),
        name("_codecs", "encode"),
    ),
    "strings": (dtype("S50000") + content(50_000, b"a"), name("numpy._core.multiarray", "scalar")),
}


@pytest.mark.parametrize("kind", COPIES)
def test_nothing_is_copied_again_and_again(kind: str) -> None:
    arguments, function = COPIES[kind]
    packed = b"(" + arguments + b"t\x94" if kind in ("bytes", "strings") else arguments + b"\x85\x94"
    data = packed + b"0" + function + b"\x940]("
    assert len(load(data + b"h\1h\0Re")) == 1
    with pytest.raises(pickle.UnpicklingError, match="copies one object again and again"):
        load(data + b"h\1h\0R" * 1000 + b"e")


def test_in_a_process_of_their_own() -> None:
    """Containers nested so deeply that freeing them would overflow the stack, and lengths of gigabytes."""
    program = r"""
import io, pickle, resource, sys, tengen
sys.path.insert(0, HERE)
from archives import archive
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
n, head = 200_000, b"\x80\x04"
factories = b"ccollections\ndefaultdict\n)RN" * n + b"N" + b"s" * n
for data in (
    factories, factories + b"0N", factories + b"Q", b"]" * n + b"N" + b"a" * n, b"N" + b"\x85" * n,
    b"(" * n + b"N" + b"\x91" * n, b"}(N" * n + b"N" + b"u" * n,
    b"X\xff\xff\xff\xff", b"\x8e" + b"\xff" * 7 + b"\x7f",
):
    try:
        tengen.load(io.BytesIO(archive(head + data + b".")))
    except pickle.UnpicklingError:
        continue
    raise SystemExit("loaded")
print("done")
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # each thread takes addresses
    run = subprocess.run(
        [sys.executable, "-c", f"HERE = {str(HERE)!r}\n{program}"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0 and run.stdout == "done\n", run.stderr[-2000:]
