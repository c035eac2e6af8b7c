"""Whether the tests notice mistakes: ``python dev.py mutants [NAME ...] [--place P] [--jobs N] [--quick]``.

Each mutant is put into a copy of the project, whose tests then run until one fails: first the mutant's own
selection, then, unless --quick, all others. A generator that fails and a test that hangs notice it as well.
At the end whatever noticed a mutant must pass without one, else it is no proof.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import SimpleQueue

sys.path.append(str(Path(__file__).resolve().parents[1] / "helpers"))

from mutants import PLACES, ListError, Mutant, mutants
from scratch import PROJECT, copy_project

FAST_PATHS = "TENGEN_FAST_PATHS"
C_SOURCES = Path("runtime") / "fast_paths"
ONLY = "TENGEN_TEST_ONLY"  # of tengen.testing.declared, which a mutant may break
SUMMARY = PROJECT / ".cache" / "mutants.json"
FAILURES = Path(".cache") / "pytest"  # in a copy
PYTEST = ("-m", "pytest", "-q", "-x", "--tb=no", "-o", f"cache_dir={FAILURES}", "-m", "not oracle")
#: What is not run in copies: tests that copy the project themselves to run tests there.
SUITE = ("tests", "--ignore=tests/mutants")
KILLED, SURVIVED, UNCLEAR = "killed", "survived", "unclear"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant."""

    name: str
    place: str
    kind: str
    state: str
    by: str = ""
    stage: str = ""
    seconds: float = 0.0
    explained: str = ""


class Copy:
    """A copy of the project that holds one mutant at a time."""

    def __init__(self, root: Path) -> None:
        names = sorted(p.name for p in PROJECT.iterdir() if not p.name.startswith(".") and p.name != "build")
        scratch = copy_project(root, names)
        settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.scratch = replace(scratch, environment={**scratch.environment, **settings})

    @contextmanager
    def holding(self, mutant: Mutant) -> Iterator[None]:
        """The mutant's change is made while the context lasts."""
        path = self.scratch.root / mutant.file
        kept = {p: (p.read_bytes(), p.stat()) for p in [path, *self._generated(), *self._built()]}
        path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        _touch(path, kept[path][1])
        try:
            yield
        finally:
            for changed, (content, status) in kept.items():
                if not changed.exists() or changed.read_bytes() != content:
                    changed.write_bytes(content)
                    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns))
            for added in {*self._generated(), *self._built()} - set(kept):
                added.unlink()

    def _generated(self) -> list[Path]:
        return [p for p in (self.scratch.root / "generated").iterdir() if p.is_file()]

    def _built(self) -> list[Path]:
        return [p for p in (self.scratch.root / C_SOURCES).iterdir() if p.suffix in (".so", ".pyd")]

    def rebuild(self, limit: float) -> bool:
        """Build the C machine of the copy's sources, quickly; whether that succeeded."""
        settings = {**self.scratch.environment, "CFLAGS": "-O0"}
        build = ("setup.py", "-q", "build_ext", "--inplace", "--force")
        before = self._contents()
        replace(self.scratch, environment=settings).python(*build, limit=limit)
        return self._contents() != before  # the extension is optional: a build that fails is no error

    def _contents(self) -> list[bytes]:
        return [p.read_bytes() for p in self._built()]

    def regenerate(self, limit: float) -> bool:
        """Bring generated/ up to date; whether that succeeded."""
        before = {p: (p.read_bytes(), p.stat()) for p in self._generated()}
        done = self.scratch.python("-m", "tengen.codegen.gen", limit=limit)
        for path, (content, status) in before.items():
            if path.exists() and path.read_bytes() != content:
                _touch(path, status)
        return done.returncode == 0

    def pytest(
        self, arguments: Sequence[str], operators: str, limit: float, accelerated: bool = False
    ) -> tuple[int, str, list[str]]:
        """Run tests until one fails: pytest's exit status, what it printed, and what failed."""
        environment = {**self.scratch.environment, **({ONLY: operators} if operators else {})}
        if not accelerated:
            environment[FAST_PATHS] = "0"  # which would run what was not changed
        cache = self.scratch.root / FAILURES
        shutil.rmtree(cache, ignore_errors=True)
        done = replace(self.scratch, environment=environment).python(*PYTEST, *arguments, limit=limit)
        failed = cache / "v" / "cache" / "lastfailed"
        names = list(json.loads(failed.read_text(encoding="utf-8"))) if failed.exists() else []
        return done.returncode, done.stdout, names


