"""Elementwise kernels in blocks: the same bits, dtypes, layouts and errors as the plain call."""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.kernels import blocks
from tengen.kernels.blocks import in_blocks
from tengen.testing import declared
from tengen.testing.samples import Call

GENERATED = [
    importlib.import_module(f"tengen.generated.cpu_{part}") for part in ("types", "variable_types", "nodes")
]
SHAPE = (3, 4, 40)

pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")


class Runs:
    """What was computed in blocks since it was made."""

    def __init__(self) -> None:
        self.blocks: list[int] = []


def cut(size: int, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Let blocks have so many bytes, and threads small shares; what is done in blocks then."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    monkeypatch.setattr(blocks, "GRAIN", size // 16)
    found = Runs()
    original = blocks._Plan.run

    def run(plan: Any, given: int) -> Any:
        found.blocks.append(len(plan.blocks))
        return original(plan, given)

    monkeypatch.setattr(blocks._Plan, "run", run)
    return found


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """What is done in small blocks."""
    return cut(1024, monkeypatch)


@pytest.fixture
def fine_runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """What is done in blocks of which operands of SHAPE have several."""
    return cut(256, monkeypatch)


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest, threads_kept: None) -> int:
    """The number of threads that is set."""
    tengen.set_num_threads(request.param)
    return int(request.param)


def from_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let generated code compute in blocks from so many elements."""
    for module in GENERATED:
        monkeypatch.setattr(module, "LARGE", size)


def same(a: Any, b: Any) -> bool:
    """Whether arrays, or tuples of them, have the same bits, dtype and layout."""
    if a.__class__ is tuple or a is None:
        return a.__class__ is b.__class__ and (a is None or all(map(same, a, b)))
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and (a.strides == b.strides or a.size == 0)
        and a.tobytes() == b.tobytes()
    )


def alike(plain: Any, blocked: Any) -> bool:
    """Whether two outcomes are the same error or the same arrays."""
    return bool(blocked == plain if isinstance(plain[0], type) else same(plain, blocked))


# -- every operator --------------------------------------------------------------------------


#: By name: what makes the operand of a number from a contiguous array of SHAPE.
LAYOUTS: dict[str, Callable[[np.ndarray, int], Any]] = {
    "contiguous": lambda a, i: a,
    "transposed": lambda a, i: np.ascontiguousarray(a.transpose(2, 0, 1)).transpose(1, 2, 0),
    "strided": lambda a, i: np.repeat(a, 2, axis=2)[:, :, ::2],
    "mixed": lambda a, i: np.asfortranarray(a) if i % 2 else a,
    "rows": lambda a, i: a[:, :, :1] if i % 2 else a,
    "columns": lambda a, i: a[0, 0] if i % 2 else a,
    "first is less": lambda a, i: a[:1, :, :1] if i == 0 else a,
    "expanded": lambda a, i: np.broadcast_to(a[:1], a.shape),
    "outer": lambda a, i: a[:, :1] if i % 2 else a[0],
    "numbers": lambda a, i: a[0, 0, 0] if i % 2 else a,
    "of size one": lambda a, i: a.reshape(SHAPE[0], 1, SHAPE[1], 1, SHAPE[2]).swapaxes(1, 2),
    "empty": lambda a, i: a[:, :0],
    "0-d": lambda a, i: a[0, 0, 0],
    "one element": lambda a, i: a[:1, :1, :1],
}
THREADS = (1, 3)
#: One dtype of each sort.
KINDS = (
    tengen.float32,
    tengen.float64,
    tengen.bfloat16,
    tengen.complex64,
    tengen.int32,
    tengen.uint8,
    tengen.bool,
)


@functools.cache
def elementwise_calls() -> list[str]:
    """The operators whose kernels may be called in blocks, that have samples."""
    return [
        name
        for name, operator in sorted(declared.operators().items())
        if operator.is_elementwise and "CPU" in operator.kernels and declared.deterministic(operator)
    ]


def operands(call: Call, kind: Any, layout: str) -> list[Any]:
    """The call's arguments, tensors made large in a layout."""
    made: list[Any] = []
    arrays = 0
    for value in call.arrays(kind):
        if isinstance(value, np.ndarray):
            value = LAYOUTS[layout](np.resize(value, SHAPE), arrays)
            arrays += 1
        made.append(value)
    return made


def outcome(name: str, values: list[Any]) -> Any:
    """The arrays that an operator gives, or its error."""
    tensors = [tengen.from_numpy(np.asarray(v)) if hasattr(v, "dtype") else v for v in values]
    try:
        found = declared.flat(declared.run(name, tensors))
    except Exception as error:
        return type(error), str(error)
    return tuple(t._array for t in found)


