"""``tengen.nn.utils``: gradients cut to size, parameters as a vector or as functions of others, pruning.

What is about modules is imported when it is asked for.
"""
# ruff: noqa: F403

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import rnn as rnn
from .clip_grad import (
    clip_grad_norm as clip_grad_norm,
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    clip_grads_with_norm_ as clip_grads_with_norm_,
    get_total_norm as get_total_norm,
)
from .convert_parameters import (
    parameters_to_vector as parameters_to_vector,
    vector_to_parameters as vector_to_parameters,
)

_OWN = (
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
)
#: What is imported late, by name, with its module.
_HOMES = {
    "convert_conv2d_weight_memory_format": "memory_format",
    "convert_conv3d_weight_memory_format": "memory_format",
    "fuse_conv_bn_eval": "fusion",
    "fuse_conv_bn_weights": "fusion",
    "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion",
    "remove_spectral_norm": "spectral_norm",
    "remove_weight_norm": "weight_norm",
    "skip_init": "init",
    "spectral_norm": "spectral_norm",
    "weight_norm": "weight_norm",
}
_MODULES = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless")
_PUBLIC = sorted([*_OWN, *_HOMES, "fusion", "parametrizations", "parametrize", "stateless"])

if TYPE_CHECKING:
    from . import (
        fusion as fusion,
        init as init,
        memory_format as memory_format,
        parametrizations as parametrizations,
        parametrize as parametrize,
        prune as prune,
        stateless as stateless,
    )
    from .fusion import *
    from .init import *
    from .memory_format import *
    from .spectral_norm import remove_spectral_norm as remove_spectral_norm, spectral_norm as spectral_norm
    from .weight_norm import remove_weight_norm as remove_weight_norm, weight_norm as weight_norm
else:
    __all__ = _PUBLIC

    def __getattr__(name: str) -> Any:
        """What is about modules, and the modules of this package."""
        if name in _HOMES:
            return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    class _Utils(ModuleType):
        """This package. A function stays what its name means when the module of the same name is imported."""

        def __setattr__(self, name: str, value: Any) -> None:
            own = isinstance(value, ModuleType) and _HOMES.get(name) == name
            super().__setattr__(name, getattr(value, name) if own else value)

    sys.modules[__name__].__class__ = _Utils


def __dir__() -> list[str]:
    return _PUBLIC
