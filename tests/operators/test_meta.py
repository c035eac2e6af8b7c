"""The Meta backend against the CPU: shapes, dtypes and strides without data."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.testing import declared
from tengen.testing.declared import calls, flat, operators, run, working_dtypes
from tengen.testing.differentiable import inexact, nodes
from tengen.testing.samples import Call

META = {n: o for n, o in operators().items() if declared.runs_on_meta(o)}


def to_meta(value: Any) -> Any:
    """The argument with its tensors on Meta."""
    if isinstance(value, tengen.Tensor):
        return value.to("meta")
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_meta, value))
    if isinstance(value, tengen.device):
        return tengen.device("meta")
    return value


def on_meta(call: Call, kind: Any) -> list[Any]:
    """The call's values with all tensors and devices on Meta."""
    values = [to_meta(v) for v in call.tensors(kind)]
    if call.operator.factory is not None:
        place = next(i for i, a in enumerate(call.arguments) if str(a.type) == "Device?")
        values[place] = tengen.device("meta")
    return values


@pytest.mark.parametrize("name", META)
def test_shape_dtype_and_strides(name: str) -> None:
    for call in calls(name):
        for kind in working_dtypes(call):
            result = run(name, call.tensors(kind))
            expected = flat(result)
            if not expected and result is not None and not isinstance(result, (tuple, list)):
                continue
            found = flat(run(name, on_meta(call, kind)))
            assert len(found) == len(expected), str(call)
            for m, e in zip(found, expected, strict=True):
                assert m.device.type == "meta"
                assert (tuple(m.shape), m.dtype) == (tuple(e.shape), e.dtype), str(call)
                if e.numel() and e._is_view() and m._is_view():
                    assert (m.stride(), m.storage_offset()) == (e.stride(), e.storage_offset()), str(call)


@pytest.mark.parametrize("name", [n for n in nodes() if n in META and declared.implemented(nodes()[n])])
def test_backward_on_meta(name: str) -> None:
    """A backward pass runs without data, and gives gradients of the inputs' shapes."""
    if not declared.deterministic(META[name]):
        return
    for call in calls(name)[:1]:
        values = on_meta(call, working_dtypes(call)[0])
        inputs = [t for t in declared.tensors_in(values) if inexact(t)]
        for t in inputs:
            t.requires_grad_()
        results = [r for r in flat(run(name, values)) if r.requires_grad]
        if not results:
            continue
        found = tengen.autograd.grad(
            results, inputs, [tengen.ones_like(r) for r in results], allow_unused=True
        )
        for g, t in zip(found, inputs, strict=True):
            assert g is None or (g.shape == t.shape and g.dtype is t.dtype and g.device.type == "meta")
