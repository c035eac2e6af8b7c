"""Numbers and dtypes that PyTorch refuses: of complex numbers, and of tensors that do not go together."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

import tengen
from tengen.core.scalar_type import named
from tengen.dispatch.operator import operator
from tengen.generated.operators import OPERATORS
from tengen.testing.declared import calls, declared_operators, flat, run

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

DECLARED = declared_operators()
#: The variants that write, with an argument that is a number.
WRITING = [
    (name, position, p.name)
    for name in OPERATORS
    for position, p in enumerate(operator(name).parameters)
    if p.type in ("Scalar", "Scalar?")
    and operator(name).kind in ("inplace", "out")
    and operator(name).base in DECLARED
    and DECLARED[operator(name).base].factory is None
    and "other_layout" not in DECLARED[operator(name).base].tags  # has no samples
    and side.overload(name) is not None
]
KINDS = ("bool", "int64", "float32")


def theirs(name: str, base: str, values: list[Any], outs: list[Any]) -> None:
    """Torch's variant, with what it writes to."""
    schema, overload = DECLARED[base].schema, side.overload(name)
    words = [a.name for a in overload._schema.arguments if a.is_out]
    count = len(schema.positional)
    rest = zip(schema.kwarg_only, values[count:], strict=True)
    keywords = {a.name: side.value(v) for a, v in rest if v is not None}
    overload(*map(side.value, values[:count]), **keywords, **dict(zip(words, outs, strict=True)))


