"""The IR: expressions of the declaration language, as values.

Formulas of derivatives, kernels, references, samples and rules are read into it once (``reader``) and
written as text once (``writer``); every pass between takes expressions and gives expressions.
Expressions are immutable. Two are equal if they are written alike, wherever they stand, so that a common
subexpression is found by comparing. The text of an expression reads back as an equal one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

#: Where an expression begins and ends in the text that it was read from, in characters.
Span = tuple[int, int]
NOWHERE: Final[Span] = (0, 1)


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression: the base of what follows."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions that it is made of, in the order in which they are written."""
        return ()

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        """The same of other parts, as many as it has."""
        return self


@dataclass(frozen=True, slots=True)
class Constant(Expr):
    """A number, a string, True, False, None or an ellipsis."""

    value: Any = field(compare=False)
    text: str = field(init=False, repr=False)  # 1, 1.0 and True are equal in Python, and -0.0 and 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", repr(self.value))


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """An argument, a result, a function, a module: what the name means is known from where it stands."""

    id: str


@dataclass(frozen=True, slots=True)
class Operation(Expr):
    """An operator of Python's: its symbol (BINARY, UNARY, COMPARISONS) and its operands."""

    symbol: str
    operands: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.operands

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Operation(self.symbol, tuple(parts), span=self.span)


@dataclass(frozen=True, slots=True)
class Chain(Expr):
    """Several comparisons in a row, as ``0 <= i < n``."""

    symbols: tuple[str, ...]
    operands: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.operands

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Chain(self.symbols, tuple(parts), span=self.span)


@dataclass(frozen=True, slots=True)
class Logical(Expr):
    """``a and b and c``, or with ``or``: what does not decide is not computed."""

    symbol: str  # "and" | "or"
    operands: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.operands

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Logical(self.symbol, tuple(parts), span=self.span)


@dataclass(frozen=True, slots=True)
class Conditional(Expr):
    """``then if condition else otherwise``: only one of the two is computed."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.then, self.condition, self.otherwise)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        then, condition, otherwise = parts
        return Conditional(condition, then, otherwise, span=self.span)


@dataclass(frozen=True, slots=True)
class Keyword(Expr):
    """``name=value`` in a call; without a name it is ``**value``."""

    name: str | None
    value: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Keyword(self.name, parts[0], span=self.span)


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A call of a function, or of a method, whose function is an Attribute."""

    function: Expr
    arguments: tuple[Expr, ...] = ()
    keywords: tuple[Keyword, ...] = ()

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.function, *self.arguments, *self.keywords)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        count = 1 + len(self.arguments)
        keywords = tuple([k for k in parts[count:] if isinstance(k, Keyword)])
        return Call(parts[0], tuple(parts[1:count]), keywords, span=self.span)


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    """``value.name``"""

    value: Expr
    name: str

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Attribute(parts[0], self.name, span=self.span)


@dataclass(frozen=True, slots=True)
class Subscript(Expr):
    """``value[index]``"""

    value: Expr
    index: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.value, self.index)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Subscript(parts[0], parts[1], span=self.span)


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    """``start:stop:step`` in a subscript."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None

    @property
    def parts(self) -> tuple[Expr, ...]:
        return tuple([p for p in (self.start, self.stop, self.step) if p is not None])

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        given = iter(parts)
        made = [None if p is None else next(given) for p in (self.start, self.stop, self.step)]
        return Slice(*made, span=self.span)


@dataclass(frozen=True, slots=True)
class Elements(Expr):
    """A tuple or a list that is written out."""

    kind: str  # "tuple" | "list"
    elements: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.elements

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Elements(self.kind, tuple(parts), span=self.span)


@dataclass(frozen=True, slots=True)
class Dictionary(Expr):
    """``{key: value}``"""

    keys: tuple[Expr, ...]
    values: tuple[Expr, ...]
    rest: Expr | None = None  # ``**rest`` at the end, which generated text has and declarations may not have

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (*self.keys, *self.values, *([] if self.rest is None else [self.rest]))

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        count = len(self.keys)
        values, rest = tuple(parts[count : 2 * count]), (*parts[2 * count :], None)[0]
        return Dictionary(tuple(parts[:count]), values, rest, span=self.span)


@dataclass(frozen=True, slots=True)
class Starred(Expr):
    """``*value`` in a call, a tuple or a list."""

    value: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Starred(parts[0], span=self.span)


@dataclass(frozen=True, slots=True)
class Clause(Expr):
    """``for target in iterable if condition`` of a comprehension."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...] = ()

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.target, self.iterable, *self.conditions)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Clause(parts[0], parts[1], tuple(parts[2:]), span=self.span)


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    """``[element for ...]``, or a generator."""

    kind: str  # "list" | "generator"
    element: Expr
    clauses: tuple[Clause, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.element, *self.clauses)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        clauses = tuple([c for c in parts[1:] if isinstance(c, Clause)])
        return Comprehension(self.kind, parts[0], clauses, span=self.span)


@dataclass(frozen=True, slots=True)
class Parameter(Expr):
    """A parameter of a lambda; ``mark`` is what stands before its name."""

    name: str
    default: Expr | None = None
    mark: str = ""  # "" | "*" | "**" | "keyword"

    @property
    def parts(self) -> tuple[Expr, ...]:
        return () if self.default is None else (self.default,)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Parameter(self.name, parts[0] if parts else None, self.mark, span=self.span)


@dataclass(frozen=True, slots=True)
class Lambda(Expr):
    """``lambda parameters: body``"""

    parameters: tuple[Parameter, ...]
    body: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (*self.parameters, self.body)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        parameters = tuple([p for p in parts[:-1] if isinstance(p, Parameter)])
        return Lambda(parameters, parts[-1], span=self.span)


