"""Module: what has parameters, and computes something with them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from typing import Any, Self

from ...autograd.hooks import RemovableHandle
from ...core.user_stack import program_stacklevel
from ...tensors.gradients import zero_gradients
from .attributes import ModuleAttributes
from .base import HOOKS, Hook
from .calls import HookedCall
from .conversions import ModuleConversions
from .global_hooks import (
    add_hook,
    backward_hooks as _backward_hooks,
    backward_pre_hooks as _backward_pre_hooks,
    check_one_kind,
    forward_hooks as _forward_hooks,
    forward_pre_hooks as _forward_pre_hooks,
    parameter_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .members import ModuleMembers
from .state import EXTRA_STATE_KEY_SUFFIX, ModuleState, _IncompatibleKeys as _IncompatibleKeys

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """What the module computes: a subclass defines it. NotImplementedError."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


#: PyTorch's names, which packages import.
_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE_KEY_SUFFIX
_global_parameter_registration_hooks = parameter_registration_hooks


class Module(ModuleAttributes, ModuleMembers, ModuleState, ModuleConversions):
    """The base class of all modules, the parts of a network, which may have modules themselves.

    A subclass calls ``super().__init__()`` before it assigns to attributes, and defines ``forward``; a call
    of the module is one of that, with the hooks around it. A Parameter, Buffer or Module that is assigned to
    an attribute is the module's, and ``parameters()``, ``to()``, ``state_dict()`` and the like find it.
    TypeError for arguments, unless the class says ``call_super_init = True``: then they are handed on to the
    next class of several.
    """

    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls = type(self)
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{cls.__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{cls.__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        # Not by __setattr__, which needs what is made here.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _is_full_backward_hook=None,
            **{name: OrderedDict() for name in HOOKS},
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # -- the call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What ``forward`` returns, with the hooks around it. AttributeError before ``Module.__init__()``."""
        own = self.__dict__
        try:
            hooked = (
                own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or _backward_pre_hooks
                or _backward_hooks
                or _forward_hooks
                or _forward_pre_hooks
            )
        except KeyError as missing:  # the subclass did not call ``Module.__init__()``
            name = type(self).__name__
            raise AttributeError(f"'{name}' object has no attribute {missing}") from None
        if hooked:
            return HookedCall(self, args, kwargs).run()
        return self.forward(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Have calls of this module run programs, with the options of ``tengen.compile``."""
        forward = import_module("tengen.compiler").compile(type(self).forward.__get__(self), *args, **kwargs)
        self.__dict__.update(forward=forward, _compiled_call_impl=forward)

    # -- hooks

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; it may return other arguments, or a single one.

        ``with_kwargs``: it is called with ``(module, args, kwargs)``, and returns the pair of both.
        ``prepend`` puts it before the module's other hooks.
        """
        kwargs = (self._forward_pre_hooks_with_kwargs, with_kwargs)
        return add_hook(self._forward_pre_hooks, hook, prepend, kwargs)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; it may return another output.

        ``with_kwargs``: it is called with ``(module, args, kwargs, output)``. ``always_call``: even where
        something raised an error before. ``prepend`` puts it before the module's other hooks.
        """
        kwargs = (self._forward_hooks_with_kwargs, with_kwargs)
        always = (self._forward_hooks_always_called, always_call)
        return add_hook(self._forward_hooks, hook, prepend, kwargs, always)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the module's outputs are there.

        ``grad_output`` is a tuple; the hook may return another one, which is used in its place.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """As ``register_full_backward_hook``, which is to be preferred: of the last operation alone."""
        check_one_kind(False, self._is_full_backward_hook, "on a single Module")
        self._is_full_backward_hook = False
        return add_hook(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are there.

        These are tuples, with None for what is no tensor; the hook may return another ``grad_input``.
        Inputs and outputs of the module may not be changed in place.
        """
        check_one_kind(True, self._is_full_backward_hook, "on a single Module")
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, prepend)

    # -- settings

    def train(self, mode: bool = True) -> Self:
        """Set ``training`` of this module and of all below it. ValueError for what is no bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """``train(False)``: the module is to be used."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The "
                "parameters are copied (in a differentiable manner) from the original module. This "
                "means they "
                "are not leaf nodes in autograd and so don't accumulate gradients. If you need gradients in "
                "your forward method, consider using autograd.grad instead.",
                stacklevel=program_stacklevel(),
            )
        zero_gradients(self.parameters(), set_to_none)

    # -- text, copies

    def extra_repr(self) -> str:
        """What ``repr`` says of the module beside its modules: a subclass may define it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        said = extra.split("\n") if extra else []
        below = [f"({name}): {indented(repr(module), 2)}" for name, module in self._modules.items()]
        name = self._get_name()
        if len(said) == 1 and not below:
            return f"{name}({said[0]})"
        if not said and not below:
            return f"{name}()"
        lines = "\n  ".join(said + below)
        return f"{name}(\n  {lines}\n)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # What older pickles have not.
        for name in HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if state.pop("_compiled_call_impl", None) is not None:  # copies are not compiled
            del state["forward"]
        return state

    def _replicate_for_data_parallel(self) -> Any:
        """A module of the same buffers and modules, and without parameters."""
        replica = self.__new__(type(self))
        replica.__dict__ = {
            **self.__dict__,
            "_parameters": {},
            "_buffers": self._buffers.copy(),
            "_modules": self._modules.copy(),
            "_is_replica": True,
        }
        return replica


def indented(text: str, count: int, blank: bool = False) -> str:
    """The text, whose lines after the first begin with so many spaces; empty ones only with ``blank``."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[" " * count + line if blank or line.strip() else "" for line in rest]])
