"""Functions as ONNX models: ``tengen.onnx.export``."""

from tengen.onnx.errors import OnnxExporterError as OnnxExporterError
from tengen.onnx.errors import UnsupportedOperatorError as UnsupportedOperatorError
from tengen.onnx.export import export as export
