"""How kernels are written as ONNX: what is written of them, and why some are not."""

from __future__ import annotations

import pytest

from tengen.codegen.derive.onnx_forms import NoForm, derived_symbolic
from tengen.codegen.gen import runtime_dir
from tengen.codegen.model.operators import Declarations, Formula, Kernel
from tengen.codegen.model.source import Located, Place
from tengen.codegen.parse.schema import parse_schema
from tengen.codegen.read.libraries import index
from tengen.ir.expressions import Name, walk
from tengen.ir.reader import read_expression
from tengen.testing.declared import declarations

NATIVE = {"scaled": "pointwise.scaled", "power": "pointwise.power", "mvlgamma": "special.mvlgamma"}


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declarations()


def symbolic(declared: Declarations, arguments: str, kernel: str, opmath: bool = True, **calls: str) -> str:
    """What is written of a kernel."""
    located = Located(kernel, Place("test.yaml", 1, 1))
    formula = Formula(located, read_expression(kernel))
    names = formula.names()
    made = Kernel(formula, None, {n: f for n, f in {**NATIVE, **calls}.items() if n in names})
    functions = index(runtime_dir(), "onnx", None, "symbolics*.py")
    schema = parse_schema(f"f({arguments}) -> Tensor")
    rule = derived_symbolic(schema, {"CPU": made}, opmath, declared.primitives, functions)
    assert set(rule.calls) <= {n.id for n in walk(rule.formula.tree) if isinstance(n, Name)}
    return rule.formula.text


@pytest.mark.parametrize(
    ("arguments", "kernel", "expected"),
    [
        ("Tensor self", "xp.exp(self)", "onnx.Exp(floating(self))"),
        ("Tensor self", "abs(self)", "onnx.Abs(self)"),
        ("Tensor self", "self > 0.5", "onnx.Greater(*numbers(self, 0.5))"),
        ("Tensor self", "self == -xp.inf", "onnx.Equal(*numbers(self, -xp.inf))"),
        ("Tensor self, Scalar n", "self * (1 - n)", "multiply(self, 1 - n)"),
        ("Tensor self, Scalar n", "power(self, n)", "power(self, n)"),
        (
            "Tensor self",
            "xp.exp(self) * 2",
            "widened(lambda self: multiply(onnx.Exp(floating(self)), 2))(self)",
        ),
        (
            "Tensor self, Tensor other, Scalar n=1",
            "self + other if n == 1 else self + scaled(other, n)",
            "add(self, other) if n == 1 else "
            "widened(lambda self, other: add(self, scaled(other, n)))(self, other)",
        ),
        (
            "Tensor self, Tensor? low=None",
            "self if low is None else xp.maximum(self, low)",
            "self if low is None else maximum(self, low)",
        ),
    ],
)
def test_what_is_written(declared: Declarations, arguments: str, kernel: str, expected: str) -> None:
    assert symbolic(declared, arguments, kernel) == expected


def test_nothing_is_widened_that_is_computed_as_it_is(declared: Declarations) -> None:
    assert symbolic(declared, "Tensor self", "self - xp.trunc(self)", opmath=False) == (
        "onnx.Sub(*together(self, trunc(self)))"
    )


@pytest.mark.parametrize(
    ("arguments", "kernel", "reason"),
    [
        ("Tensor self", "xp.nextafter(self, 1)", "the primitive nextafter has no ONNX form"),
        ("Tensor self", "mvlgamma(self, 2)", "no function mvlgamma of runtime/onnx/symbolics"),
        ("Tensor self", "polygamma(1, self)", "the primitive polygamma has no ONNX form"),
        ("Tensor self", "self.astype(xp.float32)", "is no expression of primitives"),
        ("Tensor self", "1 if self > 0 else 2", "it chooses by the values of a tensor"),
        ("Tensor self, Tensor onnx", "self + onnx", 'its argument "onnx" hides'),
        ("Tensor add", "add + 1", 'its argument "add" hides'),
        ("Tensor self, Scalar n", "self * power(n, 2)", "power is called without a tensor"),
    ],
)
def test_why_nothing_is_written(declared: Declarations, arguments: str, kernel: str, reason: str) -> None:
    with pytest.raises(NoForm, match=reason):
        symbolic(declared, arguments, kernel)


def test_the_function_of_a_library_is_not_written_by_tengens(declared: Declarations) -> None:
    """A library's ``power`` may be another function."""
    with pytest.raises(NoForm, match="no function power"):
        symbolic(declared, "Tensor self", "power(self, 2)", power="@mylib.kernels.mine.power")


def test_every_pointwise_operator_says_why_it_has_none(declared: Declarations) -> None:
    pointwise = [o for o in declared.operators if "pointwise" in o.tags and o.symbolic is None]
    assert pointwise
    for operator in pointwise:
        assert operator.no_symbolic or "CompositeImplicitAutograd" in operator.kernels, operator.name
