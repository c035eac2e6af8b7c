"""Stages: kernels that do for parts of one long row what a kernel does for a row, so that threads share it.

Each pass of the kernel is one of its own, which gives the reductions of a part. These are brought together,
and are numbers that the next one is given. The last one computes the results of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .expressions import Call, Constant, Expr, Name, Subscript, mapped, walk
from .kernels import NativeKernel, Operand
from .scans import NATIVE_SCANS, STRETCHES

#: The length of the whole row, and how the names of these kernels end, but for the number of the pass.
COUNT, STAGE, LAST = "count", "_stage", "_last"
#: The length of a row, and the reductions that bring those of parts together, with marks of their results.
LENGTH = "n"
_MARKS = {**dict.fromkeys(STRETCHES, "float64"), "any": "bool", "count": "int64"}
#: What has no parts.
_WHOLE = (*NATIVE_SCANS.values(), "where_first")


def staged(kernel: NativeKernel) -> tuple[NativeKernel, ...]:
    """These kernels; none where results are rows, or are not made of reductions alone."""
    known = kernel.defined
    results = [known[o.name] for o in kernel.outputs]
    parts = [part for expr in results for part in walk(expr)]
    plain = not any([isinstance(p, Subscript) or _name(p) in _WHOLE for p in parts])
    if not plain or any([o.dims for o in kernel.outputs]):
        return ()
    levels: dict[int, list[Call]] = {}
    for part in dict.fromkeys(parts):
        if isinstance(part, Call) and _name(part) in _MARKS:
            levels.setdefault(_level(part), []).append(part)
    rows = [o for o in kernel.inputs if o.dims]
    numbers = [*[o for o in kernel.inputs if not o.dims], Operand(COUNT)]
    names: dict[Expr, Expr] = {Name(LENGTH): Name(COUNT)}
    found: list[NativeKernel] = []
    for level, reductions in sorted(levels.items()):
        outputs = [Operand(f"t{level}_{i}", (), _MARKS[_name(r)]) for i, r in enumerate(reductions)]
        statements = [
            (o.name, r.with_parts([r.function, _put(r.arguments[0], names)]))
            for o, r in zip(outputs, reductions, strict=True)
        ]
        inputs = (*rows, *numbers)
        stage = replace(kernel, inputs=inputs, outputs=tuple(outputs), statements=tuple(statements))
        found.append(replace(stage, name=f"{kernel.name}{STAGE}{len(found)}"))
        names |= {r: Name(o.name) for o, r in zip(outputs, reductions, strict=True)}
        numbers += outputs
    last = [(o.name, _put(expr, names)) for o, expr in zip(kernel.outputs, results, strict=True)]
    done = replace(kernel, name=f"{kernel.name}{LAST}", inputs=tuple(numbers), statements=tuple(last))
    return (*found, done)


def together(kernels: tuple[NativeKernel, ...]) -> str:
    """The reductions of each stage, with a semicolon behind them; "" where there are no stages."""
    of_stages = [[_name(expr) for _, expr in kernel.statements] for kernel in kernels[:-1]]
    return "".join([f"{' '.join(names)};" for names in of_stages])


def _name(expr: Expr) -> str:
    return expr.function.id if isinstance(expr, Call) and isinstance(expr.function, Name) else ""


def _level(expr: Expr) -> int:
    return max([_level(part) for part in expr.parts], default=-1) + (_name(expr) in _MARKS)


def _put(expr: Expr, names: Mapping[Expr, Expr]) -> Expr:
    """The expression with names for what they stand for, the outermost first."""
    found = names.get(expr)
    if found is not None or isinstance(expr, Constant):
        return expr if found is None else found
    return mapped(expr, lambda part: _put(part, names))
