"""Check: what the body of an operator says, of whichever kind it is, and what follows for its entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from ...ir.bodies import Body
from ...ir.expressions import Call, Expr, Name, walk
from ...ir.moves import INTEGERS
from ..model.diagnostics import Report
from ..model.operators import Primitive, Said
from ..model.schema import Schema
from ..model.source import Located
from ..read.functions import FunctionIndex
from .access_rules import follows_of_access
from .accesses import read_access
from .bodies import body_of, follows_of_rows
from .body_kinds import BodyKind, kind_of_body
from .contractions import follows_of_contractions, read_contraction
from .factories import follows_of_factories, read_factory
from .moves import follows_of_moves, read_move
from .views import follows_of_views, read_view
from .windows import follows_of_windows, read_window


def read_body(
    schema: Schema,
    body: Located | None,
    primitives: Mapping[str, Primitive],
    functions: FunctionIndex,
    report: Report,
) -> Said | None:
    """What a body says; None where there is none, or a wrong one, which is reported."""
    if body is None:
        return None
    match kind_of_body(schema, body):
        case BodyKind.VIEW:
            return read_view(schema, body, functions, report)
        case BodyKind.CONTRACTION:
            return read_contraction(schema, body, functions, report)
        case BodyKind.ACCESS:
            return read_access(schema, body, functions, report)
        case BodyKind.WINDOW:
            return read_window(schema, body, functions, report)
        case BodyKind.MOVE:
            return read_move(schema, body, functions, report)
        case BodyKind.FACTORY:
            return read_factory(schema, body, primitives, functions, report)
    return body_of(schema, body, primitives, report, functions)


_FOLLOWS = {
    BodyKind.ROWS: follows_of_rows,
    BodyKind.MOVE: follows_of_moves,
    BodyKind.WINDOW: follows_of_windows,
    BodyKind.VIEW: follows_of_views,
    BodyKind.CONTRACTION: follows_of_contractions,
    BodyKind.ACCESS: follows_of_access,
    BodyKind.FACTORY: follows_of_factories,
}


def what_follows(schema: Schema, entry: Mapping[str, Located]) -> Mapping[str, Located]:
    """The fields of an entry with what its body says beside its kernels, where the entry is silent."""
    body = entry.get("body")
    kind = kind_of_body(schema, body)
    if body is None or kind is None:
        return entry
    return {**_FOLLOWS[kind](schema, body), **entry}


def functions_named(said: Said | None, functions: FunctionIndex) -> tuple[str, ...]:
    """The functions of kernels that a body calls, as "module.function"."""
    if isinstance(said, Body):  # all else is made of primitives
        names = sorted(said.functions_of_numbers)
    else:
        names = [part.function.id for part in _parts(said) if isinstance(part.function, Name)]
    found = [functions.find(name) for name in dict.fromkeys(names) if name not in INTEGERS]
    return tuple([of_name[0].qualified for of_name in found if of_name])


def _parts(said: object) -> Iterator[Call]:
    """All calls in what a body says."""
    if isinstance(said, Expr):
        yield from [part for part in walk(said) if isinstance(part, Call)]
    elif isinstance(said, tuple):
        for each in said:
            yield from _parts(each)
    elif is_dataclass(said):
        for each in fields(said):
            yield from _parts(getattr(said, each.name))
