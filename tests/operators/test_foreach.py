"""``foreach``: an operator over lists gives of each tensor what the operator itself gives."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.generated.operators import OVERLOADS
from tengen.overrides import TengenFunctionMode

NAMES = sorted(name for name in OVERLOADS if name.startswith("_foreach_"))
#: What an operator is called where the form for lists has another name, or none of the class.
CALLED = {
    "powsum": lambda t, ord: t.abs().pow(ord).sum(),
    "maximum": lambda t, other: t.clamp_min(other),
    "minimum": lambda t, other: t.clamp_max(other),
    "copy": lambda t, source, *_: source.clone(),
    "zero": lambda t: t * 0,
    "addcmul": lambda t, a, b, value: t + a * b * value,
    "addcdiv": lambda t, a, b, value: t + a / b * value,
    "pow": lambda t, exponent: t**exponent,
}


def lists(requires_grad: bool = False) -> list[tengen.Tensor]:
    """Two tensors of different shapes and values, matrices for mm."""
    shapes = ((2, 2), (3, 3))
    return [(tengen.rand(s, dtype=tengen.float64) * 0.8 + 0.1).requires_grad_(requires_grad) for s in shapes]


def arguments(schema: Any) -> list[Any]:
    """What comes by position, a value for each argument."""
    made: list[Any] = []
    for argument in schema.arguments:
        kind = str(argument.type)
        if argument.kwarg_only or kind.endswith("?"):
            continue
        if kind == "Tensor[]":
            made.append(lists())
        elif kind == "Tensor":
            made.append(tengen.tensor([2.0, 3.0] if argument.name == "scalars" else 2.0))
        else:
            made.append({"Scalar": 2, "bool": False}.get(kind, [2, 3]))
    return made


def of_one(name: str, given: list[Any], i: int) -> tengen.Tensor:
    """What the operator gives of the tensors at one place."""
    packed = [x.tolist() if isinstance(x, tengen.Tensor) and x.ndim else x for x in given]
    first, *rest = [x[i] if isinstance(x, list) else x for x in packed]
    stem = name.removeprefix("_foreach_").removesuffix("_")
    function = CALLED.get(stem) or getattr(tengen.Tensor, stem)
    return function(first, *rest)  # type: ignore[no-any-return]


def test_errors_name_the_arguments() -> None:
    one, two = [tengen.ones(1)], [tengen.ones(1), tengen.ones(1)]
    with pytest.raises(RuntimeError, match=r"_foreach_add\(\): .*got 1 in 'self' and 2 in 'other'"):
        tengen._foreach_add(one, two)
    with pytest.raises(RuntimeError, match=r"_foreach_mul_\(\): .*got 1 in 'self' and 2 in 'scalars'"):
        tengen._foreach_mul_(one, [2, 3])


@pytest.mark.parametrize("name", NAMES)
def test_each_tensor_gets_what_the_operator_gives(name: str) -> None:
    packet = getattr(tengen.ops.aten, name)
    for overload in packet.overloads():
        one = getattr(packet, overload)
        for call in (getattr(tengen, name), one):
            given = arguments(one._schema)
            wanted = [of_one(name, given, i) for i in range(2)]
            result = call(*given)
            if name.endswith("_"):
                assert result is (None if call is one else given[0])
                result = given[0]
            else:
                assert isinstance(result, tuple)
            for found, expected in zip(result, wanted, strict=True):
                tengen.testing.assert_close(found, expected, rtol=1e-12, atol=0)


def test_gradients_go_through_what_is_written() -> None:
    leaves, factors = lists(True), lists(True)
    written = list(tengen._foreach_mul(leaves, 3))
    assert tengen._foreach_mul_(written, factors) is written
    sum([t.sum() for t in written]).backward()
    for leaf, factor in zip(leaves, factors, strict=True):
        assert tengen.equal(leaf.grad, factor * 3) and tengen.equal(factor.grad, leaf * 3)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        tengen._foreach_add_(leaves, 1)


def test_lists_of_several_dtypes_and_devices() -> None:
    several = [tengen.ones(2), tengen.ones(2, dtype=tengen.int64), tengen.ones(3, dtype=tengen.float64)]
    made = tengen._foreach_add(several, 0.5)
    assert [t.dtype for t in made] == [tengen.float32, tengen.float32, tengen.float64]
    made = tengen._foreach_add([t.to("meta") for t in several], 0.5)
    assert [(t.device.type, len(t)) for t in made] == [("meta", 2), ("meta", 2), ("meta", 3)]
    with pytest.raises(RuntimeError, match="_foreach_mul: Expected all tensors to be on the same device"):
        tengen._foreach_mul(several, tengen.ones((), device="meta"))


def test_arguments_may_be_named_and_tuples() -> None:
    pair = (tengen.ones(1), tengen.ones(2))
    assert tengen._foreach_add_(self=pair, scalars=[1, 2]) is pair
    assert [t.tolist() for t in tengen._foreach_sub(pair, pair, alpha=2)] == [[-2], [-3, -3]]


def test_a_mode_sees_one_call_and_may_answer_it() -> None:
    class Mode(TengenFunctionMode):
        def __tengen_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return "answered"

    seen: list[Any] = []
    tensors = [tengen.ones(1)]
    with Mode():
        assert tengen._foreach_add_(tensors, 1) == "answered"  # type: ignore[comparison-overlap]
    assert seen == [tengen._foreach_add_]


def test_vmap_goes_into_lists() -> None:
    x = tengen.arange(6.0).reshape(2, 3)
    made = tengen.vmap(lambda row: tengen._foreach_mul([row, row.exp()], [2, 3]))(x)
    assert tengen.equal(made[0], x * 2) and tengen.equal(made[1], x.exp() * 3)


def test_gradients_are_unscaled_where_they_are_finite() -> None:
    found = tengen.zeros(1)
    good, bad = [tengen.full((2,), 4.0)], [tengen.tensor([1.0, float("nan")])]
    tengen._amp_foreach_non_finite_check_and_unscale_(good, found, tengen.tensor([0.5]))
    assert good[0].tolist() == [2, 2] and found.tolist() == [0]
    tengen._amp_foreach_non_finite_check_and_unscale_(bad, found, tengen.tensor([0.5]))
    assert bad[0][0] == 0.5 and found.tolist() == [1]
    with pytest.raises(RuntimeError, match="found_inf must be a 1-element tensor"):
        tengen._amp_foreach_non_finite_check_and_unscale_(good, tengen.zeros(2), found)
