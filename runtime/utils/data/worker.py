"""What runs in a worker process of a loader, and how its errors come back."""

from __future__ import annotations

import os
import pickle
import queue
import random as python_random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from ...kernels.parallel import set_num_threads
from ...random import Generator, manual_seed
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .fetch import Fetch, make_fetch
from .graph_settings import apply_random_seed, apply_sharding

__all__ = ["WorkerInfo", "get_worker_info"]


def __dir__() -> list[str]:
    return sorted(__all__)


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is: ``id`` of ``num_workers``, its ``seed``, its copy of the ``dataset``."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


@dataclass(frozen=True)
class WorkerSettings:
    """What a worker is told when it starts."""

    id: int
    num_workers: int
    base_seed: int
    dataset: Any
    iterable: bool
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], Any] | None


@dataclass(frozen=True)
class Failure:
    """An exception of a worker, as text: not every exception can be sent, and none with its traceback."""

    kind: type[BaseException]
    text: str
    where: str

    def reraise(self) -> None:
        """Raise an exception of the kind with the worker's traceback; RuntimeError where none can be made."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            raise KeyError(_Plain(text))
        try:
            error = self.kind(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


class _Plain(str):
    """A text that KeyError shows as it is."""

    def __repr__(self) -> str:
        return str(self)


class Exhausted:
    """Stands for a batch where a worker's iterable dataset has no more samples."""


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a loader this process is; None in a process that is none."""
    return _info


def seed_pipes(dataset: Any, seed: int | None) -> None:
    """Seed the random pipes that a pipe is made of; None seeds nothing."""
    if seed is not None:
        apply_random_seed(dataset, Generator().manual_seed(seed))


def run_worker(settings: WorkerSettings, connection: Connection, others: list[Connection]) -> None:
    """Make batches until told to stop: what a worker process runs.

    ``others`` are the parent's ends of connections that a fork has copied.
    """
    global _info
    for other in others:
        other.close()
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    try:
        seed = settings.base_seed + settings.id
        _seed(settings.base_seed, settings.id)
        set_num_threads(1)
        _info = WorkerInfo(settings.id, settings.num_workers, seed, settings.dataset)
        if isinstance(settings.dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(settings.dataset, settings.num_workers, settings.id)
        failure = _try(settings, lambda: settings.init and settings.init(settings.id))
        _serve(settings, tasks, connection, failure if isinstance(failure, Failure) else None)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the parent is interrupted itself, or gone


def _serve(
    settings: WorkerSettings, tasks: queue.SimpleQueue[Any], connection: Connection, failure: Failure | None
) -> None:
    """Answer one task after the other. ``failure`` is that of the worker's beginning."""
    fetch: Any = None
    result: Any
    ended = False
    while True:
        task = tasks.get()
        if task is None:
            return
        number, indices = task
        if number is None:  # another epoch begins
            seed_pipes(settings.dataset, indices)
            fetch, ended = None, False
            continue
        if failure is not None:
            result, failure = failure, None
        elif ended:
            result = Exhausted()
        else:
            if fetch is None:
                fetch = _try(settings, lambda: _made(settings))
            result = fetch if isinstance(fetch, Failure) else _try(settings, fetch, indices)
            if isinstance(fetch, Failure):
                fetch = None
            ended = isinstance(result, Exhausted)
        _send(connection, settings, number, result)


def _made(settings: WorkerSettings) -> Fetch:
    return make_fetch(
        settings.dataset,
        settings.iterable,
        settings.auto_collation,
        settings.collate_fn,
        settings.drop_last,
    )


def _try(settings: WorkerSettings, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, ``Exhausted`` where an iterable dataset has no more, or its failure."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if settings.iterable and isinstance(error, StopIteration):
            return Exhausted()
        where = f"in DataLoader worker process {settings.id}"
        return Failure(type(error), traceback.format_exc(), where)


def _send(connection: Connection, settings: WorkerSettings, number: int, result: Any) -> None:
    """Send the number of a task and its result, or why that cannot be sent."""
    packed = _try(settings, lambda: pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
    if isinstance(packed, Failure) and not isinstance(result, Failure):
        result = packed
    if isinstance(result, Failure):
        try:
            packed = pickle.dumps(result)
            pickle.loads(packed)
        except Exception:  # a class that cannot be found by its name
            packed = pickle.dumps(Failure(RuntimeError, result.text, result.where))
    connection.send(number)
    connection.send_bytes(packed)


def _receive(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    """Take tasks off the connection at once, so that the parent never waits to write; end with the parent."""
    parent = parent_process()
    ends: list[Any] = [connection] if parent is None else [connection, parent.sentinel]
    try:
        while True:
            if connection not in wait(ends):
                os._exit(1)  # the parent is gone
            task = connection.recv()
            tasks.put(task)
            if task is None:
                return
    except (EOFError, OSError):
        os._exit(1)


def _seed(base_seed: int, worker: int) -> None:
    """Seed the generators of Python, of this library and of NumPy, each worker's in another way."""
    seed = base_seed + worker
    python_random.seed(seed)
    manual_seed(seed)
    np.random.seed(_generate_state(base_seed, worker))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The four words with which NumPy's generator of a worker is seeded."""
    words = np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0])
    return [int(word) for word in words.generate_state(4)]
