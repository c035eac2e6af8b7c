"""``tengen verify [OP...]``: runs operators, and shows where in the declarations one is wrong.

The code is generated into a scratch folder, and a process of its own runs there what each operator declares:
its samples in all its dtypes against its reference; its gradient, tangent and their derivatives against
differences; Meta against CPU; in-place and out variants against the functional operator; vmap against a
loop; the ONNX symbolic in onnxruntime, where that is installed; views, layouts, and the declared errors. Of
tengen itself also the table of primitives: their derivatives against differences, and their ONNX forms.

A failure is shown at the formula, kernel or key that is wrong, as mistakes of the generator are, with the
call, both values around the largest error, and a line of Python that shows it again:

    declarations/derivatives.unary.yaml:154:9: error: the gradient of sin for self is wrong
        self: -grad * self.cos().conj()
              ^~~~~~~~~~~~~~~~~~~~~~~~~

Without names those operators are verified that differ from git's HEAD (or ``--since REV``): whose entries
changed, whose kernels, formulas or references did, and those whose formulas call one of them. ``--all``
verifies all. Nothing is written but the scratch folder, which is removed.

One mistake is told once, with the first call that shows it, and with what else does. An operator of which no
value was compared, because it declares no ``reference``, is not among those that are verified: a warning says
so. The exit status is 1 when something is wrong, with ``--strict`` also after such a warning, and 2 when
there is nothing to go by.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tengen.codegen.commands.affected import Affected, Folders, affected
from tengen.codegen.commands.locate import Locator
from tengen.codegen.commands.progress import Progress
from tengen.codegen.commands.workspace import Workspace, add_workspace
from tengen.codegen.gen import declarations_dir, generated, output_dir
from tengen.codegen.loaded import dumped
from tengen.codegen.model.diagnostics import CommandError, Diagnostic, suggestion
from tengen.codegen.model.operators import Declarations, by_function
from tengen.codegen.model.source import Place
from tengen.codegen.outcome import missing
from tengen.codegen.read.libraries import Library

Answer = dict[str, Any]
Key = tuple[Place, ...]  # of a cause: where it is

#: An operator for each process is too few: each loads what is declared.
_A_PROCESS = 4
_LAST_LINES = 12  # of what a process has printed
_FEW = 12  # names that are listed
#: What the processes are asked of beside operators.
PRIMITIVES = "primitives.yaml"
_A_FEW = 3  # operators without a reference that are shown one by one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "operators", nargs="*", metavar="OP", help='full names, or functions: "mul" is all of mul'
    )
    parser.add_argument("--all", action="store_true", help="verify every operator")
    parser.add_argument(
        "--since", default="HEAD", metavar="REV", help="what differs from this revision (HEAD)"
    )
    parser.add_argument(
        "--jobs", "-j", type=count_of, default=os.cpu_count() or 1, metavar="N", help="processes"
    )
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="also tell what could not be verified, and why"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail also where no value was compared, for want of a reference"
    )
    add_workspace(parser)


def count_of(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"takes a number from 1 on, not {text!r}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Verify, and print what is wrong. Returns the exit status."""
    began = time.monotonic()
    workspace = Workspace.of(options)
    declared = workspace.load()
    names, changed = chosen(options, workspace, declared)
    if not names:
        print(f"nothing that is declared differs from {options.since}: name operators, or verify --all")
        return 0
    report = Report(workspace, declared, changed)
    report.locator.read(names)  # what is no Python is told before it is run in vain
    with tempfile.TemporaryDirectory(prefix="tengen-verify-") as scratch:
        regenerate(workspace, declared, Path(scratch))
        tables = [PRIMITIVES] if workspace.library is None else []
        answers = verify([*tables, *names], workspace, Path(scratch), options.jobs)
    if tables:
        report.primitives(answers.pop(0))
    for answer in answers:
        report.add(answer)
    return report.print(answers, time.monotonic() - began, options)


# -- which operators -----------------------------------------------------------------------------


def chosen(
    options: argparse.Namespace, workspace: Workspace, declared: Declarations
) -> tuple[list[str], dict[str, set[str]]]:
    """The operators to verify, and what of them has changed, as far as that was asked.

    Raises CommandError for an unknown name, or where there is nothing to compare with.
    """
    own = "" if workspace.library is None else workspace.library.name
    every = [str(o.name) for o in declared.operators if o.name.namespace == own]
    if options.all:
        return every, {}
    if options.operators:
        return with_kin(named(options.operators, declared), declared), {}
    found = affected(declared, folders_of(workspace), options.since)
    tell(found)
    names = every if found.everything else with_kin(sorted(found.operators), declared)
    return names, found.operators


