"""Gradients of reductions, scans and selections where the rules differ: ties, zeros, infinities, NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tengen

nan, inf = math.nan, math.inf
pytestmark = pytest.mark.filterwarnings("ignore")


def leaf(values: Any) -> tengen.Tensor:
    kind = tengen.complex128 if np.iscomplexobj(np.array(values)) else tengen.float64
    return tengen.tensor(values, dtype=kind, requires_grad=True)


def gradient(y: tengen.Tensor, x: tengen.Tensor) -> list[Any]:
    (grad,) = tengen.autograd.grad(y, x)
    values: list[Any] = grad.tolist()
    return values


# -- subgradients -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "amax"])
def test_a_full_maximum_shares_ties(name: str) -> None:
    x = leaf([1.0, 3.0, 3.0])
    assert gradient(getattr(x, name)(), x) == [0, 0.5, 0.5]


def test_a_maximum_along_a_dim_takes_the_first() -> None:
    x = leaf([1.0, 3.0, 3.0])
    assert gradient(x.max(0).values, x) == [0, 1, 0]
    assert gradient(x.min(0).values, x) == [1, 0, 0]


def test_a_median_shares_and_a_median_along_a_dim_selects() -> None:
    x = leaf([2.0, 1.0, 2.0])
    assert gradient(x.median(), x) == [0.5, 0, 0.5]
    assert sum(gradient(x.median(0).values, x)) == 1


def test_the_maximum_of_nan_goes_to_nan() -> None:
    x = leaf([1.0, nan, nan])
    assert gradient(x.max(), x) == [0, 0.5, 0.5]


def test_norm_and_std_at_zero() -> None:
    x = leaf([0.0, 0.0])
    assert gradient(x.norm(), x) == [0, 0]
    x = leaf([3.0, 3.0])
    assert gradient(x.std(), x) == [0, 0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2.0, 0.0, 3.0], [0, 6, 0]),
        ([0.0, 0.0, 3.0], [0, 0, 0]),
        ([2.0, 5.0], [5, 2]),
        ([4.0], [1]),
    ],
)
def test_prod_is_exact_at_zeros(values: list[float], expected: list[float]) -> None:
    x = leaf(values)
    assert gradient(x.prod(), x) == expected
    assert gradient(x.prod(0), x) == expected


def test_the_second_derivative_of_prod_with_two_zeros() -> None:
    x = leaf([0.0, 0.0, 3.0])
    (first,) = tengen.autograd.grad(x.prod(), x, create_graph=True)
    (second,) = tengen.autograd.grad(first[0], x)
    assert second.tolist() == [0, 3, 0]


def test_cumprod_is_exact_at_zeros() -> None:
    x = leaf([2.0, 0.0, 3.0, 0.0])
    assert gradient(x.cumprod(0).sum(), x) == [1, 2 + 6, 0, 0]
    (first,) = tengen.autograd.grad(x.cumprod(0).sum(), x, create_graph=True)
    (second,) = tengen.autograd.grad(first[1], x)
    assert second.tolist() == [1 + 3, 0, 2, 6]


def test_log_sums_of_minus_infinity() -> None:
    x = leaf([-inf, 0.0, 0.0])
    assert gradient(x.logsumexp(0), x) == [0, 0.5, 0.5]
    assert gradient(x.logcumsumexp(0)[-1], x) == pytest.approx([0, 0.5, 0.5])
    nothing = leaf([-inf, -inf])
    assert gradient(nothing.logsumexp(0), nothing) == [0, 0]
    (twice,) = tengen.autograd.grad(nothing.logsumexp(0), nothing, create_graph=True)
    assert twice.tolist() == [0, 0]
    _, tangent = tengen.func.jvp(lambda z: z.logsumexp(0), (nothing.detach(),), (tengen.ones_like(nothing),))
    assert tangent.item() == 0


def test_sorting_carries_the_gradient_back() -> None:
    x = leaf([3.0, 1.0, 2.0])
    weights = tengen.tensor([1.0, 10.0, 100.0], dtype=tengen.float64)
    assert gradient((x.sort().values * weights).sum(), x) == [100, 1, 10]
    assert gradient((x.topk(2).values * weights[:2]).sum(), x) == [1, 0, 10]
    assert gradient((x.cummax(0).values * weights).sum(), x) == [111, 0, 0]


def test_reductions_of_nothing() -> None:
    x = leaf(np.zeros((0, 3)))
    for y in (x.sum(), x.prod(0).sum(), x.mean()):
        (grad,) = tengen.autograd.grad(y, x)
        assert grad.shape == (0, 3)


def test_counts_are_no_function_of_their_weights() -> None:
    assert not tengen.tensor([0, 1]).bincount(leaf([1.0, 2.0])).requires_grad


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_what_has_no_derivative_says_so(name: str) -> None:
    x = leaf([1.0, 2.0])
    y = getattr(x, name)()
    with pytest.raises((RuntimeError, NotImplementedError), match=name):
        tengen.autograd.grad(y.sum(), x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", [tengen.float64, tengen.complex128])
def test_linear_scan_against_its_definition(reverse: bool, kind: Any) -> None:
    from tengen.generated.functions import _linear_scan

    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(2, 4, 3)) + 1j * rng.normal(size=(2, 4, 3))
    start, factor = [tengen.tensor(a if kind.is_complex else a.real).requires_grad_() for a in arrays]

    def unrolled() -> tengen.Tensor:
        order = range(3, -1, -1) if reverse else range(4)
        steps: list[tengen.Tensor] = []
        for i in order:
            steps.append(start[i] + factor[i] * steps[-1] if steps else start[i])
        return tengen.stack(steps[::-1] if reverse else steps)

    weights = tengen.tensor(rng.normal(size=(4, 3)))
    found = []
    for y in (unrolled(), _linear_scan(start, factor, 0, reverse)):
        first = tengen.autograd.grad((y * weights).sum().abs(), (start, factor), create_graph=True)
        loss = sum([(g * g.conj()).sum().abs() for g in first])
        found.append((y, *first, *tengen.autograd.grad(loss, (start, factor))))
    for expected, value in zip(*found, strict=True):
        np.testing.assert_allclose(value.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)


# -- against PyTorch ----------------------------------------------------------------------------

ROWS: list[Any] = [
    [1.0, 3.0, 3.0, 2.0], [3.0, 3.0], [1.0, nan, 3.0, nan], [nan, nan], [2.0, 0.0, 3.0], [2.0, 0.0, 0.0, 3.0],
    [-inf, 1.0, 2.0], [5.0], [[1.0, 2.0], [2.0, 1.0]], [[0.0, 2.0], [3.0, 0.0]], [1e3, 1e3, -1e3],
]  # fmt: skip
CALLS = [
    "x.max()", "x.amax()", "x.amin(0)", "x.amax(-1, True)", "x.max(0)", "x.aminmax()", "x.aminmax(dim=0)",
    "x.median()", "x.nanmedian(0)", "x.prod()", "x.prod(0)", "x.cumprod(0)", "x.cumsum(-1)", "x.cummax(0)",
    "x.logsumexp(0)", "x.logcumsumexp(0)", "x.norm()", "x.norm(3)", "x.norm(2, 0)", "x.std()",
    "x.var(0, unbiased=False)", "L.std_mean(x)", "L.var_mean(x, 0, correction=0)", "x.nansum(0, True)",
    "x.nanmean()", "x.mode(0)", "x.sort(0, True)", "x.topk(1)", "x.kthvalue(1)", "x.msort()", "x.diff()",
    "x.mean()", "x.sum((), True)", "x * x.std()", "x.sum() * x.prod()",
]  # fmt: skip


#: Where torch gives NaN or another of the equal elements, or 0 without a degree of freedom.
LEFT_OUT: list[tuple[str, Any]] = [
    ("std()", [5.0]), ("cumprod", [-inf, 1.0, 2.0]), ("logcumsumexp", [-inf, 1.0, 2.0]),
    ("kthvalue", [2.0, 0.0, 0.0, 3.0]),
]  # fmt: skip


def derivatives(library: Any, call: str, values: Any) -> list[Any]:
    """Gradients and second derivatives of a fixed weighted sum of what ``call`` gives, as arrays."""
    complex_ = np.iscomplexobj(np.array(values))
    x = library.tensor(values, dtype=library.complex128 if complex_ else library.float64).requires_grad_()
    y = eval(call, {"L": library, "x": x})
    total = 0
    for part in y if isinstance(y, tuple) else (y,):
        if part.requires_grad:
            shape = tuple(part.shape)
            total = total + (part * library.tensor(np.linspace(0.5, 1.5, part.numel()).reshape(shape))).sum()
    if complex_ and total.is_complex():
        total = total.real + 2 * total.imag
    (first,) = library.autograd.grad(total, x, create_graph=True)
    found = [first]
    if first.requires_grad:
        weights = library.tensor(np.linspace(-1, 1, first.numel()).reshape(tuple(first.shape)))
        loss = (first * weights).sum()
        second = library.autograd.grad(loss.real if complex_ else loss, x, allow_unused=True)[0]
        found.append(library.zeros_like(x) if second is None else second)
    return [np.array(g.detach().tolist()) for g in found]


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS)
def test_against_torch(call: str) -> None:
    torch = pytest.importorskip("torch")
    complex_rows = [[1 + 2j, 0j, 3 - 1j], [1 + 1j, 2.0], [0j, 0j, 1j]]
    names = ("prod", "cumprod", "cumsum", "logsumexp", "logcumsumexp", "norm()", "std()", "mean()")
    rows = ROWS + (complex_rows if any(f".{name}" in call for name in names) else [])
    for values in rows:
        if any(name in call and values == row for name, row in LEFT_OUT):
            continue
        try:
            expected = derivatives(torch, call, values)
        except NotImplementedError:
            continue
        for found, wanted in zip(derivatives(tengen, call, values), expected, strict=False):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11, err_msg=f"{call} of {values}")
