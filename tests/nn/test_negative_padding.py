"""Padding by negative amounts: what is cut off, and what the rest is continued by, in all modes and dims."""

from __future__ import annotations

import itertools
from types import ModuleType

import numpy as np
import pytest

from tengen.testing.samples import Array

AMOUNTS = {1: range(-4, 4), 2: (-3, -1, 0, 2), 3: (-2, 0, 1)}
SHAPES = {1: (3, 4), 2: (2, 4, 3), 3: (2, 3, 4, 3)}
NUMPYS = {"constant": "constant", "replicate": "edge", "reflect": "reflect"}


def padded(values: Array, pairs: list[tuple[int, int]], mode: str) -> Array | None:
    """The definition, dim by dim; None where it is an error."""
    for axis, (before, after) in enumerate(pairs, values.ndim - len(pairs)):
        size = values.shape[axis]
        if size + before + after < 0 or (mode == "reflect" and max(before, after) >= size):
            return None
        width = [(0, 0)] * values.ndim
        width[axis] = (max(before, 0), max(after, 0))
        if mode != "circular":
            # A border is that of the whole input: what it is continued by may outlive it.
            values = np.pad(values, width, NUMPYS[mode])
        start, stop = max(-before, 0), values.shape[axis] - max(-after, 0)
        values = values.take(range(start, max(start, stop)), axis)
        if mode == "circular":
            if max(before, after) > size or (values.shape[axis] == 0 and size + before + after):
                return None
            if values.shape[axis]:
                places = range(-max(before, 0), values.shape[axis] + max(after, 0))
                values = values.take(places, axis, mode="wrap")
    nothing = {"replicate": max, "reflect": max}.get(mode)
    return None if nothing and nothing(values.shape[-len(pairs) :]) == 0 else values


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("mode", ["constant", "replicate", "reflect", "circular"])
def test_values_and_gradients(m: ModuleType, mode: str, dims: int) -> None:
    """Each place of the result shows one of the input, which gets its gradient."""
    shape = SHAPES[dims]
    places = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    for number, amounts in enumerate(itertools.product(AMOUNTS[dims], repeat=2 * dims)):
        if min(amounts) >= 0 or (dims > 1 and sum(amounts) % dims):
            continue  # a part of what there is in several dims
        pairs = list(zip(amounts[::2], amounts[1::2], strict=True))[::-1]
        expected = padded(places, pairs, mode)
        if m.__name__ == "torch" and not (expected is not None and expected.size and defined(shape, pairs)):
            continue  # it may show memory that nobody wrote, in gradients, too
        x = m.tensor(places[None] if number % 2 else places, requires_grad=True)
        if expected is None:
            with pytest.raises(RuntimeError):
                m.nn.functional.pad(x, amounts, mode=mode)
            continue
        out = m.nn.functional.pad(x, amounts, mode=mode)
        shown = out.detach().numpy()[0] if number % 2 else out.detach().numpy()
        assert shown.shape == expected.shape and (shown == expected).all(), amounts
        weights = np.arange(1.0, expected.size + 1)
        (out.flatten() * m.tensor(weights)).sum().backward()
        gradient = np.bincount(expected.ravel().astype(int), weights, minlength=places.size + 1)[1:]
        assert (x.grad.numpy().ravel() == gradient).all(), amounts


def defined(shape: tuple[int, ...], pairs: list[tuple[int, int]]) -> bool:
    """Whether what a dim is continued by is there after the cut."""
    sizes = zip(shape[-len(pairs) :], pairs, strict=True)
    return all(n + min(b, 0) + min(a, 0) >= max(b, a, 0) for n, (b, a) in sizes)
