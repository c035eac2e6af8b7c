"""Specialise: what methods record: the Node, its edges, and what it saves.

The flat methods of a backend's Types compute and record in one; the methods of ``VariableType``, which all
backends share, call the plain method and record what it gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...ir.expressions import Call, Constant, Expr, Name, Subscript, constant, mapped
from ...ir.reader import filled, read_expression
from ...ir.statements import NONE, names, tuple_of
from ..derive.derived import Derived
from ..model.annotations import parameter_name
from ..model.derived import NodeSpec, Saved, Variant
from ..model.methods import FallbackMethod, Method, RecordMethod, Refused
from ..model.operators import Operator
from ..model.records import Input, Kept, Record, Save, SaveGroup, Undifferentiable
from ..model.results import Result
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
    call = super_call(operator.name.method, operator)
    if node is None:
        inputs = tuple([Input.of(a) for a in operator.schema.arguments if a.is_tensor_like])
        return FallbackMethod(*header(operator, structures), call, inputs)
    return RecordMethod(
        *header(operator, structures),
        call=call,
        record=record_of(operator, node, (), array_form=False),
        inputs=tuple_of(names([parameter_name(a.name) for a in node.inputs])),
        outputs=_outputs(operator, node),
        refused=refused(node),
        is_view=operator.schema.is_view,
    )


def super_call(method: str, operator: Operator) -> Expr:
    """The call of a method of the superclass with the arguments of an operator."""
    given = names([parameter_name(a.name) for a in plain_arguments(operator)])
    return Call(filled(f"super().{method}"), given)


def record_of(operator: Operator, node: NodeSpec, results: tuple[Result, ...], array_form: bool) -> Record:
    """What a method records; ``results`` are those of a flat one, and ``array_form`` a Node over arrays."""
    return Record(
        node=f"{'_array_nodes' if array_form else node.module}.{node.name}",
        inputs=tuple(map(Input.of, node.inputs)),
        results=results,
        saves=tuple(_saves(operator, node, bool(results))),
        outputs=node.outputs,
        saves_results=any(s.what == "result" for s in node.saved),
        constants=node.constants,
        undifferentiable=_undifferentiable(operator, node),
    )


def _outputs(operator: Operator, node: NodeSpec) -> Expr | None:
    """The numbers of the differentiable results; NONE for all of a list, None for a single result."""
    returns = operator.schema.returns
    if len(returns) > 1:
        return constant(tuple(node.outputs))
    return NONE if any(r.type.is_tensor_list for r in returns) else None


def _undifferentiable(operator: Operator, node: NodeSpec) -> Undifferentiable | None:
    """What becomes of a result whose dtype, which an argument says, has no gradients; None if none can be."""
    if not any(a.type.is_optional_dtype for a in operator.schema.arguments):
        return None
    copies = all(g.formula.text == "grad" for g in node.gradients)
    return Undifferentiable.NO_HISTORY if copies else Undifferentiable.ERROR


def refused(node: NodeSpec) -> tuple[Refused, ...]:
    """The arguments that may not require gradients, each with the test of whether it does."""
    return tuple((a.name, Input.of(a).requires_grad) for a in node.refused)


def _saves(operator: Operator, node: NodeSpec, flat: bool) -> Iterable[SaveGroup]:
    """What fills a Node's saved slots, each only where a formula will ask."""
    lists = any(a.is_tensor_list for a in node.inputs)
    groups: dict[tuple[tuple[int, ...], Expr | None], list[Save]] = {}
    for saved in node.saved:
        asked = saved.needed_by if not lists and 0 < len(saved.needed_by) < len(node.inputs) else ()
        further = _with_mask(saved.condition, node.inputs)
        groups.setdefault((asked, further), []).append(_save(operator, saved, flat))
    return [SaveGroup(asked, further, tuple(saves)) for (asked, further), saves in groups.items()]


def _save(operator: Operator, saved: Saved, flat: bool) -> Save:
    """What fills the slot of a saved value; ``flat``: the arrays of results have names."""
    if saved.what == "result":
        number = "" if len(operator.schema.returns) == 1 else str(saved.index)
        array = f"outs[{number}]._array" if number else "out._array"
        return Save(saved.slot, Kept.RESULT, f"_r{number}" if flat else array)
    (argument,) = (a for a in operator.schema.arguments if a.name == saved.source)
    source = Input.of(argument)
    match saved.what:
        case "tensor" | "tensors":
            return Save(saved.slot, Kept.TENSOR, source.name, source.kind)
        case "value":
            return Save(saved.slot, Kept.VALUE, source.name, source.kind)
    return Save(saved.slot, Kept.METADATA, source.name, source.kind, saved.what)


def _with_mask(condition: str, inputs: Sequence[Argument]) -> Expr | None:
    """A condition of what is saved; in ``grad_input_mask`` it asks which inputs need their gradients."""

    def asked(expr: Expr) -> Expr:
        match expr:
            case Subscript(Name("grad_input_mask"), Constant(value=int(number))):
                return Input.of(inputs[number]).requires_grad
        return mapped(expr, asked)

    return asked(read_expression(condition)) if condition else None
