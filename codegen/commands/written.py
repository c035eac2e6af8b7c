"""Where the functions that declarations name are written by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ..model.operators import Kernel, Operator
from ..model.source import Place
from ..read.functions import ABSOLUTE, module_of

#: The package of the runtime whose functions a composite is.
_COMPOSITE = "Composite"


@cache
def definitions(path: Path) -> Mapping[str, ast.stmt]:
    """What a module defines by ``def``, ``class`` or an assignment, by name."""
    found: dict[str, ast.stmt] = {}
    for node in module_of(path).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.setdefault(node.name, node)
            case ast.Assign(targets=targets):
                names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
                found |= {name: node for name in names if name not in found}
            case ast.AnnAssign(target=ast.Name(name)):
                found.setdefault(name, node)
    return found


def kernel_functions(key: str, kernel: Kernel) -> Iterator[tuple[str, str]]:
    """The functions that a kernel names: the package of the runtime, and "module.function" below it."""
    package = "composite" if key.startswith(_COMPOSITE) else "native"
    for qualified in [*([kernel.function] if kernel.function else []), *kernel.calls.values()]:
        yield package, qualified


def written_at(runtime: Path, package: str, qualified: str) -> Place | None:
    """Where a function below a package of the runtime is written; None of one of another library.

    ``runtime`` is that of tengen, or the package of a library.
    """
    within = qualified.rpartition(f".{package}.")[2] if qualified.startswith(ABSOLUTE) else qualified
    if ":" in qualified:
        return None
    module, _, function = within.rpartition(".")
    below = runtime / package / module.replace(".", "/")
    path = next((p for p in (below.with_suffix(".py"), below / "__init__.py") if p.is_file()), None)
    if path is None or function not in definitions(path):
        return None
    return Place(path.relative_to(runtime.parent).as_posix(), definitions(path)[function].lineno, 1)


def unjudged(operator: Operator) -> bool:
    """Whether an operator has a kernel, and no reference that would tell that it is wrong."""
    composite = any(key.startswith(_COMPOSITE) for key in operator.kernels)
    return operator.reference is None and not composite
