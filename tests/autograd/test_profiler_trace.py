"""Chrome traces are what the "Trace Event Format" says, and show what was profiled.

torch's own traces go through the same checks: they would find fault with those too, were they wrong.
"""

from __future__ import annotations

import gzip
import json
import math
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen.autograd import profiler as ours

#: The keys that an event of each phase must have; all have a name, which flows pair by.
REQUIRED = {
    "X": {"name", "ts", "dur", "pid", "tid"},
    "b": {"name", "cat", "id", "ts", "pid", "tid"},
    "e": {"name", "cat", "id", "ts", "pid", "tid"},
    "M": {"name", "args", "pid", "tid"},
    "i": {"name", "ts", "s", "pid", "tid"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
}
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
#: torch's times are rounded to this many microseconds.
ROUNDING = 0.002


def check(trace: Any) -> None:
    """Raise AssertionError unless ``trace`` is an object as the format has it."""
    assert isinstance(trace, dict) and isinstance(trace["traceEvents"], list)
    assert trace.get("displayTimeUnit") in ("ms", "ns")
    for event in trace["traceEvents"]:
        phase = event["ph"]
        assert phase in REQUIRED, f"unknown phase: {event}"
        assert event.keys() >= REQUIRED[phase], f"incomplete: {event}"
        assert isinstance(event["name"], str) and isinstance(event.get("args", {}), dict)
        for key in ("ts", "dur"):
            value = event.get(key, 0)
            assert isinstance(value, int | float) and math.isfinite(value) and value >= 0, event
        if phase == "M":
            key, kind = METADATA[event["name"]]
            assert isinstance(event["args"][key], kind)
        if phase == "i":
            assert event["s"] in ("g", "p", "t")
        if phase == "f":
            assert event["bp"] == "e"
    check_nesting(trace)
    pairs(trace, "b", "e")
    check_flows(trace)


def slices(trace: Any) -> dict[tuple[Any, Any], list[dict[str, Any]]]:
    """The complete events of each thread."""
    found: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            found.setdefault((event["pid"], event["tid"]), []).append(event)
    return found


def check_nesting(trace: Any) -> None:
    """Of two slices of a thread one is within the other, or behind it."""
    for events in slices(trace).values():
        ends: list[float] = []
        for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= event["ts"] + ROUNDING:
                ends.pop()
            end = event["ts"] + event["dur"]
            assert not ends or end <= ends[-1] + ROUNDING, f"only partly within another slice: {event}"
            ends.append(end)


def pairs(trace: Any, first: str, last: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The pairs of events of two phases: each id begins once and ends once, later, under one name."""
    ends: dict[str, dict[Any, dict[str, Any]]] = {first: {}, last: {}}
    for event in trace["traceEvents"]:
        if event["ph"] in ends:
            assert event["id"] not in ends[event["ph"]], f"twice: {event}"
            ends[event["ph"]][event["id"]] = event
    assert ends[first].keys() == ends[last].keys()
    found = [(start, ends[last][number]) for number, start in ends[first].items()]
    for start, finish in found:
        assert (start["name"], start["cat"]) == (finish["name"], finish["cat"])
        assert start["ts"] <= finish["ts"]
    return found


def check_flows(trace: Any) -> None:
    """Both ends of a flow are in a slice that they are bound to."""
    threads = slices(trace)
    for pair in pairs(trace, "s", "f"):
        for end in pair:
            assert any(
                e["ts"] <= end["ts"] + ROUNDING and end["ts"] <= e["ts"] + e["dur"] + ROUNDING
                for e in threads[end["pid"], end["tid"]]
            )


def flows(trace: Any) -> list[tuple[str, str]]:
    """What each flow goes from and to: the innermost slices that begin where it does."""
    names: dict[tuple[Any, float], str] = {}
    for events in slices(trace).values():
        for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            names[event["tid"], event["ts"]] = event["name"].rpartition("::")[2]
    ends: dict[Any, dict[str, str]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] in "sf":
            ends.setdefault(event["id"], {})[event["ph"]] = names[event["tid"], event["ts"]]
    return sorted((pair["s"], pair["f"]) for pair in ends.values())


def written(prof: Any, path: Path) -> Any:
    prof.export_chrome_trace(str(path))
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_training_step(m: Any, p: Any, tmp_path: Path) -> None:
    x, w = m.ones(4, 3), m.ones(5, 3, requires_grad=True)
    with p.profile(record_shapes=True, profile_memory=True) as prof:
        with p.record_function('a "label" \\ with\nits own\t\u00fc'):
            loss = (x @ w.t()).exp().sum()
        loss.backward()
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    arrows = flows(trace)
    assert ("exp", "ExpBackward0") in arrows and ("sum", "SumBackward0") in arrows
    assert ("mm", "MmBackward0") in arrows and len(arrows) == 4
    (label,) = [e for e in trace["traceEvents"] if e.get("cat") == "user_annotation"]
    if m is tengen:  # torch calls it "unknown"
        assert label["name"] == 'a "label" \\ with\nits own\t\u00fc'
    exp = next(e for e in trace["traceEvents"] if e["name"].rpartition("::")[2] == "exp")
    assert exp["cat"] == "cpu_op" and exp["args"]["Input Dims"] == [[4, 5]]
    assert exp["args"]["Input Strides"] == [[5, 1]] and exp["args"]["Sequence number"] >= 0
    memory = [e["args"] for e in trace["traceEvents"] if e["name"] == "[memory]"]
    assert memory and {"Bytes", "Total Allocated"} <= memory[0].keys()


def test_an_empty_profile(m: Any, p: Any, tmp_path: Path) -> None:
    with p.profile() as prof:
        pass
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    assert not [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]


def test_two_backward_passes_have_an_arrow_each(tmp_path: Path) -> None:
    x = tengen.ones(3, requires_grad=True)
    with ours.profile() as prof:
        y = x.exp().sum()
        y.backward(retain_graph=True)
        y.backward()
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    assert Counter(flows(trace)) == {("exp", "ExpBackward0"): 2, ("sum", "SumBackward0"): 2}


def test_no_arrow_from_what_was_not_seen(tmp_path: Path) -> None:
    x = tengen.ones(3, requires_grad=True)
    y = x.exp().sum()
    with ours.profile() as prof:
        y.backward()
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    assert flows(trace) == []


def test_arrows_of_a_gradient_of_a_gradient(tmp_path: Path) -> None:
    x = tengen.ones(3, requires_grad=True)
    with ours.profile() as prof:
        (g,) = tengen.autograd.grad((x * x).sum(), x, create_graph=True)
        g.sum().backward()
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    # The product's, once; the two products of its Node's own formula.
    assert flows(trace).count(("mul", "MulBackward0")) == 3


def test_threads(tmp_path: Path) -> None:
    from tengen.profiler import _ExperimentalConfig

    x = tengen.ones(3, requires_grad=True)
    with ours.profile(experimental_config=_ExperimentalConfig(profile_all_threads=True)) as prof:
        y = x.exp()
        thread = threading.Thread(target=lambda: y.sum().backward(), name="worker")
        thread.start()
        thread.join()
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    tids = {e["name"]: e["tid"] for e in trace["traceEvents"] if e["ph"] == "X"}
    assert tids["ExpBackward0"] == tids["tengen::sum"] != tids["tengen::exp"]
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert len(names) == 2 and any("worker" in name for name in names)


def test_ranges_that_overlap_are_kept_apart(tmp_path: Path) -> None:
    """Slices of one thread must nest: what does not is asynchronous."""
    with ours.profile() as prof:
        a = ours.record_function("a").__enter__()
        tengen.ones(2)
        b = ours.record_function("b").__enter__()
        tengen.ones(2)
        a.__exit__(None, None, None)
        tengen.ones(2)
        b.__exit__(None, None, None)
        ours.record_function("open").__enter__()
        tengen.ones(2)
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    names = [e["name"] for events in slices(trace).values() for e in events]
    assert "a" in names and names.count("tengen::ones") == 4
    assert [start["name"] for start, _ in pairs(trace, "b", "e")] == ["b", "open"]


def test_stacks_and_overloads_in_the_trace(tmp_path: Path) -> None:
    from tengen.profiler import _ExperimentalConfig

    config = _ExperimentalConfig(capture_overload_names=True)
    with ours.profile(with_stack=True, record_shapes=True, experimental_config=config) as prof:
        tengen.ones(2).sum(0)
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    (event,) = [e for e in trace["traceEvents"] if e["name"] == "tengen::sum"]
    assert "test_stacks_and_overloads_in_the_trace" in event["args"]["Call stack"].split(";")[0]
    assert event["args"]["Overload name"] == "dim_IntList"
    assert event["args"]["Concrete Inputs"] == ["", "[0]", "False", ""]


def test_values_that_json_has_not(tmp_path: Path) -> None:
    x = tengen.ones(2)
    with ours.profile(record_shapes=True) as prof:
        x.clamp(-math.inf, math.nan)
        x.add(x, alpha=2)
        tengen.full((2,), 1j)
    check(written(prof, tmp_path / "trace.json"))


def test_gzip_and_event_lists(tmp_path: Path) -> None:
    with ours.profile() as prof:
        tengen.ones(2).exp()
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    with gzip.open(tmp_path / "trace.json.gz", "rt") as file:
        check(json.load(file))
    prof.function_events.export_chrome_trace(tmp_path / "events.json")
    trace = json.loads((tmp_path / "events.json").read_text())
    check(trace)
    names = [e["name"] for e in trace["traceEvents"] if e["ph"] == "X"]
    assert names == ["tengen::ones", "tengen::exp"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda events: events.append({"ph": "X", "name": "a", "ts": 1, "pid": 1, "tid": 1}),
        lambda events: events.append({"ph": "?", "name": "a", "ts": 1, "pid": 1, "tid": 1}),
        lambda events: events.append({**events[-1], "ph": "s", "cat": "c", "id": 9}),
        lambda events: events.extend(
            [{"ph": "X", "name": n, "ts": t, "dur": 10, "pid": 1, "tid": 77} for n, t in (("a", 0), ("b", 5))]
        ),
    ],
)  # fmt: skip
def test_the_check_finds_faults(spoil: Any, tmp_path: Path) -> None:
    with ours.profile() as prof:
        tengen.ones(2)
    trace = written(prof, tmp_path / "trace.json")
    check(trace)
    spoil(trace["traceEvents"])
    with pytest.raises(AssertionError):
        check(trace)
