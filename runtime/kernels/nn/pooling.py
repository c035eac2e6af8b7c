"""Pooling in one, two and three dimensions.

Arrays are (batch, channels, *spatial) or (channels, *spatial). All work goes tap by tap: what
one position of the window sees at all places at once is a strided view of the padded input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from ...core.costs import WINDOWS_FEW
from ..native_kernels import kernel_of_floats
from ..pointwise import div_rounded
from ..tables import add_elements
from .common import Array, Shape, as_numbers, expand, with_dims


@dataclass(frozen=True, eq=False)
class Window:
    """The geometry of a pooling over spatial dimensions of given sizes.

    ``pool_window`` gives one for equal arguments, so what follows from it is computed once.
    """

    spatial: Shape
    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    out: Shape

    @cached_property
    def reach(self) -> Shape:
        """The padded size that all the windows together cover (or the padded input if larger)."""
        return tuple(
            [
                max(n + 2 * p, s * (o - 1) + d * (k - 1) + 1)
                for n, p, s, o, d, k in zip(
                    self.spatial, self.padding, self.stride, self.out, self.dilation, self.kernel, strict=True
                )
            ]
        )

    @property
    def inner(self) -> tuple[slice, ...]:
        """Where the input lies in the padded array."""
        return tuple([slice(p, p + n) for p, n in zip(self.padding, self.spatial, strict=True)])

    def seen(self, dim: int, tap: int) -> slice:
        """What one tap sees along one dimension of the padded array."""
        start = tap * self.dilation[dim]
        return slice(start, start + self.stride[dim] * (self.out[dim] - 1) + 1, self.stride[dim])

    @cached_property
    def tap_indices(self) -> tuple[tuple[tuple[Any, ...], ...], ...]:
        """For each dimension, what each tap sees along it, as an index of the padded array."""
        dims = len(self.kernel)
        return tuple(
            [
                tuple([(..., self.seen(d, tap), *[slice(None)] * (dims - d - 1)) for tap in range(k)])
                for d, k in enumerate(self.kernel)
            ]
        )

    @cached_property
    def work(self) -> int:
        """How many elements all windows of a plane see."""
        return math.prod(self.out) * math.prod(self.kernel)

    @cached_property
    def numbers(self) -> tuple[Array, ...] | None:
        """Taps, steps, gaps and padding for native kernels, as arrays, of one or two dims.

        None for more, and where a window sees nothing but padding.
        """
        if len(self.kernel) > 2:
            return None
        for dim, (n, k, d) in enumerate(zip(self.spatial, self.kernel, self.dilation, strict=True)):
            starts = self.starts(dim)
            first = np.maximum(-(starts // d), 0)  # ceil(-start / d)
            if (first >= k).any() or (starts + first * d >= n).any():
                return None
        return as_numbers((self.kernel, 1), (self.stride, 1), (self.dilation, 1), (self.padding, 0))

    def taps(self) -> Iterator[tuple[slice, ...]]:
        """What each tap sees, taps in row-major order."""
        for tap in product(*[range(k) for k in self.kernel]):
            yield tuple([self.seen(i, t) for i, t in enumerate(tap)])

    def starts(self, dim: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Where each window begins along a dimension, in the input's coordinates."""
        return np.arange(self.out[dim]) * self.stride[dim] - self.padding[dim]


