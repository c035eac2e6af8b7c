"""The rivals: each library behind one of two faces.

tengen and torch run the same program (``Tensors``); HIPS autograd and JAX run a program over
NumPy-like arrays and pure functions (``Arrays``). A library that is not installed is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

#: In the order in which their figures are shown.
NAMES = ("tengen", "torch", "autograd", "jax", "jit")
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


Library = Tensors | Arrays


def installed(name: str) -> bool:
    """Whether a rival can run here."""
    return importlib.util.find_spec(_PACKAGES.get(name, name)) is not None


def load(name: str) -> Library:
    """A rival by its name."""
    if name in ("tengen", "torch"):
        return Tensors(name, importlib.import_module(name), importlib.import_module(f"{name}.nn.functional"))
    return _hips() if name == "autograd" else _jax(name)


def set_threads(library: Library, count: int | None) -> None:
    """Use ``count`` threads, None for the library's own choice. BLAS and XLA are told by the environment."""
    if count is not None and isinstance(library, Tensors) and hasattr(library.m, "set_num_threads"):
        library.m.set_num_threads(count)


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
