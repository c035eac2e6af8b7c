"""The errors of ONNX export."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "UnsupportedOperatorError"]


def __dir__() -> list[str]:
    return sorted(__all__)


class OnnxExporterError(RuntimeError):
    """The function cannot be exported."""

    __module__ = "tengen.onnx"


class UnsupportedOperatorError(OnnxExporterError):
    """An operator without a symbolic, or whose symbolic does not cover the call; it says where that is."""

    __module__ = "tengen.onnx"


class Unsupported(Exception):
    """What a symbolic raises for a call that it does not cover; the text says why."""
