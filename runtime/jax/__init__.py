"""Tensors on the device ``jax``, and functions of them compiled by XLA (``pip install tengen[jax]``).

What a tensor there holds is a ``jax.Array``, on one device of JAX's or spread over several. ``jit`` compiles
a function of tensors, with the derivatives and optimiser steps in it. See docs/jax.md.
"""

from __future__ import annotations

from ..core.device import device
from ..dispatch.legacy_type_dispatch import backend_of_device

#: The device that this package is named after.
_DEVICE = device(__name__.rpartition(".")[2])
backend_of_device(_DEVICE)  # where JAX is not installed, the ImportError that says what to do

from ..array_libraries.jax import TracedValueError  # noqa: E402
from .arrays import device_put, from_jax, sharding, to_jax  # noqa: E402
from .compiled import jit  # noqa: E402
from .random_keys import from_key, to_key, use_generator  # noqa: E402

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
