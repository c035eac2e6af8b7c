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
    from . import attention as attention
    from .modules import *  # noqa: F403
else:
    __all__ = sorted([*_OWN, *modules.__all__])

    def __getattr__(name: str) -> _typing.Any:
        """The classes of modules, which are imported when they are asked for."""
        if name == "attention":
            return _import_module(f"{__name__}.attention")
        if name not in modules.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(modules, name)
        return found


def __dir__() -> list[str]:
    return sorted([*_OWN, *dir(modules)])
