"""Export to ONNX: ``tengen.onnx``."""
