"""Specialise: Nodes over Tensors, and forward-mode functions.

A formula's tree is rewritten: the names of arguments and results become what the Node has
saved, helpers and declared functions become imports. The form over arrays is made of the same
formulas by ``array_nodes``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...ir.expressions import (
    Attribute,
    Call,
    Clause,
    Comprehension,
    Constant,
    Elements,
    Expr,
    Name,
    Operation,
    Starred,
    any_of,
    bound_by,
    dotted,
    free_names,
    mapped,
    replaced,
    walk,
)
from ...ir.reader import filled
from ...ir.statements import NONE, call, is_there, tuple_of, unless_none
from ...ir.types import ARRAY, Types, ValueType
from ..check.names import TENSOR_BUILTINS
from ..model.annotations import parameter_name
from ..model.derived import Gradient, JvpSpec, NodeSpec, Saved
from ..model.metadata import METADATA
from ..model.nodes import Branch, Common, JvpFunction, Local, NodeClass
from ..model.operators import Operator
from ..model.schema import Argument
from ..parse.formula import ORIGINAL_SELF, gradient_number, metadata_use, result_numbers, saved
from ..read.functions import alias, module_path
from .environments import formula_environment, names_of_formula, of_operators
from .tangents import Conjugates, conj, real, shared_calls, terms
from .widening import Widening


def _rebuilt(what: str, stem: str, of_list: bool) -> Expr:
    """Metadata of a tensor, or of each of a list, from what the Node keeps in a slot with this stem."""
    metadata = METADATA[what]
    kept = dotted(f"{stem}_{metadata.slot}")
    if not of_list:
        return metadata.of(kept)
    if what == metadata.slot:  # helpers take a list of shapes as it is kept
        return kept
    each = Name("t")
    return Comprehension("list", metadata.of(each), (Clause(each, kept),))


def edge_of(node: NodeSpec, position: int) -> Expr:
    """The edge, or the slice of edges, of an input."""
    before = [i for i in range(position) if node.inputs[i].is_tensor_list]
    after = len(node.inputs) - position - 1
    if node.inputs[position].is_tensor_list:
        stop = f"len(edges) - {after}" if after else ""
        return filled(f"edges[{position or ''}:{stop}]")
    return filled(f"edges[{position - len(node.inputs)}]" if before else f"edges[{position}]")


def condition_of(node: NodeSpec, positions: Iterable[int]) -> Expr:
    """Whether any of the inputs wants its gradient."""
    tests = []
    for p in positions:
        edge = edge_of(node, p)
        tests.append(call("any", edge) if node.inputs[p].is_tensor_list else is_there(edge))
    return any_of(tests)


def mask_of(node: NodeSpec, positions: Iterable[int]) -> Local:
    """The name for which of the inputs want their gradients."""
    return Local("grad_input_mask", tuple_of([condition_of(node, (p,)) for p in positions]))


def returned_by(node: NodeSpec) -> Elements:
    """The gradients as a Node gives them."""
    return tuple_of([
        Starred(call("spread", Name(f"g{i}"), edge_of(node, i))) if a.is_tensor_list else Name(f"g{i}")
        for i, a in enumerate(node.inputs)
    ])  # fmt: skip


def unpacked_once(node: NodeSpec, branches: Sequence[Branch]) -> tuple[Common, tuple[Branch, ...]]:
    """What several branches unpack, by the condition that one of them runs; and the branches without that.

    A hook that unpacks is called once for each saved value, as in PyTorch.
    """
    users: dict[Local, list[int]] = {}
    for number, branch in enumerate(branches):
        for unpacked in branch.prepare:
            users.setdefault(unpacked, []).append(number)
    common: dict[Expr | None, tuple[Local, ...]] = {}
    for unpacked, numbers in users.items():
        if len(numbers) > 1:
            positions = sorted({i for n in numbers for i in node.gradients[n].inputs})
            condition = condition_of(node, positions) if len(positions) < len(node.inputs) else None
            common[condition] = (*common.get(condition, ()), unpacked)
    left = [replace(b, prepare=tuple(s for s in b.prepare if len(users[s]) == 1)) for b in branches]
    return tuple(common.items()), tuple(left)


class Rewriter:
    """Rewrites a formula's names; what it meets is noted for the imports."""

    def __init__(
        self, helpers: Mapping[str, str], functions: Mapping[str, str], metadata: Mapping[str, str]
    ) -> None:
        self.helpers = helpers
        self.functions = functions  # of operators, by name: what generated code calls each, "F.exp"
        self.metadata = metadata  # names saved only as metadata -> their slot's stem
        self.known: set[str] = set()
        self.used_helpers: set[str] = set()

    def rewritten(self, expr: Expr, bound: frozenset[str] = frozenset()) -> Expr:
        """The expression; ``bound`` are the names of the comprehensions and lambdas around it."""
        use = metadata_use(expr)
        if use is not None and use[0] in self.metadata:
            return _rebuilt(use[1], self.metadata[use[0]], isinstance(expr, Comprehension))
        number = gradient_number(expr)
        if number is not None:
            return Name(f"grad{number}")
        match expr:
            case Call(Name("wrap_opt_if"), (tensor, _)):  # None where it was not kept
                return self.rewritten(tensor, bound)
            case Name(name):
                return expr if name in bound else self.name(expr)
        inner = bound | bound_by(expr)
        return mapped(expr, lambda part: self.rewritten(part, inner))

    def name(self, expr: Name) -> Expr:
        """What generated code has for a name that the formula does not bind itself."""
        name = "self" if expr.id == ORIGINAL_SELF else expr.id
        if name in self.known:
            return Name(parameter_name(name))
        if name in self.helpers:
            module, _, function = self.helpers[name].rpartition(".")
            self.used_helpers.add(module)
            return Attribute(Name(alias(module)), function)
        if name in TENSOR_BUILTINS:  # not the declared function of that name
            return expr
        return dotted(self.functions[name]) if name in self.functions else expr


