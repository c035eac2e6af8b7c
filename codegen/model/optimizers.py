"""What optimisers are made of: the update of an element, and the forms of it that choices lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from ...ir.bodies import CONSTANT
from ...ir.expressions import Call, Conditional, Expr, Name, names_in, replaced, rewritten, walk
from ...ir.kernels import NativeKernel, Operand
from .source import Place

#: What an update changes, and what it goes by.
PARAM, GRAD = "param", "grad"
#: Whether a parameter has its first step, in numbers and choices.
FIRST = "first"
#: Of a number and a counter: the number as the counter keeps such.
LIKE = "like"
Statements = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """An update whose choices are made."""

    kernel: NativeKernel
    takes: tuple[int, ...]  # which of the update's numbers
    states: tuple[str, ...]
    statements: Statements


@dataclass(frozen=True)
class OptimizerUpdate:
    """The update of one optimiser, as it is declared."""

    name: str
    place: Place
    options: tuple[str, ...]
    counters: Mapping[str, Expr]  # states of one element, and what they begin as
    states: Mapping[str, Expr]  # those like the parameter
    conditional: Mapping[str, str]  # of the states that are not always there the choice by which they are
    numbers: Statements
    choices: Mapping[str, Expr]
    update: Statements

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The choices that no count decides: those of options, and of whether it is the first step."""
        plain = {*self.options, FIRST}
        return frozenset(name for name, expr in self.choices.items() if names_in(expr) <= plain)

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The names in the update that are like the parameter."""
        return frozenset({PARAM, GRAD, *self.states, *[name for name, _ in self.update]})

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The numbers and options that the update takes, in the order of their use."""
        exprs = [part for _, expr in self.update for part in walk(without_conditions(expr))]
        found = [e.id for e in exprs if isinstance(e, Name) and e.id not in self.arrays]
        functions = {e.function.id for e in exprs if isinstance(e, Call) and isinstance(e.function, Name)}
        return tuple(dict.fromkeys([name for name in found if name not in functions]))

    def of_array(self, expr: Expr) -> bool:
        """Whether an expression in the update gives what is like the parameter."""
        return not self.arrays.isdisjoint(names_in(without_conditions(expr)))

    def there(self, flags: Mapping[str, bool]) -> tuple[str, ...]:
        """The states where the choices are these."""
        return tuple([s for s in self.states if flags.get(self.conditional.get(s, ""), True)])

    def forms(self) -> Iterator[tuple[tuple[bool, ...], Form]]:
        """The forms, by the choices in their order."""
        for chosen in product((False, True), repeat=len(self.choices)):
            flags = dict(zip(self.choices, chosen, strict=True))
            states = self.there(flags)
            absent = {*self.states} - {*states}
            statements = tuple([(t, _chosen(e, flags)) for t, e in self.update if t not in absent])
            direct = _without_aliases(statements, {PARAM, *states})
            yield chosen, self._form(_needed(direct, {PARAM, *states}), states, flags)

    def _form(self, statements: Statements, states: tuple[str, ...], flags: Mapping[str, bool]) -> Form:
        found = frozenset().union(*[names_in(expr) for _, expr in statements])
        takes = tuple([i for i, name in enumerate(self.used) if name in found])
        changed = (PARAM, *states)
        inputs = [Operand(name) for name in (PARAM, GRAD, *states)]
        inputs += [Operand(self.used[i], dtype="number") for i in takes]
        names: dict[str, Expr] = {}
        renamed = []
        for target, expr in statements:
            value = replaced(rewritten(expr, _plain), names)
            called = f"new_{target}" if target in changed else target
            names[target] = Name(called)
            renamed.append((called, value))
        name = "_".join([self.name.lower(), *[flag for flag, holds in flags.items() if holds]])
        outputs = tuple([Operand(f"new_{name}") for name in changed])
        return Form(NativeKernel(name, tuple(inputs), outputs, tuple(renamed)), takes, states, statements)


def shared_forms(
    updates: Iterable[OptimizerUpdate],
) -> dict[str, list[tuple[tuple[bool, ...], Form]]]:
    """By optimiser the forms, by the choices; those that compute the same are one, called as the first."""
    known: dict[NativeKernel, Form] = {}
    return {
        update.name: [
            (chosen, known.setdefault(replace(form.kernel, name=""), form)) for chosen, form in update.forms()
        ]
        for update in updates
    }


def kernels_of(updates: Iterable[OptimizerUpdate]) -> dict[str, NativeKernel]:
    """The native kernels that the updates make, by name."""
    forms = [form for of in shared_forms(updates).values() for _, form in of]
    return {form.kernel.name: form.kernel for form in forms}


def without_conditions(expr: Expr) -> Expr:
    """The same with the tests of its choices left out, both ways being there."""

    def change(part: Expr) -> Expr:
        return Call(Name(""), (part.then, part.otherwise)) if isinstance(part, Conditional) else part

    return rewritten(expr, change)


def _chosen(expr: Expr, flags: Mapping[str, bool]) -> Expr:
    def change(part: Expr) -> Expr:
        match part:
            case Conditional(Name(flag), then, otherwise):
                return then if flags[flag] else otherwise
        return part

    return rewritten(expr, change)


def _without_aliases(statements: Statements, results: set[str]) -> Statements:
    """The same without names for what has one already, and keeps it."""
    found: list[tuple[str, Expr]] = []
    aliases: dict[str, Expr] = {}
    for i, (target, expr) in enumerate(statements):
        value, later = replaced(expr, aliases), {name for name, _ in statements[i + 1 :]}
        if isinstance(value, Name) and target not in results and value.id not in later:
            aliases[target] = value
        else:
            found.append((target, value))
    return tuple(found)


def _needed(statements: Statements, results: set[str]) -> Statements:
    """The statements on which results depend."""
    found, needed = [], set(results)
    for target, expr in reversed(statements):
        if target in needed:
            found.append((target, expr))
            needed |= names_in(expr)
    return tuple(reversed(found))


def _plain(expr: Expr) -> Expr:
    match expr:
        case Call(Name(name), (value,)) if name == CONSTANT:
            return value
    return expr
