"""Activations and dropout as ``torch.nn.functional`` has them.

With ``inplace=True`` a function writes its result into the input and returns that.
"""

from __future__ import annotations

import warnings

from tengen.generated import functions as F

from ..autograd.rounding import is_reduced, rounded, widened
from ..core.scalar_type import dtype as Dtype
from ..core.user_stack import program_stacklevel
from ..tensors.tensor import Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)`` of each element."""
    return F.relu_(input) if inplace else F.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)``.

    The result has the shape and the dtype of ``input``.
    """
    return F.relu6_(input) if inplace else F.relu6(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``negative_slope * x``.

    The result has the shape and the dtype of ``input``.
    """
    return F.leaky_relu_(input, negative_slope) if inplace else F.leaky_relu(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    The result has the shape and the dtype of ``input``.
    """
    return F.elu_(input, alpha) if inplace else F.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the alpha and scale that keep mean 0 and variance 1.

    The result has the shape and the dtype of ``input``.
    """
    return F.selu_(input) if inplace else F.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``; RuntimeError for an alpha of 0.

    The result has the shape and the dtype of ``input``.
    """
    return F.celu_(input, alpha) if inplace else F.celu(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``.

    The result has the shape and the dtype of ``input``.
    """
    return F.silu_(input) if inplace else F.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``.

    The result has the shape and the dtype of ``input``.
    """
    return F.mish_(input) if inplace else F.mish(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` brought into ``[min_val, max_val]``; ValueError when these cross.

    The result has the shape and the dtype of ``input``.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return F.hardtanh_(input, min_val, max_val) if inplace else F.hardtanh(input, min_val, max_val)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``.

    The result has the shape and the dtype of ``input``.
    """
    return F.hardswish_(input) if inplace else F.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``(x + 3) / 6`` brought into [0, 1].

    The result has the shape and the dtype of ``input``.
    """
    return F.hardsigmoid_(input) if inplace else F.hardsigmoid(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where above the threshold, else ``value``.

    The result has the shape and the dtype of ``input``.
    """
    return F.threshold_(input, threshold, value) if inplace else F.threshold(input, threshold, value)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a * sigmoid(b)`` of the halves along ``dim``; RuntimeError for an odd size or no dims."""
    return F.glu(input, dim)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``.

    The result has the shape of ``input``, and a floating-point or complex dtype.
    """
    if is_reduced(input):
        once: Tensor = rounded(input._type, softsign(widened(input)))
        return once
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``.

    The result has the shape of ``input``, and a floating-point or complex dtype.
    """
    if is_reduced(input):
        once: Tensor = rounded(input._type, tanhshrink(widened(input)))
        return once
    return input - input.tanh()


def _chosen_dim(name: str, dim: int | None, ndim: int) -> int:
    """The dim, or the one that was implied before it had to be given."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=program_stacklevel(),
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None
) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``; computed in ``dtype`` if given."""
    return F.softmax(input, _chosen_dim("softmax", dim, input.ndim), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None
) -> Tensor:
    """The logarithm of ``softmax``, exact where that underflows.

    The result has the shape of ``input``, and its dtype unless ``dtype`` is given.
    """
    return F.log_softmax(input, _chosen_dim("log_softmax", dim, input.ndim), dtype=dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None
) -> Tensor:
    """``softmax(-x)`` along ``dim``; computed in ``dtype`` if given."""
    return F.softmax(-input, _chosen_dim("softmin", dim, input.ndim), dtype=dtype)


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``x`` where positive, else times a slope: in training a random one of each element, else the mean."""
    return (F.rrelu_ if inplace else F.rrelu)(input, lower, upper, training)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample, of the shape of ``logits``, of the Gumbel-softmax distribution of temperature ``tau``.

    It has the shape and dtype of ``logits``. With ``hard`` it is one-hot, and its gradient that of the soft
    sample.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=program_stacklevel())
    noise = -F.empty_like(logits).contiguous().exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.max(dim, True)[1]
    one_hot = F.zeros_like(soft).scatter(dim, chosen, 1.0)
    return one_hot - soft.detach() + soft


# ------------------------------------------------------------------------------- dropout


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability p when training, the others divided by ``1 - p``.

    Raises ValueError unless p is in [0, 1].

    The result has the shape and the dtype of ``input``.
    """
    _check_probability(p)
    return F.dropout_(input, p, training) if inplace else F.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for ``selu``: mean and variance stay. Raises ValueError unless p is in [0, 1].

    The result has the shape and the dtype of ``input``.
    """
    _check_probability(p)
    out = F.alpha_dropout(input, p, training)
    return input.copy_(out) if inplace else out


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """``alpha_dropout`` of whole channels (dim 1), in the shape and dtype of ``input``.

    Raises ValueError unless p is in [0, 1].
    """
    _check_probability(p)
    return (F.feature_alpha_dropout_ if inplace else F.feature_alpha_dropout)(input, p, training)


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    _check_probability(p)
    if batched:
        out = F.feature_dropout(input, p, training)
    else:
        out = F.feature_dropout(input.unsqueeze(0), p, training).squeeze(0)
    return input.copy_(out) if inplace else out


def _warn_of_dims(function: str, given: int, taken: str) -> None:
    warnings.warn(
        f"{function}: Received a {given}-D input, which is deprecated and will be an error: it drops the "
        f"channels of {taken} dims. To drop elements there is dropout",
        stacklevel=program_stacklevel(),
    )


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L); RuntimeError for other inputs.

    The result has the shape and the dtype of ``input``.
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input.")
    return _feature_dropout(input, p, training, inplace, input.ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, H, W); a warning for inputs of other dims.

    The result has the shape and the dtype of ``input``.
    """
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input, which is taken as (N, C, L), as dropout1d does, and not as "
            "(C, H, W)",
            stacklevel=program_stacklevel(),
        )
    elif input.ndim != 4:
        _warn_of_dims("dropout2d", input.ndim, "3 or 4")
    return _feature_dropout(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W); a warning for inputs of other dims.

    The result has the shape and the dtype of ``input``.
    """
    if input.ndim not in (4, 5):
        _warn_of_dims("dropout3d", input.ndim, "4 or 5")
    return _feature_dropout(input, p, training, inplace, input.ndim == 5)
