"""Random indices, and by NumPy alone which elements they take."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Part(NamedTuple):
    """One part of an index; an array with ``tensor`` is given as a tensor."""

    value: Any
    tensor: bool = False

    def given(self, library: Any) -> Any:
        """The part for tengen or torch."""
        return library.tensor(self.value) if self.tensor else self.value

    def __str__(self) -> str:
        return f"tensor({self.value.tolist()}, {self.value.dtype})" if self.tensor else repr(self.value)


class Index(NamedTuple):
    """The parts of an index, and whether the only one stands there without a tuple."""

    parts: list[Part]
    bare: bool = False

    def given(self, library: Any) -> Any:
        """The index for tengen or torch."""
        return self.parts[0].given(library) if self.bare else tuple([p.given(library) for p in self.parts])

    def __str__(self) -> str:
        return ", ".join(map(str, self.parts))

    def meant(self) -> list[Part]:
        """The parts: a list of lists without a tuple stands for one, as in old NumPy."""
        value = self.parts[0].value if self.bare else None
        return (
            [Part(v) for v in value] if isinstance(value, list) and isinstance(value[0], list) else self.parts
        )

    def basic(self) -> bool:
        """Whether it makes a view: numbers, slices, ``None`` and ``...`` only."""
        return all(
            p.value is None or p.value is ... or isinstance(p.value, slice) or _is_number(p)
            for p in self.parts
        )


def random_part(rng: random.Random, n: int, broadcast: tuple[int, ...]) -> Part:
    """A part for a dimension of size ``n``; index tensors have a shape that broadcasts to ``broadcast``."""
    kind = rng.choice(["int", "int", "slice", "slice", "slice", "tensor", "list", "mask", "numpy", "number"])
    low, high = (-n, n - 1) if n and rng.random() < 0.97 else (-n - 1, n)
    bound = lambda: rng.choice([None, rng.randint(-n - 1, n + 1)])  # noqa: E731
    if kind == "int":
        return Part(rng.randint(low, high))
    if kind == "slice":
        return Part(slice(bound(), bound(), rng.choice([None, 1, 1, 2, 3])))
    if kind == "mask":
        return Part(np.array([rng.random() < 0.6 for _ in range(n)], bool), tensor=True)
    shape = tuple([m if rng.random() < 0.8 else 1 for m in broadcast])[rng.randint(0, len(broadcast)) :]
    array = np.array([rng.randint(low, high) for _ in range(math.prod(shape))], np.int64).reshape(shape)
    if kind == "numpy":
        return Part(array)
    if kind == "list" and array.ndim:
        return Part(array.tolist())
    if kind == "number":
        return Part(np.int64(rng.randint(low, high)))
    return Part(array.astype(rng.choice([np.int64, np.int32])), tensor=True)


def random_index(rng: random.Random, shape: tuple[int, ...]) -> Index:
    """An index of a tensor of that shape; now and then one that is out of range, or has too many parts."""
    parts, rest = [], shape
    if len(shape) > 1 and rng.random() < 0.1:
        covered = rng.randint(1, len(shape))
        mask = np.array([rng.random() < 0.5 for _ in range(math.prod(shape[:covered]))], bool)
        parts, rest = [Part(mask.reshape(shape[:covered]), tensor=True)], shape[covered:]
    broadcast = tuple([rng.randint(1, 3) for _ in range(rng.randint(0, 2))])
    used = rest[: rng.randint(0, len(rest))] if rng.random() < 0.6 else rest
    parts += [random_part(rng, n, broadcast) for n in used]
    if rng.random() < 0.04:
        parts.append(Part(0))
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        parts.insert(rng.randint(0, len(parts)), Part(None))
    if rng.random() < 0.25:
        parts.insert(rng.randint(0, len(parts)), Part(...))
    if rng.random() < 0.06:
        parts.insert(rng.randint(0, len(parts)), Part(rng.random() < 0.8))
    return Index(parts, len(parts) == 1 and rng.random() < 0.5)


def random_shape(rng: random.Random) -> tuple[int, ...]:
    """Of up to four dimensions, seldom an empty one."""
    return tuple(
        [rng.choice([1, 2, 3, 4, 4, 5]) if rng.random() < 0.97 else 0 for _ in range(rng.randint(0, 4))]
    )


def _is_number(part: Part) -> bool:
    value = part.value
    return (
        not isinstance(value, (bool, list, slice))
        and np.ndim(value) == 0
        and np.asarray(value).dtype.kind == "i"
    )


def elements(shape: tuple[int, ...], parts: Sequence[Part]) -> Any:
    """The numbers of the elements, counted as they lie in a contiguous tensor, that an index takes.

    Numbers, slices and ``None`` are done first; ``True`` and ``False`` take all or nothing of a dimension of
    size 1. IndexError for what is out of range, and for too many parts.
    """
    dims = sum([0 if _adds(p.value) else np.ndim(p.value) if _is_mask(p) else 1 for p in parts])
    missing = [Part(slice(None))] * (len(shape) - dims)
    dots = [i for i, p in enumerate(parts) if p.value is ...]
    at = dots[0] if dots else len(parts)
    if len(shape) < dims:
        raise IndexError("too many")
    first: list[Any] = []
    then: list[Any] = []
    for part in [*parts[:at], *missing, *[p for p in parts[at:] if p.value is not ...]]:
        if part.value is None or isinstance(part.value, slice):
            first.append(part.value)
            then.append(slice(None))
        elif isinstance(part.value, bool):
            first.append(None)
            then.append(np.zeros(int(part.value), np.int64))
        elif _is_number(part):
            first.append(int(part.value))
        else:
            first += [slice(None)] * (np.ndim(part.value) if _is_mask(part) else 1)
            then.append(np.asarray(part.value))
    return np.arange(math.prod(shape)).reshape(shape)[tuple(first)][tuple(then)]


def _adds(value: Any) -> bool:
    return value is None or value is ... or isinstance(value, bool)


def _is_mask(part: Part) -> bool:
    return isinstance(part.value, np.ndarray) and part.value.dtype.kind == "b"
