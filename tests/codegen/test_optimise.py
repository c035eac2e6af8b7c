"""The optimiser of expressions over arrays, as text in and text out; and what is worth blocks."""

from __future__ import annotations

import numpy as np
import pytest

from tengen.codegen.derive.ufuncs import Ufuncs
from tengen.codegen.specialise.blocks import CostModel, call_of, function_of
from tengen.codegen.specialise.environments import kernel_environment
from tengen.codegen.specialise.optimise import allocate_scratch, eliminate_common_subexpressions, inline
from tengen.ir.expressions import Expr, Name
from tengen.ir.reader import read_expression
from tengen.ir.types import ARRAY, Types
from tengen.ir.writer import write
from tengen.testing.declared import declarations

TYPES = Types(kernel_environment({Name(n): ARRAY for n in ("a", "b", "c", "grad", "result")}))
PRIMITIVES = declarations().primitives
UFUNCS = Ufuncs(PRIMITIVES)


def tree(text: str) -> Expr:
    return read_expression(text)


# -- what is computed once ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "names", "values"),
    [
        ("a * b + c", [], ["a * b + c"]),
        ("a * b + a * b", ["t0 = a * b"], ["t0 + t0"]),
        (
            "grad * b / f(a * a + b * b, 1, a * a + b * b)",
            ["t0 = a * a + b * b"],
            ["grad * b / f(t0, 1, t0)"],
        ),
        (
            "xp.exp(a * b) + xp.exp(a * b) * a * b + (a * b)",
            ["t0 = a * b", "t1 = xp.exp(t0)"],
            ["t1 + t1 * a * b + t0"],
        ),
        ("n * 2 + n * 2 + a", [], ["n * 2 + n * 2 + a"]),
        ("a * b + (a * b if n else c)", [], ["a * b + (a * b if n else c)"]),
        ("(a * b + a * b) if n else a * b", [], ["a * b + a * b if n else a * b"]),
        ("a * a.ndim / (a.size * n) + a.size * n", [], ["a * a.ndim / (a.size * n) + a.size * n"]),
        ("-grad * a ; -grad * b", ["t0 = -grad"], ["t0 * a", "t0 * b"]),
    ],
)
def test_common_subexpressions(given: str, names: list[str], values: list[str]) -> None:
    named, found = eliminate_common_subexpressions([tree(text) for text in given.split(" ; ")], TYPES)
    assert [f"{name} = {write(value)}" for name, value in named] == names
    assert [write(value) for value in found] == values


def test_inlining_is_the_inverse() -> None:
    text = "xp.exp(a * b) + xp.exp(a * b) * (a * b)"
    named, (value,) = eliminate_common_subexpressions([tree(text)], TYPES)
    assert len(named) == 2
    assert write(inline(named, value)) == text


# -- memory that is given ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected", "scratch"),
    [
        ("xp.exp(a)", "xp.exp(a, out=out)", 0),
        (
            "xp.reciprocal(xp.exp(-a) + 1)",
            "xp.reciprocal(xp.add(xp.exp(xp.negative(a, out=s0), out=s0), 1, out=s0), out=out)",
            1,
        ),
        (
            "a * b + c * a",
            "xp.add(xp.multiply(a, b, out=s0), xp.multiply(c, a, out=s1), out=out)",
            2,
        ),
        (
            "a * (2 * n) * (n - 1)",
            "xp.multiply(xp.multiply(a, 2 * n, out=s0), n - 1, out=out)",
            1,
        ),
        (
            "xp.where(a > 0, -b, c) * 2",
            "xp.multiply(xp.where(a > 0, xp.negative(b, out=s0), c), 2, out=out)",
            1,
        ),
        (
            "xp.exp(a) * xp.sin(xp.exp(a)) - b",
            "xp.subtract(xp.multiply((t0 := xp.exp(a, out=s0)), xp.sin(t0, out=s1), out=s1), b, out=out)",
            2,
        ),
        (
            "a + b if n == 1 else a + b * n",
            "xp.add(a, b, out=out) if n == 1 else xp.add(a, xp.multiply(b, n, out=s0), out=out)",
            1,
        ),
        ("f(a, k=-b) + 1", "xp.add(f(a, k=xp.negative(b, out=s0)), 1, out=out)", 1),
        ("a ** n * b", "xp.multiply(a ** n, b, out=out)", 0),
        ("xp.where(a > 0, b, c)", "xp.where(a > 0, b, c)", 0),
        ("xp.isnan(a)", "xp.isnan(a)", 0),
    ],
)
def test_scratch(given: str, expected: str, scratch: int) -> None:
    found, names = allocate_scratch(tree(given), TYPES, UFUNCS)
    assert write(found) == expected
    assert names == [f"s{i}" for i in range(scratch)]


@pytest.mark.parametrize(
    "text", ["(a * b - c) / (a * b + xp.abs(c))", "xp.exp(-a) * (xp.exp(-a) + c) / (b - xp.exp(-a) * c)"]
)
def test_scratch_text_computes_the_same(text: str) -> None:
    """With memory and without; also where the result goes over an operand."""
    found, names = allocate_scratch(tree(text), TYPES, UFUNCS)
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(0.5, 2, (3, 7))
    given = {"xp": np, "a": a, "b": b, "c": c}
    expected = eval(text, given)
    code = compile(write(found), "<test>", "eval")
    without = eval(code, given | dict.fromkeys(["out", *names]))
    assert np.array_equal(without, expected)
    memory = {name: np.full(7, np.nan) for name in names}
    assert eval(code, given | memory | {"out": a}) is a
    assert np.array_equal(a, expected)


# -- blocks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("a + b", False),
        ("-a", False),
        ("a > 0", False),
        ("xp.abs(a)", False),
        ("xp.maximum(a, 0)", True),  # of a number NumPy takes longer than memory
        ("a + n * 2", False),
        ("a + b if n == 1 else a + b * n", False),
        ("a * b + c", True),
        ("xp.exp(a)", True),
        ("a ** n", True),
        ("kernel(a)", True),
        ("kernel(n)", False),
        ("a.size * 2 + 1", False),  # of Python's numbers
        ("a + (a.ndim - 1) * 2", False),
        ("kernel(n=a)", True),
        ("a - xp.trunc(a)", True),
    ],
)
def test_what_is_worth_blocks(text: str, worth: bool) -> None:
    assert CostModel(PRIMITIVES).worth(tree(text), TYPES) is worth


@pytest.mark.parametrize(
    ("parameters", "text", "expected"),
    [
        (["a"], "xp.exp(a)", "run(xp.exp, a, scratch=0)"),
        (["a", "n"], "kernel(a, n)", "run(kernel, a, n)"),
        (["n", "a"], "kernel(a, n)", "run(lambda n, a: kernel(a, n), n, a)"),
        (
            ["a"],
            "a * a + 1",
            "run(lambda a, out, s0: xp.add(xp.multiply(a, a, out=s0), 1, out=out), a, scratch=1)",
        ),
    ],
)
def test_calls_in_blocks(parameters: list[str], text: str, expected: str) -> None:
    function, scratch = function_of(parameters, tree(text), TYPES, UFUNCS)
    call = call_of(Name("run"), function, [Name(p) for p in parameters], "", scratch)
    assert write(call) == expected
