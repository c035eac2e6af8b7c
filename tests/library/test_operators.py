"""What operators of a library can do: all that those of tengen can."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Workshop

START = "import tengen, mylib\nops = tengen.ops.mylib\n"


def check(initial: Workshop, program: str) -> str:
    return initial.python(START + program)


def test_derivatives(initial: Workshop) -> None:
    check(
        initial,
        """
from tengen.autograd import gradcheck, gradgradcheck
x = tengen.tensor([[0.1, 0.4, 0.9]], dtype=tengen.float64, requires_grad=True)
for function in (ops.smoothstep, ops.moving_average, lambda x: ops.smoothstep(x) * x.exp()):
    assert gradcheck(function, (x,), check_forward_ad=True)
    assert gradgradcheck(function, (x,))
assert ops.smoothstep(x).grad_fn.name() == "MylibSmoothstepBackward0"
""",
    )


def test_transforms(initial: Workshop) -> None:
    check(
        initial,
        """
x = tengen.tensor([[0.1, 0.4], [0.9, 0.5]])
each = tengen.func.vmap(ops.moving_average)(x)
assert tengen.equal(each, ops.moving_average(x))
value, tangent = tengen.func.jvp(ops.smoothstep, (x,), (tengen.ones_like(x),))
assert tengen.allclose(tangent, 6 * x - 6 * x * x)
hessian = tengen.func.hessian(lambda v: ops.smoothstep(v).sum())(x[0])
assert tengen.allclose(hessian, tengen.diag(6 - 12 * x[0]))
""",
    )


def test_variants_meta_and_modes(initial: Workshop) -> None:
    check(
        initial,
        """
x = tengen.tensor([0.0, 0.5, 1.0])
y = x.clone()
assert ops.smoothstep_(y) is y and tengen.equal(y, ops.smoothstep(x))
out = tengen.empty(3)
assert ops.smoothstep(x, out=out) is out and tengen.equal(out, y)
assert ops.moving_average(tengen.ones(2, 3, device="meta")).shape == (2, 3)
assert ops.smoothstep(tengen.ones(2, device="meta", requires_grad=True)).requires_grad
with tengen.inference_mode():
    assert ops.smoothstep(x).is_inference()
with tengen.no_grad():
    assert not ops.smoothstep(x.requires_grad_()).requires_grad
""",
    )


def test_types_that_are_older_than_the_library(initial: Workshop) -> None:
    initial.python(
        """
import tengen
older = [tengen.ones(2), tengen.ones(2, dtype=tengen.float16), tengen.ones(2, device="meta")]
kinds = [x._type for x in older]
import mylib
newer = tengen.ones(2, dtype=tengen.float64)
for x in (*older, newer):
    assert tengen.ops.mylib.smoothstep(x).dtype is x.dtype
assert [x._type for x in older] == kinds and tengen.ones(2)._type is kinds[0]
assert kinds[0].name == "VariableCPUFloatType" and type(kinds[0]).__module__.startswith("tengen")
"""
    )


def test_tables_that_are_older_than_the_library(initial: Workshop) -> None:
    initial.python(
        """
import tengen, tengen.func
x = tengen.ones(3)
tengen.func.vmap(tengen.exp)(x)
tengen.func.jvp(tengen.exp, (x,), (x,))
import mylib
assert tengen.func.jvp(tengen.ops.mylib.smoothstep, (x,), (x,))[1].sum() == 0
assert tengen.equal(tengen.func.vmap(tengen.ops.mylib.smoothstep)(x), x)
"""
    )


def test_traces_and_profiles(initial: Workshop) -> None:
    said = check(
        initial,
        """
x = tengen.ones(2)
print(tengen.jit.trace(ops.smoothstep, (x,)).graph)
with tengen.autograd.profiler.profile() as profile:
    ops.smoothstep(x)
print([e.name for e in profile.function_events])
""",
    )
    assert "mylib::smoothstep(" in said and "'mylib::smoothstep'" in said


def test_errors_name_the_operator_and_its_declaration(initial: Workshop) -> None:
    said = initial.raises(START + "ops.moving_average(tengen.ones(2), 'a')")
    assert "TypeError: mylib::moving_average(): argument 'weight'" in said
    assert "mylib::moving_average is declared in mylib/declarations/native_functions.yaml:" in said
    said = initial.raises(START + "ops.moving_average(tengen.ones(2, dtype=tengen.int64))")
    assert "NotImplementedError: \"mylib::moving_average\" not implemented for 'Long' (CPU)" in said
    assert "the library mylib has no operator 'smooth'" in initial.raises(START + "ops.smooth")


def test_before_the_import(initial: Workshop) -> None:
    said = initial.raises("import tengen; tengen.ops.mylib")
    assert "no library 'mylib' is loaded (loaded: none)" in said and "`import mylib`" in said


def test_stub_and_reference(initial: Workshop) -> None:
    generated = initial.root / "mylib" / "mylib" / "generated"
    assert (
        "def moving_average(input: Tensor, weight: float = 0.5" in (generated / "functions.pyi").read_text()
    )
    assert "## mylib.moving_average" in (generated / "operators.md").read_text()


def test_onnx_follows_from_kernels(workshop: Workshop) -> None:
    pytest.importorskip("onnxruntime")
    workshop.library(
        "other",
        declarations__native_functions__yaml="""
- func: grown(Tensor self, Scalar rate=0.5) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: "xp.exp(self * rate) * 2 - (self > 0)"}
  dtypes: floating, reduced
- func: bent(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: "power(self) + xp.nextafter(self, 0.0)"}
  dtypes: floating
- func: mine(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: power(self)}
  dtypes: floating
""",
        kernels__mine__py="def power(self):\n    return self * self * self\n",
        onnx__symbolics__py="def power(self):\n    return self * self * self\n",
    )
    workshop.tengen("gen", folder="other")
    check = """
import numpy as np, onnxruntime, tengen, other
ops = tengen.ops.other
for function, dtype in ((ops.grown, "float32"), (ops.grown, "float16"), (ops.mine, "float32")):
    x = tengen.tensor([[-1.0, 0.5, 2.0], [0.0, float("inf"), float("nan")]], dtype=getattr(tengen, dtype))
    model = tengen.onnx.export(function, (x,))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found, = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert found.dtype == x.numpy().dtype
    np.testing.assert_allclose(found, function(x).numpy(), rtol=1e-3 if dtype == "float16" else 1e-6)
"""
    workshop.python(check)
    said = workshop.raises(
        "import tengen, other\ntengen.onnx.export(tengen.ops.other.bent, (tengen.ones(2),))"
    )
    assert "other::bent has no symbolic" in said
    explained = workshop.tengen("explain", "other::bent", folder="other")
    assert "none can be derived: the primitive nextafter has no ONNX form" in explained
