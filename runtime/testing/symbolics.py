"""The ONNX symbolic: what onnxruntime gives for the exported operator against what tengen gives."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..core.operands import tensors_in
from ..dispatch.operator import operator as find_operator
from ..utils.pytree import tree_leaves
from . import declared
from .aspects import Aspect, Case
from .closeness import close
from .declared import determined, flat, has_values
from .failure import Mismatch, Part, blamed
from .samples import Call

#: What onnxruntime says of a dtype or a shape that it does not compute with.
NOT_ITS = ("NOT_IMPLEMENTED", "Type Error", "INVALID_GRAPH", "Could not find an implementation")

#: onnxruntime's kernels are not tengen's: they round in other places.
TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (2e-5, 2e-5), "float64": (1e-6, 1e-6)}

SYMBOLIC = Part("symbolic")


@functools.cache
def installed() -> bool:
    """Whether there is something to write a model with and something to run it."""
    return find_spec("onnx") is not None and find_spec("onnxruntime") is not None


def no_symbolic(operator: Operator) -> str:
    """Why an operator is not exported."""
    if not installed():
        return "onnx and onnxruntime are not installed"
    from tengen.generated.symbolics import SYMBOLICS

    return "" if str(operator.name) in SYMBOLICS else "it has no symbolic"


def kinds_of(call: Call) -> list[Any]:
    """The dtypes that a sample is tried in: those that the operator and NumPy have."""
    has = declared.dtypes_of(call.operator) or [tengen.float32, tengen.float64, *(call.only or ())]
    if call.hand_picked:  # numbers that stay floats where the rest is of integers
        has = [d for d in has if d.is_floating_point]
    if not call.follows_dtype:
        has = has[-1:] if tengen.float32 not in has else [tengen.float32]
    return [d for d in dict.fromkeys(has) if call.takes(d) and d.name != "bfloat16" and not d.is_complex]


def exported(name: str) -> list[Case]:
    """The calls of an operator that ONNX says something of."""
    several = len(declared.operators()[name].schema.returns) > 1
    calls = [*declared.calls(name), *declared.expected_calls(name)]
    kept = [c for c in calls if not ("nan" in c.text and several)]  # where NaN stands in an order is not said
    return [Case(call, kind) for call in kept for kind in kinds_of(call)]


@dataclass(frozen=True, slots=True)
class Results:
    """What a call gives in onnxruntime and in tengen, and the operators of ONNX that it is written with."""

    found: list[Any]
    expected: list[Any]
    written: frozenset[str]


def results(case: Case) -> Results | None:
    """The results of a case; None where onnxruntime does not have the dtype.

    Raises UnsupportedOperatorError where the symbolic does not cover the call.
    """
    values = [tuple(v) if isinstance(v, list) else v for v in case.values]
    target = find_operator(case.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tengen.jit.TracerWarning)
        expected = flat(target(*values))
        model = tengen.onnx.export(lambda *given: target(*given), tuple(values))
    found = _run(model, values)
    written = frozenset(node.op_type for node in model.graph.node)
    return None if found is None else Results(found, expected, written)


def session_of(model: Any) -> Any:
    """onnxruntime's session of a model, which logs nothing and computes in the thread that calls it."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # those of a pool spin: with small models a quarter of the time
    return ort.InferenceSession(model.SerializeToString(), options)


def _run(model: Any, values: list[Any]) -> list[Any] | None:
    """The outputs of a model; None where onnxruntime does not have the dtype."""
    try:
        session = session_of(model)
    except Exception as error:
        if any(word in str(error) for word in NOT_ITS):
            check_known(model)
            return None
        raise
    tensors = [leaf for leaf in tree_leaves(tuple(values)) if isinstance(leaf, tengen.Tensor)]
    given = {i.name: t for i, t in zip(model.graph.input, tensors, strict=True)}
    used = {i.name for i in session.get_inputs()}
    try:
        return list(session.run(None, {name: t.numpy() for name, t in given.items() if name in used}))
    except Exception as error:
        if any(text in str(error) for text in ("data type is not supported", "does not support double")):
            return None
        raise


def check_known(model: Any) -> None:
    """Mismatch where a model is written with what is no operator of ONNX, which no runtime would compute."""
    import onnx

    for node in model.graph.node:
        if not node.domain and not onnx.defs.has(node.op_type):
            raise Mismatch(f'ONNX has no operator "{node.op_type}"')


#: ONNX's operators that look for the greatest or the least, with what is written as one of them.
_SEARCHES: dict[str, Callable[[Any], Any]] = {
    "ArgMax": lambda x: x.argmax(0),
    "ArgMin": lambda x: x.argmin(0),
    "MaxPool": lambda x: tengen.nn.functional.max_pool1d(x[None], 3)[0, 0],
    "ReduceMax": lambda x: x.amax(0),
    "ReduceMin": lambda x: x.amin(0),
}


@functools.cache
def finds_nan(operator: str) -> bool:
    """Whether NaN is what an operator of ONNX finds in onnxruntime, as in tengen; ONNX does not say."""
    given = tengen.tensor([1.0, math.nan, 2.0])
    search = _SEARCHES[operator]
    found = _run(tengen.onnx.export(search, (given,)), [given])
    assert found is not None
    return bool(found[0] == search(given).numpy() or found[0] != found[0])


def _looks_for_nan(case: Case) -> bool:
    """Whether numbers are looked for where there is NaN."""
    tensors = tensors_in(case.values)
    return any(t.is_floating_point() and t.isnan().any() for t in tensors)


def check_symbolic(case: Case) -> None:
    """What onnxruntime gives is what tengen gives; a call that is not covered, or computed, is let off."""
    examined(case)


def examined(case: Case) -> str:
    """Check a case; why it could not be, or "" where it could."""
    name = case.name
    with blamed(case, "symbolic", SYMBOLIC, f"the model of {name} cannot be made or run"):
        try:
            found = results(case)
        except tengen.onnx.UnsupportedOperatorError as error:
            return str(error)
    if found is None:
        return f"onnxruntime does not compute {case}"
    if _looks_for_nan(case) and not all(finds_nan(o) for o in found.written & _SEARCHES.keys()):
        return f"onnxruntime passes NaN by where {case} finds it"
    message = f"the symbolic of {name} gives other values"
    with blamed(case, "symbolic", SYMBOLIC, message, called=("onnxruntime", "tengen")):
        compare(case, found.found, found.expected)
    return ""


def compare(case: Case, found: list[Any], expected: list[Any]) -> None:
    """The results of onnxruntime and of tengen: dtypes, shapes, and values where they mean something."""
    if len(found) != len(expected):
        raise Mismatch(f"{case}: {len(found)} outputs are not {len(expected)}")
    unique = case.operator.determined and determined(case.operator, expected)
    for a, b in zip(found, expected, strict=True):
        array = b.detach().numpy() if has_values(case.operator) else np.zeros_like(b.numpy())
        if a.dtype != array.dtype:
            raise Mismatch(
                f"{case}: {a.dtype} is not {array.dtype}", got=str(a.dtype), expected=str(array.dtype)
            )
        if unique and not any([b is t for t in unique]):
            continue
        rtol, atol = TOLERANCES.get(case.kind.name, (1e-7, 1e-7))
        close(a.astype(np.float64), array.astype(np.float64), rtol, str(case), atol)


ASPECTS = (
    Aspect(
        "symbolic",
        "the ONNX symbolic",
        check_symbolic,
        exported,
        no_symbolic,
        after=(
            "value",
            "dtypes",
        ),
    ),
)
