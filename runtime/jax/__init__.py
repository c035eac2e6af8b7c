"""Tensors on the device ``jax``, and functions of them compiled by XLA (``pip install tengen[jax]``).

What a tensor there holds is a ``jax.Array``, on one device of JAX's or spread over several. ``jit`` compiles
a function of tensors, with the derivatives and optimiser steps in it. See docs/jax.md.
"""

from __future__ import annotations

from ..array_libraries.jax import TracedValueError
from .arrays import device_put, from_jax, sharding, to_jax
from .compiled import jit
from .random_keys import from_key, to_key, use_generator

__all__ = [
    "TracedValueError",
    "device_put",
    "from_jax",
    "from_key",
    "jit",
    "sharding",
    "to_jax",
    "to_key",
    "use_generator",
]


def __dir__() -> list[str]:
    return sorted(__all__)
