"""The passes from formulas and kernels to what one backend runs: text of the IR in, text out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tengen.codegen.derive.derived import Derived, derive
from tengen.codegen.derive.ufuncs import Ufuncs
from tengen.codegen.gen import runtime_dir
from tengen.codegen.model.derived import Gradient
from tengen.codegen.model.nodes import Branch
from tengen.codegen.model.operators import Declarations, Formula, Kernel, Operator
from tengen.codegen.model.source import Located, Place
from tengen.codegen.read.libraries import index
from tengen.codegen.specialise.array_nodes import ArrayWriter
from tengen.codegen.specialise.inplace import written_into_self
from tengen.codegen.specialise.nodes import Rewriter
from tengen.codegen.specialise.type_methods import Specialiser
from tengen.ir.reader import read_expression
from tengen.ir.statements import lines
from tengen.ir.writer import write
from tengen.testing.declared import declarations


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declarations()


@pytest.fixture(scope="module")
def derived(declared: Declarations) -> Derived:
    return derive(declared)


@pytest.fixture(scope="module")
def specialiser(declared: Declarations, derived: Derived) -> Specialiser:
    backend = next(b for b in declared.backends if b.name == "CPU")
    return Specialiser(derived, backend, index(runtime_dir(), "kernels", None), {}, declared.primitives, True)


def operator_of(declared: Declarations, name: str) -> Operator:
    return next(o for o in declared.operators if str(o.name) == name)


def formula(text: str) -> Formula:
    return Formula(Located(text, Place("test.yaml", 1, 1)), read_expression(text))


# -- kernels: the method of a Type -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named", "call"),
    [
        ("self + other", [], "self._array + other._array"),
        (
            "self * other + self",
            ["_self = self._array"],
            "_self * other._array + _self",
        ),
        ("xp.maximum(self, 0) * 2", [], "xp.maximum(self._array, T.numbers.zero) * T.numbers[2]"),
        (
            "other if alpha == 1 else other * alpha",
            ["_other = other._array"],
            "_other if alpha == 1 else _other * alpha",  # it is no operand that promotes
        ),
        (
            "xp.where(self > 0, self, other) + 1",
            ["_self = self._array"],
            "_select.select(_self > T.numbers.zero, _self, other._array) + 1",
        ),
    ],
)
def test_kernels(
    declared: Declarations, specialiser: Specialiser, text: str, named: list[str], call: str
) -> None:
    locals_, found = specialiser.computation(operator_of(declared, "add.Tensor"), Kernel(formula(text)))
    assert [f"{name} = {write(value)}" for name, value in locals_] == named
    assert write(found) == call


# -- formulas over Tensors ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grad * self.exp()", "grad * self.exp()"),
        ("exp(self) + helper(grad)", "F.exp(self) + _mine.helper(grad)"),
        ("grad.sum(other.ndim)", "grad.sum(len(node._other_shape))"),
        ("f(other.shape, other.dtype)", "f(Size(node._other_shape), node._other_type.scalar_type)"),
        ("other.numel() + 1", "Size(node._other_shape).numel() + 1"),
        ("cat(grad, [t.shape for t in tensors])", "F.cat(grad, node._tensors_shape)"),
        (
            "cat(grad, [t.dtype for t in tensors])",
            "F.cat(grad, [t.scalar_type for t in node._tensors_type])",
        ),
        ("grads[1] * original_self", "grad1 * self"),
        ("wrap_opt_if(self, flag) + lambda_", "self + lambda_"),
        ("[exp for exp in self.unbind()]", "[exp for exp in self.unbind()]"),  # its own name
        ("exp(input=self)", "F.exp(input=self)"),
    ],
)
def test_formulas_over_tensors(text: str, expected: str) -> None:
    metadata = {"other": "node._other", "tensors": "node._tensors"}
    rewriter = Rewriter({"helper": "mine.helper"}, {"exp": "F.exp", "cat": "F.cat"}, metadata)
    rewriter.known |= {"self", "grad", "lambda_"}
    assert write(rewriter.rewritten(read_expression(text))) == expected
    assert rewriter.used_helpers == ({"mine"} if "helper" in text else set())


# -- formulas over arrays ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def writer(derived: Derived, specialiser: Specialiser) -> ArrayWriter:
    operators = [v.operator for v in derived.variants if v.kind in ("functional", "view", "composite")]
    return ArrayWriter(operators, specialiser, "Float")


def branch(derived: Derived, writer: ArrayWriter, text: str) -> Branch | None:
    """What the Node of ``add.Tensor(self, other, *, alpha)`` would be with this formula for self."""
    spec = replace(derived.nodes["add.Tensor"], gradients=(Gradient((0,), formula(text)),))
    node = writer.node(spec)
    return None if node is None else node.branches[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grad * other", "_xp_multiply(grad, other, out=...)"),
        ("grad * other.conj()", "_xp_multiply(grad, other, out=...)"),  # of real numbers
        ("grad * other.exp()", "grad * xp.exp(other)"),
        ("exp(other) * 2 + grad", "xp.exp(other) * node.type.numbers[2] + grad"),
        ("grad * alpha + 1", "grad * node.type.numbers[alpha] + node.type.numbers[1]"),
        ("grad * other if alpha == 1 else grad", "grad * other if alpha == 1 else grad"),
        ("grad * self.ndim", "grad * len(node._self_shape)"),
        ("grad * self.numel()", "grad * prod(node._self_shape)"),
        ("grad * other + other.numel()", "grad * other + other.size"),
        ("grad * (other > 0)", "grad * (other > node.type.numbers.zero)"),
        (
            "where(other > 0, grad, 0)",
            "_select.select(other > node.type.numbers.zero, grad, 0)",
        ),
        ("grad * other + (grad * other).exp()", "t0 + xp.exp(t0)"),
    ],
)
def test_formulas_over_arrays(derived: Derived, writer: ArrayWriter, text: str, expected: str) -> None:
    found = branch(derived, writer, text)
    assert found is not None and write(found.formula) == expected


@pytest.mark.parametrize(
    "text",
    [
        "grad * unheard(other)",  # no kernel
        "grad * 2j",
        "alpha * 2",  # no array
        "grad if other else other",  # which array decides?
        "grad if alpha else 0",  # an array, or not
        "grad * (not other)",
        "wrap_opt_if(other, alpha) * grad",
        "grad * self.device",
        "grad.split(2)",  # arrays, but there is one input
        "[grad]",
    ],
)
def test_formulas_without_a_form_over_arrays(derived: Derived, writer: ArrayWriter, text: str) -> None:
    assert branch(derived, writer, text) is None


def test_what_is_worth_it_is_computed_in_blocks(derived: Derived, writer: ArrayWriter) -> None:
    found = branch(derived, writer, "grad * other.exp()")
    assert found is not None
    into, call = lines(found.blocked)
    assert into == "spare = grad if is_callers_only(grad) else None"
    assert "lambda grad, other, out, s0: xp.multiply(grad, xp.exp(other, out=s0), out=out)" in call
    plain = branch(derived, writer, "grad * other")
    assert plain is not None and plain.blocked == ()


# -- in place ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self + other", "xp.add(self, other, out=self)"),
        ("xp.exp(self * 2)", "xp.exp(self * 2, out=self)"),
        (
            "self + other if alpha == 1 else self - other",
            "xp.add(self, other, out=self) if alpha == 1 else xp.subtract(self, other, out=self)",
        ),
        ("self + other if alpha == 1 else self", None),
        ("xp.where(self, other, 0)", None),  # it has no out=
        ("kernel(self)", None),
    ],
)
def test_written_into_self(declared: Declarations, text: str, expected: str | None) -> None:
    found = written_into_self(read_expression(text), Ufuncs(declared.primitives))
    assert (None if found is None else write(found)) == expected
