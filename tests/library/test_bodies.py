"""A library whose operators are declared by bodies alone: all that should follow does, and is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: softmax_of(Tensor self, int dim=-1) -> Tensor
  body: |
    over self[dim: n]
    e = exp(self - constant(max(self)))
    out = e / sum(e)
  samples: ["[3, 4], 1", "[3, 4, 2], -2", "[], 0", "[0, 3], 1", "[3, 0], 1"]
  errors: ["[3], 1: IndexError"]
  reference: scipy.special.softmax(self, axis=dim) if self.size else self

- func: logsumexp_of(Tensor self, int dim=-1, bool keepdim=False) -> Tensor
  body: |
    over self[dim: n]
    top = constant(max(self))
    out = log(sum(exp(self - top))) + top
  samples: ["[3, 4], 1", "[3, 4, 2], -2, True", "[], 0"]
  errors: ["[3, 0], 1: IndexError"]
  reference: scipy.special.logsumexp(self, axis=dim, keepdims=keepdim) if self.ndim else self

- func: distance_of(Tensor self, Tensor other, int dim=-1, *, float eps=1e-6) -> Tensor
  body: |
    over self[dim: n], other[dim: n]
    d = self - other + eps
    out = sqrt(sum(d * d) / n)
  samples: ["[3, 4], [3, 4], 1", "[3, 4, 2], [3, 4, 2], -2, eps=0.1", "[], []"]
  errors: ["[3], [2, 3]: RuntimeError", "[3], [3], 2: IndexError"]
  reference: np.sqrt(np.mean((self - other + eps) ** 2, axis=dim if self.ndim else None))

- func: middle_of(Tensor self, int dim=-1, bool keepdim=False) -> Tensor
  body: |
    over self[dim: n]
    out = (max(self) + min(self)) / 2 - mean(where(self > 0, self, 0))
  samples: ["[3, 4], 1", "[3, 4], 0, True"]
  reference: >
    (np.max(self, axis=dim, keepdims=keepdim) + np.min(self, axis=dim, keepdims=keepdim)) / 2
    - np.mean(np.maximum(self, 0), axis=dim, keepdims=keepdim)

- func: spread_of(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor
  body: |
    over self[dim: n]
    top = max(self) if n else -inf
    d = self - mean(self)
    out = sqrt(sum(d * d) / n) + top - min(self)
  samples: ["[3, 4], 1", "[2, 3, 4], (0, 2), True", "[3, 4]", "detached([]), 0", "[2, 3, 4], (-1, 1)",
    "[0, 3], 1"]
  errors: ["[0, 3], 0: IndexError", "[3, 0]: RuntimeError", "[3, 4], (0, 0): RuntimeError"]
  reference: >
    np.std(self, axis=dim if self.ndim else None, keepdims=keepdim)
    + np.ptp(self, axis=dim if self.ndim else None, keepdims=keepdim)

- func: normal_of(Tensor self, int[1] dim, bool keepdim=False, float eps=1e-3) -> (Tensor, Tensor, Tensor)
  body: |
    over self[dim: n]
    out1 = mean(self)
    d = self - out1
    out2 = 1 / sqrt(mean(d * d) + eps)
    out0 = d * out2
  samples: ["[3, 4], 1", "[2, 3, 4], (0, -1), True", "[5], 0, eps=0.1", "[2, 3, 4], (1,)"]
  reference: >
    ((self - np.mean(self, axis=dim, keepdims=True)) / np.sqrt(np.var(self, axis=dim, keepdims=True) + eps),
    np.mean(self, axis=dim, keepdims=keepdim), 1 / np.sqrt(np.var(self, axis=dim, keepdims=keepdim) + eps))

- func: scaled_of(Tensor self, Tensor weight, int[1] dim, float eps=1e-2) -> (Tensor, Tensor)
  body: |
    over self[dim: n], weight[n]
    out1 = 1 / sqrt(mean(self * self) + eps)
    out0 = self * out1 * weight + sum(weight)
  samples:
    - "[3, 4], [4], 1"
    - "[2, 3, 4], [3, 4], (1, -1)"
    - "[2, 3, 4], [2, 4], (0, 2), eps=1.0"
    - "[3, 4], [3], (0,)"
    - "[], [], 0"
  errors: ["[3, 4], [3], 1: RuntimeError", "[3, 4], [3, 4], 1: RuntimeError"]
  reference: >
    (self / np.sqrt(np.mean(self ** 2, axis=dim if self.ndim else None, keepdims=True) + eps)
    * weight.reshape([n if d in [k % self.ndim for k in dim] else 1 for d, n in enumerate(self.shape)])
    + np.sum(weight), 1 / np.sqrt(np.mean(self ** 2, axis=dim if self.ndim else None) + eps))

- func: weighted_of(Tensor self, int[1] dim, Tensor? weight=None, Tensor? bias=None, float eps=1e-2) -> Tensor
  body: |
    over self[dim: n], weight[n], bias[n]
    d = self - mean(self)
    y = d / sqrt(mean(d * d) + eps)
    scaled = y * weight if weight else y
    out = scaled + bias - sum(bias) if bias else scaled
  samples:
    - "[3, 4], 1"
    - "[3, 4], 1, [4]"
    - "[3, 4], (0,), bias=[3]"
    - "[2, 3, 4], (0, 2), [2, 4], [2, 4], eps=1.0"
    - "[], 0, []"
    - "[0, 3], 1, [3]"
  errors: ["[3, 4], 1, [3]: RuntimeError", "[3, 4], 1, [4], [3, 4]: RuntimeError", "[3], 1: IndexError"]
  reference: >
    (self - np.mean(self, axis=dim if self.ndim else None, keepdims=True))
    / np.sqrt(np.var(self, axis=dim if self.ndim else None, keepdims=True) + eps)
    * (1 if weight is None else
    weight.reshape([n if d in [k % self.ndim for k in dim] else 1 for d, n in enumerate(self.shape)]))
    + (0 if bias is None else (bias - np.sum(bias)).reshape(
    [n if d in [k % self.ndim for k in dim] else 1 for d, n in enumerate(self.shape)]))

- func: rooted_of(Tensor self, SymInt[] sizes, Tensor? weight=None, float eps=1e-2) -> (Tensor, Tensor)
  body: |
    over self[sizes: n], weight[n]
    out1 = 1 / sqrt(mean(self * self) + eps)
    out0 = self * out1 * weight if weight else self * out1
  samples:
    - "[3, 4], [4]"
    - "[2, 3, 4], (3, 4), [3, 4]"
    - "[2, 3, 4], (2, 3, 4), [2, 3, 4], eps=1.0"
    - "[0, 4], [4], [4]"
  errors:
    - "[3, 4], [3]: RuntimeError"
    - "[3, 4], []: RuntimeError"
    - "[4], [3, 4]: RuntimeError"
    - "[3, 4], [4], [3]: RuntimeError"
  reference: >
    (self / np.sqrt(np.mean(self ** 2, axis=tuple(range(-len(sizes), 0)), keepdims=True) + eps)
    * (1 if weight is None else weight),
    1 / np.sqrt(np.mean(self ** 2, axis=tuple(range(-len(sizes), 0)), keepdims=True) + eps))

- func: centred_of(Tensor self, SymInt[] sizes) -> (Tensor values, Tensor middle)
  body: |
    over self[sizes: n]
    middle = mean(self)
    values = self - middle
  samples: ["[3, 4], [4]", "[2, 3, 4], [3, 4]"]
  errors: ["[3, 4], [3]: RuntimeError"]
  reference: >
    (self - np.mean(self, axis=tuple(range(-len(sizes), 0)), keepdims=True),
    np.mean(self, axis=tuple(range(-len(sizes), 0)), keepdims=True))

- func: apart_of(Tensor self, int dim=-1) -> (Tensor values, Tensor total)
  body: |
    over self[dim: n]
    total = prod(self)
    values = self / total
  domain: {self: "(1, 2)"}
  samples: ["[3, 4], 1", "[2, 3, 4], -3"]
  reference: (self / np.prod(self, axis=dim, keepdims=True), np.prod(self, axis=dim))

- func: standard_of(Tensor self, Tensor middle, Tensor scale, int dim=-1, bool keepdim=False) -> Tensor
  body: |
    over self[dim: n], middle[m], scale[m]
    out = (self - middle) / scale * max(self)
  domain: {scale: "(1, 2)"}
  samples:
    - "distinct([3, 4]), [3], [3], 1"
    - "distinct([3, 4]), [3, 1], [3, 1], 1, True"
    - "distinct([2, 3, 4]), [2, 4], [2, 4], -2"
    - "[], [], []"
  errors:
    - "[3, 4], [4], [3], 1: RuntimeError"
    - "[3, 4], [3], [3, 4], 1: RuntimeError"
    - "[3, 4], [3], [3], 2: IndexError"
  reference: >
    ((self - middle.reshape(np.max(self, axis=dim, keepdims=True).shape))
    / scale.reshape(np.max(self, axis=dim, keepdims=True).shape) * np.max(self, axis=dim, keepdims=True)
    if self.ndim else (self - middle) / scale * self)

- func: moments_of(Tensor self, Tensor near, int[1] dim) -> (Tensor first, Tensor second, Tensor rest)
  body: |
    over self[dim: n], near[m]
    d = self - near
    first = column_sum(d)
    rest = mean(d)
    second = column_sum(d * d)
  samples:
    - "[3, 4], [3], 1"
    - "[500, 300], [500], 1 for floating"
    - "[2, 3, 4], [3], (0, 2)"
    - "[0, 3], [0], 1"
  errors: ["[3, 4], [4], 1: RuntimeError"]
  reference: >
    (np.sum(self - np.expand_dims(near, tuple(dim)), axis=others(self, dim)),
    np.sum((self - np.expand_dims(near, tuple(dim))) ** 2, axis=others(self, dim)),
    np.mean(self - np.expand_dims(near, tuple(dim)), axis=tuple(dim)))

- func: shares_of(Tensor self, Tensor weight, int dim=-1) -> Tensor
  body: |
    over self[dim: n], weight[n]
    e = exp(self - constant(max(self)))
    out = column_sum(e / sum(e) * weight)
  samples: ["[3, 4], [4], 1", "[5, 3, 4], [3], 1", "[], [], 0"]
  errors: ["[3, 4], [3], 1: RuntimeError"]
  reference: >
    np.sum(scipy.special.softmax(self, axis=dim), axis=others(self, [dim])) * weight
    if self.ndim else weight

- func: >
    weighed_backward_of(Tensor self, Tensor other, Tensor? weight, int[1] dim, bool[3] output_mask) ->
    (Tensor, Tensor, Tensor)
  tags: internal
  body: |
    over self[dim: n], other[dim: n], weight[n]
    g = self * weight if weight else self
    out0 = g - mean(g * other)
    out1 = column_sum(self * other) if weight else None
    out2 = column_sum(self)
  samples: ["detached([3, 4]), detached([3, 4]), detached([4]), (1,), (True, True, True)"]
  reference: >
    (self * weight - np.mean(self * weight * other, axis=1, keepdims=True), np.sum(self * other, axis=0),
    np.sum(self, axis=0))

- func: running_mean_of(Tensor self, Tensor weight, int dim=-1) -> Tensor
  body: |
    over self[dim: n], weight[dim: n]
    out = cumsum(self * weight) / cumsum(weight)
  domain: {weight: "(1, 2)"}
  samples:
    - "[3, 4], [3, 4], 1"
    - "[3, 11, 2], [3, 11, 2], -2"
    - "[], []"
    - "[0, 3], [0, 3], 1"
    - "[3, 0], [3, 0], 1"
  errors: ["[3], [3], 1: IndexError", "[3], [2, 3]: RuntimeError"]
  reference: >
    np.cumsum(self * weight, axis=dim) / np.cumsum(weight, axis=dim) if self.ndim else self * weight / weight

- func: cumulated_of(Tensor self, Tensor weight, int dim, float eps=0.5) -> Tensor
  body: |
    over self[dim: n], weight[n]
    out = cumsum(self + eps, reverse=True) * cumsum(weight, reverse=True) / n
  samples: ["[3, 4], [4], 1", "[2, 9, 4], [9], -2", "[], [], 0, eps=1.0"]
  reference: >
    np.flip(np.cumsum(np.flip(self + eps, dim), dim), dim) / self.shape[dim]
    * np.cumsum(weight[::-1])[::-1].reshape(
    [n if d == dim % self.ndim else 1 for d, n in enumerate(self.shape)])
    if self.ndim else (self + eps) * weight

- func: survival_of(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor total)
  body: |
    over self[dim: n]
    left = cumprod(1 - self)
    values = left - mean(left)
    total = sum(cumprod(self))
  samples: ["[3, 4], 1", "[2, 11, 4], 1, True", "[1], 0", "values([0.5, 1., 2., 0., 3., 0., 1.]), 0"]
  reference: >
    (np.cumprod(1 - self, axis=dim) - np.mean(np.cumprod(1 - self, axis=dim), axis=dim, keepdims=True),
    np.sum(np.cumprod(self, axis=dim), axis=dim, keepdims=keepdim))

- func: share_of(Tensor self, int dim=-1) -> Tensor
  body: |
    over self[dim: n]
    out = exp(self - logcumsumexp(self, reverse=True)) + sum(cumsum(self - max(self)))
  samples: ["[3, 4], 1", "[20, 4], 0", "[], 0"]
  reference: >
    np.exp(self - np.flip(np.logaddexp.accumulate(np.flip(self, dim), dim), dim))
    + np.sum(np.cumsum(self - np.max(self, axis=dim, keepdims=True), axis=dim), axis=dim, keepdims=True)
    if self.ndim else np.ones_like(self)

- func: drawdown_of(Tensor self, int dim=-1) -> Tensor
  body: |
    over self[dim: n]
    out = cummax(self) - self + cummin(self * 2) * cumprod(self)
  samples: ["[3, 4], 1", "[3, 11, 2], 1", "[]"]
  reference: >
    np.maximum.accumulate(self, dim) - self + np.minimum.accumulate(self * 2, dim) * np.cumprod(self, dim)
    if self.ndim else self * 2 * self

- func: around_of(Tensor self, int dim=-1) -> Tensor
  body: |
    over self[dim: n]
    out = cummax(self, reverse=True) - cummin(self, reverse=True) + cumprod(self, reverse=True) - cumsum(self)
  samples: ["[3, 4], 1", "[3, 11, 2], 1"]
  reference: >
    np.flip(np.maximum.accumulate(np.flip(self, dim), dim) - np.minimum.accumulate(np.flip(self, dim), dim)
    + np.cumprod(np.flip(self, dim), dim), dim) - np.cumsum(self, dim)

- func: record_of(Tensor self, int dim=-1) -> (Tensor values, Tensor, Tensor)
  body: |
    over self[dim: n]
    values = cummin(self, reverse=True) + where(argcummax(self) == argcummin(self), self, 0) - mean(self)
    out1 = argcummin(self)
    out2 = argcummax(self, reverse=True)
  samples: ["distinct([3, 4]), 1", "[3, 20, 2], 1", "[], 0", "[0, 3], 1", "values([1., 3., 3., 2., 1.]), 0"]
  errors: ["[3], 1: IndexError"]
  reference: records(self, dim)

- func: about_of(Tensor self, int[1]? dim=None, *, float least=0.5, bool keepdim=False) -> (Tensor, Tensor)
  body: |
    over self[dim: n] in float64
    free = at_least(n, least)
    d = self - mean(self)
    out0 = sqrt(sum(real(d * conj(d))) / free)
    out1 = max(abs(self)) + least * any(d != 0)
  dtypes: floating, reduced, complex
  samples: ["[3, 4], 1", "[2, 3, 4], (0, 2), keepdim=True", "[3, 4]", "[], 0", "[3, 4], 1, least=6.0"]
  errors: ["[3, 4], 2: IndexError", "[3, 4], 1, least=-1.0: RuntimeError"]
  reference: spread_about(self, dim, least, keepdim)

- func: positive_of(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  body: |
    over self[dim: n]
    out = sum(where(self > 0, self, 0))
  dtypes: all, -complex
  opmath: false
  samples:
    - "[3, 4], 1"
    - "[60, 40], 0"
    - "[3, 40, 20], (1,), True"
    - "[2, 3, 4], (0, 2)"
    - "[3, 4], dtype=float64"
    - "ints([5], 0, 9), 0, dtype=int32"
    - "[0, 3], 0"
  errors: ["[3, 4], 2: IndexError"]
  reference: >
    np.sum(np.where(self > 0, self, np.zeros_like(self)), axis=dim if self.ndim else None, keepdims=keepdim,
    dtype=dtype or (np.int64 if self.dtype.kind in "bui" else self.dtype))

- func: share_above_of(Tensor self, int dim, Scalar least=0.5) -> (Tensor some, Tensor every, Tensor hits)
  body: |
    over self[dim: n]
    some = any(self > least)
    every = all(self > least)
    hits = sum(self > least)
  samples: ["[3, 4], 1", "[60, 40], 0", "[3, 40, 20], 1, 0.1", "[0, 3], 0"]
  errors: ["[3, 4], 2: IndexError"]
  reference: >
    (np.any(self > least, axis=dim), np.all(self > least, axis=dim),
    np.sum(self > least, axis=dim, dtype=np.int64))

- func: count_above_of(Tensor self, int[]? dim=None, bool keepdim=False, *, float least=0.5) -> Tensor
  body: |
    over self[dim: n]
    out = sum(self > least)
  samples:
    - "[3, 4]"
    - "[3, 4], (1,), True"
    - "[3, 4], ()"
    - "[3, 4], (), True"
    - "[0, 3], ()"
    - "[], ()"
    - "[2, 3, 4], (0, 2), least=0.1"
  errors: ["[3, 4], (2,): IndexError"]
  reference: np.sum(self > least, axis=dim if self.ndim else None, keepdims=keepdim, dtype=np.int64)

- func: nearest_of(Tensor self, Tensor other, int dim=-1, bool keepdim=False) -> (Tensor max, Tensor, Tensor)
  body: |
    over self[dim: n], other[dim: n]
    far = argmin(abs(self - other) + 1)
    max_ = max(self) - self[far] * other[far]
    out1 = argmax(self)
    out2 = exp(self[out1]) * mean(other) + self[argmax(other)]
  domain: {self: "(-2, 2)", other: "(0, 4)"}
  samples:
    - "distinct([3, 4]), distinct([3, 4]), 1"
    - "[60, 40], [60, 40], 0"
    - "[3, 40, 20], [3, 40, 20], 1, True"
    - "[], []"
  errors: ["[3, 4], [3, 4], 2: IndexError", "[3, 0], [3, 0], 1: IndexError"]
  reference: nearest(self, other, dim, keepdim)

- func: where_of(Tensor self, int[1]? dim=None, bool keepdim=False) -> (Tensor, Tensor)
  body: |
    over self[dim: n]
    out0 = argmin(self * self)
    out1 = mean(where(argmax(self) == 0, self, exp(self)))
  samples:
    - "distinct([3, 4])"
    - "distinct([6, 4, 2]), (0, 2)"
    - "distinct([50, 4, 20]), (1, -1), True"
    - "[], 0"
    - "[3], 0"
  errors: ["[0, 3]: IndexError", "[0, 3], 0: IndexError"]
  reference: where_found(self, dim, keepdim)

- func: farthest_of(Tensor self) -> Tensor
  body: |
    over self[n]
    out = max(abs(self)) - mean(self)
  samples: ["[3, 4]", "[2, 3, 4]", "[]"]
  errors: ["[0, 3]: RuntimeError"]
  reference: np.max(np.abs(self)) - np.mean(self)
"""
NUMBERS = """\
def at_least(n, least):
    if least >= 0:
        return float(max(n, least))
    def refuse():
        raise RuntimeError(f"expected least to be positive, but got {least}")
    return refuse
"""
REFERENCES = """\
import numpy as np

def others(self, dims):
    return tuple(d for d in range(self.ndim) if d not in {k % self.ndim for k in dims})

def records(self, dim):
    def places(a, beats):
        lanes = np.moveaxis(a, dim, -1)
        found = np.zeros(lanes.shape, int)
        for lane, of in zip(lanes.reshape(-1, lanes.shape[-1]), found.reshape(-1, found.shape[-1])):
            for i in range(1, len(lane)):
                of[i] = i if beats(lane[i], lane[of[i - 1]]) else of[i - 1]
        return np.moveaxis(found, -1, dim)
    if not self.ndim:
        return self + self - self, np.int64(0), np.int64(0)
    back = np.flip(self, dim)
    up, down = places(self, np.greater_equal), places(self, np.less_equal)
    lowest = np.flip(np.minimum.accumulate(back, dim), dim)
    values = lowest + np.where(up == down, self, 0) - np.mean(self, axis=dim, keepdims=True)
    return values, down, self.shape[dim] - 1 - np.flip(places(back, np.greater_equal), dim)

def spread_about(self, dim, least, keepdim):
    axes = tuple(range(self.ndim)) if dim is None else dim if self.ndim else ()
    n = np.prod([self.shape[d] for d in axes])
    d = self - np.mean(self, axis=axes, keepdims=True)
    return (
        np.sqrt(np.sum(np.abs(d) ** 2, axis=axes, keepdims=keepdim) / max(n, least)),
        np.max(np.abs(self), axis=axes, keepdims=keepdim)
        + least * np.any(d != 0, axis=axes, keepdims=keepdim),
    )

def nearest(self, other, dim, keepdim):
    if not self.ndim:
        return self - self * other, np.int64(0), np.exp(self) * other + self
    def at(a, place):
        return np.take_along_axis(a, place, dim)
    far, place = (f(dim, keepdims=True) for f in ((abs(self - other) + 1).argmin, self.argmax))
    found = (
        self.max(dim, keepdims=True) - at(self, far) * at(other, far), place,
        np.exp(at(self, place)) * other.mean(dim, keepdims=True) + at(self, other.argmax(dim, keepdims=True)),
    )
    return found if keepdim else tuple(a.squeeze(dim) for a in found)

def where_found(self, dim, keepdim):
    axes = tuple(d % self.ndim for d in dim) if dim and self.ndim else tuple(range(self.ndim))
    axes = tuple(sorted(axes))
    others = [d for d in range(self.ndim) if d not in axes]
    rows = self.transpose([*others, *axes]).reshape([self.shape[d] for d in others] + [-1])
    means = np.where((rows.argmax(-1) == 0)[..., None], rows, np.exp(rows)).mean(-1)
    shape = [1 if d in axes else n for d, n in enumerate(self.shape)] if keepdim else means.shape
    return (rows * rows).argmin(-1).reshape(shape), means.reshape(shape)
"""
ON_DASK = """
import tengen, rowlib

x = tengen.rand(3, 4, dtype=tengen.float64) + 1
on_dask = x.to("dask")
for name in ("softmax_of", "logsumexp_of", "middle_of", "spread_of"):
    f = getattr(tengen.ops.rowlib, name)
    for dim in (0, 1):
        assert tengen.allclose(f(on_dask, dim).cpu(), f(x, dim)), name
normal = tengen.ops.rowlib.normal_of
for dims in ((0,), (1,), (0, 1)):
    for found, wanted in zip(normal(on_dask, dims), normal(x, dims), strict=True):
        assert tengen.allclose(found.cpu(), wanted)
for name in ("share_of", "drawdown_of", "around_of"):
    f = getattr(tengen.ops.rowlib, name)
    for dim in (0, 1):
        assert tengen.allclose(f(on_dask, dim).cpu(), f(x, dim)), name
for f in (tengen.ops.rowlib.positive_of, lambda x, dim: tengen.ops.rowlib.share_above_of(x, dim, 1.5)[2]):
    for dim in (0, 1):
        assert tengen.allclose(f(on_dask, dim).cpu(), f(x, dim))
assert tengen.allclose(tengen.ops.rowlib.farthest_of(on_dask).cpu(), tengen.ops.rowlib.farthest_of(x))
count = tengen.ops.rowlib.count_above_of
for dim in (None, (), (0,), (0, 1)):
    assert tengen.equal(count(on_dask, dim, least=1.5).cpu(), count(x, dim, least=1.5))
for f in (tengen.ops.rowlib.nearest_of, lambda x, _, dim: tengen.ops.rowlib.where_of(x, dim)):
    for dim in (0, 1):
        for found, wanted in zip(f(on_dask, on_dask.sin(), dim), f(x, x.sin(), dim), strict=True):
            assert tengen.allclose(found.cpu(), wanted)
for dim in (None, (0,)):
    for found, wanted in zip(*[tengen.ops.rowlib.about_of(a, dim, least=2.0) for a in (on_dask, x)]):
        assert tengen.allclose(found.cpu(), wanted)
values, total = tengen.ops.rowlib.apart_of(on_dask, 0)
assert tengen.allclose(total.cpu(), x.prod(0)) and tengen.allclose(values.cpu(), x / x.prod(0))
"""


