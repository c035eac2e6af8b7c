"""Several libraries, what they may add to tengen, and what they may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

EXPRESSION = """\
- func: {name}(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch:
    CPU: {text}
  dtypes: floating
"""

KERNEL = """\
- name: bincount
  dispatch:
    Meta: bincount_meta
"""
MODULE = "def bincount_meta(self, weights, minlength):\n    return self\n"


def test_a_program_defines_more_for_a_library(workshop: Workshop) -> None:
    """Before the library is loaded, and after; but nothing that it declares."""
    declared = EXPRESSION.format(name="step", text="self + 1")
    workshop.library("first", declarations__native_functions__yaml=declared)
    workshop.tengen("gen", folder="first")
    said = workshop.python("""
import tengen
tengen.library.define("first::before", "(Tensor x) -> Tensor")
tengen.library.impl("first::before", "cpu", lambda x: x * 2)
import first
lib = tengen.library.Library("first", "FRAGMENT")
lib.define("after(Tensor x) -> Tensor")
lib.impl("after", lambda x: tengen.ops.first.step(x) * 10)
x = tengen.tensor([2.0])
ops = tengen.ops.first
print(ops.before(x).item(), ops.step(x).item(), ops.after(x).item())
again = lambda: lib.define("step(Tensor x) -> Tensor")
for refused in (again, lambda: tengen.library.Library("first", "DEF")):
    try:
        refused()
    except RuntimeError as error:
        print(str(error)[:60])
lib._destroy()
print(hasattr(ops, "after"), hasattr(ops, "step"))
""")
    assert said.splitlines() == [
        "4.0 3.0 30.0",
        "Tried to register an operator (first::step(Tensor x) -> Tens",
        "Only a single library of kind DEF can be used to register th",
        "False True",
    ]
    said = workshop.raises("""
import tengen
tengen.library.define("first::step", "(Tensor x) -> Tensor")
import first
""")
    assert "the library first declares 'step', which the program has defined before" in said


def test_two_at_once(workshop: Workshop) -> None:
    """Operators of one name in two libraries are two operators."""
    for library, text in (("first", "self + 1"), ("second", "self * 10")):
        declared = EXPRESSION.format(name="step", text=text)
        workshop.library(library, declarations__native_functions__yaml=declared)
        workshop.tengen("gen", folder=library)
    said = workshop.python("""
import tengen, first, second
x = tengen.tensor([2.0], requires_grad=True)
y = tengen.ops.first.step(tengen.ops.second.step(x))
y.backward()
print(y.item(), x.grad.item(), y.grad_fn.name(), dir(tengen.ops))
""")
    assert said == "21.0 10.0 FirstStepBackward0 ['aten', 'first', 'second']\n"


ON_ANOTHER = """\
- func: twice(Tensor self) -> Tensor
  dispatch:
    CompositeImplicitAutograd: twice
  samples: ["[3]"]

- func: cubed(Tensor self) -> Tensor
  dispatch:
    CPU: self * self * self
  dtypes: floating
  samples: ["[3]"]
"""
CUBED = """\
- name: cubed
  self: slope(grad, self)
"""
CALLS = """\
import tengen


def twice(self):
    return tengen.ops.first.step(tengen.ops.first.step(self))


def slope(grad, self):
    return grad * tengen.ops.first.step(self)
"""


def test_one_on_the_other(workshop: Workshop) -> None:
    """The functions of a library may call the operators of another; its declarations may not name them."""
    workshop.library(
        "first", declarations__native_functions__yaml=EXPRESSION.format(name="step", text="self * self * 3")
    )
    workshop.tengen("gen", folder="first")
    second = workshop.library(
        "second",
        declarations__native_functions__yaml=ON_ANOTHER,
        declarations__derivatives__yaml=CUBED,
        composite__all__py=CALLS,
        formulas__all__py=CALLS,
    )
    package = second / "second" / "__init__.py"
    package.write_text("import first\n" + package.read_text())
    workshop.tengen("gen", folder="second")
    said = workshop.python("""
import tengen, second
x = tengen.tensor([2.0], requires_grad=True)
y = tengen.ops.second.twice(x)
y.backward()
print(y.item(), x.grad.item())
slope, = tengen.autograd.grad(tengen.ops.second.cubed(x), x, create_graph=True)
print(slope.item(), tengen.autograd.grad(slope, x)[0].item())
""")
    assert said == "432.0 864.0\n12.0 12.0\n"
    named = second / "second" / "declarations" / "derivatives.yaml"
    named.write_text("- name: cubed\n  self: grad * step(self)\n")
    assert 'unknown name "step" in the formula' in workshop.fails("gen", folder="second")


def test_one_name_for_two_packages(workshop: Workshop) -> None:
    for package in ("one", "other"):
        declared = EXPRESSION.format(name="step", text="self + 1")
        workshop.library("steps", package, declarations__native_functions__yaml=declared)
        workshop.tengen("gen", folder=package)
    said = workshop.raises("import one\nimport other")
    assert "two libraries are called 'steps': the package one (" in said and "the package other (" in said
    # Nothing is left of the one that failed, and it may be loaded again with the same end.
    workshop.python("""
import tengen, one
for _ in range(2):
    try:
        import other
    except RuntimeError:
        pass
    else:
        raise SystemExit(1)
assert tengen.ops.steps.step.__module__ == "one.generated.functions"
""")


def test_two_add_the_same_kernel(workshop: Workshop) -> None:
    for name in ("first", "second"):
        workshop.library(name, declarations__kernels__yaml=KERNEL, kernels__kernels__py=MODULE)
        workshop.tengen("gen", folder=name)
    said = workshop.raises("import first\nimport second")
    assert (
        "two libraries declare the kernel of bincount for Meta: first (first/declarations/kernels.yaml:3)"
        in said
    )
    assert "and second (second/declarations/kernels.yaml:3)" in said


def test_a_kernel_for_an_operator_of_tengen(workshop: Workshop) -> None:
    workshop.library("first", declarations__kernels__yaml=KERNEL, kernels__kernels__py=MODULE)
    workshop.tengen("gen", folder="first")
    call = "tengen.bincount(tengen.empty(3, dtype=tengen.int64, device='meta'))"
    assert "NotImplementedError" in workshop.raises(f"import tengen\n{call}")
    workshop.python(f"import tengen, first\nassert {call}.shape == (3,)")


def test_an_operator_that_tengen_has(workshop: Workshop) -> None:
    declared = EXPRESSION.format(name="exp", text="self + 1")
    workshop.library("first", declarations__native_functions__yaml=declared)
    said = workshop.fails("gen", folder="first")
    assert 'first/declarations/native_functions.yaml:1:9: error: "exp" is an operator of tengen' in said
    assert "tengen/declarations/native_functions.unary.yaml:" in said and "it is declared here" in said


def test_a_kernel_or_a_derivative_that_tengen_has(workshop: Workshop) -> None:
    kernels = "- name: exp\n  dispatch:\n    CPU: xp.exp(self)\n"
    derivatives = "- name: exp\n  self: grad * result\n"
    workshop.library(
        "first", declarations__kernels__yaml=kernels, declarations__derivatives__yaml=derivatives
    )
    said = workshop.fails("gen", folder="first")
    assert "first/declarations/kernels.yaml:3:5: error: exp has a kernel for CPU" in said
    assert "first/declarations/derivatives.yaml:1:9: error: exp has two entries" in said
    assert said.count("  tengen/declarations/") == 2  # where tengen has them


def test_mistakes_are_shown_in_the_librarys_files(workshop: Workshop) -> None:
    declared = EXPRESSION.format(name="step", text="xp.epx(self)") + "  variants: function, method\n"
    workshop.library("first", declarations__native_functions__yaml=declared)
    said = workshop.fails("gen", folder="first")
    assert "first/declarations/native_functions.yaml:4:13: error" in said and "xp.epx(self)" in said
    assert "a library adds no methods of Tensor" in said
    assert not (workshop.root / "first" / "first" / "generated").exists()


def test_kernels_of_one_name(workshop: Workshop) -> None:
    """A library's kernel may be called as one of tengen's: each means its own."""
    declared = "- func: step(Tensor self) -> Tensor\n  dispatch:\n    CPU: sum\n  samples: ['[3]']\n"
    kernel = "def sum(self):\n    return self + 41\n"
    workshop.library("first", declarations__native_functions__yaml=declared, kernels__kernels__py=kernel)
    workshop.tengen("gen", folder="first")
    program = (
        "import tengen, first\nx = tengen.ones(2)\nprint(tengen.ops.first.step(x)[0].item(), x.sum().item())"
    )
    assert workshop.python(program) == "42.0 2.0\n"


def test_code_that_is_missing_or_of_another_version(workshop: Workshop) -> None:
    declared = EXPRESSION.format(name="step", text="self + 1")
    root = workshop.library("first", declarations__native_functions__yaml=declared)
    assert "the library first has no generated code; `tengen gen`" in workshop.raises("import first")
    workshop.tengen("gen", folder="first")
    manifest = root / "first" / "generated" / "library.py"
    text = manifest.read_text()
    assert 'TENGEN: Final = "0.1.0"' in text
    manifest.write_text(text.replace('"0.1.0"', '"0.0.9"'))
    assert "was generated for tengen 0.0.9" in workshop.raises("import first")
    assert "edited by hand  library.py" in workshop.fails("gen", "--check", folder="first")


def test_settings_that_are_wrong(workshop: Workshop) -> None:
    (workshop.root / "pyproject.toml").write_text('[tool.tengen]\nlibary = "first"\n')
    assert '[tool.tengen] has no key "libary"' in workshop.fails("gen")
    (workshop.root / "pyproject.toml").write_text('[tool.tengen]\nlibrary = "first"\n')
    assert "there is no package first" in workshop.fails("fmt")
