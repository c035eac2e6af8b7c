"""The generator: ``python -m tengen.codegen.gen``.

Reads declarations/, writes generated/. ``--check`` writes nothing and tells, file by file,
whether what is there is what the declarations generate.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .emit.cache import Cache, Kept, sources
from .outcome import outcome

if TYPE_CHECKING:
    from .emit.files import Renderer
    from .emit.write import Status
    from .model.operators import Declarations
    from .model.source import OutputFile
    from .read.libraries import Library

_PACKAGE = Path(__file__).resolve().parent


def _beside(name: str, package: str) -> Path:
    """A folder of the project: beside codegen/ in a checkout, the package's when installed."""
    here = _PACKAGE.parent / name
    if here.is_dir():
        return here
    import importlib.util

    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def declarations_dir() -> Path:
    """Where the declarations are."""
    return _beside("declarations", "tengen.declarations")


def templates_dir() -> Path:
    """Where the templates are."""
    return _beside("templates", "tengen.templates")


def runtime_dir() -> Path:
    """Where the hand-written runtime is: beside codegen/ in a checkout, around it when installed."""
    here = _PACKAGE.parent / "runtime"
    return here if here.is_dir() else _PACKAGE.parent


def output_dir() -> Path:
    """Where the generated files go: beside codegen/, whether the folder is there or not."""
    return _PACKAGE.parent / "generated"


def generate(
    declarations: Path | None = None,
    library: Library | None = None,
    output: Path | None = None,
    note: Callable[[str], object] | None = None,
) -> list[OutputFile]:
    """Every generated file of tengen, or of a library, in memory.

    With ``output``, what differs from the files there has been compiled; ``note`` is called with what the
    author should know. Raises DeclarationErrors with all mistakes found.
    """
    from .loaded import known, load  # late: where nothing has changed, nothing of this is needed

    declarations = declarations or declarations_dir()
    declared = load(declarations, runtime_dir(), library)
    with known("forms.txt", declarations, library) as lowered:
        renderer = _renderer(declared, library, lowered)
        files = renderer.files()
    if output is not None:
        from .emit.compiled import check_compiles

        check_compiles(files, output, declared)
    if note is not None:
        from .derive.notes import notes

        for each in notes(declared, renderer.derived):
            note(each.render(None))
    return files


def _renderer(declared: Declarations, library: Library | None, lowered: set[str]) -> Renderer:
    if library is None:
        from .emit.files import Renderer

        return Renderer(declared, runtime_dir(), templates_dir(), None, lowered)
    from .emit.library_files import LibraryRenderer

    return LibraryRenderer(declared, runtime_dir(), templates_dir(), library, version(), lowered)


def generated(
    declarations: Path,
    library: Library | None,
    cache: Cache,
    note: Callable[[str], object] | None = None,
) -> list[OutputFile]:
    """As ``generate``, from what is kept where the sources of ``cache`` were rendered before."""
    kept = Kept("rendered.json", declarations, library, cache.inputs)
    content = kept.read()
    found = None if content is None else _rendered(content)
    if found is None:
        notes: list[str] = []
        found = generate(declarations, library, cache.output, notes.append), notes
        kept.write(json.dumps([[(f.path, f.text) for f in found[0]], notes]).encode())
    if note is not None:
        for text in found[1]:
            note(text)
    return found[0]


def _rendered(content: bytes) -> tuple[list[OutputFile], list[str]] | None:
    """The files and notes that the cache holds; None where it is damaged."""
    from .model.source import OutputFile

    try:
        files, notes = json.loads(content)
        return [OutputFile(path, text) for path, text in files], [str(text) for text in notes]
    except (ValueError, TypeError):
        return None


def version() -> str:
    """The version of tengen."""
    text = (runtime_dir() / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.M)
    assert found is not None
    return found[1]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 unless generated/ is up to date"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write (default: generated/)")
    parser.add_argument(
        "--declarations", type=Path, metavar="DIR", help="what to read (default: declarations/)"
    )
    parser.add_argument(
        "--library",
        type=Path,
        metavar="DIR",
        help="the folder of a library to generate (default: that which the command is called in, if any)",
    )


def library_of(options: argparse.Namespace) -> Library | None:
    """The library that a command works on: the one that is named, or that which it is called in.

    None for tengen itself. Raises CommandError where a folder that is named is not what it should be.
    """
    from .model.diagnostics import CommandError
    from .read.libraries import LibraryError, library_around, library_at

    declarations: Path | None = getattr(options, "declarations", None)
    if declarations is not None and not declarations.is_dir():
        raise CommandError(f"{declarations} is no folder of declarations")
    named: Path | None = getattr(options, "library", None)
    if named is not None:
        found = library_at(named)
        if found is None:
            raise LibraryError(f"{named} is no library: it has no pyproject.toml with [tool.tengen] library")
        return found
    return library_around(Path.cwd()) if declarations is None else None


def run(options: argparse.Namespace) -> int:
    """The command, its arguments parsed; returns the exit status."""
    library = library_of(options)
    output: Path = options.output or (output_dir() if library is None else library.generated)
    declarations: Path = options.declarations or declarations_dir()
    cache = cache_of(declarations, output, library)
    if cache.unchanged():
        return _unchanged(options, output)
    from .emit.write import compare, foreign, write

    files = generated(declarations, library, cache, lambda text: print(text, file=sys.stderr))
    if options.check:
        answer = _report(compare(files, output), options)
        if answer == 0:
            cache.remember()
        return answer
    strangers = foreign(files, output) if options.output else []
    if strangers:
        print(
            f"{output} holds {strangers[0]}, which was not generated: what is not of the declarations is "
            "removed, so the output needs a folder of its own; nothing was written",
            file=sys.stderr,
        )
        return 1
    done = [s for s in write(files, output) if s.state != "same"]
    cache.remember()
    for status in done:
        print(f"{'removed' if status.state == 'orphan' else 'wrote'} {output.name}/{status.path}")
    print(f"{len(files)} files, {len(done)} changed")
    return 0


def cache_of(declarations: Path, output: Path, library: Library | None = None) -> Cache:
    """What is known of the last run. It is kept in the project's .cache/, which is not committed."""
    inputs = [*sources(declarations, runtime_dir(), library), templates_dir()]
    folder = output.resolve().parent if library is None else library.root
    return Cache(folder / ".cache" / "generated.json", inputs, output.resolve())


def _unchanged(options: argparse.Namespace, output: Path) -> int:
    """The command where there is nothing to do."""
    files = sorted(p.name for p in output.iterdir() if p.is_file())
    if options.check:
        for name in files:
            print(f"{'same':>14}  {name}")
    else:
        print(f"{len(files)} files, 0 changed")
    return 0


def _report(states: Sequence[Status], options: argparse.Namespace) -> int:
    wrong = [s for s in states if s.state != "same"]
    for status in states:
        print(f"{status.state:>14}  {status.path}")
    for status in wrong:
        if status.wanted:
            print(f"\n{status.diff()}", end="")
    if not wrong:
        return 0
    command = "python -m tengen.codegen.gen"
    for name in ("declarations", "library", "output"):
        if getattr(options, name, None) is not None:
            command += f" --{name} {getattr(options, name)}"
    print(
        f"\n{len(wrong)} of {len(states)} files are not what the declarations generate. To mend it: {command}"
    )
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m tengen.codegen.gen``."""
    parser = argparse.ArgumentParser(prog="python -m tengen.codegen.gen", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    return outcome(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
