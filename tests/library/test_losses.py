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

- func: weighed(Tensor self, Tensor to, Tensor? weight=None, int reduction=Mean, *, Tensor? by=None) -> Tensor
  tags: loss
  dispatch:
    CPU: xp.square(self - to - (0 if by is None else by)) * (1 if weight is None else weight)
  dtypes: floating, reduced
  samples: ["[3, 4], [3, 4]", "[3, 4], [4], [3, 1], 0", "[3, 1], [4], None, 2, by=[4]"]
  reference: >
    (np.asarray, np.mean, np.sum)[reduction](np.square(self - to - (0 if by is None else by))
    * (1 if weight is None else weight))

- func: lifted(Tensor self, Tensor? by=None, Tensor? to=None) -> Tensor
  tags: pointwise
  dispatch:
    CPU: xp.exp(self) * (1 if by is None else xp.tanh(by)) if to is None else to * xp.sin(self)
  dtypes: floating, reduced
  samples: ["[3, 4]", "[3, 4], [4]", "[3, 1], [3, 4], [4]", "[4], to=[3, 1]"]
  reference: "np.exp(self) * (1 if by is None else np.tanh(by)) if to is None else to * np.sin(self)"
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
for name, count in (("weighed", 4), ("lifted", 3)):
    f = getattr(ops, name)
    for there in range(2 ** (count - 1)):
        given = [tengen.rand(3, 4, dtype=tengen.float64).requires_grad_() for _ in range(count)]
        needed = 2 if name == "weighed" else 1
        given = [x if i < needed or there >> (i - 1) & 1 else None for i, x in enumerate(given)]
        known = [x for x in given if x is not None]
        def of(*known, given=given, f=f):
            left = iter(known)
            x, *more = [None if x is None else next(left) for x in given]
            return f(x, *more) if f is ops.lifted else f(x, more[0], more[1], by=more[2])
        assert tengen.autograd.gradcheck(of, known, check_forward_ad=True, check_batched_grad=True)
        assert tengen.autograd.gradgradcheck(of, known)
        batch = vmap(of)(*[tengen.stack([x, x]) for x in known])
        assert tengen.allclose(batch[1], of(*known)) and of(*known).shape == batch[0].shape
        wide = tengen.autograd.grad(of(*known).sum(), known)
        half = of(*[x.half() for x in known])
        assert half.dtype is tengen.float16 and tengen.allclose(half.double(), of(*known), rtol=0.01)
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
    names = [f"losslib::{name}" for name in ("cosh_loss", "pinball_loss", "weighed", "lifted")]
    assert "4 operators verified" in workshop.tengen("verify", "--strict", *names, folder="losslib")
    workshop.python(MORE)
