"""What stands between a call of an operator and its Type.

The profiler, tracing, forward mode, batching and function overrides all hang on the one
object below: a generated binding tests it once and takes the second path when it is not
empty. Whatever enters this list sees every call of an operator, newest first.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from .thread_state import here

if TYPE_CHECKING:
    from ..autograd.linear_maps import LinearMap
    from ..autograd.node import Node
    from ..dispatch.operator import Operator
    from ..tensors.tensor import Tensor


class Handed(Enum):
    """How a handle on a tensor's elements came to be that no operator made."""

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

    It works off the tensors that are its own and hands all else on, so that what it calls itself
    may pass through it again without harm. ``with layer:`` or ``enter`` and ``leave``.
    """

    #: The engine is to work over Tensors while this is active, for it has something to say to them.
    gradients: bool = False
    #: It only looks on, and is called before all that are not observers, whenever it came.
    observer: bool = False

    thread: int = 0

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        """Run the operator. ``arguments`` are complete and in the schema's order."""
        return proceed(*arguments)

    def linear(self, map: LinearMap, tensor: Tensor, proceed: Callable[[Tensor], Tensor]) -> Tensor:
        """Run one of the runtime's own linear maps, which are no operators."""
        return proceed(tensor)

    def evaluate(self, node: Node, run: Callable[[], Any]) -> Any:
        """Of an observer: ``run`` gives a Node its turn in a backward pass, hooks and all."""
        return run()

    def apply(self, node: Node, given: list[Any], run: Callable[[], Any]) -> Any:
        """Of an observer: ``run`` runs the Node itself on what ``given``, of length one, has, and empties it.

        No reference to the gradient may be kept meanwhile: the Node may take over what only it holds.
        """
        return run()

    def begin_function(self, name: str, arguments: tuple[Any, ...], number: int) -> Any:
        """Of an observer: a user's Function is applied; its Node has this sequence number, -1 for none.

        What is returned ``end_function`` is given when the results are there, or an exception is.
        """

    def end_function(self, begun: Any) -> None:
        """Of an observer: the Function is done."""

    def apply_function(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Of a layer whose tensors wrap others: apply a user's Function to arguments among which one is."""
        raise NotImplementedError

    def handed(self, tensor: Any, out: Any, how: Handed, map: LinearMap | None) -> None:
        """Learn of ``out``, a handle on the elements of ``tensor`` that no operator made.

        ``map`` makes of the tensor's derivatives those of ``out``, where they are not the same.
        """

    def converted(self, tensor: Any, what: str) -> None:
        """Learn that the elements of ``tensor`` are about to become Python's or NumPy's (``what``)."""

    def enter(self) -> None:
        """Begin to see the operators of this thread; not so if an interrupt comes in between."""
        self.thread = here.ident
        position = len(active)
        while not self.observer and position and getattr(active[position - 1], "observer", False):
            position -= 1
        try:
            active.insert(position, self)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """See no more of them, if it saw any."""
        if self in active:
            active.remove(self)

    def suspend(self) -> bool:
        """See nothing until ``resume``, if no newer one of this thread would be overtaken then.

        For a layer that works on what it would hand on: where no other is active, operators go their first
        path. Says whether it sleeps.
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
        """See again, if it does not."""
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


def layers() -> tuple[Interceptor, ...]:
    """The interceptors of this thread, the newest last: a snapshot, for the list is of all threads."""
    thread = here.ident
    return tuple([found for found in active if getattr(found, "thread", thread) == thread])


class unseen:
    """``with unseen():`` what this thread calls is seen by observers alone: the kernel of an operator runs.

    The layers are of no thread meanwhile. Those that are entered inside see what is called there.
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
            found.thread = here.ident


def gradients_are_seen() -> bool:
    """Whether an interceptor of this thread has something to say to the engine's gradients."""
    return any([getattr(found, "gradients", False) for found in layers()])


def observers() -> tuple[Layer, ...]:
    """The interceptors of this thread that only look on, the newest last."""
    return tuple([found for found in layers() if isinstance(found, Layer) and found.observer])


def tell_handed(tensor: Any, out: Any, how: Handed, map: LinearMap | None = None) -> None:
    """Tell the interceptors of this thread of a handle that no operator made."""
    for found in layers():
        if isinstance(found, Layer):
            found.handed(tensor, out, how, map)


def tell_converted(tensor: Any, what: str) -> None:
    """Tell the interceptors of this thread that a tensor's elements leave it."""
    for found in layers():
        if isinstance(found, Layer):
            found.converted(tensor, what)
