"""``dev.py cuda`` over the stand-in for CuPy; and whatever becomes of a part, the record says it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu_page
import on_gpu
import part_timings
import pytest
import supervisor
from supervisor import Part, Supervised
from worker import shown

import tengen

ROOT = Path(__file__).resolve().parents[2]
SHORT = ("--as-it-is", "--stand-in", "--every", "40", "--scale", "0.002", "--epochs", "1")


def command(out: Path, *arguments: str) -> list[str]:
    """The command of a developer."""
    return [sys.executable, str(ROOT / "dev.py"), "cuda", "--out", str(out), *arguments]


def record(out: Path) -> dict[str, Any]:
    """What a run has written."""
    found: dict[str, Any] = json.loads((out / "cuda.json").read_text(encoding="utf-8"))
    return found


def test_all_parts_are_run(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path, *SHORT), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = record(tmp_path)
    assert found["ended"] and not gpu_page.is_of_a_gpu(found) and list(found["parts"]) == list(on_gpu.PARTS)
    outcomes = {
        name: {r["outcome"] for r in part["results"].values()} for name, part in found["parts"].items()
    }
    assert outcomes["samples"] <= {"ran", "lacks", "skipped"} and "ran" in outcomes["samples"]
    assert len(found["parts"]["samples"]["results"]) > 15 and outcomes["timings"] == {"measured"}
    assert outcomes["device"] == outcomes["network"] == {"passed"}
    assert gpu_page.markdown(found) in done.stdout
    assert (tmp_path / "cuda.md").read_text(encoding="utf-8").strip() == gpu_page.markdown(found)
    assert str(ROOT) not in json.dumps(found) and not (tmp_path / "cuda.log").exists()


@pytest.mark.skipif(tengen.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_that_is_said(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path, "--as-it-is"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "NOTHING WAS RUN ON ONE" in done.stdout
    assert list(record(tmp_path)["parts"]) == ["device"]


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: it is ended by a signal")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_what_it_has(how: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(tmp_path, *SHORT, "device", "samples"),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # what is left there goes with it
    )
    try:
        waited = time.monotonic() + 60
        while time.monotonic() < waited:
            time.sleep(0.05)
            parts = record(tmp_path)["parts"] if (tmp_path / "cuda.json").exists() else {}
            if parts.get("device", {}).get("results"):
                break
        os.killpg(process.pid, how)
        process.wait(60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    found = record(tmp_path)
    assert not found["ended"] and found["parts"]["device"]["results"] and not gpu_page.is_good(found)
    assert "ended before it was done" in gpu_page.markdown(found)


# -- a part that does what no part should do

TROUBLE = """
import ctypes, faulthandler, os, sys, time

def raises():
    raise ValueError("no /some/where/file.py\\nmore")

def crashes():
    ctypes.string_at(0)

def holds_the_interpreter():
    ctypes.PyDLL(None).sleep(60)

def hangs_unseen():
    faulthandler.cancel_dump_traceback_later()
    time.sleep(60)

def items(options):
    found = {"good": dict, "raises": raises, "crashes": crashes}
    found |= {"leaves": lambda: os._exit(3), "ends": lambda: os._exit(0)}
    found |= {"exits": lambda: sys.exit(4), "hangs": lambda: time.sleep(60), "good, still": dict}
    found |= {"holds": holds_the_interpreter, "hangs, unseen": hangs_unseen}
    return found | {"good, at last": lambda: {"figure": 3}}