def _touch(path: Path, status: os.stat_result) -> None:
    """Give a changed file another time than it had: what was compiled of it is told by that."""
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 2_000_000_000))


def attempt(mutant: Mutant, copy: Copy, options: argparse.Namespace) -> Outcome:
    """Put the mutant into the copy, and see what notices."""
    start = time.monotonic()
    try:
        with copy.holding(mutant):
            state, by, stage = _noticed(mutant, copy, options)
    except ListError as error:
        state, by, stage = UNCLEAR, str(error), ""
    seconds = round(time.monotonic() - start, 1)
    return Outcome(mutant.name, mutant.place, mutant.kind, state, by, stage, seconds, mutant.survives)


def _noticed(mutant: Mutant, copy: Copy, options: argparse.Namespace) -> tuple[str, str, str]:
    """The state, what noticed, and the stage in which it did."""
    stages = [("selection", mutant.selection, mutant.operators)]
    if not options.quick:
        stages.append(("suite", SUITE, ""))
    for stage, arguments, operators in stages:
        try:
            if mutant.regenerates and stage == "selection" and not copy.regenerate(options.limit):
                return KILLED, "the generator", stage
            if mutant.rebuilds and stage == "selection" and not copy.rebuild(options.limit):
                raise ListError(f"{mutant.name}: the C machine cannot be built")
            status, printed, failed = copy.pytest(arguments, operators, options.limit, mutant.rebuilds)
        except subprocess.TimeoutExpired:
            return KILLED, f"the limit of {options.limit:g} s", stage
        if status != 0:
            return *_verdict(status, printed, failed), stage
    return SURVIVED, "", stages[-1][0]


def _verdict(status: int, printed: str, failed: Sequence[str]) -> tuple[str, str]:
    """What a failing run of pytest says."""
    if failed:
        return KILLED, failed[0]
    if status < 0:
        return KILLED, f"signal {-status}"
    if "while loading conftest" in printed or status in (1, 2, 3):
        return KILLED, "the import"
    return UNCLEAR, printed.strip().splitlines()[-1] if printed.strip() else f"pytest's status {status}"


def proofless(outcomes: Sequence[Outcome], chosen: Sequence[Mutant], copy: Copy, limit: float) -> set[str]:
    """Of the tests that noticed mutants those that fail without one as well."""
    operators, rebuilt = {m.name: m.operators for m in chosen}, {m.name for m in chosen if m.rebuilds}
    of_suite = [o for o in outcomes if o.by.startswith("tests/") and not _only(o, operators)]
    found = _failing(copy, {o.by for o in of_suite if o.name not in rebuilt}, "", limit)
    found |= _failing(copy, {o.by for o in of_suite if o.name in rebuilt}, "", limit, accelerated=True)
    with_only = [o for o in outcomes if o.by.startswith("tests/") and _only(o, operators)]
    names = ",".join(dict.fromkeys(operators[o.name] for o in with_only))
    return found | _failing(copy, {o.by for o in with_only}, names, limit)


def _only(outcome: Outcome, operators: dict[str, str]) -> bool:
    return outcome.stage == "selection" and bool(operators[outcome.name])


def _failing(
    copy: Copy, tests: Iterable[str], operators: str, limit: float, accelerated: bool = False
) -> set[str]:
    """Those of the tests that fail in the copy as it is."""
    chosen = sorted(tests)
    if not chosen:
        return set()
    status, _, failed = copy.pytest([*chosen, "--maxfail=1000"], operators, limit * 10, accelerated)
    return set(failed) if status in (0, 1) else set(chosen)


