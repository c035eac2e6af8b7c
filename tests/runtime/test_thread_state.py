"""Calls in another thread, made as if in the caller's: what is there, what comes back, how they end."""

from __future__ import annotations

import contextvars
import gc
import importlib
import pkgutil
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np
import pytest

import tengen as tg
from tengen.autograd import forward_ad
from tengen.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks
from tengen.autograd.graph_task import current
from tengen.autograd.profiler import profile, record_function
from tengen.autograd.saved_variable_hooks import state as hooks
from tengen.core import thread_state
from tengen.core.function_dispatch import at_level, state as overrides
from tengen.core.interception import active, layers
from tengen.core.thread_state import call_in_new_thread
from tengen.func import grad, vmap


def test_all_state_of_a_thread_goes_along() -> None:
    for module in pkgutil.walk_packages(tg.__path__, "tengen."):
        if not module.name.startswith(("tengen.codegen", "tengen.__main__", "tengen.array_libraries.")):
            with suppress(ImportError):  # of what is installed only where it is used
                importlib.import_module(module.name)
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("tengen")]
    states = {
        id(value): f"{m.__name__}.{name}"
        for m in modules
        for name, value in list(vars(m).items())
        if isinstance(value, threading.local)
    }
    own = {"tengen.optim.blocks._scratch", "tengen.kernels.parallel._thread"}  # of kernels, which call nobody
    assert own <= set(states.values())
    found = {i for i, name in states.items() if name not in own}
    assert found == {id(state) for state in thread_state._propagated}, states


class Seen(tg.overrides.TengenFunctionMode):
    def __tengen_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


#: Each context, and a function that tells whether it is entered.
STATES: dict[str, tuple[Callable[[], AbstractContextManager[Any]], Callable[[], Any]]] = {
    "no_grad": (tg.no_grad, tg.is_grad_enabled),
    "inference mode": (
        tg.inference_mode,
        lambda: (tg.is_inference_mode_enabled(), tg.ones(1).is_inference()),
    ),
    "multithreading": (
        lambda: tg.autograd.set_multithreading_enabled(False),
        tg.autograd.is_multithreading_enabled,
    ),
    "layouts of gradients": (
        lambda: tg.autograd.enforce_grad_layout_policy(False),
        lambda: tg.autograd.grad_mode.grad_mode.layout_policy,
    ),
    "hooks of saved tensors": (lambda: saved_tensors_hooks(lambda t: t, lambda t: t), lambda: hooks.stack),
    "no such hooks": (lambda: disable_saved_tensors_hooks("none"), lambda: hooks.disabled),
    "a dual level": (
        forward_ad.dual_level,
        lambda: (
            layers(),
            len(layers()) and forward_ad.unpack_dual(forward_ad.make_dual(tg.ones(1), tg.ones(1)) * 2)[1],
        ),
    ),
    "a profiler": (profile, layers),
    "overrides": (lambda: at_level(2), lambda: overrides.level),
    "modes": (Seen, lambda: overrides.modes),
    "numpy's errors": (lambda: np.errstate(over="ignore"), np.geterr),
}


@pytest.mark.parametrize("name", STATES)
def test_state_is_the_callers(name: str) -> None:
    enter, look = STATES[name]
    thread = threading.get_ident()
    outside = repr(look())
    with enter():
        inside = repr(look())
        assert inside != outside
        found = call_in_new_thread(lambda: (repr(look()), threading.get_ident() != thread))
        assert found == (inside, True)
        assert repr(look()) == inside
    assert repr(look()) == repr(call_in_new_thread(look)) == outside


@pytest.mark.parametrize("name", STATES)
def test_what_is_entered_and_left_there_leaves_nothing(name: str) -> None:
    enter, look = STATES[name]
    before = repr(look()), len(active)

    def call() -> str:
        with enter():
            return repr(look())

    with enter():
        inside = repr(look())
    assert call_in_new_thread(call)[:20] == inside[:20]
    assert (repr(look()), len(active)) == before
    with enter():
        held = repr(look()), len(active)
        with suppress(RuntimeError):  # some do not nest
            call_in_new_thread(call)
        assert (repr(look()), len(active)) == held
    assert (repr(look()), len(active)) == before


def test_what_is_changed_there_is_the_callers() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(1)

    def call() -> int:
        before = variable.get()
        variable.set(2)
        tg.set_grad_enabled(False)
        return before

    try:
        assert call_in_new_thread(call) == 1
        assert (variable.get(), tg.is_grad_enabled()) == (2, False)
    finally:
        tg.set_grad_enabled(True)


