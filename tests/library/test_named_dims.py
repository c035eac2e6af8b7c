"""A library whose operators are declared by bodies over rows of named dims: all that should follow does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: >
    grouped_of(Tensor self, Tensor weight, Tensor? bias, int groups, float eps=1e-2) ->
    (Tensor values, Tensor rate)
  body: |
    over self[b, groups * c, *p], weight[groups * c], bias[groups * c] by b, groups
    d = self - mean(self)
    rate = 1 / sqrt(mean(d * d) + eps)
    scaled = d * rate * weight
    values = scaled + bias if bias else scaled
  samples:
    - "[2, 4, 3], [4], [4], 2"
    - "[3, 6], [6], None, 2, eps=0.1"
    - "[2, 4, 2, 3], [4], [4], 1"
    - "detached([30, 8, 20, 20]), detached([8]), detached([8]), 4 for floating"
    - "detached([2, 64, 600]), detached([64]), None, 16 for floating"
  errors:
    - "[2, 4, 3], [4], None, 3: RuntimeError"
    - "[2, 4, 3], [3], None, 2: RuntimeError"
    - "[4], [4], None, 2: RuntimeError"
    - "[2, 4], [4], None, 0: RuntimeError"
  reference: grouped(self, weight, bias, groups, eps)

- func: channelled_of(Tensor self, Tensor center, Tensor? rate) -> (Tensor values, Tensor, Tensor)
  body: |
    over self[b, c, *p], center[c], rate[c] by c
    d = self - center
    e = exp(d * rate) if rate else exp(d)
    values = e / sum(e) * n
    out1 = log(mean(e))
    out2 = argmax(d)
  samples:
    - "distinct([3, 4]), [4], [4]"
    - "distinct([2, 3, 5]), [3], None"
    - "distinct([2, 3, 4, 6]), [3], [3]"
    - "detached([90, 8, 20, 20]), detached([8]), detached([8]) for floating"
    - "detached([700, 120]), detached([120]), None for floating"
  errors:
    - "[2, 3, 5], [2], None: RuntimeError"
    - "[3], [3], None: RuntimeError"
    - "[0, 3, 2], [3], None: IndexError"
  reference: channelled(self, center, rate)

- func: placed_of(Tensor self, Tensor weight, Tensor other) -> Tensor
  body: |
    over self[a, *b, c], weight[c], other[a, *b, c] by b
    out = sum(self * weight - mean(weight) * other) / n + max(weight)
  samples: ["[2, 3, 4], [4], [2, 3, 4]", "[2, 3, 5, 4], [4], [2, 3, 5, 4]", "[3, 4], [4], [3, 4]"]
  errors: ["[2, 3, 4], [3], [2, 3, 4]: RuntimeError", "[2, 3, 4], [4], [2, 4]: RuntimeError"]
  reference: np.mean(self * weight - weight.mean() * other, axis=(0, -1)) + weight.max()

- func: greatest_of(Tensor self) -> Tensor
  body: |
    over self[b, c, *p] by b, c
    out = max(self)
  samples: ["distinct([2, 3, 4])", "distinct([2, 3, 4, 2])", "[2, 3]"]
  errors: ["[2, 3, 0]: IndexError", "[3]: RuntimeError"]
  reference: np.max(self, axis=tuple(range(2, self.ndim)))

- func: >
    grouped_backward_of(Tensor self, Tensor near, Tensor? weight, int groups, bool[3] output_mask) ->
    (Tensor, Tensor, Tensor)
  tags: internal
  body: |
    over self[b, groups * c, *p], near[b, groups], weight[groups * c] by b, groups
    d = self - near
    out0 = (d * weight if weight else d) - mean(d)
    out1[groups * c] = column_sum(self * d) if weight else None
    out2[c, *p] = column_sum(d)
  samples:
    - "detached([2, 4, 3]), detached([2, 2]), detached([4]), 2, (True, True, True)"
    - "detached([40, 6, 30, 30]), detached([40, 3]), detached([6]), 3, (True, True, True) for floating"
  reference: grouped_sums(self, near, weight, groups)
"""
REFERENCES = """\
import numpy as np


def grouped(self, weight, bias, groups, eps):
    x = self.reshape(len(self), groups, -1)
    d = x - x.mean(2, keepdims=True)
    rate = 1 / np.sqrt(np.mean(d * d, 2, keepdims=True) + eps)
    shape = (1, -1, *[1] * (self.ndim - 2))
    values = (d * rate).reshape(self.shape) * weight.reshape(shape)
    return values if bias is None else values + bias.reshape(shape), rate[..., 0]


def channelled(self, center, rate):
    x = np.moveaxis(self, 1, 0).reshape(self.shape[1], -1)
    d = x - center[:, None]
    e = np.exp(d if rate is None else d * rate[:, None])
    values = (e / e.mean(1, keepdims=True)).reshape(self.shape[1], len(self), *self.shape[2:])
    return np.moveaxis(values, 0, 1), np.log(e.mean(1)), np.argmax(d, 1)


def grouped_sums(self, near, weight, groups):
    x = self.reshape(*near.shape, -1, *self.shape[2:])
    d = x - near.reshape(*near.shape, *[1] * (x.ndim - 2))
    w = weight.reshape(1, groups, -1, *[1] * (x.ndim - 3))
    values = d * w - d.mean(tuple(range(2, x.ndim)), keepdims=True)
    sums = np.sum(x * d, (0, *range(3, x.ndim)))
    return values.reshape(self.shape), sums.reshape(-1), np.sum(d, (0, 1))
"""
NAMED = """
import importlib.util
import itertools
import tengen, rowlib

ops = tengen.ops.rowlib
x = tengen.rand(2, 6, 3, 4, dtype=tengen.float64)
weight, near = tengen.rand(6, dtype=tengen.float64), tengen.rand(2, 3, dtype=tengen.float64)
calls = {
    ops.grouped_of: (x, weight, weight.sin(), 2),
    ops.channelled_of: (x, weight, weight + 1),
    ops.placed_of: (x, weight[:4], x.cos()),
    ops.greatest_of: (x,),
}
for mask in itertools.product((False, True), repeat=3):
    calls[lambda *args, mask=mask: ops.grouped_backward_of(*args, 3, mask)] = (x, near, weight)


def listed(found):
    return found if isinstance(found, tuple) else (found,)


def moved(args, device):
    return [a.to(device) if isinstance(a, tengen.Tensor) else a for a in args]


for op, args in calls.items():
    wanted = listed(op(*args))
    for device in ("meta", "dask", *(["jax"] if importlib.util.find_spec("jax") else [])):
        for a, b in zip(listed(op(*moved(args, device))), wanted, strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                assert a.shape == b.shape and a.dtype == b.dtype
                assert device == "meta" or tengen.allclose(a.cpu(), b), (op, device)
    if None not in wanted:
        batched = tengen.vmap(lambda y: op(y, *args[1:]))(tengen.stack([x, x * 2]))
        for a, *b in zip(listed(batched), *[listed(op(y, *args[1:])) for y in (x, x * 2)], strict=True):
            assert tengen.allclose(a, tengen.stack(b)), op
    for turned in (x.mT.contiguous().mT, x.contiguous(memory_format=tengen.channels_last)):
        for a, b in zip(listed(op(turned, *args[1:])), wanted, strict=True):
            assert b is None or tengen.allclose(a, b)
"""


def test_all_that_follows(workshop: Workshop) -> None:
    tests = workshop.library("rowlib", declarations__native_functions__yaml=OPERATORS) / "tests"
    tests.mkdir()
    (tests / "references.py").write_text(REFERENCES)
    workshop.tengen("gen", folder="rowlib")
    names = [
        f"rowlib::{name}_of" for name in ("grouped", "channelled", "placed", "greatest", "grouped_backward")
    ]
    assert "5 operators verified" in workshop.tengen("verify", "--strict", *names, folder="rowlib")
    workshop.python(NAMED)
