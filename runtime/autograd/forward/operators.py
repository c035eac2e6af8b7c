"""How a ForwardLevel runs an operator on duals: the operator, and then its forward formula."""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from tengen.generated.jvps import JVPS

from ...core.error_notes import public_name
from ...core.operands import tensors_in
from ...core.protocols import Operator
from ...core.tensor_base import TensorBase
from ...dispatch.operator import operator as operator_named
from ..grad_mode import grad_mode
from ..hooks import extra_of
from ..linear_maps import BroadcastTo, Cast, Copy, LinearBackward, apply_linear
from ..node import SavesResults
from ..view import differentiable
from .forward_grad import ForwardLevel, levels, tangent_of, wraps
from .tangents import base_of, match_layout, write, zero_tangent, zeros_with_layout

Arguments = tuple[Any, ...]
Proceed = Callable[..., Any]


class Rule:
    """The forward formula of an operator, called with primals, tangents and results."""

    __slots__ = ("formula", "inputs", "results")

    def __init__(self, formula: Any, operator: Operator) -> None:
        self.formula = formula
        code = formula.__code__
        names = code.co_varnames[: code.co_argcount]
        arguments = len(operator.parameters)
        where = {f"{_declared(name)}_t": i for i, name in enumerate(names[:arguments])}
        #: Which of the arguments have a tangent in the formula.
        self.inputs: list[int] = []
        for name in names[arguments:]:
            if name not in where:
                break
            self.inputs.append(where[name])
        self.results = len(names) - arguments - len(self.inputs)


def _declared(parameter: str) -> str:
    """What the schema calls a parameter: ``lambda`` is ``lambda_`` in Python."""
    name = parameter.removesuffix("_")
    return name if iskeyword(name) else parameter


_rules: dict[str, Rule | None] = {}


def rule_of(operator: Operator) -> Rule | None:
    """The rule of an operator, or of that which it is the variant of; None when there is none."""
    name = operator.name if operator.name in JVPS else operator.base or operator.name
    if name not in _rules:
        formula = JVPS.get(name)
        _rules[name] = None if formula is None else Rule(formula, operator_named(name))
    return _rules[name]


def run(level: ForwardLevel, operator: Operator, arguments: Arguments, proceed: Proceed) -> Any:
    """Run an operator, and its forward formula if an operand has a tangent at the level.

    Raises NotImplementedError for an out variant on duals, and for an operator that has no forward
    formula and is not made of operators that have.
    """
    if any([wraps(value) for value in tensors_in(arguments)]):
        from .batched import align_batch_dims

        return proceed(*align_batch_dims(level, arguments))
    tangents = tangents_of(level, arguments)
    if tangents is None:
        result = proceed(*arguments)
        if operator.kind == "view":
            _clear_tangents(level, arguments[0], result)
        return result
    if operator.kind == "out":
        raise NotImplementedError(
            f"Trying to use forward AD with {operator.function}_out that does not support it because it is "
            "an out= function"
        )
    if operator.kind == "mutating":
        raise not_implemented(operator)
    if operator.kind == "composite":
        return _composite(level, operator, arguments, tangents, proceed)
    rule = rule_of(operator)
    if operator.kind == "inplace":
        if rule is None and operator_named(str(operator.base)).decomposes:
            return _inplace_composite(operator, arguments)
        return _inplace(level, operator, rule, arguments, tangents, proceed)
    if rule is None:
        return (
            proceed(*arguments)
            if operator.decomposes
            else _run_without_formula(level, operator, arguments, proceed)
        )
    found = levels()
    primals = [_primal_of(level, a, found) for a in arguments]
    # A Node saves operands, or casts of them, with their tangents: the level must stay active.
    recorded = grad_mode.enabled and any([t._requires_grad for t in tensors_in(arguments)])
    suspended = False
    level.disabled_depth += 1
    try:
        suspended = not recorded and level.suspend()
        result = proceed(*arguments)
        suspended = suspended or level.suspend()
        results = result if rule.results > 1 else (result,)
        given = _evaluate(rule, primals, tangents, [_primal_of(level, r, found) for r in results])
        _set_tangents(level, operator, result, given, tangents)
    finally:
        level.disabled_depth -= 1
        if suspended:
            try:
                level.resume()
            except BaseException:  # an interrupt before it was resumed
                level.resume()
                raise
    return result


