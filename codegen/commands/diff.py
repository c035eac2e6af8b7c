"""``tengen diff [REV]``: what changed in the declarations since a revision, operator by operator.

Added, removed, signature changed, default changed, formula changed, kernel changed, dtypes
changed. What breaks callers is marked BREAKING; ``--markdown`` writes it for a changelog.
"""

from __future__ import annotations

import argparse
import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tengen.codegen.commands.revision import commit_of, git_bytes
from tengen.codegen.commands.workspace import Workspace, add_workspace
from tengen.codegen.emit.cache import GENERATOR, SOURCES, Kept, digest
from tengen.codegen.gen import declarations_dir
from tengen.codegen.loaded import kept_or, known
from tengen.codegen.model.diagnostics import Report
from tengen.codegen.model.operators import Declarations, Derivative, Operator
from tengen.codegen.model.schema import Argument, Schema
from tengen.codegen.pipeline import load_reporting
from tengen.codegen.read.entries import KERNELS, MODULES, mechanism_of, read_entries

#: The groups of changes, in the order of the report.
TITLES = {
    "removed": "Removed",
    "signature": "Signature changed",
    "default": "Default changed",
    "dtypes": "Dtypes changed",
    "added": "Added",
    "formula": "Derivative changed",
    "kernel": "Kernel changed",
    "other": "Otherwise changed",
}
GROUPS = tuple(TITLES)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changed about one operator."""

    group: str
    operator: str
    text: str
    breaking: bool = False

    def render(self) -> str:
        mark = "BREAKING " if self.breaking else ""
        return f"{mark}{self.operator}: {self.text}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("revision", nargs="?", default="HEAD", help="of git (default: HEAD)")
    parser.add_argument("--markdown", action="store_true", help="write it as lists for a changelog")
    parser.add_argument("--exit-code", action="store_true", help="exit 1 if something BREAKING changed")
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Print the changes. Returns the exit status."""
    workspace = Workspace.of(options)
    now = workspace.load()
    before, unread = at_revision(workspace, options.revision)
    found = changes(before, now, unread)
    if unread:
        few = ", ".join(sorted(unread)[:3]) + (", ..." if len(unread) > 3 else "")
        print(f"not compared, for they were declared in an older language: {len(unread)} ({few})\n")
    print(rendered(found, options.markdown), end="")
    return 1 if options.exit_code and any(c.breaking for c in found) else 0


def rendered(found: Iterable[Change], markdown: bool) -> str:
    """The report, grouped."""
    lines: list[str] = []
    listed = list(found)
    for group in GROUPS:
        chosen = sorted((c for c in listed if c.group == group), key=lambda c: c.operator)
        if chosen:
            lines += [f"### {TITLES[group]}" if markdown else TITLES[group], *([""] if markdown else [])]
            lines += [f"- {_marked(c)}" if markdown else f"  {c.render()}" for c in chosen] + [""]
    return "\n".join(lines) or "nothing changed\n"


def _marked(change: Change) -> str:
    mark = "**BREAKING** " if change.breaking else ""
    return f"{mark}`{change.operator}`: {change.text}"


# -- the declarations of a revision --------------------------------------------------------------


def at_revision(workspace: Workspace, revision: str) -> tuple[Declarations, frozenset[str]]:
    """What was declared then, and the operators whose entries cannot be read any more. Raises NotFound."""
    folder = workspace.declarations.resolve()
    root, commit = commit_of(folder, revision)
    library = workspace.library
    paths = [(folder if library is None else library.folder).relative_to(root).as_posix()]
    runtime = workspace.runtime.resolve()
    if library is None and runtime.is_relative_to(root):
        paths.append(runtime.relative_to(root).as_posix())

    def read() -> tuple[Declarations, frozenset[str]]:
        archive = git_bytes(root, "archive", "--format=tar", commit, *paths)
        with tempfile.TemporaryDirectory() as scratch:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(scratch, filter="data")
            return _declared_in(Path(scratch), paths, workspace, root)

    if len(paths) == 1:  # what it stands on may have changed since
        return read()
    key = " ".join([digest(GENERATOR, SOURCES), commit, *paths])
    return kept_or(Kept("revision.pickle", folder, None, key), tuple, read)


def _declared_in(
    scratch: Path, paths: list[str], workspace: Workspace, root: Path
) -> tuple[Declarations, frozenset[str]]:
    """As ``at_revision``, of the folders as they were then."""
    then, library, runtime = scratch / paths[0], workspace.library, workspace.runtime.resolve()
    if library is not None:
        former = replace(library, root=scratch / library.root.relative_to(root), folder=then)
        declared = load_reporting(declarations_dir(), runtime, Report(), former)
        own = {o.name.function for o in declared.operators if o.name.namespace}
        return declared, names_in(then / "declarations") - own
    with known("lowered.txt", workspace.declarations) as lowered:
        declared = load_reporting(
            then, scratch / paths[1] if len(paths) > 1 else runtime, Report(), None, set(lowered)
        )
    return declared, names_in(then) - {str(o.name) for o in declared.operators}


