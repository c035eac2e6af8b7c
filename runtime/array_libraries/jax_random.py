"""Random numbers of JAX: drawn by keys, which are values like others and may be traced."""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.thread_state import propagated

_LEAST, _MOST = -(2**63), 2**63 - 1


class KeySource:
    """A key of ``jax.random``, which each draw splits: one half is for the draw, the other stays."""

    __slots__ = ("key",)

    def __init__(self, seed: int) -> None:
        self.key: Any = jax.random.key(np.uint64(seed))

    def take(self) -> Any:
        """A key of its own for one draw."""
        self.key, own = jax.random.split(self.key)
        return own

    def to_bytes(self) -> bytes:
        """The key's data."""
        return np.asarray(jax.random.key_data(self.key)).tobytes()

    def from_bytes(self, content: bytes) -> None:
        """Take over a key's data."""
        words = jax.random.key_data(self.key)
        data = np.frombuffer(content, words.dtype).reshape(words.shape)
        self.key = jax.random.wrap_key_data(jnp.asarray(data), impl=jax.random.key_impl(self.key))

    # -- draws

    def uniform(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Real numbers in [0, 1)."""
        return jax.random.uniform(self.take(), tuple(shape), dtype)

    def normal(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Standard normal; complex numbers have a variance of one half in each part."""
        return jax.random.normal(self.take(), tuple(shape), dtype)

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> Any:
        """In [low, high), int64, or uint64 where that is too narrow."""
        key, shape = self.take(), tuple(shape)
        if high - 1 <= _MOST and low > _LEAST:  # JAX's upper end is an int64, too
            return jax.random.randint(key, shape, low - 1, high - 1, dtype=jnp.int64) + 1
        if high <= _MOST:
            return jax.random.randint(key, shape, low, high, dtype=jnp.int64)
        bits = jax.random.bits(key, shape, jnp.uint64)
        if low < 0:  # all of int64
            return jax.lax.bitcast_convert_type(bits, jnp.int64)
        return bits if high - low == 2**64 else bits % np.uint64(high - low) + np.uint64(low)

    def permutation(self, count: int) -> Any:
        """The integers from 0 to ``count`` - 1 in random order."""
        return jax.random.permutation(self.take(), count)

    def poisson(self, rates: Any) -> Any:
        """Counts, int64."""
        return jax.random.poisson(self.take(), rates, dtype=jnp.int64)

    def binomial(self, count: Any, probability: Any) -> Any:
        """Successes, as floating-point numbers."""
        return jax.random.binomial(self.take(), count, probability)

    def gamma(self, shape: Any) -> Any:
        """Of the gamma distributions of these shapes, whose dtype they have."""
        return jax.random.gamma(self.take(), shape, dtype=shape.dtype)


class DefaultSource(threading.local):
    """The generator from which operators of this thread draw that are given none."""

    def __init__(self) -> None:
        self.generator: Any = None


default_source = propagated(DefaultSource())
