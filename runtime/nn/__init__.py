"""Neural networks: modules with parameters, functions, initial values, and what gradients need."""

from . import (
    functional as functional,
    init as init,
    modules as modules,
    parallel as parallel,
    parameter as parameter,
    utils as utils,
)
from .modules import *  # noqa: F403
from .modules import __all__ as _modules
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)

__all__ = [
    *_modules,
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
]


def __dir__() -> list[str]:
    return sorted(__all__)
