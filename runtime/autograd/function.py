"""Function: an operation whose derivative the user writes."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar, Final

from ..core.interception import active, observers
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from .anomaly_mode import remember
from .custom_function import wrap_outputs
from .forward.forward_grad import levels_of
from .forward_mode import forward_mode
from .grad_mode import grad_mode
from .node import Error
from .python_function import FunctionCtx, PyNode
from .saved_variable import anomaly

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]


def __dir__() -> list[str]:
    return sorted(__all__)


#: What the Nodes of Functions derive from.
BackwardCFunction = PyNode

#: The flag of functions that take loose arguments by position.
_VARARGS: Final = 0x04
_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
    "function with static forward method."
)
_NOT_FOR_TRANSFORMS = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
    "override the setup_context staticmethod: {} has a forward that is given ctx. Write forward(*args) and "
    "setup_context(ctx, inputs, output)."
)


class FunctionMeta(type):
    """Makes for each Function the class of its Nodes: ``ExpBackward`` for ``Exp``."""

    _backward_cls: type[PyNode]

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(
            f"{name}Backward", (PyNode,), {"_forward_cls": cls, "__module__": cls.__module__}
        )


class Function(FunctionCtx, metaclass=FunctionMeta):
    """An operation with a derivative of its own; called as ``MyFunction.apply(*args)``.

    A subclass has static methods: ``forward(ctx, *args)``, or ``forward(*args)`` together with
    ``setup_context(ctx, inputs, output)``, which computes without being recorded; and
    ``backward(ctx, *grads)``, which is given a gradient for each result and returns one, or None,
    for each argument. ``vjp`` is another name of ``backward``.
    """

    #: Whether ``func.vmap`` may derive a rule from the methods themselves.
    generate_vmap_rule: ClassVar[bool] = False
    #: Whether what was saved is let go as soon as ``backward`` has asked for it, which it may do once.
    clear_saved_tensors_on_access: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you "
            "should invoke them on the class itself. Instantiating an autograd function will raise an error "
            "in a future version.",
            DeprecationWarning,
            stacklevel=program_stacklevel(),
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: a Function is called by ``apply``."""
        raise RuntimeError(_LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results, Tensors or anything else: ``forward(ctx, *args)`` or ``forward(*args)``.

        NotImplementedError where a subclass does not say how.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what ``backward`` needs, where ``forward`` is not given ``ctx``.

        NotImplementedError for Function itself, whose ``forward`` is given it.
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """The gradients of the arguments, from those of the results: ``backward(ctx, *grad_outputs)``.

        Each has the shape of its argument, or is None. NotImplementedError where a subclass does not say how.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use "
            "it with backward mode AD."
        )

    #: Another name of ``backward``.
    vjp = backward

    @staticmethod
    def jvp(*args: Any, **kwargs: Any) -> Any:
        """The tangents of the results, from those of the arguments: ``jvp(ctx, *grad_inputs)``.

        Each has the shape of its result. NotImplementedError where a subclass does not say how.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(*args: Any, **kwargs: Any) -> Any:
        """The results, and their dimensions, for batched arguments: ``vmap(info, in_dims, *args)``.

        NotImplementedError where a subclass does not say how.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call ``forward``; its results have this Function in their history.

        Raises what the methods raise, and RuntimeError where results and marks do not agree, and for a
        ``forward`` that is given ``ctx`` while a transform of ``tengen.func`` runs.
        """
        separate = cls.setup_context is not Function.setup_context
        if not separate and grad_mode.transforms:
            raise RuntimeError(_NOT_FOR_TRANSFORMS.format(cls.__name__))
        if separate or kwargs:
            args = _bound(cls.forward, args, kwargs, separate)
        layer = _layer_of(args) if active else None
        if layer is not None:
            return layer.apply_function(cls, args)
        recording = grad_mode.enabled
        node = cls._backward_cls(args, recording)
        ctx = node.ctx
        recording = recording and any(node.needs_input_grad)
        if anomaly.enabled:
            remember([node])
        number = node.sequence_nr if recording else -1
        seen = [(o, o.begin_function(cls.__name__, args, number)) for o in observers()] if active else ()
        duals = levels_of(args) if active else []
        forward, forward_mode.enabled = forward_mode.enabled, False
        grad_mode.enabled, before = False, grad_mode.enabled
        try:
            if separate:
                given = cls.forward(*args)
                cls.setup_context(ctx, args, given)
            else:
                given = cls.forward(ctx, *args)
            several = isinstance(given, tuple)
            outputs: tuple[Any, ...] = given if several else (given,)
            made = wrap_outputs(node, args, outputs, recording)
            if recording:
                # An input that is returned is saved as such; its alias is what the Function made.
                node.keep({id(out): i for i, out in enumerate(made)})
        finally:
            grad_mode.enabled, forward_mode.enabled = before, forward
            for observer, begun in seen:
                observer.end_function(begun)
        if duals:
            from .forward.custom_function import differentiate

            differentiate(node, args, made, duals)
        ctx.to_save = ctx.saved_for_forward = ctx.dirty_tensors = ctx.non_differentiable = ()
        return made if several else made[0]

    @classmethod
    def _user_backward(cls) -> Callable[..., Any]:
        """The one of ``backward`` and ``vjp`` that there is."""
        has_backward, has_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
                "only implement one of them."
            )
        return cls.vjp if has_vjp else cls.backward


