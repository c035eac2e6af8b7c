"""Adds the backend Strict to tengen: `device="strict"`."""

from tengen.library import load

load(__name__)
