"""Every native kernel in other layouts: what it computes does not depend on where its operands lie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernel_arrays import INDICES, NAMES, arrays_of

from tengen.generated import kernels as tables
from tengen.kernels.native_kernels import kernels
from tengen.machine_code.tables import Kernel

ROWS = 13
#: Of sums of 70 float64s in another order; what is read from another place is off by about one.
TOLERANCE = 1e-9


@pytest.fixture(autouse=True)
def native() -> None:
    if kernels.tanh is None:
        pytest.skip("no native kernels")


def kernel_of(name: str) -> Kernel:
    return Kernel(name, *tables.KERNELS[name])


def run(name: str, operands: list[Any], out: list[Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        getattr(kernels, name)(*operands, out=tuple(out))
    return out


def strided(array: Any) -> Any:
    """The same elements, of each dimension every third, with others between them."""
    if not array.ndim:
        return array
    memory = np.ones([3 * n for n in array.shape], array.dtype)
    memory[tuple([slice(None, None, 3)] * array.ndim)] = array
    return memory[tuple([slice(None, None, 3)] * array.ndim)]


def in_other_layouts(operands: list[Any], out: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """One operand or result after the other strided, and all of them; the results are copies."""
    every = [*operands, *out]
    for which in [*[{i} for i in range(len(every))], set(range(len(every)))]:
        made = [strided(a) if i in which else a.copy() for i, a in enumerate(every)]
        yield made[: len(operands)], made[len(operands) :]


@pytest.mark.parametrize("name", NAMES)
def test_strides_do_not_matter(name: str) -> None:
    kernel = kernel_of(name)
    scalar = "float64" if "float64" in kernel.scalars else kernel.scalars[0]
    operands, out = arrays_of(kernel, scalar, (ROWS,))
    expected = run(name, operands, [o.copy() for o in out])
    for given, into in in_other_layouts(operands, out):
        for a, b in zip(run(name, given, into), expected, strict=True):
            scale = np.max(np.abs(b), initial=1, where=np.isfinite(b)) if b.dtype.kind == "f" else 1
            np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * scale)


@pytest.mark.parametrize("name", [n for n in NAMES if not tables.KERNELS[n][2]])
def test_a_number_is_every_element(name: str) -> None:
    """Of elementwise kernels, in the place of each operand: as if it were repeated."""
    kernel = kernel_of(name)
    for scalar in kernel.scalars:
        operands, out = arrays_of(kernel, scalar, (ROWS,))
        for i, operand in enumerate(operands):
            one = operand.reshape(-1)[0]
            rest = operands[:i], operands[i + 1 :]
            expected = run(name, [*rest[0], np.full_like(operand, one), *rest[1]], [o.copy() for o in out])
            found = run(name, [*rest[0], one, *rest[1]], [o.copy() for o in out])
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)


def index_of(name: str) -> list[int]:
    """The numbers of the operands that are indices into tables."""
    inputs, text = kernel_of(name).inputs, tables.KERNELS[name][3]
    picked = set(re.findall(r"\[(\w+)\]", text))
    return [
        i
        for i, operand in enumerate(inputs)
        if operand.endswith(":int64") and re.split(r"\W", operand, maxsplit=1)[0] in picked
    ]


@pytest.mark.parametrize("name", [n for n in NAMES if index_of(n)])
@pytest.mark.parametrize("wrong", [-1, 9999, -(1 << 40), 1 << 40])
def test_indices_out_of_range_are_zero(name: str, wrong: int) -> None:
    """Nothing is read or written beside a table, whoever has to say that the index is wrong."""
    kernel = kernel_of(name)
    operands, out = arrays_of(kernel, kernel.scalars[0], (ROWS,))
    safe = list(operands)
    for i, operand in enumerate(operands):
        if i in index_of(name):
            operand.reshape(-1)[::3] = wrong
            safe[i] = np.where(operand == wrong, 0, operand)
        elif operand.dtype == np.int64:
            operand[...] = INDICES  # another number than each index, which says what is left out
    expected, found = run(name, safe, [o.copy() for o in out]), run(name, operands, [o.copy() for o in out])
    for a, b in zip(found, expected, strict=True):
        if a.dtype != np.bool_:  # which say where one is wrong
            np.testing.assert_array_equal(a, b)
