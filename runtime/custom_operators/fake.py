"""Fake functions: what an operator's results look like, computed on tensors without data."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.thread_state import propagated


class _Running(threading.local):
    """The fake function that runs in this thread: what asks for its context; None where none runs."""

    asking: Callable[[], Any] | None = None


_running = propagated(_Running())


def get_ctx() -> Any:
    """In a fake function RuntimeError, for sizes that follow from elements need symbols; else None."""
    return None if _running.asking is None else _running.asking()


def fake_kernel(function: Callable[..., Any], name: str, source: str = "") -> Callable[..., Any]:
    """A fake function as the kernel of the backend whose tensors have no elements."""

    def refuse() -> Any:
        place = f" ({source})" if source else ""
        raise RuntimeError(
            f"{name}{place}: You're trying to run this operator with meta Tensors, but this operator may "
            "return an output Tensor with data-dependent shape. Meta Tensors don't support operators with "
            "outputs that have data-dependent shapes. If your operator does not return an output with "
            "data-dependent shape, make sure the fake function does not call tengen.library.get_ctx()."
        )

    def kernel(*args: Any, **kwargs: Any) -> Any:
        before, _running.asking = _running.asking, refuse
        try:
            return function(*args, **kwargs)
        finally:
            _running.asking = before

    return kernel
