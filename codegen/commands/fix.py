"""``tengen fix``: does what the errors suggest, where that is certain.

It is where an error knows one word that was meant, a letter away from what is written (``help: did you mean
"variants"?``), and the word makes no new mistake in its place. The declarations are then checked again, for
mending one word may show the next mistake, until nothing more can be mended. What is left is shown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tengen.codegen.commands.workspace import Workspace, add_workspace
from tengen.codegen.emit.write import replace
from tengen.codegen.model.diagnostics import DeclarationErrors, Diagnostic, is_slip
from tengen.codegen.model.source import Place


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--dry-run", action="store_true", help="tell what would be replaced; write nothing")
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Mend what can be mended; exit status 1 when mistakes are left."""
    workspace = Workspace.of(options)
    with workspace.copy() as folder:
        mending = Mending(workspace, folder)
        left = mending.mend()
        for each in mending.done:
            print(each)
        if not options.dry_run:
            for path in {folder / each.file for each in mending.done}:
                replace(workspace.declarations / path.name, path.read_text(encoding="utf-8"))
    if left is None:
        would = options.dry_run and mending.done
        print("no mistakes would be left; nothing was written" if would else "no mistakes are left")
        return 1 if would else 0
    count = len(left.diagnostics)
    print(
        "\n\n".join([*left.texts(), f"{count} mistake{'s are' if count != 1 else ' is'} left"]),
        file=sys.stderr,
    )
    return 1


@dataclass(frozen=True, slots=True)
class Mended:
    """A word that stands for a misspelt one."""

    place: Place
    wrong: str
    meant: str

    @property
    def file(self) -> str:
        """The name of the file, in the folder of declarations."""
        return Path(self.place.file).name

    def __str__(self) -> str:
        return f'{self.place}: "{self.wrong}" -> "{self.meant}"'


class Mending:
    """Mends a copy of the declarations."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.workspace, self.folder = workspace, folder
        self.done: list[Mended] = []
        self.refused: set[Mended] = set()  # which would be mistakes, too

    def mend(self) -> DeclarationErrors | None:
        """Mend all that is certain; the mistakes that are left, if any are."""
        errors = self.errors()
        while errors is not None:
            before = self.texts()
            mended = [*self.round(errors.diagnostics)]
            if not mended:
                return errors
            after = self.errors()
            worse = set() if after is None else {m for m in mended if is_at_fault(m, after.diagnostics)}
            if worse:  # this round anew, without these
                self.refused |= worse
                self.write(before)
            else:
                self.done += mended
                errors = after
        return None

    def errors(self) -> DeclarationErrors | None:
        """What is wrong with the copy."""
        try:
            self.workspace.load_from(self.folder)
        except DeclarationErrors as errors:
            return errors
        return None

    def texts(self) -> dict[Path, str]:
        """The texts of the copy."""
        paths = [p for p in self.folder.iterdir() if p.suffix in (".yaml", ".cwrap")]
        return {path: path.read_bytes().decode("utf-8", "surrogateescape") for path in paths}

    def write(self, texts: dict[Path, str]) -> None:
        """Put these texts into the copy."""
        for path, text in texts.items():
            path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def round(self, diagnostics: Sequence[Diagnostic]) -> Iterator[Mended]:
        """Replace each word that has a certain replacement."""
        texts = self.texts()
        lines = {path.name: text.split("\n") for path, text in texts.items()}
        found = [(d, m) for d in diagnostics if (m := self.mended(d, lines)) is not None]
        kept = [m for n, (d, m) in enumerate(found) if not n or not overlap(found[n - 1][0], d)]
        # From the end of each line to its beginning, so that places stay right.
        for each in sorted(kept, key=lambda m: m.place.column, reverse=True):
            own, row, start = lines[each.file], each.place.line - 1, each.place.column - 1
            own[row] = own[row][:start] + own[row][start:].replace(each.wrong, each.meant, 1)
        self.write({path: "\n".join(lines[path.name]) for path in texts})
        yield from kept

    def mended(self, found: Diagnostic, lines: dict[str, list[str]]) -> Mended | None:
        """The word that a mistake is about with the one that was certainly meant."""
        own = lines.get(Path(found.place.file).name)
        if found.replacement is None or own is None:
            return None
        line, start = own[found.place.line - 1], found.place.column - 1
        end = start + found.length
        wrong = line[start:end].strip("\"'")
        part = end < len(line) and line[end - 1 : end + 1].isidentifier()  # of a longer word
        each = Mended(found.place, wrong, found.replacement)
        certain = bool(wrong) and not part and is_slip(wrong, each.meant)
        return each if certain and each not in self.refused else None


def overlap(one: Diagnostic, other: Diagnostic) -> bool:
    """Whether a mistake begins in what the one before it is about."""
    a, b = one.place, other.place
    return (a.file, a.line) == (b.file, b.line) and b.column < a.column + one.length


def is_at_fault(mended: Mended, diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether a mistake is about the word, or about another because of it."""
    places = [place for d in diagnostics for place in (d.place, *(place for place, _ in d.related))]
    return mended.place in places
