"""Differentiate: the chain rule over the expression of a pointwise operator.

A ``Plan`` is one way to write its gradients and tangents, as a Derivative like a declared one, with one Node,
of which parts that several gradients need are computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ...ir.expressions import Call, Conditional, Constant, Expr, Name, Operation, names_in, walk
from ...ir.writer import write
from ..model.names import EXPLICIT, OPERANDS
from ..model.operators import (
    Declarations,
    Derivative,
    Formula,
    Kernel,
    Operator,
    Primitive,
    Shared,
    by_function,
)
from ..model.schema import Argument
from ..model.source import Located
from .graph import Graph, Known, Node, Underivable, postorder

#: The tag of operators of which each element follows from those at the same place.
POINTWISE = "pointwise"


def numbers_taken(operators: Iterable[Operator]) -> dict[str, frozenset[int]]:
    """By the name of a function, the positions where one of its overloads takes a Python number."""
    taken: dict[str, set[int]] = {}
    for operator in operators:
        found = taken.setdefault(operator.name.function, set())
        arguments = operator.schema.positional
        found |= {
            i for i, a in enumerate(arguments) if str(a.type).rstrip("?") in ("Scalar", "float", "int", "str")
        }
    return {name: frozenset(found) for name, found in taken.items()}


@dataclass(frozen=True, slots=True)
class Language:
    """What derivatives are made of."""

    primitives: Mapping[str, Primitive]
    numbers: Mapping[str, frozenset[int]]
    operators: Mapping[str, Known]

    @staticmethod
    def of(declared: Declarations) -> Language:
        """That of a set of declarations."""
        return Language(declared.primitives, numbers_taken(declared.operators), known_operators(declared))

    def graph(self, operator: Operator) -> Graph:
        """An empty graph for the kernel of an operator; only composites are made of operators."""
        composite = EXPLICIT in operator.kernels
        return Graph(self.primitives, self.numbers, self.operators if composite else {}, is_real(operator))


def is_real(operator: Operator) -> bool:
    """Whether it takes no complex numbers."""
    listed = operator.dtypes.values()  # a composite lists none: it takes what its parts take
    return bool(listed) and not any("Complex" in t for types in listed for t in types)


def known_operators(declared: Declarations) -> dict[str, Known]:
    """The pointwise operators with one overload whose gradients are declared, each by one formula."""
    entries = {str(d.name): d for d in declared.derivatives}
    found = {}
    for function, (first, *others) in by_function(declared.operators).items():
        entry = entries.get(str(first.name))
        if others or entry is None or POINTWISE not in first.tags or first.name.inplace:
            continue
        gradients = {names[0]: formula for names, formula in entry.gradients.items() if len(names) == 1}
        if len(gradients) == len(entry.gradients) and gradients:
            found[function] = Known(tuple(a.name for a in first.schema.arguments), gradients)
    return found


class Plan:
    """One way to write an operator's gradients: with its result saved, or with its inputs only."""

    #: What formulas call the gradient of each element.
    gradient_of_elements = "grad"
    #: The inputs by which there is no derivative that could be computed, each with the formula that says so.
    refused: Mapping[str, Formula] = {}

    def __init__(self, operator: Operator, kernel: Kernel, graph: Graph, with_result: bool) -> None:
        self.operator = operator
        self.kernel = kernel
        self.graph = graph
        arguments = [a for a in operator.schema.arguments if a.is_tensor or not a.type.is_optional]
        names = {a.name: graph.name(a.name, a.is_tensor) for a in arguments}  # None is no number
        self.root = graph.read(kernel.formula.tree, names)
        self.operands = [a for a in arguments if a.is_tensor]
        self.inputs = [a for a in self.operands if a.name not in operator.masks]
        self.with_result = with_result
        self.partials = self._partials(names)
        self.grad = graph.name(self.gradient_of_elements, True)
        self.names = names
        self.gradients = {a.name: self._itself(a, self.grad) or self._gradient(a) for a in self.inputs}

    # -- the chain rule ----------------------------------------------------------------------

    def _partials(self, names: Mapping[str, Node]) -> dict[str, Node]:
        """The derivative of the result by each Tensor argument."""
        graph, zero = self.graph, self.graph.zero
        wanted = {names[a.name] for a in self.inputs}
        order = postorder([self.root])
        leading = self._leading(order, wanted)
        adjoints: dict[Node, Node] = {self.root: graph.one}
        for node in reversed(order):
            adjoint = adjoints.get(node)
            if adjoint is None or adjoint is zero or node not in leading:
                continue
            for part, local in self._named_locals(node, leading):
                term = graph.multiply(adjoint, local)
                self.give(adjoints, part, term)
        kept = {a.name: adjoints.get(names[a.name], zero) for a in self.inputs}
        return {name: zero if name in self.refused else partial for name, partial in kept.items()}

    def give(self, adjoints: dict[Node, Node], node: Node, term: Node) -> None:
        """Add to what a node has got."""
        adjoints[node] = self.graph.add(adjoints[node], term) if node in adjoints else term

    def _leading(self, order: Iterable[Node], wanted: Collection[Node]) -> set[Node]:
        """The nodes that inputs lead to."""
        found: set[Node] = set()
        for node in order:
            if node in wanted or any([part in found for part in self.differentiated(node)]):
                found.add(node)
        return found

    def differentiated(self, node: Node) -> tuple[Node, ...]:
        """The parts on which a node depends in a differentiable way."""
        return node.parts

    def _named_locals(self, node: Node, leading: set[Node]) -> Iterable[tuple[Node, Node]]:
        """As ``_locals``; where there is no derivative, the reason names the arguments that it is by."""
        try:
            return list(self._locals(node, leading))
        except Underivable as reason:
            names = {n.value for n in postorder([node]) if n.kind == "name" and n.tensor}
            inputs = ", ".join(f'"{a.name}"' for a in self.inputs if a.name in names)
            raise Underivable(f"{reason}, by {inputs}") from None

    def _locals(self, node: Node, leading: set[Node]) -> Iterable[tuple[Node, Node]]:
        """The parts of a node that inputs lead to, with the derivative by each."""
        graph = self.graph
        if node.kind == "choice":
            yield node.parts[0], graph.choice(node.value, graph.one, graph.zero)
            yield node.parts[1], graph.choice(node.value, graph.zero, graph.one)
            return
        if not node.parts:
            return
        if node.kind == "call":
            yield from self._of_call(node, leading)
            return
        primitive = graph.primitives[node.kind]
        if primitive.derivative is None:
            raise Underivable(f"no derivative is declared for the primitive {primitive.name}")
        if primitive.real and not graph.real:
            raise Underivable(f"{primitive.name} has no derivative for complex numbers")
        names = {**dict(zip(OPERANDS, node.parts, strict=False)), "result": node}
        for part, formula in zip(node.parts, primitive.derivative, strict=True):
            if formula is None or part not in leading:
                continue
            if formula.implemented:
                yield part, graph.read(formula.tree, names)
            else:
                self.refuse(part, formula)

    def refuse(self, part: Node, formula: Formula) -> None:
        """Note that by a part of a node there is no derivative that could be computed."""
        if self.operator.body is not None:
            raise Underivable(f"of its rows there is {formula.text}")
        names = [n.value for n in postorder([part]) if n.kind == "name" and n.tensor]
        self.refused = {**self.refused, **dict.fromkeys(names, formula)}

    def _of_call(self, node: Node, leading: set[Node]) -> Iterable[tuple[Node, Node]]:
        """The same of a call of an operator, whose gradient of 1 is its derivative."""
        known = self.graph.operators[node.value]
        names = dict(zip(known.arguments, node.parts, strict=True))
        names |= {"result": node, "grad": self.graph.name("grad_of_call", True)}
        for argument, part in zip(known.arguments, node.parts, strict=True):
            if part in leading and argument in known.gradients:
                gradient = self.graph.read(known.gradients[argument].tree, names)
                yield part, self._factor(gradient, names["grad"], node.value)

    def _factor(self, gradient: Node, grad: Node, function: str) -> Node:
        """The derivative in a gradient that is ``grad`` times it, or its conjugate."""
        graph = self.graph
        found, sign = gradient, graph.one
        if found.kind == "negative":
            found, sign = found.parts[0], graph.number(-1)
        if found is grad:
            return sign
        if found.kind == "multiply" and grad in found.parts:
            other = found.parts[0] if found.parts[1] is grad else found.parts[1]
            return graph.multiply(sign, graph.apply("conj", other))
        if found.kind == "divide" and found.parts[0] is grad:
            return graph.apply("divide", sign, graph.apply("conj", found.parts[1]))
        if graph.real:
            return graph.substitute(gradient, {grad: graph.one})
        raise Underivable(f"the derivative of {function} is none for complex numbers")

    def _given(self, partial: Node, argument: Argument) -> Node:
        """The derivative by an argument, which is there: a gradient is asked for of no None."""
        if not argument.type.is_optional:
            return partial
        absent = Operation("is", (Name(argument.name), Constant(None)))
        return self.graph.where_not(partial, absent)

    def _gradient(self, argument: Argument) -> Node:
        partial = self._given(self.partials[argument.name], argument)
        return self.graph.multiply(self.grad, self.graph.apply("conj", partial))

    def _itself(self, argument: Argument, moved: Node) -> Node | None:
        """The operator itself, of a gradient or tangent in the place of an argument that is only multiplied.

        None where no native kernel is declared, which computes more at once than the formula does.
        """
        graph, name = self.graph, self.names[argument.name]
        partial = self.partials[argument.name]
        if self.operator.native is None or not graph.real or name in postorder([partial]):
            return None
        if partial is graph.zero or graph.substitute(self.root, {name: graph.zero}) is not graph.zero:
            return None
        return graph.call(
            self.operator.name.function, [moved if n is name else n for n in self.names.values()]
        )

    def tangents(self) -> Mapping[str, Node]:
        """What results move by, where they do."""
        found: Node = self.graph.zero
        for a in self.inputs:
            moved = self.graph.name(f"{a.name}_t", True)
            term = self._itself(a, moved) or self.graph.multiply(moved, self.partials[a.name])
            found = self.graph.add(found, term)
        return {} if found is self.graph.zero else {"result": found}

    # -- what it costs -------------------------------------------------------------------------

    @property
    def cost(self) -> tuple[int, int]:
        """How many tensors its Node keeps, and how many operators its gradients take.

        What is as good as a tensor kept: a function computed that is none of the array namespace.
        """
        nodes = self._reached(self.gradients.values())
        kept = {
            n for n in nodes if n in self.saved or (n.kind == "name" and n.tensor and n not in self.grads)
        }
        computed = [n for n in nodes if n.parts and n not in self.saved]
        return len(kept) + sum(map(self.graph.is_apart, computed)), len(computed)

    @property
    def grads(self) -> Collection[Node]:
        """The gradients of the results."""
        return (self.grad,)

    @property
    def saved(self) -> Mapping[Node, str]:
        """The nodes that are not computed again but saved, results, and what formulas call them."""
        return {self.root: "result"} if self.with_result and self.root.parts else {}

    def _reached(self, roots: Iterable[Node]) -> list[Node]:
        """The nodes that computing the roots takes: what is below the result does not count."""
        found: dict[Node, None] = {}
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found[node] = None
                if node not in self.saved:
                    waiting += node.parts
        return list(found)

    # -- writing ---------------------------------------------------------------------------------

    def derivative(self) -> Derivative:
        """The entry that says it."""
        gradients, shared = self._written(self.gradients, "grad_part")
        jvps, jvp_shared = self._written(self.tangents(), "part")
        return Derivative(
            self.operator.name,
            self.kernel.formula.source.place,
            {(name,): self.refused.get(name, formula) for name, formula in gradients.items()},
            jvps,
            self.operator.masks,
            helpers=self._helpers(),
            shared=shared,
            jvp_shared=jvp_shared,
        )

    def _helpers(self) -> dict[str, str]:
        """Functions of runtime/formulas that the formulas call."""
        return {}

    def _written(self, roots: Mapping[str, Node], stem: str) -> tuple[dict[str, Formula], tuple[Shared, ...]]:
        """The formulas of the roots, and the parts that they have in common or more than once."""
        named: dict[Node, str] = dict(self.saved)
        repeated = self._repeated(roots.values())
        reached = {name: set(self._reached([root])) for name, root in roots.items()}
        shared: list[Shared] = []
        ways = self._ways(roots.values())
        for node in postorder(roots.values()):
            if node in repeated:
                users = tuple(name for name in roots if node in reached[name])
                written = self._where_asked(ways[node], self.graph.write(node, named))
                formula = self._formula(self._where_there(node, written))
                named[node] = f"{stem}{len(shared)}"
                shared.append(Shared(named[node], formula, users))
        formulas = {name: self._formula(self._root(name, root, named)) for name, root in roots.items()}
        return formulas, tuple(shared)

    def _where_there(self, node: Node, written: Expr) -> Expr:
        """What is computed ahead, of operands that may be None where these are there; else None."""
        optional = {a.name for a in self.operands if a.type.is_optional}
        for name in sorted(_needed(node, optional) if optional else ()):
            there = Operation("is not", (Name(name), Constant(None)))
            written = Conditional(there, written, Constant(None))
        return written

    def _ways(self, roots: Iterable[Node]) -> dict[Node, dict[Expr, bool]]:
        """The conditions about plain values that hold, or do not, wherever a node is needed."""
        found: dict[Node, dict[Expr, bool]] = {root: {} for root in roots}
        for node in reversed(postorder(roots)):
            for place, part in enumerate(node.parts if node in found and node not in self.saved else ()):
                own = found[node] | ({node.value: place == 0} if node.kind == "choice" else {})
                found[part] = dict(found.get(part, own).items() & own.items())
        return found

    def _where_asked(self, ways: Mapping[Expr, bool], written: Expr) -> Expr:
        """What is computed ahead on some ways alone; on the others an input stands for it, which is there."""
        inputs = [a.name for a in self.inputs if not a.type.is_optional]
        for condition, holds in ways.items():
            if not names_in(condition) & {a.name for a in self.operands}:
                ways_of = (written, Name(inputs[0]))
                written = Conditional(condition, *(ways_of if holds else ways_of[::-1]))
        return written

    def _root(self, name: str, node: Node, named: Mapping[Node, str]) -> Expr:
        """The gradient by an argument, or the tangent of a result, by that name."""
        return self._chosen(node, named, Name("grad" if name in self.partials else "result"))

    def _chosen(self, node: Node, named: Mapping[Node, str], like: Expr) -> Expr:
        """The value of a node, a Tensor as ``like`` is even where a choice is for zero."""
        if node is self.graph.zero:
            return Call(Name("zeros_like"), (like,))
        if node.kind == "choice" and node not in named:
            return Conditional(node.value, *[self._chosen(part, named, like) for part in node.parts])
        return self.graph.write(node, named)

    def _repeated(self, roots: Iterable[Node]) -> set[Node]:
        """The parts with operators that have more than one use."""
        roots = list(roots)
        uses = {root: roots.count(root) for root in roots}
        for node in self._reached(roots):
            if node not in self.saved:
                for part in node.parts:
                    uses[part] = uses.get(part, 0) + 1
        return {n for n, count in uses.items() if count > 1 and n.parts and n not in self.saved and n.tensor}

    def _formula(self, tree: Expr) -> Formula:
        source = self.kernel.formula.source
        hidden = {a.name for a in self.operator.schema.arguments}
        for node in walk(tree):
            match node:
                case Call(Name(name)) if name in hidden:
                    raise Underivable(f'it calls the function {name}, and "{name}" is an argument here')
        return Formula(Located(write(tree), source.place, source.key), tree)


def _needed(node: Node, optional: Collection[str]) -> set[str]:
    """The operands that may be None of which a node is made wherever it does not choose by that."""
    found: dict[Node, set[str]] = {}
    for part in postorder([node]):
        own = {part.value} & {*optional} if part.kind == "name" else set()
        found[part] = own.union(*[found[inner] for inner in part.parts])
        match part.value if part.kind == "choice" else None:
            case Operation("is" | "is not", (Name(name), Constant(value=None))):
                found[part] -= {name}
    return found[node]
