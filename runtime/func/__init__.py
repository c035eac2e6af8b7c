"""Transforms of functions: ``tengen.func``."""
