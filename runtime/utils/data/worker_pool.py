"""The parent's side of a loader's workers: one process and one connection for each, and no lock between them.

A worker that is killed takes nothing with it that others wait for: its connection ends, which is seen.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import traceback
import weakref
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NoReturn

from .iteration import _BaseDataLoaderIter
from .worker import Exhausted, Failure, WorkerSettings, run_worker

if TYPE_CHECKING:
    from .dataloader import DataLoader

#: How long a worker may take to end when it is told to, in seconds.
PATIENCE = 5.0


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """The batches of one epoch, made by workers; of several, where these live on."""

    def __init__(self, loader: DataLoader[Any], seed: int) -> None:
        super().__init__(loader)
        self.alive = True
        self.processes: list[Any] = []
        self.connections: list[Connection] = []
        self._finalizer = weakref.finalize(self, _stop, os.getpid(), self.processes, self.connections)
        context: Any = loader.multiprocessing_context or multiprocessing.get_context()
        try:
            for number in range(loader.num_workers):
                self._start(context, number, seed)
        except BaseException:
            self.shut_down()
            raise
        self._begin()

    def _start(self, context: Any, number: int, seed: int) -> None:
        loader = self.loader
        settings = WorkerSettings(
            number,
            loader.num_workers,
            seed,
            loader.dataset,
            loader._iterable,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            loader.worker_init_fn,
        )
        ours, theirs = context.Pipe()
        copied = [*self.connections, ours] if context.get_start_method() == "fork" else []
        process = context.Process(target=run_worker, args=(settings, theirs, copied), daemon=True)
        self.connections.append(ours)
        process.start()
        self.processes.append(process)
        theirs.close()

    def restart(self, seed: int | None = None) -> None:
        """Begin another epoch with the same workers; what was not taken of the last one is dropped.

        ``seed`` is that of the pipes that the dataset is made of.
        """
        self._drain()
        self._ask_all((None, seed))
        self._begin()

    def _begin(self) -> None:
        loader = self.loader
        self._num_yielded = 0
        self.indices = iter(loader._index_sampler)
        #: What was asked of each worker and has not come, and which workers have no more to give.
        self.asked: list[set[int]] = [set() for _ in self.processes]
        self.exhausted = [False for _ in self.processes]
        self.results: dict[int, Any] = {}
        #: The tasks whose results were not returned, in their order, and the worker of each.
        self.tasks: dict[int, int] = {}
        self.sent = 0
        self.turn = 0
        for _ in range((loader.prefetch_factor or 1) * len(self.processes)):
            self._ask()

    def _ask(self) -> None:
        """Give the next worker in turn that has more to give another batch to make."""
        for _ in self.processes:
            worker, self.turn = self.turn, (self.turn + 1) % len(self.processes)
            if not self.exhausted[worker]:
                break
        else:
            return
        try:
            indices = next(self.indices)
        except StopIteration:
            return
        number, self.sent = self.sent, self.sent + 1
        self.asked[worker].add(number)
        self.tasks[number] = worker
        self._send(worker, (number, indices))

    def _ask_all(self, task: Any) -> None:
        for worker in range(len(self.processes)):
            self._send(worker, task)

    def _send(self, worker: int, task: Any) -> None:
        try:
            self.connections[worker].send(task)
        except (BrokenPipeError, ConnectionResetError):
            self._died()

    def _next_data(self) -> Any:
        if not self.alive:
            raise StopIteration
        while self.tasks:
            number = self._ready()
            if number is None:
                self._receive(self.loader.timeout)
                continue
            worker, result = self.tasks.pop(number), self.results.pop(number)
            if isinstance(result, Exhausted):
                if not self.exhausted[worker]:
                    self.exhausted[worker] = True
                    self._ask()
                continue
            self._ask()
            if isinstance(result, Failure):
                result.reraise()
            return result
        self._end()
        raise StopIteration

    def _ready(self) -> int | None:
        """The number of the batch that is next, if it is there."""
        if not self.loader.in_order:
            return next(iter(self.results), None)
        first = next(iter(self.tasks))
        return first if first in self.results else None

    def _receive(self, timeout: float) -> None:
        """Wait for the workers, and take what they have sent."""
        waited = [c for c, asked in zip(self.connections, self.asked, strict=True) if asked]
        sentinels = [p.sentinel for p, asked in zip(self.processes, self.asked, strict=True) if asked]
        found = wait([*waited, *sentinels], timeout or None)
        if not found:
            self._kill()
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        ready = [worker for worker, c in enumerate(self.connections) if c in found]
        if not ready:  # only that a process has ended
            self._died()
        for worker in ready:
            try:
                number = self.connections[worker].recv()
                packed = self.connections[worker].recv_bytes()
            except (EOFError, OSError):
                self._died()
            self.asked[worker].discard(number)
            self.results[number] = _unpacked(packed)

    def _drain(self) -> None:
        """Take what is still to come of an epoch that was left early."""
        while any(self.asked):
            self._receive(0)

    def _died(self) -> NoReturn:
        """Stop all workers, and raise RuntimeError that says which have died, and how."""
        for process in self.processes:
            process.join(0.1)
        dead = [p for p in self.processes if p.exitcode is not None]
        said = ", ".join(f"{p.pid} (exit code {p.exitcode})" for p in dead)
        self._kill()
        raise RuntimeError(f"DataLoader worker (pid(s) {said}) exited unexpectedly") from None

    def _end(self) -> None:
        """The epoch is over: workers that are not to live on stop."""
        if not self.loader.persistent_workers:
            self.shut_down()

    def _kill(self) -> None:
        """Stop the workers whatever they are doing."""
        for process in self.processes:
            process.kill()
        self.shut_down()

    def shut_down(self) -> None:
        """Stop the workers, and wait until they have ended."""
        self.alive = False
        self._finalizer()


def _unpacked(packed: bytes) -> Any:
    """A result that was sent; where it cannot be read here, that is its failure."""
    try:
        return pickle.loads(packed)
    except Exception as error:
        return Failure(type(error), traceback.format_exc(), "when the DataLoader read what a worker sent")


def _stop(parent: int, processes: list[Any], connections: list[Connection]) -> None:
    """Tell the workers to stop, and kill those that do not; only in the process whose workers they are."""
    if os.getpid() != parent:
        return
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.send(None)
        connection.close()
    for process in processes:
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
