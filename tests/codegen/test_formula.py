"""What a Node saves follows from the formula's tree."""

from __future__ import annotations

import pytest

from tengen.codegen.model.diagnostics import Report
from tengen.codegen.model.operators import Formula, Operator
from tengen.codegen.model.source import Located, Place
from tengen.codegen.parse.formula import Saved, as_text, length_of, parse_formula, place_of, saved
from tengen.codegen.parse.schema import parse_schema
from tengen.codegen.read.entries import read_yaml
from tengen.ir.expressions import Name, walk

HERE = Place("f.yaml", 1, 1)
SORT = Operator(
    parse_schema("sort(Tensor self, Tensor other, int dim=-1) -> (Tensor values, Tensor indices)"),
    HERE,
    "native",
)
STACK = Operator(parse_schema("stack(Tensor[] tensors, int dim=0) -> Tensor"), HERE, "native")


def formula(text: str) -> Formula:
    made = parse_formula(Located(text, HERE), Report())
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grad * self", Saved(tensors=("self",), gradients=frozenset({0}))),
        ("grad.expand(self.shape)", Saved(metadata=(("self", "shape"),), gradients=frozenset({0}))),
        ("grad * self.numel() + self.shape[dim]",
         Saved(metadata=(("self", "numel"), ("self", "shape")), values=("dim",), gradients=frozenset({0}))),
        ("self * self.ndim", Saved(tensors=("self",))),
        ("self.sum(dim)", Saved(tensors=("self",), values=("dim",))),
        ("other.conj() * self", Saved(tensors=("self", "other"))),
        ("values + result0", Saved(results=(0,))),
        ("indices.shape", Saved(result_metadata=((1, "shape"),))),
        ("grads[1] + grad_values", Saved(gradients=frozenset({0, 1}))),
        ("f(grads, grad_input_mask)", Saved(all_gradients=True, input_mask=True)),
        ("f(wrap_opt_if(self, grad_input_mask[1]))", Saved(conditional=(("self", "grad_input_mask[1]"),))),
        ("f(wrap_opt_if(self, dim), self)", Saved(tensors=("self",))),
        ("[self for self in grads]", Saved(all_gradients=True)),
        ("release(retain_variables)", Saved(retain_variables=True)),
    ],
)  # fmt: skip
def test_saved(text: str, expected: Saved) -> None:
    assert saved(formula(text), SORT) == expected


def test_saved_of_lists() -> None:
    assert saved(formula("f(grad, [t.shape for t in tensors])"), STACK).metadata == (("tensors", "shape"),)
    assert saved(formula("f(grad, tensors)"), STACK).tensors == ("tensors",)
    assert saved(formula("[t * 2 for t in tensors]"), STACK).tensors == ("tensors",)


def test_saved_of_several_formulas() -> None:
    both = saved([formula("grad * self.shape[0]"), formula("grad * self")], SORT)
    assert both.tensors == ("self",) and both.metadata == ()


def test_places_inside_of_folded_text() -> None:
    root = read_yaml("a: >\n  grad +\n    slef * (dim\n  + 1)\n", "f.yaml", Report())
    assert root is not None
    made = parse_formula(root.value["a"], Report())
    assert made is not None
    name = next(n for n in walk(made.tree) if n == Name("slef"))
    assert str(place_of(made, name)) == "f.yaml:3:5" and length_of(made, name) == 4


def test_text_is_one_line() -> None:
    made = as_text(Located("  a +\n b ", HERE, None, ((0, HERE), (6, Place("f.yaml", 2, 1)))))
    assert made.value == "a +  b"
    assert str(made.at(0)) == "f.yaml:1:3" and str(made.at(5)) == "f.yaml:2:2"
