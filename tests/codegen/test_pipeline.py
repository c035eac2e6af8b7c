"""A folder of declarations as the model that the later stages get."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tengen.codegen.loaded import load as load_kept
from tengen.codegen.model.diagnostics import DeclarationErrors, Report
from tengen.codegen.model.operators import Declarations, Operator
from tengen.codegen.pipeline import load, load_reporting
from tengen.codegen.read.keys import DERIVATIVE_KEYS, KEYS
from tengen.codegen.read.libraries import Library

PROJECT = Path(__file__).parents[2]


def loaded(folder: Path, **files: str) -> Declarations:
    for name, text in files.items():
        (folder / "declarations" / name.replace("__", ".")).write_text(text)
    return load(folder / "declarations", folder / "runtime")


def operators(declarations: Declarations) -> dict[str, Operator]:
    return {str(o.name): o for o in declarations.operators}


def test_an_entry(folder: Path) -> None:
    exp = operators(loaded(folder))["exp"]
    assert str(exp.schema) == "exp(Tensor self) -> Tensor"
    assert exp.variants == {"function", "method"} and exp.tags == {"pointwise", "core"}
    assert [str(name) for name in exp.autogen] == ["exp_", "exp.out"]
    assert exp.kernels["CPU"].formula.text == "xp.exp(self)" and exp.kernels["CPU"].function is None
    assert (exp.promote, exp.promoted, exp.result) == ("default", ("self",), "same")
    assert exp.dtypes["CPU"] == {"Bool", "Long", "Float", "Double", "ComplexFloat", "ComplexDouble"}
    assert str(exp.place).startswith("declarations/native_functions.yaml:7:")


def test_defaults_of_what_is_not_pointwise(folder: Path) -> None:
    found = operators(loaded(folder))
    sort, square = found["sort"], found["square"]
    assert (sort.promote, sort.promoted, sort.result) == (None, (), "dynamic")
    assert sort.kernels["CPU"].function == "kernels.sort"
    assert square.kernels["CompositeImplicitAutograd"].formula.text == "mul(self, self)"
    assert square.dtypes == {}
    assert found["sum.dim_IntList"].samples[1].raises == "IndexError"
    assert found["full"].factory == ("fill_value",)


def test_tables(folder: Path) -> None:
    declarations = loaded(folder)
    assert [s.dtype for s in declarations.scalar_types] == [
        "bool",
        "int64",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
    by_name = {s.name: s for s in declarations.scalar_types}
    assert by_name["ComplexFloat"].real == "Float" and by_name["Float"].real == "Float"
    assert by_name["Float"].opmath == "Float" and by_name["Float"].promotes_to == ("Double", "ComplexFloat")
    cpu, meta = declarations.backends
    assert (cpu.name, cpu.kernels) == ("CPU", ("cpu", "kernels", "others"))
    assert meta.kernels == ("meta.backend", "meta.namespace", "meta.shapes")


def test_dtypes(folder: Path) -> None:
    text = """\
- func: relu(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: self}
  dtypes: all, -complex, -bool, complex64
- func: relu6(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: self}
  dtypes: {CPU: floating, Meta: all}
"""
    found = operators(loaded(folder, native_functions__more__yaml=text))
    assert found["relu"].dtypes["CPU"] == {"Long", "Float", "Double", "ComplexFloat"}
    assert found["relu6"].dtypes["CPU"] == {"Float", "Double"} and "Bool" in found["relu6"].dtypes["Meta"]


def test_cwrap_is_a_native_entry(folder: Path) -> None:
    text = """\
[[
  name: erf(Tensor self) -> Tensor
  cname: scipy.special:erf
  types: floating
  backends: CPU
  autogen: erf_, erf.out
  tags: [pointwise]
  promote: int_to_float
]]
"""
    erf = operators(loaded(folder, some__cwrap=text))["erf"]
    assert erf.kernels["CPU"].function == "scipy.special:erf" and set(erf.kernels) == {"CPU"}
    assert erf.dtypes["CPU"] == {"Float", "Double"} and erf.promote == "int_to_float"
    assert str(erf.place) == "declarations/some.cwrap:2:3"


NN = """\
- name: softplus(Tensor self, Scalar beta=1) -> Tensor
  cname: softplus
  gradients: [self]
  result: softplus_backward(self_t, self_p, beta)
  backward_derivatives: {grad_output: "softplus_backward(grad, self, beta)", result: auto_linear}
  autogen: softplus.out
  samples: ["[3]"]
