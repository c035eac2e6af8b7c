"""DistributedSampler: each process its share of the indices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from tengen.generated.functions import randperm

from ...random import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]


def __dir__() -> list[str]:
    return sorted(__all__)


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index, from the ``rank``-th: all shares together are the dataset.

    They are of one length: the first indices are added again, or with ``drop_last`` the last ones left out.
    With ``shuffle`` the order is one of ``seed`` and of the epoch that ``set_epoch`` gives. RuntimeError
    without ``num_replicas`` or ``rank``, for there is no ``distributed`` to ask; ValueError for a rank that
    there is not.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        if indices:
            indices = indices * math.ceil(self.total_size / count)
        return iter(indices[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the epoch, on which the order depends."""
        self.epoch = epoch
