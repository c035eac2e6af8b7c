"""Calls as functions of their differentiable inputs."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import tengen
from tengen.codegen.model.derived import NodeSpec

from . import declared
from .declared import COMPLEX, REAL, calls, determined, flat, operators, run
from .refusals import computes
from .samples import Buffer, Call, Random

Function = Callable[..., list[Any]]


def nodes() -> Mapping[str, NodeSpec]:
    """The Nodes of the operators that have a derivative, by the operators' full names."""
    return declared.derived().nodes


def recorded(name: str) -> bool:
    """Whether an operator with samples can be differentiated on random inputs."""
    operator = operators()[name]
    if (
        not declared.deterministic(operator)
        or not declared.has_values(operator)
        or operator.factory is not None
    ):
        return False
    if name in nodes():
        return bool(declared.implemented(nodes()[name]))
    return operator.is_composite


def seed(call: Call) -> int:
    """A seed of the call's own."""
    return zlib.crc32(str(call).encode())


def inexact(tensor: Any) -> bool:
    """Whether a tensor can have a gradient."""
    return isinstance(tensor, tengen.Tensor) and (tensor.is_floating_point() or tensor.is_complex())


def hermitian(value: Any) -> bool:
    """Whether a sample's value stands for Hermitian matrices."""
    return isinstance(value, Random) and value.form == "posdef"


def constant(call: Call, place: int) -> bool:
    """Whether an argument is not differentiated: the sample says so, or buffers follow from it."""
    value = call.values[place]
    detached = isinstance(value, Random) and value.form == "detached"
    buffers = any(isinstance(v, Buffer) for v in call.values)
    return detached or (buffers and call.arguments[place].name != "grad_output")


def all_inputs(call: Call, values: list[Any]) -> list[tuple[int, int | None]]:
    """Where among the values the tensors that could be differentiable are: argument, and place in a list."""
    found: list[tuple[int, int | None]] = []
    for i, v in enumerate(values):
        if not constant(call, i):
            listed = enumerate(v) if isinstance(v, (list, tuple)) else ((None, v),)
            found += [(i, j) for j, t in listed if inexact(t)]
    return found


def inputs_of(call: Call, values: list[Any]) -> list[tuple[int, int | None]]:
    """Those of them for which a gradient is declared; all of a composite."""
    name = str(call.operator.name)
    spec = nodes().get(name) or nodes().get(name.removesuffix("_forward"))
    if spec is None:
        return all_inputs(call, values)
    names = declared.implemented(spec)
    return [(i, j) for i, j in all_inputs(call, values) if call.arguments[i].name in names]


def differentiable_results(operator: Any, result: Any) -> list[Any]:
    """The results that have a derivative, or what of them is determined."""
    results = flat(result)
    if operator.determined:
        return determined(operator, results)
    kept = differentiable_places(operator) or range(len(results))
    return [results[k] for k in kept if inexact(results[k])]


def differentiable_places(operator: Any) -> list[int]:
    """The numbers of the results that have a derivative, of an operator with several; else none."""
    spec = nodes().get(str(operator.name))
    several = spec is not None and len(operator.schema.returns) > 1
    return list(spec.outputs) if spec is not None and several else []


def as_function(call: Call, kind: Any) -> tuple[Function, list[Any]]:
    """The call as a function of its differentiable inputs, and these inputs."""
    values = call.tensors(kind)
    places = inputs_of(call, values)
    inputs = [values[i] if j is None else values[i][j] for i, j in places]

    def function(*points: Any) -> list[Any]:
        given = [list(v) if isinstance(v, list) else v for v in values]
        for (i, j), p in zip(places, points, strict=True):
            if hermitian(
                call.values[i]
            ):  # such an operator reads one triangle; it varies over Hermitian matrices
                p = (p + p.mH) / 2
            if j is None:
                given[i] = p
            else:
                given[i][j] = p
        if call.operator.name.inplace:
            written: Any = given[0]
            given[0] = written.clone()  # a leaf cannot be written to
        return differentiable_results(call.operator, run(str(call.operator.name), given))

    return function, inputs


def cases(name: str) -> list[tuple[Call, Any]]:
    """The calls in their dtypes that have something to differentiate, smoothly."""
    found = []
    for call in calls(name):
        if not call.hand_picked:
            found += [(call, kind) for kind in kinds(call) if _smooth(call, kind)]
    return found


def kinds(call: Call) -> list[Any]:
    """float64, and complex128, where the call takes them."""
    has = declared.dtypes_of(call.operator) or ([REAL] if call.only is None else call.only)
    return [d for d in (REAL, COMPLEX) if d in has and call.takes(d)]


def _smooth(call: Call, kind: Any) -> bool:
    """Whether there are inputs and results with the digits that differences take."""
    function, inputs = as_function(call, kind)
    if not any(t.numel() for t in inputs):
        return False
    try:
        results = function(*inputs)
    except Exception:
        return computes(str(call.operator.name), call, kind)  # then the check shows what it is
    return bool(results) and all(r.dtype in (REAL, COMPLEX) for r in results)
