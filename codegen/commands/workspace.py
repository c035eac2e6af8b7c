"""Where the declarations, the runtime and the output of a command are: tengen's, or a library's."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..emit.cache import Cache
from ..gen import cache_of, declarations_dir, library_of, output_dir, runtime_dir, templates_dir
from ..loaded import load
from ..model.operators import Declarations
from ..read.libraries import Library
from ..read.references import reference_files


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders that a command works on."""

    declarations: Path  # those that the command is about
    runtime: Path
    templates: Path
    output: Path
    library: Library | None = None  # whose declarations they are; tengen's stand below them

    @staticmethod
    def of(options: argparse.Namespace) -> Workspace:
        """The folders that the options name, else those of the library that the command is called in, else
        the project's. Raises LibraryError for a library that cannot be used."""
        chosen: Path | None = getattr(options, "declarations", None)
        library = library_of(options)
        if library is not None:
            folders = library.declarations, runtime_dir(), templates_dir(), library.generated
            return Workspace(*folders, library)
        return Workspace(chosen or declarations_dir(), runtime_dir(), templates_dir(), output_dir())

    @property
    def declarations_below(self) -> Path:
        """tengen's declarations, on which those of a library stand."""
        return self.declarations if self.library is None else declarations_dir()

    @property
    def shown(self) -> str:
        """The folder of the generated code as messages show it."""
        library = self.library
        return self.output.name if library is None else self.output.relative_to(library.root).as_posix()

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """A copy of the declarations, beside the tests that they name, for as long as it is used."""
        tests = self.declarations.resolve().parent / "tests"
        with tempfile.TemporaryDirectory(prefix="tengen-") as folder:
            copy = Path(folder) / self.declarations.resolve().name
            if self.declarations.is_dir():
                shutil.copytree(self.declarations, copy, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            copy.mkdir(exist_ok=True)  # of a library that declares nothing yet
            if self.library is None and tests.is_dir():
                (Path(folder) / "tests").mkdir()
                for path in reference_files(tests):
                    place = Path(folder) / path.relative_to(tests.parent)
                    place.parent.mkdir(exist_ok=True)
                    shutil.copy2(path, place)
            yield copy

    def cache(self) -> Cache:
        """What is known of the last run of ``gen``."""
        return cache_of(self.declarations_below, self.output, self.library)

    def load(self) -> Declarations:
        """What is declared. Raises DeclarationErrors with every mistake."""
        return self.load_from(self.declarations)

    def load_from(self, folder: Path) -> Declarations:
        """As ``load``, of a copy of the declarations."""
        if self.library is None:
            return load(folder, self.runtime)
        return load(declarations_dir(), self.runtime, replace(self.library, copied=folder))


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """The options that ``Workspace.of`` reads."""
    parser.add_argument(
        "--declarations", type=Path, metavar="DIR", help="the declarations (default: the project's)"
    )
    add_library(parser)


def add_library(parser: argparse.ArgumentParser) -> None:
    """The option that names a library."""
    parser.add_argument(
        "--library", type=Path, metavar="DIR", help="the folder of a library (default: that which this is in)"
    )
