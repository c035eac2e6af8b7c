"""``functorch``, the package that ``torch.func`` came of, and that PyTorch still ships: deprecated names."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import func
from .core.absent import absent
from .core.user_stack import program_stacklevel
from .nn import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]

make_fx = absent("functorch", "make_fx", "`torch.jit.trace` records the graph of a function or module")


def _deprecated(new: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that warns that there is another one."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(
                f"functorch.{function.__name__} is deprecated; use {new}",
                FutureWarning,
                stacklevel=program_stacklevel(),
            )
            return function(*args, **kwargs)

        return call

    return decorate


functionalize = _deprecated("torch.func.functionalize")(func.functionalize)
grad = _deprecated("torch.func.grad")(func.grad)
grad_and_value = _deprecated("torch.func.grad_and_value")(func.grad_and_value)
hessian = _deprecated("torch.func.hessian")(func.hessian)
jacfwd = _deprecated("torch.func.jacfwd")(func.jacfwd)
jacrev = _deprecated("torch.func.jacrev")(func.jacrev)
jvp = _deprecated("torch.func.jvp")(func.jvp)
vjp = _deprecated("torch.func.vjp")(func.vjp)
vmap = _deprecated("torch.vmap")(func.vmap)


def _by_name(what: str, names: Sequence[str], tensors: Iterable[Any]) -> dict[str, Any]:
    given = tuple(tensors)
    if len(given) != len(names):
        raise ValueError(f"forward: {what} has {len(given)} tensors, and the module takes {len(names)}")
    return dict(zip(names, given, strict=True))


class FunctionalModuleWithBuffers(Module):
    """What ``make_functional_with_buffers`` gives: ``f(params, buffers, *args, **kwargs)`` calls the module.

    ``param_names`` and ``buffer_names`` are in the order in which the tensors are taken.
    """

    def __init__(self, stateless_model: Any, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(self, params: Iterable[Any], buffers: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """The module's results. ValueError where there are more or fewer tensors than names."""
        given = _by_name("params", self.param_names, params)
        given |= _by_name("buffers", self.buffer_names, buffers)
        return func.functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(Module):
    """What ``make_functional`` gives: ``f(params, *args, **kwargs)`` calls the module with these."""

    def __init__(self, stateless_model: Any, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)

    def forward(self, params: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """The module's results. ValueError where there are more or fewer tensors than names."""
        given = _by_name("params", self.param_names, params)
        return func.functional_call(self.stateless_model, given, args, kwargs)


def _parts(model: Any, untracked: bool) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A copy of a module, and the parameters and buffers that another copy has."""
    params = dict(copy.deepcopy(model).named_parameters())
    if untracked:
        for parameter in params.values():
            parameter.requires_grad_(False)
    return copy.deepcopy(model), params, dict(copy.deepcopy(model).named_buffers())


@_deprecated("torch.func.functional_call")
def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Any, ...]]:
    """The module as a function, a FunctionalModule, and copies of its parameters.

    These require no gradients with ``disable_autograd_tracking``. RuntimeError for a module with buffers.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) "
            "instead."
        )
    stateless, params, _ = _parts(model, disable_autograd_tracking)
    return FunctionalModule(stateless, tuple(params)), tuple(params.values())


@_deprecated("torch.func.functional_call")
def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """As ``make_functional``, of a module that may have buffers, with copies of these."""
    stateless, params, buffers = _parts(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(stateless, tuple(params), tuple(buffers))
    return function, tuple(params.values()), tuple(buffers.values())


@_deprecated("torch.func.stack_module_state")
def combine_state_for_ensemble(models: Sequence[Any]) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """A function of one of the modules, and the parameters and buffers of all, stacked.

    RuntimeError for no module, for modules of several classes, and if some are in training.
    """
    try:
        params, buffers = func.stack_module_state(models)
    except RuntimeError as error:
        raise RuntimeError(str(error).replace("stack_module_state", "combine_state_for_ensemble")) from None
    function = FunctionalModuleWithBuffers(copy.deepcopy(models[0]), tuple(params), tuple(buffers))
    return function, tuple(p.detach() for p in params.values()), tuple(buffers.values())
