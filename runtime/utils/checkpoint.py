"""Checkpoints: parts of a program that save nothing and are computed again in the backward pass."""

from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..autograd import Function, backward
from ..autograd.edge import gradient_edge
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..autograd.graph_task import current
from ..autograd.saved_variable import alias, unpack_tensor
from ..autograd.saved_variable_hooks import Packed, saved_tensors_hooks, state
from ..core.tensor_base import TensorBase
from ..core.thread_state import propagated
from ..core.user_stack import program_stacklevel
from ..cuda.checkpoint_states import get_device_states, set_device_states
from ..random import fork_rng, get_rng_state, set_rng_state
from .checkpoint_debug import OperatorLog, explained
from .checkpoint_modes import Modes
from .selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class CheckpointError(RuntimeError):
    """What was computed again is not what was computed before."""


class _Recomputed(Exception):
    """All that is wanted of a recomputation is there."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, whether a recomputation stops as soon as all saved tensors are there."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


_debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside, whether checkpoints are debugged, whatever their ``debug`` says; None: as they say."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which the backward pass computes anew what it needs.

    Arguments and results are anything. With ``use_reentrant=False`` nothing else is different:
    what would be saved is found again by a second run, which stops once all is there
    (``early_stop``), and must save as many tensors, of the same shapes and dtypes
    (``determinism_check="default"``). It has the autocast, the default device and the function modes of the
    first. With ``use_reentrant=True`` the function is run without
    recording, and in full, by a backward pass of its own. The state of the default random
    generator is the same in the second run, unless ``preserve_rng_state`` is False.

    ``context_fn`` gives a context for each of the two runs, as ``create_selective_checkpoint_contexts``
    does, which keeps some results; with ``debug`` the error of runs that differ lists the operators of
    both. Raises ValueError for options that do not go together, RuntimeError when the first context
    suppresses an error, and in the backward pass CheckpointError when the runs differ, or for a value
    that is asked for a second time, as ``ctx.saved_tensors`` asks; RuntimeError when the reentrant kind is
    differentiated by ``autograd.grad``, or for given ``inputs``.
    """
    if use_reentrant is None:
        warnings.warn(
            "tengen.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
            "you can pass use_reentrant=True.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    logs: tuple[OperatorLog, OperatorLog] | None = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        logs = OperatorLog(), OperatorLog()
    forward, again = logs or context_fn()
    rng = get_rng_state() if preserve_rng_state else None
    if not is_grad_enabled():
        return function(*args, **kwargs)
    stops = early_stop if _early_stop is None else _early_stop
    frame = _Frame(function, args, kwargs, again, rng, stops, determinism_check == "default", logs)
    with saved_tensors_hooks(frame.pack, frame.unpack), forward:
        result = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError(
            "tengen.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
            "raised during the checkpointed forward. This is not supported because checkpoint cannot return "
            "a value for a failed forward."
        )
    return result


class GraphExecGroup:
    """Inside, several backward passes compute a checkpoint of the other kind anew once, not each of them.

    What two of them both need is an error, CheckpointError, even with ``retain_graph``. ``with
    GraphExecGroup(): ...``; RuntimeError for one within another.
    """

    def __enter__(self) -> GraphExecGroup:
        if _entered.group is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {_entered.group}"
            )
        _entered.group = self
        return self

    def __exit__(self, *_: object) -> None:
        _entered.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _entered.group


class _Entered(threading.local):
    """The GraphExecGroup that a thread is in."""

    group: GraphExecGroup | None = None


_entered = propagated(_Entered())


# -- without a backward pass of its own -----------------------------------------------------


class _Holder:
    """Stands where a tensor would have been saved."""

    __slots__ = ("__weakref__",)


class _Input:
    """A Tensor among the arguments, saved as Nodes save theirs: hooks that are active see it."""

    __slots__ = ("edge", "value", "version")

    def __init__(self, tensor: Any) -> None:
        self.edge = gradient_edge(tensor)
        self.version = 0 if tensor._storage is None else tensor._storage.version
        self.value = Packed(tensor, state.stack[-1], tensor._type, self.edge) if state.stack else tensor

    def restore(self) -> Any:
        """The Tensor without history. RuntimeError when it was written to."""
        made = alias(unpack_tensor(self.value, self.version, self.edge), None)
        made._requires_grad = self.edge is not None
        return made


