"""Kernels that llvmlite compiles when they are first asked for, and that are kept on disk."""

from __future__ import annotations

from . import lowering
from .cache import Cache, cache_folder
from .compiler import Linker, object_code, processor_here, version
from .tables import Kernel, Table


class JustInTime:
    """A table's kernels, by llvmlite."""

    name = "llvmlite"

    def __init__(self, table: Table) -> None:
        self._table = table
        self._linker = Linker()
        self.cache = Cache(cache_folder())
        processor = processor_here()
        self.processor = processor["cpu"]
        self._compiled_by = (version(), self._linker.machine.triple, *processor.values())

    def description(self) -> str:
        """What compiles, and for what."""
        return f"{version()}, for {self.processor}"

    def addresses(self, kernel: Kernel) -> dict[str, int]:
        """The loops of a kernel by their scalar types. Raises what the lowering or the compiler does."""
        key = self._table.kernel_key(kernel.name, *self._compiled_by)
        code = self.cache.read(key)
        if code is None:
            texts = lowering.texts(self._table, kernel)
            code = object_code(texts, self._linker.machine, quiet=kernel.is_over_rows)
            self.cache.write(key, code)
        found = self._linker.link(code, tuple(map(kernel.symbol, kernel.scalars)))
        return {scalar: found[kernel.symbol(scalar)] for scalar in kernel.scalars}
