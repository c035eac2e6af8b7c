"""What PyTorch's libraries of kernels are called there, and what of it is here.

The switches can be set, and change no result: kernels are NumPy's, in the dtypes of their operands.
"""

from __future__ import annotations

from . import (
    cpu as cpu,
    cuda as cuda,
    cudnn as cudnn,
    mha as mha,
    mkl as mkl,
    mkldnn as mkldnn,
    mps as mps,
    nnpack as nnpack,
    openmp as openmp,
    opt_einsum as opt_einsum,
    quantized as quantized,
)

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
]


def __dir__() -> list[str]:
    return sorted(__all__)
