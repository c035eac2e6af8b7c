"""CUDA's libraries. The switches can be set, and change no result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def is_built() -> bool:
    """False: no kernel of CUDA's is compiled in. ``tengen.cuda.is_available()`` asks for devices."""
    return False


class _MatMul:
    """How products of matrices are computed on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


#: The switches of products; they are computed in the precision of their operands.
matmul = _MatMul()

_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduced": False}


def flash_sdp_enabled() -> bool:
    """What ``enable_flash_sdp`` was given."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Keep the switch; attention has one kernel."""
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What ``enable_mem_efficient_sdp`` was given."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep the switch; attention has one kernel."""
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """What ``enable_math_sdp`` was given."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Keep the switch; attention has one kernel."""
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """What ``enable_cudnn_sdp`` was given."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep the switch; attention has one kernel."""
    _sdp["cudnn"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What ``allow_fp16_bf16_reduction_math_sdp`` was given."""
    return _sdp["reduced"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Keep the switch, which changes no result."""
    _sdp["reduced"] = bool(enabled)


def is_flash_attention_available() -> bool:
    """False: there is no such thing here."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, Any]]:
    """Within ``with`` the switches of attention are these; it has one kernel."""
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(before)


def preferred_linalg_library(backend: str | None = None) -> str:
    """ "default": factorisations are those of the arrays' library."""
    return "default"


def preferred_blas_library(backend: str | None = None) -> str:
    """ "default": products are those of the arrays' library."""
    return "default"
