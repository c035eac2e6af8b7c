"""The transforms that users call: what PyTorch checks, and the three kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.scalar_type import complex_of, get_default_dtype
from ..kernels.dims import wrap_dim

if TYPE_CHECKING:
    from ..core.scalar_type import dtype as DType
    from ..tensors.tensor import Tensor

Shape = tuple[int, ...]
Dims = Sequence[int]

#: The kernels' normalization of a forward transform, by ``norm``. That of an inverse one is 2 less it.
_NORMS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}


def _norm(norm: str | None, forward: bool) -> int:
    """The kernels' number. Raises RuntimeError for a word that is none of the three."""
    if norm not in _NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; expected "forward", "backward" or "ortho"')
    return _NORMS[norm] if forward else 2 - _NORMS[norm]


def _computed_in(self: Tensor) -> DType:
    """The dtype in which it is transformed. Raises RuntimeError for float16 and bfloat16."""
    inexact = self.dtype.is_inexact
    dtype = self.dtype if inexact else get_default_dtype()
    if dtype.category == "reduced":
        raise RuntimeError(f"Unsupported dtype {dtype.type_name}")
    return dtype


def _as_complex(self: Tensor) -> Tensor:
    return self.to(complex_of(_computed_in(self)))


def _as_real(self: Tensor, function: str) -> Tensor:
    """Raises RuntimeError for complex numbers."""
    if self.is_complex():
        raise RuntimeError(f"{function} expects a real input tensor, but got {self.dtype.type_name}")
    return self.to(_computed_in(self))


def _dimension(self: Tensor, dim: int) -> int:
    """``dim`` from the front. Raises IndexError where there is none; a 0-d tensor has none at all."""
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, self.ndim)


def _check_points(count: int) -> int:
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")
    return count


def _resized(self: Tensor, dims: Dims, sizes: Sequence[int]) -> Tensor:
    """``self`` cut, or filled up with zeros, to the sizes along ``dims``."""
    for d, size in zip(dims, sizes, strict=True):
        if self.shape[d] > size:
            self = self.narrow(d, 0, size)
    added = [0] * self.ndim
    for d, size in zip(dims, sizes, strict=True):
        added[d] = size - self.shape[d]
    if not any(added):
        return self
    return F.constant_pad_nd(self, [n for d in reversed(range(self.ndim)) for n in (0, added[d])])


def _shape_and_dims(self: Tensor, s: Sequence[int] | None, dim: Dims | None) -> tuple[Shape, Shape]:
    """How many points there are along which dimensions, counted from the front.

    Raises IndexError where there is no such dimension, and RuntimeError for one that is named twice, for
    ``s`` and ``dim`` of different lengths, and for no points.
    """
    dims = () if dim is None else tuple([_dimension(self, d) for d in dim])
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"FFT dims must be unique, but got {list(dims)}")
    if s is None:
        dims = dims if dim is not None else tuple(range(self.ndim))
        sizes = tuple([self.shape[d] for d in dims])
    else:
        if dim is not None and len(dims) != len(s):
            raise RuntimeError(
                "When given, dim and shape arguments must have the same length, "
                f"but got {len(dims)} and {len(s)}"
            )
        if len(s) > self.ndim:
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {self.ndim} dimensions."
            )
        if dim is None:
            dims = tuple(range(self.ndim - len(s), self.ndim))
        sizes = tuple([self.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)])
    for n in sizes:
        _check_points(n)
    return sizes, dims


def _some(dims: Shape, function: str) -> None:
    if not dims:
        raise RuntimeError(f"{function} must transform at least one axis")