class _Frame:
    """One call of ``checkpoint``: what it has to run again, and what that must give."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context: AbstractContextManager[Any],
        rng: Any,
        early_stop: bool,
        checked: bool,
        logs: tuple[OperatorLog, OperatorLog] | None = None,
    ) -> None:
        self.function = function
        self.args = [_Input(a) if isinstance(a, TensorBase) else a for a in args]
        self.kwargs = {k: _Input(a) if isinstance(a, TensorBase) else a for k, a in kwargs.items()}
        self.context = context
        self.modes = Modes()
        self.rng = rng
        self.early_stop = early_stop
        self.checked = checked
        self.logs = logs
        #: What was saved in the first run, in order: who stands for it, and what it was like.
        self.holders: list[weakref.ref[_Holder]] = []
        self.metadata: list[tuple[Any, ...]] = []
        #: Whether the first run has ended; a backward pass within it knows a part of what it saves.
        self.complete = False
        #: Whether such a pass has seen more: then the counts say nothing.
        self.counted = True
        #: What each backward pass, or group of them, has found again, and not used yet.
        self.found: weakref.WeakKeyDictionary[Any, weakref.WeakKeyDictionary[_Holder, Any]] = (
            weakref.WeakKeyDictionary()
        )

    def pack(self, tensor: Any) -> _Holder:
        """Keep of a saved tensor what it is like."""
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.metadata.append(_metadata(tensor))
        return holder

    def unpack(self, holder: _Holder) -> Any:
        """The tensor that a holder stands for, computed again once in each backward pass, and given once."""
        try:
            key = _entered.group or current.task
            values = None if key is None else self.found.get(key)
            if values is None:
                values = self._recompute()
                if key is not None:
                    self.found[key] = values
            if holder not in values:
                raise CheckpointError(_GIVEN.format(_OVERLAP if _entered.group else ""))
            return values.pop(holder)
        except CheckpointError as error:
            if self.logs is None:
                raise
            raise CheckpointError(explained(error, *self.logs)) from None

    def _recompute(self) -> weakref.WeakKeyDictionary[_Holder, Any]:
        values: weakref.WeakKeyDictionary[_Holder, Any] = weakref.WeakKeyDictionary()
        metadata: list[tuple[Any, ...]] = []

        def pack(tensor: Any) -> Any:
            kept = tensor.detach()
            index = len(metadata)
            if index >= len(self.holders):
                if not self.complete:
                    self.counted = False
                    return kept
                raise CheckpointError(
                    "tengen.utils.checkpoint: trying to save more tensors during recomputation than during "
                    "the original forward pass."
                )
            metadata.append(_metadata(tensor))
            holder = self.holders[index]()
            if holder is not None:
                values[holder] = kept
            if self.early_stop and len(metadata) == len(self.holders):
                raise _Recomputed
            return kept

        args = [a.restore() if isinstance(a, _Input) else a for a in self.args]
        kwargs = {k: a.restore() if isinstance(a, _Input) else a for k, a in self.kwargs.items()}
        with fork_rng(enabled=self.rng is not None), enable_grad():
            if self.rng is not None:
                set_rng_state(self.rng)
            with (
                contextlib.suppress(_Recomputed),
                self.modes.again(),
                saved_tensors_hooks(pack, _same),
                self.context,
            ):
                self.function(*args, **kwargs)
        self._check(metadata)
        return values

    def _check(self, found: list[tuple[Any, ...]]) -> None:
        """Raise CheckpointError when the second run did not save what the first did."""
        if not self.counted:
            return
        if len(found) != len(self.metadata):
            raise CheckpointError(
                "tengen.utils.checkpoint: A different number of tensors was saved during the original "
                f"forward and recomputation.\nNumber of tensors saved during forward: {len(self.metadata)}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        if not self.checked:
            return
        wrong = [
            f"tensor at position {i}:\nsaved metadata: {_described(old)}\n"
            f"recomputed metadata: {_described(new)}"
            for i, (old, new, holder) in enumerate(zip(self.metadata, found, self.holders, strict=True))
            if old != new and holder() is not None  # else a pass within the first run has had it
        ]
        if wrong:
            raise CheckpointError(
                "tengen.utils.checkpoint: Recomputed values for the following tensors have different "
                "metadata than during the forward pass.\n" + "\n".join(wrong)
            )


_GIVEN = (
    "tengen.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. {}If "
    "you are calling ctx.saved_tensors in backward, make sure to do so only once."
)
_OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute "
    "gradients) is not allowed while under the tengen.utils.checkpoint.GraphExecGroup context. "
)


def _same(value: Any) -> Any:
    return value


def _metadata(tensor: Any) -> tuple[Any, ...]:
    T = tensor._type
    return tuple(tensor._array.shape), T.scalar_type, T.backend.device


def _described(metadata: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("shape", "dtype", "device"), metadata, strict=True))


# -- with a backward pass of its own ----------------------------------------------------------


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a tuple, of Tensors leaves that require gradients if the Tensors do.

    RuntimeError for what is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    found = []
    for value in inputs:
        made = value
        if isinstance(value, TensorBase):
            made = value.detach()  # type: ignore[attr-defined]  # of Tensor
            made.requires_grad = value._requires_grad
        found.append(made)
    return tuple(found)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn when none of the Tensors among ``inputs`` requires gradients."""
    if not any(t._requires_grad for t in inputs if isinstance(t, TensorBase)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None",
            UserWarning,
            stacklevel=program_stacklevel(),
        )