#: What formulas know that is neither a tensor nor an argument.
_NO_TENSORS = frozenset({"grad_input_mask", "retain_variables"})


class NodeWriter:
    """Makes the NodeClasses over Tensors, and the forward-mode functions."""

    def __init__(self, functions: Mapping[str, str], operators: Iterable[Operator]) -> None:
        self.functions = functions
        self.widening = Widening(operators)
        self.modules: dict[str, str] = {}

    # -- Nodes -----------------------------------------------------------------------------

    def node(self, spec: NodeSpec) -> NodeClass:
        """The class that applies the formulas to Tensors."""
        common, branches = unpacked_once(spec, [self._branch(spec, g) for g in spec.gradients])
        slots = [s for saved in spec.saved for s in slots_of(saved)]
        slots += ["num_inputs"] if number_of_gradients(spec.operator) is None else []
        results = any(s.what == "result" for s in spec.saved)
        released = tuple(s.slot for s in spec.saved if s.what in ("tensor", "tensors", "result"))
        return NodeClass(
            name=spec.name,
            bases="SavesResults" if results else "GeneratedNode",
            slots=tuple(sorted(slots)),
            parameter="grads" if takes_tuple(spec.operator) else "grad",
            gradients=tuple([f"g{i}" for i in range(len(spec.inputs))]),
            common=common,
            branches=branches,
            returned=returned_by(spec),
            released=released,
            shown=spec.shown,
            num_inputs=number_of_gradients(spec.operator),
            constants=spec.constants,
            doc=f"{spec.operator.schema}",
        )

    def _branch(self, spec: NodeSpec, gradient: Gradient) -> Branch:
        kept = saved(gradient.formula, spec.operator)
        rewriter = Rewriter(spec.helpers, self.functions, {n: f"node._{n}" for n, _ in kept.metadata})
        prepare = list(self._unpack(spec, gradient, rewriter))
        tree = rewriter.rewritten(gradient.formula.tree)
        self._import(rewriter.used_helpers)
        return Branch(
            condition=condition_of(spec, gradient.inputs),
            prepare=tuple(prepare),
            targets=gradient.targets,
            formula=tree,
            named=tuple(self._widened(spec, gradient, rewriter.known, tree)),
        )

    def _widened(self, spec: NodeSpec, gradient: Gradient, known: set[str], tree: Expr) -> Iterable[Local]:
        """The statement that widens the tensors of a formula, of which ``tree`` is the rewritten one."""
        others = {a.name for a in spec.operator.schema.arguments if not a.is_tensor_like}
        used = {name.id for name in free_names(tree)}
        names = [n for n in map(parameter_name, sorted(known - others - _NO_TENSORS)) if n in used]
        names.sort(key=lambda name: name != "grad")
        first = spec.inputs[gradient.inputs[0]]
        one = len(gradient.inputs) == 1 and not first.is_tensor_list and not takes_tuple(spec.operator)
        edge = edge_of(spec, gradient.inputs[0]) if one and "grad" in names else None
        trees, is_part = [gradient.formula.tree], gradient.target is not None
        return self.widening.statements(spec.operator, trees, names, spec.helpers, edge, is_part)

    def _import(self, modules: Iterable[str]) -> None:
        for module in modules:
            self.modules[alias(module)] = module_path("tengen.formulas", module)

    def _unpack(self, spec: NodeSpec, gradient: Gradient, rewriter: Rewriter) -> Iterable[Local]:
        """Names for what the Node saved."""
        kept = saved(gradient.formula, spec.operator)
        yield from gradient_statements(spec, gradient.formula.tree, rewriter, "materialize")
        if kept.input_mask:
            rewriter.known.add("grad_input_mask")
            yield mask_of(spec, gradient.inputs)
        if kept.retain_variables:
            rewriter.known.add("retain_variables")
            yield Local("retain_variables", call("graph_is_kept"))
        positions = {a.name: i for i, a in enumerate(spec.inputs)}
        arguments = {a.name: a for a in spec.operator.schema.arguments}
        conditional = [name for name, _ in kept.conditional]
        for name in (*kept.tensors, *conditional, *kept.values):
            rewriter.known.add(name)
            yield unpack_statement(spec, arguments[name], positions.get(name), name in conditional)
        for name, number in results_used(spec.operator, gradient):
            rewriter.known.add(name)
            T = f"node.type[{number}]" if takes_tuple(spec.operator) else "node.type"
            yield Local(name, filled(f"unpack_result(node, node._result{number}, {number}, {T})"))

    # -- forward mode ------------------------------------------------------------------------

    def jvp(self, spec: JvpSpec, node: NodeSpec | None) -> JvpFunction:
        """``jvp(primals..., tangents..., results...)``: the tangents of the results."""
        arguments = spec.operator.schema.arguments
        results = results_in_order(spec.operator)
        inputs = node.inputs if node is not None else tuple(a for a in arguments if a.is_tensor_like)
        parameters = [parameter_name(a.name) for a in arguments]
        more = [f"{a.name}_t" for a in inputs] + results
        parameters += more
        names = [parameter_name(a.name) for a in arguments if a.is_tensor_like] + more
        refused = {
            f"{inputs[i].name}_t": g.formula.tree
            for g in (node.gradients if node is not None else ())
            if not g.formula.implemented
            for i in g.inputs
        }
        zeros = tuple((f"{a.name}_t", parameter_name(a.name)) for a in inputs if f"{a.name}_t" not in refused)
        trees: list[Expr | None] = [None] * len(results)
        if spec.kind == "formula":
            for i, formula in spec.formulas:
                trees[i] = self._tangent(spec, formula.tree, inputs)
        elif spec.kind == "auto_linear":
            trees = [self._linear(spec, inputs)]
        else:
            assert node is not None
            trees = [self._element_wise(spec, node)]
        shared = [(s.name, self._tangent(spec, s.formula.tree, inputs)) for s in spec.shared]
        calls, formulas = shared_calls(trees, "_tangents")
        used = {n.id for t in (*trees, *(tree for _, tree in shared)) if t is not None for n in free_names(t)}
        tangents = [tangent for tangent, _ in zeros]
        of_tangents = any([name.id in tangents for _, tree in shared for name in free_names(tree)])
        single = trees[0] if len(trees) == 1 and not of_tangents else None
        sum_ = None if single is None else terms(single, tangents, SUM)
        return JvpFunction(
            name=spec.name,
            parameters=", ".join(parameters),
            zeros=zeros if sum_ is None else (),
            formulas=tuple(formulas) if sum_ is None else (sum_[1],),
            doc=str(spec.operator.schema),
            shared=(*shared, *calls),
            terms=() if sum_ is None else sum_[0],
            sum=SUM,
            refused=tuple(refused.items()),
            widened=tuple(self._widened_tangents(spec, node, [n for n in names if n in used])),
        )

    def _widened_tangents(self, spec: JvpSpec, node: NodeSpec | None, names: list[str]) -> Iterable[Local]:
        """The statement that widens what the formulas of tangents use: primals, tangents and results."""
        if spec.kind == "formula":
            formulas = [*(formula for _, formula in spec.formulas), *(s.formula for s in spec.shared)]
            return self.widening.statements(spec.operator, [f.tree for f in formulas], names, spec.helpers)
        if spec.kind == "auto_linear" or node is None:  # one step, which may be a view
            return ()
        trees = [g.formula.tree for g in node.gradients if g.formula.implemented]
        return self.widening.statements(spec.operator, trees, names, node.helpers)

    def _tangent(self, spec: JvpSpec, tree: Expr, inputs: tuple[Argument, ...]) -> Expr:
        """The formula of a result, of the names that the function has."""
        rewriter = Rewriter(spec.helpers, self.functions, {})
        primals = {f"{a.name}_p": parameter_name(a.name) for a in spec.operator.schema.arguments}
        primals[f"{ORIGINAL_SELF}_p"] = primals[ORIGINAL_SELF] = "self"
        primals[f"{ORIGINAL_SELF}_t"] = "self_t"
        names = result_numbers(spec.operator.schema.returns)
        order = results_in_order(spec.operator)
        aliases = {n: order[i] for n, i in names.items() if n not in order}
        rewriter.known |= (
            {a.name for a in spec.operator.schema.arguments} | {f"{a.name}_t" for a in inputs} | set(order)
        )
        tree = replaced(tree, {name: Name(other) for name, other in (primals | aliases).items()})
        if is_real(spec.operator):
            tree = real(tree)
        found = rewriter.rewritten(tree)
        self._import(rewriter.used_helpers)
        return found

    def _linear(self, spec: JvpSpec, inputs: tuple[Argument, ...]) -> Expr:
        """A linear operator, applied to its tangents."""
        linear = {a.name for a in inputs}
        given = [
            Name(f"{a.name}_t" if a.name in linear else parameter_name(a.name))
            for a in spec.operator.schema.arguments
        ]
        return Call(Call(Name("operator"), (Constant(str(spec.operator.name)),)), tuple(given))

    def _element_wise(self, spec: JvpSpec, node: NodeSpec) -> Expr:
        """The tangent of an elementwise operator, by the formulas of its gradients."""
        operator = spec.operator
        tangents: dict[Expr, ValueType] = {Name(f"{a.name}_t"): ARRAY for a in node.inputs}
        gives = of_operators(dict.fromkeys(self.functions, ARRAY), node.helpers)
        conjugates = Conjugates(Types(formula_environment(names_of_formula(operator) | tangents, gives)))
        parts: list[Expr] = []
        for gradient in [g for g in node.gradients if g.formula.implemented]:
            name = node.inputs[gradient.inputs[0]].name
            rewriter = Rewriter(node.helpers, self.functions, {})
            rewriter.known |= {a.name for a in operator.schema.arguments} | set(
                result_numbers(operator.schema.returns)
            )
            # The formula is linear in grad: conj(f(conj(t))) multiplies by the derivative itself.
            tree = replaced(gradient.formula.tree, {"grad": conj(Name(f"{name}_t"))})
            rewriter.known |= {f"{name}_t"}
            tree = real(tree) if is_real(operator) else conjugates.of(tree)
            parts.append(rewriter.rewritten(tree))
            self._import(rewriter.used_helpers)
        return functools.reduce(lambda a, b: Operation("+", (a, b)), parts)


