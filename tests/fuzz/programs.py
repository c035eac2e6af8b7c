"""Random programs of declared operators: each step is a sample, on tensors that steps before it made.

A Program is data: ``repr`` of it makes it again, and ``text`` shows it as a person would write it. What
operators are and may do is read off their declarations; nothing here names one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sides import TENGEN, Side
from writing import flat

from tengen.codegen.model.operators import Operator
from tengen.core.scalar_type import dtype, named
from tengen.testing import declared
from tengen.testing.differentiable import constant, differentiable_places, hermitian
from tengen.testing.samples import Call, Random
from tengen.testing.variants import in_place_variants

#: The dtypes of programs; those that are drawn often are there more than once.
KINDS = ("float64", "float64", "float64", "complex128", "float32", "int64", "bool")
#: What a step does besides calling the operator.
FORMS = ("call", "in place", "in place", "strided", "detached")
#: How a tensor becomes an argument: a part of it in the shape that is asked for, or that turned around.
VIEWS = ("window", "transposed")
STEPS = 5

#: An argument's number, and the place in a list.
Place = tuple[int, int | None]
Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True, slots=True)
class Wire:
    """A result of a step before, as an argument."""

    source: int
    view: str
    start: int

    def text(self, shape: Sequence[int]) -> str:
        """The view, written down."""
        sizes = list(shape) if self.view == "window" else list(reversed(shape))
        turned = "" if self.view == "window" else ".permute(*reversed(dims))"
        return f"r{self.source}.flatten()[{self.start}:].view({sizes}){turned}"


@dataclass(frozen=True, slots=True)
class Step:
    """A call of an operator on a sample of it, with results of other steps in place of some arguments."""

    name: str
    sample: str
    form: str = "call"
    #: By (argument, place in a list) what is put there.
    wires: tuple[tuple[Place, Wire], ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Steps, with inputs of one dtype."""

    kind: str
    steps: tuple[Step, ...]

    @property
    def operators(self) -> list[Operator]:
        """The operators of the steps."""
        return [declared.operators()[step.name] for step in self.steps]

    def text(self) -> str:
        """The program, a line for each step."""
        lines = []
        for number, step in enumerate(self.steps):
            call = call_of(step)
            put = [
                f"{call.arguments[i].name}{'' if j is None else [j]} = {wire.text(_value(call, i, j).shape)}"
                for (i, j), wire in step.wires
            ]
            form = "" if step.form == "call" else f", {step.form}"
            lines.append(f"r{number} = {step.name}({step.sample}){form}" + "".join(f"; {p}" for p in put))
        return "\n".join([f"inputs of {self.kind}:", *[f"  {line}" for line in lines]])


@functools.cache
def _samples() -> dict[str, dict[str, Call]]:
    return {name: {call.text: call for call in declared.calls(name)} for name in declared.operators()}


def call_of(step: Step) -> Call:
    """The sample of a step. KeyError when it is declared no more."""
    return _samples()[step.name][step.sample]


def _value(call: Call, i: int, j: int | None) -> Any:
    value = call.values[i]
    return value if j is None else value[j]


@functools.cache
def choices(kind: str) -> list[tuple[str, list[Call]]]:
    """The operators whose results can be compared, with the samples that take this dtype."""
    found = []
    # What is simple comes first: programs that show a mistake are shrunk towards it.
    for name, operator in sorted(declared.operators().items(), key=lambda item: (item[0][0] == "_", item[0])):
        good = declared.deterministic(operator) and declared.has_values(operator)
        if good and operator.factory is None and not declared.writes(operator):
            takes = declared.dtypes_of(operator)
            of = named(kind)
            calls = [c for c in declared.calls(name) if c.takes(of) and (of in takes or not takes)]
            if calls:
                found.append((name, calls))
    return found


# -- running ---------------------------------------------------------------------------------

#: Calls a variant of a sample's operator, by its full name, on arguments.
Variant = Callable[[str, Call, list[Any]], Any]


def ours(name: str, call: Call, values: list[Any]) -> Any:
    """A variant here."""
    return declared.run(name, values)


