"""Low-discrepancy sequences, as ``torch.quasirandom`` has them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .core.scalar_type import dtype as DType, get_default_dtype
from .kernels import sobol
from .random import Generator
from .tensors.creation import from_array
from .tensors.tensor import Tensor

__all__ = ["SobolEngine"]


def __dir__() -> list[str]:
    return sorted(__all__)


class SobolEngine:
    """Points of a Sobol' sequence in ``[0, 1)**dimension``, for up to 21201 dimensions.

    They fill the cube more evenly than random points do, best where their number is a power of two. With
    ``scramble`` the sequence is one of many, chosen by random numbers: of a generator that ``seed``
    or the system starts. There are 2**30 points. ValueError for another number of dimensions.

    The unscrambled points are PyTorch's, and the scrambled ones others, as all random numbers are.
    """

    MAXBIT: Final = sobol.BITS
    MAXDIM: Final = sobol.DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            supported = f"[1, {self.MAXDIM}]"
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is {supported}, but got {dimension}"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        directions = sobol.direction_numbers(dimension)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            generator = Generator()
            generator.seed() if seed is None else generator.manual_seed(seed)
            shift = generator.numpy.integers(1 << self.MAXBIT, size=dimension)
            digits = generator.numpy.integers(2, size=(dimension, self.MAXBIT, self.MAXBIT), dtype=np.uint8)
            directions = sobol.scrambled(directions, digits)
        self.sobolstate: Tensor = from_array(directions)
        self.shift: Tensor = from_array(shift)
        self.quasi: Tensor = self.shift.clone()
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next ``n`` points, (n, dimension), of ``dtype``, or of the default one.

        They are written to ``out``, which gets their shape and keeps its dtype. NotImplementedError for a
        dtype that is not a real floating point one, RuntimeError for a negative ``n``, ValueError where
        there are not as many more points.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        if not dtype.is_floating_point:
            raise NotImplementedError(f"SobolEngine.draw: expected a floating point dtype, but got {dtype}")
        self._check("draw", n)
        result = from_array(sobol.fractions(self._next(n), dtype.array_dtype))
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next ``2**m`` points, (2**m, dimension); ``out`` and ``dtype`` as for ``draw``.

        ValueError where the points that there have been would not be a power of two together with these.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2: "
                f"{self.num_generated} points have been generated, and with 2**{m} more there are {total}. "
                "SobolEngine.draw takes any number"
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point; returns the engine."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next ``n`` points; returns the engine.

        RuntimeError for a negative ``n``, ValueError where there are no more points.
        """
        self._check("fast_forward", n)
        if n:
            self.num_generated += n
            last = sobol.point(self.shift.numpy(), self.sobolstate.numpy(), self.num_generated - 1)
            self.quasi.copy_(from_array(last))
        return self

    def _next(self, n: int) -> Any:
        """The integers of the next points: the first of all is where the sequence starts, itself."""
        quasi, first = self.quasi.numpy(), self.num_generated == 0
        number = max(self.num_generated - 1, 0)
        found = sobol.points(quasi, self.sobolstate.numpy(), number, max(n - first, 0))
        if first and n:
            found = np.concatenate((quasi[None], found))
        if n:
            self.quasi.copy_(from_array(found[-1]))
            self.num_generated += n
        return found

    def _check(self, name: str, n: int) -> None:
        if n < 0:
            raise RuntimeError(f"SobolEngine.{name}: expected n >= 0, but got {n}")
        if self.num_generated + n > 1 << self.MAXBIT:
            left = (1 << self.MAXBIT) - self.num_generated
            raise ValueError(f"SobolEngine.{name}: of 2**30 points {left} are left, but n is {n}")

    def __repr__(self) -> str:
        more = ["scramble=True"] * bool(self.scramble)
        more += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join([f'dimension={self.dimension}', *more])})"