"""


def test_nn_without_buffers(folder: Path) -> None:
    declarations = loaded(folder, nn__yaml=NN)
    found = operators(declarations)
    assert found["softplus"].kernels["CPU"].function == "kernels.softplus_forward"
    assert found["softplus"].kernels["Meta"].function == "meta.shapes.meta_softplus_forward"
    assert str(found["softplus_backward"].schema) == (
        "softplus_backward(Tensor grad_output, Tensor self, Scalar beta) -> Tensor"
    )
    assert (
        found["softplus_forward"].kernels["CompositeImplicitAutograd"].formula.text == "softplus(self, beta)"
    )
    assert found["softplus_backward"].tags == {"generated", "internal"}
    derivatives = {str(d.name): d for d in declarations.derivatives}
    assert derivatives["softplus"].gradients[("self",)].text == "softplus_backward(grad, self, beta)"
    assert derivatives["softplus"].jvps["result"].text == "softplus_backward(self_t, self_p, beta)"
    assert ("grad_output",) in derivatives["softplus_backward"].gradients


def test_nn_by_expressions(folder: Path) -> None:
    text = """\
- name: softplus(Tensor self, Scalar beta=1) -> Tensor
  gradients: [self]
  tags: pointwise
  dispatch: {CPU: xp.log(xp.exp(self * beta) + 1) / beta}
  backward_dispatch: {CPU: grad_output / (xp.exp(-(self * beta)) + 1)}
  promote: none
"""
    declarations = loaded(folder, nn__yaml=text)
    found = operators(declarations)
    assert {n: set(o.kernels) for n, o in found.items() if n.startswith("softplus")} == {
        "softplus": {"CPU"},
        "softplus_backward": {"CPU"},
        "softplus_forward": {"CompositeImplicitAutograd"},
    }
    kernel = found["softplus_backward"].kernels["CPU"]
    assert kernel.function is None and kernel.formula.text == "grad_output / (xp.exp(-(self * beta)) + 1)"
    assert found["softplus_backward"].tags == {"generated", "internal", "pointwise"}
    derivatives = {str(d.name): d for d in declarations.derivatives}
    assert derivatives["softplus"].gradients[("self",)].text == "softplus_backward(grad, self, beta)"
    assert "softplus_backward" not in derivatives  # it follows


def test_nn_with_buffers_and_several_gradients(folder: Path) -> None:
    (folder / "runtime" / "kernels" / "more.py").write_text(
        "def pool_forward(self, weight, size): ...\n"
        "def pool_backward(grad_output, self, weight, size, indices, output_mask): ...\n"
    )
    text = """\
- name: pool(Tensor self, Tensor weight, *, int[2] size=1) -> Tensor
  cname: pool
  buffers: [indices]
  gradients: [self, weight]
  samples: ["[3, 3], [3]"]
"""
    declarations = loaded(folder, nn__yaml=text)
    found = operators(declarations)
    assert str(found["pool_forward"].schema) == (
        "pool_forward(Tensor self, Tensor weight, *, int[2] size=1) -> (Tensor output, Tensor indices)"
    )
    assert str(found["pool_backward"].schema) == (
        "pool_backward(Tensor grad_output, Tensor self, Tensor weight, int[2] size, Tensor indices,"
        " bool[2] output_mask) -> (Tensor grad_self, Tensor grad_weight)"
    )
    assert (
        found["pool"].kernels["CompositeImplicitAutograd"].formula.text
        == "pool_forward(self, weight, size=size)[0]"
    )
    assert found["pool"].samples and not found["pool_forward"].samples
    derivative = {str(d.name): d for d in declarations.derivatives}["pool_forward"]
    assert derivative.output_differentiability == (True, False)
    assert derivative.gradients[("self", "weight")].text == (
        "pool_backward(grad, self, weight, size, indices, grad_input_mask)"
    )


def test_derivatives(folder: Path) -> None:
    text = """\
- name: sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
  self: sort_backward(grad, indices, self.shape, dim)
  result0: gather(self_t, dim, indices)
  output_differentiability: [true, false]
- name: sum.dim_IntList
  dispatch:
    Default:
      self: sum_backward(grad, self.shape, dim, keepdim)
      result: auto_linear
    AutogradMeta:
      self: grad
- name: where.self
  condition: non_differentiable
  self, other: (where(condition, grad, 0), where(condition, 0, grad))
"""
    extra = """\
- func: gather(Tensor self, int dim, Tensor index) -> Tensor
  dispatch: {CPU: self}
  samples: ["[3], 0, perm(3)"]