def _half_shape(
    self: Tensor, s: Sequence[int] | None, dim: Dims | None, function: str
) -> tuple[Shape, Shape, int]:
    """Of half of a Hermitian array: its shape, the dimensions, the last size of the whole."""
    sizes, dims = _shape_and_dims(self, s, dim)
    _some(dims, function)
    whole = sizes[-1]
    if s is None or s[-1] == -1:
        whole = 2 * (self.shape[dims[-1]] - 1)
    _check_points(whole)
    return (*sizes[:-1], whole // 2 + 1), dims, whole


# ------------------------------------------------------------------------------ one dimension


def _from_real(
    self: Tensor, n: int | None, dim: int, norm: str | None, function: str, forward: bool, onesided: bool
) -> Tensor:
    """The transform of real numbers; the inverse one is the conjugate of the forward one."""
    self = _as_real(self, function)
    d = _dimension(self, dim)
    points = _check_points(self.shape[d] if n is None else n)
    result: Tensor = F._fft_r2c(_resized(self, [d], [points]), [d], _norm(norm, forward), onesided)
    return result if forward else result.conj()


def _to_real(self: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    """The transform of half of a Hermitian sequence."""
    self = _as_complex(self)
    d = _dimension(self, dim)
    points = _check_points(2 * (self.shape[d] - 1) if n is None else n)
    self = _resized(self, [d], [points // 2 + 1])
    return F._fft_c2r(self.conj() if forward else self, [d], _norm(norm, forward), points)


def _complex(self: Tensor, n: int | None, dim: int, norm: str | None, function: str, forward: bool) -> Tensor:
    if not self.is_complex():
        return _from_real(self, n, dim, norm, function, forward, False)
    d = _dimension(self, dim)
    points = _check_points(self.shape[d] if n is None else n)
    return F._fft_c2c(_resized(self, [d], [points]), [d], _norm(norm, forward), forward)


def fft_fft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform along ``dim``, of ``n`` points."""
    return _complex(self, n, dim, norm, "fft", True)


def fft_ifft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse transform along ``dim``."""
    return _complex(self, n, dim, norm, "ifft", False)


def fft_rfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the transform of real numbers."""
    return _from_real(self, n, dim, norm, "rfft", True, True)


def fft_irfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real numbers whose transform ``self`` is the first half of."""
    return _to_real(self, n, dim, norm, False)


def fft_hfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of the Hermitian sequence that ``self`` is the first half of."""
    return _to_real(self, n, dim, norm, True)


def fft_ihfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the Hermitian sequence whose transform is ``self``."""
    return _from_real(self, n, dim, norm, "ihfft", False, True)


# -------------------------------------------------------------------------- several dimensions


def _complex_n(
    self: Tensor, s: Sequence[int] | None, dim: Dims | None, norm: str | None, forward: bool
) -> Tensor:
    sizes, dims = _shape_and_dims(self, s, dim)
    return F._fft_c2c(_resized(_as_complex(self), dims, sizes), dims, _norm(norm, forward), forward)


def fft_fftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Dims | None = None, norm: str | None = None
) -> Tensor:
    """The transform along several dimensions, of ``s`` points."""
    return _complex_n(self, s, dim, norm, True)


def fft_ifftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Dims | None = None, norm: str | None = None
) -> Tensor:
    """The inverse transform along several dimensions."""
    return _complex_n(self, s, dim, norm, False)


def fft_rfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Dims | None = None, norm: str | None = None
) -> Tensor:
    """The transform of real numbers along several dimensions, half of the last one."""
    self = _as_real(self, "rfftn")
    sizes, dims = _shape_and_dims(self, s, dim)
    _some(dims, "rfftn")
    return F._fft_r2c(_resized(self, dims, sizes), dims, _norm(norm, True), True)


def fft_irfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Dims | None = None, norm: str | None = None
) -> Tensor:
    """The real numbers whose transform along several dimensions ``self`` is the first half of."""
    sizes, dims, whole = _half_shape(self, s, dim, "irfftn")
    return F._fft_c2r(_resized(_as_complex(self), dims, sizes), dims, _norm(norm, False), whole)


def fft_hfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Dims | None = None, norm: str | None = None
) -> Tensor:
    """The real transform of the Hermitian array that ``self`` is the first half of."""
    sizes, dims, whole = _half_shape(self, s, dim, "hfftn")
    half, mode = _resized(_as_complex(self), dims, sizes), _norm(norm, True)
    if len(dims) > 1:
        half = F._fft_c2c(half, dims[:-1], mode, True)
    return F._fft_c2r(half.conj(), dims[-1:], mode, whole)


def fft_ihfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Dims | None = None, norm: str | None = None
) -> Tensor:
    """The first half of the Hermitian array whose transform along several dimensions is ``self``."""
    self = _as_real(self, "ihfftn")
    sizes, dims = _shape_and_dims(self, s, dim)
    _some(dims, "ihfftn")
    mode = _norm(norm, False)
    half: Tensor = F._fft_r2c(_resized(self, dims, sizes), dims[-1:], mode, True).conj()
    return half if len(dims) == 1 else F._fft_c2c(half, dims[:-1], mode, False)


# ------------------------------------------------------------------------------------- shifts


def _shifted(self: Tensor, dim: Dims | None, rounding: int) -> Tensor:
    dims = tuple(range(self.ndim)) if dim is None else tuple([wrap_dim(d, self.ndim) for d in dim])
    return self.roll([(self.shape[d] + rounding) // 2 for d in dims], dims)


def fft_fftshift(self: Tensor, dim: Dims | None = None) -> Tensor:
    """The zero frequency in the middle."""
    return _shifted(self, dim, 0)


def fft_ifftshift(self: Tensor, dim: Dims | None = None) -> Tensor:
    """The zero frequency first again."""
    return _shifted(self, dim, 1)
