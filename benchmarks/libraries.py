"""The rivals: each library behind one of two faces, and the floor.

tengen and torch run the same program (``Tensors``); HIPS autograd and JAX run a program over
NumPy-like arrays and pure functions (``Arrays``). A library that is not installed is left out.
Beside them runs what no library on NumPy does without (``Floor``).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

#: In the order in which their figures are shown.
NAMES = ("tengen", "torch", "autograd", "jax", "jit", "floor")
_PACKAGES = {"jit": "jax"}


@dataclass(frozen=True)
class Tensors:
    """tengen, or torch: tensors that record."""

    name: str
    m: ModuleType
    F: ModuleType

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        """A tensor with the array's elements and dtype, in memory of its own."""
        made = self.m.from_numpy(array.copy())
        return made.requires_grad_() if requires_grad else made

    def tensors(self, arrays: Iterable[np.ndarray], requires_grad: bool = True) -> list[Any]:
        """Leaves of these values."""
        return [self.tensor(a, requires_grad) for a in arrays]


@dataclass(frozen=True)
class Arrays:
    """HIPS autograd, or JAX with every operator by itself, or JAX compiled."""

    name: str
    xp: Any
    value_and_grad: Callable[..., Callable[..., Any]]
    hessian: Callable[..., Callable[..., Any]]
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]]
    scan: Callable[..., Any] | None

    @property
    def is_jax(self) -> bool:
        return self.name != "autograd"

    def put(self, array: np.ndarray) -> Any:
        """The array as this library keeps it."""
        return self.xp.asarray(array) if self.is_jax else array.copy()

    def function(self, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        """A rival: the function, compiled where that is what is timed, with its results waited for."""
        run = self.compiled(function)
        if not self.is_jax:
            return lambda: run(*arguments)
        import jax

        return lambda: jax.block_until_ready(run(*arguments))

    def gradient(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[], Any]:
        """A rival: the value of ``function(arguments)`` and its gradient in all members of the list."""
        return self.function(self.value_and_grad(function), list(arguments))


class Floor:
    """Bare NumPy calls into buffers that were made before, with forward and backward written by hand.

    Arrays larger than the cache are gone through in blocks, by as many threads as the others have.
    """

    name = "floor"
    BLOCK = 16384

    def __init__(self) -> None:
        self.threads = 1
        self._pool: ThreadPoolExecutor | None = None

    def each(self, count: int, work: Callable[[int, int], Any]) -> None:
        """``work(i, t)`` for each i below ``count``, t being the number of the thread that it is in."""
        if self.threads == 1:
            _each(work, 0, count, 0)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1)
        bounds = [count * i // self.threads for i in range(self.threads + 1)]
        parts = enumerate(pairwise(bounds[1:]), 1)
        futures = [self._pool.submit(_each, work, a, b, number) for number, (a, b) in parts]
        _each(work, 0, bounds[1], 0)
        for future in futures:
            future.result()


def _each(work: Callable[[int, int], Any], begin: int, end: int, thread: int) -> None:
    for i in range(begin, end):
        work(i, thread)


Library = Tensors | Arrays | Floor


def installed(name: str) -> bool:
    """Whether a rival can run here."""
    if name == "floor":
        return True
    return importlib.util.find_spec(_PACKAGES.get(name, name)) is not None


def load(name: str) -> Library:
    """A rival by its name."""
    if name == "floor":
        return Floor()
    if name in ("tengen", "torch"):
        return Tensors(name, importlib.import_module(name), importlib.import_module(f"{name}.nn.functional"))
    return _hips() if name == "autograd" else _jax(name)


@contextmanager
def threads(libraries: Iterable[Library], count: int | None) -> Iterator[None]:
    """Let every library use ``count`` threads, None for its own choice; afterwards it is as it was.

    NumPy's BLAS belongs to tengen, autograd and the floor alike, and has one number for all of them: it
    is set once, here. XLA reads its number from the environment when it is imported, see suite.py.
    """
    from threadpoolctl import threadpool_limits

    libraries = list(libraries)
    modules = [x.m for x in libraries if isinstance(x, Tensors) and hasattr(x.m, "set_num_threads")]
    floors = [library for library in libraries if isinstance(library, Floor)]
    before = [m.get_num_threads() for m in modules]
    with threadpool_limits(count, user_api="blas"):
        try:
            for m in modules if count is not None else ():
                m.set_num_threads(count)
            for floor in floors:
                floor.threads = count or available()
            yield
        finally:
            for m, number in zip(modules, before, strict=True) if count is not None else ():
                m.set_num_threads(number)


def available() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def to_arrays(result: Any) -> list[np.ndarray]:
    """A result of any library as a flat list of arrays, to be compared."""
    if isinstance(result, (list, tuple)):
        return [a for part in result for a in to_arrays(part)]
    if hasattr(result, "detach"):
        return [np.asarray(result.detach().numpy())]
    return [np.asarray(result)]


def _hips() -> Arrays:
    import autograd
    import autograd.numpy as xp

    # It warns of gradients of integers' casts and such; our programs ask for none.
    return Arrays("autograd", xp, autograd.value_and_grad, autograd.hessian, lambda f: f, None)


def _jax(name: str) -> Arrays:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    compiled = jax.jit if name == "jit" else lambda f: f
    scan = jax.lax.scan if name == "jit" else None
    return Arrays(name, jax.numpy, jax.value_and_grad, jax.hessian, compiled, scan)
