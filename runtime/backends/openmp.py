"""OpenMP, whose threads NumPy's BLAS library may use."""

from __future__ import annotations

import threadpoolctl

__all__ = ["is_available"]


def __dir__() -> list[str]:
    return sorted(__all__)


def is_available() -> bool:
    """Whether a library that is loaded has threads of OpenMP's."""
    return any(pool["user_api"] == "openmp" for pool in threadpoolctl.threadpool_info())
