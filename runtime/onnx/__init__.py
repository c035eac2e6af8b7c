"""Functions as ONNX models: ``tengen.onnx.export``, which needs the package onnx."""

from .errors import (
    OnnxExporterError as OnnxExporterError,
    UnsupportedOperatorError as UnsupportedOperatorError,
)
from .exporting import is_in_onnx_export as is_in_onnx_export

try:
    from .export import export as export
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "onnx":
        raise
    from .without_onnx import export as export

__all__ = [
    "OnnxExporterError",
    "export",
    "is_in_onnx_export",
]


def __dir__() -> list[str]:
    return sorted(__all__)
