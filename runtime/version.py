"""The version of tengen."""

__version__ = "0.1.0"
