"""The two libraries that a test runs beside each other, and what is asked of each of them.

Nothing here needs torch: its side is made where it is installed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import tengen
from tengen.testing.declared import determined, run
from tengen.testing.differentiable import hermitian
from tengen.testing.samples import Call


class Side:
    """What is asked of one of the libraries."""

    def __init__(
        self,
        library: Any,
        make: Callable[[Any], Any],
        call: Callable[[Call, list[Any]], Any],
        unique: Callable[..., list[Any]],
        array: Callable[[Any], Any],
    ) -> None:
        self.library, self.make, self.call, self.unique, self.array = library, make, call, unique, array


TENGEN = Side(
    tengen,
    tengen.from_numpy,
    lambda call, values: run(str(call.operator.name), values),
    determined,
    lambda t: np.asarray(t.numpy()),
)


def cotangent(result: Any, number: int) -> np.ndarray[Any, Any]:
    """The gradient of a result: random, and the same for both sides."""
    shape = tuple(result.shape)
    rng = np.random.default_rng(zlib.crc32(f"{shape} {number}".encode()))
    real = np.asarray(rng.uniform(0.5, 1.5, shape))
    return np.asarray(real + 1j * rng.uniform(0.5, 1.5, shape)) if result.is_complex() else real


def start(call: Call, values: list[Any]) -> list[Any]:
    """The arguments with leaves among them; what is written to is a copy of its leaf."""
    if call.operator.name.inplace:
        return [values[0].clone(), *values[1:]]
    return [(v + v.mH) / 2 if hermitian(s) else v for v, s in zip(values, call.values, strict=True)]