class InplaceFunction(Function):
    """A Function of code that is older than ``mark_dirty``; ``Function`` does all that it does."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _bound(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], defaults: bool
) -> tuple[Any, ...]:
    """The arguments by position; a ``forward`` without ``ctx`` is also given its ``defaults``."""
    if not kwargs and defaults and _is_complete(forward, len(args)):
        return args
    import inspect  # slow to import

    signature = inspect.signature(forward)
    bound = signature.bind(*args, **kwargs) if defaults else signature.bind(None, *args, **kwargs)
    if defaults:
        bound.apply_defaults()
    return bound.args if defaults else bound.args[1:]


def _is_complete(forward: Any, given: int) -> bool:
    """Whether that many arguments by position are all that a function takes."""
    if forward.__class__ is not FunctionType or "__wrapped__" in forward.__dict__:
        return False
    code = forward.__code__
    if code.co_kwonlyargcount:
        return False
    return given == code.co_argcount or (given > code.co_argcount and bool(code.co_flags & _VARARGS))


def _layer_of(args: Any) -> Any:
    """The layer of an argument that wraps another tensor; lists, tuples and dicts are looked through."""
    for value in args:
        layer = None
        if isinstance(value, TensorBase):
            layer = value._layer if value._wraps else None  # type: ignore[attr-defined]  # of what wraps
        elif isinstance(value, (list, tuple, dict)):
            layer = _layer_of(value.values() if isinstance(value, dict) else value)
        if layer is not None:
            return layer
    return None


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a ``backward`` that is not differentiable itself: differentiating its result is an error."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any, **kwargs: Any) -> Any:
        enabled = grad_mode.enabled
        grad_mode.enabled = False
        try:
            outputs = backward(ctx, *grads, **kwargs)
        finally:
            grad_mode.enabled = enabled
        if not enabled or not any([isinstance(g, TensorBase) and g._requires_grad for g in grads]):
            return outputs
        if not isinstance(outputs, tuple):
            return _undifferentiable(outputs)
        return tuple([_undifferentiable(out) for out in outputs])

    return wrapper


def _undifferentiable(value: Any) -> Any:
    """The Tensor with a history that fails when it is used."""
    if not isinstance(value, TensorBase):
        return value
    message = "trying to differentiate twice a function that was marked with @once_differentiable"
    out: Any = value._type.wrap(value._array)
    out._edge = (Error(message, (), out._array.shape, out._type), 0)
    out._requires_grad = True
    return out
