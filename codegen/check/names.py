"""Check: that every name in an expression means something, and every call fits what it calls.

An expression's names are its own (of comprehensions and lambdas), the values it is given
(arguments, results, gradients), functions, and a few builtins.  A ``Vocabulary`` says which
values and functions there are; one subclass each for arrays, for Tensors and for references.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...ir.expressions import (
    Assigned,
    Attribute,
    Call,
    Expr,
    Foreign,
    Name,
    Starred,
    binders,
    scoped_parts,
    walk,
)
from ..model.diagnostics import Report, suggestion
from ..model.operators import Formula
from ..model.schema import Schema
from ..parse.formula import length_of, place_of
from ..read.functions import Arity, FunctionIndex
from .reserved import is_called

BUILTINS = frozenset({
    "abs", "all", "any", "bool", "complex", "enumerate", "float", "int", "isinstance", "len", "list", "max",
    "min", "range", "reversed", "round", "sorted", "sum", "tuple", "zip", "True", "False", "None",
})  # fmt: skip

# Over Tensors, these are operators and not Python's.
TENSOR_BUILTINS = BUILTINS - {"abs", "all", "any", "max", "min", "round", "sum"}

# Functions of the formula language itself; ``check`` looks at their arguments.
SPECIAL_FUNCTIONS = frozenset({"not_implemented", "wrap_opt_if"})

# What the author of an expression would call the parts that it may not have.
_FORBIDDEN = {
    "JoinedStr": "an f-string",
    "Set": "a set",
    "SetComp": "a set",
    "DictComp": "a dict comprehension",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a name or a call."""

    message: str
    expected: str = ""
    help: str = ""


class Vocabulary:
    """The values and functions that an expression may name."""

    what = "formula"

    def __init__(self, values: Collection[str]) -> None:
        self.values = values

    def function(self, name: str) -> Sequence[Arity | None] | None:
        """The ways to call a function, None for an unknown way; None when there is no such function."""
        return None

    def functions(self) -> Iterable[str]:
        """The names of all functions, to suggest one."""
        return ()

    def unknown(self, name: str) -> Problem:
        """What an unknown name could have been."""
        close = suggestion(name, self.values) or suggestion(name, {*self.functions(), *BUILTINS})
        return Problem(f'unknown name "{name}" in the {self.what}', "an argument or a function", close)

    def value(self, name: str) -> Problem | None:
        """What is wrong with a function's name that is neither called nor handed to a function."""
        return None

    def binding(self, name: str) -> str:
        """Why a comprehension or a lambda cannot call a variable so; nothing if it can."""
        if name in self.values:
            return "it hides what the expression is given by this name"
        return f'generated code uses the name "{name}" itself' if is_called(name) else ""

    def attribute(self, expr: Attribute, call: Call | None) -> Problem | None:
        """What is wrong with an attribute; ``call`` is the call of it, if it is called."""
        return None


def check_names(formula: Formula, vocabulary: Vocabulary, report: Report) -> None:
    """Reports every name and call in the formula that the vocabulary does not know."""
    # Names of assignments, which are reported, are not reported again as unknown.
    assigned = {e.name for e in walk(formula.tree) if isinstance(e, Assigned)} if ":=" in formula.text else ()
    _Walk(formula, vocabulary, report).visit(formula.tree, frozenset(assigned))


class _Walk:
    def __init__(self, formula: Formula, vocabulary: Vocabulary, report: Report) -> None:
        self.formula, self.vocabulary, self.report = formula, vocabulary, report

    def error(self, expr: Expr, problem: Problem) -> None:
        place, length = place_of(self.formula, expr), length_of(self.formula, expr)
        self.report.error(place, problem.message, length=length, expected=problem.expected, help=problem.help)

    def visit(self, expr: Expr, bound: frozenset[str]) -> None:
        if isinstance(expr, Foreign | Assigned):
            kind = "an assignment" if isinstance(expr, Assigned) else _FORBIDDEN.get(expr.kind, expr.kind)
            message = f"{kind} is no part of a {self.vocabulary.what}"
            self.error(expr, Problem(message, "an expression of names, calls and operators"))
            return
        if isinstance(expr, Name):
            self.name(expr, bound)
            return
        if isinstance(expr, Attribute):
            self.attribute(expr, None)
        if isinstance(expr, Call):
            self.call(expr, bound)
            return
        self.visit_parts(expr, bound)

    def visit_parts(self, expr: Expr, bound: frozenset[str]) -> None:
        for name, at in binders(expr):
            problem = self.vocabulary.binding(name)
            if problem:
                message = f'"{name}" cannot be the name of a variable here'
                self.error(at, Problem(message, "a name that means nothing else", problem))
        for part, inner in scoped_parts(expr, bound):
            self.visit(part, inner)

    def name(self, expr: Name, bound: frozenset[str], operand: bool = True) -> None:
        name, vocabulary = expr.id, self.vocabulary
        known = name in bound or name in vocabulary.values or name in BUILTINS
        if not known and vocabulary.function(name) is None:
            self.error(expr, vocabulary.unknown(name))
        elif operand and name not in bound and name not in vocabulary.values:
            problem = vocabulary.value(name)
            if problem is not None:
                self.error(expr, problem)

    def call(self, call: Call, bound: frozenset[str]) -> None:
        function = call.function
        if isinstance(function, Name):
            self.name(function, bound, operand=False)
            if function.id not in bound and function.id not in self.vocabulary.values:
                ways = self.vocabulary.function(function.id)
                problem = None if ways is None else call_problem(function.id, ways, call)
                if problem is not None:
                    self.error(call, problem)
            elif function.id not in bound:
                message = f'"{function.id}" is an argument here, and cannot be called'
                self.error(function, Problem(message, "a function of another name"))
        elif isinstance(function, Attribute):
            self.attribute(function, call)
            self.visit_parts(function, bound)
        else:
            self.visit(function, bound)
        for argument in (*call.arguments, *(keyword.value for keyword in call.keywords)):
            if isinstance(argument, Name):
                self.name(argument, bound, operand=False)  # a function may be handed on
            else:
                self.visit(argument, bound)

    def attribute(self, expr: Attribute, call: Call | None) -> None:
        problem = self.vocabulary.attribute(expr, call)
        if problem is None:
            return
        # The caret stands below the attribute's name, which ends where the expression ends.
        length = len(expr.name)
        start = place_of(self.formula, expr).shifted(length_of(self.formula, expr) - length)
        self.report.error(start, problem.message, length=length, expected=problem.expected, help=problem.help)


