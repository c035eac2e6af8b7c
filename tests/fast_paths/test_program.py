"""Calls of compiled functions: the C machine compares and runs as Python does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import fast_paths

pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")
from tengen.compilation.entries import Entry, Signature, Stage
from tengen.compilation.executable import Failed
from tengen.compilation.function import Compiled
from tengen.compilation.state import MISSING, State

machine = fast_paths.programs()
needs_machine = pytest.mark.skipif(machine is None, reason="NOT TESTED: the C machine is not here")


def compiled(function: Callable[..., Any], *inputs: Any) -> Entry:
    """The entry of a function that was called until its program ran."""
    found = Compiled(function, {})
    for _ in range(3):
        found(*inputs)
    (entry,) = found.entries
    assert entry.stage is Stage.READY, entry.reason
    return entry


#: Tensors that are given in place of a tensor of float32 of shape (3, 4).
OTHERS: dict[str, Callable[[], Any]] = {
    "alike": lambda: tengen.ones(3, 4),
    "transposed": lambda: tengen.ones(4, 3).t(),
    "smaller": lambda: tengen.ones(3, 3),
    "of more dims": lambda: tengen.ones(1, 3, 4),
    "part": lambda: tengen.ones(3, 8)[:, :4],
    "expanded": lambda: tengen.ones(4).expand(3, 4),
    "double": lambda: tengen.ones(3, 4, dtype=tengen.float64),
    "requires grad": lambda: tengen.ones(3, 4, requires_grad=True),
    "parameter": lambda: tengen.nn.Parameter(tengen.ones(3, 4), requires_grad=False),
    "number": lambda: 1.0,
    "array": lambda: np.ones((3, 4), np.float32),
    "none": lambda: None,
    "meta": lambda: tengen.ones(3, 4, device="meta"),
}


@needs_machine
@pytest.mark.parametrize("other", OTHERS)
def test_guards(other: str) -> None:
    first, second = tengen.ones(3, 4), tengen.ones(3, 4)
    signature = Signature((first, second), 2)
    entry = Entry(signature)
    entry.state, entry.stage = State(), Stage.READY
    entry.hold([])
    entry.watch()
    given = OTHERS[other]()
    for leaves in ([given, second], [first, given]):
        assert entry.guard.fits(leaves) is signature.fits(leaves, 2)
    assert entry.guard.fits([first]) is False and entry.guard.fits(first) is False


class Owner:
    number = 1.5


@needs_machine
@pytest.mark.parametrize(
    "change",
    [
        lambda owner, values, table: setattr(owner, "number", 2.5),
        lambda owner, values, table: delattr(owner, "number"),
        lambda owner, values, table: values.append(1),
        lambda owner, values, table: values.__setitem__(0, 2000),
        lambda owner, values, table: table.update(b=1),
        lambda owner, values, table: table.__setitem__("a", 2000),
        lambda owner, values, table: table.clear(),
    ],
)
def test_guards_see_objects(change: Callable[[Any, Any, Any], None]) -> None:
    owner, values, table = Owner(), [1000], {"a": 1000}
    owner.number = 1.25

    def function(x: tengen.Tensor) -> tengen.Tensor:
        return x * owner.number + values[0] + table["a"]

    entry = compiled(function, tengen.ones(2))
    assert entry.state is not None
    assert entry.guard.fits([tengen.ones(2)]) and not entry.changed()
    change(owner, values, table)
    assert not entry.guard.fits([tengen.ones(2)]) and entry.changed()


@needs_machine
def test_what_is_wrong_is_an_error() -> None:
    nothing: tuple[Any, ...] = ()
    for wrong in ([(1, 2, 3)], [({}, "name")]):
        with pytest.raises((TypeError, ValueError)):
            machine.Guard(nothing, tuple(wrong), nothing, nothing, nothing, nothing, nothing, MISSING)
    with pytest.raises(ValueError, match="a tensor is described wrongly"):
        machine.Guard(((0, int, None, True, (1,), (), None),), *[nothing] * 6, MISSING)
    with pytest.raises(ValueError, match="out of bounds"):
        machine.Program(1, ((0, 1, 0),), (), (), 0)
    program = machine.Program(1, ((0, 0, 0),), (), (), 0)
    for given in ((), [1], [None], [tengen.ones(1), 2], tengen.ones(1)):
        with pytest.raises(TypeError):
            program.run(given)
    assert program.run([tengen.ones(1)]) == ()


def steps(entry: Entry) -> Any:
    assert entry.trace is not None
    return entry.trace.executable


@needs_machine
@pytest.mark.parametrize("dtype", [tengen.float32, tengen.float64, tengen.float16, tengen.int64])
def test_programs(dtype: Any) -> None:
    """The same bits by C and by Python, for several outputs, with and without dims, from an arena."""

    def function(x: tengen.Tensor, y: tengen.Tensor) -> Any:
        return x + y, (x * y).sum(), (x - y)[0], x.sum(0, keepdim=True) - x

    x, y = tengen.arange(12).reshape(3, 4).to(dtype), tengen.arange(12, 24).reshape(3, 4).to(dtype)
    executable = steps(compiled(function, x, y))
    if executable._program is None:
        pytest.skip("a step of it is Python's")
    by_machine, by_python = executable([x, y]), executable._by_steps([x._array, y._array])
    for one, other in zip(by_machine, by_python, strict=True):
        array = getattr(one, "_array", one)
        assert array.dtype == other.dtype and array.shape == other.shape
        assert array.tobytes() == other.tobytes()


@needs_machine
def test_an_index_out_of_range_is_told() -> None:
    executable = steps(compiled(lambda x, i: x[i], tengen.arange(5.0), tengen.tensor([1, 4])))
    assert executable._program is not None
    for index in ([1, 5], [-7, 0]):
        with pytest.raises(Failed):
            executable([tengen.arange(5.0), tengen.tensor(index)])
        with pytest.raises(Failed):
            executable._by_steps([np.arange(5, dtype=np.float32), np.array(index)])
