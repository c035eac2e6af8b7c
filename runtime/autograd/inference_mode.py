"""Inference mode: tensors made inside have the plain Type and can never be part of a graph.

A tensor's Type says whether it is an inference tensor. Operators that compute make results of
their operands' Type, so where that is not what the thread's mode asks for, as when parameters
come into the mode or results out of it, they call their twin of the other kind
(``run_in_mode``). Views are of the kind of what they look at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from ..core.operands import tensors_in
from ..core.thread_state import current_thread
from .grad_mode import ContextDecorator, grad_mode

_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
    "use it in autograd, or use `tengen.no_grad()` instead of `tengen.inference_mode()`."
)
_WRITTEN = (
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
    "normal tensor before doing inplace update."
)


class Use:
    """Which threads are in inference mode."""

    __slots__ = ("ever", "lock", "tell", "threads", "told")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.threads: set[int] = set()
        #: Whether any ever was: until then nothing need look for inference tensors.
        self.ever = False
        #: Whether a thread was in the mode when ``tell`` was called last.
        self.told = False
        #: Called when the first enters it, and when the last has left.
        self.tell: Callable[[bool], object] = bool

    def settle(self) -> None:
        """Note whether this thread is in the mode, as its depth says; once more changes nothing."""
        with self.lock:
            if grad_mode.depth:
                self.ever = True
                self.threads.add(current_thread.ident)
            else:
                self.threads.discard(current_thread.ident)
            inside = bool(self.threads)
            if inside is not self.told:
                self.tell(inside)
                self.told = inside


use = Use()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return grad_mode.inference


class inference_mode(ContextDecorator):  # the user's spelling
    """Nothing is recorded, and new tensors have Types that do not know how to record.

    ``with inference_mode(): ...``, ``@inference_mode()``, ``@inference_mode``;
    ``inference_mode(False)`` suspends it, and records. Results of operators are inference tensors
    too, whatever the operands are; views of other tensors are not. Outside, inference tensors may
    be computed with, where no derivative needs their values, and not be written to.
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        if not callable(mode):
            raise TypeError(
                f"inference_mode(): argument 'mode' must be bool, or a function, not {type(mode).__name__}"
            )
        made.mode = True
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.previous = grad_mode.inference, grad_mode.enabled, grad_mode.asked
        grad_mode.depth += bool(self.mode)
        try:
            if self.mode:
                use.settle()
        except BaseException:  # an interrupt
            self.__exit__(None, None, None)
            raise
        grad_mode.inference = self.mode
        grad_mode.enabled = not self.mode
        grad_mode.asked = False

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        grad_mode.inference, grad_mode.enabled, grad_mode.asked = self.previous
        if self.mode:
            grad_mode.depth -= 1
            try:
                use.settle()
            except BaseException:  # an interrupt before it has
                use.settle()
                raise

    def clone(self) -> inference_mode:
        cloned: inference_mode = type(self)(self.mode)
        return cloned


# -- operators -------------------------------------------------------------------------------


def run_in_mode(T: Any, method: str, arguments: tuple[Any, ...]) -> Any:
    """Run a method of the twin of a Type that is not of the thread's mode.

    Outside of inference mode, inference tensors alone have no history to record, not even leaves
    that require gradients. RuntimeError when one would be saved for the history of others.
    """
    function = getattr(T.twin, method)
    if grad_mode.inference:
        return function(*arguments)
    if any([t._type.recording for t in tensors_in(arguments)]):
        result = function(*arguments)
        check_saved(result)
        return result
    before = grad_mode.enabled
    grad_mode.enabled = False
    try:
        return function(*arguments)
    finally:
        grad_mode.enabled = before


def mixes(arguments: Iterable[Any]) -> bool:
    """Whether inference tensors are among arguments."""
    return any([not t._type.recording for t in tensors_in(arguments)])


def check_saved(result: Any) -> None:
    """Raise RuntimeError when the Node that made ``result`` has saved an inference tensor."""
    from .saved_variable_hooks import slots_of

    for out in tensors_in((result,)):
        if out._edge is not None:
            node = out._edge[0]
            values = [getattr(node, slot, None) for slot in slots_of(type(node)).inputs]
            check_not_inference(tensors_in(values))


def check_not_inference(tensors: Iterable[Any]) -> None:
    """Raise RuntimeError when an inference tensor is among what is to be saved."""
    for tensor in tensors:
        if tensor is not None and not tensor._type.recording:
            raise RuntimeError(_SAVED)


def check_write(tensor: Any) -> None:
    """Raise RuntimeError for a write to an inference tensor outside of inference mode."""
    if not tensor._type.recording and not grad_mode.inference:
        raise RuntimeError(_WRITTEN)
