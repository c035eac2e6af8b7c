"""The model: what a method records: the Node, its edges, and what it saves, with their statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ...ir.expressions import Constant, Expr, Name, Starred, all_of, any_of, dictionary, dotted
from ...ir.reader import filled
from ...ir.statements import (
    NONE,
    Assign,
    For,
    If,
    Raise,
    Statement,
    call,
    is_there,
    let,
    names,
    set_slot,
    tuple_of,
    unless_none,
)
from .annotations import parameter_name
from .metadata import SLOTS
from .results import Result, attached
from .schema import Argument

#: Whether the thread's mode has a history.
ENABLED = dotted("grad_mode.enabled")


class Undifferentiable(Enum):
    """What becomes of a result whose dtype, which an argument says, has no gradients."""

    ERROR = "error"
    NO_HISTORY = "no history"


class InputKind(Enum):
    """What an argument is of whose gradients a Node is asked."""

    TENSOR = "Tensor"
    OPTIONAL = "Tensor?"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Input:
    """An argument of tensors, as methods call it."""

    name: str
    kind: InputKind

    @classmethod
    def of(cls, argument: Argument) -> Input:
        """The argument of a schema."""
        kinds = {"Tensor": InputKind.TENSOR, "Tensor?": InputKind.OPTIONAL}
        return cls(parameter_name(argument.name), kinds.get(str(argument.type), InputKind.LIST))

    @property
    def requires_grad(self) -> Expr:
        """The test of whether it does."""
        return filled(_REQUIRES_GRAD[self.kind], x=Name(self.name))

    def edge(self, alone: bool) -> Expr:
        """The expression of its edge, or with ``*`` of its edges; ``alone``: it is the only input."""
        x = Name(self.name)
        match self.kind:
            case InputKind.TENSOR if alone:  # it is asked only where that requires gradients
                return filled("x._edge or gradient_edge(x)", x=x)
            case InputKind.TENSOR:
                return filled("x._edge or (gradient_edge(x) if x._requires_grad else None)", x=x)
            case InputKind.OPTIONAL:
                return unless_none(x, filled("x._edge or gradient_edge(x)", x=x))
        return Starred(call("gradient_edges", x))


_REQUIRES_GRAD = {
    InputKind.TENSOR: "x._requires_grad",
    InputKind.OPTIONAL: "x is not None and x._requires_grad",
    InputKind.LIST: "any_requires_grad(x)",
}


def any_requires(inputs: Sequence[Input]) -> Expr:
    """The test of whether any of them requires gradients."""
    return any_of([i.requires_grad for i in inputs])


def next_edges(inputs: Sequence[Input]) -> Expr:
    """The expression of a Node's ``next_edges``."""
    parts = [i.edge(alone=len(inputs) == 1) for i in inputs]
    match parts:
        case [Starred(edges)]:
            return edges
    return tuple_of(parts)


class Kept(Enum):
    """What a Node keeps: a value, a tensor with its version, the array of a result, what a tensor is like."""

    VALUE = "value"
    TENSOR = "tensor"
    RESULT = "result"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Save:
    """What a recorded method puts into a slot of the Node: ``node.slot = expression``."""

    slot: str
    kept: Kept
    source: str  # the argument, or the array of a result: a name, or a dotted one
    kind: InputKind = InputKind.TENSOR  # what the argument is
    metadata: str = ""  # which of SLOTS is kept

    @property
    def expression(self) -> Expr:
        """What is kept."""
        if self.kept is Kept.METADATA:
            return kept_metadata(self.metadata, self.source, self.kind)
        source = filled(self.source)
        return call("tuple", source) if self._is_list else source

    @property
    def _is_list(self) -> bool:
        return self.kept is Kept.TENSOR and self.kind is InputKind.LIST

    @property
    def version(self) -> Expr:
        """The expression of a tensor's version, which a second slot has."""
        x = Name(self.source)
        if self._is_list:
            return call("versions", x)
        if self.kind is InputKind.OPTIONAL:
            return filled("0 if x is None else (0 if x._storage is None else x._storage.version)", x=x)
        return filled("0 if x._storage is None else x._storage.version", x=x)

    def statements(self) -> Iterator[Statement]:
        """The statements that keep it."""
        yield set_slot("node", self.slot, self.expression)
        if self.kept is Kept.TENSOR:
            yield set_slot("node", f"{self.slot}_version", self.version)

    def otherwise(self) -> Iterator[Statement]:
        """The statements where it is not kept."""
        yield set_slot("node", self.slot, NONE)
        if self.kept is Kept.TENSOR:
            yield set_slot("node", f"{self.slot}_version", Constant(0))


