"""Each operator's values against its declared reference, its dtypes and its layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.special

import tengen
from tengen.codegen.specialise import result_kind
from tengen.promotion import common_dtype
from tengen.testing import declared
from tengen.testing.closeness import TOLERANCE, close, tolerance
from tengen.testing.declared import COMPLEX, REAL, calls, determined, flat, operators, run, working_dtypes
from tengen.testing.samples import Buffer, Call, Random, strided

OPERATORS = operators()
DETERMINISTIC = {n: o for n, o in OPERATORS.items() if declared.deterministic(o)}
TYPED = [n for n, o in OPERATORS.items() if o.dtypes and o.factory is None]


def reference(call: Call, kind: Any) -> Any:
    """What the declared reference gives for a call."""
    formula = call.operator.reference
    assert formula is not None
    names = {a.name: v for a, v in zip(call.arguments, call.arrays(kind), strict=True)}
    names |= {n: v.array_dtype for n, v in names.items() if isinstance(v, tengen.dtype)}
    scope = {**declared.reference_functions(), "np": np, "math": math, "scipy": scipy, **names}
    with np.errstate(all="ignore"):
        return eval(formula.text, scope)


@pytest.mark.parametrize("name", [n for n, o in DETERMINISTIC.items() if o.reference is not None])
def test_value_is_the_references(name: str) -> None:
    for call in calls(name):
        for kind in working_dtypes(call):
            expected = reference(call, kind)
            found = run(name, call.tensors(kind))
            tensors = flat(found)
            if not tensors:
                assert found == expected
                continue
            wanted = list(expected) if isinstance(expected, (tuple, list)) else [expected]
            assert len(tensors) == len(wanted), f"{call}: {len(tensors)} results, {len(wanted)} expected"
            for t, e in zip(tensors, wanted, strict=True):
                if e is not None:
                    found = t.detach().numpy()
                    assert found.dtype == t.dtype.array_dtype, f"{call} in {kind} is called {t.dtype}"
                    same = found.dtype.kind == np.asarray(e).dtype.kind
                    assert same, f"{call} in {kind}: {found.dtype} is not {np.asarray(e).dtype}"
                    close(found, e, tolerance(call.operator, kind), f"{call} in {kind}")


@pytest.mark.parametrize("name", TYPED)
def test_every_claimed_dtype_computes(name: str) -> None:
    """Each dtype gives the values of the widest one, in the dtype that the declaration says."""
    operator = OPERATORS[name]
    has = declared.dtypes_of(operator)
    for call in calls(name):
        for kind in filter(call.takes, has):
            values = call.tensors(kind)
            result = run(name, values)
            expected = result_dtype(call, values)
            dtypes = [t.dtype for t in flat(result)]
            arrays = [t.numpy().dtype for t in flat(result)]
            assert arrays == [d.array_dtype for d in dtypes], f"{call} in {kind}: {arrays} called {dtypes}"
            assert expected is None or set(dtypes) <= {expected}, (
                f"{call} in {kind}: {dtypes} is not {expected}"
            )
            wide = COMPLEX if kind.is_complex else REAL
            inexact = kind.is_floating_point or kind.is_complex
            if inexact and wide in has and name in DETERMINISTIC and declared.has_values(operator):
                wider = run(name, [_widened(v, kind, wide) for v in values])
                compare_widths(call, kind, result, wider)


def compare_widths(call: Call, kind: Any, found: Any, wider: Any) -> None:
    """Floating results agree with the same computed with more digits."""
    allowed = 10 * tolerance(call.operator, kind)
    pairs = zip(determined(call.operator, found), determined(call.operator, wider), strict=True)
    for t, e in pairs:
        if t.dtype.is_floating_point or t.dtype.is_complex:
            t = t.detach().to(COMPLEX if e.is_complex() else REAL)
            close(t.numpy(), e.detach().numpy(), allowed, f"{call} in {kind}")


def result_dtype(call: Call, values: list[Any]) -> Any:
    """What the declared promotion makes of the arguments; None where the kernel decides."""
    operator = call.operator
    kind = result_kind(operator)
    if kind == "bool":
        return tengen.bool
    if operator.promote is None or kind != "same":
        return None
    taking_part = [v for a, v in zip(call.arguments, values, strict=True) if a.name in operator.promoted]
    operands = [t for v in taking_part for t in (v if isinstance(v, list) else [v]) if t is not None]
    return common_dtype(operands, operator.promote)


def _widened(value: Any, kind: Any, wide: Any) -> Any:
    if isinstance(value, tengen.Tensor):
        return value.to(wide) if value.dtype is kind else value
    if isinstance(value, list):
        return [_widened(v, kind, wide) for v in value]
    return value


@pytest.mark.parametrize("name", TYPED)
def test_other_dtypes_are_refused(name: str) -> None:
    """A dtype that is not claimed is an error that names the operator, or promotes to one that is."""
    operator = OPERATORS[name]
    has = declared.dtypes_of(operator)
    call = next((c for c in calls(name) if isinstance(first_tensor(c), Random)), None)
    if call is None:
        return
    for scalar in declared.declarations().scalar_types:
        kind = tengen.scalar_type.named(scalar.dtype)
        if any(isinstance(v, Buffer) for v in call.values):
            continue  # the forward operator refuses
        values = call.tensors(kind)
        if computed_in(call, values, kind) in has:
            continue
        with pytest.raises((NotImplementedError, RuntimeError, TypeError)) as raised:
            run(name, values)
        assert operator.name.base.strip("_").split("_")[0] in str(raised.value)


def first_tensor(call: Call) -> Any:
    """The value of the argument whose dtype chooses the Type, where nothing promotes."""
    tensors = (v for a, v in zip(call.arguments, call.values, strict=True) if a.is_tensor_like)
    flat = (w for v in tensors for w in (v if isinstance(v, list) else [v]))
    return next((v for v in flat if v is not None), None)


def computed_in(call: Call, values: list[Any], kind: Any) -> Any:
    """The dtype that the declared promotion chooses for the kernel."""
    if call.operator.promote is None:
        return kind
    taking_part = [v for a, v in zip(call.arguments, values, strict=True) if a.name in call.operator.promoted]
    operands = [t for v in taking_part for t in (v if isinstance(v, list) else [v]) if t is not None]
    return common_dtype(operands, call.operator.promote)


@pytest.mark.parametrize("name", [n for n, o in DETERMINISTIC.items() if o.factory is None])
def test_layout_does_not_matter(name: str) -> None:
    """Inputs that are not contiguous give the values that contiguous ones give."""
    operator = OPERATORS[name]
    if not declared.has_values(operator) or "needs_exact_strides" in operator.tags:
        return
    for call in calls(name):
        for kind in working_dtypes(call)[:1]:
            plain = determined(operator, run(name, call.tensors(kind)))
            spread = determined(operator, run(name, call.tensors(kind, make=strided)))
            for a, b in zip(plain, spread, strict=True):
                assert a.dtype is b.dtype
                close(b.detach().numpy(), a.detach().numpy(), 1e-9, str(call))


@pytest.mark.parametrize("name", [n for n, o in DETERMINISTIC.items() if not declared.writes(o)])
def test_inputs_are_left_alone(name: str) -> None:
    for call in calls(name):
        for kind in working_dtypes(call)[:1]:
            values = call.tensors(kind)
            before = [t.detach().numpy().copy() for t in declared.tensors_in(values)]
            run(name, values)
            for t, e in zip(declared.tensors_in(values), before, strict=True):
                np.testing.assert_array_equal(t.detach().numpy(), e)
                assert t._version == 0


def test_tolerances_are_of_dtypes() -> None:
    """Every dtype that rounds has a tolerance."""
    inexact = {
        s.dtype for s in declared.declarations().scalar_types if s.category not in ("bool", "integral")
    }
    assert set(TOLERANCE) == inexact
