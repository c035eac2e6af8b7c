"""Mutated files: each loads data or raises the documented error, and nothing else happens.

    python tests/files/mutated.py --count 20000 --seed 1

The files are what ``save`` and ``jit.save`` write, with bytes and opcodes of the pickle changed, left out,
put in and exchanged, and two pickles put together, in a whole archive; or with bytes of the archive changed.
Of each it is checked that

- ``load`` returns data of the allowed types, which can be printed, or raises ``pickle.UnpicklingError``;
- no more memory was used on the way than ``FACTOR`` times the file's size;

and of all together that no attribute of a class or module is another one afterwards. What breaks this is
written to a file, and ends the run.
"""

from __future__ import annotations

import argparse
import builtins
import collections
import io
import pickle
import pickletools
import random
import sys
import tracemalloc
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from archives import archive, records

import tengen

#: The most expensive byte is one of a call that makes a tensor of what was read before: its objects.
FACTOR = 1000
#: What an error and its traceback take, however small the file.
CONSTANT = 1 << 16

ATOMS = (type(None), bool, int, float, complex, str, bytes, bytearray)
LEAVES = (tengen.dtype, tengen.device, tengen.Size, np.ndarray, np.generic, np.dtype, tengen.UntypedStorage)


# -- files -----------------------------------------------------------------------------------


def objects() -> Iterator[Any]:
    """What users save."""
    x = tengen.arange(12.0).reshape(3, 4)
    weight = tengen.ones(2, 2, requires_grad=True)
    x.note = {"kept": [1, 2]}
    yield OrderedDict(weight=weight, bias=tengen.zeros(2))
    yield [x, x.t(), x[1:, ::2], x[0, 0], x[:0], x.expand(2, 3, 4)]
    yield [tengen.tensor([1, 0, 3], dtype=d) for d in dict.fromkeys(tengen.dtype.registry.values())]
    yield {
        "meta": tengen.zeros(2, 3, device="meta").t(),
        "on": tengen.device("cpu", 0),
        3: tengen.Size([2, 0]),
    }
    yield [
        1,
        -1,
        1 << 40,
        -(1 << 300),
        1.5,
        1 - 2j,
        "ä€𝄞\ud800",
        b"bytes",
        bytearray(b"more"),
        None,
        True,
        False,
    ]
    yield [{1, 2}, frozenset({"a", (1, 2)}), set(), (), (1,), ((1, 2), (3, 4, 5, 6)), defaultdict(None, a=1)]
    yield [
        np.arange(6.0).reshape(2, 3).T,
        np.float32(2),
        np.int64(3),
        np.array(["ab", "c"]),
        np.array([True, False]),
    ]
    yield [np.zeros(2, ">i2"), np.array([b"x"]), np.zeros((0, 3)), np.array(1j), np.bool_(True), np.str_("s")]
    own: list[Any] = [[]]
    own.append((own, own))
    yield own
    made = tengen.optim.Adam([weight], lr=0.1)
    weight.sum().backward()
    made.step()
    yield made.state_dict()


def program(x: Any) -> Any:
    """Something to trace: with bodies, constants, writes, and results in containers."""
    y = x.clone()
    y[0].mul_(3)
    h = tengen.nn.functional.layer_norm(y.relu(), (2,)).to(
        tengen.float64, memory_format=tengen.contiguous_format
    )
    return {"sum": h.sum(), "parts": [h.t(), tengen.cat([h, h], 1)[:, ::2]]}


Case = tuple[bytes, Callable[[Any], Any]]


def corpus() -> list[Case]:
    """The files, and what loads each."""
    found: list[Case] = []
    for value in objects():
        for protocol in (2, 3, 4, 5):
            file = io.BytesIO()
            tengen.save(value, file, pickle_protocol=protocol)
            found.append((file.getvalue(), tengen.load))
    traced = tengen.jit.trace(program, (tengen.ones(3, 2),), check_trace=False)
    for protocol in (2, 5):
        file, again = io.BytesIO(), io.BytesIO()
        traced.save(file)
        tengen.save(tengen.load(io.BytesIO(file.getvalue())), again, pickle_protocol=protocol)
        found.append((again.getvalue(), tengen.jit.load))
    return found


# -- mutations -------------------------------------------------------------------------------

