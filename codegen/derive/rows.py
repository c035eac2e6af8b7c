"""Differentiate: the derivatives of operators over rows, by their bodies.

As of pointwise operators the chain rule has it all. What is new are reductions: what has one value for a row
gets the sum of what each element gives it, and hands each element its share. What stands at a place hands
on to that element. A scan hands on what the functions of formulas/reduction.py that have its name say; one
from the end is one of the row turned round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...ir import scans
from ...ir.bodies import (
    COLUMN_SUM,
    CONSTANT,
    CONSTANTS,
    LENGTH,
    PLACES,
    REDUCTIONS,
    Body,
    is_given,
    is_reduction,
)
from ...ir.expressions import Attribute, Call, Conditional, Constant, Elements, Expr, Logical, Name, Subscript
from ...ir.scans import Scan
from ..model.operators import Derivative, Operator
from ..parse.formula import result_names
from .graph import Graph, Node, Underivable, postorder
from .plan import Language, Plan, is_real

_Nodes = dict[str, Node]
#: The kinds of nodes that graphs of bodies have besides.
_REDUCE, _ACROSS, _CONSTANT, _LENGTH = "reduce", "across", "constant", "length"
_SCAN, _FLIP, _AS_ROW, _HELPER = "scan", "flip", "as_row", "helper"
#: What stands at a place of a row, and a row of zeros but for what is put there.
_AT, _PUT = "at", "put"
#: Reductions on which results depend in steps.
_TESTS = ("any", "all")
_STEPS = (*_TESTS, *PLACES, *scans.PLACES)
#: The scan that is linear.
_LINEAR = "cumsum"


class RowsGraph(Graph):
    """Nodes of bodies: those of pointwise expressions, reductions, scans, constants, the length of rows."""

    def __init__(self, language: Language, body: Body, real: bool) -> None:
        super().__init__(language.primitives, language.numbers, {}, real)
        self.body = body
        self.first = self.name(body.rows[0], True)
        self.length = self._node(_LENGTH)
        #: The rows themselves; what is not made of them is one number for each.
        self.own: set[Node] = set()
        #: Rows that all rows share, and the names of those that are there.
        self.shared: set[Node] = set()
        #: The functions of formulas/reduction.py that have been written.
        self.called: set[str] = set()
        #: The names of what has the shape of a result that is one number for each row.
        self.fewer: set[str] = set()
        #: Those of what has the shape of a row: sums over rows, and their gradients.
        self.columns: set[str] = set()
        self.result: Node | None = None
        self._factors_of_result: tuple[Any, list[Node], list[Node]] = (1, [], [])

    def is_row(self, node: Node) -> bool:
        """Whether there is a value for each element."""
        if node in self.own or node in self.shared:
            return True
        if node.kind in (_REDUCE, _AT):
            return False
        return node.kind in (_AS_ROW, _PUT) or any(map(self.is_row, node.parts))

    def differs(self, node: Node) -> bool:
        """Whether there is a value for each row."""
        if node.kind == "name":
            return node.tensor and node not in self.shared
        return node.kind != _ACROSS and any(map(self.differs, node.parts))

    def knows_result(self, node: Node) -> None:
        """From now on products that have all factors of the result are made of it."""
        self._factors_of_result = self._factors(node)
        self.result = node

    # -- simplified ------------------------------------------------------------------------------

    def either(self, name: str, there: Node, otherwise: Node) -> Node:
        """A value where an optional operand is given, and another where it is None: what both have is one."""
        if there is otherwise:
            return there
        kinds = {(n.kind, n.value, len(n.parts)) for n in (there, otherwise)}
        if len(kinds) == 1 and there.parts and there.kind != "choice":
            parts = zip(there.parts, otherwise.parts, strict=True)
            if sum(a is not b for a, b in parts) == 1:
                made = [self.either(name, a, b) for a, b in zip(there.parts, otherwise.parts, strict=True)]
                return self._node(there.kind, tuple(made), there.value)
        return self.choice(is_given(name), there, otherwise)

    def reduce(self, name: str, row: Node) -> Node:
        """A reduction; what is one number for the row stands before a sum."""
        if name != "sum":
            return self._node(_REDUCE, (row,), name)
        if row is self.zero:
            return row
        number, over, under = self._factors(row)
        outer = [[n for n in side if not self.is_row(n)] for side in (over, under)]
        inner = [[n for n in side if self.is_row(n)] for side in (over, under)]
        if not inner[0] and not inner[1]:
            return self.multiply(row, self.length)
        total = self._node(_REDUCE, (self._product(1, *inner),), name)
        return self._product(number, [*outer[0], total], outer[1])

    def at(self, row: Node, place: Node) -> Node:
        """What stands at a place of a row."""
        return row if row is self.zero or not self.is_row(row) else self._node(_AT, (row, place))

    def put(self, number: Node, place: Node) -> Node:
        """A row that has a number at a place, and zeros."""
        return number if number is self.zero else self._node(_PUT, (number, place))

    def scan(self, name: str, row: Node) -> Node:
        """A scan, from the beginning."""
        return row if row is self.zero else self._node(_SCAN, (row,), name)

    def flip(self, row: Node) -> Node:
        """A row turned round."""
        if not self.is_row(row):
            return row
        return row.parts[0] if row.kind == _FLIP else self._node(_FLIP, (row,))

    def as_row(self, node: Node, like: Node) -> Node:
        """The same with a value for each element, as many as another row has."""
        return node if node is self.zero or self.is_row(node) else self._node(_AS_ROW, (node, like))

    def scan_helper(self, what: str, scan: Node, *rows: Node) -> Node:
        """What a function that has the name of a scan makes of rows, of what is scanned, and of the scan."""
        return self._node(_HELPER, (*rows, scan), f"{scan.value}_{what}")

    def across(self, node: Node) -> Node:
        """The sum of what each row has."""
        return node if node is self.zero else self._node(_ACROSS, (node,))

    def apply(self, name: str, *parts: Node) -> Node:
        return parts[0] if name == "conj" and parts[0] is self.length else super().apply(name, *parts)

    def _factors(self, node: Node) -> tuple[Any, list[Node], list[Node]]:
        return (1, [node], []) if node is self.result else super()._factors(node)

    def _product(self, number: Any, over: list[Node], under: list[Node]) -> Node:
        if self.result is not None:
            _, above, below = self._factors_of_result
            if above and below and _holds(over, above) and _holds(under, below):
                over, under = [*_without(over, above), self.result], _without(under, below)
                return self._product(number / self._factors_of_result[0], over, under)
        return super()._product(number, over, under)

    def _merged(self, name: str, a: Node, b: Node) -> Node | None:
        """Two fractions over one number of the row as one."""
        (m, over, under), (n, over_too, under_too) = self._factors(a), self._factors(b)
        shared = [node for node in under if node in under_too and not self.is_row(node)]
        if shared and not a.is_number and not b.is_number:
            whole = [
                self._product(m, over, _without(under, shared[:1])),
                self._product(n, over_too, _without(under_too, shared[:1])),
            ]
            return self.apply("divide", self.apply(name, *whole), shared[0])
        return super()._merged(name, a, b)

    # -- read and written --------------------------------------------------------------------------

    def read(self, tree: Expr, names: Mapping[str, Node]) -> Node:
        match tree:
            case Name(name) if name == LENGTH:
                return self.length
            case Name(name) if name in CONSTANTS and name not in names:
                return self.number(float(name))
            case Call(Name(name), (value,)) if name == CONSTANT:
                return self._node(_CONSTANT, (self.read(value, names),))
            case Call() if (scan := Scan.read(tree)) is not None:
                row = self.as_row(self.read(scan.row, names), self.first)
                if not scan.reverse:
                    return self.scan(scan.name, row)
                made = self.flip(self.scan(scan.name, self.flip(row)))
                if scan.of is None:
                    return made
                return self.apply("subtract", self.apply("subtract", self.length, self.one), made)
            case Subscript(row, place):
                return self.at(self.read(row, names), self.read(place, names))
            case Call(Name(name), (value,)) if name == COLUMN_SUM:
                return self._node(_ACROSS, (self.read(value, names),))
            case Call(Name(name), (value,)) if is_reduction(tree):
                return self.reduce(name, self.read(value, names))
        return super().read(tree, names)

    def write(self, node: Node, named: Mapping[Node, str]) -> Expr:
        if node in named:
            return self.with_dim(named[node])
        first = Name(self.body.rows[0])
        match node.kind:
            case "name":
                return self.with_dim(node.value)
            case "reduce":
                return self._reduced(self.write(node.parts[0], named), node.value)
            case "at":
                row, place = [self.write(part, named) for part in node.parts]
                return Call(Attribute(row, "gather"), (Name(self.body.dim), place))
            case "put":
                number, place = [self.write(part, named) for part in node.parts]
                where = Name(self.body.dim), place, Attribute(first, "shape"), Constant(True)
                return Call(Name("_value_selecting_reduction_backward"), (number, *where))
            case "flip" if node.parts[0].kind == _SCAN and node.parts[0].value == _LINEAR:
                row = self.write(self.flip(node.parts[0].parts[0]), named)
                return Call(Name("_cumsum_backward"), (row, Name(self.body.dim)))
            case "flip":
                dims = Elements("list", (Name(self.body.dim),))
                return Call(Attribute(self.write(node.parts[0], named), "flip"), (dims,))
            case "scan" if node.value == _LINEAR:
                return Call(Attribute(self.write(node.parts[0], named), _LINEAR), (Name(self.body.dim),))
            case "scan":
                return self.helper(
                    "scan_of", Constant(node.value), self.write(node.parts[0], named), Name(self.body.dim)
                )
            case "as_row":
                return self.helper("as_row", *[self.write(part, named) for part in node.parts])
            case "helper":
                return self.helper(
                    node.value, *[self.write(part, named) for part in node.parts], Name(self.body.dim)
                )
            case "across":
                return self.helper("over_rows", self.write(node.parts[0], named), self.dims)
            case "constant":
                return Call(Attribute(self.write(node.parts[0], named), "detach"), ())
            case "length" if self.body.several:
                return self.helper("count_of", first, self.dims)
            case "length":
                size = Call(Attribute(first, "size"), (Name(self.body.dim),))
                return Conditional(Call(Attribute(first, "dim"), ()), size, Constant(1))
        return super().write(node, named)

    @property
    def dims(self) -> Expr:
        """The dims of rows."""
        if self.body.sizes:
            self.called.add("last_dims")
        return self.body.dims

    def helper(self, name: str, *operands: Expr) -> Expr:
        """The call of a function of formulas/reduction.py."""
        self.called.add(name)
        return Call(Name(name), operands)

    def _reduced(self, row: Expr, name: str) -> Expr:
        """A reduction. Rows without elements have no extreme: any number does, for nothing is made of it."""
        dim = self.dims
        if name in PLACES and self.body.several:
            return self.helper("place_in_row", Constant(name), row, dim)
        if name in _TESTS and self.body.several:  # which take an empty list for no dims
            return Call(Attribute(row, name), (Logical("or", (dim, Constant(None))), Constant(True)))
        made, total = [
            Call(Attribute(row, method), (dim, Constant(True))) for method in (REDUCTIONS[name], "sum")
        ]
        if name not in ("max", "min"):
            return made
        return Conditional(Call(Attribute(Name(self.body.rows[0]), "numel"), ()), made, total)

    def with_dim(self, name: str) -> Expr:
        """A name; what has the shape of a result that is one number for each row gets the dim back."""
        if name.removesuffix("_t") in (*self.body.shared, *self.columns):
            return self.helper("beside", Name(name), Name(self.body.rows[0]), self.dims)
        if name.removesuffix("_t") not in self.fewer:
            return Name(name)
        dim = self.dims
        dims = dim if self.body.several else Elements("list", (dim,))
        ndim = Call(Attribute(Name(self.body.rows[0]), "dim"), ())
        return Call(Name("_restore_dims"), (Name(name), dims, self.body.keepdim, ndim))


class RowsPlan(Plan):
    """One way to write the gradients of a body: with some of its results saved, or with its operands only."""

    def __init__(
        self, operator: Operator, body: Body, language: Language, with_results: Collection[str] = ()
    ) -> None:
        if body.masked:
            raise Underivable("a mask says which of its results are there")
        self.operator, self.body, self.with_results = operator, body, with_results
        self.kernel = next(iter(operator.kernels.values()))
        self.results = result_names(operator.schema.returns)
        several = len(self.results) > 1
        kept = dict(zip(self.results, body.kept, strict=True))
        self.of_grads = {name: f"grad_{name}" if several else "grad" for name in kept}
        graph = RowsGraph(language, body, is_real(operator))
        graph.fewer = {n for name, row in kept.items() if not row for n in (name, self.of_grads[name])}
        graph.fewer |= {*body.singles}
        sums = [self.results[i] for i in body.sums]
        graph.columns = {n for name in sums for n in (name, self.of_grads[name])}
        self.graph = self.rows = graph
        names = {name: graph.name(name, True) for name in body.rows}
        graph.own |= set(names.values())
        others = [a.name for a in operator.schema.arguments if a.is_tensor and a.name not in names]
        names |= {name: graph.name(name, True) for name in others}
        graph.shared |= {names[name] for name in body.shared}
        names |= {name: graph.name(name, False) for name in body.numbers}
        self.names = names
        self.roots: _Nodes = {}
        self.operands = self.inputs = [a for a in operator.schema.arguments if a.is_tensor]
        self.grad_of = {name: graph.name(grad, True) for name, grad in self.of_grads.items()}
        graph.shared |= {self.grad_of[name] for name in sums}
        graph.own |= {self.grad_of[name] for name, row in kept.items() if row and name not in sums}
        self.knows_result = bool(with_results) and not several and body.kept[0] and not body.optional
        self.gradients, self.moved = self._by_presence(body.optional)

    def _by_presence(self, names: Sequence[str], absent: Sequence[str] = ()) -> tuple[_Nodes, _Nodes]:
        """The gradients and tangents, by which of the optional operands ``names`` are None.

        Afterwards ``roots`` are the results that are the same whichever are.
        """
        if not names:
            return self._without(absent)
        first, *others = names
        there = self._by_presence(others, absent)
        roots = self.roots
        otherwise = self._by_presence(others, [*absent, first])
        self.roots = {name: root for name, root in roots.items() if self.roots.get(name) is root}
        either = self.rows.either
        gradients, moved = [
            {name: either(first, node, b[name]) if name in b else node for name, node in a.items()}
            for a, b in zip(there, otherwise, strict=True)
        ]
        return gradients, moved

    def _without(self, absent: Sequence[str]) -> tuple[_Nodes, _Nodes]:
        """The gradients and tangents where these operands are None."""
        made = [self.graph.read(expr, self.names) for expr in self.body.inlined(absent)]
        self.roots = dict(zip(self.results, made, strict=True))
        if self.knows_result and made[0].parts:
            self.rows.knows_result(made[0])
        given = [a.name for a in self.inputs if a.name not in absent]
        wanted = [self.names[name] for name in given]
        reached = self._differentiable()
        self.order = [node for node in postorder(made) if node in reached]
        self.leading = self._leading(self.order, wanted)
        gradients = dict(zip(given, self._adjoints(wanted), strict=True))
        return gradients, self._moved(given)

    def _differentiable(self) -> set[Node]:
        """The nodes on which results depend in a differentiable way."""
        found: set[Node] = set()
        waiting = [*self.roots.values()]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += self.differentiated(node)
        return found

    def _adjoints(self, wanted: Sequence[Node]) -> list[Node]:
        """The gradient by each of the rows."""
        graph = self.rows
        adjoints: dict[Node, Node] = {}
        for name, root in self.roots.items():
            self.give(adjoints, root, self.grad_of[name])
        for node in reversed(self.order):
            adjoint = adjoints.get(node)
            if adjoint is None or adjoint is graph.zero or node not in self.leading:
                continue
            for part, term in self._terms(node, adjoint):
                if graph.is_row(node) and not graph.is_row(part):
                    term = graph.reduce("sum", term)
                if graph.differs(node) and not graph.differs(part):
                    term = graph.across(term)
                self.give(adjoints, part, term)
        return [adjoints.get(node, graph.zero) for node in wanted]

    def differentiated(self, node: Node) -> tuple[Node, ...]:
        return () if node.kind == _CONSTANT else node.parts[:1] if node.kind in (_AS_ROW, _AT) else node.parts

    def _terms(self, node: Node, adjoint: Node) -> Iterable[tuple[Node, Node]]:
        """What a node hands to its parts."""
        graph, part = self.rows, node.parts[0] if node.parts else node
        match node.kind:
            case "reduce" | "scan" if node.value in _STEPS:
                return
            case "at":
                yield part, graph.put(adjoint, node.parts[1])
            case "reduce":
                yield part, graph.multiply(adjoint, self._share(node))
            case "flip":
                yield part, graph.flip(adjoint)
            case "as_row" | "across":
                yield part, adjoint
            case "scan" if node.value == _LINEAR:
                yield part, graph.flip(graph.scan(_LINEAR, graph.flip(graph.as_row(adjoint, node))))
            case "scan":
                yield part, graph.scan_helper("backward", node, graph.as_row(adjoint, node), part)
            case _:
                for part, local in self._named_locals(node, self.leading):
                    yield part, graph.multiply(adjoint, graph.apply("conj", local))

    def _share(self, node: Node) -> Node:
        """The derivative of a reduction by an element; equal extremes have equal shares."""
        graph, row = self.rows, node.parts[0]
        if node.value == "sum":
            return graph.one
        if node.value == "prod":
            raise Underivable("of a product no derivative follows, which may have zeros")
        among = graph.apply("where", graph.apply("equal", row, node), graph.one, graph.zero)
        return graph.apply("divide", among, graph.reduce("sum", among))

    def _moved(self, given: Sequence[str]) -> _Nodes:
        """What each result moves by, of the operands that are given."""
        graph = self.rows
        tangents: dict[Node, Node] = {}
        for name in given:
            moved = tangents[self.names[name]] = graph.name(f"{name}_t", True)
            if name not in self.body.singles:
                (graph.shared if name in self.body.shared else graph.own).add(moved)
        for node in self.order:
            if node in tangents or node not in self.leading:
                continue
            total = graph.zero
            for term in self._moves(node, tangents):
                total = graph.add(total, term)
            tangents[node] = total
        return {name: tangents.get(root, graph.zero) for name, root in self.roots.items()}

    def _moves(self, node: Node, tangents: Mapping[Node, Node]) -> Iterable[Node]:
        """What a node moves by for each of its parts."""
        graph, part = self.rows, node.parts[0] if node.parts else node
        moved = tangents.get(part, graph.zero)
        match node.kind:
            case "reduce" | "scan" if node.value in _STEPS:
                return
            case "at":
                yield graph.at(moved, node.parts[1])
            case "reduce":
                yield graph.reduce("sum", graph.multiply(moved, self._share(node)))
            case "flip":
                yield graph.flip(moved)
            case "across":
                yield graph.across(moved)
            case "as_row":
                yield graph.as_row(moved, node.parts[1])
            case "scan" if node.value == _LINEAR:
                yield graph.scan(_LINEAR, graph.as_row(moved, node))
            case "scan" if moved is not graph.zero:
                yield graph.scan_helper("jvp", node, part, graph.as_row(moved, node))
            case "scan":
                return
            case _:
                for part, local in self._named_locals(node, self.leading):
                    yield graph.multiply(tangents.get(part, graph.zero), local)

    # -- what it keeps -----------------------------------------------------------------------------

    @property
    def grads(self) -> Collection[Node]:
        return self.grad_of.values()

    @property
    def saved(self) -> Mapping[Node, str]:
        return {root: name for name, root in self.roots.items() if name in self.with_results and root.parts}

    def derivative(self) -> Derivative:
        smooth = tuple([not kind.in_steps for kind in self.body.kinds])
        return replace(super().derivative(), output_differentiability=None if all(smooth) else smooth)

    def tangents(self) -> Mapping[str, Node]:
        kinds = zip(self.results, self.body.kinds, strict=True)
        moved = {name: self.moved[name] for name, kind in kinds if not kind.in_steps}
        return {} if set(moved.values()) == {self.graph.zero} else moved

    def _helpers(self) -> dict[str, str]:
        return {name: f"reduction.{name}" for name in sorted(self.rows.called)}

    # -- writing -----------------------------------------------------------------------------------

    def _repeated(self, roots: Iterable[Node]) -> set[Node]:
        """What is made of an operand that may be None is not computed before it is known that it is not."""
        roots = list(roots)
        made_of: dict[Node, set[str]] = {}
        for node in postorder(roots):
            found = {name for part in node.parts for name in made_of[part]}
            if node.kind == "name":
                found = {node.value.removesuffix("_t")} & {*self.body.optional}
            elif node.kind == "choice":
                found -= {name for name in found if node.value == is_given(name)}
            made_of[node] = found
        return {node for node in super()._repeated(roots) if not made_of[node]}

    def _root(self, name: str, node: Node, named: Mapping[Node, str]) -> Expr:
        """A gradient has the shape of the rows; a tangent that of the result."""
        if node.kind == "choice" and node not in named:
            return Conditional(node.value, *[self._root(name, part, named) for part in node.parts])
        first = Name(self.body.rows[0])
        is_tangent = name in self.results
        of_its_own = is_tangent or name in (*self.body.shared, *self.body.singles)
        if node is self.graph.zero:
            return Call(Name("zeros_like"), (Name(name) if of_its_own else first,))
        made = self.rows.write(node, named)
        differs = self.rows.differs(node)
        if name in self.body.singles and not differs:
            made = self.rows.helper("as_row", made, self.rows.with_dim(name))
        if name in (*self.body.shared, *self.body.singles, *self.rows.columns):
            return Call(Attribute(made, "reshape"), (Attribute(Name(name), "shape"),))
        if not is_tangent or name not in self.rows.fewer:
            return (
                made if differs and self.rows.is_row(node) else Call(Attribute(made, "expand_as"), (first,))
            )
        if self.body.several:
            return Call(Attribute(made, "reshape"), (Attribute(Name(name), "shape"),))
        squeezed = Call(Attribute(made, "squeeze"), (Name(self.body.dim),))
        return Conditional(self.body.keepdim, made, squeezed) if self.body.keeps else squeezed


def _holds(nodes: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether each of the others is there, as often."""
    return all([nodes.count(node) >= others.count(node) for node in others])


def _without(nodes: Sequence[Node], others: Sequence[Node]) -> list[Node]:
    """What is left where each of the others is taken away once."""
    left = list(nodes)
    for node in others:
        left.remove(node)
    return left
