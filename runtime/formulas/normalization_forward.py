"""Forward mode of the normalisations' backward operators: for tangents of gradients.

As in ``tengen.formulas.normalization``: ``n`` is the normalised input, ``u`` the gradient times the weight,
and the gradient of the input is ``P(u) = rstd * (u - mean(u) - n * mean(u n))``. ``which`` is the result that
is asked for: the gradient of the input (0), of the weight (1) or of the bias (2).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from .normalization import by_channel, mean_over, normalised_input, projection, reshaped

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Dual = tuple["Tensor", "Tensor"]
OptionalDual = tuple["Tensor | None", "Tensor | None"]


def _tangent(
    which: int,
    grad: Dual,
    x: Dual,
    weight: OptionalDual,
    rstd: Tensor,
    dims: tuple[int, ...],
    parameter_dims: tuple[int, ...],
    around_mean: bool = True,
) -> Tensor | None:
    """The tangent of one of the gradients; all have the dims of ``x``."""
    g, g_t = grad
    if which == 2:
        return g_t.sum(parameter_dims, True)
    x_t = x[1]
    n, rstd = normalised_input(x[0], rstd, dims, around_mean)
    n_t = projection(x_t, n, rstd, dims, around_mean)
    if which == 1:
        return (g_t * n + g * n_t).sum(parameter_dims, True)
    u, u_t = _scaled(grad, weight)
    # rstd' = -rstd^2 mean(n x'), and P depends on it as a factor.
    by_rstd = projection(u, n, rstd, dims, around_mean) * (mean_over(n * x_t, dims) * -rstd)
    by_n = (n_t * mean_over(u * n, dims) + n * mean_over(u * n_t, dims)) * rstd
    return projection(u_t, n, rstd, dims, around_mean) + by_rstd - by_n


def _scaled(grad: Dual, weight: OptionalDual) -> Dual:
    """The gradient times the weight, and its tangent."""
    (g, g_t), (w, w_t) = grad, weight
    if w is None:
        return grad
    return g * w, (g_t * w if w_t is None else g_t * w + g * w_t)


def layer_norm_backward_jvp(
    which: int,
    grad_out: Tensor,
    grad_out_t: Tensor,
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    normalized_shape: Sequence[int],
    rstd: Tensor,
) -> Tensor | None:
    """The tangent of one of native_layer_norm_backward's results."""
    grad, x, scale = (grad_out, grad_out_t), (input, input_t), (weight, weight_t)
    return _row_norm_tangent(which, grad, x, scale, normalized_shape, rstd, True)


def rms_norm_backward_jvp(
    which: int,
    grad_out: Tensor,
    grad_out_t: Tensor,
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    normalized_shape: Sequence[int],
    rstd: Tensor,
) -> Tensor | None:
    """The tangent of one of _native_rms_norm_backward's results."""
    grad, x, scale = (grad_out, grad_out_t), (input, input_t), (weight, weight_t)
    return _row_norm_tangent(which, grad, x, scale, normalized_shape, rstd, False)


def _row_norm_tangent(
    which: int,
    grad: Dual,
    x: Dual,
    weight: OptionalDual,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    around_mean: bool,
) -> Tensor | None:
    count = prod(normalized_shape)
    rows, single = ((-1, count) if count else (x[0].numel(), 0)), (1, count)
    found = _tangent(
        which,
        (grad[0].reshape(rows), grad[1].reshape(rows)),
        (x[0].reshape(rows), x[1].reshape(rows)),
        (reshaped(weight[0], single), reshaped(weight[1], single)),
        rstd.reshape(rows[0], 1),
        (1,),
        (0,),
        around_mean,
    )
    return reshaped(found, tuple(normalized_shape) if which else x[0].shape)


def group_norm_backward_jvp(
    which: int,
    grad_out: Tensor,
    grad_out_t: Tensor,
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    rstd: Tensor,
) -> Tensor | None:
    """The tangent of one of native_group_norm_backward's results."""
    rows, single = (N, group, C // group, HxW), (1, group, C // group, 1)
    found = _tangent(
        which,
        (grad_out.reshape(rows), grad_out_t.reshape(rows)),
        (input.reshape(rows), input_t.reshape(rows)),
        (reshaped(weight, single), reshaped(weight_t, single)),
        rstd.reshape(N, group, 1, 1),
        (2, 3),
        (0, 3),
    )
    return reshaped(found, (C,) if which else input.shape)


def batch_norm_backward_jvp(
    which: int,
    grad_out: Tensor,
    grad_out_t: Tensor,
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    save_invstd: Tensor,
) -> Tensor | None:
    """The tangent of one of _batch_norm_with_stats_backward's results."""
    rows, single = by_channel(input), (1, -1, 1)
    grad = grad_out.reshape(rows), grad_out_t.reshape(rows)
    x = input.reshape(rows), input_t.reshape(rows)
    scale = reshaped(weight, single), reshaped(weight_t, single)
    found = _tangent(which, grad, x, scale, save_invstd.reshape(single), (0, 2), (0, 2))
    return reshaped(found, input.shape[1:2] if which else input.shape)


def batch_norm_by_running_backward_jvp(
    which: int,
    grad_out: Tensor,
    grad_out_t: Tensor,
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    eps: float,
) -> Tensor | None:
    """The tangent of one of _batch_norm_by_running_backward's results."""
    rows, single = by_channel(input), (1, -1, 1)
    grad = grad_out.reshape(rows), grad_out_t.reshape(rows)
    x = input.reshape(rows), input_t.reshape(rows)
    scale = reshaped(weight, single), reshaped(weight_t, single)
    rstd = (running_var + eps).rsqrt().reshape(single)
    found = _affine_tangent(which, grad, x, scale, running_mean.reshape(single), rstd)
    return reshaped(found, input.shape[1:2] if which else input.shape)


def _affine_tangent(
    which: int, grad: Dual, x: Dual, weight: OptionalDual, mean: Tensor, rstd: Tensor
) -> Tensor:
    """The same where mean and rstd are constants: the operator is affine in its input."""
    if which == 0:
        return _scaled(grad, weight)[1] * rstd
    g, g_t = grad
    if which == 2:
        return g_t.sum((0, 2), True)
    return (g_t * (x[0] - mean) * rstd + g * x[1] * rstd).sum((0, 2), True)