class CheckpointFunction(Function):
    """The reentrant kind: ``backward`` runs the function again, recorded, and then backwards."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """``function(*args)``; warns when no argument requires gradients."""
        check_backward_validity(args)
        tensors = [a for a in args if isinstance(a, TensorBase)]
        ctx.function = function
        ctx.rng = get_rng_state() if preserve_rng_state else None
        ctx.modes = Modes()
        ctx.others = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.save_for_backward(*tensors)
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments. RuntimeError in a backward pass to some inputs only."""
        if current.task is not None and current.task.needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, tengen.utils.checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set "
                "use_reentrant=False, or call .backward() without passing the `inputs` argument."
            )
        args: list[Any] = list(ctx.others)
        for place, tensor in zip(ctx.places, detach_variable(ctx.saved_tensors), strict=True):
            args[place] = tensor
        with fork_rng(enabled=ctx.rng is not None), enable_grad():
            if ctx.rng is not None:
                set_rng_state(ctx.rng)
            with ctx.modes.again():
                outputs = ctx.function(*args)
        if not isinstance(outputs, tuple):
            outputs = (outputs,)
        pairs = [
            (out, grad)
            for out, grad in zip(outputs, grads, strict=True)
            if isinstance(out, TensorBase) and out._requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[None if i not in ctx.places else a.grad for i, a in enumerate(args)])


# -- a sequence ----------------------------------------------------------------------------


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Apply ``functions`` one after the other, in ``segments`` checkpoints; the last is run as it is.

    ``functions`` may be a module of layers. Raises ValueError for other keyword arguments, and for more
    segments than functions.
    """
    if use_reentrant is None:
        warnings.warn(
            "tengen.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
            "explicitly. use_reentrant=False is recommended, but if you need to preserve the current default "
            "behavior, you can pass use_reentrant=True.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
        use_reentrant = True
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children() if hasattr(functions, "children") else functions)
    size = len(steps) // segments
    if size == 0:
        raise ValueError(
            f"checkpoint_sequential(): {segments} segments cannot be made of {len(steps)} functions"
        )
    start = 0
    for _ in range(segments - 1):
        run = _chain(steps[start : start + size])
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
        start += size
    return _chain(steps[start:])(input)


def _chain(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run
