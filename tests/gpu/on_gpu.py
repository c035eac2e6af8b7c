"""What tengen does on this machine's GPU, beside the CPU and torch: one file of JSON, and a page of it.

    python dev.py cuda [PART ...] [--out FOLDER] [--seconds 360] [--write]

runs with the Python that it is started with, which needs CuPy and what tengen needs, and installs nothing
into it. All is over after ``--seconds``: each part has its share, and what crashes or hangs is a line. What
is known is written as it comes, to FOLDER/cuda.json; a run that is ended leaves that. ``--write`` puts it
into the project, and its figures into docs/cuda.md. ``--stand-in`` runs without a GPU, over the stand-in for
CuPy that the tests have; ``--every 20`` takes a twentieth of the operators, ``--scale 0.01`` smaller arrays,
``--epochs 1`` less of training; with ``--as-it-is`` tengen is as this Python finds it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gpu_page
from supervisor import Part, Supervised
from worker import shown

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "cuda"
STAND_IN = ROOT / "tests" / "backends" / "stand_in"
#: Where ``--write`` puts the record, and the page that quotes it.
KEPT, PAGE = ROOT / "benchmarks" / "cuda.json", ROOT / "docs" / "cuda.md"
#: The seconds of a whole run, the share of it that is for the installation, and for ending and cleaning up.
SECONDS, INSTALLING, ENDING = 360.0, 0.2, 0.06
#: By part, in their order: the share of all seconds that it may take, and the share of these that one of its
#: items may. The last has all that is left.
PARTS: dict[str, tuple[float, float]] = {
    "device": (0.08, 1.0),
    "exchange": (0.14, 0.6),
    "network": (0.12, 1.0),
    "timings": (0.17, 0.4),
    "samples": (1.0, 0.1),
}
#: What of the project is not installed.
LEFT = (".*", "__pycache__", "build", "tests", "docs", "benchmarks", "examples", "machine.*.so")
#: How many processes do the samples: when one hangs another goes on.
LEAST_WORKERS, MOST_WORKERS = 2, 12


class Report:
    """The record, which is written when it changes, at most once a second."""

    def __init__(self, folder: Path, limit: float) -> None:
        self.folder, self.began, self._written = folder, time.monotonic(), -1.0
        self.record: dict[str, Any] = {
            "date": datetime.now(UTC).date().isoformat(),
            "seconds": 0.0,
            "limit": limit,
            "ended": False,
            "installed": {"how": "not yet"},
            "parts": {},
        }
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cuda.log").unlink(missing_ok=True)  # of another run
        self.write()

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return float(self.record["limit"] - (time.monotonic() - self.began))

    def part(self, name: str, found: Mapping[str, Any]) -> None:
        """What is known of a part by now."""
        self.record["parts"][name] = dict(found)
        if time.monotonic() > self._written + 1:
            self.write()

    def write(self) -> None:
        """Write the file, which is whole at any time."""
        self._written = time.monotonic()
        self.record["seconds"] = round(self._written - self.began, 1)
        new = self.folder / "cuda.json.new"
        new.write_text(json.dumps(self.record, indent=1) + "\n", encoding="utf-8")
        new.replace(self.folder / "cuda.json")
        page = gpu_page.markdown(self.record)
        (self.folder / "cuda.md").write_text(page + "\n", encoding="utf-8")


# -- the tree in a folder


def put_into(folder: Path, seconds: float) -> tuple[Path, dict[str, str]]:
    """A folder from which tengen is imported, and how it came there: by pip, or where that fails as a copy.

    The copy has no C machine. A build that takes longer than ``seconds`` fails.
    """
    source, target = folder / "project", folder / "tree"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LEFT))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    command += ["--no-deps", "--no-build-isolation", "--no-compile", "--target", str(target), str(source)]
    problem = finished(command, seconds)
    if not problem:
        return target, {"how": "pip", "text": "installed by pip into a folder"}
    shutil.rmtree(target, ignore_errors=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for package, place in project["tool"]["setuptools"]["package-dir"].items():
        shutil.copytree(source / place, target.joinpath(*package.split(".")), dirs_exist_ok=True)
    return target, {"how": "copied", "text": f"copied into a folder, for pip could not install it: {problem}"}


def finished(command: Sequence[str], seconds: float) -> str:
    """Run a program with those that it starts; what went wrong, on one line."""
    kept = {n: v for n, v in os.environ.items() if n != "PYTHONPATH"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=kept,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"more than {seconds:.0f} s"
    finally:
        if process.poll() is None:
            end_group(process)
    if not process.returncode:
        return ""
    lines = [line.strip() for line in output.splitlines() if "Error" in line or "No module" in line]
    return shown((lines or output.strip().splitlines() or [f"status {process.returncode}"])[0])


def end_group(process: subprocess.Popen[str]) -> None:
    """End a program and those that it started."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


