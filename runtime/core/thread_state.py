"""What belongs to a thread, and calls that go on in another thread as if it were this one.

Each kind of state is a ``threading.local`` that is ``carried``: modes, hooks, layers. A thread that takes a
call over has all of it meanwhile, and the caller, which waits, has it again at the end with what was changed.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Local = TypeVar("_Local", bound=threading.local)
_T = TypeVar("_T")

_carried: list[threading.local] = []


def carried(local: _Local) -> _Local:
    """State of a thread that goes along with a call into another one."""
    _carried.append(local)
    return local


class Here(threading.local):
    """Which thread this is; one that has taken over a call is its caller's."""

    def __init__(self) -> None:
        self.ident = threading.get_ident()


#: The one instance: ``here.ident`` is what layers and modes are entered under.
here = carried(Here())


def stack_is_deep() -> bool:
    """Whether a third of the frames are in use that Python allows, or allows at first if that is less."""
    try:
        sys._getframe(min(sys.getrecursionlimit(), 1000) // 3)
    except ValueError:
        return False
    return True


def call_elsewhere(function: Callable[[], _T]) -> _T:
    """The result of ``function``, called in a new thread, whose stack is empty, while this one waits.

    It raises what the function raises. An interrupt of this thread, as a signal brings it to the main one,
    interrupts the function as KeyboardInterrupt, and is raised once that has ended.
    """
    errand = _Errand(function)
    interrupt: BaseException | None = None
    while not errand.done:
        try:
            errand.send()
            errand.wait()
            errand.come_home()
        except BaseException as stop:
            if errand.begun.acquire(blocking=False):  # it has not, and never will
                errand.give_up()
                if isinstance(stop, RuntimeError):  # no thread can be had
                    return function()
                raise
            interrupt = stop
            errand.interrupt()
    # Tracebacks have the frames of this function and of the errand's: no error may stay in either.
    error, errand.error = errand.error, None
    try:
        if interrupt is not None and (error is None or isinstance(error, KeyboardInterrupt)):
            raise interrupt from error
        if error is not None:
            raise error
        result: _T = errand.result
        return result
    finally:
        del error, interrupt


class _Errand:
    """A call in another thread."""

    #: By the thread that waits, what it waits for.
    waiting: dict[int, _Errand] = {}  # noqa: RUF012  # of all of them

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.error: BaseException | None = None
        self.sent = self.done = False
        #: Taken by the thread when it begins, or by who finds that it has not.
        self.begun = threading.Lock()
        #: Held until the call has ended.
        self.running = threading.Lock()
        self.running.acquire()
        self.state = [vars(local).copy() for local in _carried]
        self.context = contextvars.copy_context()
        self.thread = threading.Thread(target=self.run, name=threading.current_thread().name)

    # -- in the thread that waits ----------------------------------------------------------

    def send(self) -> None:
        """Start the thread, unless that was done."""
        if not self.sent:
            self.sent = True
            self.waiting[threading.get_ident()] = self
            self.thread.start()

    def wait(self) -> None:
        """Return when the call has ended."""
        with self.running:
            pass

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the thread that works, the one this waits for or one further on."""
        from ctypes import c_ulong, py_object, pythonapi  # slow to import

        last: _Errand = self
        while (after := self.waiting.get(last.thread.ident or 0)) is not None:
            last = after
        pythonapi.PyThreadState_SetAsyncExc(c_ulong(last.thread.ident or 0), py_object(KeyboardInterrupt))

    def come_home(self) -> None:
        """Take over what the call has changed; once more changes nothing."""
        _assume(self.state)
        for variable, value in self.context.items():
            if variable.get(_UNSET) is not value:
                variable.set(value)
        self.give_up()
        self.done = True

    def give_up(self) -> None:
        """Wait no more."""
        self.waiting.pop(threading.get_ident(), None)

    # -- in the other thread ---------------------------------------------------------------

    def run(self) -> None:
        """Make the call, unless that was given up. An interrupt that comes at its end is its error."""
        while self.running.locked():
            try:
                if self.begun.acquire(blocking=False):
                    self.context.run(self.call)
                self.running.release()
            except BaseException as error:
                self.error = error

    def call(self) -> None:
        """Call the function in its caller's place."""
        _assume(self.state)
        try:
            self.result = self.function()
        finally:
            self.state = [vars(local).copy() for local in _carried]


_UNSET: Any = object()


def _assume(state: list[dict[str, Any]]) -> None:
    """Make ``state`` this thread's."""
    for local, values in zip(_carried, state, strict=True):
        own = vars(local)
        own.update(values)
        for name in own.keys() - values.keys():
            own.pop(name)
