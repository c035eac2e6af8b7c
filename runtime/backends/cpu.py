"""The processor that runs kernels."""

from __future__ import annotations

import numpy as np

__all__ = ["get_cpu_capability"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: PyTorch's names of what NumPy says a processor has, the best first.
_LEVELS = {
    "AVX512_SKX": "AVX512",
    "AVX512F": "AVX512",
    "AVX2": "AVX2",
    "SVE": "SVE256",
    "VSX": "VSX",
    "VX": "Z VECTOR",
}


def get_cpu_capability() -> str:
    """The vector instructions that NumPy uses: "AVX512", "AVX2", ..., or "DEFAULT"."""
    features = np.show_config(mode="dicts")["SIMD Extensions"]
    found = {name.upper() for name in (*features["baseline"], *features.get("found", ()))}
    return next((level for name, level in _LEVELS.items() if name in found), "DEFAULT")