def layouts_of(name: str) -> list[str]:
    """Every second layout, of the one or the other half by the operator's number.

    How a call is cut into blocks depends on its operands, not on its operator.
    """
    return list(LAYOUTS)[elementwise_calls().index(name) % 2 :: 2]


def differing(compute: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """What differs where a call is made in blocks, by one thread and by several; nothing, or a text."""
    from_size(1 << 60, monkeypatch)
    plain = compute()
    from_size(1, monkeypatch)
    for count in THREADS:
        tengen.set_num_threads(count)
        blocked = compute()
        if not alike(plain, blocked):
            return f"{count} threads: {plain} {blocked}"
    return ""


@pytest.mark.parametrize("name", elementwise_calls())
def test_operators(name: str, fine_runs: Runs, threads_kept: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for layout in layouts_of(name):
        for call in declared.calls(name)[:2]:
            for kind in declared.dtypes_of(call.operator):
                if kind not in KINDS or not call.takes(kind):
                    continue
                if layout == "0-d" and kind.is_complex:  # NumPy divides its complex scalars in another way
                    continue
                values = operands(call, kind, layout)
                difference = differing(lambda values=values: outcome(name, values), monkeypatch)
                assert not difference, f"{name} {layout} {kind} {difference}"


def gradients(name: str, values: list[Any], wanted: list[int]) -> Any:
    """The gradients that an operator hands on, or its error."""
    tensors = [tengen.from_numpy(np.asarray(v)) if hasattr(v, "dtype") else v for v in values]
    for i in wanted:
        tensors[i].requires_grad_()
    try:
        found = [t for t in declared.flat(declared.run(name, tensors)) if t.requires_grad]
        # A product in front hands on a gradient that nobody else holds.
        total = sum([(t * t.detach()).sum() for t in found])
        grads = tengen.autograd.grad(total, [tensors[i] for i in wanted], allow_unused=True)
    except Exception as error:
        return type(error), str(error)
    return tuple(None if g is None else g._array for g in grads)


@pytest.mark.parametrize("name", [n for n in elementwise_calls() if n in declared.derived().nodes])
def test_gradients(name: str, fine_runs: Runs, threads_kept: None, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [a.name for a in declared.operators()[name].schema.arguments]
    inputs = [names.index(a.name) for a in declared.derived().nodes[name].inputs]
    for layout in layouts_of(name):
        for call in declared.calls(name)[:2]:
            for kind in (tengen.float32, tengen.float64):
                if kind not in declared.dtypes_of(call.operator) or not call.takes(kind):
                    continue
                values = operands(call, kind, layout)
                floating = [i for i in inputs if isinstance(values[i], np.ndarray | np.generic)]
                floating = [i for i in floating if values[i].dtype == kind.array_dtype]
                for wanted in [floating, *[[i] for i in floating if len(floating) > 1]]:
                    before = [np.array(v) for v in values if hasattr(v, "dtype")]
                    difference = differing(
                        lambda values=values, wanted=wanted: gradients(name, values, wanted), monkeypatch
                    )
                    assert not difference, f"{name} {layout} {kind} {wanted} {difference}"
                    after = [v for v in values if hasattr(v, "dtype")]
                    assert all(
                        np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after, strict=True)
                    )


# -- the function itself -----------------------------------------------------------------------


def test_large_operands_are_cut(runs: Runs, threads: int) -> None:
    x = np.random.default_rng(0).standard_normal((40, 30, 20)).astype(np.float32)
    assert same(in_blocks(np.hypot, x, 2.0 * x), np.hypot(x, 2.0 * x))
    assert same(in_blocks(lambda a, b: a + b * b, x, x[:, :, 3:4]), x + x[:, :, 3:4] * x[:, :, 3:4])
    assert same(in_blocks(lambda a, b: a + b, x.T, x.T), x.T + x.T)
    assert len(runs.blocks) == (2 if threads == 1 else 3)  # one function alone is worth it in threads only
    assert min(runs.blocks) > 50


def test_every_thread_takes_blocks(runs: Runs, threads_kept: None) -> None:
    tengen.set_num_threads(2)
    meeting = threading.Barrier(2, timeout=60)
    seen: set[threading.Thread] = set()

    def function(x: np.ndarray) -> np.ndarray:
        if len(x) == 256 and threading.current_thread() not in seen and started:
            seen.add(threading.current_thread())
            meeting.wait()
        started.append(1)
        return x + 1

    started: list[int] = []
    x = np.arange(10_000.0, dtype=np.float32)
    assert same(in_blocks(function, x), x + 1)
    assert len(seen) == 2


def test_several_results_and_none(runs: Runs, threads: int) -> None:
    x = np.linspace(-2, 2, 5000)

    def function(a: np.ndarray) -> tuple[Any, ...]:
        return np.floor(a).astype(np.int32), None, a > 0

    assert same(in_blocks(function, x), function(x))
    columns = np.linspace(0, 1, 6000).reshape(60, 100)[:, ::2]
    assert same(in_blocks(function, columns), function(columns))
    assert len(runs.blocks) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x[::-1],
        lambda x: x.T,
        lambda x: x[:1],
        lambda x: x.sum(),
        lambda x: None,
        lambda x: [x],
        lambda x: (x + 1, x),
    ],
)
@pytest.mark.parametrize("layout", ["contiguous", "strided", "expanded"])
def test_what_gives_no_new_array_for_each_element_is_called_plainly(
    function: Callable[..., Any], layout: str, fine_runs: Runs
) -> None:
    x = LAYOUTS[layout](np.arange(np.prod(SHAPE), dtype=np.float64).reshape(SHAPE), 0)
    found, expected = in_blocks(function, x), function(x)
    assert not fine_runs.blocks
    if isinstance(expected, np.ndarray):
        assert same(found, expected)
        assert found.base is expected.base or np.shares_memory(found, x)
    else:
        assert type(found) is type(expected)


