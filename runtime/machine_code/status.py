"""What runs in machine code in this process, and why: for ``tengen doctor`` and for those who wonder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .cache import Cache, cache_folder
from .finder import finder_of
from .processor import TARGETS, targets


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a table's kernels."""

    used: str  # "library", "llvmlite" or "numpy"
    description: str  # which library, or which llvmlite
    reason: str  # why it is that
    level: str  # of the processor, among those that libraries are built for
    cache: str  # where object code is kept
    kernels: tuple[str, ...]
    failures: Mapping[str, str] = field(default_factory=dict)  # kernels that were asked for in vain, and why


def status(tables: str = "tengen.generated.kernels") -> Status:
    """What is used of a module of tables, and why."""
    found = finder_of(tables)
    provider = found.provider
    runnable = targets()
    return Status(
        "numpy" if provider is None else provider.name,
        "NumPy's own functions" if provider is None else provider.description(),
        found.reason,
        runnable[0].name if runnable else f"none of {', '.join(TARGETS)}",
        _cache(getattr(provider, "cache", None)),
        tuple(found.table.kernels),
        dict(found.failures),
    )


def _cache(used: Cache | None) -> str:
    folder = cache_folder() if used is None else used.folder
    if used is not None and used.problem:
        return f"none: {used.problem}"
    return "none: there is no home folder" if folder is None else str(folder)
