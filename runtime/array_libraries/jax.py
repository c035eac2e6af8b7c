"""The backend JAX: tensors over ``jax.Array``, on the device ``jax``.

JAX computes in 32 bits unless told otherwise; importing this tells it (``jax_enable_x64``), so that
float64 and int64 are what they say. Kernels ask for no values, unless these decide what comes out: tensors
may hold the tracers of ``jax.jit``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.user_stack import program_call
from ..dispatch.generic_methods import running_operator
from .jax_random import KeySource, default_source
from .library import ArrayLibrary, Like, Namespace, along

jax.config.update("jax_enable_x64", True)


class TracedValueError(RuntimeError):
    """A value was asked for while ``jax.jit`` traces, when there is none yet."""

    __module__ = "tengen.jax"


def is_traced(array: Any) -> bool:
    """Whether an array stands for one that there will be when a traced function runs."""
    return isinstance(array, jax.core.Tracer)


def _no_value(what: str, advice: str = "") -> TracedValueError:
    """The error of an operator, or method, that needs what is not known while tracing."""
    function, place = program_call()
    name = running_operator() or function
    problem = f"{name}: needs {what}, which jax.jit does not know while it traces ({place})"
    return TracedValueError(f"{problem}{advice}")


class JaxNamespace(Namespace):
    """``jax.numpy``, and writes by ``at``."""

    propagates_nan = True

    def random_source(self, generator: Any) -> Any:
        chosen = default_source.generator if generator is None else generator
        if chosen is not None and isinstance(chosen.source, KeySource):
            return chosen.source
        if is_traced(jnp.zeros(())):
            raise _no_value(
                "random numbers of a generator of the CPU",
                ". A tengen.Generator('jax') has a key: give one to the function, and to the operator; for "
                "operators that take none there is tengen.jax.use_generator",
            )
        return None

    def special(self, name: str) -> Callable[..., Any]:
        its: Callable[..., Any] | None
        its = getattr(import_module("jax.scipy.special"), _ITS_NAMES.get(name, name), None)
        return super().special(name) if its is None else its

    def known(self, array: Any) -> Any:
        return None if is_traced(array) else np.asarray(array)

    def scatter(self, array: Any, places: Any, values: Any, how: str = "set", axis: int = 0) -> Any:
        return getattr(array.at[along(axis, places)], how)(values)

    def put(self, array: Any, key: tuple[Any, ...], values: Any) -> Any:
        return array.at[key].set(values)

    def on_host(self, function: Callable[..., Any], like: Sequence[Like] | None, *arrays: Any) -> list[Any]:
        if like is None or not any([is_traced(a) for a in arrays]):
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
        if is_traced(array):
            raise _no_value(f"the values of a tensor of shape {tuple(array.shape)}")
        return np.asarray(array) if isinstance(array, jax.Array) else array

    def from_host(self, array: Any) -> Any:
        return jnp.asarray(np.array(array))


class JaxLibrary(ArrayLibrary):
    """``jax.numpy`` as a backend's library."""

    def __init__(self) -> None:
        super().__init__(jnp, JaxNamespace(jnp))
        self.placement = frozenset({"sharding"})
        self.random_source = KeySource

    def placed(self, array: Any, lead: int, sharding: Any) -> Any:
        """The array on a device of JAX's, or spread over several as a ``Sharding`` says.

        TypeError for what is neither, ValueError for a sharding that does not fit the shape. Where ``lead``
        dimensions come before, these are whole on each device.
        """
        if not isinstance(sharding, jax.Device | jax.sharding.Sharding):
            expected = "a jax.Device or a jax.sharding.Sharding"
            raise TypeError(f"argument 'sharding' must be {expected}, not {type(sharding).__name__}")
        if lead and isinstance(sharding, jax.sharding.NamedSharding):
            spec = jax.sharding.PartitionSpec(*(None,) * lead, *sharding.spec)
            sharding = jax.sharding.NamedSharding(sharding.mesh, spec)
        try:
            if is_traced(array) and isinstance(sharding, jax.sharding.Sharding):
                return jax.lax.with_sharding_constraint(array, sharding)
            return jax.device_put(array, sharding)
        except ValueError as error:
            shape = tuple(array.shape)
            raise ValueError(f"argument 'sharding' does not fit the shape {shape}: {error}") from None

    def isnan_any(self, a: Any) -> bool:
        return bool(jnp.isnan(a).any())


#: The names of functions of scipy.special that are others in jax.scipy.special.
_ITS_NAMES = {"psi": "digamma"}

library = JaxLibrary()
