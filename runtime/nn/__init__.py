"""Neural networks: modules with parameters, functions, initial values, and what gradients need."""

import typing as _typing
from importlib import import_module as _import_module

from . import (
    functional as functional,
    init as init,
    modules as modules,
    parallel as parallel,
    parameter as parameter,
    utils as utils,
)
from .modules.module import Module as Module
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)

_OWN = (
    "attention",
    "common_types",
    "factory_kwargs",
    "grad",
    "DataParallel",
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
)

if _typing.TYPE_CHECKING:
    from . import attention as attention, common_types as common_types, grad as grad
    from .modules import *  # noqa: F403
    from .modules.arguments import factory_kwargs as factory_kwargs
    from .parallel import DataParallel as DataParallel
else:
    __all__ = sorted([*_OWN, *modules.__all__])

    def __getattr__(name: str) -> _typing.Any:
        """The classes of modules, and what is rarely used: imported when they are asked for."""
        if name in ("attention", "common_types", "grad"):
            return _import_module(f"{__name__}.{name}")
        if name == "factory_kwargs":
            return _import_module(f"{__name__}.modules.arguments").factory_kwargs
        if name == "DataParallel":
            return parallel.DataParallel
        if name not in modules.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(modules, name)
        return found


def __dir__() -> list[str]:
    return sorted([*_OWN, *dir(modules)])
