"""Optimizer: parameter groups, state, hooks, saving and loading; what all optimisers share."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from ..autograd.grad_mode import enable_grad
from ..autograd.hooks import RemovableHandle
from ..autograd.profiler.record_function import record_function
from ..core.interception import active
from ..core.scalar_type import float32
from ..core.user_stack import program_stacklevel
from ..tensors.gradients import zero_gradients
from ..tensors.queries import typename
from ..tensors.tensor import Tensor

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


def __dir__() -> list[str]:
    return sorted(__all__)


StateDict: TypeAlias = dict[str, Any]
Group: TypeAlias = dict[str, Any]
Params: TypeAlias = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
Hook: TypeAlias = Callable[..., Any]
Hooks: TypeAlias = dict[int, Hook]

_global_pre_hooks: Hooks = {}
_global_post_hooks: Hooks = {}
_HOOKS = tuple(
    f"_optimizer_{when}_hooks"
    for when in (
        "step_pre",
        "step_post",
        "state_dict_pre",
        "state_dict_post",
        "load_state_dict_pre",
        "load_state_dict_post",
    )
)


class _Required:
    """Stands among the defaults for what each group must say itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimiser.

    It returns None, or the pair (args, kwargs) that the step is called with instead.
    """
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimiser."""
    return _register(_global_post_hooks, hook)


class Optimizer:
    """Changes tensors by their gradients: the base class of all optimisers.

    ``params`` is an iterable of tensors, of (name, tensor) pairs, or of dicts, each a group of parameters
    with ``params`` and options of its own; ``defaults`` has the options that a group does not name. The
    groups are ``param_groups``, and ``state[p]`` is the dict of what is remembered of parameter ``p``.
    A subclass has ``step(closure=None)``.

    Raises TypeError for a tensor in place of the iterable, for a set, and for parameters that are no tensors;
    ValueError for no parameters, for one that is no leaf, that is in two groups, or for names that some
    of them lack.
    """

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[Group]
    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._tengen_make_hooks()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _tengen_make_hooks(self) -> None:
        for name in _HOOKS:
            if name not in self.__dict__:
                setattr(self, name, {})

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._tengen_make_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            text += f"\nParameter Group {number}\n{''.join(options)}"
        return text + ")"

    # -- steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once.

        ``closure`` computes the loss anew, with gradients, and returns it; so does the step then.
        """
        raise NotImplementedError

    @staticmethod
    def _tengen_loss_of(closure: Callable[[], Any] | None) -> Any:
        """What the closure of a step returns, with gradients; None where there is none."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        if not active:
            self._tengen_zero_grad(set_to_none)
            return
        with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            self._tengen_zero_grad(set_to_none)

    def _tengen_zero_grad(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            zero_gradients(group["params"], set_to_none)

    def _patch_step_function(self) -> None:
        """Let the class's ``step`` call hooks, once for each class."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    # -- groups

    def add_param_group(self, param_group: Group) -> None:
        """Take on another group of parameters: a dict with ``params`` and, for this group, options.

        Raises as the class does.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        tensors, names = _unpacked(param_group["params"])
        param_group["params"] = tensors
        if names:
            param_group["param_names"] = names
        for p in tensors:
            self._tengen_check_parameter(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        if len(tensors) != len(set(tensors)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                "an error",
                stacklevel=program_stacklevel(),
            )
        self._tengen_check_other_groups(param_group)
        self.param_groups.append(param_group)

    def _tengen_check_parameter(self, p: Any) -> None:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _tengen_check_other_groups(self, param_group: Group) -> None:
        named = "param_names" in param_group
        known: set[Tensor] = set()
        for group in self.param_groups:
            known.update(group["params"])
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if named else 'without'} names to the optimizer"
                )
        if not known.isdisjoint(param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    # -- saving and loading

    def state_dict(self) -> StateDict:
        """The state as a dict to be saved.

        ``state`` has for the number of each parameter what is remembered of it (the tensors themselves, no
        copies), ``param_groups`` each group's options, with numbers for its parameters.
        """
        for pre_hook in tuple(self._optimizer_state_dict_pre_hooks.values()):
            pre_hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for number, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), number)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        found: StateDict = {"state": state, "param_groups": groups}
        for post_hook in tuple(self._optimizer_state_dict_post_hooks.values()):
            replaced = post_hook(self, found)
            if replaced is not None:
                found = replaced
        return found

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what ``state_dict()`` returned, options too; the parameters are matched by their order.

        Tensors are converted to the parameters' dtypes and devices; those that need not be are shared.
        ValueError, with nothing changed, for other numbers of groups or of parameters in one.
        """
        state_dict = state_dict.copy()
        for pre_hook in tuple(self._optimizer_load_state_dict_pre_hooks.values()):
            replaced = pre_hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                "group"
            )
        owners: dict[Any, tuple[Tensor, Group]] = {}
        for group, new in zip(groups, saved, strict=True):
            owners.update({k: (p, new) for k, p in zip(new["params"], group["params"], strict=True)})
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                state[owners[key][0]] = _fitted(*owners[key], value)
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for post_hook in tuple(self._optimizer_load_state_dict_post_hooks.values()):
            post_hook(self)

    # -- hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return other (args, kwargs)."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict()``; ``prepend`` puts it before the others."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict()``; it may return another dict."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before ``load_state_dict``; it may return another dict.

        The dict is a shallow copy of the user's.
        """
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after ``load_state_dict``."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _register(hooks: Hooks, hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    if prepend:
        others = dict(hooks)
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(others)
    else:
        hooks[handle.id] = hook
    return handle


