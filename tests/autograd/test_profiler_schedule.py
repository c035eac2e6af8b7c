"""``profiler.profile``: steps, schedules, handlers; the same in tengen and in torch."""

from __future__ import annotations

import gzip
import importlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tengen
from tengen.core import interception


@pytest.fixture
def tp(m: ModuleType) -> ModuleType:
    """tengen.profiler and torch.profiler."""
    return importlib.import_module(f"{m.__name__}.profiler")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Profiler won't be using warmup")
        warnings.filterwarnings("ignore", "Warning: Profiler clears events")
        yield
    assert not interception.active


@pytest.mark.parametrize(
    "numbers",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2},
        {"wait": 0, "warmup": 0, "active": 1},
        {"wait": 0, "warmup": 2, "active": 1, "repeat": 1},
        {"wait": 1, "warmup": 0, "active": 1, "skip_first": 2, "repeat": 1},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 3, "skip_first": 3, "skip_first_wait": 2},
    ],
    ids=str,
)
@pytest.mark.oracle
def test_schedules(numbers: dict[str, int]) -> None:
    theirs = pytest.importorskip("torch").profiler.schedule(**numbers)
    ours = tengen.profiler.schedule(**numbers)
    assert [ours(i).name for i in range(30)] == [theirs(i).name for i in range(30)]


def test_a_cycle() -> None:
    action = tengen.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    names = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    assert [action(i).name for i in range(6)] == names


def test_the_last_cycle() -> None:
    """Without waiting, so that what comes after it is no wait of another cycle."""
    action = tengen.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    names = ["WARMUP", "RECORD_AND_SAVE"] * 2 + ["NONE"] * 4
    assert [action(i).name for i in range(8)] == names


def test_the_first_wait_is_left_out() -> None:
    numbers = {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "repeat": 2}
    cycle = ["NONE", "NONE", "WARMUP", "RECORD_AND_SAVE"]
    action = tengen.profiler.schedule(**numbers)
    assert [action(i).name for i in range(11)] == ["NONE", *cycle, *cycle, "NONE", "NONE"]
    action = tengen.profiler.schedule(**numbers, skip_first_wait=1)
    assert [action(i).name for i in range(9)] == ["NONE", *cycle[2:], *cycle, "NONE", "NONE"]


@pytest.mark.parametrize(
    "wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}]
)
def test_wrong_schedules(tp: Any, wrong: dict[str, int]) -> None:
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        tp.schedule(**{"wait": 1, "warmup": 1, "active": 1, **wrong})


def test_schedule_warns_and_refuses(tp: Any) -> None:
    with pytest.warns(UserWarning, match="won't be using warmup"):
        action = tp.schedule(wait=0, warmup=0, active=1)
    with pytest.raises(AssertionError, match="Step must be non-negative"):
        action(-1)


def names(prof: Any) -> list[str]:
    """What was recorded, in order: steps, and the shapes' owners."""
    wanted = ("ProfilerStep*", "exp", "cos")
    return [n for n in (e.name.rpartition("::")[2] for e in prof.events()) if n in wanted]


def loop(m: Any, tp: Any, steps: int = 7, **options: Any) -> tuple[Any, list[tuple[int, list[str]]]]:
    """A loop of ``steps`` steps; what the handler saw: when, and what."""
    handed: list[tuple[int, list[str]]] = []
    x = m.ones(3)
    with tp.profile(
        activities=[tp.ProfilerActivity.CPU],
        on_trace_ready=lambda prof: handed.append((prof.step_num, names(prof))),
        **options,
    ) as prof:
        for i in range(steps):
            x.exp() if i % 2 == 0 else x.cos()
            prof.step()
    return prof, handed


def test_without_a_schedule(m: Any, tp: Any) -> None:
    prof, handed = loop(m, tp)
    assert handed == [(7, ["exp", "cos", "exp", "cos", "exp", "cos", "exp"])]
    assert names(prof) == handed[0][1]


def test_one_cycle(m: Any, tp: Any) -> None:
    prof, handed = loop(m, tp, schedule=tp.schedule(wait=1, warmup=1, active=2, repeat=1))
    assert handed == [(4, ["ProfilerStep*", "exp", "ProfilerStep*", "cos"])]
    assert names(prof) == handed[0][1]  # also when the steps after it are over
    (step, other) = [e for e in prof.events() if e.name == "ProfilerStep*"]
    assert (step.trace_name, other.trace_name) == ("ProfilerStep#2", "ProfilerStep#3")
    (average,) = [e for e in prof.key_averages() if e.key == "ProfilerStep*"]
    assert average.count == 2


def test_cycle_after_cycle(m: Any, tp: Any) -> None:
    _, handed = loop(m, tp, schedule=tp.schedule(wait=0, warmup=1, active=1))
    assert handed == [
        (2, ["ProfilerStep*", "cos"]),
        (4, ["ProfilerStep*", "cos"]),
        (6, ["ProfilerStep*", "cos"]),
        (7, ["ProfilerStep*"]),
    ]


