"""Whether operators record what they do: ``no_grad``, ``enable_grad``, ``set_grad_enabled``.

Each of them is a context manager and a decorator, of functions and of generators. The mode
belongs to the thread, and a new thread starts with recording on.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, TypeVar

from ..core.thread_state import propagated
from ..core.user_stack import program_stacklevel

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def __dir__() -> list[str]:
    return sorted(__all__)


F = TypeVar("F", bound=Callable[..., Any])

_CO_GENERATOR = 0x20  # inspect.CO_GENERATOR


class GradMode(threading.local):
    """What generated code looks at before it records; the class attributes are a new thread's."""

    #: Whether an operator on tensors that require gradients makes a Node.
    enabled: bool = True
    #: Whether new tensors are inference tensors, which never record: then nothing is enabled.
    inference: bool = False
    #: How often inference mode is entered.
    depth: int = 0
    #: What was asked for in inference mode, where it has no effect but on ``is_grad_enabled``.
    asked: bool = False
    #: What ``set_multithreading_enabled`` was told.
    multithreading: bool = True
    #: What ``enforce_grad_layout_policy`` was told.
    layout_policy: bool = True
    #: How many transforms of functions (``func.grad``, ``jvp``, ``vmap`` ...) run a function.
    transforms: int = 0


#: The one instance. Generated code holds it and reads ``grad_mode.enabled``.
grad_mode = propagated(GradMode())


def is_grad_enabled() -> bool:
    """Whether operators of this thread record what they do; in inference mode, whether that was asked for."""
    return grad_mode.asked if grad_mode.inference else grad_mode.enabled


def switch(enabled: bool) -> None:
    """Turn recording on or off, as a user asks for it."""
    if grad_mode.inference:
        grad_mode.asked = enabled
    else:
        grad_mode.enabled = enabled


def inside_transform(method: str) -> str:
    """The error text of a method that a function must not call while ``tengen.func`` transforms it."""
    return (
        f"You are attempting to call Tensor.{method}() (or perhaps using tengen.autograd.functional.* APIs) "
        "inside of a function being transformed by a functorch transform. This is unsupported, please "
        "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
        f"{method}() outside of a function being transformed instead."
    )


def check_bool(function: str, argument: str, value: object) -> bool:
    """The value of a switch. Raises TypeError for what is no bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{function}(): argument '{argument}' must be bool, not {type(value).__name__}")
    return value


def check_flag(function: str, argument: str, value: object) -> None:
    """Raise TypeError for a flag that is neither a bool nor an int, which counts as one."""
    if not isinstance(value, int):
        raise TypeError(f"{function}(): argument '{argument}' must be bool, not {type(value).__name__}")


class set_multithreading_enabled:  # the user's spelling
    """Whether a backward pass may use several threads: kept for programs that set it.

    Here a backward pass runs in the thread that calls it. ``set_multithreading_enabled(False)`` or
    ``with set_multithreading_enabled(False): ...``.
    """

    def __init__(self, mode: bool) -> None:
        self.previous = grad_mode.multithreading
        self.mode = check_bool("set_multithreading_enabled", "mode", mode)
        grad_mode.multithreading = mode

    def __enter__(self) -> None:
        grad_mode.multithreading = self.mode

    def __exit__(self, *_: object) -> None:
        grad_mode.multithreading = self.previous


def is_multithreading_enabled() -> bool:
    """What ``set_multithreading_enabled`` has set in this thread; True at first."""
    return grad_mode.multithreading


class ContextDecorator:
    """A context manager that also decorates functions and generator functions.

    A decorated function enters a fresh context for each call; a decorated generator is inside it
    only while its own code runs, not while the caller works between two values.
    """

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError

    def clone(self) -> ContextDecorator:
        """A context like this one, for one call of a decorated function."""
        return type(self)()

    def __call__(self, function: F) -> F:
        if isinstance(function, type):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only "
                "decorate functions or methods. To preserve the current behavior of class decoration, you "
                "can directly decorate the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=program_stacklevel(),
            )
        if is_generator_function(function):
            return _decorate_generator(self.clone, function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]  # the same signature as the function


def is_generator_function(function: Callable[..., Any]) -> bool:
    """As inspect's, which is slow to import."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _CO_GENERATOR)


def _decorate_generator(context: Callable[[], ContextDecorator], function: F) -> F:
    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with context():
            generator = function(*args, **kwargs)
            step: Callable[[], Any] = generator.__next__
        try:
            while True:
                try:
                    with context():
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                    step = functools.partial(generator.send, sent)
                except GeneratorExit:
                    with context():
                        generator.close()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)
        finally:
            del generator

    return inside  # type: ignore[return-value]  # a generator function as the one it wraps


class _RestoringGrad(ContextDecorator):
    """Ends with the mode that was before."""

    previous: bool

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not ``switch``: an interrupt that came as it is called would leave the mode as it is.
        if grad_mode.inference:
            grad_mode.asked = self.previous
        else:
            grad_mode.enabled = self.previous


class _SwitchGrad(_RestoringGrad):
    """A context that sets recording to the class's ``mode``; without parentheses it decorates too."""

    mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __enter__(self) -> None:
        self.previous = is_grad_enabled()
        switch(self.mode)


class no_grad(_SwitchGrad):  # the user's spelling
    """Nothing is recorded inside: results do not require gradients.

    ``with no_grad(): ...``, ``@no_grad()`` or ``@no_grad``. Creation functions with
    ``requires_grad=True`` still make leaves that require gradients.
    """

    mode = False


class enable_grad(_SwitchGrad):
    """Operators record inside, also within a ``no_grad`` block.

    ``with enable_grad(): ...``, ``@enable_grad()`` or ``@enable_grad``.
    """

    mode = True


class set_grad_enabled(_RestoringGrad):
    """Switch recording on or off: at once when called, undone at the end when used with ``with``.

    ``set_grad_enabled(False)``, ``with set_grad_enabled(training): ...`` or as a decorator.
    """

    def __init__(self, mode: bool) -> None:
        self.previous = is_grad_enabled()
        self.mode = check_bool("set_grad_enabled", "mode", mode)
        switch(mode)

    def __call__(self, function: F) -> F:
        # A decorator only says what is to hold inside the function.
        switch(self.previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        switch(self.mode)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={self.mode})"


def __getattr__(name: str) -> Any:
    """PyTorch has ``inference_mode`` here too; ours is a module of its own, which needs this one."""
    if name == "inference_mode":
        from .inference_mode import inference_mode

        return inference_mode
    raise AttributeError(f"module 'tengen.autograd.grad_mode' has no attribute {name!r}")


class enforce_grad_layout_policy(ContextDecorator):  # the user's spelling
    """Whether gradients of leaves must have these leaves' layouts; with False not where that spares a copy.

    Then a leaf's first gradient, if nobody else holds it and it has no gaps, keeps the strides that it has.
    At once when called, undone at the end when used with ``with``; or as a decorator. TypeError for what is
    no bool.
    """

    def __init__(self, enable: bool = True) -> None:
        self.previous = grad_mode.layout_policy
        self.mode = check_bool("enforce_grad_layout_policy", "enable", enable)
        grad_mode.layout_policy = enable

    def __call__(self, function: F) -> F:
        # A decorator only says what is to hold inside the function.
        grad_mode.layout_policy = self.previous
        return super().__call__(function)

    def __enter__(self) -> None:
        grad_mode.layout_policy = self.mode

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        grad_mode.layout_policy = self.previous

    def clone(self) -> enforce_grad_layout_policy:
        """The same once more, for one call of a decorated function."""
        return type(self)(self.mode)
