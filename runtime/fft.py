"""Discrete Fourier transforms, as ``torch.fft`` has them."""
# ruff: noqa: F403

from tengen.generated.fft_functions import *
