"""Thread-local state, and its propagation to a call in another thread.

Each kind of state is a ``threading.local`` that is ``propagated``: modes, hooks, layers. A call in another
thread starts with a copy of the caller's state; when it ends, the caller takes over the changed state.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Local = TypeVar("_Local", bound=threading.local)
_T = TypeVar("_T")

_propagated: list[threading.local] = []


def propagated(local: _Local) -> _Local:
    """Propagate this thread-local state to calls in other threads."""
    _propagated.append(local)
    return local


class CurrentThread(threading.local):
    """The identity of this thread; during a call in a new thread, that of the caller's."""

    def __init__(self) -> None:
        self.ident = threading.get_ident()


#: The one instance: ``current_thread.ident`` is what layers and modes are entered under.
current_thread = propagated(CurrentThread())


def stack_is_deep() -> bool:
    """Whether a third of the recursion limit is used, or of Python's default if that is lower."""
    try:
        sys._getframe(min(sys.getrecursionlimit(), 1000) // 3)
    except ValueError:
        return False
    return True


def call_in_new_thread(function: Callable[[], _T]) -> _T:
    """The result of ``function``, called in a new thread, whose stack is empty, while this one waits.

    It raises what the function raises. An interrupt of this thread, as a signal brings it to the main one,
    interrupts the function as KeyboardInterrupt, and is raised once that has ended.
    """
    call = _ThreadCall(function)
    interrupt: BaseException | None = None
    while not call.done:
        try:
            call.start()
            call.join()
            call.restore_state()
        except BaseException as stop:
            if call.begun.acquire(blocking=False):  # it has not begun, and never will
                call.abandon()
                if isinstance(stop, RuntimeError):  # no thread can be had
                    return function()
                raise
            interrupt = stop
            call.interrupt()
    # Tracebacks have the frames of this function and of the call's: no error may stay in either.
    error, call.error = call.error, None
    try:
        if interrupt is not None and (error is None or isinstance(error, KeyboardInterrupt)):
            raise interrupt from error
        if error is not None:
            raise error
        result: _T = call.result
        return result
    finally:
        del error, interrupt


class _ThreadCall:
    """A call in a new thread, for which the caller waits."""

    #: By the identity of a waiting thread, the call that it waits for.
    waiting: dict[int, _ThreadCall] = {}  # noqa: RUF012  # of all of them

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.error: BaseException | None = None
        self.started = self.ended = self.done = False
        #: Acquired by the thread when it begins, or by the caller to keep it from beginning.
        self.begun = threading.Lock()
        #: Held until the call has ended.
        self.running = threading.Lock()
        self.running.acquire()
        self.state = [vars(local).copy() for local in _propagated]
        self.context = contextvars.copy_context()
        self.thread = threading.Thread(target=self.run, name=threading.current_thread().name)

    # -- in the thread that waits ----------------------------------------------------------

    def start(self) -> None:
        """Start the thread, unless it is started."""
        if not self.started:
            self.started = True
            self.waiting[threading.get_ident()] = self
            self.thread.start()

    def join(self) -> None:
        """Return when the call has ended, also after an interrupt of this that came when it had ended."""
        if not self.ended:
            self.running.acquire()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running thread: this call's, or the one it waits for in turn."""
        from ctypes import c_ulong, py_object, pythonapi  # slow to import

        last: _ThreadCall = self
        while (after := self.waiting.get(last.thread.ident or 0)) is not None:
            last = after
        pythonapi.PyThreadState_SetAsyncExc(c_ulong(last.thread.ident or 0), py_object(KeyboardInterrupt))

    def restore_state(self) -> None:
        """Take over the state as the call left it. To do so twice changes nothing."""
        _set_state(self.state)
        for variable, value in self.context.items():
            if variable.get(_UNSET) is not value:
                variable.set(value)
        self.abandon()
        self.done = True

    def abandon(self) -> None:
        """Stop waiting."""
        self.waiting.pop(threading.get_ident(), None)

    # -- in the other thread ---------------------------------------------------------------

    def run(self) -> None:
        """Make the call, unless it was abandoned. An interrupt at its end is its error."""
        try:
            if self.begun.acquire(blocking=False):
                self.context.run(self.invoke)
        except BaseException as error:
            self.error = error
        try:
            self.ended = True
            self.running.release()
        except BaseException as error:
            self.error = error

    def invoke(self) -> None:
        """Call the function with its caller's state."""
        _set_state(self.state)
        try:
            self.result = self.function()
        finally:
            self.state = [vars(local).copy() for local in _propagated]


_UNSET: Any = object()


def _set_state(state: list[dict[str, Any]]) -> None:
    """Set the thread-local state of this thread."""
    for local, values in zip(_propagated, state, strict=True):
        own = vars(local)
        own.update(values)
        for name in own.keys() - values.keys():
            own.pop(name)