def _hooked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` with the hooks around it, as one event of a profile."""

    @functools.wraps(function)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not active:
            return run(self, args, kwargs)
        with record_function(f"Optimizer.step#{type(self).__name__}.step"):
            return run(self, args, kwargs)

    def run(self: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _global_pre_hooks or self._optimizer_step_pre_hooks:
            # PyTorch's hooks find the optimiser among the arguments, too.
            given: tuple[Any, ...] = (self, *args)
            for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                replaced = hook(self, given, kwargs)
                if replaced is None:
                    continue
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"{function} must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{replaced}."
                    )
                given, kwargs = replaced
            self, args = given[0], tuple(given[1:])
        out = function(self, *args, **kwargs)
        if _global_post_hooks or self._optimizer_step_post_hooks:
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
                hook(self, (self, *args), kwargs)
        return out

    step.hooked = True  # type: ignore[attr-defined]
    return step


def _unpacked(params: Any) -> tuple[list[Any], list[Any]]:
    """The tensors and the names of what a group was given as ``params``."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
            "in sets will change between runs. Please use a list instead."
        )
    given = list(params)
    names = [p[0] for p in given if isinstance(p, tuple)]
    if names and len(names) != len(given):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [p[1] if isinstance(p, tuple) else p for p in given], names


def _fitted(param: Tensor, group: Group, value: Any, key: Hashable = None) -> Any:
    """What was loaded for a parameter, its tensors with the parameter's dtype and device."""
    if isinstance(value, Tensor):
        if key == "step":
            counted = group.get("capturable", False) or group.get("fused", False)
            return value.to(dtype=float32, device=param.device) if counted else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _fitted(param, group, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)([_fitted(param, group, v) for v in value])  # type: ignore[call-arg]
    return value


def options_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options among the arguments of an optimiser, which are its ``locals()``."""
    return {name: arguments[name] for name in arguments if name not in ("self", "params", "__class__")}


def scalar(value: Any) -> Any:
    """A hyperparameter: a tensor of one element as a 0-d one, all else as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() else value


def number(value: Any) -> Any:
    """A hyperparameter as a Python number."""
    return value.item() if isinstance(value, Tensor) else value