def names_in(folder: Path) -> frozenset[str]:
    """The operators that have entries in a folder, whatever is wrong with these."""
    found = set()
    for path in sorted(folder.iterdir()):
        mechanism = mechanism_of(path)
        if mechanism not in (None, "derivatives", KERNELS, MODULES):
            for entry in read_entries(path, path.name, str(mechanism), Report()):
                schema = entry.fields.get("func") or entry.fields.get("name")
                if schema is not None:
                    found.add(str(schema.value).partition("(")[0].strip())
    return frozenset(found)


# -- what changed ----------------------------------------------------------------------------------


def changes(before: Declarations, now: Declarations, unread: frozenset[str] = frozenset()) -> list[Change]:
    """Every change from one set of declarations to another, but for operators that could not be read."""
    old, new = ({str(o.name): o for o in d.operators} for d in (before, now))
    then, today = ({str(d.name): d for d in x.derivatives} for x in (before, now))
    found: list[Change] = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            found.append(Change("removed", name, str(old[name].schema), breaking=not name.startswith("_")))
        elif name in unread:
            continue
        elif name not in old:
            found.append(Change("added", name, str(new[name].schema)))
        else:
            found += _operator(name, old[name], new[name])
            found += _derivative(name, then.get(name), today.get(name))
    return found


def _operator(name: str, old: Operator, new: Operator) -> Iterator[Change]:
    yield from _signature(name, old.schema, new.schema)
    for key in sorted(old.kernels.keys() | new.kernels.keys()):
        a, b = ((o.kernels[key].formula.text if key in o.kernels else None) for o in (old, new))
        if a != b:
            yield Change("kernel", name, f"{key}: {a or 'none'} -> {b or 'none'}")
    for backend in sorted(old.dtypes.keys() | new.dtypes.keys()):
        had, has = old.dtypes.get(backend, frozenset()), new.dtypes.get(backend, frozenset())
        if had - has:
            lost = ", ".join(sorted(had - has))
            yield Change("dtypes", name, f"{backend} no longer computes {lost}", breaking=True)
        if has - had:
            yield Change("dtypes", name, f"{backend} computes {', '.join(sorted(has - had))} too")
    lost_variants = old.variants - new.variants
    if lost_variants:
        yield Change("signature", name, f"is no {' and no '.join(sorted(lost_variants))}", breaking=True)
    if new.variants - old.variants:
        yield Change("signature", name, f"is a {' and a '.join(sorted(new.variants - old.variants))} too")
    gone = {str(n) for n in old.autogen} - {str(n) for n in new.autogen}
    if gone:
        yield Change("signature", name, f"has no {', '.join(sorted(gone))}", breaking=True)
    for what in ("promote", "result", "factory", "opmath", "python_module"):
        a, b = getattr(old, what), getattr(new, what)
        if a != b:
            yield Change("other", name, f"{what}: {a} -> {b}", breaking=what in ("promote", "python_module"))


def _signature(name: str, old: Schema, new: Schema) -> Iterator[Change]:
    if str(old) == str(new):
        return
    had: Mapping[str, Argument] = {a.name: a for a in old.arguments}
    defaults = [a for a in new.arguments if a.name in had and had[a.name].default != a.default]
    for a in defaults:
        before = "required" if had[a.name].default is None else had[a.name].default
        after = "required" if a.default is None else a.default
        yield Change("default", name, f"{a.name}: {before} -> {after}", breaking=before != "required")
    if _without_defaults(old) != _without_defaults(new):
        added = [a for a in new.arguments if a.name not in had]
        kept = [str(a.type) + a.name for a in new.arguments if a.name in had]
        same = kept == [str(a.type) + a.name for a in old.arguments]
        optional = same and all(a.default is not None for a in added)
        grown = optional and [a.name for a in new.positional][: len(old.positional)] == [
            a.name for a in old.positional
        ]
        yield Change("signature", name, f"{old} -> {new}", breaking=not grown)


def _without_defaults(schema: Schema) -> tuple[object, ...]:
    return (
        [(a.name, str(a.type), a.kwarg_only, str(a.alias)) for a in schema.arguments],
        [(str(r.type), r.name) for r in schema.returns],
    )


def _derivative(name: str, old: Derivative | None, new: Derivative | None) -> Iterator[Change]:
    a, b = _formulas(old), _formulas(new)
    for key in sorted(a.keys() | b.keys()):
        if a.get(key) != b.get(key):
            yield Change("formula", name, f"{key}: {a.get(key, 'none')} -> {b.get(key, 'none')}")


def _formulas(entry: Derivative | None) -> dict[str, str]:
    if entry is None:
        return {}
    found = {", ".join(names): f.text for names, f in entry.gradients.items()}
    return found | {name: f.text for name, f in entry.jvps.items()}
