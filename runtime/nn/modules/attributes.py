"""The attributes of a module: parameters, buffers and modules are kept apart from all others."""

from __future__ import annotations

import inspect
from typing import Any

from ...tensors.parameter import Buffer, Parameter
from ...tensors.queries import typename
from ...tensors.tensor import Tensor
from .base import ModuleBase
from .global_hooks import (
    buffer_registration_hooks,
    module_registration_hooks,
    parameter_registration_hooks,
    registered,
)


class ModuleAttributes(ModuleBase):
    """Getting and setting the attributes of a module."""

    # -- registering

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Give the module a buffer: a tensor that is moved and saved with it, and is no parameter.

        Without ``persistent`` it is not saved. AttributeError before ``Module.__init__()``, TypeError for
        what is no tensor or None and for a name that is no string, KeyError for a name that is taken, is
        empty or has a dot.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._tengen_check_name("buffer", name, self._buffers)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (tengen Tensor or "
                "None required)"
            )
        self._buffers[name] = registered(buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Give the module a parameter, or the place of one.

        AttributeError before ``Module.__init__()``, TypeError for what is no Parameter or None and for a name
        that is no string, KeyError for a name that is taken, is empty or has a dot, ValueError for one that
        was computed.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._tengen_check_name("parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(tengen.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                "forward() method."
            )
        self._parameters[name] = registered(parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Give the module another one, or the place of one.

        TypeError for what is no Module or None and for a name that is no string, KeyError for a name that is
        taken, is empty or has a dot.
        """
        if not isinstance(module, ModuleBase) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = registered(module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """The same as ``add_module``."""
        self.add_module(name, module)

    def _tengen_check_name(self, what: str, name: Any, taken: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in taken:
            raise KeyError(f"attribute '{name}' already exists")

    # -- attributes

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            found = own.get(kind)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters, modules, buffers = (own.get(k) for k in ("_parameters", "_modules", "_buffers"))
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._tengen_forget(name, own, buffers, modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (tengen.nn.Parameter or None "
                    "expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, ModuleBase):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._tengen_forget(name, own, parameters, buffers)
            modules[name] = registered(module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (tengen.nn.Module or None "
                    "expected)"
                )
            modules[name] = registered(module_registration_hooks, self, name, value)
        elif (is_tensor and isinstance(value, Buffer)) or (buffers is not None and name in buffers):
            self._tengen_set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _tengen_forget(self, name: str, *places: Any) -> None:
        """The name is to be that of something else."""
        for place in places:
            place.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _tengen_set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not _is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (tengen.nn.Buffer, "
                "tengen.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent  # type: ignore[attr-defined]
        else:
            persistent = name not in self._non_persistent_buffers_set
        if (
            type(self).register_buffer is ModuleAttributes.register_buffer
            or "persistent" in inspect.signature(self.register_buffer).parameters
        ):
            self.register_buffer(name, value, persistent)
            return
        if not persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                "without the persistent argument is not allowed."
            )
        self.register_buffer(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        """The names of all attributes, save numbers, which a container's modules have."""
        found = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted([name for name in found if not name[0].isdigit()])


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__tengen_function__")
