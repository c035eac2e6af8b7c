"""Which way ``scaled_dot_product_attention`` takes: there is one, and the choice is only remembered."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

__all__ = ["SDPBackend", "sdpa_kernel"]


def __dir__() -> list[str]:
    return sorted(__all__)


class SDPBackend(enum.IntEnum):
    """The implementations of attention that PyTorch has. Here there is one, ``MATH``."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"


@contextlib.contextmanager
def sdpa_kernel(
    backends: SDPBackend | list[SDPBackend], set_priority: bool = False
) -> Iterator[dict[Any, Any]]:
    """Choose implementations within ``with sdpa_kernel(SDPBackend.MATH):``. The result is the same with each.

    AssertionError for what are no SDPBackends.
    """
    chosen = backends if isinstance(backends, list) else [backends]
    if not all(isinstance(each, SDPBackend) for each in chosen):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    yield {}
