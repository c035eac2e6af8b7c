"""The program's frames are told from the library's in one way, by everything that shows places."""

from __future__ import annotations

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
