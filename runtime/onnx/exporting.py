"""Whether ``export`` runs, for functions that compute otherwise then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

from ..core.thread_state import propagated

__all__ = ["is_in_onnx_export"]


class _State(local):
    running = False


_state = propagated(_State())


def is_in_onnx_export() -> bool:
    """Whether ``export`` calls the function, in this thread."""
    return _state.running


@contextmanager
def exporting() -> Iterator[None]:
    """A context in which ``is_in_onnx_export`` is True."""
    before, _state.running = _state.running, True
    try:
        yield
    finally:
        _state.running = before
