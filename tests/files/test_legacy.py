"""Files as PyTorch wrote them before 1.6."""

from __future__ import annotations

import contextlib
import io
import pickle
import struct

import pytest
from legacy import MAGIC, content, legacy, storage, tensor

import tengen

NUMBERS = struct.pack("<2f", 1.5, -2)
FILE = legacy(tensor(storage()), ["7"], content(2, NUMBERS))
BOOLS = tensor(storage("BoolStorage"))


def load(data: bytes, weights_only: bool = True) -> tengen.Tensor:
    found: tengen.Tensor = tengen.load(io.BytesIO(data), weights_only=weights_only)
    return found


@pytest.mark.parametrize("weights_only", [True, False])
def test_what_is_read(weights_only: bool) -> None:
    assert load(FILE, weights_only).tolist() == [1.5, -2]
    assert load(legacy(BOOLS, ["7"], content(2, b"\0\1")), weights_only).tolist() == [False, True]
    storages = b"\x80\2(" + storage() + storage() + storage("storage\nUntypedStorage", "8", 3) + b"t."
    storages = storages.replace(b"ctorch\nstorage\n", b"ctorch.storage\n")
    data = legacy(storages, ["8", "7"], content(3, b"\1\2\3"), content(2, NUMBERS))
    one, two, three = tengen.load(io.BytesIO(data), weights_only=weights_only)
    assert one.tolist() == [1.5, -2] and one.untyped() is two.untyped() and three.tolist() == [1, 2, 3]


def test_several_in_one_stream() -> None:
    stream = io.BytesIO(b"before" + FILE + legacy(b"\x80\2K\5.", []) + b"behind")
    stream.seek(6)
    assert tengen.load(stream).tolist() == [1.5, -2] and tengen.load(stream) == 5
    assert stream.read() == b"behind"


def test_where_storages_go() -> None:
    assert tengen.load(io.BytesIO(FILE), map_location="meta").device.type == "meta"
    seen = []
    tengen.load(io.BytesIO(FILE), map_location=lambda held, place: seen.append((held.tolist(), place)))
    assert seen == [(list(NUMBERS), "cpu")]


REFUSED = {
    "another format": (legacy(tensor(storage()), ["7"], version=1002), "another version than 1001"),
    "a pickle with the number in it": (
        pickle.dumps([MAGIC]),
        "something else",
    ),
    "more elements than bytes": (legacy(tensor(storage()), ["7"], content(3, NUMBERS)), "over its end"),
    "more than there are addresses": (legacy(tensor(storage()), ["7"], content(1 << 62, NUMBERS)), "its end"),
    "fewer than none": (legacy(tensor(storage()), ["7"], content(-1, NUMBERS)), "over its end"),
    "another number of elements": (
        legacy(tensor(storage()), ["7"], content(1, NUMBERS)),
        "one of 2 elements",
    ),
    "a storage that is not listed": (legacy(tensor(storage()), []), "lists other storages"),
    "a storage that is not named": (legacy(b"\x80\2K\1.", ["7"], content(2, NUMBERS)), "lists other"),
    "keys that are none": (legacy(tensor(storage()), [7], content(2, NUMBERS)), "lists other"),
    "one of two sizes": (
        legacy(b"\x80\2" + storage() + storage("HalfStorage") + b"\x86.", ["7"], content(2, NUMBERS)),
        "elements of different sizes",
    ),
    "a part of another": (legacy(tensor(storage(view=b"K\1")), ["7"], content(2, NUMBERS)), "whole storage"),
    "a bool of 2": (legacy(BOOLS, ["7"], content(2, b"\0\2")), "bool"),
    "code": (legacy(b"\x80\2cos\nsystem\nX\1\0\0\0x\x85R.", []), "names os.system, which is not allowed"),
    "code among the keys": (
        legacy(b"\x80\2K\1.", [])[: -len(pickle.dumps([], 2))] + b"\x80\2cos\nsystem\nX\1\0\0\0x\x85R.",
        "names os.system, which is not allowed",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    data, text = REFUSED[case]
    with pytest.raises(pickle.UnpicklingError, match=f"^load: .*{text}"):
        load(data)


def test_every_beginning_of_a_file() -> None:
    assert all(refused(FILE[:count]) for count in range(1, len(FILE)))


def refused(data: bytes) -> bool:
    try:
        load(data)
    except pickle.UnpicklingError:
        return True
    return False


def test_a_flipped_bit_is_refused_or_changes_numbers() -> None:
    for at in range(len(FILE) - len(NUMBERS)):
        for bit in range(8):
            data = bytearray(FILE)
            data[at] ^= 1 << bit
            with contextlib.suppress(pickle.UnpicklingError):
                load(bytes(data))
