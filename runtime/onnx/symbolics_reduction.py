"""Symbolics of reductions, scans and sorting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.promotion import promote_types
from ..core.scalar_type import bool_, int32, int64
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .symbolics import cast, int_vector, number, truth
from .symbolics_shape import reshaped


def all_dims(self: Ref, dim: Any) -> list[int]:
    """The dimensions that ``dim`` names, not negative; all for None and for ()."""
    if dim is None or dim == ():
        return list(range(self.ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    return [d % self.ndim for d in dims] if self.ndim else []


def reduced(operator: str, self: Ref, dim: Any, keepdim: bool) -> Ref:
    """One of ONNX's reductions with the dimensions as an input; nothing to reduce is the identity."""
    dims = all_dims(self, dim)
    if not dims:
        made: Ref = getattr(onnx, operator)(onnx.Unsqueeze(self, [0]), [0], keepdims=0)
        return made
    made = getattr(onnx, operator)(self, int_vector(dims), keepdims=int(keepdim))
    return made


def row_length(self: Ref, dim: Any) -> int:
    """How many elements a row over ``dim`` has."""
    return math.prod([self.shape[d] for d in all_dims(self, dim)])


def last_dims(sizes: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that have these sizes, the last ones."""
    return tuple(range(-len(sizes), 0))


def beside(shared: Ref, self: Ref, dim: Any) -> Ref:
    """What all rows over ``dim`` of a value share, in a shape that broadcasts with it."""
    dims = all_dims(self, dim)
    return reshaped(shared, [n if d in dims else 1 for d, n in enumerate(self.shape)])


def one_for_each_row(kept: Ref, self: Ref, dim: Any, keepdim: bool) -> Ref:
    """What a reduction of ``self`` over ``dim`` gives, of what it gives where it keeps that."""
    made: Ref = kept if keepdim or not self.shape else onnx.Squeeze(kept, all_dims(self, dim))
    return made


def sum_symbolic(self: Ref, dim: Any, keepdim: bool, result: Any) -> Ref:
    """The sum, computed in the result's dtype."""
    return reduced("ReduceSum", cast(self, result.dtype), dim, keepdim)


def prod_symbolic(self: Ref, dim: Any, keepdim: bool, result: Any) -> Ref:
    """The product, computed in the result's dtype."""
    return reduced("ReduceProd", cast(self, result.dtype), dim, keepdim)


def mean_symbolic(self: Ref, dim: Any, keepdim: bool, result: Any) -> Ref:
    """The mean, computed in the result's dtype."""
    if 0 in self.shape:
        raise Unsupported("the mean of nothing is NaN here, and an error in ONNX")
    return reduced("ReduceMean", cast(self, result.dtype), dim, keepdim)


def extreme(self: Ref, dim: Any, keepdim: bool, largest: bool) -> Ref:
    """The largest or smallest element along dimensions."""
    found = reduced("ReduceMax" if largest else "ReduceMin", number(self), dim, keepdim)
    return cast(found, self.dtype)


def all_symbolic(self: Ref, dim: Any, keepdim: bool, result: Any) -> Ref:
    """Whether all elements are true, also where there are none. Of the dimensions (), each for itself."""
    found = truth(self)
    if dim != ():
        found = cast(reduced("ReduceMin", cast(found, int32), dim, keepdim), bool_)
    return cast(found, result.dtype)


def any_symbolic(self: Ref, dim: Any, keepdim: bool, result: Any) -> Ref:
    """Whether an element is true."""
    none = onnx.Not(truth(self))
    none.shape = self.shape
    if dim != ():
        none = cast(reduced("ReduceMin", cast(none, int32), dim, keepdim), bool_)
    return cast(onnx.Not(none), result.dtype)


def count_nonzero_symbolic(self: Ref, dim: Any) -> Ref:
    """How many elements are not zero."""
    return reduced("ReduceSum", cast(truth(self), int64), dim, False)


def position(self: Ref, dim: int | None, keepdim: bool, largest: bool) -> Ref:
    """Where the largest or smallest element is first; in the flattened tensor for None."""
    value = number(self)
    if dim is None or not self.ndim:
        flat = onnx.Reshape(value, [-1])
        found = (onnx.ArgMax if largest else onnx.ArgMin)(flat, axis=0, keepdims=0)
        made: Ref = onnx.Reshape(found, [1] * self.ndim) if keepdim and self.ndim else found
        return made
    made = (onnx.ArgMax if largest else onnx.ArgMin)(value, axis=dim % self.ndim, keepdims=int(keepdim))
    return made


def at_place(self: Ref, dim: int, place: Ref) -> Ref:
    """What stands at a place along a dimension, which it keeps."""
    if not self.ndim:
        return self
    made: Ref = onnx.GatherElements(self, place, axis=dim % self.ndim)
    return made


def extreme_at(self: Ref, dim: int, keepdim: bool, largest: bool) -> tuple[Ref, Ref]:
    """The largest or smallest elements along a dimension, and where they are."""
    where = position(self, dim, keepdim, largest) if self.ndim else constant(0, int64)
    return extreme(self, dim, keepdim, largest), where


def variance(self: Ref, dim: Any, correction: Any, keepdim: bool) -> Ref:
    """The variance; the sum of squares is divided by the count less ``correction``."""
    dims = all_dims(self, dim)
    count = 1
    for d in dims:
        count = count * self.shape[d]
    centred = self - reduced("ReduceMean", self, dims or None, True)
    total = reduced("ReduceSum", centred * centred, dims or None, keepdim)
    rest = count - (1 if correction is None else correction)
    if rest <= 0:
        raise Unsupported("there are no degrees of freedom")
    made: Ref = total / constant(rest, self.dtype)
    return made


def deviation(self: Ref, dim: Any, correction: Any, keepdim: bool) -> Ref:
    """The root of the variance."""
    made: Ref = onnx.Sqrt(variance(self, dim, correction, keepdim))
    return made


def with_mean(spread: Ref, self: Ref, dim: Any, keepdim: bool) -> tuple[Ref, Ref]:
    """A variance or deviation, and the mean."""
    return spread, reduced("ReduceMean", self, dim, keepdim)


def logsumexp_symbolic(self: Ref, dim: Any, keepdim: bool, result: Any) -> Ref:
    """``log(sum(exp(x)))``, without overflow."""
    value = cast(self, result.dtype)
    high = reduced("ReduceMax", value, dim, True)
    finite = onnx.Where(onnx.IsInf(high), constant(0, high.dtype), high)
    total = onnx.Log(reduced("ReduceSum", onnx.Exp(value - finite), dim, keepdim))
    rest = finite if keepdim or not self.ndim else onnx.Squeeze(finite, int_vector(all_dims(self, dim)))
    made: Ref = total + rest
    return made


def vector_norm(self: Ref, order: Any, dim: Any, keepdim: bool, result: Any) -> Ref:
    """The norm of the elements along dimensions."""
    value = onnx.Abs(cast(self, result.dtype))
    if 0 in self.shape:
        raise Unsupported("of an empty tensor")
    if order == float("inf") or (order and all([self.shape[d] == 1 for d in all_dims(self, dim)])):
        return reduced("ReduceMax", value, dim, keepdim)
    if order == -float("inf"):
        return reduced("ReduceMin", value, dim, keepdim)
    if order == 0:
        return reduced("ReduceSum", cast(truth(value), result.dtype), dim, keepdim)
    if order == 1:
        return reduced("ReduceSum", value, dim, keepdim)
    if order == 2:
        made: Ref = onnx.Sqrt(reduced("ReduceSum", value * value, dim, keepdim))
        return made
    made = onnx.Pow(reduced("ReduceSum", onnx.Pow(value, float(order)), dim, keepdim), 1 / order)
    return made


# -- scans and sorting ------------------------------------------------------------------------------


def cumsum_symbolic(self: Ref, dim: int, result: Any) -> Ref:
    """The sum of the elements up to each one."""
    return scanned("CumSum", cast(self, result.dtype), dim)


def cumprod_symbolic(self: Ref, dim: int, result: Any) -> Ref:
    """The product of the elements up to each one."""
    return scanned("CumProd", cast(self, result.dtype), dim)


def scanned(operator: str, self: Ref, dim: int, reverse: bool = False) -> Ref:
    """One of ONNX's scans along ``dim``, or from the end; of a number it is that."""
    if not self.ndim:
        return self
    made: Ref = getattr(onnx, operator)(self, constant(dim % self.ndim, int64), reverse=int(reverse))
    return made


def topk_symbolic(self: Ref, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Ref, Ref]:
    """The k largest or smallest elements, and where they are."""
    if not self.ndim:
        return self, constant(0, int64)
    count = constant([k])
    values, indices = onnx.TopK(
        self, count, axis=dim % self.ndim, largest=int(largest), sorted=int(sorted), outputs=2
    )
    return values, indices


def sorted_along(self: Ref, dim: int, descending: bool) -> tuple[Ref, Ref]:
    """The elements in order, and where they were."""
    if not self.ndim:
        return self, constant(0, int64)
    value = number(self)
    values, indices = topk_symbolic(value, self.shape[dim], dim, descending, True)
    return cast(values, self.dtype), indices


def softmax(self: Ref, dim: int, result: Any) -> Ref:
    """The exponentials as shares of their sum."""
    return _shares("Softmax", self, dim, result)


def log_softmax(self: Ref, dim: int, result: Any) -> Ref:
    """The logarithm of softmax."""
    return _shares("LogSoftmax", self, dim, result)


def _shares(operator: str, self: Ref, dim: int, result: Any) -> Ref:
    value, function = cast(self, result.dtype), getattr(onnx, operator)
    made: Ref = function(value if self.ndim else onnx.Unsqueeze(value, [0]), axis=dim % (self.ndim or 1))
    return made if self.ndim else onnx.Squeeze(made, [0])


def triangle(self: Ref, diagonal: int, upper: bool) -> Ref:
    """The upper or lower triangle of matrices, zeros elsewhere."""
    made: Ref = onnx.Trilu(self, constant(np.int64(diagonal), int64), upper=int(upper))
    return made


def nansum_symbolic(self: Ref, dim: Any, keepdim: bool, result: Any) -> Ref:
    """The sum of what is a number."""
    value = cast(self, result.dtype)
    if value.dtype.is_floating_point:
        value = onnx.Where(onnx.IsNaN(value), constant(0, value.dtype), value)
        value.shape = self.shape
    return reduced("ReduceSum", value, dim, keepdim)


def kthvalue_symbolic(self: Ref, k: int, dim: int, keepdim: bool) -> tuple[Ref, Ref]:
    """The k-th smallest element along a dimension, and where it is."""
    if not self.ndim:
        return self, constant(0, int64)
    axis = dim % self.ndim
    values, indices = topk_symbolic(number(self), k, dim, False, True)
    last = constant([k - 1]) if keepdim else constant(k - 1, int64)
    return cast(onnx.Gather(values, last, axis=axis), self.dtype), onnx.Gather(indices, last, axis=axis)


def places_in_order(sequence: Ref, value: Any, right: bool, side: str | None, sorter: Ref | None) -> Ref:
    """How many elements of a sorted sequence stand before each value."""
    if sorter is not None:
        sequence = onnx.GatherElements(sequence, sorter, axis=-1)
    after = right or side == "right"
    kind = sequence.dtype if not isinstance(value, Ref) else promote_types(sequence.dtype, value.dtype)
    row = cast(sequence, kind)
    if sequence.ndim > 1:
        row = onnx.Unsqueeze(row, [-2])
    given = onnx.Unsqueeze(cast(value, kind), [-1])
    # NaN goes behind all elements: it is neither less nor greater.
    behind = (onnx.Greater if after else onnx.GreaterOrEqual)(number(row), number(given))
    made: Ref = onnx.ReduceSum(cast(onnx.Not(behind), int64), [-1], keepdims=0)
    return made


def triangle_places(row: int, col: int, offset: int, upper: bool, result: Any) -> Ref:
    """The rows and columns of a triangle's elements."""
    places = np.triu_indices(row, offset, col) if upper else np.tril_indices(row, offset, col)
    return constant(np.stack(places).astype(result.dtype.array_dtype))
