"""``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import tengen as tg


def recorded() -> bool:
    return (tg.ones(1, requires_grad=True) * 2).requires_grad


def test_context_managers_nest() -> None:
    assert recorded()
    with tg.no_grad():
        assert not recorded() and not tg.is_grad_enabled()
        with tg.enable_grad():
            assert recorded()
        assert not recorded()
    assert recorded()


def test_they_are_restored_after_an_error() -> None:
    with pytest.raises(ValueError), tg.no_grad():
        raise ValueError
    assert tg.is_grad_enabled()


def test_decorators_of_functions() -> None:
    @tg.no_grad()
    def off() -> bool:
        """Says so."""
        return recorded()

    @tg.no_grad
    def bare(x: int, *, y: int) -> tuple[bool, int]:
        return recorded(), x + y

    @tg.enable_grad()
    def on() -> bool:
        return recorded()

    assert off.__doc__ == "Says so." and off.__name__ == "off"
    assert not off() and bare(1, y=2) == (False, 3)
    with tg.no_grad():
        assert on()
    assert recorded()


def test_decorators_of_recursive_functions() -> None:
    @tg.no_grad()
    def count(n: int) -> bool:
        return recorded() if n == 0 else count(n - 1)

    assert not count(3) and recorded()


def test_decorators_of_generators() -> None:
    @tg.no_grad()
    def values() -> Iterator[object]:
        sent = yield recorded()
        try:
            yield (sent, recorded())
        except KeyError:
            yield recorded()
        return "done"

    g = values()
    assert next(g) is False
    assert recorded()  # outside of the generator's own code
    assert g.send("hello") == ("hello", False)
    assert g.throw(KeyError()) is False
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == "done"
    assert recorded()


def test_a_closed_generator_leaves_the_mode_as_it_was() -> None:
    closed = []

    @tg.no_grad()
    def values() -> Iterator[int]:
        try:
            yield 1
        finally:
            closed.append(tg.is_grad_enabled())

    g = values()
    next(g)
    g.close()
    assert closed == [False] and tg.is_grad_enabled()


def test_set_grad_enabled() -> None:
    with tg.set_grad_enabled(False):
        assert not recorded()
    assert recorded()
    tg.set_grad_enabled(False)
    assert not recorded()
    tg.set_grad_enabled(True)

    @tg.set_grad_enabled(False)
    def off() -> bool:
        return recorded()

    assert recorded() and not off() and recorded()


def test_the_mode_belongs_to_the_thread() -> None:
    found = []
    with tg.no_grad():
        t = threading.Thread(target=lambda: found.append(tg.is_grad_enabled()))
        t.start()
        t.join()
    assert found == [True]


def test_leaves_made_under_no_grad_may_require_gradients() -> None:
    with tg.no_grad():
        x = tg.ones(2, requires_grad=True)
    assert x.requires_grad and (x * 2).requires_grad


def test_inference_mode_switches_recording_off() -> None:
    with tg.inference_mode():
        assert not recorded() and tg.autograd.is_inference_mode_enabled()
        with tg.inference_mode(False):
            assert not tg.autograd.is_inference_mode_enabled()
    assert recorded()

    @tg.inference_mode
    def bare() -> bool:
        return recorded()

    @tg.inference_mode()
    def called() -> bool:
        return recorded()

    assert not bare() and not called() and recorded()


def test_tensors_made_in_inference_mode_do_not_record() -> None:
    with tg.inference_mode():
        x = tg.ones(2)
        assert x.is_inference() and (x * 2).is_inference() and x[0].is_inference()
        assert tg.ones(2, requires_grad=True).requires_grad
    assert not tg.ones(2).is_inference()
    assert not (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="on inference tensor outside InferenceMode is not allowed"):
        x.requires_grad_()