def test_operands_without_dimensions(runs: Runs) -> None:
    zero = np.array(3.0)
    assert in_blocks(lambda a, b: a + b, zero, 2) == 5
    x = np.arange(3000.0)
    assert same(in_blocks(lambda a, b, c: a * b + c, x, zero, 1), x * 3 + 1)
    assert len(runs.blocks) == 1


def test_errors_are_those_of_the_whole(runs: Runs, threads: int) -> None:
    x = np.zeros((50, 100))
    x[40, 3] = 1

    def function(a: np.ndarray) -> np.ndarray:
        if a.any():
            raise RuntimeError(f"{np.count_nonzero(a)} of {a.shape}")
        return a + 1

    for a in (x, x[:, ::2], x[:, 1:]):
        try:
            expected = str(function(a))
        except RuntimeError as error:
            expected = str(error)
            with pytest.raises(RuntimeError) as caught:
                in_blocks(function, a)
            assert str(caught.value) == expected
        else:
            assert str(in_blocks(function, a)) == expected
    with pytest.raises(ValueError, match=r"\(50,100\) \(7,\)"):
        in_blocks(lambda a, b: a + b * b, x, np.ones(7))


def test_memory_that_nobody_needs_takes_the_result(runs: Runs, threads: int) -> None:
    x, y = np.arange(5000.0), np.linspace(0, 1, 5000)
    expected = x * (1 - y * y)
    assert in_blocks(lambda a, b: a * (1 - b * b), x, y, into=x) is x
    assert same(x, expected)
    other = np.zeros(5000, np.float32)
    assert in_blocks(lambda a: a * a + 1, y, into=other) is not other
    assert not other.any()
    narrow = np.zeros((10, 500))[:, ::2]
    assert in_blocks(lambda a: a * a + 1, y.reshape(10, 500)[:, ::2], into=narrow) is not narrow
    columns = np.asfortranarray(y.reshape(50, 100))
    expected = columns * columns + 1
    assert in_blocks(lambda a: a * a + 1, columns, into=columns) is columns
    assert same(columns, expected)


def test_what_has_been_written_over_is_not_computed_again(runs: Runs, threads: int) -> None:
    x, lock, calls = np.arange(5000.0), threading.Lock(), []

    def function(a: np.ndarray) -> np.ndarray:
        with lock:
            calls.append(a.shape)
            if len(calls) == 3:
                raise RuntimeError("once")
        return a * a + 1

    with pytest.raises(RuntimeError, match="once"):
        in_blocks(function, x, into=x)
    calls.clear()
    y = np.arange(5000.0)  # where nothing is written over, the whole says what is wrong, or that nothing is
    assert same(in_blocks(function, y), y * y + 1)


def test_scratch_is_given_where_all_is_of_one_dtype(runs: Runs, threads: int) -> None:
    given = []

    def function(a: Any, b: Any, out: Any, s: Any) -> Any:
        given.append(out is not None and s is not None and s.shape == out.shape and s.dtype == out.dtype)
        return np.multiply(a, np.subtract(1, b, out=s), out=out)

    x = np.arange(5000.0)
    assert same(in_blocks(function, x, x, scratch=1), x * (1 - x))
    assert sum(given) == len(given) - 1  # all but the first block, which shows what the result is
    assert given[1:]
    given.clear()
    assert same(in_blocks(function, x, x > 7, scratch=1), x * (1 - (x > 7)))
    assert not any(given)
    assert same(
        in_blocks(function, np.arange(5000), np.arange(5000), scratch=1),
        np.arange(5000) * (1 - np.arange(5000)),
    )
    assert not any(given)
