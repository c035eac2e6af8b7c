"""What calls of operators take, over all that are declared: devices, dtypes, numbers and lists."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tengen
from tengen.dispatch.arguments import Rejected, bind_arguments
from tengen.dispatch.operator import Operator, operator
from tengen.testing.declared import calls, deterministic, flat, operators

NAMES = [name for name in operators() if calls(name)]


def given(name: str) -> list[Any]:
    """The arguments of an operator's first sample."""
    call = calls(name)[0]
    for kind in (tengen.float64, tengen.int64, tengen.bool, tengen.complex128):
        if call.takes(kind):
            return call.tensors(kind)
    raise AssertionError(f"no dtype of {call}")


def bound(found: Operator, values: list[Any]) -> list[Any]:
    """The arguments as the operator's kernel would be given them."""
    pairs = list(zip(found.parameters, values, strict=True))
    keywords = {p.name: v for p, v in pairs if p.kwarg_only}
    return bind_arguments(found.parameters, tuple([v for p, v in pairs if not p.kwarg_only]), keywords)


def places(*types: str) -> Iterator[tuple[str, int]]:
    """The operators and the places of their parameters of these types."""
    for name in NAMES:
        for i, p in enumerate(operator(name).parameters):
            if p.type in types:
                yield name, i


def changed(name: str, place: int, value: Any) -> list[Any]:
    values = given(name)
    values[place] = value
    return values


def test_integers_are_no_floats() -> None:
    """A whole number in a float is none either, nor is a bool; what has ``__index__`` is one."""
    tried = 0
    for name, i in places("int", "SymInt", "int?", "SymInt?"):
        found = operator(name)
        for wrong in (1.0, 1.5, "1", 1j, True, tengen.ones(2), tengen.tensor(1.5)):
            with pytest.raises(Rejected, match="must be int, not"):
                bound(found, changed(name, i, wrong))
        assert bound(found, changed(name, i, tengen.tensor(1)))[i] == 1
        tried += 1
    assert tried > 100


def test_numbers_have_no_history() -> None:
    """A 0-d tensor is a number unless it requires gradients; one of another shape is none."""
    tried = 0
    for name, i in places("Scalar", "Scalar?"):
        found = operator(name)
        assert bound(found, changed(name, i, tengen.tensor(2.5)))[i] == 2.5
        for wrong in (tengen.tensor(2.5, requires_grad=True), tengen.tensor([2.5]), "2"):
            with pytest.raises(Rejected, match="must be Number, not"):
                bound(found, changed(name, i, wrong))
        tried += 1
    assert tried > 40


def test_one_number_stands_for_as_many_as_are_wanted() -> None:
    """Alone or in a list, where a list has a fixed length."""
    tried = 0
    for name in NAMES:
        found = operator(name)
        for i, p in enumerate(found.parameters):
            base, _, size = p.type.rstrip("?")[:-1].partition("[")
            if base not in ("int", "SymInt") or not size:
                continue
            for value in (3, [3]):
                assert bound(found, changed(name, i, value))[i] == (3,) * int(size), name
            tried += 1
    assert tried > 20


def test_complex_numbers_of_real_operands() -> None:
    """What has no say in the dtype may be complex where its imaginary part is zero."""
    tried = 0
    for name in NAMES:
        found = operator(name)
        call = calls(name)[0]
        if (
            not found.scalars
            or found.factory is not None
            or not call.takes(tengen.float64)
            or not deterministic(operators()[name])
        ):
            continue
        for i in found.scalars:
            values = call.tensors(tengen.float64)
            if values[i] is None or isinstance(values[i], bool):
                continue
            expected = flat(found(*values))
            values = call.tensors(tengen.float64)
            again = flat(found(*values[:i], complex(values[i]), *values[i + 1 :]))
            for a, b in zip(again, expected, strict=True):
                assert a.dtype is b.dtype and tengen.equal(a.nan_to_num(), b.nan_to_num()), name
            with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
                found(*changed(name, i, 1j))
            tried += 1
    assert tried > 10


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a + b,
        lambda a, b: a @ b,
        lambda a, b: a.maximum(b),
        lambda a, b: a.clone().mul_(b),
        lambda a, b: tengen.cat([a, b]),
        lambda a, b: tengen.where(a > 0, a, b),
        lambda a, b: tengen.addmm(a, a, b),
        lambda a, b: tengen.lerp(a, b, a),
    ],
)
def test_tensors_of_two_devices(function: Any) -> None:
    """An error before anything is computed or written."""
    x, y = tengen.ones(2, 2), tengen.ones(2, 2, device="meta")
    for pair in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            function(*pair)
    assert x.tolist() == [[1, 1], [1, 1]] and x._version == 0


def test_operands_that_must_be_of_one_dtype() -> None:
    """Another precision is another dtype."""
    tried = 0
    for name in NAMES:
        found = operator(name)
        for i in found.same_dtype[1:]:
            values = given(name)
            value, first = values[i], values[found.same_dtype[0]]
            if not all(isinstance(t, tengen.Tensor) and t.dtype is tengen.float64 for t in (value, first)):
                continue
            values[i] = value.to(tengen.float32)
            if i in found.zero_dim and not value.ndim:
                continue
            with pytest.raises(
                RuntimeError, match=r"to have the same dtype, but got: tengen.float64 != tengen.float32"
            ):
                found(*values)
            tried += 1
    assert tried > 20


@pytest.mark.parametrize(
    ("value", "expected"), [(True, "bool"), (2, "int64"), (2.5, "float32"), (1j, "complex64")], ids=str
)
def test_factories_of_numbers(value: Any, expected: str) -> None:
    """The dtype is that of the numbers, the highest of several; a dtype that is given goes before."""
    dtype = getattr(tengen, expected)
    assert tengen.full((2,), value).dtype is dtype
    assert tengen.scalar_tensor(value).dtype is (dtype if expected == "complex64" else tengen.float32)
    if expected not in ("bool", "complex64"):
        assert tengen.arange(value).dtype is tengen.arange(0, value).dtype is dtype
        assert tengen.arange(0, 4, value).dtype is dtype
    assert tengen.full((2,), value, dtype=tengen.complex128).dtype is tengen.complex128
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = tengen.linspace(0, value, 3).dtype
    assert linear is (dtype if expected == "complex64" else tengen.float32)
