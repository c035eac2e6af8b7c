"""Last operations that are written so that they give arrays: text in, text out."""

from __future__ import annotations

import pytest

from tengen.codegen.model.operators import Primitive
from tengen.codegen.specialise.array_results import ArrayResults, assignments
from tengen.codegen.specialise.environments import kernel_environment
from tengen.codegen.specialise.kept_numbers import with_kept_numbers
from tengen.ir.expressions import Expr, Name
from tengen.ir.reader import read_expression
from tengen.ir.types import ARRAY, OWN, WEAK, Types, ValueType
from tengen.ir.writer import write
from tengen.testing.declared import declarations


@pytest.fixture(scope="module")
def primitives() -> dict[str, Primitive]:
    return dict(declarations().primitives)


def rewritten(results: ArrayResults, text: str) -> str | None:
    found = results.rewritten(read_expression(text))
    return None if found is None else write(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * b", "_xp_multiply(a, b, out=...)"),
        ("-a._array", "_xp_negative(a._array, out=...)"),
        ("a < T.numbers[b]", "_xp_less(a, T.numbers[b], out=...)"),
        ("xp.exp(a + b)", "_xp_exp(a + b, out=...)"),
        ("a + b if c == 1 else a - b", "_xp_add(a, b, out=...) if c == 1 else _xp_subtract(a, b, out=...)"),
        ("a + b if c else a", None),  # the array itself, or it may be a number
        ("a ** 2", None),  # a square, in one multiplication
        ("(a * b) + c", None),  # the sum goes where the product is
        ("xp.where(a, b, c)", None),  # it has no out=
        ("kernel(a)", None),
        ("a", None),
    ],
)
def test_texts(primitives: dict[str, Primitive], text: str, expected: str | None) -> None:
    assert rewritten(ArrayResults(primitives), text) == expected


def test_what_is_used(primitives: dict[str, Primitive]) -> None:
    results = ArrayResults(primitives)
    rewritten(results, "a * b")
    rewritten(results, "xp.exp(a)")
    assert assignments(results.used) == ["_xp_exp = xp.exp", "_xp_multiply = xp.multiply"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * n", "a * N[n]"),
        ("n - a", "N[n] - a"),
        ("2 * a + 1", "N[2] * a + N[1]"),
        ("-0.5 * a", "N[-0.5] * a"),
        ("a > 0", "a > N.zero"),
        ("1.0 * a", "1.0 * a"),  # among integers it is not 1
        ("1.0 * a + 2", "1.0 * a + N[2]"),
        ("a ** 2", "a ** 2"),
        ("mask * 2", "mask * 2"),  # an array of another type
        ("(a > 1) * 2", "(a > N[1]) * 2"),
        ("1 / (1 + xp.exp(-a))", "N[1] / (N[1] + xp.exp(-a))"),
        ("xp.maximum(a, 0)", "xp.maximum(a, N.zero)"),
        ("xp.maximum(xp.maximum(a + 3, 0), 6) / 6", "xp.maximum(xp.maximum(a + N[3], N.zero), N[6]) / N[6]"),
        ("xp.maximum(a, mask) + 1", "xp.maximum(a, mask) + 1"),
        ("(a if m else -a) + 1", "(a if m else -a) + N[1]"),
        ("(a if m else mask) + 1", "(a if m else mask) + 1"),
        ("a[0] + 1", "a[0] + N[1]"),
        ("xp.isnan(a) + 1", "xp.isnan(a) + 1"),
        ("kernel(a, 2)", "kernel(a, 2)"),
        ("a + (2 if m else 3)", "a + (2 if m else 3)"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    values: dict[Expr, ValueType] = {Name("a"): OWN, Name("mask"): ARRAY, Name("n"): WEAK}
    functions = {"exp", "maximum"}
    types = Types(kernel_environment(values, functions))
    found = with_kept_numbers(read_expression(text), types, Name("N"), functions)
    assert write(found) == expected
