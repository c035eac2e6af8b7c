"""Random number generators, and the one that operators draw from when none is given.

The numbers are NumPy's (PCG64), not PyTorch's: the same seed gives the same numbers in every
run, but other ones than there. A generator of a device whose array library draws itself, as ``jax`` does by
keys, has that library's source in place of NumPy's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .core.device import as_device, default_device, device as Device
from .core.scalar_type import uint8
from .core.tensor_base import TensorBase
from .dispatch.legacy_type_dispatch import backend_of_device
from .kernels import random as kernels

if TYPE_CHECKING:
    from .tensors.tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def __dir__() -> list[str]:
    return sorted(__all__)


#: What ``Generator()`` is seeded with, as in PyTorch.
DEFAULT_SEED: Final = 67280421310721

_WORD: Final = 16  # bytes of each of PCG64's two numbers
_STATE_BYTES: Final = 8 + 2 * _WORD + 1 + 4


class Generator:
    """A source of random numbers for operators' ``generator`` argument.

    Without a device it is of the default one, or where that has no generators of the CPU. RuntimeError for a
    device that has none.
    """

    __module__ = "tengen"
    __slots__ = ("__weakref__", "_device", "_seed", "_source")

    def __init__(self, device: Device | str | None = None) -> None:
        self._device = as_device(device if device is None else Device(device))
        if device is None and not backend_of_device(self._device).has_data:
            self._device = default_device
        if not backend_of_device(self._device).has_data:
            raise RuntimeError(f"{self._device.type} has no random number generators")
        self._seed = DEFAULT_SEED
        self._source: Any = None

    @property
    def device(self) -> Device:
        """The device whose tensors it fills."""
        return self._device

    @property
    def source(self) -> Any:
        """What kernels draw from, made when first asked for: the device's array library's, else NumPy's."""
        if self._source is None:
            make = getattr(backend_of_device(self._device).lib, "random_source", None)
            seed = self._seed
            self._source = np.random.Generator(np.random.PCG64(seed)) if make is None else make(seed)
        return self._source

    @property
    def numpy(self) -> np.random.Generator:
        """The NumPy generator that kernels draw from.

        RuntimeError where the generator is of a device whose array library draws itself.
        """
        found = self.source
        if not isinstance(found, np.random.Generator):
            raise RuntimeError(f"Expected a 'cpu' device type for generator but found {self._device.type!r}")
        return found

    def snapshot(self) -> Any:
        """What is another once a number was drawn; None before the first."""
        found = self._source
        if found is None:
            return None
        return found.bit_generator.state if isinstance(found, np.random.Generator) else found.key

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed``, in [-2**63, 2**64); returns the generator.

        RuntimeError for what is no int, ValueError for one that is out of range.
        """
        if type(seed) is not int:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._source = None
        return self

    def seed(self) -> int:
        """Start from a seed that the system gives, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8)))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that it started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes."""
        from .tensors.creation import wrap_array

        if not isinstance(self.source, np.random.Generator):
            content = self._seed.to_bytes(8, "little") + self.source.to_bytes()
            return wrap_array(np.frombuffer(bytearray(content), np.uint8), uint8, default_device)
        state: Any = self.numpy.bit_generator.state
        words = state["state"]
        content = b"".join(
            (
                self._seed.to_bytes(8, "little"),
                words["state"].to_bytes(_WORD, "little"),
                words["inc"].to_bytes(_WORD, "little"),
                state["has_uint32"].to_bytes(1, "little"),
                state["uinteger"].to_bytes(4, "little"),
            )
        )
        return wrap_array(np.frombuffer(bytearray(content), np.uint8), uint8, default_device)

    def set_state(self, new_state: TensorBase) -> Generator:
        """Go on from a state that ``get_state`` gave; returns the generator.

        TypeError for what is no tensor of bytes, RuntimeError for one of another size.
        """
        keyed = not isinstance(self.source, np.random.Generator)
        content = _state_bytes(new_state, 8 + len(self.source.to_bytes()) if keyed else _STATE_BYTES)
        if keyed:
            self._seed = int.from_bytes(content[:8], "little")
            self.source.from_bytes(content[8:])
            return self
        fields = []
        start = 0
        for width in (8, _WORD, _WORD, 1, 4):
            fields.append(int.from_bytes(content[start : start + width], "little"))
            start += width
        self._seed = fields[0]
        self.numpy.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": fields[1], "inc": fields[2]},
            "has_uint32": fields[3],
            "uinteger": fields[4],
        }
        return self

    def clone_state(self) -> Generator:
        """A new generator in the same state."""
        return Generator(self._device).set_state(self.get_state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        memo[id(self)] = copied = self.clone_state()
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._device, self.get_state())


def _rebuild(device: Device, state: TensorBase) -> Generator:
    return Generator(device).set_state(state)


def _state_bytes(state: Any, size: int) -> bytes:
    if not isinstance(state, TensorBase):
        raise TypeError(f"expected a tengen.ByteTensor, but got {type(state).__name__}")
    if state._type.scalar_type.name != "uint8" or not state._type.backend.has_data:
        raise TypeError("RNG state must be a tengen.ByteTensor")
    content: bytes = state._array.tobytes()
    if len(content) != size:
        raise RuntimeError(f"RNG state is wrong size: {len(content)} bytes, where {size} are expected")
    return content


#: The process's generator.
default_generator: Final = Generator()
default_generator.seed()
kernels.default = default_generator


def manual_seed(seed: int) -> Generator:
    """Seed the generator that operators use when none is given; returns it.

    ``seed`` is made an int first, and must be in [-2**63, 2**64): ValueError when it is not.
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator with a number that the system gives, and return that."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as a tensor of bytes.

    It has one dimension, and the dtype uint8.
    """
    return default_generator.get_state()


def set_rng_state(new_state: TensorBase) -> None:
    """Put the default generator into a state that ``get_rng_state`` gave."""
    default_generator.set_state(new_state)


def thread_safe_generator() -> Generator | None:
    """The generator of the thread that loads data, for the argument ``generator``: None, the default one.

    No loader of data is here whose threads would have generators of their own.
    """
    return None


@contextmanager
def fork_rng(devices: Sequence[Any] = (), enabled: bool = True) -> Iterator[None]:
    """A context that leaves the default generator as it found it."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
