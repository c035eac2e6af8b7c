"""The processors that libraries are built for, and which of them this one can stand in for."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

#: Of each level of x86-64, the highest first: what NumPy calls it, and what older versions know of it.
_LEVELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "x86-64-v4": ("X86_V4", ("AVX512_SKX",)),
    "x86-64-v3": ("X86_V3", ("AVX2", "FMA3", "F16C")),
    "x86-64-v2": ("X86_V2", ("SSE42", "SSSE3", "POPCNT")),
}
#: How machines call themselves, by LLVM's word for their architecture.
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Target:
    """A processor that a library can be built for, in LLVM's words."""

    name: str
    architecture: str
    cpu: str


TARGETS: Mapping[str, Target] = {
    **{name: Target(name, "x86_64", name) for name in reversed(list(_LEVELS))},
    "aarch64": Target("aarch64", "aarch64", "generic"),
}


def architecture() -> str:
    """LLVM's word for this machine's architecture, or its own word where libraries are for none such."""
    own = platform.machine().lower()
    return _MACHINES.get(own, own)


def targets() -> list[Target]:
    """The targets whose libraries run here, the best first."""
    own = architecture()
    if own != "x86_64":
        return [t for t in TARGETS.values() if t.architecture == own]
    return [TARGETS[name] for name in levels(_features())]


def levels(features: Mapping[str, bool]) -> list[str]:
    """The levels of x86-64 that a processor has, the highest first, by what NumPy says of it."""
    return [
        name
        for name, (level, parts) in _LEVELS.items()
        if features.get(level, all(features.get(part, False) for part in parts))
    ]


def system() -> str:
    """The operating system, as it stands in the names of libraries."""
    return sys.platform


def _features() -> Mapping[str, bool]:
    """The processor's instructions, as NumPy knows them; it asks the operating system's leave too."""
    try:
        found = import_module("numpy._core._multiarray_umath").__cpu_features__
    except (AttributeError, ImportError):
        return {}
    return dict(found)
