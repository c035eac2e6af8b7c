"""Check: of which kind the body of an operator is."""

from __future__ import annotations

from enum import Enum

from ..model.schema import Schema
from ..model.source import Located
from .accesses import is_access
from .contractions import is_contraction
from .moves import is_move
from .named_dims import is_named
from .windows import is_window


class BodyKind(Enum):
    """What a body says of an operator."""

    ROWS = "what is computed of rows"
    MOVE = "where elements come from"
    WINDOW = "what windows are made into"
    VIEW = "what is shown"
    CONTRACTION = "what is multiplied and summed"
    ACCESS = "what is read or written at indices"
    FACTORY = "what the elements of a new tensor are"


#: What is the same along each dim, and for each place of the result.
OF_PLACES = (BodyKind.MOVE, BodyKind.WINDOW)


def kind_of_body(schema: Schema, body: Located | None) -> BodyKind | None:
    """The kind of an operator's body, by how it is written; None where there is none."""
    if body is None:
        return None
    if schema.is_view or any([r.type.is_tensor_list for r in schema.returns]):
        return BodyKind.VIEW
    if not any([a.is_tensor_like for a in schema.arguments]):
        return BodyKind.FACTORY
    if is_named(body):
        return BodyKind.ROWS
    if is_contraction(body):
        return BodyKind.CONTRACTION
    if is_access(body):
        return BodyKind.ACCESS
    if is_move(body):
        return BodyKind.WINDOW if is_window(body) else BodyKind.MOVE
    return BodyKind.ROWS
