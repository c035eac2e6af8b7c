"""The model: methods of Type classes. Equal methods of sibling classes are hoisted.

There is a class for each kind of method, with what that kind has; ``templates/types.py.jinja`` has a macro
for each. Results (``results``) and records (``records``) know the statements that generated code has for
them, so that templates decide nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from .records import Input, Record, any_requires, next_edges
from .results import Result


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
    parameters: tuple[tuple[str, str], ...]  # names and annotations
    returns: str

    @property
    def signature(self) -> str:
        """The parameters as they are written: "self: Tensor, other: Tensor"."""
        return ", ".join([f"{name}: {annotation}" for name, annotation in self.parameters])

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
    """Calls the plain method; the gradients of the tensors, if any is wanted, are an error later."""

    macro: ClassVar[str] = "fallback"

    call: str
    tensors: tuple[Input, ...]

    @property
    def inputs(self) -> str:
        """The expression of their edges."""
        return next_edges(self.tensors)

    @property
    def condition(self) -> str:
        """The test of whether any of them requires gradients."""
        return any_requires(self.tensors)


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
        if any([group.edges for group in saves]):
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
    structure: str = ""  # what makes the tuple of several results one of names
    locals: tuple[tuple[str, str], ...] = ()
    tensors: str = ""  # the tensor arguments, for error texts
    record: Record | None = None
    refused: tuple[tuple[str, str], ...] = ()
    arguments: str = ""  # the tuple of them, where the results' Type depends on the thread's mode
    operands: tuple[str, ...] = ()  # of which ``call`` computes where they are small; else ``blocked`` does
    blocked: str = ""
    may_be_scalars: bool = False  # whether ``call`` may give scalars of the array library's
    shares: bool = (
        False  # whether what shares memory with ``self``, in a layout without views, has its version
    )

    def __post_init__(self) -> None:
        assert bool(self.operands) == bool(self.blocked), self

    @property
    def small(self) -> str:
        """The condition for ``call``."""
        return " and ".join([f"{name}._array.size < LARGE" for name in self.operands])

    @property
    def returned(self) -> str:
        """The expression returned."""
        if len(self.results) == 1:
            return self.results[0].out
        outs = f"({', '.join([r.out for r in self.results])})"
        return f"{self.structure}({outs})" if self.structure else outs if self.results else "None"

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
