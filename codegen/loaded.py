"""What is declared, from the cache where nothing has changed on which it depends.

To get it back takes a tenth of the time in which it is read and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .emit.cache import GENERATOR, Kept, sources
from .model.operators import Declarations
from .read.libraries import Library
from .stored import dumps, loads

if TYPE_CHECKING:
    from .pipeline import Base

T = TypeVar("T")


def load(declarations: Path, runtime: Path, library: Library | None = None) -> Declarations:
    """Everything that the folder declares, and a library on top of it, as ``pipeline.load`` gives it.

    Raises DeclarationErrors with every mistake that was found; then nothing is kept. What a library declares
    is read each time: to check it takes less than to keep it with all that stands below it.
    """
    if library is not None:
        from .pipeline import load as load_library  # late: most of the generator

        return load_library(declarations, runtime, library, base=_base(declarations, runtime))

    def anew() -> Declarations:
        from .pipeline import load as load_anew

        with known("lowered.txt", declarations) as lowered:
            return load_anew(declarations, runtime, None, lowered)

    return kept_or(_declared(declarations, runtime), Declarations, anew)


def dumped(declared: Declarations, declarations: Path, runtime: Path, library: Library | None) -> bytes:
    """The bytes of what ``load`` has given: those that are kept, where that is they."""
    content = None if library is not None else _declared(declarations, runtime).read()
    return dumps(declared) if content is None else content


def _declared(declarations: Path, runtime: Path) -> Kept:
    return Kept("declared.pickle", declarations, None, sources(declarations, runtime, None))


def _base(declarations: Path, runtime: Path) -> Base:
    """What tengen declares, which does not change with a library that stands on it."""
    from .pipeline import Base, load_base

    def anew() -> Base:
        with known("lowered.txt", declarations) as lowered:
            return load_base(declarations, runtime, lowered)

    kept = Kept("base.pickle", declarations, None, sources(declarations, runtime, None))
    return kept_or(kept, Base, anew)


def kept_or(kept: Kept, kind: type[T], anew: Callable[[], T]) -> T:
    """What is kept; where nothing is, what is made anew, which is then kept."""
    content = kept.read()
    found = None if content is None else loads(content, kind)
    if found is None:
        found = anew()
        if kept.file is not None:
            kept.write(dumps(found))
    return found


@contextmanager
def known(name: str, declarations: Path, library: Library | None = None) -> Iterator[set[str]]:
    """What this generator knows of machine code (``Lowered``), as it is kept and kept anew."""
    kept = Kept(name, declarations, library, GENERATOR)
    before = frozenset((kept.read() or b"").decode(errors="replace").split())
    lowered = set(before)
    yield lowered
    if lowered != before:
        kept.write("\n".join(sorted(lowered)).encode())
