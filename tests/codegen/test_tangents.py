"""Forward-mode formulas are made cheaper, whatever the operator: see codegen/specialise/tangents.py."""

from __future__ import annotations

import pytest

from tengen.codegen.specialise.environments import formula_environment, of_operators
from tengen.codegen.specialise.tangents import Conjugates, real, shared_calls, terms
from tengen.ir.expressions import Expr, Name
from tengen.ir.reader import read_expression
from tengen.ir.types import ARRAY, INT, NUMBER, Types, ValueType
from tengen.ir.writer import write


def tree(text: str) -> Expr:
    return read_expression(text)


NAMES: dict[Expr, ValueType] = {
    Name("alpha"): NUMBER,
    Name("dim"): INT,
    **{Name(n): ARRAY for n in ("t", "x", "y", "z")},
}
GIVES = of_operators({"exp": ARRAY, "where": ARRAY}, {"helper"})
CONJUGATES = Conjugates(Types(formula_environment(NAMES, GIVES)))


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("t.conj() * x.conj()", "t * x"),
        ("-t.conj() / (1 - x * x).conj()", "-t / (1 - x * x)"),
        ("t.conj() * (x > 0)", "t * (x > 0)"),
        ("t.conj() * x", "t * x.conj()"),
        ("t.conj() * exp(x).conj()", "t * exp(x)"),
        ("t.conj() * x.shape", "t * x.shape"),
        ("t.conj() * (x * y).numel()", "t * (x * y).numel()"),
        ("t.conj() * 2 ** dim", "t * 2 ** dim"),
        ("t.conj() * x.numel() / dim", "t * x.numel() / dim"),
        ("t.conj() * x * y", "t * x.conj() * y.conj()"),
        ("t.conj() * x * y * z", "(t.conj() * x * y * z).conj()"),  # more parts than it saves
        ("t.conj() * alpha", "(t.conj() * alpha).conj()"),  # alpha may be complex, and is no Tensor
        ("t.conj() * helper(x)", "(t.conj() * helper(x)).conj()"),  # which may give a number
        ("where(x > 0, t.conj(), 0)", "where(x > 0, t.conj(), 0).conj()"),
        ("t.conj() ** 2", "(t.conj() ** 2).conj()"),
    ],
)
def test_conjugates(formula: str, expected: str) -> None:
    assert write(CONJUGATES.of(tree(formula))) == expected


def test_what_is_never_complex_has_none() -> None:
    assert write(real(tree("f(t.conj(), x.conj().conj()).conj() + x.conj_physical()"))) == (
        "f(t, x) + x.conj_physical()"
    )
    assert write(real(tree("1j * t if x.is_complex() else t if not x.is_complex() else x"))) == "t"


def test_calls_in_common_are_made_once() -> None:
    parts = [tree("f(t, x)[0]"), None, tree("f(t, x)[1]"), tree("g(t)[0]")]
    calls, found = shared_calls(parts, "both")
    assert calls == [("both0", tree("f(t, x)"))]
    assert list(map(write, found)) == ["both0[0]", "None", "both0[1]", "g(t)[0]"]


@pytest.mark.parametrize(
    ("formula", "sums", "made_of_it"),
    [
        ("a_t * b + a * b_t", [("a_t", "a_t * b", False), ("b_t", "a * b_t", False)], "sum"),
        (
            "a_t - (b_t - a_t * c)",
            [
                ("a_t", "a_t", False),
                ("b_t", "b_t", True),
                ("a_t", "a_t * c", False),
            ],
            "sum",
        ),
        (
            "-(a_t - b_t * q) / c",
            [("a_t", "a_t", False), ("b_t", "b_t * q", True)],
            "-sum / c",
        ),
        (
            "a_t + (b_t if b else 0)",
            [("a_t", "a_t", False), ("b_t", "b_t if b else 0", False)],
            "sum",
        ),
    ],
)
def test_terms_by_tangents(formula: str, sums: list[tuple[str, str, bool]], made_of_it: str) -> None:
    found = terms(tree(formula), ["a_t", "b_t"], "sum")
    assert found is not None
    assert [(t.tangent, write(t.value), t.negative) for t in found[0]] == sums
    assert write(found[1]) == made_of_it


@pytest.mark.parametrize(
    "formula",
    [
        "f(a_t, b_t)",
        "a_t * b_t + a_t",
        "a_t * b",
        "a_t + a_t * c",
        "a_t * b + b_t + c",
        "(a_t * b + a * b_t).sum()",  # of which shape is it, without one of them?
        "f(a_t - b_t)",
        "(a_t + b_t) if c else a_t",
    ],
)
def test_formulas_that_are_no_such_sums(formula: str) -> None:
    assert terms(tree(formula), ["a_t", "b_t"], "sum") is None


def test_one_tangent_is_never_left_out() -> None:
    assert terms(tree("a_t * b + a_t"), ["a_t"], "sum") is None
