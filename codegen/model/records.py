"""The model: what a method records: the Node, its edges, and what it saves, with their statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from .annotations import parameter_name
from .metadata import SLOTS
from .results import Result
from .schema import Argument


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
    def requires_grad(self) -> str:
        """The test of whether it does."""
        match self.kind:
            case InputKind.TENSOR:
                return f"{self.name}._requires_grad"
            case InputKind.OPTIONAL:
                return f"({self.name} is not None and {self.name}._requires_grad)"
        return f"any_requires_grad({self.name})"

    def edge(self, alone: bool) -> str:
        """The expression of its edge, or with ``*`` of its edges; ``alone``: it is the only input."""
        name = self.name
        match self.kind:
            case InputKind.TENSOR if alone:  # it is asked only where that requires gradients
                return f"{name}._edge or gradient_edge({name})"
            case InputKind.TENSOR:
                return f"{name}._edge or (gradient_edge({name}) if {name}._requires_grad else None)"
            case InputKind.OPTIONAL:
                return f"None if {name} is None else {name}._edge or gradient_edge({name})"
        return f"*gradient_edges({name})"


def any_requires(inputs: Sequence[Input]) -> str:
    """The test of whether any of them requires gradients."""
    return " or ".join([i.requires_grad for i in inputs])


def next_edges(inputs: Sequence[Input]) -> str:
    """The expression of a Node's ``next_edges``."""
    parts = [i.edge(alone=len(inputs) == 1) for i in inputs]
    if len(parts) == 1 and parts[0].startswith("*"):
        return parts[0][1:]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


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
    source: str  # the argument, or the expression of the array of a result
    kind: InputKind = InputKind.TENSOR  # what the argument is
    metadata: str = ""  # which of SLOTS is kept

    @property
    def expression(self) -> str:
        """What is kept."""
        if self.kept is Kept.METADATA:
            return kept_metadata(self.metadata, self.source, self.kind)
        return f"tuple({self.source})" if self._is_list else self.source

    @property
    def _is_list(self) -> bool:
        return self.kept is Kept.TENSOR and self.kind is InputKind.LIST

    @property
    def version(self) -> str:
        """The expression of a tensor's version, which a second slot has."""
        name = self.source
        if self._is_list:
            return f"versions({name})"
        version = f"0 if {name}._storage is None else {name}._storage.version"
        return f"0 if {name} is None else ({version})" if self.kind is InputKind.OPTIONAL else version

    def statements(self) -> Iterator[str]:
        """The statements that keep it."""
        yield f"node.{self.slot} = {self.expression}"
        if self.kept is Kept.TENSOR:
            yield f"node.{self.slot}_version = {self.version}"

    def otherwise(self) -> Iterator[str]:
        """The statements where it is not kept."""
        yield f"node.{self.slot} = None"
        if self.kept is Kept.TENSOR:
            yield f"node.{self.slot}_version = 0"


def kept_metadata(what: str, name: str, kind: InputKind) -> str:
    """What is kept of a tensor, or of each of a list, in place of its data."""
    of = SLOTS[what]
    if kind is InputKind.LIST:
        return f"tuple([{of.format('t')} for t in {name}])"
    text = of.format(name)
    return f"None if {name} is None else {text}" if kind is InputKind.OPTIONAL else text


@dataclass(frozen=True, slots=True)
class SaveGroup:
    """What is saved where one of some edges leads somewhere, and another condition holds; else None is."""

    edges: tuple[int, ...]  # their numbers; none: always
    further: str  # the other condition, or nothing
    saves: tuple[Save, ...]

    @property
    def condition(self) -> str:
        """The test; empty if it always holds."""
        wanted = " or ".join([f"edges[{i}] is not None" for i in self.edges])
        return f"({wanted}) and ({self.further})" if wanted and self.further else wanted or self.further

    def alone(self) -> Iterator[str]:
        """The statements that save, into slots that hold what they should otherwise."""
        pad = ""
        if self.condition:
            yield f"if {self.condition}:"
            pad = "    "
        yield from (pad + line for s in self.saves for line in s.statements())

    def statements(self) -> Iterator[str]:
        """The statements that save."""
        yield from self.alone()
        if self.condition:
            yield "else:"
            yield from (f"    {line}" for s in self.saves for line in s.otherwise())


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
    def condition(self) -> str:
        """The test of whether any input requires gradients."""
        return any_requires(self.inputs)

    @property
    def edges(self) -> str:
        """The expression of the Node's ``next_edges``."""
        return next_edges(self.inputs)

    @property
    def further(self) -> str:
        """What the condition asks besides."""
        return (
            " and differentiable(out._type)" if self.undifferentiable is Undifferentiable.NO_HISTORY else ""
        )

    @property
    def refuses_dtypes(self) -> bool:
        """Whether a result of a dtype without gradients is an error."""
        return self.undifferentiable is Undifferentiable.ERROR

    def described(self) -> Iterator[str]:
        """The statements that say what gradients the Node gets."""
        first = self.results[0]
        if len(self.results) > 1:
            yield f"node.shape = ({', '.join(r.of_each('_array.shape') for r in self.results)})"
            yield f"node.type = ({', '.join(r.of_each('_type') for r in self.results)})"
        elif first.is_one:
            yield f"node.shape = {first.variable}.shape"
            yield f"node.type = {first.out}._type"
        else:
            yield f"node.num_inputs = len({first.out})"
            yield f"node.shape = tuple([o._array.shape for o in {first.out}])"
            yield f"node.type = tuple([o._type for o in {first.out}])"

    def saved(self) -> Iterator[str]:
        """The statements that fill the Node's slots."""
        if self.saves_results:
            yield "node.result_versions = None"
        for group in self.saves:
            yield from group.statements()

    def attached(self) -> Iterator[str]:
        """The statements that give the results their edges."""
        first = self.results[0]
        if len(self.results) == 1 and not first.is_one:
            yield f"for i, o in enumerate({first.out}):"
            yield "    o._edge = (node, i)"
            yield "    o._requires_grad = True"
            return
        for number, result in enumerate(self.results):
            if len(self.results) == 1 or number in self.outputs:
                yield from result.attached(number)
        if self.constants:
            of = [f"{n}: ((storage_of({self.results[n].out}), 0),)" for n in self.constants]
            yield f"node.result_versions = {{{', '.join(of)}}}"
