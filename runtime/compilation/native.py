"""Machine code of a program's module, from the cache or by LLVM."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tengen.ir.fuse.functions import Module, Native

from ..machine_code.cache import Cache, cache_folder
from ..machine_code.tables import digest

#: What is said where there is no compiler.
MISSING = "there is no llvmlite (pip install tengen[compile])"
#: Changes with what is made of a module's text.
FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions that were linked, by their addresses, and as Python calls them."""

    addresses: list[int]
    called: list[Any]


class _Compiler:
    """LLVM in this process, and what it made on disk."""

    def __init__(self) -> None:
        from ..machine_code.compiler import Linker, processor_here, version

        self.linker = Linker()
        self.cache = Cache(cache_folder())
        self.made_by = (version(), self.linker.machine.triple, *processor_here().values(), FORMAT)

    def functions(self, module: Module, imports: Mapping[str, int]) -> Functions:
        """The functions of a module's native steps, in order."""
        names = [step.name for step in module.steps if isinstance(step, Native)]
        if not names:
            return Functions([], [])
        key = digest(module.text, str(module.unrolls), *self.made_by)
        code = self.cache.read(key)
        if code is None:
            from ..machine_code.compiler import code_of

            code = code_of(module.text, self.linker.machine, unrolls=module.unrolls)
            self.cache.write(key, code)
        found = self.linker.link(code, names, {n: a for n, a in imports.items() if f"@{n}(" in module.text})
        signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        addresses = [found[name] for name in names]
        return Functions(addresses, [signature(address) for address in addresses])


@functools.cache
def _compiler() -> _Compiler:
    return _Compiler()


def functions(module: Module, imports: Mapping[str, int]) -> Functions:
    """The functions of a module's native steps. ImportError without llvmlite."""
    return _compiler().functions(module, imports)


def is_there() -> bool:
    """Whether machine code can be made here."""
    try:
        _compiler()
    except (ImportError, RuntimeError):
        return False
    return True
