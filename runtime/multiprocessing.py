"""Python's ``multiprocessing`` with PyTorch's additions: ``spawn``, and the strategies of sharing.

Tensors travel to other processes as copies: memory is not shared, whatever the strategy.
"""

from __future__ import annotations

import builtins
import multiprocessing as _multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing.connection import wait as _wait
from typing import Any

__all__ = [
    *_multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The strategies that PyTorch has; here all of them copy."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """What ``set_sharing_strategy`` was given."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Keep the name of a strategy, which changes nothing. ValueError for one that PyTorch does not have."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise ValueError(f"no sharing strategy {new_strategy!r}; there are {sorted(_STRATEGIES)}")
    _strategy = new_strategy


class ProcessException(Exception):
    """A process of ``spawn`` has failed."""

    def __init__(self, msg: str, error_index: int, pid: int | None) -> None:
        super().__init__(msg)
        #: The error in words.
        self.msg = msg
        #: Which process it was.
        self.error_index = error_index
        #: The process's number.
        self.pid = pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process of ``spawn`` has raised an error, whose traceback is the message."""


class ProcessExitedException(ProcessException):
    """A process of ``spawn`` has ended by itself, with an exit status or by a signal."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int | None,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        #: The exit status; negative for a signal.
        self.exit_code = exit_code
        #: The signal's name, if it was one.
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    """What a process does: it sends the traceback of an error, and ends with status 1."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # who started it was interrupted too, and says so
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes that ``start_processes`` has started."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        #: The processes, by their index.
        self.processes = processes
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}
        self._errors = errors

    def pids(self) -> list[int | None]:
        """The numbers of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one has ended, for ``timeout`` seconds at most; returns whether all have.

        When one has failed the others are ended, with ``grace_period`` seconds for them to do so:
        ProcessRaisedException with its traceback, or ProcessExitedException.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in _wait(list(self.sentinels), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end_others(grace_period)
        raise self._error(failed)

    def _end_others(self, grace_period: float | None) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period if grace_period is not None else 30)
            if process.is_alive():
                process.kill()
                process.join()

    def _error(self, index: int) -> ProcessException:
        process, errors = self.processes[index], self._errors[index]
        if not errors.empty():
            text = f"\n\n-- Process {index} terminated with the following error:\n{errors.get()}"
            return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            text = f"process {index} terminated with signal {name}"
            return ProcessExitedException(text, index, process.pid, code, name)
        return ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, process.pid, code
        )


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(index, *args)`` in ``nprocs`` new processes.

    With ``join`` this waits until all have ended, raises what ``ProcessContext.join`` raises, and returns
    None; else it returns the context. ``fn`` and ``args`` must be such as can be pickled.
    """
    context: Any = _multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in builtins.range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, index, args, queue), daemon=daemon)
        process.start()
        errors.append(queue)
        processes.append(process)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """``start_processes``, by the method "spawn"."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