@dataclass(frozen=True, slots=True)
class Assigned(Expr):
    """``(name := value)``, which generated text has and declarations may not have."""

    name: str
    value: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        return Assigned(self.name, parts[0], span=self.span)


@dataclass(frozen=True, slots=True)
class Foreign(Expr):
    """What Python has and the declaration language has not: its kind, for the error."""

    kind: str


#: Python's operators by their symbols; "-x" and its like have one operand.
BINARY = ("+", "-", "*", "/", "**", "%", "//", "@", "&", "|", "^", "<<", ">>")
UNARY = ("-x", "+x", "~x", "not x")
#: Those that arrays have too, which compare each element.
ELEMENTWISE_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
COMPARISONS = (*ELEMENTWISE_COMPARISONS, "in", "not in", "is", "is not")


def dotted(text: str) -> Expr:
    """A name, or an attribute of one: ``F.exp``."""
    name, *attributes = text.split(".")
    expr: Expr = Name(name)
    for attribute in attributes:
        expr = Attribute(expr, attribute)
    return expr


def constant(value: Any) -> Expr:
    """A number, a string, None, or a tuple or list of such, as an expression."""
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return Elements(kind, tuple([constant(v) for v in value]))
    if isinstance(value, int | float) and value < 0:
        return Operation("-x", (Constant(-value),))
    return Constant(value)


def any_of(tests: Sequence[Expr]) -> Expr:
    """``a or b``, of one test the test itself."""
    return _joined("or", tests)


def all_of(tests: Sequence[Expr]) -> Expr:
    """``a and b``, of one test the test itself."""
    return _joined("and", tests)


def _joined(symbol: str, tests: Sequence[Expr]) -> Expr:
    found: list[Expr] = []
    for test in tests:
        found += test.operands if isinstance(test, Logical) and test.symbol == symbol else [test]
    return found[0] if len(found) == 1 else Logical(symbol, tuple(found))


def dictionary(values: Mapping[Any, Expr], rest: Expr | None = None) -> Dictionary:
    """A dictionary that is written out, of values by plain keys; ``**rest`` comes last."""
    return Dictionary(tuple(map(constant, values)), tuple(values.values()), rest)


# -- walking and rewriting -----------------------------------------------------------------------


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all that it is made of, in the order in which they are written."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.parts)


def mapped(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with its parts changed; itself where they stay what they are."""
    parts = expr.parts
    if not parts:
        return expr
    made = [change(part) for part in parts]
    return expr if all(map(_is, made, parts)) else expr.with_parts(made)


def _is(a: Expr, b: Expr) -> bool:
    return a is b


def rewritten(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with ``change`` done to each part, the innermost first, and to itself."""
    return change(mapped(expr, lambda part: rewritten(part, change)))


def replaced(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with values in the places of names; not of those that it binds itself."""
    if isinstance(expr, Name):
        return values.get(expr.id, expr)
    if isinstance(expr, Comprehension | Clause | Lambda) and not (bound := bound_by(expr)).isdisjoint(values):
        values = {name: value for name, value in values.items() if name not in bound}
    return mapped(expr, lambda part: replaced(part, values)) if values else expr


# -- names ---------------------------------------------------------------------------------------


def replaced_calls(expr: Expr, function: Expr, other: Expr) -> Expr:
    """The expression with another function called in the place of one."""

    def replacing(part: Expr) -> Expr:
        return replace(part, function=other) if isinstance(part, Call) and part.function == function else part

    return rewritten(expr, replacing)


def names_in(expr: Expr) -> frozenset[str]:
    """All names that stand in an expression, those that it binds itself included."""
    return frozenset([node.id for node in walk(expr) if isinstance(node, Name)])


def binders(expr: Expr) -> list[tuple[str, Expr]]:
    """The names that a comprehension, one of its clauses or a lambda binds, each with what stands for it."""
    match expr:
        case Lambda(parameters):
            return [(p.name, p) for p in parameters]
        case Comprehension(_, _, clauses):
            return [found for clause in clauses for found in binders(clause)]
        case Clause(target):
            return [(n.id, n) for n in walk(target) if isinstance(n, Name)]
    return []


def bound_by(expr: Expr) -> frozenset[str]:
    """The names that a comprehension, one of its clauses or a lambda binds."""
    return frozenset([name for name, _ in binders(expr)])


def scoped_parts(expr: Expr, bound: frozenset[str]) -> Iterator[tuple[Expr, frozenset[str]]]:
    """The parts that are computed, each with the names that are bound there; ``bound`` are those around."""
    if isinstance(expr, Comprehension):
        for clause in expr.clauses:
            yield clause.iterable, bound
            bound = bound | bound_by(clause)
            for condition in clause.conditions:
                yield condition, bound
        yield expr.element, bound
    elif isinstance(expr, Lambda):
        yield expr.body, bound | bound_by(expr)
        for parameter in expr.parameters:
            if parameter.default is not None:
                yield parameter.default, bound
    else:
        for part in expr.parts:
            yield part, bound


def free_names(expr: Expr) -> Iterator[Name]:
    """The names of an expression that no comprehension or lambda in it binds."""
    waiting = [(expr, frozenset[str]())]
    while waiting:
        node, bound = waiting.pop()
        if isinstance(node, Name):
            if node.id not in bound:
                yield node
        else:
            waiting += scoped_parts(node, bound)


def count_names(exprs: Iterable[Expr]) -> dict[str, int]:
    """How often each name stands in the expressions."""
    counts: dict[str, int] = {}
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Name):
                counts[node.id] = counts.get(node.id, 0) + 1
    return counts