"""


@pytest.fixture
def supervised(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs a part whose module is given, and returns what is known of it at the end."""

    def run(text: str, seconds: float = 60.0, limit: float = 1.0, workers: int = 1) -> dict[str, Any]:
        (tmp_path / "part_of_a_test.py").write_text(text, encoding="utf-8")
        part = Part("test", "part_of_a_test", seconds, limit, workers)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return Supervised(part, tmp_path / "folder", environment).run(lambda known: None)

    return run


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: the ways in which a process ends are POSIX's")
@pytest.mark.parametrize("workers", [1, 3])
def test_what_crashes_or_hangs_is_a_line(
    workers: int, supervised: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "GRACE", 0.5)
    found = supervised(TROUBLE, workers=workers)
    assert {name: result["outcome"] for name, result in found["results"].items()} == {
        "good": "passed",
        "raises": "failed",
        "crashes": "crashed",
        "leaves": "crashed",
        "ends": "crashed",
        "exits": "crashed",
        "hangs": "hung",
        "good, still": "passed",
        "holds": "hung",
        "hangs, unseen": "hung",
        "good, at last": "passed",
    }
    texts = {name: result.get("text", "") for name, result in found["results"].items()}
    assert texts["raises"] == "ValueError: no file.py"
    assert "Segmentation fault, in string_at" in texts["crashes"] and "status 3" in texts["leaves"]
    assert found["results"]["good, at last"]["figure"] == 3
    assert not found["not_reached"] and not found["notes"] and found["items"] == 11


def test_when_the_time_is_over_the_rest_is_counted(supervised: Callable[..., dict[str, Any]]) -> None:
    item = "lambda: time.sleep(0.7) or {}"
    text = f"import time\ndef items(options):\n    return {{str(n): {item} for n in range(9)}}"
    found = supervised(text, seconds=1.5, limit=9)
    outcomes = [result["outcome"] for result in found["results"].values()]
    assert outcomes[-1] == "unfinished" and set(outcomes[:-1]) <= {"passed"}
    assert found["items"] == 9 == len(outcomes) + len(found["not_reached"]) and found["seconds"] < 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ImportError('no /folder/of/it')", "ImportError: no it"),
        ("import os; os.abort()", "Aborted"),
        ("import time; time.sleep(60)", "Timeout"),
    ],
)
def test_a_part_that_does_not_begin_is_no_loop(
    text: str, said: str, supervised: Callable[..., dict[str, Any]]
) -> None:
    found = supervised(text, seconds=2.0)
    assert not found["items"] and len(found["notes"]) == 1 and said in found["notes"][0]
    assert found["seconds"] < 5


# -- the tree in a folder


def test_where_pip_fails_the_tree_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "finished", lambda command, seconds: "No module named pip")
    tree, how = on_gpu.put_into(tmp_path / "folder", 1.0)
    assert how["how"] == "copied" and "No module named pip" in how["text"]
    program = "import tengen, tengen.codegen; print(tengen.__file__, tengen.ones(2).sum().item())"
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.stdout.split() == [str(tree / "tengen" / "__init__.py"), "2.0"], done.stderr


def test_what_a_program_said_of_its_end_is_kept() -> None:
    python = sys.executable
    assert on_gpu.finished([python, "-c", "pass"], 30) == ""
    assert on_gpu.finished([python, "-c", "import nothing_of_that_name"], 30).startswith(
        "ModuleNotFoundError"
    )
    assert on_gpu.finished([python, "-c", "import time; time.sleep(60)"], 0.2) == "more than 0 s"
    assert shown("in /a/b-c/d.py: 3/4, x/y") == "in d.py: 3/4, x/y"


# -- figures


def test_rivals_are_timed_in_turn() -> None:
    order: list[str] = []

    def clock(name: str, milliseconds: float) -> Callable[[int], float]:
        def measured(count: int) -> float:
            order.append(name)
            return milliseconds * (100 if len(order) % 5 == 0 else 1)  # what disturbs does not count

        return measured

    found = part_timings.in_turn({"tengen": clock("tengen", 2.0), "torch": clock("torch", 1.0)}, 0.0)
    assert found == {"tengen": 2.0, "torch": 1.0}
    assert order[-6:] == ["tengen", "torch"] * 3


