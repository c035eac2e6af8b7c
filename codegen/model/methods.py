"""The model: methods of Type classes. Equal methods of sibling classes are hoisted.

There is a class for each kind of method, with what that kind has, and the statements of the method; those of
results (``results``) and records (``records``) are among them. Python's text and the fast paths of the
C machine are written of the same values.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...ir.expressions import Call, Constant, Expr, Name, all_of, dotted
from ...ir.reader import filled
from ...ir.statements import (
    NONE,
    Block,
    Do,
    If,
    Raise,
    Return,
    Statement,
    Try,
    Update,
    call,
    let,
    let_all,
    lines,
    names,
    tuple_of,
)
from .records import ENABLED, Input, Record, any_requires, next_edges
from .results import Result

#: An argument that may not require gradients, and the test of whether it does.
Refused = tuple[str, Expr]
#: What arguments may not be, and the text of the error.
Forbiddance = tuple[Expr, Expr]


def forbiddances(forbidden: Sequence[Forbiddance]) -> Iterator[Statement]:
    """The statements that refuse such arguments."""
    for condition, text in forbidden:
        yield If(condition, (Raise(call("RuntimeError", text)),))


@dataclass(frozen=True, slots=True)
class AbsentMethod:
    """What stands where a class does not have a method that its superclass has."""

    name: str


@dataclass(frozen=True, slots=True)
class PromotedMethod:
    """What stands where an operator promotes the tensors of a class to another Type, which has it."""

    is_row = True

    name: str
    operator: str  # its full name


@dataclass(frozen=True, slots=True)
class DefinedMethod:
    """What the methods have in common."""

    is_row = False

    name: str
    operator: str  # its full name, for errors
    parameters: tuple[tuple[str, str], ...]  # names and annotations
    returns: str

    @property
    def signature(self) -> str:
        """The parameters as they are written: "T, self: Tensor, other: Tensor"."""
        return ", ".join(["T", *[f"{name}: {annotation}" for name, annotation in self.parameters]])

    @property
    def function(self) -> str:
        """The operator's name without the overload."""
        return self.operator.partition(".")[0]

    def statements(self) -> Iterator[Statement]:
        """The statements of the method."""
        raise NotImplementedError

    def lines(self) -> Iterator[str]:
        """Their text."""
        return lines(self.statements())

    def _refusals(self, refused: Sequence[Refused]) -> Iterator[Statement]:
        """The statements that refuse arguments that require gradients."""
        for name, condition in refused:
            error = call("not_differentiable", Constant(name), Constant(self.operator))
            yield If(all_of([condition, ENABLED]), (Raise(error),))


@dataclass(frozen=True, slots=True)
class CallMethod(DefinedMethod):
    """Returns what one call gives: composites, promotions, the general form of in-place and out variants."""

    call: Expr
    refused: tuple[Refused, ...] = ()
    widened: Call | None = None  # what gives the arguments that reduced types widen; its result is rounded
    forbidden: tuple[Forbiddance, ...] = ()

    def statements(self) -> Iterator[Statement]:
        yield from self._refusals(self.refused)
        yield from forbiddances(self.forbidden)
        if self.widened is not None:
            test = filled("T.rounds and (wide := widened) is not None", widened=self.widened)
            rounded = filled(f"rounded(T, T.of(T.scalar_type.opmath).{self.name}(*wide))")
            yield If(test, (Return(rounded),))
        yield Return(self.call)


@dataclass(frozen=True, slots=True)
class FallbackMethod(DefinedMethod):
    """Calls the plain method; the gradients of the tensors, if any is wanted, are an error later."""

    call: Expr
    tensors: tuple[Input, ...]

    def statements(self) -> Iterator[Statement]:
        yield let("out", self.call)
        noted = call("record_not_implemented", Constant(self.operator), next_edges(self.tensors), Name("out"))
        yield If(all_of([any_requires(self.tensors), ENABLED]), (Do(noted),))
        yield Return(Name("out"))


@dataclass(frozen=True, slots=True)
class RecordMethod(DefinedMethod):
    """Calls the plain method and records it, in a few calls: what the recording Types share."""

    call: Expr
    record: Record
    inputs: Expr  # the tuple of the differentiable arguments
    outputs: Expr | None  # the tuple of the numbers of the differentiable results; None of a single result
    refused: tuple[Refused, ...]
    is_view: bool = False

    @property
    def result(self) -> str:
        """The variable of what the plain method gives."""
        return "out" if self.outputs in (None, NONE) else "outs"

    def statements(self) -> Iterator[Statement]:
        yield from self._refusals(self.refused)
        yield let(self.result, self.call)
        yield If(self.record.condition, (*self.record.refusal(self.operator), *self.recorded()))
        yield Return(Name(self.result))

    def recorded(self) -> Iterator[Statement]:
        """The statements that make the Node and save what it needs; its slots are empty before."""
        outputs = () if self.outputs is None else (self.outputs,)
        node = call("record_node", dotted(self.record.node), Name(self.result), self.inputs, *outputs)
        saves = self.record.saves
        yield let("node", node) if saves else Do(node)
        if any([group.edges for group in saves]):
            yield let("edges", dotted("node.next_edges"))
        for group in saves:
            yield from group.statements(otherwise=False)
        if self.is_view:
            yield Do(call("untracked_view", Name(self.result)))