OPCODES = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]
NAMES = [
    f"c{module}\n{name}\n".encode()
    for module, names in {
        "torch": "Tensor Size device load float32 bool FloatStorage",
        "torch._utils": "_rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_parameter _rebuild_sparse_tensor",
        "torch._tensor": "_rebuild_from_type_v2",
        "torch.serialization": "_get_layout load",
        "torch.storage": "UntypedStorage",
        "numpy": "ndarray dtype load",
        "numpy._core.multiarray": "_reconstruct scalar",
        "collections": "OrderedDict defaultdict",
        "builtins": "eval getattr bytearray set complex",
        "os": "system",
    }.items()
    for name in names.split()
]
PIECES = [
    *(
        b"}X\x07\x00\x00\x00__add__Nsb",
        b"(N}X\x04\x00\x00\x00sizeNstb",
        b")R",
        b")\x81",
        b"\x85R",
        b"Nb",
        b"}b",
    ),
    *(
        b"\x8a\x08" + b"\xff" * 7 + b"\x7f",
        b"J\xff\xff\xff\xff",
        b"\x8b\xff\xff\xff\x7f",
        b"r\xff\xff\xff\xff",
    ),
    *(b"\x8e\x00\x00\x00\x00\x00\x01\x00\x00", b"\x96" + b"\xff" * 7 + b"\x7f", b"X\x00\x00\x00\x40"),
    *(b"U\x06numpy.", b"V__class__\n", b"I1\n", b"h\x00", b"h\x01R", b"\x82\x01"),
    *(b"0", b"1", b"2", b"\x94", b"]", b"a", b"s", b"e", b"u", b"Q"),
]


def opcode_starts(data: bytes) -> list[int]:
    """Where the opcodes of a file begin."""
    return [position for _, _, position in pickletools.genops(data) if position is not None]


class Mutations:
    """What is done to a file; each takes a pickle, or the bytes of an archive, and returns others."""

    def __init__(self, rng: random.Random, files: list[Case]) -> None:
        self.rng = rng
        self.records = {data: records(data) for data, _ in files}
        self.texts = [found["data.pkl"] for found in self.records.values()]
        self.starts = {text: opcode_starts(text) for text in self.texts}
        self.small = [self.byte, self.flip, self.insertion, self.deletion, self.number]
        self.large = [self.opcode, self.without, self.twice, self.exchange, self.piece, self.splice, self.end]

    def __call__(self, data: bytes) -> bytes:
        """The file after mutations of its pickle, in an archive that is whole, or of the archive."""
        if self.rng.random() < 0.3:
            return self.rng.choice([*self.small, self.end])(data)
        found = dict(self.records[data])
        return archive(self.text(found.pop("data.pkl")), found)

    def text(self, data: bytes) -> bytes:
        """A pickle after one mutation of its opcodes, some of its bytes, or both."""
        rng = self.rng
        if rng.random() < 0.6:
            data = rng.choice(self.large)(data)
        for _ in range(rng.choice((0, 1, 1, 2, 5))):
            data = rng.choice(self.small)(data)
        return data

    def place(self, data: bytes) -> int:
        return self.rng.randrange(len(data)) if data else 0

    def byte(self, data: bytes) -> bytes:
        at = self.place(data)
        return data[:at] + self.rng.randbytes(1) + data[at + 1 :]

    def flip(self, data: bytes) -> bytes:
        at = self.place(data)
        return data[:at] + bytes([b ^ 1 << self.rng.randrange(8) for b in data[at : at + 1]]) + data[at + 1 :]

    def insertion(self, data: bytes) -> bytes:
        at = self.place(data)
        return data[:at] + self.rng.randbytes(self.rng.randrange(1, 9)) + data[at:]

    def deletion(self, data: bytes) -> bytes:
        at = self.place(data)
        return data[:at] + data[at + self.rng.randrange(1, 9) :]

    def number(self, data: bytes) -> bytes:
        """One of the numbers at which things go wrong, in four bytes."""
        at = self.place(data)
        value = self.rng.choice((0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF))
        return data[:at] + value.to_bytes(4, "little") + data[at + 4 :]

    def span(self, data: bytes) -> tuple[int, int]:
        """Where one of the opcodes of an unchanged file begins and ends."""
        starts = [*self.starts[data], len(data)]
        number = self.rng.randrange(len(starts) - 1)
        return starts[number], starts[number + 1]

    def opcode(self, data: bytes) -> bytes:
        start, _ = self.span(data)
        return data[:start] + self.rng.choice(OPCODES) + data[start + 1 :]

    def without(self, data: bytes) -> bytes:
        start, end = self.span(data)
        return data[:start] + data[end:]

    def twice(self, data: bytes) -> bytes:
        start, end = self.span(data)
        return data[:end] + data[start:end] * self.rng.choice((1, 1, 2, 50)) + data[end:]

    def exchange(self, data: bytes) -> bytes:
        """One opcode, with what belongs to it, in the place of another."""
        start, end = self.span(data)
        other = self.rng.choice(self.texts)
        first, last = self.span(other)
        return data[:start] + other[first:last] + data[end:]

    def piece(self, data: bytes) -> bytes:
        start, end = self.span(data)
        return data[:start] + self.rng.choice(NAMES + PIECES) + data[self.rng.choice((start, end)) :]

    def splice(self, data: bytes) -> bytes:
        """The beginning of one file and the end of another."""
        other = self.rng.choice(self.texts)
        return data[: self.span(data)[0]] + other[self.span(other)[0] :]

    def end(self, data: bytes) -> bytes:
        return data[: self.place(data)]


