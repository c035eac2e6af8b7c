"""A library whose operators are declared by what windows are made into: all that should follow is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

REFERENCES = '''
from itertools import product
from math import prod

import numpy as np


def windowed(array, axes, windows, bring):
    """What ``bring`` makes of the elements of each window, and of their places in the dims, flattened."""
    array = np.asarray(array)
    axes = [axis % array.ndim for axis in axes]
    last = range(-len(axes), 0)
    front = np.moveaxis(array, axes, last)
    outer, sizes = front.shape[: front.ndim - len(axes)], front.shape[front.ndim - len(axes) :]
    places = np.arange(prod(sizes)).reshape(sizes)
    made = []
    for each in product(*windows):
        seen = np.ix_(*[np.array(w, int) for w in each])
        made.append(bring(front[(..., *seen)].reshape(*outer, prod(map(len, each))), places[seen].ravel()))
    counts = [len(w) for w in windows]
    return tuple([np.moveaxis(np.stack(p, -1).reshape(*outer, *counts), last, axes) for p in zip(*made)])


def summed(array, axes, windows):
    return windowed(array, axes, windows, lambda x, at: (x.sum(-1),))[0]


def averaged(array, axes, windows):
    return windowed(array, axes, windows, lambda x, at: (x.mean(-1),))[0]


def greatest(array, axes, windows):
    return windowed(array, axes, windows, lambda x, at: (x.max(-1), at[x.argmax(-1)]))
'''
OPERATORS = """\
- func: power_of(Tensor self, int[2] kernel_size, int[2] stride) -> Tensor
  body: |
    over self[last: n], size in kernel_size, step in stride
    out[p in (n - size) // step + 1] = sum(self[p * step: p * step + size])
  samples: ["[2, 5, 7], (2, 3), (1, 2)", "[4, 4], 2, 2", "[0, 4, 4], 2, 2", "[2, 30, 20], (20, 20), (1, 1)"]
  errors: ["[4], 2, 2: RuntimeError"]
  reference: >
    summed(self, (-2, -1), [[range(b, b + k) for b in range(0, n - k + 1, s)] for n, k, s in
    zip(self.shape[-2:], np.broadcast_to(kernel_size, 2), np.broadcast_to(stride, 2))])

- func: smoothed_of(Tensor self, int[] dims, int radius, *, int? divisor=None) -> Tensor
  body: |
    over self[dims: n]
    begin = p - radius
    end = p + radius + 1
    out[p in n] = sum(self[begin: end]) / (divisor or product(min(end, n) - max(begin, 0)))
  samples: ["[3, 4], (0,), 1", "[3, 2, 4], (-1, 0), 2", "[3, 4], (1,), 1, divisor=3", "[0, 3], (1,), 1"]
  errors: ["[3], (1,), 1: IndexError", "[3, 4], (0, -2), 1: RuntimeError"]
  reference: >
    averaged(self, dims, [[range(max(p - radius, 0), min(p + radius + 1, n)) for p in range(n)]
    for n in [self.shape[d] for d in dims]]) if divisor is None else
    summed(self, dims, [[range(max(p - radius, 0), min(p + radius + 1, n)) for p in range(n)]
    for n in [self.shape[d] for d in dims]]) / divisor

- func: dilated_of(Tensor self, int dim=-1) -> Tensor
  body: |
    over self[dim: n]
    out[p in n // 2] = mean(self[2 * p - 1: 2 * p + 6: 3])
  samples: ["[3, 8], 1", "[9, 2], 0", "[1, 3]", "[40]"]
  errors: ["[], 0: RuntimeError", "[3], 1: IndexError"]
  reference: >
    averaged(self, (dim,), [[[i for i in range(2 * p - 1, 2 * p + 6, 3) if 0 <= i < self.shape[dim]]
    for p in range(self.shape[dim] // 2)]])

- func: highest_of(Tensor self, int[] kernel_size) -> (Tensor, Tensor)
  body: |
    over self[last: n], size in kernel_size
    out[p in n // size] = max(self[p * size: p * size + size])
  samples: ["distinct([2, 4, 6]), (2, 3)", "distinct([5, 8]), (4,)", "distinct([4, 4, 2]), (4, 2, 1)"]
  errors: ["[4], (2, 2): RuntimeError"]
  reference: >
    greatest(self, range(-len(kernel_size), 0), [[range(b, b + k) for b in range(0, n - k + 1, k)] for n, k in
    zip(self.shape[-len(kernel_size):], kernel_size)])

- func: crest_of(Tensor self, int[1] radius) -> (Tensor, Tensor)
  body: |
    over self[last: n], r in radius
    out[p in n] = max(self[p - r: p + r + 1])
  samples: ["distinct([5, 3]), 1", "distinct([2, 4, 5]), 2", "distinct([30]), 20"]
  errors: ["[], 1: RuntimeError"]
  reference: >
    greatest(self, (-1,), [[range(max(p - radius[0], 0), min(p + radius[0] + 1, n)) for p in range(n)]
    for n in self.shape[-1:]])
"""
FOLLOWS = """
import io, tengen, windowlib

x = tengen.rand(4, 6, dtype=tengen.float64)
ops = tengen.ops.windowlib
first = lambda y: y[0] if isinstance(y, tuple) else y
for name, arguments in (
    ("power_of", ((2, 3), (1, 2))), ("smoothed_of", ((0, 1), 1)), ("dilated_of", (1,)), ("dilated_of", (0,)),
    ("highest_of", ((2, 3),)), ("crest_of", (1,)), ("crest_of", (3,)),
):
    f = getattr(ops, name)
    here, there = x.clone().requires_grad_(), x.to("dask").requires_grad_()
    found, wanted = f(there, *arguments), f(here, *arguments)
    if isinstance(wanted, tuple):
        assert tengen.equal(found[1].cpu(), wanted[1]), name
    found, wanted = first(found), first(wanted)
    assert tengen.allclose(found.cpu(), wanted), name
    grad = tengen.rand(*wanted.shape, dtype=tengen.float64)
    found.backward(grad.to("dask"))
    wanted.backward(grad)
    assert tengen.allclose(there.grad.cpu(), here.grad), name
    assert first(f(x.to("meta"), *arguments)).shape == wanted.shape
    batch = tengen.func.vmap(lambda row: first(f(row, *arguments)))(tengen.stack([x, x + 1]))
    assert tengen.allclose(batch[1], first(f(x + 1, *arguments))), name
    turned = x.t().contiguous().t()
    assert tengen.equal(first(f(turned, *arguments)), wanted), name
    half = first(f(x.half(), *arguments))
    assert half.dtype is tengen.half and tengen.allclose(half.double(), wanted, atol=2e-2), name
    assert tengen.autograd.gradcheck(lambda a: first(f(a, *arguments)), (here,), check_forward_ad=True)
    assert tengen.autograd.gradgradcheck(lambda a: first(f(a, *arguments)) ** 2, (here,))
    if not isinstance(f(x, *arguments), tuple):
        tengen.onnx.export(lambda a: f(a, *arguments), (x,), io.BytesIO())
"""


def test_all_that_follows(workshop: Workshop) -> None:
    root = workshop.library("windowlib", declarations__native_functions__yaml=OPERATORS)
    (root / "tests").mkdir()
    (root / "tests" / "references.py").write_text(REFERENCES)
    workshop.tengen("gen", folder="windowlib")
    names = ("power", "smoothed", "dilated", "highest", "crest")
    found = workshop.tengen("verify", "--strict", *[f"windowlib::{n}_of" for n in names], folder="windowlib")
    assert "5 operators verified" in found
    workshop.python(FOLLOWS)