#: What the sum of a forward-mode formula's terms is called.
SUM = "_tangent"


def is_real(operator: Operator) -> bool:
    """Whether it is never computed of complex numbers."""
    known = list(operator.dtypes.values())
    return bool(known) and not any(name.startswith("Complex") for names in known for name in names)


def results_in_order(operator: Operator) -> list[str]:
    """The names of the results as parameters: ``result``, or ``values, indices``."""
    returns = operator.schema.returns
    if len(returns) == 1:
        return ["result"]
    return [r.name or f"result{i}" for i, r in enumerate(returns)]


def results_used(operator: Operator, gradient: Gradient) -> list[tuple[str, int]]:
    """The names of results that a formula uses, and their numbers."""
    arguments = {a.name for a in operator.schema.arguments}
    numbers = result_numbers(operator.schema.returns)
    used = gradient.formula.names()
    return [(n, i) for n, i in numbers.items() if n in used and n not in arguments]


def takes_tuple(operator: Operator) -> bool:
    """Whether the Node gets a tuple of gradients: several results, or a list of tensors."""
    returns = operator.schema.returns
    return len(returns) > 1 or any(r.type.is_tensor_list for r in returns)


def number_of_gradients(operator: Operator) -> int | None:
    """How many gradients the Node receives; None when that depends on the call."""
    returns = operator.schema.returns
    return None if returns[0].type.is_tensor_list else len(returns)


