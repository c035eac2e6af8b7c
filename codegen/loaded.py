"""What is declared, from the cache where nothing has changed on which it depends.

To get it back takes a fifth of the time in which it is read and checked.
"""

from __future__ import annotations

import gc
import io
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .emit.cache import GENERATOR, Kept, sources
from .model.operators import Declarations
from .read.libraries import Library

#: Of whose classes is what is declared: a file of the cache names no others, so that to read it runs nothing.
_MODULES = ("tengen.ir.", "tengen.codegen.model.")
_BUILTINS = frozenset({"Ellipsis", "complex"})


def load(declarations: Path, runtime: Path, library: Library | None = None) -> Declarations:
    """Everything that the folder declares, and a library on top of it, as ``pipeline.load`` gives it.

    Raises DeclarationErrors with every mistake that was found; then nothing is kept.
    """
    kept = Kept("declared.pickle", declarations, library, sources(declarations, runtime, library))
    content = kept.read()
    found = None if content is None else _declared(content)
    if found is None:
        from .pipeline import load as load_anew  # late: most of the generator

        with _lowered(declarations, library) as lowered:
            found = load_anew(declarations, runtime, library, lowered)
        kept.write(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
    return found


@contextmanager
def _lowered(declarations: Path, library: Library | None) -> Iterator[set[str]]:
    """The checksums of the native kernels that this generator has lowered, as they are kept and kept anew."""
    kept = Kept("lowered.txt", declarations, library, GENERATOR)
    before = frozenset((kept.read() or b"").decode(errors="replace").split())
    lowered = set(before)
    yield lowered
    if lowered != before:
        kept.write("\n".join(sorted(lowered)).encode())


def _declared(content: bytes) -> Declarations | None:
    """What a file of the cache holds; None where it is damaged."""
    collecting = gc.isenabled()
    gc.disable()  # nothing of it is garbage, and there is much of it
    try:
        found = _Reader(io.BytesIO(content)).load()
    except Exception:  # a damaged pickle raises anything
        return None
    finally:
        if collecting:
            gc.enable()
    return found if isinstance(found, Declarations) else None


class _Reader(pickle.Unpickler):
    """Reads what the generator has kept, and nothing that another program may have put there."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(_MODULES) or (module == "builtins" and name in _BUILTINS):
            found = super().find_class(module, name)
            if found is Ellipsis or isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no class of what is declared")
