"""A library whose operators are expressions of special functions: all that should follow does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: smooth_of(Tensor self, Tensor other, *, float scale=1.0) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: 0.5 * self * (1 + erf(self * 0.7071067811865476)) + scale * lgamma(other)}
  dtypes: floating, reduced
  promote: int_to_float
  domain: {other: "[0.5, 3]"}
  samples: ["[3, 4], [3, 4]", "[3, 4], [4], scale=2.0", "[], []", "[0, 3], [3]"]
  reference: self * scipy.special.ndtr(self) + scale * scipy.special.gammaln(other)

- func: waves_of(Tensor self, Tensor other) -> Tensor
  tags: [pointwise]
  dispatch:
    CPU: bessel_j1(self) * i0e(other) - scaled_modified_bessel_k1(xp.abs(other) + 1) / zeta(3, xp.exp(self))
  dtypes: floating
  samples: ["[3, 4], [3, 4]", "[3, 1], [4]", "[], []", "values([0., 40.]), values([100., -40.])"]
  reference: >
    scipy.special.j1(self) * scipy.special.i0e(other)
    - scipy.special.k1e(abs(other) + 1) / scipy.special.zeta(3, np.exp(self))

- func: turns_of(Tensor self, Tensor other, float step=0.5) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: "fmod(self, other) + remainder(self, step) * other"}
  dtypes: floating
  domain: {self: "[0.6, 0.9]", other: "[0.6, 0.9]"}
  samples: ["[3, 4], [3, 4]", "[3, 1], [4], 0.55", "[], []", "[0, 3], [3]"]
  reference: np.fmod(self, other) + np.remainder(self, step) * other

- func: share_of(Tensor self, Tensor other) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: "igamma(self, other) * polygamma(1, other)"}
  dtypes: floating
  domain: {self: "[0.5, 3]", other: "[0.5, 3]"}
  samples: ["detached([3, 4]), [3, 4]", "detached([3]), []"]
  reference: scipy.special.gammainc(self, other) * scipy.special.polygamma(1, other)

- func: counts_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor
  tags: loss
  dispatch: {CPU: xp.exp(self) - target * self + lgamma(target + 1)}
  dtypes: floating, reduced
  domain: {target: "[0, 4]"}
  samples: ["[3, 4], [3, 4]", "[3, 4], [4], 0", "[], []", "[0, 3], [3], 2"]
  reference: >
    (np.asarray, np.mean, np.sum)[reduction](np.exp(self) - target * self + scipy.special.gammaln(target + 1))

- func: probits_of(Tensor self, int dim=-1) -> Tensor
  body: |
    over self[dim: n]
    p = ndtr(self)
    out = p / sum(p) + erf(max(self)) * digamma(self * self + 1)
  samples: ["[3, 4], 1", "[3, 4, 2], -2", "[0, 3], 1", "[]"]
  reference: >
    scipy.special.ndtr(self) / scipy.special.ndtr(self).sum(dim if self.ndim else None, keepdims=True)
    + scipy.special.erf(self.max(dim if self.ndim else None, keepdims=True))
    * scipy.special.psi(self * self + 1) if self.size else self
"""
MORE = """
import sys
import speclib, tengen
from tengen.func import grad, vmap

ops = tengen.ops.speclib
assert "scipy" not in sys.modules
x, y = tengen.randn(3, 4, dtype=tengen.float64), tengen.rand(3, 4, dtype=tengen.float64) + 0.5
value = ops.smooth_of(x, y)
assert tengen.allclose(value, tengen.nn.functional.gelu(x) + y.lgamma())
assert tengen.allclose(ops.smooth_of(x.to("dask"), y.to("dask")).cpu(), value)
assert tengen.allclose(ops.waves_of(x.to("dask"), y.to("dask")).cpu(), ops.waves_of(x, y))
assert tengen.allclose(ops.turns_of(x.to("dask"), y.to("dask")).cpu(), ops.turns_of(x, y))
assert tengen.allclose(ops.probits_of(x.to("dask"), 1).cpu(), ops.probits_of(x, 1))
assert ops.smooth_of(x.to("meta"), y.to("meta")).shape == ops.probits_of(x.to("meta")).shape == (3, 4)
assert ops.smooth_of(x.half(), y.half()).dtype is tengen.float16
assert tengen.allclose(vmap(grad(lambda x, y: ops.counts_loss(y, x)))(y, x) * 4, (y + 1).digamma() - x)
large = tengen.rand(700, 700, requires_grad=True)
ops.smooth_of(large, large).sum().backward()
expected, = tengen.autograd.grad((tengen.nn.functional.gelu(large) + large.lgamma()).sum(), large)
assert tengen.allclose(large.grad, expected, atol=1e-5)
try:
    ops.share_of(y.requires_grad_(), y.detach()).sum().backward()
except RuntimeError as error:
    assert "igamma: input" in str(error), error
else:
    raise AssertionError
"""
#: A function that the kernels of a library have under the name of a primitive.
CLASH = """\
- func: twice(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: 2 * erfcx(self) + ndtrr(self)}
  dtypes: floating
"""
#: One that is wrong, by a sign.
WRONG = """\
- name: share_of
  self: 'not_implemented("share_of: self")'
  other: grad * igamma(self, other) * polygamma(2, other)
  result: auto_element_wise
"""


def test_all_that_follows(workshop: Workshop) -> None:
    workshop.library("speclib", declarations__native_functions__yaml=OPERATORS)
    workshop.tengen("gen", folder="speclib")
    names = "smooth_of", "waves_of", "turns_of", "share_of", "counts_loss", "probits_of"
    full = [f"speclib::{name}" for name in names]
    assert "6 operators verified" in workshop.tengen("verify", "--strict", *full, folder="speclib")
    workshop.python(MORE)


def test_what_is_wrong_has_its_place(workshop: Workshop) -> None:
    kernels = "def erfcx(x):\n    return x\n"
    workshop.library("clashlib", declarations__native_functions__yaml=CLASH, kernels__own__py=kernels)
    said = workshop.fails("gen", folder="clashlib")
    assert 'native_functions.yaml:3:19: error: the kernel "erfcx" has the name of a primitive' in said
    assert 'error: unknown name "ndtrr" in the kernel' in said and 'did you mean "ndtr"' in said


def test_a_wrong_derivative_is_found(workshop: Workshop) -> None:
    files = {"declarations__native_functions__yaml": OPERATORS, "declarations__derivatives__yaml": WRONG}
    workshop.library("wronglib", **files)
    workshop.tengen("gen", folder="wronglib")
    said = workshop.fails("verify", "wronglib::share_of", folder="wronglib")
    assert "derivatives.yaml:3:" in said
