"""The model: methods of Type classes. Equal methods of sibling classes are hoisted.

There is a class for each kind of method, with what that kind has; ``templates/types.py.jinja`` has a macro
for each. Results and records know the statements that generated code has for them, so that templates decide
nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


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


class Undifferentiable(Enum):
    """What becomes of a result whose dtype, which an argument says, has no gradients."""

    ERROR = "error"
    NO_HISTORY = "no history"


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


@dataclass(frozen=True, slots=True)
class Save:
    """A statement of the recording method: ``node.slot = expression``."""

    slot: str
    expression: str
    otherwise: str = "None"


@dataclass(frozen=True, slots=True)
class SaveGroup:
    """What is saved under one condition; where it does not hold, ``otherwise`` is."""

    condition: str | None
    saves: tuple[Save, ...]

    def alone(self) -> Iterator[str]:
        """The statements that save, into slots that hold what they should otherwise."""
        pad = ""
        if self.condition is not None:
            yield f"if {self.condition}:"
            pad = "    "
        yield from (f"{pad}node.{s.slot} = {s.expression}" for s in self.saves)

    def statements(self) -> Iterator[str]:
        """The statements that save."""
        yield from self.alone()
        if self.condition is not None:
            yield "else:"
            yield from (f"    node.{s.slot} = {s.otherwise}" for s in self.saves)


@dataclass(frozen=True, slots=True)
class Record:
    """The recording part of a method."""

    node: str  # the class, with its module
    condition: str  # whether any differentiable input requires grad
    edges: str  # the expression of next_edges
    results: tuple[Result, ...]
    saves: tuple[SaveGroup, ...]
    outputs: tuple[int, ...]  # the numbers of the differentiable results
    saves_results: bool
    constants: tuple[int, ...]  # the saved results that have no gradient
    undifferentiable: Undifferentiable | None = None

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


@dataclass(frozen=True, slots=True)
class AbsentMethod:
    """What stands where a class does not have a method that its superclass has."""

    name: str


@dataclass(frozen=True, slots=True)
class PromotedMethod:
    """What stands where an operator promotes the tensors of a class to another Type, which has it."""

    macro: ClassVar[str] = "promoted"

    name: str
    operator: str  # its full name


@dataclass(frozen=True, slots=True)
class DefinedMethod:
    """What the methods have in common."""

    macro: ClassVar[str] = ""

    name: str
    operator: str  # its full name, for errors
    signature: str  # "self: Tensor, other: Tensor"
    returns: str

    @property
    def function(self) -> str:
        """The operator's name without the overload."""
        return self.operator.partition(".")[0]


@dataclass(frozen=True, slots=True)
class CallMethod(DefinedMethod):
    """Returns what one call gives: composites, promotions, the general form of in-place and out variants."""

    macro: ClassVar[str] = "call"

    call: str
    refused: tuple[tuple[str, str], ...] = ()  # arguments that may not require grad: name, condition
    widened: str = ""  # the arguments that reduced types widen, and what they give is rounded; else empty


@dataclass(frozen=True, slots=True)
class FallbackMethod(DefinedMethod):
    """Calls the plain method; the gradients of ``inputs``, if any is wanted, are an error later."""

    macro: ClassVar[str] = "fallback"

    call: str
    inputs: str
    condition: str


@dataclass(frozen=True, slots=True)
class RecordMethod(DefinedMethod):
    """Calls the plain method and records it, in a few calls: what the recording Types share."""

    macro: ClassVar[str] = "record"

    call: str
    record: Record
    inputs: str  # the expression of the differentiable arguments
    outputs: str  # the expression of the numbers of the differentiable results; empty for a single result
    refused: tuple[tuple[str, str], ...]
    is_view: bool = False

    @property
    def result(self) -> str:
        """The variable of what the plain method gives."""
        return "outs" if self.outputs.startswith("(") else "out"

    def recorded(self) -> Iterator[str]:
        """The statements that make the Node and save what it needs; its slots are empty before."""
        given = ", ".join(filter(None, (self.record.node, self.result, self.inputs, self.outputs)))
        saves = self.record.saves
        yield f"{'node = ' if saves else ''}record_node({given})"
        if any("edges[" in (group.condition or "") for group in saves):
            yield "edges = node.next_edges"
        for group in saves:
            yield from group.alone()
        if self.is_view:
            yield f"untracked_view({self.result})"


