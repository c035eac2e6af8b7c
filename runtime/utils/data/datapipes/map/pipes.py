"""The pipes of this kind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe
from ..iter.combinatorics import Shuffled
from ..iter.grouping import Batched


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The elements of a sequence or mapping; with ``deepcopy`` of a copy of it."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """What ``fn`` gives for each sample."""

    def __init__(self, datapipe: MapDataPipe[Any], fn: Callable[[Any], Any] = lambda sample: sample) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return self._length_of(self.datapipe)


class _Several(MapDataPipe[Any]):
    """A pipe of pipes. ValueError for none, TypeError for what is no pipe."""

    def __init__(self, *datapipes: MapDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all([isinstance(pipe, MapDataPipe) for pipe in datapipes]):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        self.datapipes = datapipes

    def lengths(self) -> list[int]:
        """The lengths of all pipes. TypeError where one has none."""
        return [self._length_of(pipe) for pipe in self.datapipes]


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Several):
    """The samples of one pipe after those of the other."""

    def __getitem__(self, index: int) -> Any:
        at = index
        for pipe, length in zip(self.datapipes, self.lengths(), strict=True):
            if at < length:
                return pipe[at]
            at -= length
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(self.lengths())


@functional_datapipe("zip")
class ZipperMapDataPipe(_Several):
    """Tuples of a sample of each pipe."""

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([pipe[index] for pipe in self.datapipes])

    def __len__(self) -> int:
        return min(self.lengths())


@functional_datapipe("batch")
class BatcherMapDataPipe(Batched, MapDataPipe[Any]):
    """Lists of ``batch_size`` samples; the last one is shorter, or left out. AssertionError for no size."""

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        first = index * self.batch_size
        last = min(first + self.batch_size, self._length_of(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(first, last)])


class ShufflerIterDataPipe(Shuffled):
    """The samples in random order, one after the other; ``indices`` are 0, 1, ... if not given."""

    def __init__(self, datapipe: MapDataPipe[Any], *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(self._length_of(datapipe))) if indices is None else indices

    def __iter__(self) -> Iterator[Any]:
        indices = self.indices
        if self._enabled:
            indices = self._rng.sample(indices, len(indices))[::-1]
        for index in indices:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return self._length_of(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
