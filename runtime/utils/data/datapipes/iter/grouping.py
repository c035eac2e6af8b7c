"""Pipes of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe, Registered


class Batched(Registered):
    """Of which pipe batches are made, and how: what such pipes of both kinds have."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __len__(self) -> int:
        count = self._length_of(self.datapipe)
        return (count if self.drop_last else count + self.batch_size - 1) // self.batch_size


@functional_datapipe("batch")
class BatcherIterDataPipe(Batched, IterDataPipe[Any]):
    """Lists of ``batch_size`` samples; the last one is shorter, or left out. AssertionError for no size."""

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The samples of batches, and of batches in these; -1 goes down to what is no list.

    ValueError for a level below -1, IndexError for one that is deeper than the batches.
    """

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for batch in self.datapipe:
            yield from self._within(batch, self.unbatch_level)

    def _within(self, batch: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level == -1 and not isinstance(batch, list)):
            yield batch
            return
        if not isinstance(batch, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for each in batch:
            yield from self._within(each, max(level - 1, -1))


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Batches of samples for which ``group_key_fn`` gives the same key, with ``keep_key`` pairs of both.

    A group comes when it has ``group_size`` samples, when ``buffer_size`` samples wait and it is the largest,
    or last. Where the largest has not ``guaranteed_group_size`` then it is an error, or is dropped.
    AssertionError for sizes that contradict each other.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and not 0 < guaranteed_group_size <= (group_size or 0):
            raise AssertionError(
                "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
            )
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.max_buffer_size, self.group_size = buffer_size, group_size
        self.guaranteed_group_size = guaranteed_group_size or group_size
        self.drop_remaining = drop_remaining

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = {}
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups.setdefault(key, []).append(sample)
            if len(groups[key]) == self.group_size:
                yield self._group(key, groups.pop(key))
            if sum(map(len, groups.values())) == self.max_buffer_size:
                key = max(groups, key=lambda k: len(groups[k]))
                group = groups.pop(key)
                if len(group) >= (self.guaranteed_group_size or 0):
                    yield self._group(key, group)
                elif not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(group))
        for key, group in groups.items():
            yield self._group(key, group)

    def _group(self, key: Any, samples: list[Any]) -> Any:
        return (key, DataChunk(samples)) if self.keep_key else DataChunk(samples)
