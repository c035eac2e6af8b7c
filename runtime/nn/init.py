"""Initial values of parameters: each function writes random or chosen numbers into a tensor, and returns it.

Nothing of it is recorded, so parameters may be given. ``generator`` draws the numbers, by default the one
that ``manual_seed`` seeds.
"""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Callable
from typing import Any, Literal

from tengen.generated.functions import diag, empty_like, eye as _eye, ones_like, randperm, where
from tengen.generated.linalg_functions import qr

from ..autograd.grad_mode import no_grad
from ..core.function_dispatch import overridable
from ..core.scalar_type import bool_
from ..core.user_stack import program_stacklevel
from ..random import Generator
from ..tensors.tensor import Tensor


def __dir__() -> list[str]:
    return sorted(__all__)


_FanMode = Literal["fan_in", "fan_out"]
#: The functions that keep the variance as it is, and the logistic one, for which PyTorch says 1, too.
_GAIN_OF_1 = re.compile(r"linear|conv(_transpose)?[123]d|sigmoid")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain before a nonlinearity: a factor of the standard deviation of weights.

    ``param`` is the negative slope of "leaky_relu", by default 0.01. ValueError for other names, and for a
    slope that is no number.
    """
    if _GAIN_OF_1.fullmatch(nonlinearity):
        return 1
    match nonlinearity:
        case "tanh":
            return 5.0 / 3
        case "relu":
            return math.sqrt(2.0)
        case "leaky_relu":
            slope = 0.01 if param is None else param
            if isinstance(slope, bool) or not isinstance(slope, int | float):
                raise ValueError(f"negative_slope {param} not a valid number")
            return math.sqrt(2.0 / (1 + slope**2))
        case "selu":
            return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# -- distributions


@overridable
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Numbers that are uniform between ``a`` and ``b``, in a tensor of any shape."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal numbers, in a tensor of any shape."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers between ``a`` and ``b``, in a tensor of any shape: those outside are drawn again."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=program_stacklevel(),
        )
    inside = _normal_below((b - mean) / std) - _normal_below((a - mean) / std)
    with no_grad():
        if inside > 0.3:
            drawn = _from_normal(tensor, mean, std, a, b, generator)
        else:
            drawn = _from_uniform(tensor, mean, std, a, b, generator)
        return tensor.copy_(drawn)


def _normal_below(x: float) -> float:
    """The probability that a normal number is below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _from_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Normal numbers, of which those outside are drawn again: where most are inside."""
    low, high = (tensor.new_tensor(bound).item() for bound in (a, b))  # as the dtype has them
    drawn = empty_like(tensor).normal_(mean, std, generator=generator)
    while (outside := (drawn < low) | (drawn > high)).any():
        again = empty_like(tensor).normal_(mean, std, generator=generator)
        drawn = where(outside, again, drawn)
    return drawn


def _from_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Uniform numbers, each kept with the density that normal ones have there: where few are inside."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    drawn = tensor
    pending = ones_like(tensor, dtype=bool_)
    while pending.any():
        drawn = where(pending, empty_like(tensor).uniform_(a, b, generator=generator), drawn)
        log_density = ((drawn - mean) / std).pow(2) * -0.5 - peak
        pending &= empty_like(tensor).uniform_(generator=generator).log_() > log_density
    return drawn


# -- chosen numbers


def _filled(tensor: Tensor, value: float) -> Tensor:
    with no_grad():
        return tensor.fill_(value)


@overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """The number ``val`` everywhere, in a tensor of any shape and dtype."""
    return _filled(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones, in a tensor of any shape and dtype."""
    return _filled(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros, in a tensor of any shape and dtype."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """The identity: ones where both indices are the same, else zeros.

    ``tensor`` has the shape (n, m): ValueError unless it has two dimensions.
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(_eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The kernels of a convolution that hands on as many channels as it can.

    ``tensor`` has the shape (out, in, *size), with one to three sizes. ValueError for another number, and
    where ``groups`` does not divide the first.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out_channels, in_channels, *size = tensor.shape
    if out_channels % groups:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    in_group = out_channels // groups
    middle = [n // 2 for n in size]
    with no_grad():
        tensor.zero_()
        for first in range(0, out_channels, max(in_group, 1)):
            for channel in range(min(in_group, in_channels)):
                tensor[(first + channel, channel, *middle)] = 1
    return tensor


# -- by the number of connections


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input. ValueError below two dimensions."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers within ``gain * sqrt(6 / (fan_in + fan_out))`` of 0 (Glorot and Bengio, 2010).

    ``tensor`` has the shape (out, in, *size), of which the fans are made.
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(fan_in + fan_out))
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers with deviation ``gain * sqrt(2 / (fan_in + fan_out))`` (Glorot and Bengio, 2010).

    ``tensor`` has the shape (out, in, *size), of which the fans are made.
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    with no_grad():
        return tensor.normal_(0.0, std, generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@overridable
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: _FanMode = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform numbers within ``gain * sqrt(3 / fan)`` of 0 (He and others, 2015).

    ``mode`` says which fan: "fan_in" keeps the variance on the way forward, "fan_out" on the way back. ``a``
    is the slope of "leaky_relu". ValueError for another mode or function, and for a
    shape of fewer than two dimensions.
    """
    if 0 in tensor.shape:
        _warn_of_none()
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: _FanMode = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers with the standard deviation ``gain / sqrt(fan)`` (He and others, 2015).

    Shapes, arguments and errors are as for ``kaiming_uniform_``.
    """
    if 0 in tensor.shape:
        _warn_of_none()
        return tensor
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    with no_grad():
        return tensor.normal_(0, std, generator=generator)


def _warn_of_none() -> None:
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=program_stacklevel())


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A random matrix whose rows, or columns if these are fewer, are orthonormal, times ``gain``.

    Dimensions after the second count as columns (Saxe and others, 2013). ValueError for a shape of
    fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = qr(drawn.t() if rows < columns else drawn)
        q = q * diag(r, 0).sign()  # else not all such matrices were as likely
        q = q.t() if rows < columns else q
        tensor.view_as(q).copy_(q)
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers, of which a part ``sparsity`` of each column is 0 (Martens, 2010).

    ``tensor`` has the shape (rows, columns): ValueError unless it has two dimensions.
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


# -- the old names


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = function.__name__
    old = new.removesuffix("_")

    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=program_stacklevel(),
        )
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = old
    renamed.__doc__ = f"Deprecated for ``{new}``, which is the same.\n\n    {function.__doc__}"
    return renamed


constant = _deprecated(constant_)
dirac = _deprecated(dirac_)
eye = _deprecated(eye_)
kaiming_normal = _deprecated(kaiming_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
normal = _deprecated(normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
uniform = _deprecated(uniform_)
xavier_normal = _deprecated(xavier_normal_)
xavier_uniform = _deprecated(xavier_uniform_)

_own = [name for name, made in globals().items() if getattr(made, "__module__", "") == __name__]
__all__ = sorted([name for name in _own if not name.startswith("_")])
