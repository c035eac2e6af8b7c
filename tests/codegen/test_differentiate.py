"""The derivatives of expressions: what is written of them, what is shared, what is saved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tengen.codegen.derive.derived import derive
from tengen.codegen.derive.differentiate import derivative_of
from tengen.codegen.derive.graph import Underivable
from tengen.codegen.derive.plan import Language
from tengen.codegen.gen import declarations_dir, runtime_dir
from tengen.codegen.model.operators import Declarations, Derivative, Formula, Kernel, Operator
from tengen.codegen.model.source import Located, Place
from tengen.codegen.parse.schema import parse_schema
from tengen.codegen.pipeline import load
from tengen.ir.reader import read_expression
from tengen.testing.declared import declarations


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declarations()


def formula(text: str) -> Formula:
    return Formula(Located(text, Place("test.yaml", 1, 1)), read_expression(text))


def derivative(
    declared: Declarations,
    arguments: str,
    kernel: str,
    complex: bool = False,
    key: str = "CPU",
    saves_result: bool = False,
    native: str = "",
) -> Derivative:
    types = frozenset({"Float", "Double", *(["ComplexDouble"] if complex else [])})
    operator = Operator(
        parse_schema(f"f({arguments}) -> Tensor"),
        Place("test.yaml", 1, 1),
        "native_functions",
        kernels={key: Kernel(formula(kernel))},
        tags=frozenset({"pointwise"}),
        dtypes={"CPU": types},
        saves_result=saves_result,
        native=formula(native) if native else None,
    )
    return derivative_of(operator, Language.of(declared))


def texts(found: Derivative) -> dict[str, str]:
    return {names[0]: f.text for names, f in found.gradients.items()}


ONE = "Tensor self"
TWO = "Tensor self, Tensor other"


@pytest.mark.parametrize(
    ("arguments", "kernel", "expected"),
    [
        (ONE, "xp.exp(self)", "grad * exp(self)"),
        (ONE, "xp.tanh(self)", "grad * (1 - square(tanh(self)))"),
        (ONE, "self", "grad"),
        (ONE, "-self", "-grad"),
        (ONE, "2 * self + 1", "2 * grad"),
        (ONE, "self * self", "2 * (grad * self)"),
        (ONE, "self ** 3", "3 * (grad * square(self))"),
        (ONE, "1 / self", "-(grad / square(self))"),
        (ONE, "xp.sin(xp.exp(self))", "grad * cos(grad_part0) * grad_part0"),
        (ONE, "(self + xp.sqrt(self * self + 4)) / 2", "grad * (0.5 * self / sqrt(square(self) + 4) + 0.5)"),
        (ONE, "1 / (xp.exp(-self) + 1)", "grad * grad_part0 / square(grad_part0 + 1)"),
        (ONE, "xp.floor(self)", "zeros_like(grad)"),
        (ONE, "xp.where(self > 0, self, 0)", "where(self > 0, grad, 0)"),
        ("Tensor self, Scalar a", "xp.where(self > 0, self, a * self)", "where(self > 0, grad, grad * a)"),
        ("Tensor self, Scalar a", "self if a == 1 else self * a", "grad if a == 1 else grad * a"),
        (ONE, "xp.maximum(self, 0)", "where(self == 0, 0.5 * grad, where(self > 0, grad, 0))"),
        (ONE, "xp.exp(self) - xp.exp(self)", "zeros_like(grad)"),
    ],
)
def test_formulas(declared: Declarations, arguments: str, kernel: str, expected: str) -> None:
    assert texts(derivative(declared, arguments, kernel))["self"] == expected


def test_what_gradients_have_in_common_is_computed_once(declared: Declarations) -> None:
    found = derivative(declared, TWO, "xp.arctan2(self, other)")
    assert [(s.name, s.formula.text, s.users) for s in found.shared] == [
        ("grad_part0", "square(self) + square(other)", ("self", "other"))
    ]
    assert texts(found) == {"self": "grad * other / grad_part0", "other": "-(grad * self / grad_part0)"}


def test_what_one_way_needs_is_not_computed_on_the_other(declared: Declarations) -> None:
    kernel = "xp.tanh(self) * self * other if way == 'tanh' else self * other"
    found = derivative(declared, "Tensor self, Tensor other, str way", kernel)
    assert [part.formula.text for part in found.shared] == ["tanh(self) if way == 'tanh' else self"]


def test_an_argument_that_is_multiplied_has_the_operator_as_its_gradient(declared: Declarations) -> None:
    found = derivative(declared, TWO, "self * erf(other)", native="self * erf(other)")
    assert texts(found)["self"] == "f(grad, other)"
    assert found.jvps["result"].text.startswith("f(self_t, other) + 1.1283791670955126 * (other_t * ")
    found = derivative(declared, TWO, "self + erf(other)", native="self + erf(other)")
    assert texts(found)["self"] == "grad", "it is no factor"


def test_a_result_is_saved_where_that_is_less_and_said(declared: Declarations) -> None:
    product = derivative(declared, TWO, "self * xp.exp(other)", saves_result=True)
    assert "result" not in texts(product)["self"]
    for saves_result, part in ((True, "grad * result"), (False, "grad * exp(self + other)")):
        found = derivative(declared, TWO, "xp.exp(self + other)", saves_result=saves_result)
        assert [s.formula.text for s in found.shared] == [part]
        assert texts(found) == {"self": "grad_part0", "other": "grad_part0"}


def test_gradients_are_conjugate_where_numbers_may_be_complex(declared: Declarations) -> None:
    assert texts(derivative(declared, TWO, "self * other", complex=True))["self"] == "grad * conj(other)"
    one = derivative(declared, "Tensor self, Scalar a", "self / a", complex=True)
    assert texts(one)["self"] == "grad / a.conjugate()"


def test_operators_that_are_no_primitives_have_their_declared_derivative(declared: Declarations) -> None:
    found = derivative(declared, ONE, "self * self.sigmoid()", key="CompositeExplicitAutograd")
    assert [(s.name, s.formula.text) for s in found.shared] == [("grad_part0", "sigmoid(self)")]
    assert texts(found) == {"self": "grad * (grad_part0 + self * (1 - grad_part0) * grad_part0)"}


def test_a_declared_derivative_keeps_its_sign(declared: Declarations) -> None:
    for function, expected in {
        "special_entr": "grad * (special_entr(self) - self * (log(self) + 1))",
        "acos": "grad * (acos(self) - self / sqrt(1 - square(self)))",
    }.items():
        found = derivative(declared, ONE, f"self * self.{function}()", key="CompositeExplicitAutograd")
        assert texts(found) == {"self": expected}


def test_composites_may_be_of_complex_numbers(declared: Declarations) -> None:
    found = derivative(declared, ONE, "self * self.tanh()", complex=True, key="CompositeExplicitAutograd")
    assert texts(found) == {"self": "grad * conj(grad_part0 + self * (1 - square(grad_part0)))"}
    with pytest.raises(Underivable, match="abs has no derivative for complex numbers"):
        derivative(declared, ONE, "self * self.abs()", complex=True, key="CompositeExplicitAutograd")


def test_special_functions_are_primitives(declared: Declarations) -> None:
    for kernel, expected in {
        "self * erf(self)": "grad * (erf(self) + 1.1283791670955126 * (self * exp(-square(self))))",
        "i0(self) * lgamma(self)": "grad * (lgamma(self) * special_i1(self) + i0(self) * digamma(self))",
        "polygamma(2, 2 * self)": "2 * (grad * polygamma(3, 2 * self))",
        "zeta(3, self)": "-3 * (grad * special_zeta(4, self))",
    }.items():
        (text,) = texts(derivative(declared, ONE, kernel)).values()
        assert text == expected, text


def test_what_has_no_derivative_by_an_argument_says_so(declared: Declarations) -> None:
    found = derivative(declared, TWO, "other * igamma(self * self, other)")
    assert texts(found)["self"] == 'not_implemented("igamma: input")'
    assert "self_t" not in found.jvps["result"].text


def test_a_function_is_computed_again_only_where_its_result_may_not_be_kept(declared: Declarations) -> None:
    by_name = {str(o.name): o for o in declared.operators}
    kept = derivative_of(by_name["special_erfcx"], Language.of(declared))
    again = derivative_of(by_name["erfinv"], Language.of(declared))
    assert "result" in texts(kept)["self"] and "erfinv(self)" in texts(again)["self"]


def test_forward_mode(declared: Declarations) -> None:
    found = derivative(declared, TWO, "self * other")
    assert found.jvps["result"].text == "self_t * other + other_t * self"


@pytest.mark.parametrize(
    ("arguments", "kernel", "complex", "why"),
    [
        (ONE, "mvlgamma(self, 2)", False, '"mvlgamma(self, 2)" is no expression of primitives'),
        (ONE, "xp.abs(self)", True, "abs has no derivative for complex numbers"),
        (ONE, "xp.sinc(self)", False, "no derivative is declared for the primitive sinc"),
        (ONE, "self if self > 0 else 0", False, "it chooses by the values of a tensor"),
        ("Tensor self, Scalar? a", "self * a", False, '"a" is no expression of primitives'),
        (ONE, "xp.exp(self, self)", False, "exp takes 1 operand"),
    ],
)
def test_what_cannot_be_derived(
    declared: Declarations, arguments: str, kernel: str, complex: bool, why: str
) -> None:
    with pytest.raises(Underivable) as raised:
        derivative(declared, arguments, kernel, complex)
    assert str(raised.value).startswith(why)


def test_an_operator_that_is_an_expression_needs_no_entry(tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "bad_declarations" / "surroundings"
    shutil.copytree(folder, tmp_path / "all")
    shutil.copy(declarations_dir() / "primitives.yaml", tmp_path / "all" / "declarations")
    for module in ("pointwise", "polynomials", "special"):
        shutil.copy(runtime_dir() / "kernels" / f"{module}.py", tmp_path / "all" / "runtime" / "kernels")
    shutil.copytree(runtime_dir() / "onnx", tmp_path / "all" / "runtime" / "onnx", dirs_exist_ok=True)
    (tmp_path / "all" / "declarations" / "native_functions.more.yaml").write_text("""
- func: gaussian(Tensor self, Tensor other) -> Tensor
  tags: [pointwise]
  dtypes: floating
  dispatch:
    CPU: xp.exp(-(self * self) * other)
  samples: ["[3], [3]"]
""")
    found = derive(load(tmp_path / "all" / "declarations", tmp_path / "all" / "runtime"))
    node = found.nodes["gaussian"]
    assert node.name == "GaussianBackward0"
    assert [a.name for a in node.inputs] == ["self", "other"]
    assert "gaussian" in found.jvps
