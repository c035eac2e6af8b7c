"""Check: the first line of bodies over rows of named dims.

    over input[N, C: group * c, *p], weight[group * c] by N, group

Each dim of an operand has a name, or is taken as several. Arguments of these names have their sizes, and that
before a colon the size of a whole dim. What stands behind ``by`` tells rows apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from ...ir.bodies import LENGTH
from ...ir.expressions import Elements, Expr, Name, Operation, Slice, Starred, Subscript
from ...ir.named_dims import Dims, NamedDims, names_of
from ...ir.reader import read_expression
from ..model.diagnostics import one_of
from ..model.schema import Schema
from ..model.source import Located
from .body_text import OVER

#: Of the first line: operands with their dims, what tells rows apart, and whether all is in float64.
HEAD: Final = re.compile(r"over (\w+\[.*\]) by (\w+(?:, \w+)*)( in float64)?\s*(?:\n|$)")
#: What reports a mistake at a place: a message, where, its length, and what was expected.
Wrong = Callable[[str, int, int, str], None]
_INTEGERS: Final = ("int", "SymInt")


def is_named(body: Located) -> bool:
    """Whether the dims of a body's operands have names."""
    return HEAD.match(str(body.value)) is not None


def read_dims(index: Expr, wrong: Wrong, wholes: dict[str, str] | None = None) -> Dims:
    """The dims that an index names; ``wholes`` gets what stands before colons. Mistakes are reported."""
    found: list[tuple[str, ...]] = []
    for part in index.elements if isinstance(index, Elements) else (index,):
        match part:
            case Slice(Name(size), Expr() as dim, None) if wholes is not None:
                part = dim
                wholes[" * ".join(_names(dim))] = size
        names = tuple(_names(part))
        before = names_of(tuple(found))
        twice = [n for i, n in enumerate(names_of((names,))) if n in (*before, *names[:i])]
        if not names:
            _at(
                wrong,
                "each dim has a name",
                part,
                "c, group * c of one that is taken as two, or *p for any number",
            )
        elif twice:
            _at(wrong, f'"{twice[0]}" is there already', part, "each dim once")
        found.append(names)
    if len([dim for dim in found if dim and dim[0].startswith("*")]) > 1:
        _at(wrong, "how many dims are which is not known", index, "one *name")
    return tuple(found)


def _names(part: Expr) -> Sequence[str]:
    match part:
        case Name(name):
            return (name,)
        case Starred(Name(name)):
            return (f"*{name}",)
        case Operation("*", (first, Name(name))):
            before = _names(first)
            return (*before, name) if before else ()
    return ()


def _at(wrong: Wrong, message: str, expr: Expr, expected: str) -> None:
    wrong(message, expr.span[0], max(1, expr.span[1] - expr.span[0]), expected)


def read_head(schema: Schema, located: Located, wrong: Wrong) -> NamedDims | None:
    """The dims of operands that the first line says, in their order; None for none, which is reported."""
    head = HEAD.match(str(located.value))
    assert head is not None
    blank = " " * (len(OVER) - 1)  # places stay as they are
    try:
        read = read_expression(f"({blank}{head[1]},)")
    except SyntaxError as error:
        wrong(f"it is no list of operands: {error.msg}", 0, head.end(1), "input[b, c, *p], weight[c]")
        return None
    operands: list[tuple[str, Dims]] = []
    wholes: dict[str, str] = {}
    for part in read.elements if isinstance(read, Elements) else ():
        match part:
            case Subscript(Name(name), index):
                operands.append((name, read_dims(index, wrong, wholes)))
            case _:
                _at(wrong, "this is no operand with its dims", part, "input[b, c, *p]")
                return None
    by, names = head[2].split(", "), names_of(operands[0][1])
    for name in [n for n in by if n not in names]:
        wrong(f'"{operands[0][0]}" has no dim "{name}"', head.start(2), len(head[2]), one_of(names))
    for name in [n for n in names if n in (LENGTH, *[a.name for a in schema.arguments if a.is_tensor])]:
        wrong(f'"{name}" is no name for a dim', located.value.index(name), len(name), "another one")
    for operand, dims in operands[1:]:
        own = names_of(dims)
        if own != tuple([n for n in names if n in own]):
            expected = f"dims of {operands[0][0]}, in their order: {', '.join(names)}"
            wrong(f'"{operand}" has other dims', located.value.index(f"{operand}["), len(operand), expected)
    integers = [a.name for a in schema.arguments if str(a.type) in _INTEGERS]
    for size in [size for size in wholes.values() if size not in integers]:
        wrong(
            f'"{size}" is no int argument',
            located.value.index(f"{size}:"),
            len(size),
            one_of(integers or ["an int"]),
        )
    sizes = *[(n, n) for n in names if n in integers], *wholes.items()
    return NamedDims(tuple(operands), tuple([n for n in names if n in by]), sizes)
