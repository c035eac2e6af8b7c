"""Every operator that has a symbolic: its declared samples, run by onnxruntime, give what tengen gives."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path[:0] = [
    str(Path(__file__).resolve().parents[1] / "operators"),
    str(Path(__file__).resolve().parents[1]),
]

pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

import tengen  # noqa: E402
from tengen.generated.symbolics import SYMBOLICS  # noqa: E402
from tengen.onnx import UnsupportedOperatorError, export  # noqa: E402
from tengen.operator import operator as find_operator  # noqa: E402
from tengen.testing.declared import (  # noqa: E402
    calls,
    dtypes_of,
    flat,
    has_values,
    operators,
    variants,
)
from tengen.testing.samples import Call  # noqa: E402
from tengen.utils.pytree import tree_leaves  # noqa: E402

NAMES = sorted(name for name in operators() if name in SYMBOLICS)

#: What onnxruntime says of a dtype or a shape that it does not compute with.
NOT_ITS = ("NOT_IMPLEMENTED", "Type Error", "INVALID_GRAPH", "Could not find an implementation")


def run(call: Call, kind: Any) -> tuple[list[Any], list[Any]] | None:
    """The results in onnxruntime and in tengen; None where onnxruntime does not have the dtype."""
    values = [tuple(v) if isinstance(v, list) else v for v in call.tensors(kind)]
    target = find_operator(str(call.operator.name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tengen.jit.TracerWarning)
        expected = flat(target(*values))
        model = export(lambda *given: target(*given), tuple(values))
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        if any(word in str(error) for word in NOT_ITS):
            return None
        raise
    try:
        return session_run(session, model, values), expected
    except Exception as error:
        if "data type is not supported" in str(error):
            return None
        raise


def session_run(session: Any, model: Any, values: list[Any]) -> list[Any]:
    """The outputs of a model."""
    tensors = [leaf for leaf in tree_leaves(tuple(values)) if isinstance(leaf, tengen.Tensor)]
    given = {i.name: t for i, t in zip(model.graph.input, tensors, strict=True)}
    used = {i.name for i in session.get_inputs()}
    found: list[Any] = session.run(None, {name: t.numpy() for name, t in given.items() if name in used})
    return found


def kinds_of(call: Call) -> list[Any]:
    """The dtypes that a sample is tried in: those that the operator and NumPy have."""
    has = dtypes_of(call.operator) or [tengen.float32, tengen.float64, *(call.only or ())]
    if not call.follows_dtype:
        has = has[-1:] if tengen.float32 not in has else [tengen.float32]
    return [d for d in dict.fromkeys(has) if call.takes(d) and d.name != "bfloat16" and not d.is_complex]


@pytest.mark.parametrize("name", NAMES)
def test_onnxruntime_gives_the_same(name: str) -> None:
    ran, reasons = 0, []
    for call in calls(name):
        if "nan" in call.text and len(call.operator.schema.returns) > 1:
            continue  # ONNX does not say where NaN stands in an order
        for kind in kinds_of(call):
            try:
                results = run(call, kind)
            except UnsupportedOperatorError as error:
                reasons.append(str(error))
                continue
            if results is None:
                reasons.append(f"onnxruntime does not compute {call} in {kind}")
                continue
            ran += 1
            compare(call, kind, *results)
    assert ran, reasons


def compare(call: Call, kind: Any, found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        array = b.detach().numpy() if has_values(call.operator) else np.zeros_like(b.numpy())
        assert a.dtype == array.dtype, (str(call), kind)
        assert a.shape == array.shape, (str(call), kind)
        rtol, atol = TOLERANCES.get(kind.name, (1e-7, 1e-7))
        np.testing.assert_allclose(
            a.astype(np.float64), array.astype(np.float64), rtol=rtol, atol=atol, err_msg=f"{call} in {kind}"
        )


#: onnxruntime's kernels are not tengen's: they round in other places.
TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (2e-5, 2e-5), "float64": (1e-6, 1e-6)}


def test_only_declared_operators_have_symbolics() -> None:
    assert set(SYMBOLICS) <= set(variants())
