"""Pooling in one, two and three dimensions: the windows that arguments say, with PyTorch's errors.

Arrays are (batch, channels, *spatial) or (channels, *spatial). What windows become the operators' bodies say.
"""

from __future__ import annotations

from collections.abc import Sequence

from .common import Shape, expand

#: Of each dimension: the size of windows, their step, the padding before, the gap in them, and their number.
Windows = tuple[tuple[int, int, int, int, int], ...]


def _pooled_size(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """The number of windows; in ceil mode the last one must begin inside the input or its left padding."""
    size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    if ceil_mode and (size - 1) * s >= n + p:
        size -= 1
    return size


def pooled_windows(
    shape: Sequence[int],
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    dilation: int | Shape,
    ceil_mode: bool,
    divisor_override: int | None = None,
) -> Windows:
    """The windows over the last ``dims`` dimensions.

    Raises RuntimeError for sizes that do not fit, and for a divisor of 0.
    """
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
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
            f"for input, but got: {[*shape]}"
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
    return tuple(zip(kernel, steps, pads, spacing, out, strict=True))


def _times(channels: int, spatial: Sequence[int]) -> str:
    return f"({'x'.join([str(n) for n in (channels, *spatial)])})"


def adaptive_sizes(shape: Sequence[int], dims: int, output_size: Sequence[int | None]) -> Shape:
    """The checked spatial output size; None keeps the input's.

    Raises RuntimeError for negative sizes and inputs of other dimensions.
    """
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[-dims:]:
        raise RuntimeError(
            f"adaptive pooling: Expected {dims + 1}D or {dims + 2}D tensor with non-zero spatial sizes, "
            f"but got {[*shape]}"
        )
    if len(output_size) != dims:
        raise RuntimeError(f"output_size must be {dims} numbers, but got {list(output_size)}")
    out = tuple([n if o is None else o for o, n in zip(output_size, shape[-dims:], strict=True)])
    if min(out) < 0:
        raise RuntimeError("elements of output_size must be greater than or equal to 0")
    return out
