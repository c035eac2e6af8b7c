"""What follows from declarations: variants, Nodes and what they save, forward mode."""

from __future__ import annotations

from pathlib import Path

from tengen.codegen.derive.derived import Derived, camel, derive
from tengen.codegen.pipeline import load
from tengen.codegen.specialise.nodes import SUM, NodeWriter
from tengen.ir.expressions import Name
from tengen.ir.statements import lines
from tengen.ir.writer import write

PROJECT = Path(__file__).parents[2]


def derived(folder: Path, native: str = "", derivatives: str = "") -> Derived:
    declarations = folder / "declarations"
    if native:
        (declarations / "native_functions.more.yaml").write_text(native)
    if derivatives:
        (declarations / "derivatives.more.yaml").write_text(derivatives)
    return derive(load(declarations, folder / "runtime"))


FMA = """
- func: fma(Tensor self, Tensor other, Tensor? weight=None, *, Scalar alpha=1) -> Tensor
  variants: function, method
  autogen: fma_, fma.out
  tags: [pointwise]
  dtypes: floating
  dispatch:
    CPU: self * other * alpha
  samples: ["[3], [3]"]
"""


def test_in_place_and_out_variants(folder: Path) -> None:
    found = {str(v.name): v for v in derived(folder, FMA).variants}
    inplace, out = found["fma_"], found["fma.out"]
    assert str(inplace.operator.schema) == (
        "fma_(Tensor(a!) self, Tensor other, Tensor? weight=None, *, Scalar alpha=1) -> Tensor(a!)"
    )
    assert str(out.operator.schema) == (
        "fma.out(Tensor self, Tensor other, Tensor? weight=None, *, Scalar alpha=1, Tensor(a!) out)"
        " -> Tensor(a!)"
    )
    assert (inplace.kind, out.kind) == ("inplace", "out")
    assert str(inplace.base) == str(out.base) == "fma"


SAME = """
- func: same(Tensor self, Tensor other) -> Tensor
  variants: function, method
  autogen: same_
  tags: [pointwise]
  dtypes: floating
  result: bool
  dispatch:
    CPU: self * other
  samples: ["[3], [3]"]
- func: equals(Tensor self, Tensor other) -> Tensor
  variants: function, method
  autogen: equals_
  dispatch:
    CompositeImplicitAutograd: self.same(other)
  samples: ["[3], [3]"]
"""


def test_an_in_place_variant_may_have_a_derivative_of_its_own(folder: Path) -> None:
    found = derived(folder, SAME, "- name: same_\n  self: grad * 0\n  result: self_t * 0\n")
    assert "same" not in found.nodes and found.nodes["same_"].name == "SameBackward0"
    assert "same" not in found.jvps and "same_" in found.jvps


def test_the_in_place_variant_of_an_alias_is_one(folder: Path) -> None:
    found = {str(v.name): v for v in derived(folder, SAME).variants}["equals_"]
    assert (found.kind, str(found.base)) == ("composite", "equals")
    (kernel,) = found.operator.kernels.values()
    assert kernel.formula.text == "self.same_(other)"


def test_a_node_saves_what_its_formulas_use(folder: Path) -> None:
    formulas = "- name: fma\n  self: grad * other * alpha\n  other: grad * other.shape[0] * self.numel()\n"
    node = derived(folder, FMA, formulas).nodes["fma"]
    assert node.name == "FmaBackward0"
    assert [a.name for a in node.inputs] == ["self", "other"]
    saved = {s.slot: (s.what, s.needed_by) for s in node.saved}
    assert saved == {
        "_other": ("tensor", (0,)),
        "_alpha": ("value", (0,)),
        "_other_shape": ("shape", (1,)),
        "_self_shape": ("shape", (1,)),
    }


def test_what_one_formula_needs_always_is_saved_always(folder: Path) -> None:
    text = "- name: fma\n  self: grad * other\n  other: grad * wrap_opt_if(other, alpha)\n"
    node = derived(folder, FMA, text).nodes["fma"]
    assert [(s.slot, s.condition) for s in node.saved] == [("_other", "")]