# -- operands ----------------------------------------------------------------------------------


def tangents_of(level: ForwardLevel, arguments: Arguments) -> list[Any] | None:
    """The tangent of each argument, lists of those of lists; None when none has one."""
    found: list[Any] = [None] * len(arguments)
    some = False
    for i, value in enumerate(arguments):
        if isinstance(value, TensorBase):
            found[i] = tangent_of(value, level)
            some = some or found[i] is not None
        elif value.__class__ in (list, tuple):
            listed = [tangent_of(t, level) if isinstance(t, TensorBase) else None for t in value]
            if any([t is not None for t in listed]):
                found[i], some = listed, True
    return found if some else None


def _primal_of(level: ForwardLevel, value: Any, found: list[ForwardLevel]) -> Any:
    """The primals of an argument or result; ``found`` are the levels of this thread."""
    if isinstance(value, TensorBase):
        return level.primal_of(value, found)
    return [_primal_of(level, v, found) for v in value] if _has_tensors(value) else value


def _has_tensors(value: Any) -> bool:
    """Whether an argument is a list of tensors, some of which may be None."""
    return value.__class__ in (list, tuple) and any([isinstance(v, TensorBase) for v in value])


def _evaluate(rule: Rule, primals: list[Any], tangents: list[Any], results: list[Any]) -> Any:
    """The tangents of the results by the formula."""
    given = []
    for i in rule.inputs:
        found = tangents[i]
        if found.__class__ is list:
            found = [zero_tangent(p) if t is None else t for p, t in zip(primals[i], found, strict=True)]
        given.append(found)
    return rule.formula(*primals, *given, *results)


# -- results -----------------------------------------------------------------------------------


def _set_tangents(
    level: ForwardLevel, operator: Operator, result: Any, found: Any, tangents: list[Any]
) -> None:
    """Set the tangents of the results of an operator."""
    if isinstance(result, TensorBase):
        pairs = [(result, found)]
    else:
        pairs = list(zip(result, found, strict=True))
    used = {id(base_of(t)) for t in tensors_in(tangents)}
    for out, tangent in pairs:
        if out is None or tangent is None or not differentiable(out._type):
            continue
        tangent = _broadcast_and_cast(tangent, out)
        if operator.kind != "view":
            tangent = match_layout(tangent, out, copy=id(base_of(tangent)) in used)
        level.set(out, tangent)
        if out._edge is not None:
            _share_with_node(level, out._edge, out)


def _broadcast_and_cast(tangent: Any, out: Any) -> Any:
    """The tangent in the shape and dtype of its tensor."""
    shape, T = out._array.shape, out._type
    found = tangent._array.shape
    if found != shape:
        tangent = apply_linear(BroadcastTo(tangent._type, tuple(found), tuple(shape)), tangent)
    if tangent._type.scalar_type is not T.scalar_type:
        tangent = apply_linear(Cast(tangent._type, T.recorded(tangent._type.recording)), tangent)
    return tangent


def _share_with_node(level: ForwardLevel, edge: tuple[Any, int], out: Any) -> None:
    """Share the tangents of a result with the Node that saves it, for the Node does not keep the tensor."""
    node, number = edge[0], edge[1]
    if not isinstance(node, SavesResults):
        return
    extra = extra_of(node)
    if extra.forward_grads is None:
        extra.forward_grads = {}
    extra.forward_grads[number] = out._meta.forward_grad


def _clear_tangents(level: ForwardLevel, source: Any, result: Any) -> None:
    """Say that a view has no tangent where its source has none, though their base has."""
    for out in (result,) if isinstance(result, TensorBase) else result:
        if out is not source and out._base is not None and tangent_of(out._base, level) is not None:
            level.set(out, None)


# -- operators without a formula -----------------------------------------------------------------


def _run_without_formula(
    level: ForwardLevel, operator: Operator, arguments: Arguments, proceed: Proceed
) -> Any:
    """Run an operator that has no forward formula: an error unless no result can have a tangent."""
    with level.disabled():
        result = proceed(*arguments)
    results = result if result.__class__ in (list, tuple) else (result,)
    if any([isinstance(r, TensorBase) and differentiable(r._type) for r in results]):
        raise not_implemented(operator)
    return result


