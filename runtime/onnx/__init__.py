"""Functions as ONNX models: ``tengen.onnx.export``."""

from .errors import (
    OnnxExporterError as OnnxExporterError,
    UnsupportedOperatorError as UnsupportedOperatorError,
)
from .export import export as export

__all__ = [
    "OnnxExporterError",
    "export",
]


def __dir__() -> list[str]:
    return sorted(__all__)
