"""Optimise: expressions over arrays, with the same values.

An expression is a tree of Python's in which some names are arrays. ``shared`` gives names to what would be
computed more than once. ``scratched`` makes the body of a function which asks for no memory: it is given
arrays for the result and for what is computed on the way.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .model import Primitive
from .ufuncs import Ufuncs, is_power

#: What functions call the array that they write their result into.
OUT = "out"
#: A name, and the expression that it stands for.
Named = tuple[str, ast.expr]


def operands(tree: ast.AST) -> list[ast.expr]:
    """The expressions that a tree is made of, in the order in which they are computed."""
    return [n for n in ast.iter_child_nodes(tree) if isinstance(n, ast.expr)]


def has_array(tree: ast.AST, arrays: Collection[str]) -> bool:
    """Whether an array takes part."""
    return any([isinstance(n, ast.Name) and n.id in arrays for n in ast.walk(tree)])


def inlined(statements: Iterable[Named], tree: ast.expr) -> ast.expr:
    """The tree with its names replaced by what they stand for."""
    known: dict[str, ast.expr] = {}
    for name, value in statements:
        known[name] = _Replacing(known).visit(_copy(value))
    found: ast.expr = _Replacing(known).visit(_copy(tree))
    return found


def shared(
    trees: Sequence[ast.expr], arrays: Collection[str], prefix: str = "t"
) -> tuple[list[Named], list[ast.expr]]:
    """Names for the computations over arrays that the trees have in common, and the trees that use them.

    A choice between two ways stays whole: what only one of them computes may not be there for the other.
    """
    counts = Counter(ast.dump(n) for tree in trees for n in _computations(tree, arrays))
    sharing = _Sharing({key for key, count in counts.items() if count > 1}, prefix)
    values: list[ast.expr] = [sharing.visit(_copy(tree)) for tree in trees]  # type: ignore[misc]
    named = sharing.named
    while True:  # what is only a part of something else that is shared needs no name
        uses = Counter(n.id for _, v in named for n in ast.walk(v) if isinstance(n, ast.Name))
        uses.update(n.id for v in values for n in ast.walk(v) if isinstance(n, ast.Name))
        single = {name: value for name, value in named if uses[name] == 1}
        if not single:
            return _numbered(named, values, prefix)
        name, value = next(iter(single.items()))
        replacing = _Replacing({name: value})
        named = [(n, replacing.visit(v)) for n, v in named if n != name]
        values = [replacing.visit(v) for v in values]


def _numbered(
    named: Sequence[Named], values: Sequence[ast.expr], prefix: str
) -> tuple[list[Named], list[ast.expr]]:
    names = {name: ast.Name(f"{prefix}{i}") for i, (name, _) in enumerate(named)}
    replacing = _Replacing(names)
    return [(names[n].id, replacing.visit(v)) for n, v in named], [replacing.visit(v) for v in values]


def _computations(tree: ast.expr, arrays: Collection[str]) -> Iterator[ast.expr]:
    """What is computed of arrays, whichever ways are taken."""
    if isinstance(tree, ast.IfExp | ast.BoolOp):
        return
    if isinstance(tree, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call) and has_array(tree, arrays):
        yield tree
    for part in operands(tree):
        yield from _computations(part, arrays)


class _Replacing(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _copy(self.values[node.id]) if node.id in self.values else node


class _Sharing(ast.NodeTransformer):
    def __init__(self, again: Collection[str], prefix: str) -> None:
        self.again, self.prefix = again, prefix
        self.names: dict[str, str] = {}
        self.named: list[Named] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.IfExp | ast.BoolOp):
            return node
        key = ast.dump(node)
        if key not in self.again:
            return self.generic_visit(node)
        if key not in self.names:
            value = self.generic_visit(node)
            assert isinstance(value, ast.expr)
            self.names[key] = f"{self.prefix}_{len(self.names)}"
            self.named.append((self.names[key], value))
        return ast.Name(self.names[key])


def _copy(tree: ast.expr) -> ast.expr:
    made: ast.expr = _copied(tree)
    return made


def _copied(value: Any) -> Any:
    """Much quicker than ``copy.deepcopy``, which asks every object how it is copied."""
    if isinstance(value, list):
        return [_copied(v) for v in value]
    if not isinstance(value, ast.AST):
        return value
    return value.__class__(**{name: _copied(part) for name, part in ast.iter_fields(value)})


# -- memory that is given --------------------------------------------------------------------


def scratched(
    tree: ast.expr, arrays: Collection[str], primitives: Mapping[str, Primitive]
) -> tuple[ast.expr, list[str]]:
    """The tree computed into the array ``out``, with the names of the scratch arrays that it needs besides.

    Where these, or ``out``, are None it computes the same in new arrays. ``out`` is written last, by one
    elementwise function, so that it may be the memory of an operand.
    """
    allocation = _Allocation(arrays, primitives)
    if isinstance(tree, ast.IfExp):
        ways = [allocation.result(way) for way in (tree.body, tree.orelse)]
        return ast.IfExp(tree.test, *ways), allocation.made
    return allocation.result(tree), allocation.made


class _Allocation:
    """Gives every value on the way to a result a scratch array, for as long as it is needed."""

    def __init__(self, arrays: Collection[str], primitives: Mapping[str, Primitive]) -> None:
        self.arrays, self.ufuncs = frozenset(arrays), Ufuncs(primitives)
        self.made: list[str] = []
        self.free: list[str] = []
        self.named: dict[str, ast.expr] = {}  # what is shared, until it is computed
        self.known: frozenset[str] = frozenset()

    def result(self, tree: ast.expr) -> ast.expr:
        """The whole expression."""
        self.free = list(self.made)
        named, (value,) = shared([tree], self.arrays)
        self.named = dict(named)
        self.known = self.arrays | {name for name, _ in named}
        return self.place(value, OUT)[0]

    def place(self, tree: ast.expr, target: str | None = None) -> tuple[ast.expr, str | None]:
        """An expression, and the scratch array with its value that is free when the value has been used."""
        if isinstance(tree, ast.Name) and tree.id in self.named:
            value, _ = self.place(self.named.pop(tree.id), target)
            return ast.NamedExpr(ast.Name(tree.id), value), None
        if isinstance(tree, ast.Name | ast.IfExp) or not has_array(tree, self.known):
            return tree, None
        name, parts = self.function(tree)
        placed = [self.place(part) for part in parts]
        held = list(dict.fromkeys(place for _, place in placed if place is not None))
        if not name:
            self.free += held
            return _with_operands(tree, [part for part, _ in placed]), None
        if target is None:
            target = held.pop() if held else self.take()
        self.free += held
        out = ast.keyword("out", ast.Name(target))
        return ast.Call(ast.Attribute(ast.Name("xp"), name), [part for part, _ in placed], [out]), target

    def take(self) -> str:
        """A scratch array that is free."""
        if not self.free:
            self.made.append(f"s{len(self.made)}")
            return self.made[-1]
        return self.free.pop()

    def function(self, tree: ast.expr) -> tuple[str, list[ast.expr]]:
        """The function of the array namespace that can write what a tree computes, or "", and its operands.

        Of a power by Python's operator special exponents are computed in other ways than by the function.
        """
        found = None if is_power(tree) else self.ufuncs.last(tree)
        if found is None:
            return "", _given(tree) if isinstance(tree, ast.Call) else operands(tree)
        primitive, parts = found
        return (primitive.name if _gives_numbers(primitive) else ""), parts


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *[k.value for k in call.keywords]]


def _gives_numbers(primitive: Primitive) -> bool:
    """Whether a function can write into an array of its operands' dtype."""
    return primitive.out and any([d is not None for d in primitive.derivative or ()])


def _with_operands(tree: ast.expr, parts: list[ast.expr]) -> ast.expr:
    """The same computation of other operands."""
    match tree:
        case ast.Call(function, arguments, keywords):
            rest = parts[len(arguments) :]
            given = [ast.keyword(k.arg, v) for k, v in zip(keywords, rest, strict=True)]
            return ast.Call(function, parts[: len(arguments)], given)
        case ast.Compare(_, ops, _):
            return ast.Compare(parts[0], ops, parts[1:])
        case ast.BinOp(_, op, _):
            return ast.BinOp(parts[0], op, parts[1])
        case ast.UnaryOp(op, _):
            return ast.UnaryOp(op, parts[0])
        case ast.Attribute(_, attribute):
            return ast.Attribute(parts[0], attribute)
        case ast.Subscript(_, index):
            return ast.Subscript(parts[0], index)
    return tree