def named(words: Sequence[str], declared: Declarations) -> list[str]:
    """The operators that the words name: by full name, or all overloads of a function."""
    full = {str(o.name): o for o in declared.operators}
    functions = by_function(declared.operators)
    found: dict[str, None] = {}
    for word in words:
        names = [word] if word in full else [str(o.name) for o in functions.get(word, ())]
        if not names:
            close = suggestion(word, [*full, *functions])
            raise CommandError(f'no operator is named "{word}"' + (f": {close}" if close else ""))
        found |= dict.fromkeys(names)
    return list(found)


def with_kin(names: Iterable[str], declared: Declarations) -> list[str]:
    """The operators, and those through which they are verified: made by one entry, or not in place."""
    full = {str(o.name): o for o in declared.operators}
    functional: dict[str, list[str]] = {}
    for name, operator in full.items():
        if not operator.name.inplace:
            functional.setdefault(operator.name.base, []).append(name)
    found: dict[str, None] = {}
    for name in names:
        operator = full[name]
        beside = [f"{name}_forward", f"{name}_backward"] if operator.mechanism == "nn" else []
        through = functional.get(operator.name.base, []) if operator.name.inplace else []
        found |= dict.fromkeys([name, *(n for n in (*beside, *through) if n in full)])
    return list(found)


def folders_of(workspace: Workspace) -> Folders:
    """Where what an edit may change is."""
    generator = Path(__file__).resolve().parent.parent
    library = workspace.library
    code = workspace.runtime if library is None else library.folder
    package = "tengen" if library is None else library.package
    return Folders(
        workspace.declarations, code, tests_of(workspace), (generator, workspace.templates), package
    )


def tests_of(workspace: Workspace) -> Path:
    """Where references are."""
    library = workspace.library
    return workspace.declarations.resolve().parent / "tests" if library is None else library.tests


def tell(found: Affected) -> None:
    """Say what the choice leaves out."""
    if found.everything:
        print(f"{found.everything} has changed: all operators are verified", file=sys.stderr)
    elif found.beside:
        print(f"{found.beside[0]} has changed, too: verify --all for all that is generated", file=sys.stderr)
    for text in found.left_out:
        print(f"not verified: {text} (--all does)", file=sys.stderr)


# -- in a process of its own ---------------------------------------------------------------------


def regenerate(workspace: Workspace, declared: Declarations, scratch: Path) -> None:
    """Make the packages in the scratch folder, with the code that is generated, and what is declared.

    Of a library that is the library's package; tengen's generated code is then as it is.
    """
    from tengen.codegen.emit.write import write

    package, library = scratch / "tengen", workspace.library
    package.mkdir()
    besides = {"codegen", "declarations", "generated", "ir", "templates"}
    links(workspace.runtime, package, besides)
    generator = Path(__file__).resolve().parent.parent
    link(generator, package / "codegen")
    link(generator.parent / "ir", package / "ir")
    link(workspace.templates, package / "templates")
    if library is None:
        link(workspace.declarations.resolve(), package / "declarations")
        output = package / "generated"
    else:
        link(declarations_dir(), package / "declarations")
        link(output_dir(), package / "generated")
        output = _library_package(library, scratch) / "generated"
    cache = workspace.cache()
    if cache.unchanged():
        link(workspace.output, output)
    else:
        files = generated(workspace.declarations_below, library, cache)
        if workspace.output.is_dir():  # with what Python has compiled of files that stay as they are
            shutil.copytree(workspace.output, output)
        write(files, output)
    content = dumped(declared, workspace.declarations, workspace.runtime, library)
    (scratch / "declared").write_bytes(content)


def _library_package(library: Library, scratch: Path) -> Path:
    """The library's package in the scratch folder, without what was generated."""
    here, there = library.folder.parents[library.package.count(".")], scratch
    for part in library.package.split("."):
        if there != scratch:
            links(here, there, {part})
        here, there = here / part, there / part
        there.mkdir()
    links(here, there, {"generated"})
    return there


def links(folder: Path, to: Path, besides: set[str]) -> None:
    """Links to all that is in a folder, but for some."""
    for path in folder.iterdir():
        if path.name not in besides and path.name != "__pycache__":
            link(path, to / path.name)


