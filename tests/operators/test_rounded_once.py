"""Reduced types: whatever is on the way is of float32, and results and gradients are rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd import forward_ad
from tengen.autograd.forward.operators import rule_of
from tengen.core.operands import map_tensors, tensors_in
from tengen.core.scalar_type import named
from tengen.dispatch.operator import operator as operator_named
from tengen.testing import declared
from tengen.testing.aspects import Case
from tengen.testing.differentiable import inputs_of, nodes, recorded
from tengen.testing.dtypes import comparable

REDUCED = [named(s.dtype) for s in declared.scalar_types() if s.category == "reduced"]
#: Usual numbers, small ones (for float16 near the least), and such as have squares beyond its greatest.
MAGNITUDES = (1.0, 1e-6, 300.0)


def calls_of(name: str) -> Iterator[tuple[Case, float, list[Any], list[Any]]]:
    """The calls in reduced types, and the same numbers in the type that these are computed in."""
    has = declared.dtypes_of(declared.operators()[name])
    for call in declared.calls(name)[:3]:
        for kind in REDUCED:
            if call.takes(kind) and (kind in has or not has):
                case = Case(call, kind)
                for magnitude in (1.0,) if call.hand_picked or kind is not tengen.float16 else MAGNITUDES:
                    given = scaled(case, magnitude)
                    wide = map_tensors(
                        lambda t, kind=kind: fresh(t, kind.opmath if t.dtype is kind else t.dtype), given
                    )
                    if any(t.dtype is kind for t in tensors_in(given)):
                        yield case, magnitude, given, wide


def scaled(case: Case, magnitude: float) -> list[Any]:
    """The arguments with the tensors that follow the dtype times a number; what has a domain as it is."""
    names = [a.name for a in case.call.arguments]
    kept = [case.operator.domain.get(name) is not None for name in names]
    return [
        v if keep else map_tensors(lambda t: t * magnitude if t.dtype is case.kind else t, [v])[0]
        for v, keep in zip(case.values, kept, strict=True)
    ]


def fresh(tensor: Any, kind: Any) -> Any:
    return tensor.detach().clone().to(kind)


def runs(name: str, values: list[Any]) -> list[Any] | None:
    """The results; None where numbers of such a size, or such a dtype, are refused."""
    try:
        return declared.flat(declared.run(name, values))
    except (RuntimeError, NotImplementedError, ValueError):
        return None


def assert_rounded(found: Any, wide: Any, what: str, units: float = 1) -> None:
    """``found`` is ``wide`` rounded: within a unit, for sums of float32 may differ by one of its own."""
    kind = found.dtype
    if kind not in REDUCED:
        return
    limits = tengen.finfo(kind)
    a, b = found.detach().double().numpy(), wide.detach().to(kind).double().numpy()
    unit = np.maximum(np.abs(b) * limits.eps, limits.smallest_normal * limits.eps)
    with np.errstate(invalid="ignore", over="ignore"):
        near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= units * unit)
    # What rounds to infinity may as well be the greatest number.
    near |= np.isinf(b) & (np.abs(a) >= limits.max * (1 - limits.eps)) & (np.sign(a) == np.sign(b))
    assert near.all(), f"{what}: {a[~near]} is not {b[~near]}"


def checked(name: str) -> bool:
    operator = declared.operators()[name]
    return comparable(operator) and not declared.writes(operator)


@pytest.mark.parametrize("name", [n for n in declared.operators() if checked(n)])
def test_results(name: str) -> None:
    """Those of composites, too: their parts round, or they are declared to be computed in float32."""
    operator = declared.operators()[name]
    for case, magnitude, given, wide in calls_of(name):
        expected = runs(name, wide)
        found = None if expected is None else runs(name, given)
        if found is not None and expected is not None:
            pairs = zip(
                declared.determined(operator, found), declared.determined(operator, expected), strict=True
            )
            for t, e in pairs:
                assert_rounded(t, e, f"{case} times {magnitude}")


def leaf(tensor: Any) -> Any:
    return fresh(tensor, tensor.dtype).requires_grad_(tensor.is_floating_point())


@pytest.mark.parametrize(
    "name", [n for n, o in declared.operators().items() if checked(n) and o.is_composite and o.opmath]
)
def test_results_that_are_recorded(name: str) -> None:
    """They have the bits of those that are not, which a kernel may round by itself."""
    for case, magnitude, given, _ in calls_of(name):
        plain, kept = runs(name, given), runs(name, [*map_tensors(leaf, given[:1]), *given[1:]])
        assert plain is not None and kept is not None
        for a, b in zip(plain, kept, strict=True):
            same = a.numpy().tobytes() == b.detach().numpy().tobytes()
            assert same, f"{case} times {magnitude}: {a} is not {b}"


def differentiated(name: str) -> bool:
    """Whether one Node is recorded, or a composite is rounded once; others are tested as their parts."""
    operator = declared.operators()[name]
    return checked(name) and recorded(name) and (name in nodes() or operator.opmath)


@pytest.mark.parametrize("name", [n for n in declared.operators() if differentiated(n)])
def test_gradients(name: str) -> None:
    """They are the float32 gradients at what the Node saved, of which results were rounded before."""
    for case, magnitude, given, wide in calls_of(name):
        inputs = [leaves(case, values) for values in (given, wide)]
        results = [runs(name, values) for values in (given, wide)]
        if results[0] is None or results[1] is None:
            continue
        kept = [i for i, r in enumerate(results[1]) if r.requires_grad]
        if not kept or not inputs[0]:
            continue
        for narrow, full in zip(*results, strict=True):
            hand_over_results(narrow.grad_fn, full.grad_fn)
        rng = np.random.default_rng(len(name))
        grads = [tengen.from_numpy(rng.uniform(-1, 1, results[1][i].shape)).to(case.kind) for i in kept]
        try:
            expected, found = (gradients(results[k], kept, inputs[k], grads) for k in (1, 0))
        except NotImplementedError:
            continue
        for a, b in zip(found, expected, strict=True):
            assert (a is None) is (b is None), str(case)
            if a is not None:
                assert_rounded(a, b, f"the gradient of {case} times {magnitude}")


def leaves(case: Case, values: list[Any]) -> list[Any]:
    """The differentiable arguments of the reduced type, or of its wide one, which are made to be leaves."""
    found = []
    for i, j in inputs_of(case.call, values):
        tensor = values[i] if j is None else values[i][j]
        if tensor.dtype in (case.kind, case.kind.opmath):
            found.append(tensor.requires_grad_())
    return found


def gradients(results: Any, kept: list[int], inputs: list[Any], grads: list[Any]) -> Any:
    outputs = [results[i] for i in kept]
    given = [g.to(r.dtype) for g, r in zip(grads, outputs, strict=True)]
    return tengen.autograd.grad(outputs, inputs, given, allow_unused=True)


def hand_over_results(narrow: Any, full: Any) -> None:
    """Give a Node the results that the Node of a reduced type saved, as they were rounded."""
    for owner in type(full).__mro__:
        for slot in getattr(owner, "__slots__", ()):
            if slot.startswith("_result") and hasattr(narrow, slot):
                saved, own = getattr(narrow, slot), getattr(full, slot)
                if isinstance(own, np.ndarray):
                    setattr(full, slot, saved.astype(own.dtype))


@pytest.mark.parametrize("name", [n for n in declared.operators() if differentiated(n)])
def test_tangents(name: str) -> None:
    """They are the float32 tangents at the results as they were rounded, where formulas use these."""
    for case, magnitude, given, wide in calls_of(name):
        try:
            found = tangents(case, name, given)
            with results_rounded(name, case.kind):
                expected = tangents(case, name, wide)
        except (RuntimeError, NotImplementedError, ValueError):
            continue
        for a, b in zip(found, expected, strict=True):
            assert (a is None) is (b is None), str(case)
            if a is not None:
                assert_rounded(a, b, f"the tangent of {case} times {magnitude}")


@contextmanager
def results_rounded(name: str, kind: Any) -> Iterator[None]:
    """Meanwhile the forward formula of an operator is given results as the reduced type has them."""
    rule = rule_of(operator_named(name))
    if rule is None or not rule.results:
        yield
        return
    formula, count = rule.formula, rule.results

    def of_rounded(*given: Any) -> Any:
        def rounded(t: Any) -> Any:
            return t.to(kind).to(t.dtype) if t.dtype is kind.opmath else t

        return formula(*given[:-count], *map_tensors(rounded, list(given[-count:])))

    rule.formula = of_rounded
    try:
        yield
    finally:
        rule.formula = formula


def tangents(case: Case, name: str, values: list[Any]) -> list[Any]:
    """Those of the results, of random ones of all differentiable inputs, the same numbers in either type."""
    rng = np.random.default_rng(len(name))
    own = list(values)
    with forward_ad.dual_level():
        for i, j in inputs_of(case.call, values):
            tensor = values[i] if j is None else values[i][j]
            if tensor.dtype not in (case.kind, case.kind.opmath):
                continue
            tangent = tengen.from_numpy(rng.uniform(-1, 1, tensor.shape)).to(case.kind).to(tensor.dtype)
            dual = forward_ad.make_dual(tensor, tangent)
            if j is None:
                own[i] = dual
            else:
                own[i] = [*own[i][:j], dual, *own[i][j + 1 :]]
        return [forward_ad.unpack_dual(r).tangent for r in declared.flat(declared.run(name, own))]


functional = tengen.nn.functional
#: What is no operator, but made of several in Python.
FUNCTIONS = {
    "softsign": functional.softsign,
    "tanhshrink": functional.tanhshrink,
    "normalize": functional.normalize,
    "lp_pool1d": lambda x: functional.lp_pool1d(x.abs(), 3.0, 2),
    "lp_pool2d": lambda x: functional.lp_pool2d(x[None], 2.0, (2, 2)),
    "lp_pool3d": lambda x: functional.lp_pool3d(x[None, None], 2.0, (1, 2, 2)),
    "local_response_norm": lambda x: functional.local_response_norm(x[None], 3),
    "gaussian_nll_loss": lambda x: functional.gaussian_nll_loss(
        x, 0.5 * x, x.detach().abs() + 0.1, full=True
    ),
    "multilabel_soft_margin_loss": lambda x: functional.multilabel_soft_margin_loss(x, (x > 0).to(x.dtype)),
    "masked.std": lambda x: tengen.masked.std(x, 1, mask=tengen.arange(6) > 1),
    "masked.normalize": lambda x: tengen.masked.normalize(x, 2.0, 1, mask=tengen.arange(6) > 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", REDUCED, ids=str)
def test_functions_in_python(kind: Any, name: str) -> None:
    function = FUNCTIONS[name]
    rng = np.random.default_rng(len(name))
    for magnitude in (1.0, 1e-3, 1e-6, 30.0):
        narrow = tengen.from_numpy(magnitude * rng.standard_normal((4, 6))).to(kind)
        full = narrow.to(kind.opmath)
        results = [function(x.requires_grad_()) for x in (narrow, full)]
        assert results[0].dtype is kind
        assert_rounded(*results, f"{name} times {magnitude}")
        grad = tengen.from_numpy(rng.uniform(-1, 1, results[1].shape)).to(kind)
        found, expected = (
            tengen.autograd.grad(r, x, grad.to(r.dtype))[0]
            for r, x in zip(results, (narrow, full), strict=True)
        )
        limits = tengen.finfo(kind)
        # A sum of terms that cancel is as near as its greatest element.
        greatest = min(expected.abs().max().item(), limits.max)
        near, wanted = found.double(), expected.to(kind).double()
        bound = limits.eps * (greatest + limits.smallest_normal)
        assert ((near == wanted) | ((near - wanted).abs() <= bound)).all()


COUNT = 70000  # above the greatest float16
SHARES = {
    "mean": lambda x: x.mean(),
    "nanmean": lambda x: x.nanmean(),
    "max": lambda x: x.max(),
    "amin": lambda x: x.amin(),
    "logsumexp": lambda x: x.logsumexp(0),
    "scatter_reduce": lambda x: x.new_zeros(1).scatter_reduce(0, zeros(), x, "mean", include_self=False),
    "index_reduce": lambda x: x.new_zeros(1).index_reduce(0, zeros(), x, "mean", include_self=False),
    "segment_reduce": lambda x: tengen.segment_reduce(x, "mean", lengths=tengen.tensor([COUNT])),
    "avg_pool1d": lambda x: tengen.nn.functional.avg_pool1d(x.view(1, 1, -1), COUNT),
    "adaptive_avg_pool1d": lambda x: tengen.nn.functional.adaptive_avg_pool1d(x.view(1, 1, -1), 1),
    "masked.mean": lambda x: tengen.masked.mean(x, 0, mask=x == x),
}


def zeros() -> Any:
    return tengen.zeros(COUNT, dtype=tengen.int64)


@pytest.mark.parametrize("name", SHARES)
def test_counts_beyond_the_greatest_number(name: str) -> None:
    """What averages, or shares a gradient out, divides by the count itself: gradients are 1 / count each."""
    x = tengen.ones(COUNT, dtype=tengen.float16, requires_grad=True)
    result = SHARES[name](x)
    expected = 1 + np.log(COUNT) if name == "logsumexp" else 1.0
    limits = tengen.finfo(tengen.float16)
    assert abs(result.item() - expected) <= limits.eps * expected
    (grad,) = tengen.autograd.grad(result, x)
    unit = limits.smallest_normal * limits.eps  # 1 / count is subnormal
    # The logarithm is saved rounded, and its error is the gradient's.
    off = limits.eps * expected / COUNT if name == "logsumexp" else 0
    assert (np.abs(grad.double().numpy() - 1 / COUNT) <= unit + off).all()
