"""Calls of all operators in several sizes, and the bits of their results; as a program it prints them."""

from __future__ import annotations

import functools
import json
import sys
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import tengen
from tengen.testing import declared, sizes
from tengen.testing.samples import Call, strided

#: A length, and what the other sizes are then: of a few elements, of more than are added at once, and of so
#: many that work is cut into blocks.
SHAPES = ((37, 5), (1031, 7), (8209, 9))


def float_kind(name: str) -> Any:
    """float32 where an operator has it, else float64; None without either, and for random results."""
    operator = declared.operators()[name]
    if not declared.deterministic(operator) or not declared.has_values(operator) or declared.writes(operator):
        return None
    has = declared.dtypes_of(operator) or [tengen.float32]
    return next((k for k in (tengen.float32, tengen.float64) if k in has), None)


@functools.cache
def calls_of(name: str) -> tuple[Call, ...]:
    """The first samples of an operator that have sizes, in larger ones."""
    return tuple(_calls_of(name))


def _calls_of(name: str) -> Iterator[Call]:
    operator, kind = declared.operators()[name], float_kind(name)
    if kind is None or declared.aliases(operator):
        return
    few = [c for c in declared.calls(name) if c.takes(kind) and sizes.sizes_of(c)]
    if operator.tags & {"pointwise", "elementwise"}:  # which do with each element the same
        few, shapes = few[:1], SHAPES[-1:]
    else:
        few = few[: 2 if "reduction" in operator.tags else 1]
        shapes = SHAPES[:1] if "factorization" in operator.tags or name.startswith("linalg") else SHAPES
    for call in few:
        for long, short in shapes:
            for ways in sizes.shaped(call, long, short):
                found = sizes.first_working(ways, kind)
                if found is not None:
                    yield found


def aligned(array: Any, offset: int = 0) -> Any:
    """A tensor of these values that begins ``offset`` elements after a multiple of 64 bytes."""
    memory = np.empty(array.nbytes + 64 + offset * array.itemsize, np.uint8)
    start = -memory.ctypes.data % 64 + offset * array.itemsize
    view = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return tengen.from_numpy(view)


def bits(result: Any) -> list[int]:
    """What the bits of each tensor of a result add up to, all NaN being alike."""
    found = []
    for t in declared.flat(result):
        array = np.ascontiguousarray(t.detach().numpy())
        if array.dtype.kind in "fc":
            array = np.where(array == array, array, array.dtype.type(np.nan))
        found.append(zlib.crc32(array.tobytes()))
    return found


def computed(name: str, call: Call, make: Any = aligned) -> list[int]:
    """The bits of what an operator makes of a call."""
    return bits(declared.run(name, call.tensors(float_kind(name), make=make)))


def table(names: list[str]) -> dict[str, list[list[int]]]:
    """The bits of all calls of operators, for contiguous inputs and for those that are not."""
    return {
        f"{name}({c.text})": [computed(name, c, strided), computed(name, c)]
        for name in names
        for c in calls_of(name)
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(table(list(declared.operators())[::-1])))
    sys.exit(0)
