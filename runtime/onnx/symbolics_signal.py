"""Frequencies and windows, which nothing that is known at run time decides: constants."""

from __future__ import annotations

from typing import Any

from ..kernels import windows
from ..kernels.fft import fft_fftfreq, fft_rfftfreq
from .builder import Ref, constant


def fft_fftfreq_symbolic(n: int, d: float, result: Any) -> Ref:
    """The frequencies of a transform's points."""
    return constant(fft_fftfreq(n, d, result.dtype.array_dtype))


def fft_rfftfreq_symbolic(n: int, d: float, result: Any) -> Ref:
    """The frequencies of the points of the half of a transform."""
    return constant(fft_rfftfreq(n, d, result.dtype.array_dtype))


def bartlett_window_symbolic(window_length: int, periodic: bool, result: Any) -> Ref:
    """The window of the kernel, as the following."""
    return constant(windows.bartlett_window(window_length, periodic, result.dtype.array_dtype))


def blackman_window_symbolic(window_length: int, periodic: bool, result: Any) -> Ref:
    """Two cosines."""
    return constant(windows.blackman_window(window_length, periodic, result.dtype.array_dtype))


def hamming_window_symbolic(
    window_length: int, periodic: bool, alpha: float, beta: float, result: Any
) -> Ref:
    """``alpha`` less ``beta`` times a cosine."""
    return constant(windows.hamming_window(window_length, periodic, alpha, beta, result.dtype.array_dtype))


def kaiser_window_symbolic(window_length: int, periodic: bool, beta: float, result: Any) -> Ref:
    """A Bessel function of an ellipse."""
    return constant(windows.kaiser_window(window_length, periodic, beta, result.dtype.array_dtype))