@pytest.mark.parametrize(("name", "position", "argument"), WRITING)
def test_a_complex_number_is_refused_alike_where_it_is_written(
    name: str, position: int, argument: str
) -> None:
    """What cannot be a real number is an error in place and with out, as it is without."""
    base, writes_out = str(operator(name).base), operator(name).kind == "out"
    for kind in map(named, KINDS):
        call = next((c for c in calls(base) if c.takes(kind)), None)
        if call is None:
            continue
        ours, there = call.tensors(kind), call.tensors(kind, make=side.from_array)
        result = side.outcome(run, base, list(ours))
        if side.failed(result):  # the dtype
            continue
        outs = [r.clone() for r in flat(result)] if writes_out else []
        beside = [side.from_array(r.numpy().copy()) for r in outs]
        ours[position] = there[position] = 1 + 2j
        if writes_out:
            ours.append(tuple(outs) if len(outs) > 1 else outs[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = side.outcome(run, name, ours), side.outcome(theirs, name, base, there, beside)
        assert side.failed(found) is side.failed(expected), f"{call} in {kind}: {found!r}, {expected!r}"


@pytest.mark.parametrize("variant", ["addcdiv", "addcdiv_"])
def test_addcdiv_of_two_integral_tensors(variant: str) -> None:
    """It is an error whatever the first is, and where only one of both is integral it is none."""
    kinds = ("bool", "uint8", "int64", "float32", "complex64")
    for first, second, third in itertools.product(("int64", "float32"), kinds, kinds):
        outcomes = []
        for m in (tengen, torch):
            tensors = [m.ones(2).to(getattr(m, k)) for k in (first, second, third)]
            outcomes.append(side.outcome(getattr(tensors[0], variant), *tensors[1:]))
        ours, expected = outcomes
        assert side.failed(ours) is side.failed(expected), (first, second, third, ours, expected)
        if side.failed(ours):
            assert isinstance(ours, RuntimeError) and isinstance(expected, RuntimeError)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("variant", ["index_put", "index_put_"])
@pytest.mark.parametrize("index", [[0, 2], [True, False, True]], ids=["places", "a mask"])
def test_index_put_of_values_of_another_dtype(index: list[Any], variant: str, device: str) -> None:
    """Half types are compared as they are, not as what they are computed in; without data too."""
    kinds = ("int64", "float16", "bfloat16", "float32", "float64")
    for into, of in itertools.product(kinds, kinds):
        for count, accumulate in itertools.product((1, 2), (False, True)):
            outcomes = []
            for m, where in ((tengen, device), (torch, "cpu")):
                self = m.zeros(3, dtype=getattr(m, into), device=where)
                values = m.ones(count, dtype=getattr(m, of), device=where)
                at = m.tensor(index, device=where)
                outcomes.append(side.outcome(getattr(self, variant), (at,), values, accumulate))
            assert side.failed(outcomes[0]) is side.failed(outcomes[1]), (into, of, count, outcomes)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_what_index_put_adds_is_rounded_once(kind: str) -> None:
    """Many small numbers at one place count together, though each alone would be lost."""
    dtype = getattr(tengen, kind)
    x = tengen.tensor([256.0], dtype=dtype)
    x.index_put_((tengen.zeros(64, dtype=tengen.int64),), tengen.full((64,), 0.0625, dtype=dtype), True)
    assert x.tolist() == [260.0]


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_weights_of_another_dtype(name: str) -> None:
    for one, other in itertools.product(("float16", "float32", "float64", "int64"), repeat=2):
        outcomes = []
        for m in (tengen, torch):
            input, weight = m.zeros(2, 3, dtype=getattr(m, one)), m.ones(3, dtype=getattr(m, other))
            outcomes.append(side.outcome(getattr(m.nn.functional, name), input, m.tensor([0, 1]), weight))
        assert side.failed(outcomes[0]) is side.failed(outcomes[1]), (one, other, outcomes)


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_a_tensor_and_a_complex_number_have_complex_numbers_between_them(name: str) -> None:
    for ends in ((1j, 2.0), (2.0, 1j)):
        for tensor in (0, 1):
            found, expected = (
                getattr(m, name)(*[m.tensor(v) if i == tensor else v for i, v in enumerate(ends)], 3)
                for m in (tengen, torch)
            )
            assert found.dtype is tengen.complex64 and expected.dtype is torch.complex64
            assert torch.allclose(torch.from_numpy(found.numpy()), expected)


NAN, INF = float("nan"), float("inf")
#: Matrices with NaN, and singular ones of which not all is finite.
NOT_FINITE = [
    [[NAN, 1.0], [1.0, 2.0]], [[NAN, NAN], [NAN, NAN]], [[1.0, 0.0], [0.0, NAN]], [[NAN, 1.0], [1.0, 1.0]],
    [[0.0, 0.0], [0.0, NAN]], [[0.0, 0.0], [0.0, INF]], [[0.0, INF], [0.0, 1.0]], [[0.0, 1.0], [0.0, NAN]],
    [[1.0, 1.0, 0.0], [1.0, 1.0, NAN], [0.0, 0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[2.0]], [[0.0]],
]  # fmt: skip


@pytest.mark.parametrize("function", ["slogdet", "det"])
@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
def test_determinants_of_what_is_not_finite(function: str, kind: str) -> None:
    """A NaN has no sign; what stands behind a pivot of 0 counts; NumPy does not warn."""
    for values in NOT_FINITE:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = getattr(tengen.linalg, function)(tengen.tensor(values, dtype=getattr(tengen, kind)))
        expected = getattr(torch.linalg, function)(torch.tensor(values, dtype=getattr(torch, kind)))
        pairs = zip(found, expected, strict=True) if function == "slogdet" else [(found, expected)]
        for f, e in pairs:
            ours = torch.from_numpy(f.numpy())
            same = torch.isnan(ours) == torch.isnan(e)  # of complex NaNs one part may be finite
            assert same.all() and torch.allclose(ours.nan_to_num(), e.nan_to_num()), (values, f, e)


def test_determinants_of_a_batch_of_which_some_are_not_finite() -> None:
    batch = tengen.tensor([[[0.0, 0.0], [0.0, NAN]], [[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]])
    assert str(tengen.linalg.slogdet(batch).logabsdet.tolist()) == str(
        [NAN, batch[1].det().abs().log().item(), -INF]
    )
    assert str(tengen.linalg.det(batch).tolist()) == str([NAN, batch[1].det().item(), 0.0])


def test_mode_counts_no_nan() -> None:
    nan = float("nan")
    for values in ([1.0, nan, nan, 2.0], [1.0, 1.0, nan, nan, nan, 2.0], [2.0, nan, 1.0], [nan, nan], [nan]):
        found, expected = tengen.tensor(values).mode(), torch.tensor(values).mode()
        assert str(found.values.tolist()) == str(expected.values.tolist())
        assert found.indices.tolist() == expected.indices.tolist()


def test_complex_numbers_that_become_real_are_warned_of_wherever_they_are_written() -> None:
    indices: tuple[Any, ...] = (0, slice(None), ..., (slice(None), 0), (None, 1))
    for index in indices:
        for m in (tengen, torch):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if m is torch:
                    torch._C._set_warnAlways(True)
                try:
                    x = m.zeros(2, 2)
                    x[index] = m.tensor(1 + 2j)
                finally:
                    if m is torch:
                        torch._C._set_warnAlways(False)
            text = "Casting complex values to real discards the imaginary part"
            assert [str(w.message).startswith(text) for w in caught] == [True], (m.__name__, index)
