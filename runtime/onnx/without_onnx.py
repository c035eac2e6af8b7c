"""What ``tengen.onnx`` has where the package onnx is not installed."""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.needed_package import needed_package

__all__ = ["export"]


def export(*args: Any, **keywords: Any) -> NoReturn:
    """Always ModuleNotFoundError, which says what to install."""
    raise needed_package("tengen.onnx.export", "onnx", "tengen[onnx]")
