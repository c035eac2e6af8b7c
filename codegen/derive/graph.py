"""Differentiate: expressions of pointwise operators as graphs in which equal parts are one.

A kernel's tree and a formula's tree are read into the same graph; its constructors simplify,
and it is written again as a tree of operators over Tensors.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...ir.expressions import (
    ELEMENTWISE_COMPARISONS,
    Attribute,
    Call,
    Conditional,
    Constant,
    Expr,
    Name,
    Operation,
    names_in,
    rewritten,
)
from ...ir.writer import write
from ..model.names import POLYNOMIAL
from ..model.operators import Formula, Primitive
from .ufuncs import Ufuncs

_COMPARE: tuple[Callable[[Any, Any], bool], ...] = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
_COMPARISONS = dict(zip(ELEMENTWISE_COMPARISONS, _COMPARE, strict=True))
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}


class Underivable(Exception):
    """The expression cannot be differentiated; the text says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One value of an expression. Equal nodes of a Graph are one object.

    ``kind`` is "number" (``value``), "name" (``value``; ``tensor`` says of what), "choice" (``a if
    condition else b``, about plain values: the condition's text in ``value``), "call" (of the function
    ``value``, a pointwise operator that has a derivative of its own), or a primitive's name.
    """

    kind: str
    parts: tuple[Node, ...] = ()
    value: Any = None
    tensor: bool = False

    @property
    def is_number(self) -> bool:
        return self.kind == "number"


@dataclass(frozen=True, slots=True)
class Known:
    """A pointwise operator of Tensors: its arguments, and the formulas of their gradients."""

    arguments: tuple[str, ...]
    gradients: Mapping[str, Formula]


class Graph:
    """Makes Nodes, each once, and simplifies as it does."""

    def __init__(
        self,
        primitives: Mapping[str, Primitive],
        numbers: Mapping[str, frozenset[int]],
        operators: Mapping[str, Known],
        real: bool,
    ) -> None:
        self.primitives = primitives
        #: Whether no number is complex.
        self.real = real
        #: By operator: the positions where it takes a Python number.
        self.numbers = numbers
        #: Pointwise operators that are no primitives, by function.
        self.operators = operators
        self.by_operator = {p.operator: p.name for p in primitives.values() if p.operator is not None}
        self.ufuncs = Ufuncs(primitives)
        self._made: dict[Any, Node] = {}
        self.zero, self.one = self.number(0), self.number(1)

    # -- leaves --------------------------------------------------------------------------

    def _node(self, kind: str, parts: tuple[Node, ...] = (), value: Any = None, tensor: bool = False) -> Node:
        key = (kind, tuple(map(id, parts)), type(value), value)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Node(kind, parts, value, tensor or any(p.tensor for p in parts))
        return found

    def number(self, value: Any) -> Node:
        """A Python number."""
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**31:
            value = int(value)
        return self._node("number", (), value)

    def name(self, name: str, tensor: bool) -> Node:
        """An argument, a result or a gradient."""
        return self._node("name", (), name, tensor)

    # -- primitives, simplified ------------------------------------------------------------

    def apply(self, name: str, *parts: Node) -> Node:
        """The primitive ``name`` of these operands."""
        rule: Callable[..., Node | None] | None = getattr(self, f"_{name}", None)
        found = rule(*parts) if rule is not None else self._compared(name, parts)
        return found if found is not None else self._node(name, parts)

    def add(self, a: Node, b: Node) -> Node:
        return self.apply("add", a, b)

    def multiply(self, a: Node, b: Node) -> Node:
        return self.apply("multiply", a, b)

    def _add(self, a: Node, b: Node) -> Node | None:
        if a.is_number and b.is_number:
            return self.number(a.value + b.value)
        if a is self.zero:
            return b
        if b is self.zero:
            return a
        if a is b:
            return self.multiply(self.number(2), a)
        if b.kind == "negative":
            return self.apply("subtract", a, b.parts[0])
        if a.kind == "negative":
            return self.apply("subtract", b, a.parts[0])
        if b.is_number and a.kind == "subtract" and a.parts[1].is_number:  # (x - 1) + 1
            return self.add(a.parts[0], self.number(b.value - a.parts[1].value))
        if a.is_number and b.kind == "subtract" and b.parts[1].is_number:
            return self.add(b, a)
        merged = self._merged("add", a, b)
        return self._node("add", (b, a)) if merged is None and a.is_number else merged

    def _subtract(self, a: Node, b: Node) -> Node | None:
        if a.is_number and b.is_number:
            return self.number(a.value - b.value)
        if b is self.zero:
            return a
        if a is self.zero:
            return self.apply("negative", b)
        if a is b:
            return self.zero
        return self.add(a, b.parts[0]) if b.kind == "negative" else self._merged("subtract", a, b)

    def _merged(self, name: str, a: Node, b: Node) -> Node | None:
        """Two choices by the same condition as one."""
        if a.kind == b.kind == "choice" and a.value == b.value:
            return self.choice(
                a.value, *[self.apply(name, *both) for both in zip(a.parts, b.parts, strict=True)]
            )
        if a.kind == b.kind == "where" and a.parts[0] is b.parts[0]:
            parts = [self.apply(name, *both) for both in zip(a.parts[1:], b.parts[1:], strict=True)]
            return self.apply("where", a.parts[0], *parts)
        return None

    def _negative(self, a: Node) -> Node | None:
        if a.is_number:
            return self.number(-a.value)
        if a.kind == "negative":
            return a.parts[0]
        if a.kind == "subtract":
            return self.apply("subtract", a.parts[1], a.parts[0])
        if a.kind in ("multiply", "divide") and a.parts[0].is_number:
            number, over, under = self._factors(a)
            return self._product(-number, over, under)
        return None

    def _positive(self, a: Node) -> Node:
        return a

    def _multiply(self, a: Node, b: Node) -> Node | None:
        for one, other in ((a, b), (b, a)):
            if self._selects(one):  # so that what is not chosen cannot make a NaN of a zero
                return self._chosen(one, partial(self.multiply, other))
        number, over, under = self._factors(a)
        more, over_too, under_too = self._factors(b)
        return self._product(number * more, over + over_too, under + under_too)

    def _divide(self, a: Node, b: Node) -> Node | None:
        if self._selects(a):
            return self._chosen(a, lambda part: self.apply("divide", part, b))
        if b is self.zero:
            return None
        number, over, under = self._factors(a)
        divisor, below, above = self._factors(b)
        return self._product(number / divisor, over + above, under + below)

    def _reciprocal(self, a: Node) -> Node | None:
        return None if a is self.zero else self.apply("divide", self.one, a)

    def _factors(self, node: Node) -> tuple[Any, list[Node], list[Node]]:
        """A number, and what it is multiplied with and divided by."""
        match node.kind:
            case "number":
                return node.value, [], []
            case "negative":
                number, over, under = self._factors(node.parts[0])
                return -number, over, under
            case "reciprocal" if node.parts[0] is not self.zero:
                number, over, under = self._factors(node.parts[0])
                return 1 / number, under, over
            case "multiply" | "divide" if node.parts[1] is not self.zero:
                number, over, under = self._factors(node.parts[0])
                more, over_too, under_too = self._factors(node.parts[1])
                if node.kind == "multiply":
                    return number * more, over + over_too, under + under_too
                return number / more, over + under_too, under + over_too
        return 1, [node], []

    def _product(self, number: Any, over: list[Node], under: list[Node]) -> Node:
        """The product of a number and nodes, divided by nodes."""
        if number == 0:
            return self.zero
        if number == -1 and (over or under):
            return self._node("negative", (self._product(1, over, under),))
        top = self._times(over)
        if top is None or number != 1:
            coefficient = self.number(number)
            top = coefficient if top is None else self._node("multiply", (coefficient, top))
        below = self._times(under)
        if below is None:
            return top
        return self._node("reciprocal", (below,)) if top is self.one else self._node("divide", (top, below))

    def _times(self, nodes: list[Node]) -> Node | None:
        """The product of nodes, with squares where one comes twice in a row."""
        result: Node | None = None
        waiting = list(nodes)
        while waiting:
            node = waiting.pop(0)
            if node in waiting:
                waiting.remove(node)
                node = self.apply("square", node)
            result = node if result is None else self._node("multiply", (result, node))
        return result

    def _power(self, a: Node, b: Node) -> Node | None:
        if b.is_number:
            known = {0: self.one, 1: a, 2: self.apply("square", a), -1: self.apply("reciprocal", a)}
            return known.get(b.value)
        return None

    def _square(self, a: Node) -> Node | None:
        if a.is_number:
            return self.number(a.value * a.value)
        if a.kind == "reciprocal":
            return self._node("reciprocal", (self.apply("square", a.parts[0]),))
        return self.apply("square", a.parts[0]) if a.kind == "negative" else None

    def _conj(self, a: Node) -> Node | None:
        if self.real:
            return a
        number = a.value if a.is_number else None
        if a.is_number and not isinstance(number, complex):
            return a
        if a.kind == "conj":
            return a.parts[0]
        if a.kind in ("negative", "reciprocal"):
            return self.apply(a.kind, self.apply("conj", a.parts[0]))
        if a.kind == "where":
            return self.apply("where", a.parts[0], *[self.apply("conj", p) for p in a.parts[1:]])
        if a.kind == "choice":
            return self.choice(a.value, *[self.apply("conj", p) for p in a.parts])
        if a.kind in ("multiply", "divide") and not all(p.tensor for p in a.parts):
            return self.apply(a.kind, *[self.apply("conj", p) for p in a.parts])
        return None

    def _where(self, condition: Node, a: Node, b: Node) -> Node | None:
        if a is b:
            return a
        if condition.is_number:
            return a if condition.value else b
        if condition.kind == "choice":
            chosen = [self.apply("where", part, a, b) for part in condition.parts]
            return self.choice(condition.value, *chosen)
        if not condition.tensor:
            return self.choice(self.write(condition, {}), a, b)
        return None

    def _logical_and(self, a: Node, b: Node) -> Node | None:
        return self._logical(a, b, False)

    def _logical_or(self, a: Node, b: Node) -> Node | None:
        return self._logical(a, b, True)

    def _logical(self, a: Node, b: Node, decisive: bool) -> Node | None:
        """With a plain value on one side: what that side decides, or the other."""
        if b.tensor:
            a, b = b, a
        if b.tensor:
            return None
        if b.is_number:
            return self.number(decisive) if bool(b.value) is decisive else a
        condition = self.write(b, {})
        outcomes = (a, self.number(decisive))
        return self.choice(condition, *(outcomes[::-1] if decisive else outcomes))

    def _compared(self, name: str, parts: Sequence[Node]) -> Node | None:
        """What a comparison of numbers says."""
        symbol = self.primitives[name].symbol or ""
        if symbol not in _COMPARISONS or not all(part.is_number for part in parts):
            return None
        return self.number(_COMPARISONS[symbol](*[part.value for part in parts]))

    def _selects(self, node: Node) -> bool:
        """Whether it is a choice between parts of which one is a number."""
        if node.kind == "where":
            return any(p.is_number or self._selects(p) for p in node.parts[1:])
        return node.kind == "choice" and any(p.is_number or self._selects(p) for p in node.parts)

    def _chosen(self, node: Node, change: Callable[[Node], Node]) -> Node:
        """The same choice between changed parts."""
        if node.kind == "choice":
            return self.choice(node.value, change(node.parts[0]), change(node.parts[1]))
        condition, a, b = node.parts
        return self.apply("where", condition, change(a), change(b))

    def choice(self, condition: Expr, a: Node, b: Node) -> Node:
        """``a if condition else b``, where the condition is about plain values."""
        return a if a is b else self._node("choice", (a, b), condition)

    def call(self, function: str, parts: Sequence[Node]) -> Node:
        """What an operator gives that is no primitive."""
        return self._node("call", tuple(parts), function)

    def where_not(self, root: Node, condition: Expr) -> Node:
        """The value of an expression where a condition about plain values does not hold."""
        chosen = [n for n in postorder([root]) if n.kind == "choice" and n.value == condition]
        for node in chosen:
            root = self.substitute(root, {node: node.parts[1]})
        return root

    def substitute(self, root: Node, values: Mapping[Node, Node]) -> Node:
        """The value of an expression with other nodes in some places."""
        made = dict(values)
        for node in postorder([root]):
            if node in made:
                continue
            parts = [made[part] for part in node.parts]
            if not parts:
                made[node] = node
            elif node.kind == "choice":
                made[node] = self.choice(node.value, *parts)
            elif node.kind == "call":
                made[node] = self.call(node.value, parts)
            else:
                made[node] = self.apply(node.kind, *parts)
        return made[root]

    def is_apart(self, node: Node) -> bool:
        """Whether it is computed by a function that is none of the array namespace."""
        primitive = self.primitives.get(node.kind)
        return primitive is not None and primitive.function is not None

    # -- reading -----------------------------------------------------------------------------

    def read(self, tree: Expr, names: Mapping[str, Node]) -> Node:
        """The value of an expression over ``names``. Raises Underivable for what is no primitive."""
        found = self.ufuncs.last(tree)
        if found is not None:
            return self._known(found[0].name, found[1], names)
        match tree:
            case Constant(int() | float() | complex() as value):
                return self.number(value)
            case Name(name) if name in names:
                return names[name]
            case Conditional(condition, then, otherwise):
                if any(name in names and names[name].tensor for name in names_in(_of_values(condition))):
                    raise Underivable("it chooses by the values of a tensor")
                return self.choice(condition, self.read(then, names), self.read(otherwise, names))
            case Attribute(Name("xp"), constant) if constant in _CONSTANTS:
                return self.number(_CONSTANTS[constant])
            case Call(Name(name), (point, first, *others), ()) if name == POLYNOMIAL:
                x, total = self.read(point, names), self.read(first, names)
                for coefficient in others:
                    total = self.add(self.multiply(total, x), self.read(coefficient, names))
                return total
            case Call(Name(name), arguments, ()) if self._primitive(name) is not None:
                return self._known(str(self._primitive(name)), arguments, names)
            case Call(Attribute(inner, name), arguments, ()) if self._primitive(name) is not None:
                return self._known(str(self._primitive(name)), [inner, *arguments], names)
            case Call(Name(name), arguments, ()) if name in self.operators:
                return self._called(name, arguments, names)
            case Call(Attribute(inner, name), arguments, ()) if name in self.operators:
                return self._called(name, [inner, *arguments], names)
        raise Underivable(f'"{write(tree)}" is no expression of primitives')

    def _primitive(self, name: str) -> str | None:
        return name if name in self.primitives else self.by_operator.get(name)

    def _called(self, name: str, arguments: Sequence[Expr], names: Mapping[str, Node]) -> Node:
        parts = tuple([self.read(a, names) for a in arguments])
        if len(parts) != len(self.operators[name].arguments):
            raise Underivable(f"{name} is called without some of its arguments")
        return self.call(name, parts)

    def _known(self, name: str, arguments: Iterable[Expr], names: Mapping[str, Node]) -> Node:
        parts = [self.read(a, names) for a in arguments]
        if len(parts) != self.primitives[name].arguments:
            raise Underivable(f"{name} takes {self.primitives[name].arguments} operands")
        return self.apply(name, *parts)

    # -- writing -----------------------------------------------------------------------------

    def write(self, node: Node, named: Mapping[Node, str]) -> Expr:
        """The expression over Tensors; what is ``named`` stands there by its name."""
        if node in named:
            return Name(named[node])
        number = node.value
        match node.kind:
            case "number" if isinstance(number, int | float) and number < 0:
                return Operation("-x", (Constant(-number),))
            case "number":
                return Constant(node.value)
            case "name":
                return Name(node.value)
        parts = tuple([self.write(p, named) for p in node.parts])
        if node.kind == "choice":
            return Conditional(node.value, *parts)
        if node.kind == "call":
            return Call(Name(node.value), self._as_tensors(node.value, node.parts, parts))
        if node.kind not in self.primitives:
            raise Underivable(f"there is no primitive {node.kind}")
        primitive = self.primitives[node.kind]
        if primitive.symbol is not None:
            return Operation(primitive.symbol, parts)
        if not node.tensor and node.kind in ("square", "reciprocal"):
            symbol, first = ("*", parts[0]) if node.kind == "square" else ("/", Constant(1))
            return Operation(symbol, (first, parts[0]))
        function = primitive.operator if node.tensor else primitive.method
        if function is None:
            raise Underivable(f"{node.kind} is no function of {'Tensors' if node.tensor else 'numbers'}")
        if not node.tensor:
            return Call(Attribute(parts[0], function), parts[1:])
        return Call(Name(function), self._as_tensors(function, node.parts, parts))

    def _as_tensors(self, function: str, parts: Sequence[Node], exprs: Sequence[Expr]) -> tuple[Expr, ...]:
        """The operands with numbers made tensors where the operator takes nothing else."""
        like = next(expr for part, expr in zip(parts, exprs, strict=True) if part.tensor)
        return tuple([
            expr
            if part.tensor or i in self.numbers.get(function, ())
            else Call(Name("full_like"), (like, expr))
            for i, (part, expr) in enumerate(zip(parts, exprs, strict=True))
        ])  # fmt: skip


def _of_values(condition: Expr) -> Expr:
    """A condition without what asks whether something is None."""

    def change(part: Expr) -> Expr:
        match part:
            case Operation("is" | "is not", (_, Constant(value=None))):
                return Constant(True)
        return part

    return rewritten(condition, change)


def postorder(roots: Iterable[Node]) -> list[Node]:
    """Every node below the roots, parts first, each once."""
    found: dict[Node, None] = {}
    waiting: list[tuple[Node, bool]] = [(root, False) for root in roots]
    while waiting:
        node, done = waiting.pop()
        if done:
            found.setdefault(node)
        elif node not in found:
            waiting.append((node, True))
            waiting += [(part, False) for part in node.parts]
    return list(found)
