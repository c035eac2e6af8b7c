"""Pipes of several pipes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


class _Several(IterDataPipe[Any]):
    """A pipe of pipes. TypeError for what is none."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        wrong = [pipe for pipe in datapipes if not isinstance(pipe, IterDataPipe)]
        if wrong:
            raise TypeError(
                f"{type(self).__name__}: Expected all inputs to be `IterDataPipe`, got {type(wrong[0])}"
            )
        self.datapipes = datapipes

    def lengths(self) -> list[int]:
        """The lengths of all pipes. TypeError where one has none."""
        return [self._length_of(pipe) for pipe in self.datapipes]


@functional_datapipe("concat")
class ConcaterIterDataPipe(_Several):
    """The samples of one pipe after those of the other. ValueError for no pipe."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        super().__init__(*datapipes)

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(self.lengths())


@functional_datapipe("zip")
class ZipperIterDataPipe(_Several):
    """Tuples of a sample of each pipe, until one has no more."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(self.lengths())


@functional_datapipe("mux")
class MultiplexerIterDataPipe(_Several):
    """A sample of each pipe in turn, until one has no more."""

    def __iter__(self) -> Iterator[Any]:
        for row in zip(*self.datapipes, strict=False):
            yield from row

    def __len__(self) -> int:
        return min(self.lengths()) * len(self.datapipes)
