"""The IR of statements: what generated functions do, as values; and their text.

A method is made of such as a formula is of expressions, and text is written of them once. There is no more
than generated code has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .expressions import Attribute, Call, Conditional, Constant, Elements, Expr, Name, Operation, all_of
from .writer import write


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: the base of what follows."""


Block = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """``target = value``; of several targets ``a = b = value``; a tuple is unpacked: ``a, b = value``."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Update(Statement):
    """``target += value``, of this symbol."""

    target: Expr
    symbol: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Do(Statement):
    """An expression that is computed for what it does: a call."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """``return value``"""

    value: Expr


@dataclass(frozen=True, slots=True)
class Raise(Statement):
    """``raise value``; ``alone`` is without the error that was being handled: ``from None``."""

    value: Expr
    alone: bool = False


@dataclass(frozen=True, slots=True)
class If(Statement):
    """``if condition: ... else: ...``"""

    condition: Expr
    then: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True)
class For(Statement):
    """``for target in iterable: ...``"""

    target: Expr
    iterable: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class Try(Statement):
    """``try: ... except Exception as error: ... else: ...``; without statements errors are passed over."""

    body: Block
    failed: Block = ()
    otherwise: Block = ()
    error: str = ""  # the name of what was raised, where that is looked at


# -- what is written often -------------------------------------------------------------------------


def let(name: str, value: Expr) -> Assign:
    """``name = value``"""
    return Assign((Name(name),), value)


def let_all(several: str, value: Expr) -> Assign:
    """``a, b = value``, of names as they are written; or ``a = value``."""
    found = names(several.split(", "))
    return Assign((found[0] if len(found) == 1 else tuple_of(found),), value)


def set_slot(owner: str, slot: str, value: Expr) -> Assign:
    """``owner.slot = value``"""
    return Assign((Attribute(Name(owner), slot),), value)


def return_if(tests: Sequence[Expr], value: Expr) -> Statement:
    """``if tests: return value``; where there are none, ``return value``."""
    returned = Return(value)
    return If(all_of(tests), (returned,)) if tests else returned


def call(function: str, *arguments: Expr) -> Call:
    """The call of a function of this name."""
    return Call(Name(function), arguments)


def names(of: Iterable[str]) -> tuple[Expr, ...]:
    """Names as expressions."""
    return tuple([Name(name) for name in of])


def tuple_of(exprs: Iterable[Expr]) -> Elements:
    """A tuple that is written out."""
    return Elements("tuple", tuple(exprs))


NONE, TRUE, FALSE = Constant(None), Constant(True), Constant(False)


def is_none(expr: Expr) -> Expr:
    """``expr is None``"""
    return Operation("is", (expr, NONE))


def is_there(expr: Expr) -> Expr:
    """``expr is not None``"""
    return Operation("is not", (expr, NONE))


def unless_none(expr: Expr, value: Expr) -> Expr:
    """``None if expr is None else value``"""
    return Conditional(is_none(expr), NONE, value)


# -- their text ------------------------------------------------------------------------------------


def lines(statements: Iterable[Statement]) -> Iterator[str]:
    """The lines of a text that does this."""
    for statement in statements:
        yield from _WRITERS[type(statement)](statement)


def _indented(block: Block) -> Iterator[str]:
    yield from (f"    {line}" for line in lines(block))
    if not block:
        yield "    pass"


def _target(expr: Expr) -> str:
    """A target; a tuple is without parentheses."""
    match expr:
        case Elements("tuple", (_, _, *_) as parts):
            return ", ".join(map(write, parts))
    return write(expr)


def _if(statement: If, word: str = "if") -> Iterator[str]:
    yield f"{word} {write(statement.condition)}:"
    yield from _indented(statement.then)
    match statement.otherwise:
        case (If() as other,):
            yield from _if(other, "elif")
        case (_, *_):
            yield "else:"
            yield from _indented(statement.otherwise)


def _for(statement: For) -> Iterator[str]:
    yield f"for {_target(statement.target)} in {write(statement.iterable)}:"
    yield from _indented(statement.body)


def _try(statement: Try) -> Iterator[str]:
    yield "try:"
    yield from _indented(statement.body)
    yield f"except Exception{f' as {statement.error}' if statement.error else ''}:"
    yield from _indented(statement.failed)
    if statement.otherwise:
        yield "else:"
        yield from _indented(statement.otherwise)


_WRITERS: Mapping[type[Statement], Callable[[Any], Iterator[str]]] = {
    Assign: lambda s: iter([" = ".join([*map(_target, s.targets), write(s.value)])]),
    Update: lambda s: iter([f"{write(s.target)} {s.symbol}= {write(s.value)}"]),
    Do: lambda s: iter([write(s.value)]),
    Return: lambda s: iter([f"return {write(s.value)}"]),
    Raise: lambda s: iter([f"raise {write(s.value)}{' from None' if s.alone else ''}"]),
    If: _if,
    For: _for,
    Try: _try,
}
