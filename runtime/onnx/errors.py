"""The errors of ONNX export."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """The function cannot be exported."""

    __module__ = "tengen.onnx"


class UnsupportedOperatorError(OnnxExporterError):
    """An operator that has no symbolic, or one that does not cover this call; the text says where it was called."""

    __module__ = "tengen.onnx"


class Unsupported(Exception):
    """What a symbolic raises for a call that it does not cover; the text says why."""
