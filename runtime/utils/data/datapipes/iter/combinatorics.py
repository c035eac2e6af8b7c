"""Pipes that give samples in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Self

from ...sampler import Sampler, SequentialSampler, random_seed
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


class SamplerIterDataPipe(IterDataPipe[Any]):
    """What a sampler, which is made with the pipe as its ``data_source``, gives."""

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        sampler: type[Sampler[Any]] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self._length_of(datapipe)
        self.datapipe = datapipe
        make: Any = sampler
        self.sampler = make(*(sampler_args or ()), **{**(sampler_kwargs or {}), "data_source": datapipe})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return self._length_of(self.sampler)


class Shuffled(IterDataPipe[Any]):
    """A pipe in random order, which may be switched off, and whose next order may be seeded."""

    def __init__(self) -> None:
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Whether the order is random."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """Seed the next iteration's order."""
        self._seed = seed
        return self

    def reset(self) -> None:
        """Seed the order, by ``set_seed`` or anew."""
        if self._enabled:
            self._rng.seed(random_seed() if self._seed is None else self._seed)
            self._seed = None


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffled):
    """Samples in random order: each is drawn of a buffer of ``buffer_size``. AssertionError for no buffer.

    ``unbatch_level`` is of the pipe that is shuffled.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], *, buffer_size: int = 10000, unbatch_level: int = 0
    ) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        super().__init__()
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size = buffer_size

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            at = self._rng.randint(0, len(buffer) - 1)
            drawn, buffer[at] = buffer[at], sample
            yield drawn
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return self._length_of(self.datapipe)
