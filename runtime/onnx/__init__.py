"""Functions as ONNX models: ``tengen.onnx.export``."""

from .errors import OnnxExporterError as OnnxExporterError
from .errors import UnsupportedOperatorError as UnsupportedOperatorError
from .export import export as export
