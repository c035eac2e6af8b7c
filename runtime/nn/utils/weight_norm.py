"""Weights as a length times a direction, computed anew before each call of a module (arXiv:1602.07868)."""

from __future__ import annotations

import warnings
from typing import Any

from tengen.generated.functions import norm_except_dim

from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def __dir__() -> list[str]:
    return sorted(__all__)


def normalized_weight(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """``v`` with the norms ``g``, which are of what has one index of ``dim``; for -1 of all elements."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook that computes ``<name>`` of ``<name>_g`` and ``<name>_v`` before a module's forward."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """The weight of the module's length and direction."""
        v, g = (getattr(module, self.name + end) for end in ("_v", "_g"))
        return normalized_weight(v, g, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Give a module the hook, and the two parameters in place of the one; see ``weight_norm``."""
        warnings.warn(
            "`tengen.nn.utils.weight_norm` is deprecated in favor of "
            "`tengen.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=program_stacklevel(),
        )
        if _find(module, name) is not None:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the "
                "dummy forward before applying weight normalization"
            )
        length: Any = norm_except_dim(weight, 2, made.dim)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(length.data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Any) -> None:
        """Make the weight one parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _find(module: Any, name: str) -> Any:
    """The number of the hook for this name, or None."""
    hooks = module._forward_pre_hooks.items()
    return next((k for k, hook in hooks if isinstance(hook, WeightNorm) and hook.name == name), None)


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Make a parameter two, the norm ``<name>_g`` and the direction ``<name>_v``; return the module.

    The norms are of what has one index of ``dim``, or of all with ``dim=None``. The weight is computed before
    each ``forward``. Deprecated for ``parametrizations.weight_norm``. RuntimeError where the parameter has
    such a hook, ValueError where it has no shape yet.
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo ``weight_norm``; return the module. ValueError where there is none."""
    found = _find(module, name)
    if found is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(found).remove(module)
    return module
