"""One workload: a program for each kind of library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from libraries import Arrays, Floor, Library, Tensors

Rival = Callable[[], object]


@dataclass(frozen=True)
class Workload:
    """A program that every library runs on equal data.

    ``tensors`` and ``arrays`` make the function that is timed; its result is compared before.
    Workloads of one ``row`` are shown together, with the mean of their ratios; ``counted`` says
    whether this one is in the mean. ``target`` and ``limit`` are those of the row, as ratios to torch.

    How far one can go is said by three floors, each where it means something. ``floor`` makes the function
    that does the same with bare NumPy calls into buffers made before; ``flops`` are the operations of the
    products of matrices in it, for BLAS at its peak; ``reads`` are the bytes of its inputs, which, with
    those of its results, have to come through memory, or cache, at the speed of a copy.
    """

    name: str
    row: str
    tensors: Callable[[Tensors], Rival]
    arrays: Callable[[Arrays], Rival] | None = None
    target: float | None = None
    limit: float | None = None
    units: int = 1  # what one call is divided by: the time of one operator of a chain
    tolerance: float = 1e-4
    counted: bool = True
    floor: Callable[[Floor], Rival] | None = None
    flops: int = 0
    reads: int = 0

    def rival(self, library: Library) -> Rival | None:
        """What the library runs; None where there is no such program for it."""
        if isinstance(library, Tensors):
            return self.tensors(library)
        if isinstance(library, Floor):
            return None if self.floor is None else self.floor(library)
        return None if self.arrays is None else self.arrays(library)


def data(*shape: int, seed: int = 0, scale: float = 1.0, dtype: str = "float32") -> np.ndarray:
    """Normally distributed numbers, the same in every process."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def integers(high: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers from 0 to below ``high``."""
    return np.random.default_rng(seed).integers(0, high, shape)


def zero_grads(leaves: list) -> None:
    """Forget the gradients of a former run."""
    for leaf in leaves:
        leaf.grad = None