# -- the run


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for."""

    parts: tuple[str, ...]
    stand_in: bool
    as_it_is: bool
    every: int
    scale: float
    epochs: int

    def environment(self, tree: Path | None) -> dict[str, str]:
        """Of the processes that do it."""
        kept = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
        found = [str(tree)] * (tree is not None) + [str(STAND_IN)] * self.stand_in
        found += [kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else []
        kept |= {"PYTHONPATH": os.pathsep.join(found)} if found else {}
        # What one process has compiled for the GPU, others have.
        kept.setdefault("CUPY_CACHE_DIR", str(CACHE / "kernels"))
        return kept | {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}

    def part(self, name: str, limit: float, left: float, tree: Path | None) -> Part:
        """A part, as it is handed to its processes."""
        share, item = PARTS[name]
        seconds = max(1.0, min(share * limit, left - ENDING * limit))
        options = {"every": self.every, "scale": self.scale, "epochs": self.epochs, "seconds": 0.7 * seconds}
        options |= {"tree": str(tree)} if tree is not None else {}
        workers = max(LEAST_WORKERS, min(MOST_WORKERS, (os.cpu_count() or 1) - 1)) if name == "samples" else 1
        return Part(name, f"part_{name}", seconds, item * seconds, workers, options)


def run(plan: Plan, report: Report, folder: Path) -> None:
    """Do all parts, whatever becomes of each. What is installed lies in a folder, and what processes say."""
    limit, tree = report.record["limit"], None
    if plan.as_it_is:
        report.record["installed"] = {"how": "as it is", "text": "as this Python finds it"}
    else:
        tree, report.record["installed"] = put_into(folder, INSTALLING * limit)
    environment = plan.environment(tree)
    try:
        for name in plan.parts:
            print(f"{name} ...", flush=True)
            part = plan.part(name, limit, report.left, tree)
            found = Supervised(part, folder / "parts" / name, environment).run(
                lambda known, name=name: report.part(name, known)
            )
            report.part(name, found)
            report.write()
            if there_is_none(report.record):
                break
        report.record["ended"] = True
    finally:
        report.write()
        keep_logs(folder / "parts", report.folder / "cuda.log")
        print(f"\n{gpu_page.markdown(report.record)}\n\nrecord: {report.folder / 'cuda.json'}", flush=True)


def there_is_none(record: Mapping[str, Any]) -> bool:
    """Whether a process has found that there is no GPU, or no CuPy: then all else would say so, too."""
    results = record["parts"].get("device", {"results": {}})["results"]
    return any(result["outcome"] == "failed" for result in results.values())


def keep_logs(parts: Path, path: Path) -> None:
    """What processes said, in one file; none where they said nothing."""
    logs = [(log, log.read_text(encoding="utf-8", errors="replace")) for log in sorted(parts.rglob("*.log"))]
    texts = [f"== {log.relative_to(parts)}\n{text[-20_000:]}" for log, text in logs if text.strip()]
    if texts:
        path.write_text("\n".join(texts), encoding="utf-8")


def chosen(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; exits where they are wrong."""
    parser = argparse.ArgumentParser(prog="python dev.py cuda", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--out", type=Path, default=CACHE, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=5)
    for flag in ("--stand-in", "--as-it-is", "--write"):
        parser.add_argument(flag, action="store_true")
    found = parser.parse_args(arguments)
    if unknown := sorted(set(found.parts) - set(PARTS)):
        parser.error(f"no part is named {', '.join(unknown)}: there are {', '.join(PARTS)}")
    if found.write and (found.stand_in or found.parts):
        parser.error("what is written into the project is of all parts, on a GPU")
    return found


def main(arguments: Sequence[str]) -> int:
    """Run, and print the page. 0 where all is good, 1 where something is not, 2 where there is no GPU."""
    options = chosen(arguments)
    names = tuple(name for name in PARTS if name in options.parts or not options.parts)
    plan = Plan(names, options.stand_in, options.as_it_is, options.every, options.scale, options.epochs)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of what writes the record
    report = Report(options.out, options.seconds)
    with tempfile.TemporaryDirectory(prefix="tengen-cuda-", ignore_cleanup_errors=True) as folder:
        run(plan, report, Path(folder))
    if there_is_none(report.record):
        print("!" * 79, "there is no GPU that CuPy finds: NOTHING WAS RUN ON ONE", "!" * 79, sep="\n")
        return 2
    if options.write and not gpu_page.is_of_a_gpu(report.record):
        print("nothing is written into the project: it is not known that this was a GPU")
        return 1
    if options.write:
        shutil.copy(report.folder / "cuda.json", KEPT)
        PAGE.write_text(gpu_page.put(report.record, PAGE), encoding="utf-8")
    return 0 if gpu_page.is_good(report.record) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
