"""The backend JAX: tensors over ``jax.Array``, on the device ``jax``.

JAX computes in 32 bits unless told otherwise; importing this tells it (``jax_enable_x64``), so that
float64 and int64 are what they say. No kernel asks for values: tensors may hold the tracers of ``jax.jit``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..array_api import ArrayLibrary, Like, Namespace

jax.config.update("jax_enable_x64", True)


class JaxNamespace(Namespace):
    """``jax.numpy``, and writes by ``at``."""

    def special(self, name: str) -> Callable[..., Any]:
        its: Callable[..., Any] | None
        its = getattr(import_module("jax.scipy.special"), _ITS_NAMES.get(name, name), None)
        return super().special(name) if its is None else its

    def known(self, array: Any) -> Any:
        return None if isinstance(array, jax.core.Tracer) else np.asarray(array)

    def scatter(self, array: Any, places: Any, values: Any, how: str = "set") -> Any:
        return getattr(array.at[places], how)(values)

    def put(self, array: Any, key: tuple[Any, ...], values: Any) -> Any:
        return array.at[key].set(values)

    def on_host(self, function: Callable[..., Any], like: Sequence[Like] | None, *arrays: Any) -> list[Any]:
        if like is None or not any([isinstance(a, jax.core.Tracer) for a in arrays]):
            return super().on_host(function, like, *arrays)
        shapes = [jax.ShapeDtypeStruct(tuple(shape), dtype) for shape, dtype in like]

        def called(*given: Any) -> tuple[Any, ...]:
            results = function(*[np.asarray(a) if hasattr(a, "dtype") else a for a in given])
            results = results if isinstance(results, tuple) else (results,)
            return tuple([np.asarray(r, s.dtype) for r, s in zip(results, shapes, strict=True)])

        return list(jax.pure_callback(called, tuple(shapes), *arrays, vmap_method="sequential"))

    def constant(self, array: Any) -> Any:
        return array

    def to_host(self, array: Any) -> Any:
        return np.asarray(array) if isinstance(array, jax.Array) else array

    def from_host(self, array: Any) -> Any:
        return jnp.asarray(np.array(array))


class JaxLibrary(ArrayLibrary):
    """``jax.numpy`` as a backend's library."""

    def isnan_any(self, a: Any) -> bool:
        return bool(jnp.isnan(a).any())


#: The names of functions of scipy.special that are others in jax.scipy.special.
_ITS_NAMES = {"psi": "digamma"}

library = JaxLibrary(jnp, JaxNamespace(jnp))
