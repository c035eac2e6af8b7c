"""What ``iter`` of a loader gives: the batches of an epoch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core.user_stack import program_stacklevel
from .fetch import make_fetch

if TYPE_CHECKING:
    from .dataloader import DataLoader


class _BaseDataLoaderIter(Iterator[Any]):
    """The batches of one epoch; warns where an iterable dataset gives more than its length promised."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.loader = loader
        self._num_yielded = 0
        counted = loader._iterable and hasattr(loader.dataset, "__len__")
        self._promised = len(loader) if counted else None

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if self._promised is not None and self._num_yielded > self._promised:
            self._warn(self._promised)
        return data

    def __len__(self) -> int:
        return len(self.loader._index_sampler)

    def _warn(self, promised: int) -> None:
        text = (
            f"Length of IterableDataset {self.loader.dataset} was reported to be {promised} (when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self.loader.num_workers:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring "
                "the IterableDataset replica at each worker."
            )
        warnings.warn(text, UserWarning, stacklevel=program_stacklevel())


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Batches that are made in this process; after an error the next ones come all the same."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._fetch = make_fetch(
            loader.dataset, loader._iterable, loader._auto_collation, loader.collate_fn, loader.drop_last
        )
        self._indices = iter(loader._index_sampler)

    def _next_data(self) -> Any:
        return self._fetch(next(self._indices))
