"""In-place and out variants against the functional operator; views against memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.codegen.model import Argument, Operator
from tengen.testing import declared
from tengen.testing.closeness import close
from tengen.testing.declared import (
    REAL,
    aliases,
    calls,
    flat,
    has_values,
    operators,
    run,
    variants,
    working_dtypes,
)

OPERATORS = operators()
DETERMINISTIC = {n: o for n, o in OPERATORS.items() if declared.deterministic(o)}


def signature(operator: Operator) -> tuple[Any, ...]:
    """What an operator and its in-place form have in common."""
    return operator.name.base, *((a.name, str(a.type)) for a in operator.schema.arguments)


FUNCTIONAL = {signature(o): n for n, o in OPERATORS.items() if not o.name.inplace}


def written_in_place() -> list[tuple[str, str]]:
    """(in-place operator, functional operator), whether it is derived from that or has an entry."""
    entries = [o for o in declared.declared_operators().values() if o.name.inplace]
    entries = [o for o in entries if "inplace_view" not in o.tags and signature(o) in FUNCTIONAL]
    pairs = [(str(o.name), FUNCTIONAL[signature(o)]) for o in entries]
    return sorted({*based_on("inplace"), *(p for p in pairs if p[1] in DETERMINISTIC)})


def based_on(kind: str) -> list[tuple[str, str]]:
    """(variant, functional operator) of a kind, where the functional one has samples."""
    return [
        (name, str(v.base))
        for name, v in variants().items()
        if v.kind == kind and str(v.base) in DETERMINISTIC
    ]


@pytest.mark.parametrize(("name", "base"), written_in_place())
def test_in_place_is_the_functional_result(name: str, base: str) -> None:
    for call in calls(base):
        for kind in working_dtypes(call)[:1]:
            values = call.tensors(kind)
            target = values[0]
            if not isinstance(target, tengen.Tensor):
                continue  # a sample that gives a number
            expected = flat(run(base, call.tensors(kind)))[0]
            if expected.shape == target.shape and tengen.can_cast(expected.dtype, target.dtype):
                writes_in_place(name, values, expected)
            else:
                refuses(name, values)


def writes_in_place(name: str, values: list[Any], expected: Any) -> None:
    """The write keeps tensor and memory, and counts as one."""
    target = values[0]
    memory = target.data_ptr()
    assert run(name, values) is target
    assert target.data_ptr() == memory
    assert target._version == 1
    close(target.numpy(), expected.to(target.dtype).numpy(), 1e-12, name)


def refuses(name: str, values: list[Any]) -> None:
    """A result that does not fit is an error that changes nothing."""
    before = values[0].numpy().copy()
    with pytest.raises(RuntimeError):
        run(name, values)
    np.testing.assert_array_equal(values[0].numpy(), before)


@pytest.mark.parametrize(("name", "base"), written_in_place())
def test_in_place_on_a_leaf_is_refused(name: str, base: str) -> None:
    call = calls(base)[0]
    values = call.tensors(working_dtypes(call)[0])
    if not isinstance(values[0], tengen.Tensor) or not (
        values[0].is_floating_point() or values[0].is_complex()
    ):
        return
    values[0].requires_grad_()
    before = values[0].detach().numpy().copy()
    with pytest.raises(RuntimeError):
        run(name, values)
    np.testing.assert_array_equal(values[0].detach().numpy(), before)


@pytest.mark.parametrize(("name", "base"), based_on("out"))
def test_out_is_the_functional_result(name: str, base: str) -> None:
    operator = OPERATORS[base]
    for call in calls(base):
        for kind in working_dtypes(call)[:1]:
            expected = flat(run(base, call.tensors(kind)))
            outs = [tengen.empty((0,), dtype=e.dtype) for e in expected]
            values = [
                v for a, v in zip(call.arguments, call.tensors(kind), strict=True) if not _option(operator, a)
            ]
            single = len(operator.schema.returns) == 1
            returned = run(name, [*values, outs[0] if single else tuple(outs)])
            for out, back, e in zip(outs, flat(returned), expected, strict=True):
                assert back is out
                assert out.shape == e.shape
                if has_values(operator):
                    close(out.numpy(), e.numpy(), 1e-12, name)


def _option(operator: Operator, argument: Argument) -> bool:
    options = ("ScalarType?", "Layout?", "Device?", "bool?")
    return operator.factory is not None and argument.kwarg_only and str(argument.type) in options


@pytest.mark.parametrize(("name", "base"), [p for p in based_on("out") if p[1] in declared.derived().nodes])
def test_out_refuses_gradients(name: str, base: str) -> None:
    for call in calls(base)[:1]:
        values = call.tensors(REAL)
        tensors = [t for t in declared.tensors_in(values) if t.is_floating_point()]
        if not tensors or REAL not in working_dtypes(call):
            continue
        expected = flat(run(base, values))
        if not all(e.is_floating_point() for e in expected):
            continue
        outs = [tengen.empty((0,), dtype=e.dtype) for e in expected]
        tensors[0].requires_grad_()
        with pytest.raises(RuntimeError, match="automatic differentiation"):
            run(name, [*values, outs[0] if len(outs) == 1 else tuple(outs)])


@pytest.mark.parametrize("name", [n for n, o in OPERATORS.items() if aliases(o)])
def test_views_share_memory(name: str) -> None:
    if "maybe_aliasing_or_mutating" in OPERATORS[name].tags:
        return
    for call in calls(name):
        values = call.tensors(working_dtypes(call)[0])
        base = next(declared.tensors_in(values))
        memory = base.untyped_storage().data_ptr()
        for view in flat(run(name, values)):
            assert view.numel() == 0 or view.untyped_storage().data_ptr() == memory, str(call)
            if view._base is not None and view.numel():
                version = base._version
                with tengen.no_grad():
                    view.zero_()
                assert base._version == version + 1, str(call)


def own_memory(operator: Operator) -> bool:
    """Whether results are promised to share no memory with the arguments."""
    silent = "shares_silently" in operator.tags or declared.composite(operator)
    return not silent and all(r.alias is None for r in operator.schema.returns)


@pytest.mark.parametrize("name", [n for n, o in DETERMINISTIC.items() if own_memory(o)])
def test_results_have_their_own_memory(name: str) -> None:
    """A result that is no view shares memory with no input."""
    for call in calls(name):
        values = call.tensors(working_dtypes(call)[0])
        inputs = [t.numpy() for t in declared.tensors_in(values)]
        results = [t.detach().numpy() for t in flat(run(name, values))]
        for r in results:
            assert not any(np.shares_memory(r, i) for i in inputs), str(call)


def changes_in_place() -> list[tuple[str, str]]:
    """(operator that changes its argument's shape in place, the operator that returns a view)."""
    changing = [o for o in declared.declared_operators().values() if "inplace_view" in o.tags]
    return [(str(o.name), FUNCTIONAL[signature(o)]) for o in changing if signature(o) in FUNCTIONAL]


@pytest.mark.parametrize(("name", "base"), changes_in_place())
def test_views_in_place(name: str, base: str) -> None:
    """The tensor takes the shape, strides and place in memory that the view has."""
    for call in calls(base):
        kind = working_dtypes(call)[0]
        view = flat(run(base, call.tensors(kind)))[0]
        values = call.tensors(kind)
        memory = values[0].untyped_storage().data_ptr()
        assert run(name, values) is values[0]
        assert values[0].untyped_storage().data_ptr() == memory
        assert values[0].stride() == view.stride() and values[0].storage_offset() == view.storage_offset()
        assert values[0].tolist() == view.tolist()