@dataclass
class Run:
    """A program while it runs, in one of the libraries."""

    kind: dtype
    #: What the leaves are; those that are not given are the samples' own.
    given: Sequence[Any] | None = None
    side: Side = TENGEN
    variant: Variant = ours
    leaves: list[Any] = field(default_factory=list)
    #: What each step made.
    results: list[Any] = field(default_factory=list)
    #: What of the results is unique.
    values: list[Any] = field(default_factory=list)
    #: What of that can have a derivative.
    outputs: list[Any] = field(default_factory=list)
    #: Whether a gradient stops somewhere, though values change with what it is of.
    is_cut: bool = False

    def apply(self, step: Step) -> None:
        """Run one step."""
        call, wires = call_of(step), dict(step.wires)
        values = call.tensors(self.kind, make=self.side.make)
        for i, value in enumerate(values):
            if isinstance(value, list):
                values[i] = [self.argument(step, call, (i, j), part, wires) for j, part in enumerate(value)]
            else:
                values[i] = self.argument(step, call, (i, None), value, wires)
        if step.form == "in place":
            result = self.variant(in_place_variants(step.name)[0], call, values)
        else:
            result = self.variant(step.name, call, values)
        tensors = flat(self.side, result)
        recorded = any(requires_grad(self.side, t) for value in values for t in _parts(value))
        self.is_cut |= recorded and any(inexact(self.side, t) and not t.requires_grad for t in tensors)
        self.results.append(None if call.operator.determined or not tensors else tensors[0])
        if call.operator.determined:
            self.values += self.side.unique(call.operator, result)
        else:
            self.values += tensors
        self.outputs += outputs(self.side, call.operator, result, tensors)

    def argument(self, step: Step, call: Call, place: Place, part: Any, wires: dict[Place, Wire]) -> Any:
        """What is given in place of an argument of the sample."""
        value = _value(call, *place)
        if place in wires:
            found = self.view(wires[place], tuple(part.shape))
        elif isinstance(value, Random) and inexact(self.side, part) and not constant(call, place[0]):
            found = self.leaf(part, value)
        elif step.form == "in place" and isinstance(part, self.side.library.Tensor):
            return part.clone()  # a trace keeps what is no leaf, and writes to it each time
        else:
            return part
        if step.form == "strided":
            found = self.side.library.stack([found, found], -1).select(-1, 0)
        if step.form != "detached":
            return found
        self.is_cut = True
        return found.detach()

    def leaf(self, own: Any, sample: Random) -> Any:
        """The next leaf, as a copy: so that nothing writes to a leaf."""
        leaf = own if self.given is None else self.given[len(self.leaves)]
        self.leaves.append(leaf)
        return (leaf + leaf.mH) / 2 if hermitian(sample) and leaf.ndim > 1 else leaf.clone()

    def view(self, wire: Wire, shape: tuple[int, ...]) -> Any:
        """A part of a result in this shape."""
        sizes = shape if wire.view == "window" else shape[::-1]
        elements = self.results[wire.source].reshape(-1)
        part = elements[wire.start : wire.start + math.prod(shape)].view(sizes)
        return part if wire.view == "window" else part.permute(tuple(range(len(shape)))[::-1])


def inexact(side: Side, tensor: Any) -> bool:
    """Whether a tensor of this library can have a gradient."""
    return isinstance(tensor, side.library.Tensor) and (tensor.is_floating_point() or tensor.is_complex())


def requires_grad(side: Side, tensor: Any) -> bool:
    """Whether a gradient is to be had of a tensor of this library."""
    return inexact(side, tensor) and bool(tensor.requires_grad)


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def outputs(side: Side, operator: Operator, result: Any, tensors: list[Any]) -> list[Any]:
    """As ``differentiable_results``, of either library."""
    if operator.determined:
        tensors = side.unique(operator, result)
    else:
        places = differentiable_places(operator)
        tensors = [tensors[k] for k in places] if places else tensors
    return [t for t in tensors if inexact(side, t)]


def run(program: Program, given: Sequence[Any] | None = None, **options: Any) -> Run:
    """The program, run to its end."""
    made = Run(named(program.kind), given, **options)
    for step in program.steps:
        made.apply(step)
    return made


# -- drawing ---------------------------------------------------------------------------------


def draw_program(draw: Draw) -> Program:
    """A program whose steps run, but perhaps the last."""
    kind = draw(st.sampled_from(KINDS))
    state, steps = Run(named(kind)), []
    for _ in range(draw(st.integers(1, STEPS))):
        step = draw_step(draw, kind, state)
        steps.append(step)
        try:
            state.apply(step)
        except Exception:  # what an error is, the checks say
            break
    return Program(kind, tuple(steps))


def draw_step(draw: Draw, kind: str, state: Run) -> Step:
    """A step that may follow."""
    name, calls = draw(st.sampled_from(choices(kind)))
    call = draw(st.sampled_from(calls))
    exact = "needs_exact_strides" in declared.operators()[name].tags  # memory between elements has no history
    without = {"in place"} - {"in place" for _ in in_place_variants(name)} | ({"strided"} if exact else set())
    forms = [f for f in FORMS if f not in without]
    form = draw(st.sampled_from(forms))
    wires = []
    for place, array in _wirable(call, kind):
        fitting = [
            number
            for number, r in enumerate(state.results)
            if r is not None and r.numel() >= array.size and r.dtype.array_dtype == array.dtype
        ]
        source = draw(st.sampled_from([None, *fitting, *fitting])) if fitting else None
        if source is not None:
            rest = state.results[source].numel() - array.size
            view = draw(st.sampled_from(VIEWS)) if array.ndim > 1 else VIEWS[0]
            wires.append((place, Wire(source, view, draw(st.integers(0, min(rest, 3))))))
    return Step(name, call.text, form, tuple(wires))


def _wirable(call: Call, kind: str) -> list[tuple[Place, np.ndarray[Any, Any]]]:
    """The arguments that may be any numbers, and what the sample has there."""
    found = []
    for i, (argument, value) in enumerate(zip(call.arguments, call.values, strict=True)):
        for j, part in enumerate(value) if isinstance(value, list) else ((None, value),):
            anything = isinstance(part, Random) and part.form in ("plain", "detached")
            if anything and argument.name not in call.operator.domain:
                found.append(((i, j), part.array(named(kind))))
    return found
