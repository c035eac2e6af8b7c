"""The pipe of which each worker takes a share."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


class SHARDING_PRIORITIES(IntEnum):
    """Among whom samples are divided, the first ones first."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """All samples, until ``apply_sharding`` says which one of how many this is: then every such one.

    ``sharding_group_filter`` names the one group that counts.
    """

    def __init__(self, source_datapipe: IterDataPipe[Any], sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Take the share ``instance_id`` of ``num_of_instances`` in a group.

        ValueError for a share that there is not; RuntimeError for the default group beside others.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if any([(group == default) != (sharding_group == default) for group in self.groups]):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter in (None, group):
                count, own = self.groups[group]
                self.instance_id += self.num_of_instances * own
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        for number, sample in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        count = self._length_of(self.source_datapipe)
        return len(range(self.instance_id, count, self.num_of_instances))