def test_a_formula_that_uses_the_result_saves_that(folder: Path) -> None:
    node = derived(folder, FMA, "- name: fma\n  self: grad * result\n").nodes["fma"]
    assert [(s.slot, s.what, s.index) for s in node.saved] == [("_result0", "result", 0)]


def test_only_results_declared_differentiable_are_of_the_node(folder: Path) -> None:
    native = """
- func: parts(Tensor self) -> (Tensor low, Tensor middle, Tensor high)
  dtypes: floating
  dispatch:
    CPU: (self / 3, self / 3, self / 3)
  samples: ["[3]"]
"""
    formula = "- name: parts\n  self: grads[1] + grads[2]\n  output_differentiability: [false, true, true]\n"
    assert derived(folder, native, formula).nodes["parts"].outputs == (1, 2)


def test_formulas_of_a_single_backend(folder: Path) -> None:
    text = """
- name: fma
  dispatch:
    Default:
      self: grad * other
    AutogradMeta:
      self: grad * 2
"""
    found = derived(folder, FMA, text)
    assert found.nodes["fma"].gradients[0].formula.text == "grad * other"
    own = found.node("fma", "Meta")
    assert own is not None and own.gradients[0].formula.text == "grad * 2"
    assert found.node("fma", "CPU") is found.nodes["fma"]
    assert own.name != found.nodes["fma"].name and own in found.all_nodes()


def test_joint_formula_and_mask(folder: Path) -> None:
    text = '- name: fma\n  "self, other": both(grad, grad_input_mask)\n'
    formulas = folder / "runtime" / "formulas"
    formulas.mkdir(exist_ok=True)
    (formulas / "mine.py").write_text("def both(grad, mask):\n    return grad, grad\n")
    node = NodeWriter(frozenset(), ()).node(derived(folder, FMA, text).nodes["fma"])
    (branch,) = node.branches
    assert branch.targets == "g0, g1"
    assert write(branch.formula) == "_mine.both(grad, grad_input_mask)"
    assert list(lines([local.statement for local in branch.prepare])) == [
        "grad_input_mask = (edges[0] is not None, edges[1] is not None)"
    ]


def test_metadata_is_rebuilt_from_what_was_saved(folder: Path) -> None:
    node = NodeWriter(frozenset(), ()).node(
        derived(folder, FMA, "- name: fma\n  self: grad * self.shape[0] * self.ndim\n").nodes["fma"]
    )
    assert write(node.branches[0].formula) == "grad * Size(node._self_shape)[0] * len(node._self_shape)"
    assert node.slots == ("_self_shape",) and node.released == ()


def test_forward_mode_formulas(folder: Path) -> None:
    text = "- name: fma\n  self: grad * other\n  other: grad * self\n"
    text += "  result: self_t * other_p + other_t * self_p\n"
    found = derived(folder, FMA, text)
    function = NodeWriter(frozenset(), ()).jvp(found.jvps["fma"], found.nodes["fma"])
    assert function.parameters == "self, other, weight, alpha, self_t, other_t, result"
    assert [write(term.value) for term in function.terms] == ["self_t * other", "other_t * self"]
    assert function.formulas == (Name(SUM),) and not function.zeros


def test_names_of_nodes() -> None:
    assert camel("log_softmax") == "LogSoftmax"
    assert camel("max_pool2d") == "MaxPool2D"


def test_an_out_variant_returns_each_of_its_out_arguments(folder: Path) -> None:
    native = """
- func: halves(Tensor self) -> (Tensor low, Tensor high)
  autogen: halves.out
  dtypes: floating
  dispatch:
    CPU: (self / 2, self / 2)
  samples: ["[3]"]
"""
    (variant,) = [v for v in derived(folder, native).variants if str(v.name) == "halves.out"]
    schema = variant.operator.schema
    assert [a.name for a in schema.out] == ["low", "high"]
    assert [r.alias for r in schema.returns] == [a.alias for a in schema.out]
