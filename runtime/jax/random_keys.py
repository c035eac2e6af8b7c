"""Generators of the device ``jax``, which draw by keys of ``jax.random``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from ..array_libraries.jax_random import KeySource, default_source
from ..random import Generator
from .arrays import DEVICE, described


def from_key(key: Any) -> Generator:
    """A generator that draws by a key of ``jax.random.key``, or of the older ``jax.random.PRNGKey``.

    Each draw splits the key, and goes on with one half. TypeError for what is no key, ValueError for several.
    """
    if not isinstance(key, jax.Array):
        raise TypeError(f"from_key(): argument 'key' must be a key of jax.random, not {described(key)}")
    if not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        if key.dtype != jnp.uint32:
            raise TypeError(f"from_key(): argument 'key' must be a key of jax.random, not {key.dtype}")
        key = jax.random.wrap_key_data(key)
    if key.shape:
        raise ValueError(f"from_key(): argument 'key' must be one key, but there are {tuple(key.shape)}")
    made = Generator(DEVICE)
    made.source.key = key
    return made


def to_key(generator: Generator) -> Any:
    """The key from which a generator of ``jax`` would draw next. TypeError for another generator."""
    return key_source(generator, "to_key").key


def key_source(generator: Any, function: str) -> KeySource:
    """What a generator draws from. TypeError for one that is not of ``jax``."""
    if not isinstance(generator, Generator) or generator.device != DEVICE:
        given = f"one on {generator.device}" if isinstance(generator, Generator) else described(generator)
        raise TypeError(f"{function}(): argument 'generator' must be a Generator on {DEVICE}, not {given}")
    found: KeySource = generator.source
    return found


@contextmanager
def use_generator(generator: Generator) -> Iterator[None]:
    """A context in which operators on ``jax`` that get no generator, as ``dropout``, draw from this one.

    TypeError for a generator of another device.
    """
    key_source(generator, "use_generator")
    before = default_source.generator
    default_source.generator = generator
    try:
        yield
    finally:
        default_source.generator = before
