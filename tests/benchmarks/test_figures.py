"""From figures to tables and pictures; two revisions; the choice of rounds."""

from __future__ import annotations

import json
import subprocess
import sys

import compare
import figures
import harness
import picture
import pytest
import table


def workload(name, row, tengen, counted=True, **floors):
    return {
        "name": name,
        "row": row,
        "target": 0.65,
        "limit": 0.9,
        "counted": counted,
        "seconds": {"torch": 2e-6, "tengen": 2e-6 * tengen, "jit": 4e-9},
        "floors": {kind: 2e-6 * ratio for kind, ratio in floors.items()},
    }


def record(threads="1"):
    return {
        "date": "2026-01-02",
        "threads": threads,
        "processors": 2,
        "clock": "processor" if threads == "1" else "wall",
        "machine": "a machine",
        "blas": "a library",
        "versions": {"python": "3.11", "numpy": "2.4"},
        "workloads": [
            workload("op: add", "op", 0.5, numpy=0.25, gemm=0.1, memory=0.2),
            workload("op: mul", "op", 0.7, numpy=0.35),
            workload("op: extra", "op", 9.0, counted=False),
            workload("net", "network", 1.0),
        ],
        "processes": [
            {
                "name": "peak memory",
                "row": "peak memory",
                "unit": "bytes",
                "target": 0.6,
                "limit": 1.0,
                "values": {"tengen": 5e7, "torch": 1e8},
                "floors": {"numpy": 4e7},
            }
        ],
    }


# -- tables ----------------------------------------------------------------------------------------


def test_ratios():
    row = record()["workloads"][0]
    assert table.ratio(row, "tengen") == 0.5 and table.ratio(row, "jax") is None
    assert table.floor(row, "numpy") == pytest.approx(0.25)
    assert table.floor(row, "machine") == pytest.approx(0.2)  # the higher one
    assert table.ratio({**row, "seconds": {"tengen": 1e-6}}, "tengen") is None


def test_verdicts():
    row = workload("a", "a", 1)
    assert [table.verdict(row, ratio) for ratio in (0.65, 0.66, 0.9, 0.91)] == ["*", "", "", "!"]
    assert table.verdict({**row, "target": None, "limit": None}, 3.0) == ""


@pytest.mark.parametrize(
    "value,text",
    [(2.5, "2.5 s"), (0.0021, "2.1 ms"), (1.234e-6, "1.23 us"), (5e-8, "0.05 us"), (1234, "1234 s")],
)
def test_times(value, text):
    assert table.seconds(value) == text


def test_page():
    page = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    text = table.put(page, {"runs": [record(), {**record("default"), "processes": []}]})
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert table.put(text, {"runs": [record(), {**record("default"), "processes": []}]}) == text
    lines = text.splitlines()
    assert "- 2026-01-02" in lines and "- python 3.11, numpy 2.4" in lines and "- a machine" in lines
    assert "### 1 thread, processor time" in lines
    assert "### The libraries' own choice of threads, 2 processors, wall time" in lines
    mean = "| op, mean of 2 | 0.60 * | 0.70 mul | 0.65 | 0.90 | 2 us |  |  | 0.0020 | 0.30 | 0.20 |"
    assert lines.count(mean) == 2
    assert lines.count("| network | 1.00 ! |  | 0.65 | 0.90 | 2 us |  |  | 0.0020 |  |  |") == 2
    assert lines.count("| peak memory | 0.50 * | 0.60 | 1.00 | 50 MB | 100 MB | 40 MB |") == 1


@pytest.mark.parametrize(
    "page", ["", table.BEGIN, f"{table.END}{table.BEGIN}", f"{table.BEGIN * 2}{table.END}"]
)
def test_page_without_its_markers(page):
    with pytest.raises(ValueError, match="the page needs one"):
        table.put(page, {"runs": [record()]})


