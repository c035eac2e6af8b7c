"""The pipe that others begin with."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator
from typing import TypeVar

from .....core.user_stack import program_stacklevel
from ..datapipe import IterDataPipe

T = TypeVar("T")


class IterableWrapperIterDataPipe(IterDataPipe[T]):
    """The elements of an iterable; with ``deepcopy`` of a copy, so that nobody changes what was given."""

    def __init__(self, iterable: Iterable[T], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[T]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would"
                    " affect source data.",
                    stacklevel=program_stacklevel(),
                )
        yield from source

    def __len__(self) -> int:
        return self._length_of(self.iterable)
