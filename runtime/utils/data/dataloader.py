"""DataLoader: batches of a dataset, made in this process or in workers."""

from __future__ import annotations

import math
import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from ...core.user_stack import program_stacklevel
from ...random import Generator
from ._utils.collate import default_collate, default_convert
from .datapipes.datapipe import IterDataPipe
from .dataset import IterableDataset
from .graph_settings import apply_shuffle_settings
from .iteration import _BaseDataLoaderIter, _SingleProcessDataLoaderIter
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, random_seed
from .worker import get_worker_info as get_worker_info, seed_pipes
from .worker_pool import _MultiProcessingDataLoaderIter

__all__ = ["DataLoader"]


def __dir__() -> list[str]:
    return sorted(__all__)


T_co = TypeVar("T_co", covariant=True)
_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]
#: What cannot be changed once the loader is made.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches.

    ``batch_size`` samples are put together by ``collate_fn``, the last batch is shorter or left out
    (``drop_last``); with ``batch_size=None`` samples come one by one. The order is the dataset's, random
    (``shuffle``), or that of a ``sampler`` of indices, or a ``batch_sampler`` of lists of them. ``generator``
    is what random numbers and the workers' seeds are drawn from.

    Of a pipe (``IterDataPipe``) ``shuffle`` switches the shuffled pipes on or off that it is made of, which
    are seeded for each epoch, in all workers alike; workers take their shares of its ``sharding_filter``.

    ``num_workers`` processes make batches ahead, ``prefetch_factor`` each (2 if None); they come in order,
    unless ``in_order=False``. Errors of a worker are raised here with its traceback, and RuntimeError where
    one has died, or is silent for ``timeout`` seconds. ``worker_init_fn(id)`` is called in each first;
    ``persistent_workers`` live on between epochs; ``multiprocessing_context`` is a context or the name of its
    start method. There is no memory to pin: ``pin_memory`` is a warning.

    ValueError for options that exclude each other or have no meaning.
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    sampler: Any
    _tengen_made = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: _collate_fn_t | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if isinstance(dataset, IterDataPipe):
            dataset, shuffle = apply_shuffle_settings(dataset, shuffle), None
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        _check_samplers(batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._tengen_default_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._workers: _MultiProcessingDataLoaderIter | None = None
        self._tengen_made = True

    def _tengen_default_sampler(self, shuffle: bool) -> Any:
        if self._iterable:
            return _Endless()
        return (
            RandomSampler(self.dataset, generator=self.generator)
            if shuffle
            else SequentialSampler(self.dataset)
        )

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """Gives what a batch is fetched by."""
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The context that workers are started by; None is the system's own."""
        context: BaseContext | None = self._context
        return context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = _checked_context(context, self.num_workers)
        self._context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self._tengen_made and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> _BaseDataLoaderIter:
        if self.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
                "won't be used.",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
        shared_seed = random_seed(self.generator) if isinstance(self.dataset, IterDataPipe) else None
        if self._workers is not None and self._workers.alive:
            self._workers.restart(shared_seed)
            return self._workers
        seed_pipes(self.dataset, shared_seed)
        seed = random_seed(self.generator)
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        workers = _MultiProcessingDataLoaderIter(self, seed)
        if self.persistent_workers:
            self._workers = workers
        return workers

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)


class _Endless(Sampler[None]):
    """Gives None for ever, for datasets that are not asked for indices."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


def _check_workers(count: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    """Raise ValueError for options of workers that have no meaning."""
    if count < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if count == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and count == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """Raise ValueError for an order, which an iterable dataset has itself."""
    if shuffle not in (False, None):
        raise ValueError(
            f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}"
        )
    for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _check_samplers(
    batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Raise ValueError for options that exclude each other."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _checked_context(context: Any, workers: int) -> BaseContext:
    """The context that is meant. ValueError without workers and for unknown names; else TypeError."""
    if workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={workers}"
        )
    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{known!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the "
            f"start method, but got multiprocessing_context={context}"
        )
    return context
