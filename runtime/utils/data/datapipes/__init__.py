"""``tengen.utils.data.datapipes``: datasets that are made of datasets, step by step."""

from __future__ import annotations

from . import iter as iter, map as map
