"""Threads that need no interpreter: every kernel gives in shares what it gives in one call, bit for bit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from in_threads import in_threads
from kernel_arrays import NAMES, arrays_of, numbers, rng

import tengen
from tengen.fast_paths import run_shares
from tengen.generated import kernels as tables
from tengen.kernels.native_kernels import kernels
from tengen.machine_code.tables import Kernel

ROWS = 13


@pytest.fixture(autouse=True)
def shares(threads_kept: None) -> None:
    if kernels.tanh is None:
        pytest.skip("no native kernels")
    if not shared(kernels.tanh, (np.ones(64, np.float32), np.empty(64, np.float32))):
        pytest.skip("no threads of the C machine's on this platform")


def shared(kernel: Any, operands: tuple[Any, ...], dim: int = 0, share: int = 1, threads: int = 3) -> bool:
    return run_shares(kernel, operands, dim, share, threads)


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel(name: str) -> None:
    kernel, function = Kernel(name, *tables.KERNELS[name]), getattr(kernels, name)
    for scalar in kernel.scalars:
        operands, out = arrays_of(kernel, scalar, (ROWS,))
        expected = [o.copy() for o in out]
        function(*operands, out=tuple(expected))
        for share in (1, 5, ROWS):
            found = [o.copy() for o in out]
            assert shared(function, (*operands, *found), 0, share)
            for a, b in zip(found, expected, strict=True):
                assert a.tobytes() == b.tobytes()


#: Those over columns, of which some give a result for each element, too.
COLUMNS = [
    n
    for n in NAMES
    if (signature := tables.KERNELS[n][2]).startswith("(m,n)") and signature.endswith(("->(n)", ",(n)"))
]


@pytest.mark.parametrize("name", [*COLUMNS, "sum_in_columns"])
def test_columns(name: str) -> None:
    kernel, function = Kernel(name, *tables.KERNELS[name]), getattr(kernels, name)
    operands, out = arrays_of(kernel, "float32", ())
    expected, found = [o.copy() for o in out], [o.copy() for o in out]
    function(*operands, out=tuple(expected))
    assert shared(function, (*operands, *found), ~1, 8)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def layouts() -> dict[str, Any]:
    x = numbers((6, 4, 5), "float32")
    return {
        "contiguous": x,
        "transposed": numbers((5, 4, 6), "float32").T,
        "moved": numbers((4, 6, 5), "float32").transpose(1, 0, 2),
        "reversed": x[::-1, :, ::-1],
        "strided": numbers((12, 8, 15), "float32")[::2, ::2, ::3],
        "repeated": np.broadcast_to(numbers((6, 1, 5), "float32"), (6, 4, 5)),
        "one for all": numbers((6, 1, 5), "float32"),
        "row": numbers((5,), "float32"),
        "number": np.float32(3),
        "without dimensions": np.array(3, np.float32),
    }


@pytest.mark.parametrize("layout", list(layouts()))
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_elementwise_kernels_of_any_layout(layout: str, dim: int) -> None:
    a, b = layouts()[layout], layouts()["transposed"]
    kernel = kernels.logaddexp
    expected = kernel(a, b, out=...)
    for out in (
        np.empty((6, 4, 5), np.float32),
        np.empty((5, 4, 6), np.float32).T,
        np.empty((6, 4, 5), np.float32)[::-1],
    ):
        for share in (1, 2):
            out[...] = -1
            assert shared(kernel, (a, b, out), dim, share)
            np.testing.assert_array_equal(out, expected)


def test_in_place() -> None:
    x = numbers((1000,), "float64")
    expected = kernels.tanh(x, out=...)
    assert shared(kernels.tanh, (x, x), 0, 7)
    np.testing.assert_array_equal(x, expected)


x = numbers((40,), "float32")
READ_ONLY = numbers((20,), "float32")
READ_ONLY.flags.writeable = False
SWAPPED = np.empty(20, np.dtype(np.float32).newbyteorder())
UNALIGNED = np.empty(81, np.uint8)[1:].view(np.float32)


@pytest.mark.parametrize(
    ("operands", "dim"),
    [
        ((x[:20].astype(np.float64), np.empty(20, np.float32)), 0),
        ((x[:20].astype(np.int64), np.empty(20, np.int64)), 0),
        ((x[:20], np.empty(19, np.float32)), 0),
        ((x[:1], np.empty(20, np.float32)), 1),
        ((x[:20], np.empty(1, np.float32)), 0),
        ((x[:20], x[1:21]), 0),
        ((x[:20], x[19::-1]), 0),
        ((x[:20], READ_ONLY), 0),
        ((x[:20], SWAPPED), 0),
        ((x[:20], UNALIGNED), 0),
        ((x[:0], x[:0]), 0),
        ((x[:20], None), 0),
        ((x[:20].tolist(), np.empty(20, np.float32)), 0),
        ((x[:20],), 0),
        ((x[:20], np.empty(20, np.float32)), -1),
    ],
)
def test_what_numpy_would_convert_copy_or_refuse_is_left_to_it(operands: Any, dim: int) -> None:
    before = [None if o is None else np.array(o) for o in operands]
    assert not shared(kernels.tanh, operands, dim)
    for a, b in zip(operands, before, strict=True):
        assert a is None or np.array_equal(np.array(a), b, equal_nan=True)


def test_sizes_of_named_dimensions_must_agree() -> None:
    g, y = numbers((4, 8), "float32"), numbers((4, 9), "float32")
    assert not shared(kernels.log_softmax_backward_data_of_rows, (g, y, np.empty((4, 8), np.float32)))


def test_other_ufuncs_are_left_to_numpy() -> None:
    assert not shared(np.hypot, (x[:20], x[20:], np.empty(20, np.float32)))


def test_many_callers_at_once() -> None:
    a = numbers((5000,), "float64")
    expected = kernels.tanh(a, out=...)

    def call(_: int) -> None:
        for share in (1, 3, 64, 5000):
            out = np.empty_like(a)
            assert shared(kernels.tanh, (a, out), 0, share)
            np.testing.assert_array_equal(out, expected)

    in_threads(call, range(8))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is not there")
def test_a_forked_child_has_threads_of_its_own() -> None:
    a = numbers((5000,), "float64")
    expected, out = kernels.tanh(a, out=...), np.empty_like(a)
    assert shared(kernels.tanh, (a, out))
    child = os.fork()
    if not child:
        out[...] = 0
        right = shared(kernels.tanh, (a, out)) and np.array_equal(out, expected)
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_operators_give_the_same_bits_with_any_number_of_threads(threads: int) -> None:
    x = tengen.tensor(numbers((64, 2048), "float32"))
    index = tengen.tensor(rng.integers(0, 64, (64, 2048)))
    calls = {
        "gelu": lambda: tengen.nn.functional.gelu(x),
        "gelu of a transposed one": lambda: tengen.nn.functional.gelu(x.t()),
        "softmax": lambda: x.softmax(1),
        "layer_norm": lambda: tengen.nn.functional.layer_norm(x, (2048,)),
        "sum": lambda: x.sum(0),
        "cumsum": lambda: x.cumsum(1),
        "gather": lambda: x.gather(0, index),
        "gather of a vector": lambda: x.view(-1).gather(0, index.view(-1)),
        "scatter_add of a vector": lambda: tengen.zeros(64).scatter_add(0, index.view(-1), x.view(-1)),
        "scatter_add": lambda: tengen.zeros(64, 2048).scatter_add(0, index, x),
        "scatter": lambda: tengen.zeros(64, 2048).scatter(1, index, x),
    }
    for name, call in calls.items():
        tengen.set_num_threads(1)
        expected = call().numpy()
        tengen.set_num_threads(threads)
        assert call().numpy().tobytes() == expected.tobytes(), name
