"""The IR as Python text, as ``ast.unparse`` of Python 3.11 writes it, in a fifth of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .expressions import (
    COMPARISONS,
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

# How tightly an expression binds: one that binds less than the place where it stands asks is in parentheses.
_ASSIGNED, _TEST, _OR, _AND, _NOT, _COMPARISON, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _TERM = range(12)
_FACTOR, _POWER, _ATOM = 12, 13, 15

_BINDING: Mapping[str, int] = {
    **dict.fromkeys(COMPARISONS, _COMPARISON),
    **{"|": _BIT_OR, "^": _BIT_XOR, "&": _BIT_AND, "<<": _SHIFT, ">>": _SHIFT, "+": _SUM, "-": _SUM},
    **dict.fromkeys(("*", "/", "//", "%", "@"), _TERM),
    "**": _POWER,
}
_PREFIXES = {symbol: (symbol[:-1], _NOT if symbol == "not x" else _FACTOR) for symbol in UNARY}
_INFINITY = "1e309"  # a literal that is one


def write(expr: Expr) -> str:
    """The text of an expression, with no more parentheses than it needs."""
    return _text(expr, _TEST)


def _text(expr: Expr, level: int) -> str:
    """The text of an expression that stands where ``level`` is asked for."""
    return _WRITERS[type(expr)](expr, level)


def _within(text: str, own: int, level: int) -> str:
    return f"({text})" if level > own else text


def _listed(exprs: Iterable[Expr]) -> str:
    return ", ".join([_text(e, _TEST) for e in exprs])


def _optional(expr: Expr | None) -> str:
    return "" if expr is None else _text(expr, _TEST)


def _constant(expr: Constant, level: int) -> str:
    value = expr.value
    if value is Ellipsis:
        return "..."
    if isinstance(value, float | complex):
        return expr.text.replace("inf", _INFINITY).replace("nan", f"({_INFINITY}-{_INFINITY})")
    return expr.text


def _operation(expr: Operation, level: int) -> str:
    symbol, operands = expr.symbol, expr.operands
    if symbol in _PREFIXES:
        prefix, own = _PREFIXES[symbol]
        return _within(prefix + _text(operands[0], own), own, level)
    own = _BINDING[symbol]
    left, right = own, own + 1
    if own == _COMPARISON:
        left = right
    elif own == _POWER:
        left, right = right, left
    return _within(f"{_text(operands[0], left)} {symbol} {_text(operands[1], right)}", own, level)


def _chain(expr: Chain, level: int) -> str:
    first, *rest = [_text(o, _COMPARISON + 1) for o in expr.operands]
    compared = [f" {symbol} {text}" for symbol, text in zip(expr.symbols, rest, strict=True)]
    return _within("".join([first, *compared]), _COMPARISON, level)


def _logical(expr: Logical, level: int) -> str:
    own = _OR if expr.symbol == "or" else _AND
    operands = [_text(o, min(own + n, _ATOM)) for n, o in enumerate(expr.operands, 1)]
    return _within(f" {expr.symbol} ".join(operands), own, level)


def _conditional(expr: Conditional, level: int) -> str:
    then, condition, otherwise = (
        _text(expr.then, _OR),
        _text(expr.condition, _OR),
        _text(expr.otherwise, _TEST),
    )
    return _within(f"{then} if {condition} else {otherwise}", _TEST, level)


def _keyword(expr: Keyword, level: int) -> str:
    return f"{'**' if expr.name is None else f'{expr.name}='}{_text(expr.value, _TEST)}"


def _attribute(expr: Attribute, level: int) -> str:
    of_int = isinstance(expr.value, Constant) and isinstance(expr.value.value, int)  # 1.real is no Python
    return f"{_text(expr.value, _ATOM)}{' ' if of_int else ''}.{expr.name}"


def _subscript(expr: Subscript, level: int) -> str:
    match expr.index:
        case Elements("tuple", (_, *_) as elements):
            index = _items(elements)
        case index_expr:
            index = _text(index_expr, _TEST)
    return f"{_text(expr.value, _ATOM)}[{index}]"


def _slice(expr: Slice, level: int) -> str:
    step = "" if expr.step is None else f":{_optional(expr.step)}"
    return f"{_optional(expr.start)}:{_optional(expr.stop)}{step}"


def _items(elements: tuple[Expr, ...]) -> str:
    """Those of a tuple."""
    return f"{_listed(elements)}{',' if len(elements) == 1 else ''}"


def _elements(expr: Elements, level: int) -> str:
    return f"({_items(expr.elements)})" if expr.kind == "tuple" else f"[{_listed(expr.elements)}]"


def _dictionary(expr: Dictionary, level: int) -> str:
    pairs = zip(expr.keys, expr.values, strict=True)
    texts = [f"{_text(k, _TEST)}: {_text(v, _TEST)}" for k, v in pairs]
    texts += [] if expr.rest is None else [f"**{_text(expr.rest, _BIT_OR)}"]
    return f"{{{', '.join(texts)}}}"


def _clause(expr: Clause, level: int) -> str:
    conditions = "".join([f" if {_text(c, _OR)}" for c in expr.conditions])
    return f" for {_text(expr.target, _TEST)} in {_text(expr.iterable, _OR)}{conditions}"


def _comprehension(expr: Comprehension, level: int) -> str:
    text = "".join([_text(e, _TEST) for e in (expr.element, *expr.clauses)])
    return f"[{text}]" if expr.kind == "list" else f"({text})"


def _parameter(expr: Parameter, level: int) -> str:
    mark = expr.mark if expr.mark != "keyword" else ""
    return f"{mark}{expr.name}{'' if expr.default is None else f'={_optional(expr.default)}'}"


def _lambda(expr: Lambda, level: int) -> str:
    marks = [p.mark for p in expr.parameters]
    texts = [_text(p, _TEST) for p in expr.parameters]
    if "keyword" in marks and "*" not in marks:
        texts.insert(marks.index("keyword"), "*")
    parameters = f" {', '.join(texts)}" if texts else ""
    return _within(f"lambda{parameters}: {_text(expr.body, _TEST)}", _TEST, level)


_WRITERS: Mapping[type[Expr], Callable[[Any, int], str]] = {
    Constant: _constant,
    Name: lambda e, level: e.id,
    Operation: _operation,
    Chain: _chain,
    Logical: _logical,
    Conditional: _conditional,
    Keyword: _keyword,
    Call: lambda e, level: f"{_text(e.function, _ATOM)}({_listed((*e.arguments, *e.keywords))})",
    Attribute: _attribute,
    Subscript: _subscript,
    Slice: _slice,
    Elements: _elements,
    Dictionary: _dictionary,
    Starred: lambda e, level: f"*{_text(e.value, _BIT_OR)}",
    Clause: _clause,
    Comprehension: _comprehension,
    Parameter: _parameter,
    Lambda: _lambda,
    Assigned: lambda e, level: _within(f"{e.name} := {_text(e.value, _ATOM)}", _ASSIGNED, level),
}
