"""A library whose losses are declared by expressions of their elements: all that should follow does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: cosh_loss(Tensor self, Tensor target, int reduction=Mean, *, float scale=1.0) -> Tensor
  tags: loss
  dispatch: {CPU: "xp.log(xp.cosh((self - target) * scale)) / scale"}
  refuse: {scale <= 0: "cosh_loss: scale must be positive, but it is {scale}"}
  dtypes: floating, reduced
  samples: ["[3, 4], [3, 4]", "[3, 4], [4], 0", "[3, 1], [4], 2, scale=0.5", "[], []", "[0, 3], [3], 2"]
  errors: ["[3], [2]: RuntimeError", "[3], [3], 3: ValueError", "[3], [3], scale=0.0: RuntimeError"]
  reference: >
    (np.asarray, np.mean, np.sum)[reduction](np.log(np.cosh((self - target) * scale)) / scale)

- func: pinball_loss(Tensor self, Tensor target, Tensor weight, float q=0.5, int reduction=Mean) -> Tensor
  tags: loss
  dispatch:
    CPU: >
      weight * (xp.abs(target - self) * 0.5 if q == 0.5 else
      xp.maximum((target - self) * q, (target - self) * (q - 1)))
  refuse: {q <= 0: "pinball_loss: the {{quantile}} is above 0"}
  dtypes: floating, reduced
  samples: ["[3, 4], [3, 4], [4]", "[3, 4], [4], [3, 1], 0.2, reduction=0", "[3], [3], [], 0.9, reduction=2"]
  reference: >
    (np.asarray, np.mean, np.sum)[reduction](weight * np.maximum((target - self) * q,
    (target - self) * (q - 1)))
"""
MORE = """
import losslib, tengen
from tengen.func import grad, vmap

ops = tengen.ops.losslib
x, y = tengen.rand(3, 4, dtype=tengen.float64), tengen.rand(3, 4, dtype=tengen.float64)
one = lambda x, y: ops.cosh_loss(x, y)
assert tengen.allclose(vmap(grad(one))(x, y), tengen.tanh(x - y) / 4)
assert tengen.allclose(ops.cosh_loss(x.to("dask"), y.to("dask")).cpu(), one(x, y))
assert one(x.half(), y.half()).dtype is tengen.float16
assert ops.cosh_loss(x.to("meta"), y.to("meta"), 0).shape == (3, 4)
assert one(x.requires_grad_(), y).grad_fn.name() == "LosslibCoshLossBackward0"
large = tengen.rand(700, 700, requires_grad=True), tengen.rand(700, 700)
one(*large).backward()
assert tengen.allclose(large[0].grad, tengen.tanh(large[0].detach() - large[1]) / 490000)
try:
    ops.cosh_loss(x, y, scale=-2.0)
except RuntimeError as error:
    assert "cosh_loss: scale must be positive, but it is -2.0" in str(error), error
try:
    ops.pinball_loss(x, y, y, 0.0)
except RuntimeError as error:
    assert "pinball_loss: the {quantile} is above 0" in str(error), error
"""


def test_all_that_follows(workshop: Workshop) -> None:
    workshop.library("losslib", declarations__native_functions__yaml=OPERATORS)
    workshop.tengen("gen", folder="losslib")
    names = "losslib::cosh_loss", "losslib::pinball_loss"
    assert "2 operators verified" in workshop.tengen("verify", "--strict", *names, folder="losslib")
    workshop.python(MORE)
