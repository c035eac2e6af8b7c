"""Activations, and attention."""

from __future__ import annotations

from tengen.generated.activation_modules import *  # noqa: F403
from tengen.generated.activation_modules import __all__ as _generated

from .attention import MultiheadAttention as MultiheadAttention
from .prelu import PReLU as PReLU

__all__ = [*_generated, "MultiheadAttention", "PReLU"]


def __dir__() -> list[str]:
    return sorted(__all__)
