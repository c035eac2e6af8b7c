"""Where the functions that declarations name are written by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ..model.operators import Batching, Derivative, Formula, Kernel, Operator
from ..model.source import Place
from ..read.functions import ABSOLUTE, module_of

#: The package of the runtime whose functions a composite is.
_COMPOSITE = "Composite"
_FORMULAS = "formulas"
_REFERENCES = "references"


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
    package = "composite" if key.startswith(_COMPOSITE) else "kernels"
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


# -- what declarations name ------------------------------------------------------------------------


def named_functions(operator: Operator, derivative: Derivative | None) -> Iterator[tuple[str, str, str]]:
    """The functions that a declaration names: the key that does, the package, and "module.function" there."""
    for key, kernel in operator.kernels.items():
        for package, qualified in kernel_functions(key, kernel):
            yield "dispatch", package, qualified
    for qualified in operator.named:
        yield "body", "kernels", qualified
    if operator.symbolic is not None:
        rule = operator.symbolic
        for qualified in [*([rule.function] if rule.function else []), *rule.calls.values()]:
            yield "symbolic", "onnx", qualified
    for key, over_tensors in (("write_back", operator.write_back), ("flops", operator.flops)):
        for qualified in () if over_tensors is None else over_tensors.calls.values():
            package, dot, below = qualified.partition(".")
            if dot:  # an operator has no module
                yield key, *((package, below) if package == _FORMULAS else (_FORMULAS, qualified))
    for batching in cases_of(operator.batching):
        for qualified in batching.helpers.values():
            yield "batching", _FORMULAS, qualified
    if operator.reference is not None:
        for name in sorted(operator.reference.names()):
            yield "reference", _REFERENCES, name
    for entry in alternatives_of(derivative):
        for qualified in entry.helpers.values():
            yield "derivative", _FORMULAS, qualified


def formulas_of(operator: Operator, derivative: Derivative | None) -> Iterator[Formula]:
    """The expressions over Tensors that an operator's declaration has, in which operators are called."""
    yield from (k.formula for key, k in operator.kernels.items() if key.startswith(_COMPOSITE))
    if operator.write_back is not None:
        yield operator.write_back.formula
    yield from (b.formula for b in cases_of(operator.batching) if b.formula is not None)
    for entry in alternatives_of(derivative):
        yield from (part.formula for part in (*entry.shared, *entry.jvp_shared))
        yield from (*entry.gradients.values(), *entry.jvps.values())


def cases_of(batching: Batching | None) -> Iterator[Batching]:
    """A rule, and those of its cases."""
    if batching is not None:
        yield batching
        for _, rule in batching.cases:
            yield from cases_of(rule)


def alternatives_of(derivative: Derivative | None) -> Iterator[Derivative]:
    """An entry of a derivative, and what it says for dispatch keys."""
    if derivative is not None:
        yield derivative
        for entry in derivative.dispatch.values():
            yield from alternatives_of(entry)
