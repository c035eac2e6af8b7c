"""A library whose operators are declared by where elements come from: all that should follow is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: circular_pad_of(Tensor self, int[2] padding) -> Tensor
  body: |
    over self[-1: n]
    out[k in n + padding[0] + padding[1]] = self[(k - padding[0]) % n]
  samples: ["[3, 4], (1, 2)", "[2, 3, 4], (6, 0)", "[4], (0, 0)", "[5], (-2, 1)"]
  errors: ["[], (1, 1): RuntimeError", "[3], (-3, -1): RuntimeError"]
  reference: self[..., np.arange(-padding[0], self.shape[-1] + padding[1]) % self.shape[-1]]

- func: turned_over_of(Tensor self) -> Tensor
  body: |
    over self[-2: m, -1: n]
    out[i in n, j in m] = self[m - 1 - j, n - 1 - i]
  samples: ["[3, 4]", "[2, 3, 4]", "[0, 2]"]
  errors: ["[3]: RuntimeError"]
  reference: np.flip(np.swapaxes(self, -1, -2), (-1, -2))

- func: twice_of(Tensor self, int[] dims) -> Tensor
  body: |
    over self[dims: n]
    out[k in n * 2] = self[k // 2]
  samples: ["[3, 4], (0,)", "[3, 40], (1, 0)", "[2, 3, 4], (-1, 1)", "[2, 3], ()", "[], (0,)", "[0, 2], (1,)"]
  errors: ["[3], (1,): IndexError", "[3, 4], (0, -2): RuntimeError"]
  reference: >
    np.repeat(np.repeat(self, 2 if 0 in [d % self.ndim for d in dims] else 1, 0),
    2 if self.ndim - 1 in [d % self.ndim for d in dims] else 1, -1) if self.ndim in (1, 2) else
    (np.repeat(np.repeat(self, 2, -1), 2, 1) if self.ndim else self)

- func: band_of(Tensor self, int below, int above, *, Scalar value=0) -> Tensor
  body: |
    over self[-2: m, -1: n]
    out[i in m, j in n] = self[i, j] if -below <= j - i and j - i <= above else value
  samples: ["[3, 4], 1, 0", "[2, 4, 4], 0, 1, value=2", "[3, 0], 0, 0"]
  errors: ["[3], 0, 0: RuntimeError"]
  reference: >
    np.where(np.triu(np.tril(np.ones(self.shape[-2:]), above), -below) != 0, self,
    np.array(value, self.dtype))

- func: framed_of(Tensor self, int width) -> Tensor
  body: |
    over self[0: m, -1: n]
    out[i in m + 2 * width, j in n] = self[i - width, n - 1 - j] if width <= i < m + width and j > 0 else 0
  samples: ["[3, 4], 1", "[3, 2, 2], 2", "[1, 4], 0"]
  reference: >
    np.pad(np.flip(self, -1) * (np.arange(self.shape[-1]) > 0).astype(self.dtype),
    [(width, width)] + [(0, 0)] * (self.ndim - 1))

- func: slid_of(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor
  body: |
    over self[dims: n], by in shifts
    out[k in n] = self[min(max(k - by, 0), n - 1)]
  samples: ["[3, 4], 1, 1", "[3, 4], (-1, 7), (1, 0)", "[5], 2", "[2, 3], 4", "[3, 4], (1, 1), (0, 0)"]
  reference: >
    self.reshape(-1)[np.clip(np.arange(self.size) - shifts[0], 0, self.size - 1)].reshape(self.shape)
    if not dims else
    np.take(np.take(self, np.clip(np.arange(self.shape[dims[0]]) - shifts[0], 0, self.shape[dims[0]] - 1),
    dims[0]), np.clip(np.arange(self.shape[dims[-1]]) - (shifts[1] if len(shifts) > 1 else 0), 0,
    self.shape[dims[-1]] - 1), dims[-1])

- func: evens_of(Tensor self, int dim=-1) -> Tensor
  body: |
    over self[dim: n]
    out[k in n] = self[where(k < (n + 1) // 2, 2 * k, 2 * k - n + 1 - n % 2)]
  samples: ["[3, 6], 1", "[5, 2], 0", "[101], 0"]
  reference: >
    np.concatenate([np.take(self, np.arange(0, self.shape[dim], 2), dim),
    np.take(self, np.arange(1, self.shape[dim], 2), dim)], dim)
"""
ON_DASK = """
import tengen, movelib

x = tengen.rand(4, 6, dtype=tengen.float64)
ops = tengen.ops.movelib
for name, arguments in (
    ("circular_pad_of", ((1, 2),)), ("turned_over_of", ()), ("twice_of", ((0, 1),)), ("band_of", (1, 0)),
    ("framed_of", (1,)), ("slid_of", (1, 1)), ("slid_of", (3,)), ("evens_of", (1,)),
):
    f = getattr(ops, name)
    here, there = x.clone().requires_grad_(), x.to("dask").requires_grad_()
    found, wanted = f(there, *arguments), f(here, *arguments)
    assert tengen.equal(found.cpu(), wanted), name
    grad = tengen.rand(*wanted.shape, dtype=tengen.float64)
    found.backward(grad.to("dask"))
    wanted.backward(grad)
    assert tengen.allclose(there.grad.cpu(), here.grad), name
    assert f(x.to("meta"), *arguments).shape == wanted.shape
    batch = tengen.func.vmap(lambda row: f(row, *arguments))(tengen.stack([x, x + 1]))
    assert tengen.equal(batch[1], f(x + 1, *arguments)), name
    assert tengen.autograd.gradgradcheck(lambda a: f(a, *arguments) ** 2, (here,))
"""


def test_all_that_follows(workshop: Workshop) -> None:
    workshop.library("movelib", declarations__native_functions__yaml=OPERATORS)
    workshop.tengen("gen", folder="movelib")
    names = ("circular_pad", "turned_over", "twice", "band", "framed", "slid", "evens")
    found = workshop.tengen("verify", "--strict", *[f"movelib::{n}_of" for n in names], folder="movelib")
    assert "7 operators verified" in found
    workshop.python(ON_DASK)
