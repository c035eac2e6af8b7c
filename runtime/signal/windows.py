"""Windows, as ``torch.signal.windows`` has them: of float32 or float64, symmetric unless ``sym=False``.

Each takes the number ``M`` of points; one point is 1, none an empty tensor. All raise ValueError for a
negative number, another dtype, or a layout that is not strided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tengen.generated import functions as F

from ..core.device import device as Device
from ..core.memory_format import layout as Layout, strided
from ..core.scalar_type import dtype as DType, float32, float64, get_default_dtype
from ..tensors.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _options(
    name: str, M: int, dtype: DType | None, layout: Layout, device: Device | str | None, requires_grad: bool
) -> dict[str, Any]:
    """What the tensors of a window are made with. Raises ValueError where it cannot be."""
    dtype = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}


def _points(M: int, start: float, step: float, options: dict[str, Any]) -> Tensor:
    """``M`` numbers, the first of them ``start``, each ``step`` more than the one before."""
    return F.linspace(start, start + (M - 1) * step, M, **options)


def _period(M: int, sym: bool) -> int:
    """The steps from the first number to the last one or, of a periodic window, to the next one's first."""
    return M if not sym and M > 1 else M - 1


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|n - center| / tau)``; a ``center`` other than the middle is for windows that are not symmetric.

    Raises ValueError where ``tau`` is not positive, and for the ``center`` of a symmetric window.
    Its shape is ``(M,)``.
    """
    options = _options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return F.empty((0,), **options)
    if center is None:
        center = _period(M, sym) / 2
    return (-_points(M, -center / tau, 1 / tau, options).abs()).exp()


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine: ``sin(pi (n + 1/2) / M)``. Its shape is ``(M,)``."""
    options = _options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return F.empty((0,), **options)
    step = math.pi / (_period(M, sym) + 1)
    return _points(M, step / 2, step, options).sin()


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-n^2 / (2 std^2))``, ``n`` counted from the middle. ValueError where ``std`` is not positive.

    Its shape is ``(M,)``.
    """
    options = _options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return F.empty((0,), **options)
    middle, step = _period(M, sym) / 2, 1 / (std * math.sqrt(2))
    return (-_points(M, -middle * step, step, options).square()).exp()


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Bessel function of an ellipse, the narrower the greater ``beta``. ValueError for a negative one.

    Its shape is ``(M,)``.
    """
    options = _options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M <= 1:
        return F.ones((M,), **options)
    step = 2 / _period(M, sym)
    ends = _points(M, -1, step, options)
    return (beta * (1 - ends.square()).clamp(min=0).sqrt()).i0() / F.full((), beta, dtype=ends.dtype).i0()


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle from 0 to 1 and back. Its shape is ``(M,)``."""
    options = _options("bartlett", M, dtype, layout, device, requires_grad)
    if M <= 1:
        return F.ones((M,), **options)
    return 1 - _points(M, -1, 2 / _period(M, sym), options).abs()


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of ``(-1)^i a[i] cos(2 pi i n / (M - 1))``.

    Raises TypeError where ``a`` is no list, ValueError where it is empty.
    Its shape is ``(M,)``.
    """
    return _cosines("general_cosine", M, a, sym, dtype, layout, device, requires_grad)


def _cosines(
    name: str,
    M: int,
    a: Iterable[float],
    sym: bool,
    dtype: DType | None,
    layout: Layout,
    device: Device | str | None,
    requires_grad: bool,
) -> Tensor:
    options = _options(name, M, dtype, layout, device, requires_grad)
    if M <= 1:
        return F.ones((M,), **options)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    angles = _points(M, 0, 2 * math.pi / _period(M, sym), options)
    return F.stack([(-1) ** i * w * (i * angles).cos() for i, w in enumerate(weights)]).sum(0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha`` less ``1 - alpha`` times a cosine. Its shape is ``(M,)``."""
    return _cosines("general_hamming", M, (alpha, 1 - alpha), sym, dtype, layout, device, requires_grad)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.54 less 0.46 times a cosine. Its shape is ``(M,)``."""
    return _cosines("hamming", M, (0.54, 0.46), sym, dtype, layout, device, requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A period of a cosine, from 0 to 1 and back. Its shape is ``(M,)``."""
    return _cosines("hann", M, (0.5, 0.5), sym, dtype, layout, device, requires_grad)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Two cosines, whose side lobes are low. Its shape is ``(M,)``."""
    return _cosines("blackman", M, (0.42, 0.5, 0.08), sym, dtype, layout, device, requires_grad)


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Three cosines, with the weights that Nuttall found for the least side lobes. Its shape is ``(M,)``."""
    weights = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return _cosines("nuttall", M, weights, sym, dtype, layout, device, requires_grad)
