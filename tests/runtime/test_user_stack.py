"""The program's frames are told from the library's in one way, by everything that shows places."""

from __future__ import annotations

import ast
import contextlib
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tengen
import tengen.generated.functions
from tengen.autograd import profiler
from tengen.core.user_stack import program_frames
from tengen.utils.checkpoint_debug import OperatorLog


def in_module(name: str, call: Any) -> Any:
    """``call`` called by a function of a module of that name, which lies anywhere."""
    module = types.ModuleType(name)
    exec("def run(call):\n    return call()", module.__dict__)
    return module.run(call)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("tengen", False),
        ("tengen.generated.functions", False),
        ("contextlib", False),
        ("functools", False),
        ("tengen_extras", True),
        ("program.tengen", True),
    ],
)
def test_frames_belong_to_modules(name: str, shown: bool) -> None:
    modules = in_module(name, lambda: [frame.f_globals["__name__"] for frame in program_frames()])
    assert modules[0] == __name__
    assert (name in modules) == shown


def test_a_frame_without_a_module_is_the_programs() -> None:
    space: dict[str, Any] = {"__name__": None}
    exec("def run(call):\n    return call()", space)
    assert space["run"](lambda: sum(frame.f_globals is space for frame in program_frames())) == 1


def anomaly() -> str:
    with warnings.catch_warnings(), tengen.autograd.detect_anomaly():
        return "".join(tengen.ones(2, requires_grad=True).tanh().grad_fn.metadata["traceback_"])


def traced() -> str:
    graph = tengen.jit.trace(lambda x: x.tanh(), (tengen.ones(2),)).graph
    return " ".join(str(node.source) for node in graph.nodes)


def checkpointed() -> str:
    with OperatorLog() as log:
        tengen.ones(2).tanh()
    return log.text()


def profiled() -> str:
    with profiler.profile(with_stack=True) as made:
        tengen.ones(2).tanh()
    return " ".join(str(place) for event in made.function_events for place in event.stack)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("shows", [anomaly, traced, checkpointed, profiled])
def test_places_are_the_programs(shows: Any) -> None:
    """None is of the library, that is generated/ neither."""
    text = shows()
    assert Path(__file__).name in text
    for module in (tengen, tengen.generated.functions):
        assert str(Path(module.__file__).parent) not in text


def test_warnings_point_at_the_program() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable") as caught:
        tengen.from_numpy(array)
    assert caught[0].filename == __file__


RUNTIME = Path(tengen.__file__).parent


@pytest.mark.parametrize("path", sorted(RUNTIME.rglob("*.py")), ids=lambda p: str(p.relative_to(RUNTIME)))
def test_nobody_counts_the_frames_of_a_warning(path: Path) -> None:
    """How many are the library's depends on the way a call took."""
    calls = [
        n
        for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "warnings.warn"
    ]
    counted = [
        ast.unparse(call)
        for call in calls
        if all(k.arg != "stacklevel" or isinstance(k.value, ast.Constant) for k in call.keywords)
    ]
    assert not counted


class Passing(tengen.overrides.TengenFunctionMode):
    """Puts frames between a call and what it runs."""

    def __tengen_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def of_a_loss() -> None:
    tengen.nn.functional.mse_loss(tengen.ones(2), tengen.ones(1))


def of_softmax() -> None:
    tengen.nn.functional.softmax(tengen.ones(2))


def of_a_resized_output() -> None:
    tengen.mul(tengen.ones(2), 2, out=tengen.ones(1))


def of_a_copied_tensor() -> None:
    tengen.tensor(tengen.ones(2))


@pytest.mark.parametrize("warns", [of_a_loss, of_softmax, of_a_resized_output, of_a_copied_tensor])
@pytest.mark.parametrize("modes", [0, 1, 2])
def test_modes_do_not_move_a_warning(warns: Any, modes: int) -> None:
    with contextlib.ExitStack() as stack, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(modes):
            stack.enter_context(Passing())
        warns()
    program = Passing.__tengen_function__ if modes else warns  # a mode is a part of the program
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, program.__code__.co_firstlineno + 1)}
