"""Short-time Fourier transforms: their inverse, warnings, and what torch makes of the same calls."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tengen


def signal(*shape: int) -> Any:
    return tengen.tensor(np.random.default_rng(0).standard_normal(shape))


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_the_inverse_gives_the_signal(center: bool, onesided: bool, normalized: bool) -> None:
    x, window = signal(2, 40), tengen.hamming_window(8, dtype=tengen.float64)
    words: Any = {"window": window, "center": center, "normalized": normalized, "onesided": onesided}
    spectra = tengen.stft(x, 8, 2, return_complex=True, **words)
    back = tengen.istft(spectra, 8, 2, length=40, **words)
    np.testing.assert_allclose(back.numpy(), x.numpy(), rtol=0, atol=1e-13)


def test_frames_are_transforms_of_windows() -> None:
    x, window = signal(20), tengen.hann_window(6, dtype=tengen.float64)
    spectra = x.stft(6, 3, window=window, center=False, return_complex=True)
    frames = tengen.stack([tengen.fft.rfft(x[i : i + 6] * window) for i in range(0, 15, 3)], 1)
    np.testing.assert_allclose(spectra.numpy(), frames.numpy(), rtol=0, atol=1e-14)


def test_what_is_warned_of() -> None:
    x, window = signal(20), tengen.ones(4, dtype=tengen.float64)
    with pytest.warns(UserWarning, match="A window was not provided"):
        spectra = tengen.stft(x, 4, return_complex=True)
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        parts = tengen.stft(x, 4, window=window, return_complex=False)
    assert tengen.equal(tengen.view_as_complex(parts.contiguous()), spectra)
    with pytest.warns(UserWarning, match="padded with zeros in the tail"):
        assert tengen.istft(spectra, 4, window=window, length=30).shape == (30,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tengen.istft(spectra, 4, window=window)


@pytest.mark.oracle
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
@pytest.mark.parametrize("hop", [1, 3, 9])
def test_as_torch(torch: Any, mode: str, hop: int) -> None:
    for n_fft, win_length in ((8, 8), (7, 5), (9, 4)):
        for x in (signal(30), signal(3, 30), signal(2, 30) + 1j * signal(2, 30)):
            window = signal(win_length).abs() + 0.5
            words: Any = {"pad_mode": mode, "return_complex": True, "normalized": True}
            here = tengen.stft(x, n_fft, hop, win_length, window, **words)
            there = torch.stft(
                torch.from_numpy(x.numpy()), n_fft, hop, win_length, torch.from_numpy(window.numpy()), **words
            )
            assert (tuple(here.shape), here.stride()) == (tuple(there.shape), there.stride())
            np.testing.assert_allclose(here.numpy(), there.numpy(), rtol=0, atol=1e-12)