def test_terminal(capsys):
    table.print_record(record())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert lines[4].split() == ["=", "op,", "mean", "0.60", "0.65", "0.90", "*"]
    assert lines[6].split()[:3] == ["peak", "memory", "0.50"]


# -- the picture -----------------------------------------------------------------------------------


def test_marks():
    rows = picture.lines(record())
    assert [row["name"] for row in rows] == ["peak memory", "net", "op: extra", "op: mul", "op: add"]
    marks = picture.marks(rows)
    assert list(marks) == ["tengen", "JAX jit", "floor: NumPy", "floor: machine"]
    assert marks["tengen"] == [(0.5, 0), (1.0, 1), (9.0, 2), (pytest.approx(0.7), 3), (0.5, 4)]


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    source = tmp_path / "figures.json"
    source.write_text(json.dumps({"runs": [record(), record("default")]}))
    for name in ("a.svg", "b.svg"):
        picture.main(str(source), str(tmp_path / name))
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert text.count("target to limit") and "threads: default" in text


def test_all_in_one_command(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    asked = []

    def run(threads, arguments):
        asked.append((threads, list(arguments)))
        return record(threads)

    monkeypatch.setattr(figures, "run", run)
    (tmp_path / "README.md").write_text(f"{table.BEGIN}{table.END}")
    figures.main(["--seconds", "1"], tmp_path)
    assert asked == [("1", ["--seconds", "1"]), ("default", ["--no-processes", "--seconds", "1"])]
    assert len(json.loads((tmp_path / "figures.json").read_text())["runs"]) == 2
    assert (tmp_path / "figures.svg").exists() and "a machine" in (tmp_path / "README.md").read_text()


def test_figures_of_the_project_are_written_by_the_command():
    found = json.loads((figures.HERE / "figures.json").read_text())
    page = (figures.HERE / "README.md").read_text()
    assert table.put(page, found) == page, "run `python benchmarks/table.py` with figures.json and README.md"


# -- two revisions -----------------------------------------------------------------------------------


def test_package_of_a_revision(tmp_path):
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=compare.ROOT, capture_output=True).returncode:
        pytest.skip("not a clone")
    for name, revision in (("head", "HEAD"), ("here", ".")):
        path = compare.package(revision, tmp_path / name)
        code = "import tengen, tengen.codegen.gen; print(tengen.__file__)"
        command = [sys.executable, "-c", code]
        found = subprocess.run(command, env={"PYTHONPATH": str(path)}, capture_output=True, text=True)
        assert found.returncode == 0 or revision == ".", found.stderr
        if found.returncode == 0:
            assert found.stdout.strip() == str(path / "tengen" / "__init__.py")
    with pytest.raises(ValueError, match="nonesuch"):
        compare.package("nonesuch", tmp_path / "other")


def test_lines_of_two_revisions():
    found = {"add": {"0": [1e-6, 9e-6, 2e-6], "1": [1e-6, 1e-6, 1e-6]}}
    assert compare.lines(found)[1].split() == ["add", "0.50", "2.00", "us", "1.00", "us"]


# -- rounds ------------------------------------------------------------------------------------------


def test_calm_rounds():
    assert harness.calm([0.5, 0.0, 0.9, 0.1, 0.0, 0.2]) == [1, 3, 4]
    assert harness.calm([0.3]) == [0]
    assert harness.calm([0.3, 0.2, 0.1, 0.0]) == [1, 2, 3]


@pytest.mark.parametrize("processor", [True, False])
def test_rivals_run_in_turn(processor):
    order = []
    rivals = {name: (lambda name=name: order.append(name)) for name in "ab"}
    found = harness.calibrated(rivals, 0.0, processor)
    assert list(found) == ["a", "b"] and all(t >= 0 for t in found.values())
    turns = [name for i, name in enumerate(order) if i == 0 or order[i - 1] != name]
    assert turns == ["a", "b", "a", "b"]  # once to find how many calls make a batch, and a round
