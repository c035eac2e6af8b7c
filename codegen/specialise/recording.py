"""Specialise: what methods record: the Node, its edges, and what it saves.

The flat methods of a backend's Types compute and record in one; the methods of ``VariableType``, which all
backends share, call the plain method and record what it gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..derive.derived import Derived
from ..model.annotations import parameter_name
from ..model.derived import NodeSpec, Variant
from ..model.metadata import SLOTS
from ..model.methods import (
    FallbackMethod,
    Method,
    Record,
    RecordMethod,
    Result,
    Save,
    SaveGroup,
    Undifferentiable,
)
from ..model.operators import Operator
from ..model.schema import Argument
from .headers import header, plain_arguments


def recorder(
    variant: Variant, derived: Derived, structures: Mapping[str, str], backend: str
) -> Method | None:
    """The method that calls the plain one of whatever Type and records it; None where there is no history.

    ``backend`` may have Nodes of its own.
    """
    operator = variant.operator
    node = derived.node(str(operator.name), backend)
    if node is None and str(operator.name) not in derived.missing:
        return None
    names = ", ".join(parameter_name(a.name) for a in plain_arguments(operator))
    call = f"super().{operator.name.method}({names})"
    if node is None:
        inputs = [a for a in operator.schema.arguments if a.is_tensor_like]
        condition = " or ".join(requires_grad(a) for a in inputs)
        return FallbackMethod(*header(operator, structures), call, edges(inputs), condition)
    return RecordMethod(
        *header(operator, structures),
        call=call,
        record=record_of(operator, node, (), array_form=False),
        inputs=_tuple([parameter_name(a.name) for a in node.inputs]),
        outputs=_outputs(operator, node),
        refused=refused(node),
        is_view=operator.schema.is_view,
    )


def record_of(operator: Operator, node: NodeSpec, results: tuple[Result, ...], array_form: bool) -> Record:
    """What a method records; ``results`` are those of a flat one, and ``array_form`` a Node over arrays."""
    return Record(
        node=f"{'_array_nodes' if array_form else node.module}.{node.name}",
        condition=" or ".join(requires_grad(a) for a in node.inputs),
        edges=edges(node.inputs),
        results=results,
        saves=tuple(_saves(operator, node, bool(results))),
        outputs=node.outputs,
        saves_results=any(s.what == "result" for s in node.saved),
        constants=node.constants,
        undifferentiable=_undifferentiable(operator, node),
    )


def _outputs(operator: Operator, node: NodeSpec) -> str:
    """The numbers of the differentiable results; None for all of a list, nothing for a single result."""
    returns = operator.schema.returns
    if len(returns) > 1:
        return _tuple([str(n) for n in node.outputs])
    return "None" if any(r.type.is_tensor_list for r in returns) else ""


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def _undifferentiable(operator: Operator, node: NodeSpec) -> Undifferentiable | None:
    """What becomes of a result whose dtype, which an argument says, has no gradients; None if none can be."""
    if not any(a.type.is_optional_dtype for a in operator.schema.arguments):
        return None
    copies = all(g.formula.text == "grad" for g in node.gradients)
    return Undifferentiable.NO_HISTORY if copies else Undifferentiable.ERROR


def requires_grad(argument: Argument) -> str:
    name = parameter_name(argument.name)
    match str(argument.type):
        case "Tensor":
            return f"{name}._requires_grad"
        case "Tensor?":
            return f"({name} is not None and {name}._requires_grad)"
    return f"any_requires_grad({name})"


def refused(node: NodeSpec) -> tuple[tuple[str, str], ...]:
    """The arguments that may not require gradients, each with the test of whether it does."""
    return tuple((a.name, requires_grad(a)) for a in node.refused)


def edges(inputs: Iterable[Argument]) -> str:
    """The expression of a Node's ``next_edges``."""
    inputs = tuple(inputs)
    parts: list[str] = []
    for a in inputs:
        name = parameter_name(a.name)
        match str(a.type):
            case "Tensor" if len(inputs) == 1:  # it is asked only where that requires gradients
                parts.append(f"{name}._edge or gradient_edge({name})")
            case "Tensor":
                parts.append(f"{name}._edge or (gradient_edge({name}) if {name}._requires_grad else None)")
            case "Tensor?":
                parts.append(f"None if {name} is None else {name}._edge or gradient_edge({name})")
            case _:
                parts.append(f"*gradient_edges({name})")
    if len(parts) == 1 and parts[0].startswith("*"):
        return parts[0][1:]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _saves(operator: Operator, node: NodeSpec, flat: bool) -> Iterable[SaveGroup]:
    """The statements that fill a Node's saved slots, each only where a formula will ask."""
    lists = any(a.is_tensor_list for a in node.inputs)
    arguments = {a.name: a for a in operator.schema.arguments}
    groups: dict[str | None, list[Save]] = {}
    for saved in node.saved:
        condition = _with_mask(saved.condition, node.inputs) or None
        if not lists and 0 < len(saved.needed_by) < len(node.inputs):
            wanted = " or ".join(f"edges[{i}] is not None" for i in saved.needed_by)
            condition = f"({wanted}) and ({condition})" if condition else wanted
        group = groups.setdefault(condition, [])
        if saved.what == "result":
            one = len(operator.schema.returns) == 1
            array = f"out{'' if one else f's[{saved.index}]'}._array"
            group.append(Save(saved.slot, f"_r{'' if one else saved.index}" if flat else array))
            continue
        argument = arguments[saved.source]
        name = parameter_name(argument.name)
        if saved.what in ("tensor", "tensors"):
            group.append(Save(saved.slot, f"tuple({name})" if saved.what == "tensors" else name))
            group.append(Save(f"{saved.slot}_version", _version(argument, name), otherwise="0"))
        elif saved.what == "value":
            group.append(Save(saved.slot, name))
        else:
            group.append(Save(saved.slot, kept_metadata(saved.what, argument, name)))
    return [SaveGroup(condition, tuple(saves)) for condition, saves in groups.items()]


def _with_mask(condition: str, inputs: Sequence[Argument]) -> str:
    """A condition of what is saved; in ``grad_input_mask`` it asks which inputs need their gradients."""
    return re.sub(
        r"\bgrad_input_mask\[(\d+)\]",
        lambda match: requires_grad(inputs[int(match[1])]),
        condition,
    )


def _version(argument: Argument, name: str) -> str:
    if argument.is_tensor_list:
        return f"versions({name})"
    version = f"0 if {name}._storage is None else {name}._storage.version"
    return f"0 if {name} is None else ({version})" if argument.type.is_optional_tensor else version


def kept_metadata(what: str, argument: Argument, name: str) -> str:
    """What is kept of a tensor, or of each of a list, in place of its data."""
    of = SLOTS[what]
    if argument.is_tensor_list:
        return f"tuple([{of.format('t')} for t in {name}])"
    text = of.format(name)
    return f"None if {name} is None else {text}" if argument.type.is_optional_tensor else text
