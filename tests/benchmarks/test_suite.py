"""The suite: what it writes, and that whatever it compares is equal. Nothing is said of time."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys

import jsonschema
import numpy as np
import pytest
import suite
from figures import HERE as BENCHMARKS
from harness import processes_in_turn, python
from libraries import Floor, load, threads, to_arrays
from processes import PROCESSES
from workloads import WORKLOADS
from yardsticks import SIDE, yardsticks

import tengen

NUMBERS = {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}
BOUND = {"type": ["number", "null"]}
ROW = {
    "name": {"type": "string"},
    "row": {"type": "string"},
    "target": BOUND,
    "limit": BOUND,
    "floors": NUMBERS,
}


def closed(properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


RECORD = closed(
    {
        "date": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
        "threads": {"type": "string"},
        "processors": {"type": "integer", "minimum": 1},
        "clock": {"enum": ["processor", "wall"]},
        "machine": {"type": "string", "minLength": 1},
        "blas": {"type": "string", "minLength": 1},
        "versions": {
            "type": "object",
            "required": ["python", "tengen", "numpy"],
            "additionalProperties": {"type": "string"},
        },
        "workloads": {
            "type": "array",
            "items": closed({**ROW, "counted": {"type": "boolean"}, "seconds": NUMBERS}),
        },
        "processes": {
            "type": "array",
            "items": closed({**ROW, "unit": {"enum": ["bytes", "seconds"]}, "values": NUMBERS}),
        },
    }
)


def run(*arguments):
    command = [sys.executable, str(BENCHMARKS / "suite.py"), "--seconds", "0", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("count", ["1", "default"])
def test_record(count):
    out = run("--threads", count, "--only", "tengen,floor", "--json", "-", "overhead: add", "kernel: softmax")
    record = json.loads(out)
    jsonschema.validate(record, RECORD)
    assert [w["name"] for w in record["workloads"]] == ["overhead: add", "kernel: softmax"]
    assert record["threads"] == count and record["processes"] == []
    first, second = record["workloads"]
    assert list(first["seconds"]) == ["tengen"] and list(first["floors"]) == ["numpy"]
    assert list(second["floors"]) == ["numpy", "memory"]
    assert platform.node() not in re.findall(r"[\w.-]+", out)


def test_record_of_processes():
    record = json.loads(run("--only", "tengen", "--json", "-", "import"))
    jsonschema.validate(record, RECORD)
    assert [row["name"] for row in record["processes"]] == ["import", "import and a first tensor"]


def test_table_on_a_terminal():
    lines = run("--only", "tengen,floor", "overhead: add", "overhead: mul", "chain").splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        *("workload", "overhead: add", "overhead: mul", "overhead: mul by a number", "chain")
    ]


def test_names():
    listed = run("--list").splitlines()
    assert listed == [w.name for w in WORKLOADS] + list(PROCESSES)
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("workload", [w for w in WORKLOADS if w.floor is not None], ids=lambda w: w.name)
def test_floors_compute_what_tengen_does(workload):
    if workload.name == "expression 1e7":
        pytest.skip("as expression 1e6, with more memory")
    rivals = {name: workload.rival(load(name)) for name in ("tengen", "floor")}
    suite.check_equal(workload, rivals)
    again = to_arrays(rivals["floor"]())  # buffers that a former run left do not change the next one
    if not workload.row.startswith("in place"):
        for a, b in zip(again, to_arrays(rivals["tengen"]()), strict=True):
            np.testing.assert_allclose(a.ravel(), b.ravel(), 1e-3, workload.tolerance * max(1, abs(b).max()))


def test_what_differs_is_not_timed():
    workload = WORKLOADS[0]
    rivals = {"a": lambda: np.ones(3), "b": lambda: np.array([1.0, 1.0, 1.1])}
    with pytest.raises(AssertionError, match=f"{workload.name}: b and a differ by 0.1"):
        suite.check_equal(workload, rivals)
    with pytest.raises(AssertionError, match="b has 2 results"):
        suite.check_equal(workload, {"a": lambda: np.ones(3), "b": lambda: [np.ones(3), np.ones(3)]})
    with pytest.raises(AssertionError, match=r"b has \(4,\), a has \(3,\)"):
        suite.check_equal(workload, {"a": lambda: np.ones(3), "b": lambda: np.ones(4)})


def test_threads_are_as_before():
    before = tengen.get_num_threads()
    floor = Floor()
    with pytest.raises(ZeroDivisionError), threads([load("tengen"), floor], 1):
        assert tengen.get_num_threads() == floor.threads == 1
        _ = 1 / 0
    assert tengen.get_num_threads() == before


def test_floor_goes_through_all_blocks_once():
    floor, seen = Floor(), []
    floor.threads = 3
    floor.each(10, lambda i, thread: seen.append((thread, i)))
    assert sorted(seen) == [
        (0, 0),
        (0, 1),
        (0, 2),
        *((1, i) for i in (3, 4, 5)),
        *((2, i) for i in (6, 7, 8, 9)),
    ]


def test_yardsticks():
    mlp = next(w for w in WORKLOADS if w.name == "mlp")
    ((name, (product, factor)),) = yardsticks(mlp, [np.ones(3, "float32")], Floor()).items()
    assert name == "gemm" and product().shape == (SIDE, SIDE) and factor == mlp.flops / (2 * SIDE**3)
    large = next(w for w in WORKLOADS if w.name == "expression 1e6")
    ((name, (copy, factor)),) = yardsticks(large, [np.ones(10**6, "float32")], Floor()).items()
    assert (name, factor) == ("memory", 1.0)
    copy()


def test_processes_in_turn():
    assert all(t > 0 for t in processes_in_turn({"a": python("pass"), "b": python("1 + 1")}, 2).values())
    with pytest.raises(subprocess.CalledProcessError):
        processes_in_turn({"a": python("raise SystemExit(1)")}, 1)