def link(path: Path, to: Path) -> None:
    """A link, or a copy where there are none."""
    try:
        to.symlink_to(path.resolve(), target_is_directory=path.is_dir())
    except OSError:
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, to)


def verify(names: Sequence[str], workspace: Workspace, scratch: Path, jobs: int) -> list[Answer]:
    """What the processes answer about the operators, in the order of the names."""
    waiting: SimpleQueue[str] = SimpleQueue()
    for name in names:
        waiting.put(name)
    package = "" if workspace.library is None else workspace.library.package
    answers: dict[str, Answer] = {}
    count = min(jobs, -(-len(names) // _A_PROCESS))
    with Progress(len(names), "verifying") as progress, ThreadPoolExecutor(count) as pool:

        def work(worker: Worker) -> None:
            try:
                while not worker.killed:
                    name = waiting.get_nowait()
                    answers[name] = worker.ask(name)
                    progress.step(name)
            except Empty:
                pass
            finally:
                worker.close()

        workers = [Worker(scratch, tests_of(workspace), package) for _ in range(count)]
        try:
            list(pool.map(work, workers))
        except BaseException:  # Ctrl-C, or a process that cannot be started: the others need not go on
            for worker in workers:
                worker.kill()
            raise
    return [answers[name] for name in names if name in answers]


class Worker:
    """A process that checks one operator after the other; when one ends it, the next has a new one."""

    def __init__(self, scratch: Path, references: Path, package: str) -> None:
        self.scratch, self.arguments = scratch, [str(scratch / "declared"), str(references), package]
        self.process: subprocess.Popen[str] | None = None
        self.killed = False

    def start(self) -> subprocess.Popen[str]:
        """A process that waits for names. Raises CommandError where it cannot run operators at all."""
        path = os.pathsep.join(p for p in (str(self.scratch), os.environ.get("PYTHONPATH", "")) if p)
        command = [sys.executable, "-m", "tengen.testing.worker", *self.arguments]
        self.process = process = subprocess.Popen(
            command,
            cwd=self.scratch,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors.open("w"),
            text=True,
        )
        assert process.stdout is not None
        if self.killed:
            process.kill()
        if process.stdout.readline():
            return process
        process.wait()
        self.process = None
        if self.killed:
            raise Empty
        raise CommandError(unstartable(self.printed()))

    @property
    def errors(self) -> Path:
        """The file that the process writes to."""
        return self.scratch / f"errors-{id(self)}"

    def printed(self) -> list[str]:
        """What the process has written."""
        return self.errors.read_text(errors="replace").strip().splitlines()

    def ask(self, name: str) -> Answer:
        """What the process answers about an operator; that it ended, if it did."""
        process = self.process or self.start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            answer: Answer = json.loads(line)
            return answer
        status = process.wait()
        self.process = None
        if self.killed:
            raise Empty
        printed = self.printed()
        last = f": {printed[-1]}" if printed else ""
        return {
            "operator": name,
            "internal": f"the process ended with status {status}{last}",
            "trace": "\n".join(printed),
        }

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        self.killed = True
        if self.process is not None:
            self.process.kill()

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            assert self.process.stdin is not None and self.process.stdout is not None
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()


def unstartable(printed: Sequence[str]) -> str:
    """Why operators cannot be run, of what a process printed that ended before it was asked anything."""
    absent = re.fullmatch(r"ModuleNotFoundError: No module named '([\w.]+)'", printed[-1] if printed else "")
    if absent is not None and not absent[1].startswith("tengen"):
        return missing(absent[1])
    return "\n".join(["no operator can be run:", *(f"  {line}" for line in printed[-_LAST_LINES:])])


# -- what is printed -------------------------------------------------------------------------------


@dataclass
class Found:
    """One cause: where it is, how it was seen first, and what else shows it."""

    diagnostic: Diagnostic
    lines: list[str]
    seen: tuple[str, str]  # the operator and the title of the aspect that it was seen in first
    also: dict[tuple[str, str], None] = field(default_factory=dict)  # the others

    def add(self, operator: str, titles: Iterable[str]) -> None:
        """Note what else shows it."""
        self.also |= {(operator, title): None for title in titles if (operator, title) != self.seen}

    def consequences(self) -> str:
        """What else shows it, in words."""
        by_operator: dict[str, list[str]] = {}
        for operator, title in self.also:
            by_operator.setdefault(operator, []).append(title)
        own = by_operator.pop(self.seen[0], [])
        others = [f"{operator}: {', '.join(titles)}" for operator, titles in by_operator.items()]
        return "; ".join([*([", ".join(own)] if own else []), *others])


class Report:
    """Failures as diagnostics at their places, one for each cause."""

    def __init__(self, workspace: Workspace, declared: Declarations, changed: dict[str, set[str]]) -> None:
        self.declarations = workspace.declarations
        self.locator = Locator(declared, workspace.declarations, folders_of(workspace).runtime)
        self.changed = changed
        self.found: dict[Key, Found] = {}
        self.wrong: set[str] = set()

    def add(self, answer: Answer) -> None:
        """Note what is wrong about an operator."""
        if "internal" in answer:
            name = answer["operator"]
            trace = [f"  {line}" for line in answer["trace"].splitlines()[-_LAST_LINES:]]
            message = f"{name} could not be checked: {answer['internal']}"
            spot = self.locator.spot(name, "kernel")
            diagnostic = Diagnostic(spot.place, message, spot.length, related=spot.related)
            self.note((spot.place,), name, Found(diagnostic, trace, (name, "internal")), ())
        for failure in answer.get("failures", ()):
            self.failure(answer["operator"], failure)

    def primitives(self, answer: Answer) -> None:
        """Note what is wrong in the table of primitives."""
        if "internal" in answer:
            raise CommandError(f"{PRIMITIVES} could not be checked: {answer['internal']}")
        for each in answer["mistakes"]:
            spot = self.locator.primitive(each["primitive"], each["operand"], each["got"])
            lines = [f"  formula:    {each['got']}", f"  difference: {each['expected']}"]
            found = Found(
                Diagnostic(spot.place, each["message"], spot.length),
                lines if each["expected"] else [],
                (each["primitive"], PRIMITIVES),
            )
            self.note((spot.place,), each["primitive"], found, ())

    def failure(self, checked: str, failure: Answer) -> None:
        """Note a failure that the check of an operator found; what is at fault may be of another one."""
        name = failure["operator"]
        kind, what, other = self.part(failure)
        spot = self.locator.spot(other or name, kind, what, "" if other else failure["variant"])
        related = list(spot.related)
        for doubtful, its, of in failure["doubtful"]:
            place = self.locator.spot(of or name, doubtful, its).place
            compared = {kind, doubtful} == {"kernel", "reference"}
            doubt = "this is wrong, which it was compared with" if compared else DOUBTS[doubtful]
            related += [(place, f"or {doubt}")] if place != spot.place else []
        origin = self.locator.origin(*failure["origin"]) if failure["origin"] and kind == "kernel" else None
        if origin is not None:
            related.append((origin, "it is raised here"))
        diagnostic = Diagnostic(spot.place, failure["message"], spot.length, related=tuple(related))
        found = Found(diagnostic, list(details(failure)), (name, failure["title"]))
        # Of an entry that makes several operators the functions tell which is meant.
        key = (origin,) if origin is not None else (spot.place, *(place for place, _ in spot.related))
        self.note(key, other or name, found, ((checked, t) for t in failure["also"]))

    def part(self, failure: Answer) -> tuple[str, str, str]:
        """What is at fault: of two things that disagree the one that has changed, where only one has."""
        name, part = failure["operator"], failure["part"]
        for doubtful in failure["doubtful"]:
            if self.has_changed(name, doubtful) and not self.has_changed(name, part):
                failure["doubtful"] = [part]
                if {part[0], doubtful[0]} == {"kernel", "reference"}:
                    failure["message"] = f"the {doubtful[0]} of {name} gives other values than its {part[0]}"
                part = doubtful
                break
        kind, what, other = part
        return kind, what, other

    def has_changed(self, name: str, part: Sequence[str]) -> bool:
        """Whether the part of an operator is among what the edit touches."""
        kind, what, other = part
        changed = self.changed.get(other or name, set())
        if kind == "gradient":
            return any(what in key.removeprefix("derivative ").split(", ") for key in changed)
        return KEYS.get(kind) in changed

    def note(self, key: Key, name: str, found: Found, also: Iterable[tuple[str, str]]) -> None:
        """Note a cause, or what shows one that is noted already."""
        self.wrong.add(name)
        first = self.found.setdefault(key, found)
        for operator, title in (found.seen, *also):
            first.add(operator, [title])

    def print(self, answers: Sequence[Answer], seconds: float, options: argparse.Namespace) -> int:
        """Print all that was found, and how much was verified. Returns the exit status."""
        places = [(f.diagnostic.place, f) for f in self.found.values()]
        ordered = [f for p, f in sorted(places, key=lambda f: (f[0].file, f[0].line, f[0].column))]
        for found in ordered:
            also = found.consequences()
            lines = [*found.lines, *([f"  also seen in: {also}"] if also else [])]
            print("\n".join([found.diagnostic.render(self.line(found.diagnostic)), *lines]) + "\n")
        without = [a["operator"] for a in answers if a.get("uncompared") == WITHOUT_REFERENCE]
        for text in self.warnings(without, options.verbose):
            print(f"{text}\n")
        if options.verbose:
            print("\n".join(left_out(answers)))
        if ordered:
            print(f"{counted(len(ordered), 'error')} in {counted(len(self.wrong), 'operator')}; ", end="")
        print(summary(answers, seconds))
        return 1 if ordered or (without and options.strict) else 0

    def warnings(self, names: Sequence[str], all_: bool) -> Iterator[str]:
        """What is told of operators of which no value was compared, though a reference could be declared."""
        if len(names) > _A_FEW:
            yield f"warning: no value of {len(names)} operators was compared: they declare no reference: " + (
                ", ".join(names) if all_ else few(names)
            )
            return
        for name in names:
            spot = self.locator.spot(name, "signature")
            message = f"no value of {name} was compared: it declares no reference"
            help = "a reference: gives the values by NumPy, or by a function of tests/references*"
            diagnostic = Diagnostic(spot.place, message, spot.length, help=help, level="warning")
            yield diagnostic.render(self.line(diagnostic))

    def line(self, diagnostic: Diagnostic) -> str | None:
        """The line of the declarations that a diagnostic is about."""
        path = self.declarations / Path(diagnostic.place.file).name
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        number = diagnostic.place.line - 1
        return lines[number] if number < len(lines) else None


#: The keys of an entry that say a part, where two parts may disagree.
KEYS = {"kernel": "dispatch", "reference": "reference", "dtypes": "dtypes", "sample": "samples"}
#: What may be wrong instead.
DOUBTS = {
    "kernel": "its kernel is wrong",
    "reference": "its reference is wrong",
    "dtypes": "the dtypes that it claims are",
    "sample": "its sample is wrong",
    "gradient": "this formula is wrong, which calls it",
    "tangent": "this formula is wrong, which calls it",
}
#: Why no value of an operator was compared, where it could be.
WITHOUT_REFERENCE = "it declares no reference"


def summary(answers: Sequence[Answer], seconds: float) -> str:
    """How many operators were verified, and of how many no value was compared with anything."""
    by_reason: dict[str, int] = {}
    for answer in answers:
        reason = answer.get("uncompared", "")
        by_reason[reason] = by_reason.get(reason, 0) + 1
    parts = [f"{counted(by_reason.pop('', 0), 'operator')} verified"]
    for reason, count in by_reason.items():
        why = reason.removeprefix("it declares ").removeprefix("its ")
        parts.append(f"{count} NOT COMPARED ({why})")
    checks = counted(sum(a.get("checks", 0) for a in answers), "call")
    return f"{', '.join(parts)} by {checks} in {seconds:.1f} s"


def details(failure: Answer) -> Iterator[str]:
    """What is printed below a failure: the call with its inputs, both values, and how to see it again."""
    if failure["call"]:
        yield f"  in {failure['call']}"
    yield from (f"    {name} = {value}" for name, value in failure["inputs"])
    wide = max((len(name) for name, _ in failure["values"]), default=0)
    yield from (f"  {name + ':':<{wide + 1}} {value}" for name, value in failure["values"])
    if failure["error"] is not None:
        where = f", {failure['where']}" if failure["where"] else ""
        yield f"  largest error: {failure['error']:.4g}{where}"
    if failure["help"]:
        yield f"  help: {failure['help']}"
    yield f"  again: {failure['reproduction']}"


def left_out(answers: Iterable[Answer]) -> Iterator[str]:
    """What could not be verified, by reason: the operators, and in which respects."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        for title, reason in answer.get("unchecked", ()):
            by_reason.setdefault((title, reason), []).append(answer["operator"])
    for (title, reason), names in sorted(by_reason.items()):
        yield f"not verified: {title}, for {reason}: {few(names)}"


def few(names: Sequence[str]) -> str:
    """The names, or the first of them."""
    return ", ".join(names[:_FEW]) + (f", ... ({len(names)} in all)" if len(names) > _FEW else "")


def counted(count: int, what: str) -> str:
    """``1 operator``, ``2 operators``."""
    return f"{count} {what}{'' if count == 1 else 's'}"