def slots_of(saved: Saved) -> tuple[str, ...]:
    """The slots that one saved value takes."""
    return (saved.slot, f"{saved.slot}_version") if saved.what in ("tensor", "tensors") else (saved.slot,)


def gradient_statements(spec: NodeSpec, tree: Expr, rewriter: Rewriter, materialize: str) -> Iterable[Local]:
    """Names for the incoming gradients that a formula uses, zeros where they are undefined."""
    rewriter.known |= {"grad", "grads"}
    if not takes_tuple(spec.operator):
        return
    arguments = {a.name for a in spec.operator.schema.arguments}
    by_name = {f"grad_{n}": i for n, i in result_numbers(spec.operator.schema.returns).items()}
    wanted: dict[str, int] = {}
    for n in walk(tree):
        if n == Name("grad"):
            wanted["grad"] = spec.outputs[0] if spec.outputs else 0
        elif isinstance(n, Name) and n.id in by_name and n.id not in arguments:
            wanted[n.id] = by_name[n.id]
        elif (number := gradient_number(n)) is not None:
            wanted[f"grad{number}"] = number
    for name, number in wanted.items():
        rewriter.known.add(name)
        yield Local(name, call(materialize, Name("node"), Name("grads"), Constant(number)))


def unpack_statement(spec: NodeSpec, argument: Argument, position: int | None, conditional: bool) -> Local:
    """The name for one saved argument, as Tensor, Tensors or plain value.

    ``conditional`` says that the Node may have None in its place though the argument was given.
    """
    name, slot = parameter_name(argument.name), f"node._{argument.name}"
    kept, version = dotted(slot), dotted(f"{slot}_version")
    edge = edge_of(spec, position) if position is not None else NONE
    if argument.is_tensor_list:
        return Local(name, call("unpack_tensors", kept, version, edge))
    if not argument.is_tensor:
        return Local(name, kept)
    value = call("unpack_tensor", kept, version, edge)
    absent = conditional or argument.type.is_optional_tensor
    return Local(name, unless_none(kept, value) if absent else value)