def _pooled_size(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """The number of windows; in ceil mode the last one must begin inside the input or its left padding."""
    size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    if ceil_mode and (size - 1) * s >= n + p:
        size -= 1
    return size


def pool_window(
    self: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    dilation: int | Shape,
    ceil_mode: bool,
) -> Window:
    """The checked geometry (it reads no data: Meta shares it).

    Raises RuntimeError for sizes that do not fit.
    """
    return _pool_window(tuple(self.shape), dims, kernel_size, stride, padding, dilation, ceil_mode)


@lru_cache(256)
def _pool_window(
    shape: Shape,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    dilation: int | Shape,
    ceil_mode: bool,
) -> Window:
    kernel = expand(kernel_size, dims, "kernel_size")
    # An empty stride is the kernel's size.
    steps = kernel if isinstance(stride, tuple) and not stride else expand(stride, dims, "stride")
    pads, spacing = expand(padding, dims, "padding"), expand(dilation, dims, "dilation")
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel)}")
    if min(steps) <= 0:
        raise RuntimeError("stride should not be zero")
    if min(spacing) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(spacing)}")
    for k, p, d in zip(kernel, pads, spacing, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[-dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size "
            f"for input, but got: {list(shape)}"
        )
    spatial = shape[-dims:]
    out = tuple(
        [
            _pooled_size(n, k, s, p, d, ceil_mode)
            for n, k, s, p, d in zip(spatial, kernel, steps, pads, spacing, strict=True)
        ]
    )
    if min(out) <= 0:
        raise RuntimeError(
            f"Given input size: {_times(shape[-dims - 1], spatial)}. Calculated output size: "
            f"{_times(shape[-dims - 1], out)}. Output size is too small"
        )
    return Window(spatial, kernel, steps, pads, spacing, out)


def _times(channels: int, spatial: Shape) -> str:
    return f"({'x'.join([str(n) for n in (channels, *spatial)])})"


def _padded(self: Array, window: Window, value: Any) -> Array:
    """The input in an array as large as the windows reach, ``value`` around it."""
    reach = window.reach
    if reach == window.spatial:
        return self
    out: Array = np.full((*self.shape[: -len(reach)], *reach), value, self.dtype)
    out[(..., *window.inner)] = self
    return out


# -------------------------------------------------------------------------------- maximum


def _least(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@lru_cache(64)
def _first_taps(window: Window) -> Array:
    """For each place the number of the first tap that lies inside the input."""
    number: Array = np.zeros(window.out, np.int32)
    for dim, k in enumerate(window.kernel):
        d = window.dilation[dim]
        first = np.maximum(-(window.starts(dim) // d), 0)  # ceil(-start / d)
        first = np.minimum(first, k - 1).astype(np.int32)
        number = number * k + first.reshape(-1, *[1] * (len(window.kernel) - dim - 1))
    return number


def _max_pool_forward(
    self: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    dilation: int | Shape,
    ceil_mode: bool,
) -> tuple[Array, Array]:
    """The maximum of each window, and where it is: int64 indices into the flattened spatial dims.

    The first of equal elements counts; NaN is greater than everything (the last NaN counts).
    """
    window = pool_window(self, dims, kernel_size, stride, padding, dilation, ceil_mode)
    planes = self.size // math.prod(window.spatial)
    kernel = kernel_of_floats("max_of_windows", self.dtype) if planes * window.work <= WINDOWS_FEW else None
    if kernel is not None and window.numbers is not None:
        return _native_maximum(kernel, self, window, window.numbers)
    least = _least(self.dtype)
    padded = _padded(self, window, least)
    best, chosen = _maximum(padded, window)
    if padded is not self:  # where nothing is greater than the padding, the first tap inside
        np.copyto(chosen, _first_taps(window), where=best == least, casting="unsafe")
    if self.dtype.kind == "f" and np.isnan(best).any():
        for number, seen in enumerate(window.taps()):
            np.copyto(chosen, number, where=np.isnan(padded[(..., *seen)]))
    return best, _flat_indices(chosen, window)


def _native_maximum(
    kernel: np.ufunc, self: Array, window: Window, numbers: tuple[Array, ...]
) -> tuple[Array, Array]:
    """The maxima and the indices by a native kernel: one call for a few elements."""
    shape = *self.shape[: -len(window.out)], *window.out
    best, indices = np.empty(shape, self.dtype), np.empty(shape, np.int64)
    offsets = window_places(window)[0]
    if len(window.out) == 2:
        kernel(self, *numbers, offsets, out=(best, indices))
    else:
        results = best[..., None, :], indices[..., None, :]
        kernel(self[..., None, :], *numbers, offsets, out=results)
    return best, indices


def _maximum(padded: Array, window: Window) -> tuple[Array, Array]:
    """The maximum of each window, and the number of the first tap that sees it.

    It goes along one dimension after the other, the last one first, so a window costs the sum of its
    sides. A later tap has the greater number, so what is greater takes the place of a number by maximum.
    """
    kind = np.uint8 if math.prod(window.kernel) <= 256 else np.int32
    best, step = padded, 1
    chosen: Any = None  # 0 everywhere
    for seen in reversed(window.tap_indices):
        source, numbers = best, chosen
        best = source[seen[0]]
        if numbers is not None:
            chosen = numbers[seen[0]]
        for tap in range(1, len(seen)):
            value = source[seen[tap]]
            greater = np.greater(value, best).view(np.uint8)
            number = tap * step if numbers is None else np.add(numbers[seen[tap]], tap * step)
            number = np.multiply(greater, number, dtype=kind)
            chosen = number if chosen is None else np.maximum(chosen, number)
            best = np.maximum(best, value, order="C")
        step *= len(seen)
    if best.base is not None:  # a view: no window has a second tap
        best = best.copy()
    return best, np.zeros(best.shape, kind) if chosen is None else chosen


@lru_cache(64)
def window_places(window: Window) -> tuple[Array, Array]:
    """Indices into the flattened input: of taps, from where their window begins, and of these beginnings."""
    dims = len(window.kernel)
    offsets = np.zeros(window.kernel, np.int64)
    base: Array = np.zeros(window.out, np.int64)
    for dim, (k, n) in enumerate(zip(window.kernel, window.spatial, strict=True)):
        after = [1] * (dims - dim - 1)
        offsets = offsets * n + (np.arange(k) * window.dilation[dim]).reshape(-1, *after)
        base = base * n + window.starts(dim).reshape(-1, *after)
    return offsets.ravel(), base


def _flat_indices(chosen: Array, window: Window) -> Array:
    """Indices into the flattened input of the chosen tap of each window."""
    offsets, base = window_places(window)
    indices: Array = offsets.take(chosen)
    indices += base
    return indices


def _max_pool_backward(
    grad_output: Array,
    self: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    dilation: int | Shape,
    ceil_mode: bool,
    indices: Array,
) -> Array:
    """Each element of the gradient, added where its window's maximum was.

    RuntimeError for an index that is no element of its plane.
    """
    window = pool_window(self, dims, kernel_size, stride, padding, dilation, ceil_mode)
    if not self.size:
        return np.zeros(self.shape, grad_output.dtype)
    size = math.prod(window.spatial)
    planes = self.size // size
    # As unsigned numbers negative ones are large: one pass looks at both ends.
    if indices.size and int(indices.view(f"u{indices.itemsize}").max()) >= size:
        raise RuntimeError(f"indices must be between 0 and {size - 1}, the elements of a plane of self")
    out = np.zeros((planes, size), grad_output.dtype)
    if add_elements(out, indices.reshape(planes, -1), grad_output.reshape(planes, -1)):
        return out.reshape(self.shape)
    flat = indices.reshape(planes, -1) + np.arange(planes)[:, None] * size
    covered = [d * (k - 1) + 1 for k, d in zip(window.kernel, window.dilation, strict=True)]
    if all([s >= c for s, c in zip(window.stride, covered, strict=True)]):  # no place is in two windows
        out.reshape(-1)[flat.ravel()] = grad_output.ravel()
    else:
        out = np.bincount(flat.ravel(), grad_output.ravel(), self.size).astype(grad_output.dtype, copy=False)
    return out.reshape(self.shape)


# -------------------------------------------------------------------------------- average


@lru_cache(64)
def window_divisors(window: Window, count_include_pad: bool, divisor_override: int | None) -> Array | int:
    """What each window's sum is divided by: an array of the output's spatial shape, or one number."""
    if divisor_override is not None:
        return divisor_override
    counts: Array = np.ones(window.out, np.int64)
    for dim, (n, k, p) in enumerate(zip(window.spatial, window.kernel, window.padding, strict=True)):
        start = window.starts(dim)
        end = np.minimum(start + k, n + p)
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        counts = counts * (end - start).reshape(-1, *[1] * (len(window.out) - dim - 1))
    first = counts.flat[0]
    return int(first) if (counts == first).all() else counts


def avg_pool_window(
    self: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    ceil_mode: bool,
    divisor_override: int | None,
) -> Window:
    """As ``pool_window``; RuntimeError for a divisor of 0 too."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    return pool_window(self, dims, kernel_size, stride, padding, 1, ceil_mode)


def _avg_pool_forward(
    self: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window. Dimension by dimension, so a window costs the sum of its sides."""
    window = avg_pool_window(self, dims, kernel_size, stride, padding, ceil_mode, divisor_override)
    total = _padded(self, window, 0)
    for first, *others in window.tap_indices:
        summed = total[first].copy()
        for seen in others:
            summed += total[seen]
        total = summed
    divisors = window_divisors(window, count_include_pad, divisor_override)
    if self.dtype.kind != "f":
        return div_rounded(total, divisors, "trunc")
    return np.divide(total, divisors, out=total, casting="same_kind")


def _avg_pool_backward(
    grad_output: Array,
    self: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Array:
    window = avg_pool_window(self, dims, kernel_size, stride, padding, ceil_mode, divisor_override)
    divisors = window_divisors(window, count_include_pad, divisor_override)
    total = np.divide(grad_output, divisors).astype(grad_output.dtype, copy=False)
    for dim in reversed(range(dims)):
        shape = list(total.shape)
        shape[dim - dims] = window.reach[dim]
        spread: Array = np.zeros(shape, total.dtype)
        for seen in window.tap_indices[dim]:
            spread[seen] += total
        total = spread
    return np.ascontiguousarray(total[(..., *window.inner)])


# -------------------------------------------------------------------- to a given size


def adaptive_bounds(n: int, out: int) -> tuple[Array, Array]:
    """Where each of ``out`` windows over ``n`` elements begins and ends."""
    place = np.arange(out)
    return place * n // out, -(-(place + 1) * n // out)


def _window_sums(x: Array, axis: int, starts: Array, ends: Array) -> Array:
    """The sums over ``[start, end)`` along an axis, for each pair."""
    shape = list(x.shape)
    shape[axis] = 1
    # A zero at the end, for reduceat takes no index behind the last element.
    extended = np.concatenate([x, np.zeros(shape, x.dtype)], axis)
    pairs = np.stack([starts, ends], 1).ravel()
    every_other = [slice(None)] * x.ndim
    every_other[axis] = slice(None, None, 2)
    return np.add.reduceat(extended, pairs, axis)[tuple(every_other)]


def adaptive_out(self: Array, dims: int, output_size: tuple[int | None, ...]) -> Shape:
    """The checked spatial output size; None keeps the input's. Meta shares it.

    Raises RuntimeError for negative sizes and inputs of other dimensions.
    """
    if self.ndim not in (dims + 1, dims + 2) or 0 in self.shape[-dims:]:
        raise RuntimeError(
            f"adaptive pooling: Expected {dims + 1}D or {dims + 2}D tensor with non-zero spatial sizes, "
            f"but got {list(self.shape)}"
        )
    if len(output_size) != dims:
        raise RuntimeError(f"output_size must be {dims} numbers, but got {list(output_size)}")
    out = tuple([n if o is None else o for o, n in zip(output_size, self.shape[-dims:], strict=True)])
    if min(out) < 0:
        raise RuntimeError("elements of output_size must be greater than or equal to 0")
    return out


def _adaptive_avg_pool_forward(self: Array, dims: int, output_size: tuple[int, ...]) -> Array:
    """The mean over windows of as equal a size as possible, ``output_size`` of them."""
    out = adaptive_out(self, dims, output_size)
    if 0 in out or not self.size:
        return np.zeros((*self.shape[:-dims], *out), self.dtype)
    total = self
    for dim, size in enumerate(out):
        axis = self.ndim - dims + dim
        starts, ends = adaptive_bounds(self.shape[axis], size)
        total = _window_sums(total, axis, starts, ends)
        total /= (ends - starts).reshape(-1, *[1] * (dims - dim - 1)).astype(self.dtype)
    return total.copy("C")  # a slice of the sums, whose strides are of no use even where nothing is left out


def _adaptive_avg_pool_backward(
    grad_output: Array, self: Array, dims: int, output_size: tuple[int, ...]
) -> Array:
    """The windows that an input element is in are consecutive: sums over windows again."""
    if not grad_output.size:
        return np.zeros(self.shape, grad_output.dtype)
    total = grad_output
    for dim in range(dims):
        axis = self.ndim - dims + dim
        n, size = self.shape[axis], grad_output.shape[axis]
        starts, ends = adaptive_bounds(n, size)
        total = total / (ends - starts).reshape(-1, *[1] * (dims - dim - 1)).astype(total.dtype)
        first, last = adaptive_bounds(size, n)
        total = _window_sums(total, axis, first, last)
    return total.copy("C")  # a slice of the sums, whose strides are of no use even where nothing is left out


# ----------------------------------------------------------------------------- the kernels


max_pool1d_forward = with_dims(_max_pool_forward, 1, 1)
max_pool1d_backward = with_dims(_max_pool_backward, 1, 2)
max_pool2d_forward = with_dims(_max_pool_forward, 2, 1)
max_pool2d_backward = with_dims(_max_pool_backward, 2, 2)
max_pool3d_forward = with_dims(_max_pool_forward, 3, 1)
max_pool3d_backward = with_dims(_max_pool_backward, 3, 2)
avg_pool1d_forward = with_dims(_avg_pool_forward, 1, 1)
avg_pool1d_backward = with_dims(_avg_pool_backward, 1, 2)
avg_pool2d_forward = with_dims(_avg_pool_forward, 2, 1)
avg_pool2d_backward = with_dims(_avg_pool_backward, 2, 2)
avg_pool3d_forward = with_dims(_avg_pool_forward, 3, 1)
avg_pool3d_backward = with_dims(_avg_pool_backward, 3, 2)
adaptive_avg_pool1d_forward = with_dims(_adaptive_avg_pool_forward, 1, 1)
adaptive_avg_pool1d_backward = with_dims(_adaptive_avg_pool_backward, 1, 2)
adaptive_avg_pool2d_forward = with_dims(_adaptive_avg_pool_forward, 2, 1)
adaptive_avg_pool2d_backward = with_dims(_adaptive_avg_pool_backward, 2, 2)
adaptive_avg_pool3d_forward = with_dims(_adaptive_avg_pool_forward, 3, 1)
adaptive_avg_pool3d_backward = with_dims(_adaptive_avg_pool_backward, 3, 2)
