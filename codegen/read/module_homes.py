"""The modules of ``tengen.nn.modules`` that have generated classes, read not imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .functions import classes_of, module_of, source_of


@dataclass(frozen=True, slots=True)
class ModuleHomes:
    """By module with generated classes the bases that it names; by class written by hand its module."""

    bases: Mapping[str, frozenset[str]]
    written: Mapping[str, str]


def module_homes(runtime: Path) -> ModuleHomes:
    """What the files of runtime/nn/modules import from generated ones, and define."""
    bases: dict[str, frozenset[str]] = {}
    written: dict[str, str] = {}
    for path in sorted((runtime / "nn" / "modules").glob("*.py")):
        generated = f"tengen.generated.{path.stem}_modules"
        if f"from {generated} import" in source_of(path):
            found = [s for s in module_of(path).body if isinstance(s, ast.ImportFrom)]
            imports = [s for s in found if s.module == generated]
            names = {alias.name for each in imports for alias in each.names}
            bases[path.stem] = frozenset(names - {"*", "__all__"})
        written.update(dict.fromkeys(classes_of(path), path.stem))
    return ModuleHomes(bases, written)
