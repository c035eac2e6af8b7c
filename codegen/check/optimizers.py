"""Check: optimizers.yaml, the updates of optimisers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from ...ir.bodies import CONSTANT
from ...ir.expressions import (
    ELEMENTWISE_COMPARISONS,
    Call,
    Conditional,
    Constant,
    Expr,
    Logical,
    Name,
    Operation,
    Subscript,
    names_in,
)
from ...ir.reader import read_assignments
from ...ir.types import CLOSED
from ..model.diagnostics import Report, one_of, suggestion
from ..model.operators import Primitive
from ..model.optimizers import FIRST, GRAD, LIKE, PARAM, OptimizerUpdate, Statements, kernels_of
from ..model.source import Located, Place
from ..parse.formula import parse_formula
from ..read.fields import check_word, report_scalar, words
from ..read.keys import Key
from .native_kernels import LoweringCheck

#: Functions of numbers, with how many they take: runtime/composite/updates.py has them.
FUNCTIONS = {LIKE: 2, "known": 1, "maximum": 2, "rounded": 1}
#: What generated code calls itself.
_TAKEN = frozenset({"F", "S", "np", "kept", "options", "flags", "numbers", "None", "True", "False"})

OPTIMIZER_KEYS = {
    key.name: key
    for key in (
        Key("name", ("str",), "the class"),
        Key("options", ("str", "list"), "what of its options the update depends on"),
        Key("counters", ("str",), "states of one element, and what they begin as"),
        Key("state", ("str",), "states that are like the parameter, and what their elements begin as"),
        Key("numbers", ("str",), "what is computed once for each step"),
        Key("choices", ("map",), "what decides between forms of the update, by name"),
        Key("update", ("str",), "what is computed for each element"),
    )
}
REQUIRED = ("name", "update")


def load_optimizers(
    rows: Iterable[tuple[Mapping[str, Located], Place]],
    functions: Mapping[str, int],
    check: LoweringCheck,
    report: Report,
) -> tuple[OptimizerUpdate, ...]:
    """The updates; mistakes are reported. ``functions`` are those that an update may call."""
    found = []
    for fields, place in rows:
        update = _Reader(fields, place, functions, report).update()
        if update is not None:
            body, kernels = fields["update"], kernels_of([update]).values()
            if all([check.passes(kernel, str(kernel), body.place) for kernel in kernels]):
                found.append(update)
    return tuple(found)


def functions_of(primitives: Mapping[str, Primitive], routines: Collection[str]) -> dict[str, int]:
    """The functions over arrays, over Tensors and over scalars, with how many operands each takes."""
    functions = [p for p in primitives.values() if p.function is None and p.operator is not None]
    found = [p for p in functions if p.name in routines]
    return {p.name: p.arguments for p in found} | {CONSTANT: 1}


class _Reader:
    """Reads one entry."""

    def __init__(
        self, fields: Mapping[str, Located], place: Place, functions: Mapping[str, int], report: Report
    ) -> None:
        self.fields, self.place, self.functions, self.report = fields, place, functions, report
        self.good = check_word(fields["name"], "a class", report)
        given = words(fields["options"], report) if "options" in fields else []
        self.options = tuple([word for word, _ in given])
        self.choices: dict[str, Expr] = {}
        self.counters: frozenset[str] = frozenset()

    def wrong(
        self, located: Located, at: int, length: int, message: str, expected: str, help: str = ""
    ) -> None:
        """Report a mistake."""
        self.good = False
        self.report.error(located.at(at), message, length=length, expected=expected, help=help)

    def update(self) -> OptimizerUpdate | None:
        """The update, if all of it is right."""
        counters = dict(self.assigned("counters", {*self.options}, self.number))
        self.counters = frozenset(counters)
        known = {*self.options, *counters, FIRST}
        numbers = self.assigned("numbers", known, self.number, again=known - {FIRST})
        known |= {name for name, _ in numbers}
        self.read_choices(known)
        conditional: dict[str, str] = {}
        states = {name: self.begin(name, expr, conditional) for name, expr in self.begins()}
        known = {PARAM, GRAD, *states, *known} - {FIRST}
        update = self.assigned("update", known, self.element, again={PARAM, *states})
        missing = [name for name in (PARAM, *states) if name not in dict(update)]
        if missing and self.good:
            expected = "the parameter and each state are assigned"
            self.wrong(self.fields["update"], 0, 1, f"nothing is assigned to {one_of(missing)}", expected)
        if not self.good:
            return None
        name = self.fields["name"].value
        return OptimizerUpdate(
            name, self.place, self.options, counters, states, conditional, numbers, self.choices, update
        )

    def begins(self) -> Statements:
        return self.assigned("state", {*self.options}, self.initial)

    def assigned(
        self,
        key: str,
        known: Collection[str],
        check: Callable[[Located, Expr, Collection[str]], None],
        again: Collection[str] = (),
    ) -> Statements:
        """The assignments of a key. Of what is known those names may be assigned that are in ``again``."""
        located = self.fields.get(key)
        if located is None:
            return ()
        try:
            read = read_assignments(located.value)
        except SyntaxError as error:
            self.good = False
            message = f"it is no list of assignments: {error.msg}"
            report_scalar(located, message, "name = expression", self.report)
            return ()
        found, names = [], {*known}
        for target, value in read:
            at = target.span[0]
            if not isinstance(target, Name):
                message = "an optimiser has assignments to names"
                self.wrong(located, at, max(1, target.span[1] - at), message, "name = expression")
                continue
            if target.id in {*known} - {*again}:
                message, expected = f'"{target.id}" is known already', "another name"
                self.wrong(located, at, len(target.id), message, expected)
            elif target.id in (*self.functions, *FUNCTIONS, *_TAKEN) or target.id.startswith("_"):
                message = f'"{target.id}" is a function, or generated code uses the name itself'
                self.wrong(located, at, len(target.id), message, "another name")
            check(located, value, names)
            names.add(target.id)
            found.append((target.id, value))
        return tuple(found)

    def read_choices(self, known: Collection[str]) -> None:
        """What decides between forms."""
        located = self.fields.get("choices")
        for name, value in () if located is None else located.value.items():
            formula = parse_formula(value, self.report, "choice")
            if formula is None:
                self.good = False
                continue
            self.number(value, formula.tree, known)
            self.choices[name] = formula.tree

    def initial(self, located: Located, expr: Expr, known: Collection[str]) -> None:
        """Report what no state begins as."""
        match expr:
            case Conditional(Name(), then, Constant(None)):
                self.number(located, then, known)
            case _:
                self.number(located, expr, known)

    def begin(self, name: str, expr: Expr, conditional: dict[str, str]) -> Expr:
        """What a state begins as; where it is not always there, the choice is noted."""
        match expr:
            case Conditional(Name(flag) as condition, then, Constant(None)):
                conditional[name] = flag
                fixed = [c for c, e in self.choices.items() if names_in(e) <= {*self.options}]
                self.known_name(self.fields["state"], condition, fixed, "choice of options")
                return then
        return expr

    # -- expressions ---------------------------------------------------------------------------

    def known_name(self, located: Located, name: Name, known: Collection[str], what: str) -> None:
        if name.id not in known:
            message, help = f'unknown {what} "{name.id}"', suggestion(name.id, known)
            self.wrong(located, name.span[0], len(name.id), message, one_of(sorted(known)), help)

    def called(self, located: Located, name: Name, known: Mapping[str, int], given: tuple[Expr, ...]) -> None:
        self.known_name(located, name, known, "function")
        count = known.get(name.id, len(given))
        if len(given) != count:
            message = f"{name.id} takes {count} operand{'s' if count > 1 else ''}, not {len(given)}"
            self.wrong(located, name.span[0], len(name.id), message, f"{name.id} of {count}")

    def number(self, located: Located, expr: Expr, known: Collection[str]) -> None:
        """Report what cannot be computed once for each step."""
        match expr:
            case Name():
                self.known_name(located, expr, known, "name")
            case Constant(int() | float() | None) | Operation() | Conditional() | Logical() | Subscript():
                for part in expr.parts:
                    self.number(located, part, known)
            case Call(Name() as function, arguments, ()):
                self.called(located, function, FUNCTIONS, arguments)
                for part in arguments:
                    self.number(located, part, known)
                if function.id == LIKE and isinstance(arguments[-1], Name):
                    self.known_name(located, arguments[-1], self.counters, "counter")
            case _:
                self.foreign(located, expr, "arithmetic, comparisons and choices")

    def element(self, located: Located, expr: Expr, known: Collection[str]) -> None:
        """Report what cannot be computed for each element."""
        match expr:
            case Name():
                self.known_name(located, expr, known, "name")
            case Constant(int() | float()):
                return
            case Conditional(Name() as condition, then, otherwise):
                self.known_name(located, condition, self.choices, "choice")
                for part in (then, otherwise):
                    self.element(located, part, known)
            case Operation(symbol) if symbol in (*CLOSED, *ELEMENTWISE_COMPARISONS):
                for part in expr.parts:
                    self.element(located, part, known)
            case Call(Name() as function, arguments, ()):
                self.called(located, function, self.functions, arguments)
                for part in arguments:
                    self.element(located, part, known)
            case _:
                self.foreign(located, expr, "arithmetic, comparisons, functions, and choices by name")

    def foreign(self, located: Located, expr: Expr, expected: str) -> None:
        at = expr.span[0]
        message = f"an optimiser has no {type(expr).__name__.lower()} here"
        self.wrong(located, at, max(1, expr.span[1] - at), message, expected)
