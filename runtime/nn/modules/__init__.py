"""The modules of ``tengen.nn``."""

from __future__ import annotations

from .container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .linear import Bilinear, Identity, LazyLinear, Linear
from .module import Module

__all__ = [
    "Bilinear",
    "Container",
    "Identity",
    "LazyLinear",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
]


def __dir__() -> list[str]:
    return sorted(__all__)