"""
    declarations = loaded(folder, derivatives__more__yaml=text, native_functions__more__yaml=extra)
    found = {str(d.name): d for d in declarations.derivatives}
    assert found["sort"].jvps["values"].text == "gather(self_t, dim, indices)"
    assert found["sort"].helpers == {"sort_backward": "helpers.sort_backward"}
    assert found["sort"].output_differentiability == (True, False)
    assert found["sum.dim_IntList"].gradients[("self",)].text.startswith("sum_backward")
    assert found["sum.dim_IntList"].dispatch["Meta"].gradients[("self",)].text == "grad"
    assert found["where.self"].non_differentiable == {"condition"}
    assert list(found["where.self"].gradients) == [("self", "other")]


def test_joint_results(folder: Path) -> None:
    text = "- name: sort\n  self: grads[0]\n  values, indices: two(self_t, indices)\n"
    helper = "def two(tangent, indices): ...\n"
    (folder / "runtime" / "formulas" / "more.py").write_text(helper)
    found = {str(d.name): d for d in loaded(folder, derivatives__more__yaml=text).derivatives}
    assert set(found["sort"].jvps) == {"values", "indices"}


def test_entries_with_a_mistake_are_left_out(folder: Path) -> None:
    (folder / "declarations" / "native_functions.more.yaml").write_text(
        "- func: relu(Tensor self) -> Tensor\n  tags: [pointwise]\n  dispatch: {CPU: slef}\n"
        "- func: relu6(Tensor self) -> Tensor\n  tags: [pointwise]\n  dispatch: {CPU: self}\n"
    )
    report = Report()
    found = operators(load_reporting(folder / "declarations", folder / "runtime", report))
    assert "relu" not in found and "relu6" in found
    assert len(report.diagnostics) == 1


def test_all_mistakes_of_all_files(folder: Path) -> None:
    with pytest.raises(DeclarationErrors) as caught:
        loaded(
            folder,
            native_functions__a__yaml="- func: f(Tensr self) -> Tensor\n- func: g(Tensor self)\n",
            derivatives__a__yaml="- name: h\n  self: grad\n",
            a__cwrap="]]\n",
        )
    assert len(caught.value.diagnostics) == 4
    assert [d.place.file.split("/")[1] for d in caught.value.diagnostics] == sorted(
        ["a.cwrap", "derivatives.a.yaml", "native_functions.a.yaml", "native_functions.a.yaml"]
    )


def test_the_project_s_own_declarations() -> None:
    assert load(PROJECT / "declarations", PROJECT / "runtime").operators


def test_every_key_is_documented() -> None:
    text = (PROJECT / "declarations" / "README.md").read_text()
    for table in (*KEYS.values(), DERIVATIVE_KEYS):
        for key in table:
            assert f"`{key}`" in text, key


def test_codegen_needs_no_arrays() -> None:
    """Neither NumPy nor the runtime nor generated code is imported to read declarations."""
    code = (
        "import sys, tengen.codegen.pipeline, tengen.codegen.check.conformance;"
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'torch', 'scipy')])"
    )
    # The package's own __init__ imports the runtime; codegen itself must not.
    package = f"p = types.ModuleType('tengen'); p.__path__ = [r'{PROJECT}']; sys.modules['tengen'] = p"
    probe = f"import sys, types; {package}; {code}"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_a_library_stands_on_is_kept(folder: Path) -> None:
    """And read again where it has changed, or is damaged; what is loaded is the same."""
    (folder / "pyproject.toml").touch()
    mine = folder / "lib" / "mine"
    (mine / "declarations").mkdir(parents=True)
    own = mine / "declarations" / "native_functions.yaml"
    text = '- func: cubed(Tensor self) -> Tensor\n  dispatch: {CPU: self * self * self}\n  samples: ["[3]"]\n'
    own.write_text(text)
    library = Library("mine", "mine", mine.parent, mine)

    def declared() -> Declarations:
        return load_kept(folder / "declarations", folder / "runtime", library)

    first, kept = declared(), folder / ".cache" / "base.pickle"
    assert first == load(folder / "declarations", folder / "runtime", library)
    content = kept.read_bytes()
    own.write_text(text.replace("cubed", "fourth"))
    second = declared()
    assert kept.read_bytes() == content and {"exp", "mine::fourth"} < operators(second).keys()
    kept.write_bytes(content[: len(content) // 2])
    own.write_text(text)
    assert declared() == first
    below = folder / "declarations" / "native_functions.yaml"
    below.write_text(below.read_text().replace("CPU: xp.exp(self)", "CPU: xp.exp(self + 0)"))
    assert operators(declared())["exp"].kernels["CPU"].formula.text == "xp.exp(self + 0)"