#: Of a mask what is asked for is computed, be it of few rows or of many, on each backend.
MASKED = """\
import itertools
import numpy as np
import tengen
import rowlib

op = tengen.ops.rowlib.weighed_backward_of
for shape, dims in (((3, 4), (1,)), ((400, 300), (1,)), ((2, 3, 4), (0, 2))):
    for dtype in (tengen.float64, tengen.float32, tengen.bfloat16):
        grad, x = tengen.randn(shape).to(dtype), tengen.randn(shape).to(dtype)
        sizes = [shape[d] for d in dims]
        others = tuple(d for d in range(len(shape)) if d not in dims)
        for weight in (tengen.randn(sizes).to(dtype), None):
            wide = [t.to(tengen.float64).numpy() for t in (grad, x)]
            beside = 1 if weight is None else weight.to(tengen.float64).numpy().reshape(
                [n if d in dims else 1 for d, n in enumerate(shape)])
            g = wide[0] * beside
            right = g - (g * wide[1]).mean(dims, keepdims=True), (wide[0] * wide[1]).sum(others)
            right = *right, wide[0].sum(others)
            for mask in itertools.product((False, True), repeat=3):
                found = op(grad, x, weight, dims, mask)
                shapes = op(*[t if t is None else t.to("meta") for t in (grad, x, weight)], dims, mask)
                for i, (a, shown) in enumerate(zip(found, shapes)):
                    asked = mask[i] and (i != 1 or weight is not None)
                    assert (a is not None) == (shown is not None) == asked, (mask, i)
                    if asked:
                        assert a.dtype == dtype == shown.dtype and a.shape == shown.shape == right[i].shape
                        close = {tengen.float64: 1e-9, tengen.float32: 1e-3}.get(dtype, 0.05)
                        scale = close * max(1, abs(right[i]).max())
                        np.testing.assert_allclose(a.to(tengen.float64).numpy(), right[i], close, scale)
try:
    op(grad, x, tengen.randn(5), dims, (True, True, True))
except RuntimeError as error:
    assert "rows share" in str(error)
else:
    raise AssertionError
"""


def test_all_that_follows(workshop: Workshop) -> None:
    declared = {"native_functions": OPERATORS, "derivatives": "- name: about_of\n"}
    files = {f"declarations__{name}__yaml": text for name, text in declared.items()}
    tests = workshop.library("rowlib", kernels__numbers__py=NUMBERS, **files) / "tests"
    tests.mkdir()
    (tests / "references.py").write_text(REFERENCES)
    workshop.tengen("gen", folder="rowlib")
    short = "softmax", "logsumexp", "distance", "middle", "spread", "normal", "scaled", "apart"
    more = "weighted", "rooted", "centred"
    scans = "running_mean", "cumulated", "survival", "share", "drawdown", "around", "record", "about"
    totals = "positive", "share_above", "count_above", "farthest", "nearest", "where"
    tables = "standard", "moments", "shares", "weighed_backward"
    names = [f"rowlib::{name}_of" for name in (*short, *more, *scans, *totals, *tables)]
    assert "29 operators verified" in workshop.tengen("verify", "--strict", *names, folder="rowlib")
    workshop.python(MASKED)
    workshop.python(ON_DASK)
