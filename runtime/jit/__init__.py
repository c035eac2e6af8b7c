"""Tracing: ``tengen.jit``."""
