"""``tengen.nn.utils``: gradients cut to size, parameters as one vector, sequences of several lengths, fusion.

What is about modules is imported when it is asked for.
"""
# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module
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
}
_MODULES = ("fusion", "memory_format", "stateless")

if TYPE_CHECKING:
    from . import fusion as fusion, memory_format as memory_format, stateless as stateless
    from .fusion import *
    from .memory_format import *
else:
    __all__ = sorted([*_OWN, *_HOMES, "fusion", "stateless"])

    def __getattr__(name: str) -> Any:
        """What is about modules, and the modules of this package."""
        if name in _HOMES:
            return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_OWN, *_HOMES, "fusion", "stateless"])
