"""Where the runtime's sources define what generated code takes from them, found without importing them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..model.diagnostics import CommandError
from .functions import source_of

#: The folders and modules of the runtime that generated code imports by name.
_PLACES = (
    "autograd/*.py", "fast_paths/*.py", "core/*.py", "dispatch/*.py", "machine_code/*.py",
    "onnx/builder.py", "tensors/*.py",
)  # fmt: skip
#: A function, a class or a variable that is defined at the outermost level of a module.
_DEFINITION = re.compile(r"^(?:(?:def|class) +(\w+)|(\w+) *(?::[^=\n]+)?=(?!=))", re.M)


class Homes:
    """The modules in which names are defined."""

    def __init__(self, runtime: Path) -> None:
        self._modules: dict[str, list[str]] = {}
        for path in (path for place in _PLACES for path in sorted(runtime.glob(place))):
            parts = path.relative_to(runtime).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            for name in {match[1] or match[2] for match in _DEFINITION.finditer(source_of(path))}:
                self._modules.setdefault(name, []).append(module)

    def home(self, name: str) -> str:
        """The module that defines a name, below the runtime: ``core.size`` for ``Size`` or ``size.Size``.

        CommandError where there is none, and where there are several.
        """
        qualifier, _, own = name.rpartition(".")
        end = f".{qualifier}" if qualifier else ""
        found = [m for m in self._modules.get(own, ()) if f".{m}".endswith(end)]
        if len(found) != 1:
            defined = f"these do: {', '.join(sorted(found))}" if found else "none does"
            raise CommandError(
                f"generated code imports {name}, which one module of the runtime should define, but {defined}"
            )
        return found[0]

    def imports(self, *names: Iterable[str]) -> list[str]:
        """The lines that import the names: one for each module, in the order of their first names."""
        lines: dict[str, list[str]] = {}
        for entry in (entry for table in names for entry in table):
            name, _, alias = entry.partition(" as ")
            imported = name.rpartition(".")[2] + (f" as {alias}" if alias else "")
            taken = lines.setdefault(self.home(name), [])
            taken += [imported] if imported not in taken else []
        return [f"from tengen.{module} import {', '.join(taken)}" for module, taken in lines.items()]