def test_events_of_all_cycles(m: Any, tp: Any) -> None:
    schedule = tp.schedule(wait=1, warmup=1, active=1)
    prof, handed = loop(m, tp, acc_events=True, schedule=schedule)
    first = ["ProfilerStep*", "exp"]
    assert handed[0] == (3, first) and handed[1][0] == 6
    assert names(prof) == handed[1][1]
    assert sorted(names(prof)) == ["ProfilerStep*", "ProfilerStep*", "cos", "exp"]
    if m is tengen:  # torch has the later first
        assert names(prof) == [*first, "ProfilerStep*", "cos"]


def test_every_step_alone(m: Any, tp: Any) -> None:
    _, handed = loop(m, tp, steps=3, schedule=tp.schedule(wait=0, warmup=0, active=1))
    assert [n for _, n in handed] == [["ProfilerStep*", w] for w in ("exp", "cos", "exp")] + [
        ["ProfilerStep*"]
    ]


def test_a_schedule_of_ones_own(m: Any, tp: Any) -> None:
    action = tp.ProfilerAction
    plan = [action.NONE, action.RECORD, action.RECORD_AND_SAVE, action.NONE]
    _, handed = loop(m, tp, steps=5, schedule=lambda step: plan[min(step, 3)])
    assert handed == [(3, ["ProfilerStep*", "cos", "ProfilerStep*", "exp"])]


def test_nothing_was_recorded(m: Any, tp: Any, tmp_path: Path) -> None:
    prof, handed = loop(m, tp, steps=1, schedule=tp.schedule(wait=5, warmup=1, active=1))
    assert handed == []
    with pytest.raises(AssertionError, match="must be initialized before accessing events"):
        prof.events()
    with pytest.raises(AssertionError, match="must be initialized before getting key averages"):
        prof.key_averages()
    with pytest.raises(AssertionError, match="must be initialized before exporting chrome trace"):
        prof.export_chrome_trace(str(tmp_path / "never"))


def test_start_and_stop(m: Any, tp: Any) -> None:
    prof = tp.profile()
    with pytest.raises(AssertionError, match="must be initialized before stopping trace"):
        prof.stop()
    prof.start()
    m.ones(2).exp()
    prof.stop()
    m.ones(2).cos()
    assert names(prof) == ["exp"]


def test_an_exception_in_a_loop(m: Any, tp: Any) -> None:
    handed: list[list[str]] = []
    with (
        pytest.raises(ZeroDivisionError),
        tp.profile(
            schedule=tp.schedule(wait=0, warmup=1, active=3),
            on_trace_ready=lambda prof: handed.append(names(prof)),
        ) as prof,
    ):
        prof.step()
        m.ones(2).exp()
        raise ZeroDivisionError
    assert handed == [["ProfilerStep*", "exp"]]


def test_collecting_is_switched(m: Any, tp: Any) -> None:
    x = m.ones(2)
    with tp.profile() as prof:
        prof.toggle_collection_dynamic(False, [tp.ProfilerActivity.CPU])
        x.exp()
        prof.toggle_collection_dynamic(True, [tp.ProfilerActivity.CPU])
        x.cos()
    assert names(prof) == ["cos"]


def test_wrong_arguments(tp: Any) -> None:
    for activities in ([], [3]):
        with pytest.raises(AssertionError, match=r"[Nn]o valid profiler activities found"):
            tp.profile(activities=activities)
    with pytest.raises(TypeError):
        tp.profile(schedule=3)
    with pytest.raises(TypeError):
        tp.profile([tp.ProfilerActivity.CPU])


def test_metadata(m: Any, tp: Any, tmp_path: Path) -> None:
    with tp.profile() as prof:
        prof.add_metadata("word", "value")
        prof.add_metadata_json("data", '{"a": 1}')
        m.ones(2)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["word"] == "value" and trace["data"] == {"a": 1}


def test_tensorboard_files(m: Any, tp: Any, tmp_path: Path) -> None:
    with tp.profile(on_trace_ready=tp.tensorboard_trace_handler(str(tmp_path / "plain"))):
        m.ones(2)
    (path,) = (tmp_path / "plain").iterdir()
    assert path.name.endswith(".pt.trace.json") and json.loads(path.read_text())["traceEvents"]
    handler = tp.tensorboard_trace_handler(str(tmp_path / "zipped"), "me", use_gzip=True)
    with tp.profile(on_trace_ready=handler, schedule=tp.schedule(wait=0, warmup=0, active=1)) as prof:
        for _ in range(2):
            m.ones(2)
            prof.step()
    paths = sorted((tmp_path / "zipped").iterdir())
    assert len(paths) == 3
    for path in paths:
        assert path.name.startswith("me.") and path.name.endswith(".pt.trace.json.gz")
        assert json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def test_what_can_be_profiled(tp: Any) -> None:
    assert tp.supported_activities() >= {tp.ProfilerActivity.CPU}


def test_importing_tengen_does_not_import_it() -> None:
    import subprocess
    import sys

    program = "import sys, tengen; tengen.ones(2) + 1; print(*[n for n in sys.modules if 'profiler' in n])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    program = "import tengen; print(tengen.autograd.profiler.profile, tengen.profiler.profile)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("profile'") == 2
