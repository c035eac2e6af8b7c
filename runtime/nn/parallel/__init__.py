"""Tensors on several devices: ``tengen.nn.parallel.comm``."""

from __future__ import annotations

from . import comm as comm