def test_transforms_go_on() -> None:
    x = tg.tensor([1.0, 2.0, 3.0])

    def cube(a: tg.Tensor) -> tg.Tensor:
        return call_in_new_thread(lambda: a**3).sum()

    assert tg.equal(grad(cube)(x), 3 * x**2)
    assert tg.equal(vmap(grad(cube))(x), 3 * x**2)
    assert tg.equal(tg.func.jvp(cube, (x,), (tg.ones(3),))[1], (3 * x**2).sum())


def test_a_profile_is_one_threads() -> None:
    x = tg.ones(2)
    with profile() as p, record_function("outer"):
        call_in_new_thread(x.exp)
    (outer,) = [event for event in p.function_events if event.name == "outer"]
    assert [event.name for event in outer.cpu_children] == ["tengen::exp"]


def test_errors_arrive_and_keep_nothing() -> None:
    class Kept:
        pass

    kept = Kept()
    ref = weakref.ref(kept)

    def fail(kept: Kept) -> None:
        raise KeyError("there")

    def call(kept: Kept) -> str:
        try:
            call_in_new_thread(lambda: fail(kept))
        except KeyError as error:
            return str(error)
        return ""

    gc.disable()
    try:
        found = call(kept)
        assert found == "'there'"
        assert tg.is_grad_enabled()
        del kept
        assert ref() is None
    finally:
        gc.enable()


def test_results_are_not_kept() -> None:
    class Result:
        pass

    ref = weakref.ref(call_in_new_thread(Result))
    assert ref() is None


def test_without_threads_the_call_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert call_in_new_thread(threading.get_ident) == threading.get_ident()


def test_an_interrupt_of_the_caller_once_the_call_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.14 looks at signals between acquiring a lock and what a ``with`` statement does then."""

    waits = threading.Event()

    class Interrupted:
        def __init__(self, lock: Any) -> None:
            self.lock, self.release = lock, lock.release

        def acquire(self) -> None:
            waits.set()
            self.lock.acquire()
            raise KeyboardInterrupt

    class Call(thread_state._ThreadCall):
        def __init__(self, function: Any) -> None:
            super().__init__(function)
            self.running: Any = Interrupted(self.running)

    monkeypatch.setattr(thread_state, "_ThreadCall", Call)
    called: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        call_in_new_thread(lambda: called.append(waits.wait(60)))
    assert called == [True] and not thread_state._ThreadCall.waiting


def test_a_call_ends_once_while_its_caller_holds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.14 may give a lock to the thread that waits for it before the one that had it goes on."""

    class HandedOver:
        def __init__(self, call: Any) -> None:
            self.lock, self.call, self.released = call.running, call, 0

        def locked(self) -> bool:
            return self.lock.locked()

        def release(self) -> None:
            self.released += 1
            self.lock.release()
            self.lock.acquire(timeout=0)  # as the caller does, which waited for it

        def acquire(self) -> None:
            self.call.thread.join(60)

    calls: list[Any] = []

    class Call(thread_state._ThreadCall):
        def __init__(self, function: Any) -> None:
            super().__init__(function)
            self.running: Any = HandedOver(self)
            calls.append(self)

    monkeypatch.setattr(thread_state, "_ThreadCall", Call)
    assert call_in_new_thread(lambda: 3) == 3
    assert [call.running.released for call in calls] == [1]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of threads")
@pytest.mark.parametrize("depth", [1, 3])
def test_an_interrupt_ends_the_call(depth: int) -> None:
    """Ctrl-C comes to the main thread, which waits; the call that it waits for ends with it."""
    main = threading.main_thread().ident
    assert main == threading.get_ident()
    ended: list[str] = []

    def call(left: int) -> None:
        if left:
            return call_in_new_thread(lambda: call(left - 1))
        try:
            signal.pthread_kill(main, signal.SIGINT)
            end = time.monotonic() + 60
            while time.monotonic() < end:
                time.sleep(0.001)
            ended.append("never interrupted")
        except KeyboardInterrupt:
            ended.append("interrupted")
            raise

    before = threading.active_count()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as below nohup
    try:
        with pytest.raises(KeyboardInterrupt):
            call(depth)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert ended == ["interrupted"]
    assert threading.active_count() <= before + depth  # they end, if they have not yet
    assert not thread_state._ThreadCall.waiting
    assert current.task is None
