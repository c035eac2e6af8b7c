"""Frequencies and windows, which nothing that is known at run time decides: constants."""

from __future__ import annotations

from typing import Any

from ..native.fft import fft_fftfreq, fft_rfftfreq
from .builder import Ref, constant


def fft_fftfreq_symbolic(n: int, d: float, result: Any) -> Ref:
    """The frequencies of a transform's points."""
    return constant(fft_fftfreq(n, d, result.dtype.array_dtype))


def fft_rfftfreq_symbolic(n: int, d: float, result: Any) -> Ref:
    """The frequencies of the points of the half of a transform."""
    return constant(fft_rfftfreq(n, d, result.dtype.array_dtype))