def kept_metadata(what: str, name: str, kind: InputKind) -> Expr:
    """What is kept of a tensor, or of each of a list, in place of its data."""
    x = Name(name)
    if kind is InputKind.LIST:
        return filled("tuple([value for t in x])", value=filled(SLOTS[what], x=Name("t")), x=x)
    value = filled(SLOTS[what], x=x)
    return unless_none(x, value) if kind is InputKind.OPTIONAL else value


@dataclass(frozen=True, slots=True)
class SaveGroup:
    """What is saved where one of some edges leads somewhere, and another condition holds; else None is."""

    edges: tuple[int, ...]  # their numbers; none: always
    further: Expr | None  # the other condition
    saves: tuple[Save, ...]

    @property
    def condition(self) -> Expr | None:
        """The test; None if it always holds."""
        wanted = [is_there(filled(f"edges[{i}]")) for i in self.edges]
        tests = [any_of(wanted)] if wanted else []
        tests += [] if self.further is None else [self.further]
        return all_of(tests) if tests else None

    def statements(self, otherwise: bool = True) -> Iterator[Statement]:
        """The statements that save; without ``otherwise`` slots hold already what they should else."""
        saved = tuple([made for s in self.saves for made in s.statements()])
        if self.condition is None:
            yield from saved
        else:
            cleared = tuple([made for s in self.saves for made in s.otherwise()]) if otherwise else ()
            yield If(self.condition, saved, cleared)


@dataclass(frozen=True, slots=True)
class Record:
    """The recording part of a method."""

    node: str  # the class, with its module
    inputs: tuple[Input, ...]  # the differentiable arguments
    results: tuple[Result, ...]
    saves: tuple[SaveGroup, ...]
    outputs: tuple[int, ...]  # the numbers of the differentiable results
    saves_results: bool
    constants: tuple[int, ...]  # the saved results that have no gradient
    undifferentiable: Undifferentiable | None = None

    @property
    def condition(self) -> Expr:
        """The test of whether there is a history: an input requires gradients, and the mode has one."""
        tests = [any_requires(self.inputs), ENABLED]
        if self.undifferentiable is Undifferentiable.NO_HISTORY:
            tests.append(filled("differentiable(out._type)"))
        return all_of(tests)

    def statements(self, operator: str) -> Iterator[Statement]:
        """The statements that make the Node of what an operator gave."""
        yield from self.refusal(operator)
        yield let("node", filled(f"{self.node}()"))
        yield set_slot("node", "sequence_nr", call("next_sequence_nr"))
        yield set_slot("node", "extra", NONE)
        yield from self._described()
        yield Assign((Name("edges"), dotted("node.next_edges")), next_edges(self.inputs))
        if self.saves_results:
            yield set_slot("node", "result_versions", NONE)
        for group in self.saves:
            yield from group.statements()
        yield from self._attached()

    def refusal(self, operator: str) -> Iterator[Statement]:
        """The statement that refuses a result of a dtype without gradients, where it may have such."""
        if self.undifferentiable is Undifferentiable.ERROR:
            test = filled("dtype is not None and not differentiable(out._type)")
            yield If(test, (Raise(filled("no_gradients(name, out._type)", name=Constant(operator))),))

    def _described(self) -> Iterator[Statement]:
        """The statements that say what gradients the Node gets."""
        first = self.results[0]
        out = Name(first.out)
        if len(self.results) > 1:
            yield set_slot("node", "shape", tuple_of([r.of_each("_array.shape") for r in self.results]))
            yield set_slot("node", "type", tuple_of([r.of_each("_type") for r in self.results]))
        elif first.is_one:
            yield set_slot("node", "shape", dotted(f"{first.variable}.shape"))
            yield set_slot("node", "type", dotted(f"{first.out}._type"))
        else:
            yield set_slot("node", "num_inputs", call("len", out))
            yield set_slot("node", "shape", filled("tuple([o._array.shape for o in out])", out=out))
            yield set_slot("node", "type", filled("tuple([o._type for o in out])", out=out))

    def _attached(self) -> Iterator[Statement]:
        """The statements that give the results their edges."""
        first = self.results[0]
        if len(self.results) == 1 and not first.is_one:
            each = tuple(attached("o", Name("i")))
            yield For(tuple_of(names("io")), call("enumerate", Name(first.out)), each)
            return
        for number, result in enumerate(self.results):
            if len(self.results) == 1 or number in self.outputs:
                yield from result.attached(number)
        if self.constants:
            outs = {n: Name(self.results[n].out) for n in self.constants}
            versions = {n: filled("((storage_of(out), 0),)", out=out) for n, out in outs.items()}
            yield set_slot("node", "result_versions", dictionary(versions))
