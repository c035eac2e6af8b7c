"""Padding: which dims it is of, and what cannot be padded."""

from __future__ import annotations

from .common import Shape


def padded_dims(shape: Shape, pad: Shape) -> Shape:
    """The dims of which ``pad`` has how much is added before and behind each: the last ones, the last first.

    RuntimeError for an odd length, for more pairs than dims, and where negative ones cut off too much.
    """
    ndim = len(shape)
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {ndim} dimensions."
        )
    dims = _dims(pad)
    for d in reversed(dims):
        before, after = _pair(pad, d)
        if shape[d] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(
                f"The input size {shape[d]}, plus negative padding {before} and {after} resulted in a "
                "negative output size, which is invalid."
            )
    return dims


def mirrored_dims(shape: Shape, padding: Shape, reflect: bool) -> Shape:
    """The dims of which the border is reflected or repeated: the last ones, the last first.

    RuntimeError for inputs of other dimensions, and for reflections wider than the input.
    """
    count = len(padding) // 2
    if len(shape) not in (count + 1, count + 2) or 0 in shape[-count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    dims = _dims(padding)
    for d in reversed(dims) if reflect else ():
        before, after = _pair(padding, d)
        if before >= shape[d] or after >= shape[d]:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({before}, {after}) at dimension {len(shape) + d} of input {list(shape)}"
            )
    sizes = [shape[d] + sum(_pair(padding, d)) for d in dims]
    # As PyTorch: all is an error, some may be empty.
    if max(sizes) < 1 or min(sizes) < 0:
        raise RuntimeError(f"input {list(shape)} is too small for padding {list(padding)}")
    return dims


def _dims(pad: Shape) -> Shape:
    return tuple([-1 - i for i in range(len(pad) // 2)])


def _pair(pad: Shape, dim: int) -> tuple[int, int]:
    """What is added before and behind a dim, which is counted from the last one."""
    return pad[-2 - 2 * dim], pad[-1 - 2 * dim]
