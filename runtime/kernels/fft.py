"""Discrete Fourier transforms, by SciPy's pocketfft, which computes in the precision that it is given.

``normalization`` is PyTorch's: 0 leaves sums as they are, 1 divides by the square root of the number of
points, 2 by that number. Results lie in memory as PyTorch's: the transformed dimensions vary fastest, and
the others keep the order of their strides. One thread does the work, so results do not depend on how many
there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dims import wrap_dims
from .shape import to_copy

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Shape = tuple[int, ...]

#: By ``normalization``, what SciPy calls it of a forward and of an inverse transform.
_NORMS = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


def order_in_memory(strides: Sequence[int], dims: Shape, last_is_last: bool) -> tuple[int, ...]:
    """The dimensions of a result from the outermost to the innermost: those of ``dims`` behind the others."""
    end = len(dims) - last_is_last
    others = sorted([d for d in range(len(strides)) if d not in dims], key=lambda d: -strides[d])
    return (*others, *sorted(dims[:end], key=lambda d: -strides[d]), *dims[end:])


def check_transform(shape: Shape, dim: Sequence[int], normalization: int) -> Shape:
    """``dim`` counted from the front. RuntimeError for one without elements, or named twice."""
    dims = wrap_dims(dim, len(shape))
    if normalization not in (0, 1, 2):
        raise RuntimeError(f"normalization must be 0, 1 or 2, but got {normalization}")
    for d in dims:
        if not shape[d]:
            raise RuntimeError(f"Invalid number of data points ({shape[d]}) specified for dimension {d}")
    return dims


def check_real_transform(shape: Shape, dim: Sequence[int], normalization: int) -> Shape:
    """``check_transform`` of what transforms at least one dimension. RuntimeError for none."""
    dims = check_transform(shape, dim, normalization)
    if not dims:
        raise RuntimeError("dim must name at least one dimension, but got none")
    return dims


def halved(shape: Shape, dim: int) -> Shape:
    """The shape with as many points in ``dim`` as the half of a transform has."""
    return (*shape[:dim], shape[dim] // 2 + 1, *shape[dim + 1 :])


def widened(shape: Shape, dim: int, size: int) -> Shape:
    """The shape of what ``shape`` is half of in ``dim``. RuntimeError for another ``size``."""
    if size < 1 or shape[dim] != size // 2 + 1:
        raise RuntimeError(
            f"last_dim_size is {size}, so that dimension {dim} must have {max(size, 0) // 2 + 1} points, "
            f"but it has {shape[dim]}"
        )
    return (*shape[:dim], size, *shape[dim + 1 :])


def _transformed(
    self: Array, order: Shape, shape: Shape, dtype: np.dtype[Any], transform: Callable[[Array], Array]
) -> Array:
    """What ``transform`` makes of ``self`` with its dimensions in ``order``, with these where they were."""
    result = transform(self.transpose(order)) if self.size else np.zeros([shape[d] for d in order], dtype)
    return result.transpose(np.argsort(order))


def _last(count: int) -> tuple[int, ...]:
    return tuple(range(-count, 0))


def fft_c2c(self: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    """The transform of complex numbers along ``dim``."""
    import scipy.fft

    dims = check_transform(self.shape, dim, normalization)
    if not dims:
        return to_copy(self)
    function: Any = scipy.fft.fftn if forward else scipy.fft.ifftn
    norm, order = _NORMS[forward][normalization], order_in_memory(self.strides, dims, False)
    axes = _last(len(dims))
    return _transformed(
        self, order, self.shape, self.dtype, lambda a: function(a, axes=axes, norm=norm, workers=1)
    )


def fft_r2c(self: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    """The transform of real numbers along ``dim``: half of the last one, or all of it."""
    import scipy.fft

    dims = check_real_transform(self.shape, dim, normalization)
    function: Any = scipy.fft.rfftn if onesided else scipy.fft.fftn
    norm, order = _NORMS[True][normalization], order_in_memory(self.strides, dims, True)
    axes, shape = _last(len(dims)), halved(self.shape, dims[-1]) if onesided else self.shape
    dtype = np.result_type(self.dtype, np.complex64)
    result = _transformed(self, order, shape, dtype, lambda a: function(a, axes=axes, norm=norm, workers=1))
    if not onesided:
        result += 0  # where they are real, SciPy's have -0 for the imaginary part, whose phase is -pi
    return result


def fft_c2r(self: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    """The inverse transform of the half of a Hermitian array, whose other half follows from it."""
    import scipy.fft

    dims = check_real_transform(self.shape, dim, normalization)
    last = dims[-1]
    shape = widened(self.shape, last, last_dim_size)
    half = fft_c2c(self, dims[:-1], normalization, False) if len(dims) > 1 else self
    function: Any = scipy.fft.irfft
    norm, order = _NORMS[False][normalization], order_in_memory(half.strides, (last,), True)
    return _transformed(
        half,
        order,
        shape,
        half.real.dtype,
        lambda a: function(a, last_dim_size, norm=norm, workers=1),
    )


# ------------------------------------------------------------------------------- frequencies


def frequencies(n: int, d: float) -> tuple[int, float]:
    """``n``, and the distance of the frequencies of so many points. RuntimeError for a negative number."""
    if n < 0:
        raise RuntimeError(f"n must not be negative, but got {n}")
    span = n * d
    return n, 1 / span if span else math.copysign(math.inf, span)
