"""The IR as Python text."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from .expressions import (
    BINARY,
    UNARY,
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
    Keyword,
    Lambda,
    Logical,
    Name,
    Operation,
    Parameter,
    Slice,
    Starred,
    Subscript,
)
from .reader import SYMBOLS

_OPERATORS: Mapping[str, Any] = {symbol: kind for kind, symbol in SYMBOLS.items()}


def write(expr: Expr) -> str:
    """The text of an expression, with no more parentheses than it needs."""
    return ast.unparse(_tree(expr))


def _tree(expr: Expr) -> Any:
    return _WRITERS[type(expr)](expr)


def _optional(expr: Expr | None) -> Any:
    return None if expr is None else _tree(expr)


def _constant(expr: Constant) -> ast.expr:
    return ast.Constant(expr.value)


def _operation(expr: Operation) -> ast.expr:
    operator = _OPERATORS[expr.symbol]()
    operands = [_tree(o) for o in expr.operands]
    if expr.symbol in UNARY:
        return ast.UnaryOp(operator, operands[0])
    if expr.symbol in BINARY:
        return ast.BinOp(operands[0], operator, operands[1])
    return ast.Compare(operands[0], [operator], operands[1:])


def _chain(expr: Chain) -> ast.expr:
    first, *rest = [_tree(o) for o in expr.operands]
    return ast.Compare(first, [_OPERATORS[symbol]() for symbol in expr.symbols], rest)


def _logical(expr: Logical) -> ast.expr:
    return ast.BoolOp(ast.And() if expr.symbol == "and" else ast.Or(), [_tree(o) for o in expr.operands])


def _call(expr: Call) -> ast.expr:
    arguments, keywords = [_tree(a) for a in expr.arguments], [_tree(k) for k in expr.keywords]
    return ast.Call(_tree(expr.function), arguments, keywords)


def _elements(expr: Elements) -> ast.expr:
    elements = [_tree(e) for e in expr.elements]
    return ast.Tuple(elements, ast.Load()) if expr.kind == "tuple" else ast.List(elements, ast.Load())


def _comprehension(expr: Comprehension) -> ast.expr:
    clauses = [_tree(c) for c in expr.clauses]
    kind = ast.ListComp if expr.kind == "list" else ast.GeneratorExp
    return kind(_tree(expr.element), clauses)


def _clause(expr: Clause) -> ast.comprehension:
    return ast.comprehension(
        _tree(expr.target), _tree(expr.iterable), [_tree(c) for c in expr.conditions], is_async=0
    )


def _lambda(expr: Lambda) -> ast.expr:
    by_mark: dict[str, list[Parameter]] = {"": [], "*": [], "keyword": [], "**": []}
    for parameter in expr.parameters:
        by_mark[parameter.mark].append(parameter)
    starred, starred_twice = (next((ast.arg(p.name) for p in by_mark[mark]), None) for mark in ("*", "**"))
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(p.name) for p in by_mark[""]],
        vararg=starred,
        kwonlyargs=[ast.arg(p.name) for p in by_mark["keyword"]],
        kw_defaults=[_optional(p.default) for p in by_mark["keyword"]],
        kwarg=starred_twice,
        defaults=[_tree(p.default) for p in by_mark[""] if p.default is not None],
    )
    return ast.Lambda(arguments, _tree(expr.body))


_WRITERS: Mapping[type[Expr], Callable[[Any], Any]] = {
    Constant: _constant,
    Name: lambda e: ast.Name(e.id, ast.Load()),
    Operation: _operation,
    Chain: _chain,
    Logical: _logical,
    Conditional: lambda e: ast.IfExp(_tree(e.condition), _tree(e.then), _tree(e.otherwise)),
    Keyword: lambda e: ast.keyword(e.name, _tree(e.value)),
    Call: _call,
    Attribute: lambda e: ast.Attribute(_tree(e.value), e.name, ast.Load()),
    Subscript: lambda e: ast.Subscript(_tree(e.value), _tree(e.index), ast.Load()),
    Slice: lambda e: ast.Slice(_optional(e.start), _optional(e.stop), _optional(e.step)),
    Elements: _elements,
    Dictionary: lambda e: ast.Dict([_tree(k) for k in e.keys], [_tree(v) for v in e.values]),
    Starred: lambda e: ast.Starred(_tree(e.value), ast.Load()),
    Clause: _clause,
    Comprehension: _comprehension,
    Lambda: _lambda,
    Assigned: lambda e: ast.NamedExpr(ast.Name(e.name, ast.Store()), _tree(e.value)),
}