def not_implemented(operator: Operator) -> NotImplementedError:
    """The error of an operator that has no forward formula."""
    return NotImplementedError(
        f"Trying to use forward AD with {public_name(operator.function)} that does not support it because it "
        "has not been implemented yet."
    )


def _composite(
    level: ForwardLevel, operator: Operator, arguments: Arguments, tangents: list[Any], proceed: Proceed
) -> Any:
    """Run a composite, whose operators compute the tangents. Its tangent changes shape with ``self``."""
    target, array = arguments[0], getattr(arguments[0], "_array", None)
    result = proceed(*arguments)
    if operator.base is not None and target._array is not array and tangents[0] is not None:
        with level.disabled():
            operator(tangents[0], *arguments[1:])
    return result


# -- in place ------------------------------------------------------------------------------------


def _inplace_composite(operator: Operator, arguments: Arguments) -> Any:
    """Run an in-place variant of a composite: write the functional result, which has its tangents.

    Its parts may save what they are given: if they are recorded they are given a copy.
    """
    target, *rest = arguments
    source = operator_named("clone")(target, None) if grad_mode.enabled else target
    write(target, operator_named(str(operator.base))(source, *rest))
    return target


def _inplace(
    level: ForwardLevel,
    operator: Operator,
    rule: Rule | None,
    arguments: Arguments,
    tangents: list[Any],
    proceed: Proceed,
) -> Any:
    """Run an in-place operator, and write the functional's formula into the tangent."""
    target = arguments[0]
    if not differentiable(target._type):
        return proceed(*arguments)
    if rule is None:
        # An error, unless what is written has no tangent: then it is zero.
        _run_without_formula(level, operator, arguments, operator_named(str(operator.base)).proceed)
        result = proceed(*arguments)
        _write(level, target, zero_tangent(target))
        return result
    with level.disabled():
        primals = [_primal_before_write(level, a, target) for a in arguments]
        kept = [_copy_if_written(t, tangents[0]) for t in tangents] if grad_mode.enabled else tangents
        result = proceed(*arguments)
        found = _evaluate(rule, primals, kept, [level.primal_of(target)])
        _write(level, target, zero_tangent(target) if found is None else _broadcast_and_cast(found, target))
    edge = _written_edge(target)
    if edge is not None:
        _share_with_node(level, edge, target)
    return result


def _primal_before_write(level: ForwardLevel, value: Any, target: Any) -> Any:
    """The primals of an argument before the write: what shares the target's memory is copied."""
    if isinstance(value, TensorBase):
        found = level.primal_of(value)
        shares = value is target or (value._storage is not None and value._storage is target._storage)
        return apply_linear(Copy(found._type), found) if shares else found
    return [_primal_before_write(level, v, target) for v in value] if _has_tensors(value) else value


def _copy_if_written(tangent: Any, written: Any) -> Any:
    """A tangent that the formula may save: a copy if it shares memory with the one that is written."""
    if written is None or tangent is None:
        return tangent
    if not isinstance(tangent, TensorBase):
        return [_copy_if_written(t, written) for t in tangent]
    shares = tangent is written or (tangent._storage is not None and tangent._storage is written._storage)
    return apply_linear(Copy(tangent._type), tangent) if shares else tangent


def _write(level: ForwardLevel, target: Any, value: Any) -> None:
    """Write the new tangent of a tensor into the old one, which its base and views share."""
    tangent = tangent_of(target, level)
    base = target._base
    if tangent is None and base is not None and not _is_cleared(level, target) and differentiable(base._type):
        level.set(base, zeros_with_layout(base, value))
        tangent = tangent_of(target, level)
    if tangent is None or (wraps(value) and not wraps(tangent)):
        level.set(target, match_layout(value, target, copy=True))
    else:
        write(tangent, value)


def _is_cleared(level: ForwardLevel, tensor: Any) -> bool:
    meta = tensor._meta
    return meta is not None and meta.forward_grad is not None and level in meta.forward_grad.tangents


def _written_edge(tensor: Any) -> Any:
    """The Node whose result was written into a tensor, and which of its results."""
    edge = tensor._edge
    if tensor._base is not None and tensor._base._edge is not None:
        node = tensor._base._edge[0]
        edge = (node.fn, node.number) if hasattr(node, "fn") else edge
    while edge is not None and isinstance(edge[0], LinearBackward):
        edge = edge[0].next_edges[0]
    return edge
