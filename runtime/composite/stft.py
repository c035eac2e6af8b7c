"""Short-time Fourier transforms: of overlapping frames of a signal, and the signal from them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.user_stack import program_stacklevel

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

#: The normalization of the kernels of Fourier transforms.
_NONE, _BY_ROOT, _BY_POINTS = 0, 1, 2
ONESIDED = "Cannot have onesided output if window or input is complex"


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=program_stacklevel())


def _check_window(name: str, window: Tensor | None, n_fft: int, hop_length: int, win_length: int) -> None:
    """Raises RuntimeError for sizes that cannot be, and for a window of another length."""
    if hop_length <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length} and n_fft={n_fft}"
        )
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, "
            f"but got window with size {list(window.shape)}"
        )


def _centred(self: Tensor, size: int) -> Tensor:
    """A window, or signals, with zeros on both sides."""
    missing = size - self.shape[-1]
    return F.constant_pad_nd(self, [missing // 2, missing - missing // 2]) if missing else self


def _padded(self: Tensor, amount: int, mode: str) -> Tensor:
    """One or several signals continued on both sides by ``mode``."""
    ndim = self.ndim
    extended = self.view((1,) * (3 - ndim) + tuple(self.shape)) if ndim < 3 else self
    padded = F.pad(extended, [amount, amount], mode)
    return padded.view(padded.shape[-ndim:]) if ndim else padded


def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The transforms of frames of ``n_fft`` points of one or several signals, ``hop_length`` points apart.
    RuntimeError for integers, for other dimensions than one or two, for an ``n_fft`` longer than the signal,
    and for one-sided transforms of complex numbers; also where a real signal does not say
    ``return_complex``."""
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    signal_ndim = self.ndim
    if center:
        self = _padded(self, n_fft // 2, pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if window is None:
        _warn(
            "A window was not provided. A rectangular window will be applied, which is known to cause "
            "spectral leakage. Other windows such as hann_window or hamming_window are recommended. To keep "
            "a rectangular window, pass window=ones(win_length)."
        )
    is_complex = self.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs.")
    if return_complex is False:
        _warn(
            "stft with return_complex=False is deprecated. view_as_real of the complex output has the old "
            "format."
        )
    if not (self.is_complex() or self.is_floating_point()):
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, not {self.dtype}")
    if signal_ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {signal_ndim} dimensions")
    if not 0 < n_fft <= self.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {self.shape[-1]}, but got n_fft={n_fft}")
    _check_window("stft", window, n_fft, hop, length)
    if onesided and is_complex:
        raise RuntimeError(ONESIDED)
    if align_to_window:
        self = _centred(self, self.shape[-1] + n_fft - length)
    frames = self.unfold(-1, n_fft, hop)
    if window is None and length < n_fft:
        window = self.new_ones((length,))
    if window is not None:
        frames = frames * _centred(window, n_fft)
    mode = _BY_ROOT if normalized else _NONE
    if is_complex:
        found = F._fft_c2c(frames, [frames.ndim - 1], mode, True)
    else:
        found = F._fft_r2c(frames, [frames.ndim - 1], mode, onesided is not False)
    found = found.transpose(-1, -2)
    return F.view_as_real(found) if return_complex is False else found


def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose frames have these transforms: their sum, by that of the squares of the window.
    RuntimeError for real spectra or none, for a number of frequencies that ``n_fft`` does not have, for a
    ``hop_length`` beyond the window, and for a ``return_complex`` that does not go with a one-sided spectrum,
    or with a complex window."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if window is None:
        _warn(
            "A window was not provided. A rectangular window will be applied. Please provide the same window "
            "used by stft to make the inversion lossless. To keep a rectangular window, pass "
            "window=ones(n_fft)."
        )
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    one_sided = _check_frequencies(self, n_fft, onesided)
    if not 0 < hop <= width:
        raise RuntimeError(
            f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop} and win_length={width}"
        )
    _check_window("istft", window, n_fft, hop, width)
    if window is None:
        window = F.ones((width,), dtype=self.dtype.to_real(), device=self.device)  # of which vmap has one
    if return_complex and one_sided:
        raise RuntimeError(ONESIDED)
    if not return_complex and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    spectra = self.transpose(-1, -2)
    mode, last = _BY_ROOT if normalized else _BY_POINTS, self.ndim - 1
    if return_complex:
        frames = F._fft_c2c(spectra, [last], mode, False)
    else:
        half = spectra if one_sided else spectra.narrow(-1, 0, n_fft // 2 + 1)
        frames = F._fft_c2r(half, [last], mode, n_fft)
    return _overlapped(frames, _centred(window, n_fft), hop, center, length)


def _check_frequencies(self: Tensor, n_fft: int, onesided: bool | None) -> bool:
    """Whether the spectra are halves. Raises RuntimeError for too many or too few frequencies."""
    if not self.numel():
        raise RuntimeError("istft: input tensor cannot be empty.")
    if self.ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {self.ndim}")
    found = self.shape[-2]
    one_sided = found != n_fft if onesided is None else onesided
    if found != (n_fft // 2 + 1 if one_sided else n_fft):
        wanted = "n_fft / 2 + 1" if one_sided else "n_fft"
        raise RuntimeError(
            f"istft: expected the frequency dimension of the input tensor to match {wanted} "
            f"when onesided={one_sided}, but got {found}"
        )
    return one_sided


def _overlapped(frames: Tensor, window: Tensor, hop: int, center: bool, length: int | None) -> Tensor:
    """The sum of the frames, each times the window, where they lie in the signal; without what was padded."""
    count, n_fft = frames.shape[-2:]
    whole = n_fft + hop * (count - 1)
    batch = frames.shape[:-2]
    sums = F.unfold_backward(frames * window, [*batch, whole], len(batch), n_fft, hop)
    squares = window.square().expand((count, n_fft))
    envelope = F.unfold_backward(squares, [whole], 0, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    signal, envelope = sums[..., start:end], envelope[start:end]
    if envelope._type.backend.has_data and bool((envelope.detach().abs() < 1e-11).any()):
        raise RuntimeError("istft: window overlap add min: 1 (the windows leave out parts of the signal)")
    signal = signal / envelope
    if end <= whole:
        return signal
    _warn(
        "The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
        "tail. Please check your center and hop_length settings."
    )
    return F.constant_pad_nd(signal, [0, end - whole])
