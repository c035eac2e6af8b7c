"""Anomaly mode: where in the forward pass a Node was made, told when its backward fails or gives NaN."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..core.interception import active
from ..core.tensor_base import TensorBase
from ..core.thread_state import propagated
from ..core.user_stack import program_frames, program_stacklevel
from .grad_mode import check_bool
from .node import Node, next_sequence_nr
from .saved_variable import anomaly
from .saved_variable_hooks import new_nodes

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def __dir__() -> list[str]:
    return sorted(__all__)


class _Running(threading.local):
    """The Node that the backward pass of this thread runs just now."""

    node: Node | None = None


_running = propagated(_Running())


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when it is on, looks for NaN."""
    return anomaly.check_nan


def _switch(enabled: bool, check_nan: bool) -> None:
    anomaly.enabled, anomaly.check_nan = enabled, check_nan
    if enabled and _intercept not in active:
        active.append(_intercept)
    elif not enabled and _intercept in active:
        active.remove(_intercept)


class _Restoring:
    """Ends with what was before."""

    previous: tuple[bool, bool]

    def __exit__(self, *_: object) -> None:
        try:
            _switch(*self.previous)
        except BaseException:  # an interrupt before it has
            _switch(*self.previous)
            raise


class set_detect_anomaly(_Restoring):  # the user's spelling
    """Switch anomaly mode on or off: at once when called, undone at the end when used with ``with``."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.previous = anomaly.enabled, anomaly.check_nan
        check_bool("set_detect_anomaly", "mode", mode)
        _switch(mode, check_bool("set_detect_anomaly", "check_nan", check_nan))

    def __enter__(self) -> None:
        pass


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off. TypeError for what is no bool."""
    check_bool("set_anomaly_enabled", "enabled", enabled)
    _switch(enabled, check_bool("set_anomaly_enabled", "check_nan", check_nan))


class detect_anomaly(_Restoring):  # the user's spelling
    """Inside, operators remember where they were called, and a backward pass that fails says so.

    With ``check_nan`` a Node that gives NaN is a RuntimeError that names it. All of it is slow:
    for debugging only.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_bool("detect_anomaly", "check_nan", check_nan)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
            "enabled for debugging.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )

    def __enter__(self) -> None:
        self.previous = anomaly.enabled, anomaly.check_nan
        try:
            _switch(True, self.check_nan)
        except BaseException:  # an interrupt
            self.__exit__()
            raise


# -- the forward pass --------------------------------------------------------------------


def _intercept(operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
    since = next_sequence_nr()
    result = proceed(*arguments)
    remember(list(new_nodes(result, since)))
    return result


def remember(nodes: Sequence[Node]) -> None:
    """Note in the Nodes' metadata where the user's code is, unless that was done before."""
    fresh = [node for node in nodes if "traceback_" not in node.metadata]
    if not fresh:
        return
    frames = [(frame, frame.f_lineno) for frame in program_frames()]
    import traceback  # half a millisecond of every import, and used only here

    where = traceback.StackSummary.extract(reversed(frames)).format()
    for node in fresh:
        node.metadata["traceback_"] = where
        if _running.node is not None:
            node.metadata["parent_"] = _running.node


# -- the backward pass -------------------------------------------------------------------


def run_watched(node: Node, run: Callable[[], tuple[Any, ...] | None]) -> tuple[Any, ...] | None:
    """Run a Node; when it fails or gives NaN, warnings say where it was made.

    Raises what the Node raises, and RuntimeError for NaN.
    """
    before, _running.node = _running.node, node
    try:
        grads = run()
    except Exception as error:
        warn_where(node, error)
        raise
    finally:
        _running.node = before
    if anomaly.check_nan and grads is not None:
        for number, (gradient, edge) in enumerate(zip(grads, node.next_edges, strict=False)):
            if gradient is None or edge is None:
                continue
            T = edge[0].type
            lib = (T[edge[1]] if T.__class__ is tuple else T).backend.lib
            if lib.isnan_any(gradient._array if isinstance(gradient, TensorBase) else gradient):
                nan = RuntimeError(f"Function '{node.name()}' returned nan values in its {number}th output.")
                warn_where(node, nan)
                raise nan
    return grads


def warn_where(node: Node, error: Exception) -> None:
    """Warn that ``node`` failed, with the place where it was made, and of each Node that led to that.

    Where such a warning is an error it becomes a note on ``error``, which is to arrive all the same.
    """
    level = program_stacklevel()
    text = f"Error detected in {node.name()}. " + _place(
        node,
        "Traceback of forward call that caused the error:",
        " Enable detect anomaly during forward pass for more information.",
    )
    found: Node | None = node
    while found is not None:
        try:
            warnings.warn(text, UserWarning, stacklevel=level)
        except UserWarning:
            error.add_note(text)
        found = found.metadata.get("parent_")
        if found is not None:
            text = f"\n\nPrevious calculation was induced by {found.name()}. " + _place(
                found, "Traceback of forward call that induced the previous calculation:"
            )


def _place(node: Node, title: str, hint: str = "") -> str:
    """Where a Node was made, below a title; or that nobody knows, and a hint."""
    where = node.metadata.get("traceback_")
    return f"No forward pass information available.{hint}" if where is None else f"{title}\n{''.join(where)}"
