"""Interception of operator calls, between the call and the Type.

The profiler, tracing, forward mode, batching and function overrides all hang on the one
object below: a generated binding tests it once and takes the second path when it is not
empty. The entries of this list are called for every operator, the newest first.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from .thread_state import current_thread

if TYPE_CHECKING:
    from .protocols import LinearMap, Node, Operator
    from .tensor_base import TensorBase


class AliasKind(Enum):
    """How a handle on a tensor's elements was made without an operator."""

    #: The same memory, without the history.
    DETACHED = "detached"
    #: A copy or a cast, with the history.
    COPIED = "copied"
    #: The same memory with the history.
    ALIAS = "alias"


class Interceptor(Protocol):
    """Runs an operator in place of its Type; ``proceed`` is the rest of the path."""

    def __call__(
        self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]
    ) -> Any: ...


#: The active interceptors. Never rebound: generated code holds this very list.
active: list[Interceptor] = []


class Layer:
    """An interceptor that belongs to the thread that entered it.

    It handles the tensors that are its own and passes all other calls on, so that operators that it
    calls may pass through it again. ``with layer:`` or ``enter`` and ``leave``.
    """

    #: Whether the engine computes gradients as Tensors while this is active, so that this intercepts them.
    gradients: bool = False
    #: Whether it only observes. Observers are called before all others, whenever they were entered.
    observer: bool = False
    #: Whether it is called before all that do not observe, whenever they were entered.
    before_others: bool = False

    thread: int = 0

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        """Run the operator. ``arguments`` are complete and in the schema's order."""
        return proceed(*arguments)

    def linear(
        self, map: LinearMap, tensor: TensorBase, proceed: Callable[[TensorBase], TensorBase]
    ) -> TensorBase:
        """Run one of the runtime's own linear maps, which are no operators."""
        return proceed(tensor)

    def evaluate(self, node: Node, run: Callable[[], Any]) -> Any:
        """Of an observer: ``run`` evaluates a Node in a backward pass, with its hooks."""
        return run()

    def apply(self, node: Node, given: list[Any], run: Callable[[], Any]) -> Any:
        """Of an observer: ``run`` applies the Node itself to the only item of ``given``, which it pops.

        Keep no reference to the gradient meanwhile: the Node may reuse an array with one reference.
        """
        return run()

    def begin_function(self, name: str, arguments: tuple[Any, ...], number: int) -> Any:
        """Of an observer: a user's Function is applied; its Node has this sequence number, -1 for none.

        ``end_function`` is called with what this returns, after the results or an exception.
        """

    def end_function(self, begun: Any) -> None:
        """Of an observer: the Function is done."""

    def apply_function(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Of a layer whose tensors wrap others: apply a user's Function to one of them."""
        raise NotImplementedError

    def on_alias(self, tensor: Any, out: Any, how: AliasKind, map: LinearMap | None) -> None:
        """Called for ``out``, a handle on the elements of ``tensor`` that no operator made.

        ``map`` maps the derivatives of the tensor to those of ``out``, where they differ.
        """

    def on_conversion(self, tensor: Any, what: str) -> None:
        """Called before the elements of ``tensor`` are converted to Python's or NumPy's (``what``)."""

    def on_grad(self, tensor: Any) -> None:
        """Called before the ``grad`` of ``tensor`` is read or set."""

    def on_step(self, optimiser: Any, group: Any, counters: list[Any], numbers: Callable[..., Any]) -> Any:
        """Choices and numbers of an optimiser's step, from a layer that sets the counters; None of others.

        ``numbers`` gives them and what the counters become, of a list of what these were.
        """

    def enter(self) -> None:
        """Begin to intercept the operators of this thread. An interrupt meanwhile undoes this."""
        self.thread = current_thread.ident
        try:
            active.append(self)  # at once, for other threads change the list, too
        except BaseException:
            Layer.leave(self)  # not what a subclass has entered: one that resumes is still in it
            raise

    def leave(self) -> None:
        """Stop intercepting, if it does."""
        if self in active:
            active.remove(self)

    def suspend(self) -> bool:
        """Stop intercepting until ``resume`` if this is the thread's newest layer; return whether it is.

        For a layer that runs operators which it would pass on: where no other is active, they take the fast
        path.
        """
        own = [found for found in layers() if not getattr(found, "observer", False)]
        newest = bool(own) and own[-1] is self
        if newest:
            try:
                active.remove(self)
            except BaseException:  # an interrupt
                self.resume()
                raise
        return newest

    def resume(self) -> None:
        """Intercept again, if it does not."""
        if self not in active:
            Layer.enter(self)

    def __enter__(self) -> Any:
        self.enter()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.leave()
        except BaseException:  # an interrupt before it has left
            self.leave()
            raise


def _rank(interceptor: Any) -> int:
    """How early an interceptor is called; those of one rank the newest first."""
    if getattr(interceptor, "observer", False):
        return 2
    return 1 if getattr(interceptor, "before_others", False) else 0


def layers() -> tuple[Interceptor, ...]:
    """The interceptors of this thread by rank, then age: of a snapshot, for the list is of all threads."""
    thread = current_thread.ident
    found = [each for each in active.copy() if getattr(each, "thread", thread) == thread]
    if len(found) > 1:
        found.sort(key=_rank)
    return tuple(found)


class layers_hidden:
    """``with layers_hidden():`` only observers intercept the operators of this thread, as in a kernel.

    The layers belong to no thread meanwhile. Layers that are entered inside intercept as usual.
    """

    __slots__ = ("hidden",)

    def __enter__(self) -> None:
        self.hidden = [f for f in layers() if isinstance(f, Layer) and not f.observer]
        for found in self.hidden:
            found.thread = 0

    def __exit__(self, *error: object) -> None:
        try:
            self._restore()
        except BaseException:  # an interrupt before all were there again
            self._restore()
            raise

    def _restore(self) -> None:
        for found in self.hidden:
            found.thread = current_thread.ident


def intercepts_gradients() -> bool:
    """Whether an interceptor of this thread intercepts the operators that compute gradients."""
    return any([getattr(found, "gradients", False) for found in layers()])


def observers() -> tuple[Layer, ...]:
    """The observers of this thread, the newest last."""
    return tuple([found for found in layers() if isinstance(found, Layer) and found.observer])


def notify_alias(tensor: Any, out: Any, how: AliasKind, map: LinearMap | None = None) -> None:
    """Notify the layers of this thread of a handle that no operator made."""
    for found in layers():
        if isinstance(found, Layer):
            found.on_alias(tensor, out, how, map)


def notify_conversion(tensor: Any, what: str) -> None:
    """Notify the layers of this thread that a tensor's elements are converted."""
    for found in layers():
        if isinstance(found, Layer):
            found.on_conversion(tensor, what)


def notify_grad(tensor: Any) -> None:
    """Notify the layers of this thread that a tensor's gradient is read or set."""
    for found in layers():
        if isinstance(found, Layer):
            found.on_grad(tensor)


def on_step(optimiser: Any, group: Any, counters: list[Any], numbers: Callable[..., Any]) -> Any:
    """What the layers of this thread give of ``Layer.on_step``."""
    found = [f.on_step(optimiser, group, counters, numbers) for f in layers() if isinstance(f, Layer)]
    return next((each for each in found if each is not None), None)
