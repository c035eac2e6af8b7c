"""Pipes whose samples have indices, or other keys."""

from __future__ import annotations

from .pipes import (
    BatcherMapDataPipe as Batcher,
    ConcaterMapDataPipe as Concater,
    MapperMapDataPipe as Mapper,
    SequenceWrapperMapDataPipe as SequenceWrapper,
    ShufflerIterDataPipe as Shuffler,
    ZipperMapDataPipe as Zipper,
)

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


def __dir__() -> list[str]:
    return sorted(__all__)
