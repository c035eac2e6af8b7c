"""The bytes that storages are made of: those of a buffer, and those of a file."""

from __future__ import annotations

import mmap
import os
import sys
from typing import Any

import numpy as np

from .scalar_type import dtype

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_ORDERS = ("big", "little", "native")


def swapped(content: Bytes, scalar_type: dtype) -> Bytes:
    """The bytes of as many elements of a dtype, each in the other order: of complex ones each part."""
    width = scalar_type.itemsize // (2 if scalar_type.is_complex else 1)
    return content.reshape(-1, width)[:, ::-1].reshape(-1)


def of_buffer(buffer: Any, byte_order: str | None, count: int, offset: int, scalar_type: dtype) -> Bytes:
    """A copy of the elements of a buffer, from the byte ``offset`` on; all of them for a ``count`` of -1.

    Errors are those of ``UntypedStorage.from_buffer``.
    """
    step = scalar_type.itemsize
    if byte_order is None and step > 1:
        raise RuntimeError("from_buffer(): byte_order must be given for elements of several bytes")
    if byte_order is not None and byte_order not in _ORDERS:
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    content: Bytes = np.frombuffer(memoryview(buffer).tobytes(), np.uint8)
    length = len(content)
    if not 0 <= offset <= length:
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({length}), but got {offset}"
        )
    if count < 0 and (length - offset) % step:
        raise ValueError(f"buffer size ({length - offset}) must be a multiple of element size ({step})")
    stop = length if count < 0 else offset + count * step
    if stop > length:
        raise ValueError(
            f"buffer has only {(length - offset) // step} elements after offset {offset}, but specified a "
            f"size of {count}"
        )
    found = content[offset:stop]
    made: Bytes = found.copy()
    if scalar_type.category == "bool":
        made = (found != 0).astype(np.uint8)
    elif byte_order not in (None, "native", sys.byteorder):
        made = swapped(found, scalar_type)
    return made


def of_file(filename: str, shared: bool, size: int) -> Bytes:
    """So many bytes of a file, mapped into memory: where ``shared``, what is written is written to it.

    A file that is shared and too short, or not there, is made as long. Errors are those of
    ``UntypedStorage.from_file``.
    """
    if not isinstance(filename, (str, os.PathLike)):
        raise TypeError(f"from_file(): argument 'filename' must be str, not {type(filename).__name__}")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise RuntimeError(f"from_file(): size must be a number of elements, but got {size!r}")
    mode = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        number = os.open(filename, mode | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        how = "read-write" if shared else "read-only"
        raise RuntimeError(f"unable to open file <{filename}> in {how} mode: {error}") from error
    try:
        length = os.fstat(number).st_size
        if length < size and not shared:
            raise RuntimeError(
                f"file <{filename}> size <{length}> is smaller than the required mapping size <{size}>"
            )
        if length < size:
            os.ftruncate(number, size)
        if not size:  # which cannot be mapped
            return np.empty(0, np.uint8)
        memory = mmap.mmap(number, size, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(number)
    return np.frombuffer(memory, np.uint8)
