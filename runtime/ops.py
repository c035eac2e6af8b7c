"""``tengen.ops.NAME``: the operators of the library called NAME, which importing its package loads.

Those that a program defines with ``tengen.library`` are here, too. ``tengen.ops.aten`` has those that tengen
declares, with their overloads: ``tengen.ops.aten.add.Tensor``.
"""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn

from .library import loaded, namespaces

__all__: list[str] = []


def load_library(path: str) -> NoReturn:
    """OSError: operators in C++, which call PyTorch's library, cannot be loaded."""
    raise OSError(f"ops.load_library({str(path)!r}): tengen loads no operators that are written for libtorch")


def __getattr__(name: str) -> ModuleType:
    found = namespaces().get(name)
    if found is not None:
        return found
    if name == "aten":
        from .custom_operators.declared import aten

        return aten
    if name.startswith("__"):
        raise AttributeError(f"module 'tengen.ops' has no attribute {name!r}")
    known = ", ".join(sorted(loaded())) or "none"
    raise AttributeError(
        f"no library {name!r} is loaded (loaded: {known}); importing its package loads it: `import {name}`"
    )


def __dir__() -> list[str]:
    return sorted({"aten", *namespaces()})
