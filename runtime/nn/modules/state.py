"""A module's state: what ``state_dict`` saves, and how that is loaded again."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar

from ...autograd.grad_mode import no_grad
from ...autograd.hooks import RemovableHandle
from ...core.user_stack import program_stacklevel
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..parameter import is_lazy
from .base import Hook, ModuleBase
from .global_hooks import WrappedHook, add_hook

EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class ModuleState(ModuleBase):
    """Saving and loading a module."""

    #: The version of what the class saves: where that changes, ``_load_from_state_dict`` may look at it.
    _version: int = 1
    dump_patches: ClassVar[bool] = False

    # -- hooks

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the module is saved."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` when the module was saved.

        It may change the dict, and returns None, else RuntimeError.
        """
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """As ``register_state_dict_post_hook``, but what the hook returns takes the dict's place."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call a hook before the module is loaded.

        It is given (module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs), and may change the dict and the lists.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return add_hook(self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` when the module was loaded.

        It may change the two lists of keys, and returns None, else AssertionError.
        """
        return add_hook(self._load_state_dict_post_hooks, hook)

    # -- extra state

    def get_extra_state(self) -> Any:
        """What a subclass wants to be saved beside parameters and buffers; with ``set_extra_state``."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. A subclass "
            "that has extra state defines get_extra_state() and set_extra_state()."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take over what ``get_extra_state`` gave when the module was saved."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. A subclass "
            "that has extra state defines get_extra_state() and set_extra_state()."
        )

    # -- saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by their names, of this module and those in it.

        They are detached, and share the module's memory; with ``keep_vars`` they are what the module has.
        ``prefix`` comes before the names. The dict is ordered, and has the versions of the modules in the
        attribute ``_metadata``; ``destination`` is a dict to be used instead.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for "
                "details.",
                FutureWarning,
                stacklevel=program_stacklevel(),
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination") if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            returned = hook(self, destination, prefix, metadata)
            if returned is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = returned
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put what this module itself has into the dict."""
        for name, value in self._tengen_persistent():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _tengen_persistent(self) -> list[tuple[str, Any]]:
        """The parameters and persistent buffers that there are, by name."""
        transient = self._non_persistent_buffers_set
        found = [(k, v) for k, v in self._parameters.items() if v is not None]
        return found + [(k, v) for k, v in self._buffers.items() if v is not None and k not in transient]

    # -- loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Take over the parameters and buffers of a dict that ``state_dict`` made.

        Their elements are written into the module's; with ``assign`` the dict's tensors take the place of
        these. Returns the lists ``missing_keys`` and ``unexpected_keys``.

        TypeError for what is no mapping; RuntimeError, which names all that did not fit, for other shapes,
        and with ``strict`` also for missing and unexpected names. What fitted is loaded then.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        copied: Any = OrderedDict(state_dict)  # which _load_from_state_dict may change
        if metadata is not None:
            copied._metadata = metadata
        loading = _Loading(metadata, assign)
        loading.load(self, copied, "")
        missing, unexpected, errors = loading.missing_keys, loading.unexpected_keys, loading.error_msgs
        if strict:
            for what, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    listed = ", ".join([f'"{key}"' for key in keys])
                    errors.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load what this module itself has; the lists get what was not as expected.

        ``local_metadata`` is what was saved of the module beside that, such as its ``version``.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = dict(self._tengen_persistent())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._tengen_load_one(name, param, key, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _tengen_load_one(self, name: str, param: Any, key: str, value: Any, assign: bool) -> str:
        """Load one parameter or buffer; what is wrong with the value, or nothing."""
        if not (isinstance(value, Tensor) or hasattr(value, "__tengen_function__")):
            return (
                f'While copying the parameter named "{key}", expected tengen.Tensor or Tensor-like object '
                f"from checkpoint but received {type(value)}"
            )
        if not is_lazy(param):
            if len(param.shape) == 0 and len(value.shape) == 1 and value.shape[0] == 1:
                value = value[0]  # as PyTorch 0.3 saved numbers
            if value.shape != param.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the "
                    f"shape in current model is {param.shape}."
                )
        if not assign and not is_lazy(param) and param.is_meta and not value.is_meta:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
                "state dictionary to their corresponding key in the module instead of copying them "
                "in place?)",
                stacklevel=program_stacklevel(),
            )
        try:
            with no_grad():
                if assign:
                    setattr(self, name, _assigned(param, value))
                else:
                    param.copy_(value.to(param.device) if isinstance(value, Tensor) else value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{param.size()} "
                f"and whose dimensions in the checkpoint are {value.size()}, an exception occurred : "
                f"{error.args}."
            )
        return ""


def _assigned(param: Any, value: Any) -> Any:
    """What takes the place of ``param``: a Parameter for a parameter, with gradients where it has them."""
    if not isinstance(param, Parameter):
        return value
    if not isinstance(value, Parameter):
        return Parameter(value, requires_grad=param.requires_grad)
    return value.requires_grad_(param.requires_grad)


class _Loading:
    """One call of ``load_state_dict``."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing_keys: list[str] = []
        self.unexpected_keys: list[str] = []
        self.error_msgs: list[str] = []

    def load(self, module: Any, state_dict: Any, prefix: str) -> None:
        """Load a module and those in it from the names with their prefix."""
        metadata = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            metadata = {**metadata, "assign_to_params_buffers": True}
        lists = (self.missing_keys, self.unexpected_keys, self.error_msgs)
        module._load_from_state_dict(state_dict, prefix, metadata, True, *lists)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {k: v for k, v in state_dict.items() if k.startswith(below)}, below)
        keys = _IncompatibleKeys(self.missing_keys, self.unexpected_keys)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                    "new values, if incompatible_keys need to be modified, it should be done inplace."
                )
