"""Operators for tengen. Importing this adds them to ``tengen.ops.splines``."""

from tengen.library import load

operators = load(__name__)
