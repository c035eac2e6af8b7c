"""Files as PyTorch wrote them before 1.6, made by hand."""

from __future__ import annotations

import pickle
import struct
from io import BytesIO
from typing import Any

MAGIC = 0x1950A86A20F9469CFC6C


def legacy(value: bytes, keys: Any, *contents: bytes, magic: int = MAGIC, version: int = 1001) -> bytes:
    """A file of a pickle, the keys of its storages, and of each a count and the bytes."""
    head = [pickle.dumps(part, 2) for part in (magic, version, {"little_endian": True})]
    return b"".join([*head, value, pickle.dumps(keys, 2), *contents])


def content(count: int, data: bytes) -> bytes:
    return struct.pack("<q", count) + data


def storage(kind: str = "FloatStorage", key: str = "7", count: int = 2, view: bytes = b"N") -> bytes:
    """The opcodes of a storage."""
    out = BytesIO()
    out.write(b"(")
    for text in ("storage", None, key, "cpu"):
        if text is None:
            out.write(b"ctorch\n" + kind.encode() + b"\n")
        else:
            out.write(b"X" + struct.pack("<i", len(text)) + text.encode())
    out.write(b"J" + struct.pack("<i", count) + view + b"tQ")
    return out.getvalue()


def tensor(held: bytes) -> bytes:
    """A pickle of a tensor of two elements."""
    return (
        b"\x80\2ctorch._utils\n_rebuild_tensor_v2\n(" + held + b"K\0K\2\x85K\1\x85\x89"
        b"ccollections\nOrderedDict\n)RtR."
    )
