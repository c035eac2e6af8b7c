"""What a command's exit status is, and what is told where it cannot do its work: a line, no traceback."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .model.diagnostics import CommandError

#: What shells give for a process that Ctrl-C has ended.
_INTERRUPTED = 130


def outcome(command: Callable[[], int]) -> int:
    """The exit status of a command. What is wrong with its arguments, files or environment goes to stderr."""
    try:
        with _without_collector():
            status = command()
        sys.stdout.flush()
    except CommandError as error:
        return _told(str(error), error.status)
    except BrokenPipeError:  # who read has read enough: `tengen explain mul | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        return _told(f"{error.filename}: {error.strerror}", 2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "tengen":
            raise
        return _told(missing(error.name), 2)
    except KeyboardInterrupt:
        return _told("interrupted", _INTERRUPTED)
    return status


@contextmanager
def _without_collector() -> Iterator[None]:
    """What a command makes lives to its end: the collector would take a third of its time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def missing(module: str) -> str:
    """What is told of a module that another package should have brought."""
    return f'the module "{module}" is not installed: `pip install tengen` installs all that tengen needs'


def _told(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status