def call_problem(
    name: str, ways: Sequence[Arity | None], call: Call, bound_first: bool = False
) -> Problem | None:
    """Why a call fits none of the ways to call a function; None when it fits one, or may.

    ``bound_first`` counts the tensor before the dot of a method call as the first argument.
    """
    if any(isinstance(a, Starred) for a in call.arguments) or any(k.name is None for k in call.keywords):
        return None
    given = len(call.arguments) + bound_first
    keywords = tuple(k.name for k in call.keywords if k.name is not None)
    problems = [None if way is None else way.problem(given, keywords) for way in ways]
    if None in problems or not problems:
        return None
    expected = " or ".join(way.text(name) for way in ways[:3] if way is not None)
    if len(problems) == 1:
        return Problem(f"{name} {problems[0]}", expected)
    named = f" and {', '.join(keywords)}" if keywords else ""
    return Problem(
        f"{name} cannot be called with {given} argument{'s' if given != 1 else ''}{named}", expected
    )


def schema_arity(schema: Schema) -> Arity:
    """How the function of an operator may be called."""
    positional = schema.positional
    names = tuple(a.name for a in positional)
    least = sum(a.default is None for a in positional)
    keywords = frozenset(a.name for a in (*schema.kwarg_only, *schema.out))
    # x.permute(0, 1) means x.permute((0, 1)): a list of ints may be spread over the call.
    spread = any(a.type.is_int_list for a in positional[:2])
    return Arity(names, least, None if spread else len(names), keywords)


class OperatorTable:
    """The declared operators as functions and as methods, by name."""

    def __init__(
        self,
        schemas: Iterable[tuple[Schema, Mapping[str, frozenset[str]]]],
        attributes: frozenset[str],
        unread: Iterable[str] = (),
    ) -> None:
        """``schemas`` come with the names that they and autogen give, and with the variants of these;
        ``attributes`` are what a Tensor has by hand; of ``unread`` operators the names alone are known."""
        self.attributes = attributes
        self.by_function: dict[str, list[Schema]] = {name.split(".")[0]: [] for name in unread}
        self.methods: set[str] = set(self.by_function)
        self.functions: set[str] = set(self.by_function)
        for schema, given in schemas:
            for name, variants in given.items():
                self.by_function.setdefault(name, []).append(schema)
                if "method" in variants:
                    self.methods.add(name)
                if "function" in variants:
                    self.functions.add(name)
        self._arities: dict[str, list[Arity | None]] = {}

    def arities(self, name: str) -> list[Arity | None] | None:
        """The ways to call the function of that name."""
        if name not in self._arities and name in self.by_function:
            ways = dict.fromkeys(schema_arity(schema) for schema in self.by_function[name])
            self._arities[name] = list(ways)
        return self._arities.get(name)

    def attribute(self, expr: Attribute, call: Call | None) -> Problem | None:
        """What is wrong with ``tensor.NAME`` or ``tensor.NAME(...)``."""
        name = expr.name
        if name in self.attributes or (name.startswith("__") and name.endswith("__")):
            return None
        if name in self.methods:
            return (
                None if call is None else call_problem(name, self.arities(name) or (), call, bound_first=True)
            )
        close = suggestion(name, self.methods | self.attributes)
        if name in self.by_function:
            close = f"{name} is a function; its entry has no method variant"
        return Problem(
            f'a Tensor has no "{name}"', "a method of an operator, or an attribute of Tensor", close
        )


class TensorVocabulary(Vocabulary):
    """Expressions over Tensors: derivative formulas and composites."""

    def __init__(
        self,
        what: str,
        values: Collection[str],
        operators: OperatorTable,
        helpers: FunctionIndex,
    ) -> None:
        super().__init__(values)
        self.what = what
        self.operators = operators
        self.helpers = helpers

    def function(self, name: str) -> Sequence[Arity | None] | None:
        if name in SPECIAL_FUNCTIONS:
            return (None,)
        found = self.helpers.find(name)
        if found:
            return [function.arity() for function in found]
        is_operator = name in self.operators.functions and name not in TENSOR_BUILTINS
        return self.operators.arities(name) if is_operator else None

    def unknown(self, name: str) -> Problem:
        problem = super().unknown(name)
        if name in self.operators.methods:
            return replace(problem, help=f"{name} is a method; its entry has no function variant")
        return problem

    def value(self, name: str) -> Problem | None:
        return Problem(f'"{name}" is a function here', f"a call: {name}(...)", suggestion(name, self.values))

    def functions(self) -> Iterable[str]:
        return {*self.helpers.names(), *self.operators.functions, *SPECIAL_FUNCTIONS}

    def attribute(self, expr: Attribute, call: Call | None) -> Problem | None:
        return self.operators.attribute(expr, call)
