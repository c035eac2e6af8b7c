"""Tensors on several devices: ``tengen.nn.parallel.comm``."""

from __future__ import annotations

from tengen.nn.parallel import comm as comm
