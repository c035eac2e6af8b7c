"""Intel's MKL, which NumPy may have been built with."""

from __future__ import annotations

from contextlib import nullcontext

import threadpoolctl

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]


def __dir__() -> list[str]:
    return sorted(__all__)


VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether the BLAS library that is loaded is MKL."""
    return any(pool["internal_api"] == "mkl" for pool in threadpoolctl.threadpool_info())


class verbose(nullcontext[None]):
    """A context that changes nothing: what MKL prints is up to its environment."""

    def __init__(self, enable: int) -> None:
        super().__init__()