def test_libraries_that_differ_are_no_figure() -> None:
    class Event:
        def record(self) -> None: ...
        def synchronize(self) -> None: ...
        def elapsed_time(self, other: Event) -> float:
            return 1.0

    class M:
        class cuda:
            Event = lambda enable_timing: Event()  # noqa: E731

    def program(library: part_timings.Library) -> Callable[[], Any]:
        return lambda: tengen.tensor([1.0, library.m.value])

    def timed(*values: float) -> dict[str, Any]:
        libraries = {
            n: type("", (M,), {"value": v}) for n, v in zip(("tengen", "torch"), values, strict=True)
        }
        return part_timings.timed(program, libraries, 0.0, 1.0)

    assert timed(2.0, 2.0) | {"error": 0.0, "outcome": "measured"} == timed(2.0, 2.0)
    assert timed(2.0, 2.1)["outcome"] == "failed"


def result(outcome: str, **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "seconds": 1.0, **more}


def a_record() -> dict[str, Any]:
    """As of a run on a GPU on which an operator differs and another crashes."""
    gpu = {"name": "a GPU", "capability": "9.0", "gigabytes": 80.0, "runtime": 1, "driver": 2, "devices": 1}
    versions = {"versions": {"cupy": "14"}, "system": "a system", "c_machine": True, "stand_in": False}
    side = {"first": 2.0, "last": 1.0, "share": 0.9, "seconds": [2.0, 1.0]}
    network = {"training": result("passed", data="digits", epochs=2, cpu=side, cuda=side)}
    parts: dict[str, dict[str, Any]] = {
        "device": {"gpu": result("passed", **gpu), "versions": result("passed", **versions)},
        "network": network,
        "timings": {"add": result("measured", tengen=2.0, torch=1.0, ratio=2.0, error=0.0)},
        "samples": {"add": result("ran"), "mul": result("differs", text="Mismatch: 1 is `2`")},
    }
    parts["samples"] |= {f"op{n}": result("crashed", text="status -11") for n in range(30)}
    return {
        **{"date": "2027-01-02", "seconds": 300.0, "limit": 360.0, "ended": True},
        "installed": {"how": "pip", "text": "installed"},
        "parts": {
            name: {"seconds": 9.0, "items": len(results), "not_reached": [], "notes": [], "results": results}
            for name, results in parts.items()
        },
    }


def test_a_record_is_a_page() -> None:
    page = gpu_page.markdown(a_record())
    assert "- a GPU, 80.0 GB, capability 9.0" in page and "| add | 2 | 1 | 2 |" in page
    assert "| samples | 9 | 32 | 30 crashed, 1 ran, 1 differs |" in page
    assert "samples, `mul` differs: `Mismatch: 1 is '2'`" in page and "and more: 6 of samples" in page
    assert len(page.splitlines()) < 60 and gpu_page.is_of_a_gpu(a_record())


def test_all_must_be_done_and_well() -> None:
    good = a_record()
    good["parts"].pop("samples")
    assert gpu_page.is_good(good) and not gpu_page.is_good(a_record())
    for change in ({"not_reached": ["op"]}, {"notes": ["a note"]}, {"items": 0}):
        worse = {**good, "parts": {**good["parts"], "device": {**good["parts"]["device"], **change}}}
        assert not gpu_page.is_good(worse)


def test_documents_have_the_figures_of_the_record_or_say_that_there_is_none() -> None:
    kept = json.loads(on_gpu.KEPT.read_text("utf-8")) if on_gpu.KEPT.exists() else None
    page = on_gpu.PAGE.read_text(encoding="utf-8")
    assert page == gpu_page.put(kept, on_gpu.PAGE), "python dev.py cuda --write makes it"
    assert kept is None or gpu_page.is_of_a_gpu(kept)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert ("has not been run on a GPU" in readme) == (kept is None)
    for part in on_gpu.PARTS:
        assert f"| `{part}` |" in page


def test_a_page_without_markers_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.md has no <!-- gpu: begin -->"):
        gpu_page.put(None, page)


@pytest.mark.parametrize("arguments", [("--write", "samples"), ("--write", "--stand-in"), ("nothing",)])
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        on_gpu.chosen(arguments)
