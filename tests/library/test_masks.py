"""A library with operators that choose by masks: all that should follow of expressions does, and is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: leaky_where(Tensor self, Tensor mask, Scalar slope=0.1) -> Tensor
  variants: function
  autogen: leaky_where_, leaky_where.out
  tags: pointwise
  dispatch: {CPU: "xp.where(mask, self, xp.sin(self) * slope)"}
  dtypes: floating, reduced
  samples: ["[3, 4], bools([3, 4])", "[3, 4], bools([4]), 2.0", "[], bools([2, 3])", "[0, 3], bools([3])"]
  errors: ["[3], [3]: RuntimeError", "[3], bools([2]): RuntimeError"]
  reference: np.where(mask, self, np.sin(self) * slope)

- func: chosen_by(Tensor self, Tensor other, Tensor first, Tensor? second=None) -> Tensor
  tags: pointwise
  dispatch:
    CPU: >
      xp.where(first, self * other, self) if second is None else
      xp.where(first & ~second | (self > other), self * other, xp.tanh(self))
  dtypes: floating, reduced
  samples:
    - "[3, 4], [3, 4], bools([4])"
    - "[3, 4], [4], bools([3, 4]), bools([3, 1])"
    - "[], [3], bools([]), bools([3])"
  errors: ["[3], [3], bools([3]), ints([3], 0, 2): RuntimeError"]
  reference: >
    np.where(first, self * other, self) if second is None else
    np.where(first & ~second | (self > other), self * other, np.tanh(self))

- func: masked_square_loss(Tensor self, Tensor target, Tensor mask, int reduction=Mean) -> Tensor
  tags: loss
  dispatch: {CPU: "xp.where(mask, xp.square(self - target), 0)"}
  dtypes: floating, reduced
  samples: ["[3, 4], [3, 4], bools([3, 4])", "[3, 4], [4], bools([4]), 0", "[3], [3], bools([]), 2"]
  reference: (np.asarray, np.mean, np.sum)[reduction](np.where(mask, np.square(self - target), 0))

- func: rooted(Tensor self, Tensor mask) -> Tensor
  tags: pointwise
  dispatch: {CPU: "xp.sqrt(above_zero(self, mask)) * kept(mask, self.dtype)"}
  dtypes: floating, reduced
  domain: {self: "(0.5, 2)"}
  samples: ["[3, 4], bools([3, 4])", "[3, 4], bools([4])"]
  errors: ["values([-1.0, 1.0]), bools([2]): ValueError"]
  reference: np.sqrt(self) * mask
"""
KERNELS = """
from typing import Any

Mask = Any
Operand = Any


def above_zero(x: Any, mask: Any) -> Operand:
    if type(x).__name__ == "ndarray" and x.size and not x.min() > 0:
        raise ValueError("below")
    return x


def kept(mask: Any, dtype: Any) -> Mask:
    return mask
"""
MORE = """
import warnings
import masklib, tengen
from tengen.func import grad, vmap

ops = tengen.ops.masklib
x, y = tengen.rand(3, 4, dtype=tengen.float64), tengen.rand(3, 4, dtype=tengen.float64)
m, n = x > 0.5, y > 0.5
plain = tengen.where(m, x, x.sin() * 0.1)
assert tengen.equal(ops.leaky_where(x, m), plain)
assert ops.leaky_where(x.half(), m).dtype is tengen.float16
for half in (tengen.float16, tengen.bfloat16):
    assert tengen.allclose(ops.leaky_where(x.to(half), m).double(), plain, atol=0.01)
large, masks = tengen.rand(700, 700), tengen.rand(700, 700) > 0.5
assert tengen.allclose(ops.leaky_where(large, masks), tengen.where(masks, large, large.sin() * 0.1))

# other devices
assert ops.leaky_where(x.to("meta"), m.to("meta")).shape == (3, 4)
for device in ("dask", "jax"):
    try:
        there = x.to(device)
    except ImportError:  # the library is not installed
        continue
    assert tengen.allclose(ops.leaky_where(there, m.to(device)).cpu(), plain)
    assert tengen.allclose(ops.masked_square_loss(there, y.to(device), m.to(device)).cpu(),
        (tengen.where(m, (x - y) ** 2, 0)).mean())
nested = tengen.nested.nested_tensor([x[:2], x[2:]], layout=tengen.jagged)
for part, whole in zip(ops.leaky_where(nested, nested > 0.5).unbind(), (plain[:2], plain[2:])):
    assert tengen.allclose(part, whole)

# derivatives and batches
x.requires_grad_(); y.requires_grad_()
for f in (lambda x, y: ops.leaky_where(x, m), lambda x, y: ops.chosen_by(x, y, m),
          lambda x, y: ops.chosen_by(x, y, m, n), lambda x, y: ops.masked_square_loss(x, y, m),
          lambda x, y: ops.rooted(x, m)):
    used = (x, y) if f(x, y).grad_fn.next_functions[-1][0] is not None else (x, y)
    assert tengen.autograd.gradcheck(f, used, check_forward_ad=True)
    assert tengen.autograd.gradgradcheck(f, used)
assert ops.leaky_where(x, m).grad_fn.name() == "MasklibLeakyWhereBackward0"
x, y = x.detach(), y.detach()
assert tengen.equal(vmap(ops.leaky_where)(x, m), plain)
assert tengen.equal(vmap(ops.leaky_where, (0, None))(x, m[0]), ops.leaky_where(x, m[0]))
assert vmap(grad(lambda x, m: ops.leaky_where(x, m).sum()))(x, m).shape == (3, 4)
out = x.clone()
assert ops.leaky_where_(out, m) is out and tengen.equal(out, plain)

# what is no mask
def message(f):
    try:
        f()
    except RuntimeError as error:
        return str(error)
for device in ("cpu", "meta"):
    where = x.to(device)
    assert "leaky_where expected mask to be a boolean tensor, but got a tensor with dtype float64" in message(
        lambda: ops.leaky_where(where, where)), device
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert tengen.equal(ops.leaky_where(x, m.to(tengen.uint8)), plain)
assert "received a uint8 mask tensor" in str(told[0].message)

# one byte for each element of a mask, and one native kernel
from masklib.generated import kernels
operands, _, _, text = kernels.KERNELS["masklib__leaky_where"]
assert operands == ("mask:bool", "self", "slope:number") and text.startswith("result = xp.where(mask, self")
assert kernels.KERNELS["masklib__rooted"][0] == ("self", "mask:bool")

class Model(tengen.nn.Module):
    def forward(self, x):
        return ops.leaky_where(x, x > 0.5)
program = tengen.onnx.export(Model(), (x.float(),))
assert [node.op_type for node in program.graph.node].count("Where") == 1
"""
WRONG = """\
- func: scaled_where(Tensor self, Tensor mask) -> Tensor
  tags: pointwise
  dispatch: {CPU: "xp.where(mask, self, 0) * mask"}
  samples: ["[3], bools([3])"]
"""


def test_all_that_follows(workshop: Workshop) -> None:
    workshop.library("masklib", declarations__native_functions__yaml=OPERATORS, kernels__checks__py=KERNELS)
    workshop.tengen("gen", folder="masklib")
    names = [f"masklib::{name}" for name in ("leaky_where", "chosen_by", "masked_square_loss", "rooted")]
    assert "4 operators verified" in workshop.tengen("verify", "--strict", *names, folder="masklib")
    workshop.python(MORE)


def test_a_condition_is_no_number(workshop: Workshop) -> None:
    workshop.library("wrong", declarations__native_functions__yaml=WRONG)
    told = workshop.fails("gen", folder="wrong")
    assert "mask is a condition elsewhere, and so no number" in told
    assert "native_functions.yaml:3:" in told
