"""The model: what becomes of a kernel's results, and the statements that generated code has for that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


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

    condition: str
    call: str


@dataclass(frozen=True, slots=True)
class Result:
    """How one result of a kernel, the array ``variable``, becomes the Tensor ``out``."""

    variable: str
    out: str
    type: str  # an expression for its Type; empty: the method's own, or that of the array
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

    def statements(self, may_be_scalar: bool) -> Iterator[str]:
        """The statements that make the Tensor; an array may be a scalar of the array library's."""
        if self.optional:
            yield f"if {self.variable} is None:"
            yield f"    {self.out} = None"
            yield "else:"
        pad = "    " if self.optional else ""
        yield from (pad + line for line in self._made(may_be_scalar))

    def _made(self, may_be_scalar: bool) -> Iterator[str]:
        r, out = self.variable, self.out
        type_ = self.type or f"T if {r}.dtype is T.dtype else T.of_array({r})"
        match self.kind:
            case ResultKind.VIEW:
                yield f"{out} = as_view(self, {r}, {type_})"
                return
            case ResultKind.VIEWS:
                yield f"{out} = tuple([as_view(self, _one, T, True) for _one in {r}])"
                return
            case ResultKind.LIST:
                yield f"{out} = tuple([T.of_array(_one).wrap(_one) for _one in {r}])"
                return
        if may_be_scalar:
            yield f"if {r}.__class__ is not _array:"
            yield f"    {r} = _asarray({r})"
        if self.relaid is not None:
            yield f"if {self.relaid.condition}:"
            yield f"    {r} = {self.relaid.call}"
        yield f"{out} = _new(Tensor)"
        yield f"{out}._array = {r}"
        yield f"{out}._type = {type_}"
        yield f"{out}._storage = {out}._base = {out}._meta = {out}._edge = None"
        yield f"{out}._requires_grad = False"

    def attached(self, number: int) -> Iterator[str]:
        """The statements that give the Tensor its gradient edge, as the Node's result of this number."""
        pad = "    " if self.optional else ""
        if self.optional:
            yield f"if {self.out} is not None:"
        yield f"{pad}{self.out}._edge = (node, {number})"
        yield f"{pad}{self.out}._requires_grad = True"

    def of_each(self, attribute: str) -> str:
        """The expression of an attribute of the Tensor, None where that is."""
        return f"{'None if ' + self.out + ' is None else ' if self.optional else ''}{self.out}.{attribute}"
