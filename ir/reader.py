"""Python text to syntax: expressions of declarations as IR, modules of the runtime as Python's own trees."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from .expressions import (
    Assigned,
    Attribute,
    Call,
    Chain,
    Clause,
    Comprehension,
    Conditional,
    Constant,
    Dictionary,
    Elements,
    Expr,
    Foreign,
    Keyword,
    Lambda,
    Logical,
    Name,
    Operation,
    Parameter,
    Slice,
    Span,
    Starred,
    Subscript,
    replaced,
)

#: The expressions that may stand in each other; those of tengen go to about ten.
MAX_DEPTH = 64
_BETWEEN = re.compile(r"\W")

SYMBOLS: Mapping[type[ast.operator | ast.unaryop | ast.cmpop], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.Mod: "%",
    ast.FloorDiv: "//",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.USub: "-x",
    ast.UAdd: "+x",
    ast.Invert: "~x",
    ast.Not: "not x",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}


@functools.cache
def read_expression(text: str) -> Expr:
    """The expression that a text writes. Raises SyntaxError, also where it is nested too deeply."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError, ValueError):  # of ValueError: a character that no source can have
        tree = None
    # Of most texts it need not be looked for: but for the innermost, and its context, each level has a
    # character that is of no word.
    if tree is None or (len(_BETWEEN.findall(text)) + 2 >= MAX_DEPTH and _too_deep(tree)):
        raise SyntaxError(f"it is nested too deeply, more than {MAX_DEPTH} expressions in each other")
    return _Reader(text).read(tree)


def filled(text: str, /, **values: Expr) -> Expr:
    """The expression that a text writes, with values in the places of names."""
    return replaced(read_expression(text), values)


def read_module(text: str) -> ast.Module:
    """The tree of a module's text. Raises SyntaxError."""
    return ast.parse(text)


def read_assignments(text: str) -> tuple[tuple[Expr, Expr], ...]:
    """The targets and the values of the assignments that a text is made of, in their order.

    What is none of ``name = value`` and ``name[index] = value`` has its kind as target.
    Raises SyntaxError, as ``read_expression``.
    """
    try:
        statements = ast.parse(text).body
    except (RecursionError, MemoryError, ValueError):
        statements = None
    if statements is None or any(map(_too_deep, statements)):
        raise SyntaxError(f"it is nested too deeply, more than {MAX_DEPTH} expressions in each other")
    reader = _Reader(text)
    return tuple(map(reader.assignment, statements))


def read_value(text: str) -> Any:
    """The value of a literal: a number, also ``inf`` and ``nan``, a string, or tuples and lists of such.

    Raises ValueError, and SyntaxError for what is no expression.
    """
    return value_of(read_expression(text))


def value_of(expr: Expr) -> Any:
    """The value of an expression that is a literal. Raises ValueError for another."""
    match expr:
        case Constant(value):
            return value
        case Name("inf" | "nan" as name):
            return float(name)
        case Operation("-x" | "+x" as symbol, (operand,)):
            value = value_of(operand)
            if isinstance(value, int | float | complex):
                return -value if symbol == "-x" else +value
        case Operation("+" | "-" as symbol, (left, right)):
            a, b = value_of(left), value_of(right)
            if isinstance(a, int | float) and isinstance(b, complex):
                return a + b if symbol == "+" else a - b
        case Elements(kind, elements):
            return (tuple if kind == "tuple" else list)(map(value_of, elements))
    raise ValueError("it is no literal")