@dataclass(frozen=True, slots=True)
class KernelMethod(DefinedMethod):
    """Calls a kernel, makes Tensors of what it gives and, where the Type records, the Node."""

    call: Expr  # what computes
    results: tuple[Result, ...]
    structure: str = ""  # what makes the tuple of several results one of names
    locals: tuple[tuple[str, Expr], ...] = ()
    tensors: tuple[str, ...] = ()  # the tensor arguments, for error texts
    record: Record | None = None
    refused: tuple[Refused, ...] = ()
    arguments: Expr | None = None  # the tuple of them, where the results' Type depends on the thread's mode
    operands: tuple[str, ...] = ()  # of which ``call`` computes where they are small; else ``blocked`` does
    blocked: Expr | None = None
    may_be_scalars: bool = False  # whether ``call`` may give scalars of the array library's
    forbidden: tuple[Forbiddance, ...] = ()
    shares: bool = (
        False  # whether what shares memory with ``self``, in a layout without views, has its version
    )

    def __post_init__(self) -> None:
        assert bool(self.operands) == (self.blocked is not None), self

    @property
    def small(self) -> Expr:
        """The condition for ``call``."""
        return all_of([filled("x._array.size < LARGE", x=Name(name)) for name in self.operands])

    @property
    def returned(self) -> Expr:
        """What is returned."""
        outs = tuple_of([Name(r.out) for r in self.results])
        match outs.elements:
            case ():
                return NONE
            case (out,):
                return out
        return Call(dotted(self.structure), (outs,)) if self.structure else outs

    def statements(self) -> Iterator[Statement]:
        yield from self._refusals(self.refused)
        yield from forbiddances(self.forbidden)
        if self.arguments is not None:
            other = call("run_in_mode", Name("T"), Constant(self.name), self.arguments)
            yield If(filled("T.unsettled and T.recording is grad_mode.inference"), (Return(other),))
        for name, value in self.locals:
            yield let(name, value)
        error = call("explain", *names(["error"]), Constant(self.operator), *names(self.tensors))
        yield Try(self._computed(), (Raise(error, alone=True),), error="error")
        for result in self.results:
            yield from result.statements(self.may_be_scalars)
        if self.record is not None:
            yield If(self.record.condition, tuple(self.record.statements(self.operator)))
        yield Return(self.returned)

    def _computed(self) -> Block:
        """The statements that call the kernel."""
        variables = ", ".join([r.variable for r in self.results])
        called = (let_all(variables, self.call),)
        return (
            called if self.blocked is None else (If(self.small, called, (let_all(variables, self.blocked),)),)
        )


@dataclass(frozen=True, slots=True)
class StoreMethod(DefinedMethod):
    """An in-place variant that copies what its kernel gives into ``self``; else it goes the general way."""

    call: Expr
    condition: Expr | None  # whether no argument needs a conversion or a gradient
    general: Expr  # the call of the general form
    locals: tuple[tuple[str, Expr], ...]
    sharing: tuple[tuple[str, Expr], ...]  # operands, and the tests that they share memory that is written

    def statements(self) -> Iterator[Statement]:
        free = filled("writes_freely(self)")
        condition = free if self.condition is None else all_of([self.condition, free])
        yield If(condition, tuple(self._written()))
        yield Return(self.general)

    def _written(self) -> Iterator[Statement]:
        """The statements that write."""
        if self.sharing:
            yield _STORAGE
        yield from self._checks()
        stored = If(filled("store(self, _r)"), (Return(Name("self")),))
        yield Try((*self._lets(), let("_r", self.call)), otherwise=(stored,))

    def _lets(self) -> Iterator[Statement]:
        for name, value in self.locals:
            yield let(name, value)

    def _checks(self) -> Iterator[Statement]:
        """The statements that see that no operand shares a part of what is written."""
        for name, condition in self.sharing:
            of = tuple_of(names([name]))
            yield If(condition, (Do(call("check_overlap", Constant(self.function), Name("self"), of)),))


@dataclass(frozen=True, slots=True)
class WriteMethod(StoreMethod):
    """The same whose kernel writes into ``self`` as it computes."""

    def _written(self) -> Iterator[Statement]:
        yield _STORAGE
        yield from self._checks()
        version, one = dotted("storage_.version"), Constant(1)
        yield Update(version, "+", one)
        given = Return(filled("self if storage_.views is None else written(self)"))
        yield Try((*self._lets(), Do(self.call)), (Update(version, "-", one),), (given,))


_STORAGE = let("storage_", filled("self._storage or storage_of(self)"))


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
        return any(m.is_row for m in self.methods[:1] if not isinstance(m, AbsentMethod))


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
