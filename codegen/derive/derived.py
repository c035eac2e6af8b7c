"""Derive: what follows from the declarations without being written in them.

In-place and out variants from ``autogen``, the functional half of operators that are only
in place, the Node of every derivative with what it saves, and the forward-mode functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ...ir.expressions import Attribute, Call, Name
from ...ir.writer import write
from ..model.autogen import functional_half, functional_of, inplace_variant, out_variant
from ..model.derived import Gradient, JvpSpec, NodeSpec, Saved, Variant
from ..model.metadata import METADATA
from ..model.names import IMPLICIT
from ..model.operators import Declarations, Derivative, Formula, Operator
from ..model.schema import OperatorName, Schema
from ..parse.formula import result_numbers, saved
from .differentiate import differentiate


@dataclass(frozen=True, slots=True)
class Derived:
    """The declarations with all that follows from them."""

    variants: tuple[Variant, ...]
    nodes: Mapping[str, NodeSpec]  # by the functional operator's full name
    jvps: Mapping[str, JvpSpec]
    alternatives: Mapping[str, Mapping[str, NodeSpec]]  # Nodes of single backends, by backend
    #: The operators that could be differentiated, and for which nobody has said how.
    missing: frozenset[str] = frozenset()

    def node(self, operator: str, backend: str) -> NodeSpec | None:
        """The Node that a backend records for an operator."""
        own = self.alternatives.get(backend, {}).get(operator)
        return own or self.nodes.get(operator)

    def all_nodes(self) -> list[NodeSpec]:
        """Every Node there is."""
        return [*self.nodes.values(), *(n for nodes in self.alternatives.values() for n in nodes.values())]


def derive(declared: Declarations) -> Derived:
    """Everything that will be generated."""
    variants = list(_variants(declared.operators))
    functional = {str(v.name): v.operator for v in variants if v.kind in ("functional", "view", "composite")}
    in_place = {str(v.name): v.operator for v in variants if v.kind == "inplace" and not v.operator.kernels}
    nodes: dict[str, NodeSpec] = {}
    jvps: dict[str, JvpSpec] = {}
    alternatives: dict[str, dict[str, NodeSpec]] = {}
    entries = (*declared.derivatives, *differentiate(declared))
    names = _node_names(entries, declared)
    for entry in entries:
        # What is derived may have a derivative of its own, where its functional operator has none.
        operator = in_place.get(str(entry.name)) or functional.get(_functional_name(entry.name, functional))
        if operator is None:
            continue
        node = _node(names[str(entry.name)], operator, entry)
        if declared.library and declared.owns(entry.place):
            node = replace(node, module="_library_nodes")
        if node.inputs:
            nodes[str(operator.name)] = node
        for backend, body in entry.dispatch.items():
            own = _node(node.name.replace("Backward", f"{backend}Backward"), operator, body)
            own = replace(own, module=node.module)
            alternatives.setdefault(backend, {})[str(operator.name)] = own
        jvp = _jvp(operator, entry)
        if jvp is not None:
            jvps[str(operator.name)] = jvp
    by_name = {_functional_name(entry.name, functional): entry for entry in entries}
    missing = frozenset(_missing(variants, declared, nodes, by_name))
    return Derived(tuple(variants), nodes, jvps, alternatives, missing)


# -- variants --------------------------------------------------------------------------


def _variants(operators: Collection[Operator]) -> Iterable[Variant]:
    declared = {str(o.name) for o in operators}
    in_place = {n.function for o in operators for n in (o.name, *o.autogen) if n.inplace}
    for operator in operators:
        if operator.schema.name.inplace or _writes_self(operator.schema):
            name = functional_of(operator.name)
            if str(name) not in declared and not operator.is_composite:
                yield Variant(functional_half(operator, name), "functional", exposed=False)
            yield Variant(operator, "composite" if operator.is_composite else "inplace", name)
            continue
        yield Variant(operator, _kind(operator))
        for name in operator.autogen:
            if str(name) in declared:
                continue
            if name.inplace:
                yield _inplace_alias(operator, name, in_place) or inplace_variant(operator, name)
            else:
                yield out_variant(operator, name)


def _kind(operator: Operator) -> str:
    if operator.is_composite:
        return "composite"
    return "view" if operator.schema.is_view else "functional"


def _writes_self(schema: Schema) -> bool:
    first = schema.positional[0] if schema.positional else None
    return first is not None and first.alias is not None and first.alias.write


def _inplace_alias(operator: Operator, name: OperatorName, in_place: Collection[str]) -> Variant | None:
    """``greater_``, where ``greater`` is ``self.gt(other)``: ``self.gt_(other)``; None for others."""
    kernel = operator.kernels.get(IMPLICIT)
    match None if kernel is None or kernel.function is not None else kernel.formula.tree:
        case Call(Attribute(Name(first), method), arguments, keywords) if (
            first == operator.schema.arguments[0].name and f"{method}_" in in_place
        ):
            assert kernel is not None
            call = Call(Attribute(Name(first), f"{method}_"), arguments, keywords)
            formula = Formula(replace(kernel.formula.source, value=write(call)), call)
            written = replace(kernel, formula=formula)
        case _:
            return None
    made = replace(inplace_variant(operator, name).operator, kernels={IMPLICIT: written})
    return Variant(made, "composite", operator.name)


# -- Nodes -----------------------------------------------------------------------------


def camel(name: str) -> str:
    """``log_softmax`` -> ``LogSoftmax``, ``max_pool2d`` -> ``MaxPool2D``, as in PyTorch."""
    return "".join(part.title() for part in name.split("_"))


def _node_names(entries: Iterable[Derivative], declared: Declarations) -> dict[str, str]:
    """``MulBackward0`` for the first entry of ``mul``, ``MulBackward1`` for the second, ...

    A library's begin with its name, for it does not know of the others.
    """
    count: dict[str, int] = {}
    names: dict[str, str] = {}
    for entry in entries:
        stem = entry.name.base.removesuffix("_forward")
        of_library = declared.library and declared.owns(entry.place)
        stem = camel(f"{declared.library}_{stem}" if of_library else stem)
        number = count.setdefault(stem, 0)
        count[stem] += 1
        names[str(entry.name)] = f"{stem}Backward{number}"
    return names


def _functional_name(name: OperatorName, functional: Mapping[str, Operator]) -> str:
    text = str(name)
    return text if text in functional else str(functional_of(name))


def _node(name: str, operator: Operator, entry: Derivative) -> NodeSpec:
    wanted = {n for names in entry.gradients for n in names}
    inputs = tuple(a for a in operator.schema.arguments if a.name in wanted)
    position = {a.name: i for i, a in enumerate(inputs)}
    gradients = (
        *(Gradient(tuple(position[n] for n in s.users), s.formula, s.name) for s in entry.shared),
        *(Gradient(tuple(position[n] for n in names), f) for names, f in entry.gradients.items()),
    )
    outputs = _differentiable_outputs(operator, entry)
    saved = saved_values(operator, gradients)
    refused = tuple(
        a
        for a in operator.schema.arguments
        if a.is_tensor and a.name not in wanted and a.name not in entry.non_differentiable
    )
    return NodeSpec(
        name, operator, inputs, outputs, gradients, saved, entry.place, entry.node, entry.helpers, refused
    )


# -- operators without a derivative ------------------------------------------------------


def _missing(
    variants: Iterable[Variant],
    declared: Declarations,
    nodes: Mapping[str, NodeSpec],
    entries: Mapping[str, Derivative],
) -> Iterable[str]:
    """The operators whose results could have a gradient, and for which nothing makes a Node.

    An entry that gives no formulas and yet says something declares that there is nothing to
    differentiate; one that is a name alone, that the derivative is missing.
    """
    inexact = {s.name for s in declared.scalar_types if s.category in ("floating", "reduced", "complex")}
    for variant in variants:
        operator = variant.operator
        name = str(operator.name)
        entry = entries.get(name)
        if variant.kind not in ("functional", "view") or operator.factory is not None or name in nodes:
            continue
        if entry is not None and (entry.non_differentiable or entry.output_differentiability is not None):
            continue
        computed = operator.dtypes.values()
        if operator.result_kind in ("bool", "int64") or (computed and not any(inexact & d for d in computed)):
            continue
        if any(a.is_tensor_like for a in operator.schema.arguments):
            yield name


def _differentiable_outputs(operator: Operator, entry: Derivative) -> tuple[int, ...]:
    count = len(operator.schema.returns)
    if entry.output_differentiability is not None:
        return tuple(i for i, yes in enumerate(entry.output_differentiability) if yes)
    if count > 1 and any("grad" in f.names() for f in entry.gradients.values()):
        return (0,)
    return tuple(range(count))


def _of_node(condition: str, gradient: Gradient) -> str:
    """A condition of ``wrap_opt_if`` with the Node's inputs in ``grad_input_mask``, not the key's."""
    return re.sub(
        r"\bgrad_input_mask\[(\d+)\]",
        lambda match: f"grad_input_mask[{gradient.inputs[int(match[1])]}]",
        condition,
    )


def saved_values(operator: Operator, gradients: Iterable[Gradient]) -> tuple[Saved, ...]:
    """What a Node with these formulas keeps, each value once."""
    arguments = {a.name: a for a in operator.schema.arguments}
    found: dict[str, Saved] = {}

    def keep(
        slot: str, source: str, what: str, inputs: tuple[int, ...], index: int = 0, condition: str = ""
    ) -> None:
        if slot in found:
            before = found[slot]
            inputs = tuple(sorted({*before.needed_by, *inputs}))
            both = sorted({before.condition, condition})  # "" is always
            condition = both[0] and " or ".join(f"({c})" for c in both)
        found[slot] = Saved(slot, source, what, inputs, index, condition)

    for gradient in gradients:
        kept = saved(gradient.formula, operator)
        whole = {n: "" for n in kept.tensors} | {n: c for n, c in kept.conditional if n not in kept.tensors}
        for name, condition in whole.items():
            what = "tensors" if arguments[name].is_tensor_list else "tensor"
            keep(f"_{name}", name, what, gradient.inputs, condition=_of_node(condition, gradient))
        for name in kept.values:
            keep(f"_{name}", name, "value", gradient.inputs)
        for number in (*kept.results, *(n for n, _ in kept.result_metadata)):
            keep(f"_result{number}", f"result{number}", "result", gradient.inputs, number)
        for name, attribute in kept.metadata:
            slot = METADATA[attribute].slot
            keep(f"_{name}_{slot}", name, slot, gradient.inputs)
    return tuple(found.values())


# -- forward mode ----------------------------------------------------------------------


def _jvp(operator: Operator, entry: Derivative) -> JvpSpec | None:
    if not entry.jvps:
        return None
    results = result_numbers(operator.schema.returns)
    name = operator.name.method
    automatic = {f.text for f in entry.jvps.values()} & {"auto_linear", "auto_element_wise"}
    if automatic:
        return JvpSpec(name, operator, (), automatic.pop(), entry.place)
    formulas = tuple((results[n], f) for n, f in entry.jvps.items())
    return JvpSpec(name, operator, formulas, "formula", entry.place, entry.helpers, entry.jvp_shared)