def _too_deep(tree: ast.AST) -> bool:
    """Whether more expressions stand in each other than the stages, which call themselves, are made for."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


class _Reader:
    """Reads the nodes of one text. ``ast`` counts bytes of UTF-8; spans count characters."""

    def __init__(self, text: str) -> None:
        self.bytes = None if text.isascii() and "\n" not in text else text.encode()
        self.lines = [0]
        for line in (self.bytes or b"").split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)

    def read(self, node: Any) -> Expr:
        """The expression of a node."""
        reader = _READERS.get(type(node))
        return Foreign(type(node).__name__, span=self.span(node)) if reader is None else reader(self, node)

    def all(self, nodes: list[Any]) -> tuple[Expr, ...]:
        return tuple([self.read(node) for node in nodes])

    def span(self, node: Any) -> Span:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def offset(self, line: int, column: int) -> int:
        if self.bytes is None:
            return column
        return len(self.bytes[: self.lines[line - 1] + column].decode())

    def assignment(self, node: ast.stmt) -> tuple[Expr, Expr]:
        match node:
            case ast.Assign([ast.Name() | ast.Subscript() | ast.Tuple() as target], value):
                return self.read(target), self.read(value)
        none = Foreign(type(node).__name__, span=self.span(node))
        return none, none

    # -- one for each kind of node -----------------------------------------------------------------

    def constant(self, node: ast.Constant) -> Expr:
        return Constant(node.value, span=self.span(node))

    def name(self, node: ast.Name) -> Expr:
        return Name(node.id, span=self.span(node))

    def binary(self, node: ast.BinOp) -> Expr:
        operands = (self.read(node.left), self.read(node.right))
        return Operation(SYMBOLS[type(node.op)], operands, span=self.span(node))

    def unary(self, node: ast.UnaryOp) -> Expr:
        return Operation(SYMBOLS[type(node.op)], (self.read(node.operand),), span=self.span(node))

    def compare(self, node: ast.Compare) -> Expr:
        symbols = tuple([SYMBOLS[type(op)] for op in node.ops])
        operands = self.all([node.left, *node.comparators])
        if len(symbols) == 1:
            return Operation(symbols[0], operands, span=self.span(node))
        return Chain(symbols, operands, span=self.span(node))

    def logical(self, node: ast.BoolOp) -> Expr:
        symbol = "and" if isinstance(node.op, ast.And) else "or"
        return Logical(symbol, self.all(node.values), span=self.span(node))

    def conditional(self, node: ast.IfExp) -> Expr:
        return Conditional(*self.all([node.test, node.body, node.orelse]), span=self.span(node))

    def call(self, node: ast.Call) -> Expr:
        keywords = tuple([Keyword(k.arg, self.read(k.value), span=self.span(k)) for k in node.keywords])
        return Call(self.read(node.func), self.all(node.args), keywords, span=self.span(node))

    def attribute(self, node: ast.Attribute) -> Expr:
        return Attribute(self.read(node.value), node.attr, span=self.span(node))

    def subscript(self, node: ast.Subscript) -> Expr:
        return Subscript(self.read(node.value), self.read(node.slice), span=self.span(node))

    def slice_(self, node: ast.Slice) -> Expr:
        parts = [None if p is None else self.read(p) for p in (node.lower, node.upper, node.step)]
        return Slice(*parts, span=self.span(node))

    def tuple_(self, node: ast.Tuple) -> Expr:
        return Elements("tuple", self.all(node.elts), span=self.span(node))

    def list_(self, node: ast.List) -> Expr:
        return Elements("list", self.all(node.elts), span=self.span(node))

    def dictionary(self, node: ast.Dict) -> Expr:
        if None in node.keys:
            return Foreign("Dict", span=self.span(node))
        return Dictionary(self.all(list(node.keys)), self.all(node.values), span=self.span(node))

    def starred(self, node: ast.Starred) -> Expr:
        return Starred(self.read(node.value), span=self.span(node))

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Expr:
        clauses = tuple([
            Clause(self.read(g.target), self.read(g.iter), self.all(g.ifs), span=self.span(g.target))
            for g in node.generators
        ])  # fmt: skip
        kind = "list" if isinstance(node, ast.ListComp) else "generator"
        return Comprehension(kind, self.read(node.elt), clauses, span=self.span(node))

    def lambda_(self, node: ast.Lambda) -> Expr:
        return Lambda(tuple(self.parameters(node.args)), self.read(node.body), span=self.span(node))

    def parameters(self, given: ast.arguments) -> list[Parameter]:
        """The parameters of a lambda, without ``/``, which changes nothing for a call by position."""
        plain = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
        found = [self.parameter(a, d, "") for a, d in zip(plain, defaults, strict=True)]
        found += [self.parameter(given.vararg, None, "*")] if given.vararg else []
        named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        found += [self.parameter(a, d, "keyword") for a, d in named]
        return found + ([self.parameter(given.kwarg, None, "**")] if given.kwarg else [])

    def parameter(self, given: ast.arg, default: ast.expr | None, mark: str) -> Parameter:
        return Parameter(
            given.arg, None if default is None else self.read(default), mark, span=self.span(given)
        )

    def assigned(self, node: ast.NamedExpr) -> Expr:
        return Assigned(node.target.id, self.read(node.value), span=self.span(node))


_READERS: Mapping[type[ast.AST], Callable[[_Reader, Any], Expr]] = {
    ast.Constant: _Reader.constant,
    ast.Name: _Reader.name,
    ast.BinOp: _Reader.binary,
    ast.UnaryOp: _Reader.unary,
    ast.Compare: _Reader.compare,
    ast.BoolOp: _Reader.logical,
    ast.IfExp: _Reader.conditional,
    ast.Call: _Reader.call,
    ast.Attribute: _Reader.attribute,
    ast.Subscript: _Reader.subscript,
    ast.Slice: _Reader.slice_,
    ast.Tuple: _Reader.tuple_,
    ast.List: _Reader.list_,
    ast.Dict: _Reader.dictionary,
    ast.Starred: _Reader.starred,
    ast.ListComp: _Reader.comprehension,
    ast.GeneratorExp: _Reader.comprehension,
    ast.Lambda: _Reader.lambda_,
    ast.NamedExpr: _Reader.assigned,
}
