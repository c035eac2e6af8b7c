"""The model: what becomes of a kernel's results, and the statements that generated code has for that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ...ir.expressions import Constant, Expr, Name, dotted
from ...ir.reader import filled
from ...ir.statements import (
    FALSE,
    NONE,
    TRUE,
    Assign,
    If,
    Statement,
    call,
    is_none,
    is_there,
    let,
    set_slot,
    tuple_of,
    unless_none,
)


class ResultKind(Enum):
    """What a kernel gives for a result, and a method returns."""

    TENSOR = "tensor"
    LIST = "list"
    VIEW = "view"
    VIEWS = "views"


class Cast(Enum):
    """When the result of a reduced type, which is computed in another, is rounded to that type."""

    ALWAYS = "always"
    IF_COMPUTED_IN = "if it is of the type computed in"
    UNDIRECTED = "the same, unless an argument says its dtype"


@dataclass(frozen=True, slots=True)
class Relaid:
    """When a result may have another layout than PyTorch's, and the call that gives it that."""

    condition: Expr
    call: Expr


#: The slots of a new handle that have nothing in them.
_EMPTY = ("_storage", "_base", "_meta", "_edge")


@dataclass(frozen=True, slots=True)
class Result:
    """How one result of a kernel, the array ``variable``, becomes the Tensor ``out``."""

    variable: str
    out: str
    type: Expr | None = None  # its Type; None: the method's own, or that of the array
    kind: ResultKind = ResultKind.TENSOR
    cast: Cast | None = None
    optional: bool = False  # None where the operator's output_mask does not ask for it
    relaid: Relaid | None = None

    def __post_init__(self) -> None:
        assert self.kind is ResultKind.TENSOR or not (self.cast or self.relaid), self

    @property
    def is_one(self) -> bool:
        """Whether it is one Tensor, not a list."""
        return self.kind in (ResultKind.TENSOR, ResultKind.VIEW)

    def statements(self, may_be_scalar: bool) -> Iterator[Statement]:
        """The statements that make the Tensor; an array may be a scalar of the array library's."""
        made = self._made(may_be_scalar)
        if self.optional:
            yield If(is_none(Name(self.variable)), (let(self.out, NONE),), tuple(made))
        else:
            yield from made

    def _made(self, may_be_scalar: bool) -> Iterator[Statement]:
        r, out = Name(self.variable), self.out
        result_type = self.type or filled("T if r.dtype is T.dtype else T.of_array(r)", r=r)
        match self.kind:
            case ResultKind.VIEW:
                yield let(out, call("as_view", Name("self"), r, result_type))
                return
            case ResultKind.VIEWS:
                yield let(out, filled("tuple([as_view(self, _one, T, True) for _one in r])", r=r))
                return
            case ResultKind.LIST:
                yield let(out, filled("tuple([T.of_array(_one).wrap(_one) for _one in r])", r=r))
                return
        if may_be_scalar:
            yield If(filled("r.__class__ is not _array", r=r), (let(self.variable, call("_asarray", r)),))
        if self.relaid is not None:
            yield If(self.relaid.condition, (let(self.variable, self.relaid.call),))
        yield let(out, call("_new", Name("Tensor")))
        yield set_slot(out, "_array", r)
        yield set_slot(out, "_type", result_type)
        yield Assign(tuple([dotted(f"{out}.{slot}") for slot in _EMPTY]), NONE)
        yield set_slot(out, "_requires_grad", FALSE)

    def attached(self, number: int) -> Iterator[Statement]:
        """The statements that give the Tensor its gradient edge, as the Node's result of this number."""
        made = attached(self.out, Constant(number))
        if self.optional:
            yield If(is_there(Name(self.out)), tuple(made))
        else:
            yield from made

    def of_each(self, attribute: str) -> Expr:
        """The expression of an attribute of the Tensor, None where that is."""
        value = dotted(f"{self.out}.{attribute}")
        return unless_none(Name(self.out), value) if self.optional else value


def attached(out: str, number: Expr) -> Iterator[Statement]:
    """The statements that give a Tensor its gradient edge, as the Node's result of a number."""
    yield set_slot(out, "_edge", tuple_of([Name("node"), number]))
    yield set_slot(out, "_requires_grad", TRUE)