# -- checks ----------------------------------------------------------------------------------


def parts(found: Any) -> list[Any]:
    """Everything that can be reached; AssertionError for what is of no allowed type."""
    reached, seen = [found], set()
    for value in reached:
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind = type(value)
        if kind in (list, tuple, set, frozenset):
            reached += value
        elif kind in (dict, OrderedDict, defaultdict):
            reached += [*value, *value.values(), *getattr(value, "__dict__", {}).values()]
            assert getattr(value, "default_factory", None) in (None, OrderedDict)
        elif kind is tengen.Tensor:
            reached += vars(value).values()
            assert not value.requires_grad or value.is_leaf
        else:
            assert kind in ATOMS or isinstance(value, LEAVES), kind
            assert not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind in "biufcSU", (
                value.dtype
            )
    return reached


def use(found: Any) -> None:
    """Look at what was loaded, and print it."""
    if isinstance(found, tengen.jit.TracedFunction):
        assert found.code and str(found.inlined_graph)
        return
    reached = parts(found)
    tensors = [value for value in reached if isinstance(value, tengen.Tensor)]
    if max([t.numel() for t in tensors], default=0) < 1000:  # one element may be expanded to any number
        for tensor in tensors:
            tensor.to(tengen.complex128).sum()  # of every dtype
        repr(found)


def attributes() -> dict[tuple[str, str], object]:
    """The attributes of the classes and functions that a file could reach, and of the public modules."""
    owners: list[Any] = [
        builtins,
        collections,
        pickle,
        np,
        sys,
        tengen,
        np.ndarray,
        OrderedDict,
        np.dtype,
        dict,
    ]
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == "tengen"]:
        owners += [v for v in vars(module).values() if isinstance(v, (type, types.FunctionType))]
    return {
        (repr(owner), name): value
        for owner in owners
        for name, value in vars(owner).items()
        if not name.startswith("__") or callable(value)
    }


def try_one(data: bytes, load: Callable[[Any], Any]) -> bool:
    """Load one file. Whether it loaded; AssertionError for what must not be."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        found = load(io.BytesIO(data))
    except pickle.UnpicklingError:
        return False
    except EOFError:
        assert not data
        return False
    finally:
        used = tracemalloc.get_traced_memory()[1] - before
        assert used <= FACTOR * len(data) + CONSTANT, f"{used} bytes for a file of {len(data)}"
    use(found)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--keep", type=Path, default=Path("mutated.bin"), help="where a file that fails is kept"
    )
    options = parser.parse_args()
    files, rng = corpus(), random.Random(options.seed)
    mutate, loaded = Mutations(rng, files), 0
    tracemalloc.start()
    for data, load in files:
        assert try_one(data, load)
    before = attributes()
    for number in range(options.count):
        data, load = rng.choice(files)
        changed = mutate(data)
        try:
            loaded += try_one(changed, load)
        except BaseException:
            options.keep.write_bytes(changed)
            print(f"{load.__module__}.load, file {number} of seed {options.seed}, kept in {options.keep}:")
            raise
    after = attributes()
    changes = [key for key in before if after.get(key, before) is not before[key]]
    assert not changes and before.keys() == after.keys(), changes or before.keys() ^ after.keys()
    refused = options.count - loaded
    print(f"{options.count} files of seed {options.seed}: {loaded} loaded, {refused} were refused")


if __name__ == "__main__":
    main()
