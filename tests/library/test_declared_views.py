"""A library whose operators are views, declared by what they show: all that should follow is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: moved_dim_of(Tensor(a) self, int source, int destination) -> Tensor(a)
  body: |
    over self[source: n]
    out[destination: k in n] = self[k]
  samples: ["[2, 3, 4], 0, 2", "[2, 3], -1, 0", "[3, 0], 0, 1"]
  errors: ["[2, 3], 2, 0: IndexError"]
  reference: np.moveaxis(self, source, destination)

- func: every_of(Tensor(a) self, int dim, int step) -> Tensor(a)
  body: |
    over self[dim: n]
    out[k in (n + step - 1) // step] = self[k * step]
  samples: ["[5, 2], 0, 2", "[2, 6], -1, 4", "[3], 0, 1"]
  reference: np.take(self, np.arange(0, self.shape[dim], step), dim)

- func: windows_of(Tensor(a) self, int dim, int size) -> Tensor(a)
  body: |
    over self[dim: n]
    out[k in n - size + 1, -1: j in size] = self[size - 1 + k - (size - 1) + j]
  samples: ["[5, 2], 0, 2", "[2, 4], 1, 3", "[3], 0, 3"]
  errors: ["[3], 0, 5: RuntimeError"]
  reference: np.lib.stride_tricks.sliding_window_view(self, size, dim)

- func: middle_of(Tensor(a) self, int[] dims) -> Tensor(a)
  body: |
    over self[dims: n]
    out = self[n // 2] if n > 1 else self
  samples: ["[3, 4], (0,)", "[3, 1, 5], (2, 1)", "[2, 3], ()"]
  errors: ["[3], (1,): IndexError", "[3, 4], (0, -2): RuntimeError"]
  reference: >
    self[tuple(self.shape[d] // 2 if d in [e % self.ndim for e in dims] and self.shape[d] > 1 else np.s_[:]
    for d in range(self.ndim))]

- func: blocks_of(Tensor(a) self, int size) -> Tensor(a)
  body: |
    over self[-2: m, -1: n]
    out[i in m // size, j in n // size, -1: a in size, -1: b in size] = self[i * size + a, j * size + b]
  samples: ["[4, 6], 2", "[2, 3, 3], 3", "[5, 5], 2"]
  errors: ["[3], 1: IndexError"]
  reference: >
    np.swapaxes(self[..., :self.shape[-2] // size * size, :self.shape[-1] // size * size].reshape(
    *self.shape[:-2], self.shape[-2] // size, size, self.shape[-1] // size, size), -2, -3)

- func: with_repeats_of(Tensor(a) self, int dim, int count) -> Tensor(a)
  body: |
    over self
    out[dim: k in count] = self
  samples: ["[2, 3], 0, 4", "[2, 3], -1, 2", "[], 0, 3", "[2, 3], 1, 1"]
  reference: np.repeat(np.expand_dims(self, dim), count, dim)

- func: pairs_of(Tensor(a -> *) self, int dim) -> Tensor(a)[]
  body: |
    over self[dim: n], (start, size) in parts(2, self, dim)
    out[k in size] = self[start + k]
  samples: ["[5, 2], 0", "[2, 4], 1"]
  reference: np.array_split(self, range(2, self.shape[dim], 2), dim)
"""
DERIVATIVES = """\
- name: pairs_of
  self: split_backward(grads, 2, dim, self.shape)
  result: split(self_t, 2, dim)
"""
FOLLOWS = """
import tengen, viewlib

x = tengen.rand(4, 6, dtype=tengen.float64)
ops = tengen.ops.viewlib
CALLS = (
    ("moved_dim_of", (0, 1)), ("every_of", (1, 2)), ("windows_of", (1, 3)), ("middle_of", ((0,),)),
    ("blocks_of", (2,)), ("with_repeats_of", (1, 3)),
)
for name, arguments in CALLS:
    f = getattr(ops, name)
    here, there = x.clone().requires_grad_(), x.to("dask").requires_grad_()
    found, wanted = f(there, *arguments), f(here, *arguments)
    assert tengen.equal(found.cpu(), wanted), name
    assert wanted._is_view() and wanted.grad_fn is not None, name
    grad = tengen.rand(*wanted.shape, dtype=tengen.float64)
    found.backward(grad.to("dask"))
    wanted.backward(grad)
    assert tengen.allclose(there.grad.cpu(), here.grad), name
    meta = f(x.T.contiguous().T.to("meta"), *arguments)
    assert (meta.shape, meta.stride()) == (wanted.shape, f(x.T.contiguous().T, *arguments).stride()), name
    batch = tengen.func.vmap(lambda row: f(row, *arguments))(tengen.stack([x, x + 1]))
    assert tengen.equal(batch[1], f(x + 1, *arguments)), name
    assert tengen.autograd.gradgradcheck(lambda a: f(a, *arguments) ** 2, (here,))
    written = x.clone()
    f(written, *arguments).zero_()
    assert (written == 0).any(), name

with tengen.no_grad():
    parts = ops.pairs_of(x, 1)
assert [p.stride() for p in parts] == [(6, 1)] * 3 and parts[1].storage_offset() == 2
"""
AS_TORCH = """
import tengen, viewlib, torch

x, y = tengen.rand(2, 4, 6), torch.rand(2, 4, 6)
ops = tengen.ops.viewlib
for a, b in ((x, y), (x[:, 1:], y[:, 1:]), (x.transpose(0, 2), y.transpose(0, 2)), (x[:, :1], y[:, :1])):
    for found, wanted in (
        (ops.moved_dim_of(a, 0, 2), b.movedim(0, 2)),
        (ops.every_of(a, -1, 2), b[..., ::2]),
        (ops.windows_of(a, 0, 2), b.unfold(0, 2, 1)),
        (ops.with_repeats_of(a, 1, 1), b.unsqueeze(1)),
        (ops.with_repeats_of(a, 3, 1), b.unsqueeze(3)),
        (ops.with_repeats_of(a, 0, 5), b.expand(5, *b.shape)),
        (ops.pairs_of(a, 2)[-1], b.split(2, 2)[-1]),
    ):
        assert tuple(found.shape) == tuple(wanted.shape)
        assert (found.stride(), found.storage_offset()) == (wanted.stride(), wanted.storage_offset())
"""


def make(workshop: Workshop) -> None:
    """The library, and its generated code."""
    files = {
        "declarations__native_functions__yaml": OPERATORS,
        "declarations__derivatives__yaml": DERIVATIVES,
    }
    workshop.library("viewlib", **files)
    workshop.tengen("gen", folder="viewlib")


def test_all_that_follows(workshop: Workshop) -> None:
    make(workshop)
    names = ("moved_dim", "every", "windows", "middle", "blocks", "with_repeats", "pairs")
    found = workshop.tengen("verify", "--strict", *[f"viewlib::{n}_of" for n in names], folder="viewlib")
    assert "7 operators verified" in found
    workshop.python(FOLLOWS)


@pytest.mark.oracle
def test_strides(workshop: Workshop) -> None:
    pytest.importorskip("torch")
    make(workshop)
    workshop.python(AS_TORCH)
