"""What is declared, from the cache where nothing has changed on which it depends.

To get it back takes a fifth of the time in which it is read and checked.
"""

from __future__ import annotations

import gc
import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .emit.cache import GENERATOR, Kept, sources
from .model.operators import Declarations
from .read.libraries import Library

if TYPE_CHECKING:
    from .pipeline import Base

T = TypeVar("T")

#: Of whose classes is what is declared: a file of the cache names no others, so that to read it runs nothing.
_MODULES = ("tengen.ir.", "tengen.codegen.model.", "tengen.codegen.check.", "tengen.codegen.pipeline")
_BUILTINS = frozenset({"Ellipsis", "complex"})


def load(declarations: Path, runtime: Path, library: Library | None = None) -> Declarations:
    """Everything that the folder declares, and a library on top of it, as ``pipeline.load`` gives it.

    Raises DeclarationErrors with every mistake that was found; then nothing is kept.
    """

    def anew() -> Declarations:
        from .pipeline import load as load_anew  # late: most of the generator

        if library is not None:
            return load_anew(declarations, runtime, library, base=_base(declarations, runtime))
        with _lowered(declarations) as lowered:
            return load_anew(declarations, runtime, None, lowered)

    kept = Kept("declared.pickle", declarations, library, sources(declarations, runtime, library))
    return _kept(kept, Declarations, anew)


def _base(declarations: Path, runtime: Path) -> Base:
    """What tengen declares, which does not change with a library that stands on it."""
    from .pipeline import Base, load_base

    def anew() -> Base:
        with _lowered(declarations) as lowered:
            return load_base(declarations, runtime, lowered)

    kept = Kept("base.pickle", declarations, None, sources(declarations, runtime, None))
    return _kept(kept, Base, anew)


def _kept(kept: Kept, kind: type[T], anew: Callable[[], T]) -> T:
    """What is kept; where nothing is, what is made anew, which is then kept."""
    content = kept.read()
    found = None if content is None else _read(content, kind)
    if found is None:
        found = anew()
        kept.write(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
    return found


@contextmanager
def _lowered(declarations: Path) -> Iterator[set[str]]:
    """The checksums of the native kernels that this generator has lowered, as they are kept and kept anew."""
    kept = Kept("lowered.txt", declarations, None, GENERATOR)
    before = frozenset((kept.read() or b"").decode(errors="replace").split())
    lowered = set(before)
    yield lowered
    if lowered != before:
        kept.write("\n".join(sorted(lowered)).encode())


def _read(content: bytes, kind: type[T]) -> T | None:
    """What a file of the cache holds; None where it is damaged, or of another kind."""
    collecting = gc.isenabled()
    gc.disable()  # nothing of it is garbage, and there is much of it
    try:
        found = _Reader(io.BytesIO(content)).load()
    except Exception:  # a damaged pickle raises anything
        return None
    finally:
        if collecting:
            gc.enable()
    return found if isinstance(found, kind) else None


class _Reader(pickle.Unpickler):
    """Reads what the generator has kept, and nothing that another program may have put there."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(_MODULES) or (module == "builtins" and name in _BUILTINS):
            found = super().find_class(module, name)
            if found is Ellipsis or (isinstance(found, type) and found.__module__ == module):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no class of what is declared")