class Summary:
    """What is known of the mutants of the list, in a file that every outcome is written to."""

    def __init__(self, file: Path = SUMMARY) -> None:
        self.file = file
        self.listed = {m.name for m in mutants()}
        self._lock = threading.Lock()

    def read(self) -> dict[str, Outcome]:
        """The outcomes by the names of the mutants."""
        found = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else []
        return {o["name"]: Outcome(**o) for o in found if o["name"] in self.listed}

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Take over what was found of some mutants; another run may write at the same time."""
        self.file.parent.mkdir(exist_ok=True)
        beside = self.file.with_suffix(".lock")
        with self._lock, beside.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of other processes; it ends with the file's closing
            known = self.read() | {o.name: o for o in outcomes}
            made = self.file.with_suffix(".new")
            made.write_text(json.dumps([asdict(o) for o in known.values()], indent=1), encoding="utf-8")
            made.replace(self.file)  # who reads it, without the lock, finds the old or the new one


def run(chosen: Sequence[Mutant], options: argparse.Namespace, summary: Summary) -> list[Outcome]:
    """The outcome of each mutant, in their order."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for job in range(options.jobs):
            copies.put(Copy(Path(folder) / f"copy{job}"))

        def one(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                outcome = attempt(mutant, copy, options)
            finally:
                copies.put(copy)
            print(f"{outcome.state:>8}  {outcome.seconds:6.1f} s  {outcome.name}  {outcome.by}", flush=True)
            summary.add([outcome])
            return outcome

        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(one, chosen))
        wrong = proofless(outcomes, chosen, copies.get(), options.limit)
    return [
        replace(o, state=UNCLEAR, by=f"{o.by} fails without it") if o.by in wrong else o for o in outcomes
    ]


def table(outcomes: Sequence[Outcome], by: str) -> str:
    """The counts by an attribute of outcomes, "place" or "kind", with a line of all."""
    lines = [f"{by:<14}{'mutants':>8}{'killed':>8}{'survived':>10}{'explained':>11}{'unclear':>9}{'rate':>8}"]
    groups = sorted({getattr(o, by) for o in outcomes})
    for group in [*groups, "all"]:
        members = [o for o in outcomes if group in ("all", getattr(o, by))]
        states = Counter(o.state for o in members)
        explained = sum(o.state == SURVIVED and bool(o.explained) for o in members)
        lines.append(
            f"{group:<14}{len(members):>8}{states[KILLED]:>8}{states[SURVIVED]:>10}{explained:>11}"
            f"{states[UNCLEAR]:>9}{100 * states[KILLED] / max(len(members), 1):>7.1f}%"
        )
    return "\n".join(lines)


def report(outcomes: Sequence[Outcome]) -> str:
    """The tables by place and by kind, and every mutant that no test noticed."""
    lines = [table(outcomes, "place"), "", table(outcomes, "kind"), ""]
    lines += [
        f"{o.state}: {o.place}: {o.name}" + (f" ({o.explained or o.by})" if o.explained or o.by else "")
        for o in outcomes
        if o.state != KILLED
    ]
    return "\n".join(lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python dev.py mutants", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a mutant, or a part of names (default: all)"
    )
    parser.add_argument("--place", choices=PLACES, help="the mutants of this file of the list")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at a time")
    parser.add_argument("--quick", action="store_true", help="only the tests that each mutant names")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="of one run of pytest")
    parser.add_argument("--report", action="store_true", help="run nothing, show what earlier runs found")
    return parser.parse_args(arguments)


def chosen_by(options: argparse.Namespace) -> list[Mutant]:
    """The mutants that the arguments name. Raises ListError for a name that none has in it."""
    found = mutants(options.place)
    if unknown := [part for part in options.names if not any(part in m.name for m in found)]:
        raise ListError(f"no mutant is called {', '.join(unknown)}")
    return [m for m in found if not options.names or any(part in m.name for part in options.names)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its status is 1 when a mutant survives without an explanation, or is unclear."""
    options = parse(arguments)
    try:
        chosen = chosen_by(options)
    except ListError as error:
        print(error, file=sys.stderr)
        return 2
    summary = Summary()
    outcomes = [] if options.report else run(chosen, options, summary)
    summary.add(outcomes)
    names = {m.name for m in chosen}
    print(report([o for o in summary.read().values() if o.name in names]))
    bad = [o for o in outcomes if o.state == UNCLEAR or (o.state == SURVIVED and not o.explained)]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