@dataclass(frozen=True, slots=True)
class KernelMethod(DefinedMethod):
    """Calls a kernel, makes Tensors of what it gives and, where the Type records, the Node."""

    macro: ClassVar[str] = "kernel"

    call: str  # the expression that computes
    results: tuple[Result, ...]
    returned: str  # the expression returned
    locals: tuple[tuple[str, str], ...] = ()
    tensors: str = ""  # the tensor arguments, for error texts
    record: Record | None = None
    refused: tuple[tuple[str, str], ...] = ()
    arguments: str = ""  # the tuple of them, where the results' Type depends on the thread's mode
    small: str = ""  # the condition for ``call``; else ``blocked`` is what computes
    blocked: str = ""
    may_be_scalars: bool = False  # whether ``call`` may give scalars of the array library's
    shares: bool = (
        False  # whether what shares memory with ``self``, in a layout without views, has its version
    )

    def __post_init__(self) -> None:
        assert bool(self.small) == bool(self.blocked), self

    @property
    def variables(self) -> str:
        """What the kernel's results are assigned to."""
        return ", ".join(r.variable for r in self.results)

    def wrapped(self) -> Iterator[str]:
        """The statements that make Tensors, which have no edges yet."""
        for result in self.results:
            yield from result.statements(self.may_be_scalars)


@dataclass(frozen=True, slots=True)
class StoreMethod(DefinedMethod):
    """An in-place variant that copies what its kernel gives into ``self``; else it goes the general way."""

    macro: ClassVar[str] = "store"

    call: str
    condition: str  # whether no argument needs a conversion or a gradient
    general: str  # the call of the general form
    locals: tuple[tuple[str, str], ...]
    sharing: tuple[tuple[str, str], ...]  # operands, and the tests that they share memory that is written


@dataclass(frozen=True, slots=True)
class WriteMethod(StoreMethod):
    """The same whose kernel writes into ``self`` as it computes."""

    macro: ClassVar[str] = "write"


Method = (
    AbsentMethod | PromotedMethod | CallMethod | FallbackMethod | RecordMethod | KernelMethod | StoreMethod
)


@dataclass(frozen=True, slots=True)
class TypeClass:
    """A class of the Type hierarchy after hoisting."""

    name: str
    bases: tuple[str, ...]
    methods: tuple[Method, ...]
    doc: str
    decorator: str = "lacks"  # or "keeps", where the class has few of the methods of its base
    named: tuple[str, ...] = ()  # the names of the methods that it lacks, or keeps, in lines

    @property
    def begins_with_rows(self) -> bool:
        """Whether the first of its methods is one line."""
        return isinstance(next(iter(self.methods), None), PromotedMethod)


def type_class(
    name: str, bases: Sequence[str], methods: Iterable[Method], doc: str, inherited: Iterable[Method] = ()
) -> TypeClass:
    """The class with these methods by name: what is one line first.

    ``inherited`` are the methods of the base: what the class lacks is told by what it has, if that is less.
    """
    ordered = sorted(methods, key=lambda m: (not isinstance(m, PromotedMethod), m.name))
    absent = [m.name for m in ordered if isinstance(m, AbsentMethod)]
    own = tuple(m for m in ordered if not isinstance(m, AbsentMethod))
    there = {m.name for m in inherited if not isinstance(m, AbsentMethod)}
    kept = sorted(there - {m.name for m in ordered})
    if kept and there >= {*absent} and len(kept) < len(absent):
        return TypeClass(name, tuple(bases), own, doc, "keeps", tuple(textwrap.wrap(" ".join(kept), 100)))
    return TypeClass(name, tuple(bases), own, doc, "lacks", tuple(textwrap.wrap(" ".join(absent), 100)))
