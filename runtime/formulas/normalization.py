"""Derivatives of the normalisations: what their Nodes and forward-mode formulas call.

All work on three dims: ``(outer, channels, inner)`` with statistics over some of them. Mean and
rstd come from the forward pass as plain values; where a formula must be differentiable in the
input they are made again as functions of it, with the values they had.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from .reduction import centred

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Grads = Sequence["Tensor | None"]
Gradients = tuple["Tensor | None", "Tensor | None", "Tensor | None"]


def mean_over(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """The mean over ``dims``, which are kept with size 1."""
    return x.mean(dims, True)


def normalised_input(
    x: Tensor, rstd: Tensor, dims: tuple[int, ...], around_mean: bool = True
) -> tuple[Tensor, Tensor]:
    """The normalised input, and rstd as a function of the input.

    eps is not at hand: it is what makes rstd of the variance, ``rstd^-2 - variance``, a constant.
    """
    x = centred(x, dims) if around_mean else x
    variance = mean_over(x * x, dims)
    rstd = (variance + (rstd.detach() ** -2 - variance.detach())).rsqrt()
    return x * rstd, rstd


def projection(
    v: Tensor, normalised: Tensor, rstd: Tensor, dims: tuple[int, ...], around_mean: bool = True
) -> Tensor:
    """``rstd * (v - mean(v) - n * mean(v n))``: the derivative of normalisation, which is symmetric."""
    v_less = v - mean_over(v, dims) if around_mean else v
    return (v_less - normalised * mean_over(v * normalised, dims)) * rstd


def _statistics_gradient(
    v: Tensor, u: Tensor, normalised: Tensor, rstd: Tensor, dims: tuple[int, ...], around_mean: bool
) -> Tensor:
    """The gradient of ``<v, projection(u)>`` for the input, through the normalised input and rstd."""
    u_n, v_n = mean_over(u * normalised, dims), mean_over(v * normalised, dims)
    spread = mean_over(v * u, dims) - v_n * u_n
    if around_mean:
        spread = spread - mean_over(v, dims) * mean_over(u, dims)
    through_rstd = normalised * spread * (-rstd * rstd)
    projected_v, projected_u = (projection(t, normalised, rstd, dims, around_mean) for t in (v, u))
    crossed = projected_v * u_n + projected_u * v_n
    return through_rstd - crossed * rstd


def _double_backward(
    grads: Grads,
    grad: Tensor,
    x: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    dims: tuple[int, ...],
    parameter_dims: tuple[int, ...],
    around_mean: bool = True,
) -> Gradients:
    """The gradients of a normalisation's backward for grad_out, input and weight.

    ``grads``, ``weight`` and all else have the dims of ``x``; ``dims`` are those of the statistics,
    ``parameter_dims`` those that weight and bias are broadcast along.
    """
    for_input, for_weight, for_bias = grads
    n, rstd = normalised_input(x, rstd, dims, around_mean)
    grad_grad: Tensor | None = None
    grad_input = grad_weight = None
    if for_input is not None:
        scaled = grad if weight is None else grad * weight
        projected = projection(for_input, n, rstd, dims, around_mean)
        grad_grad = projected if weight is None else projected * weight
        grad_input = _statistics_gradient(for_input, scaled, n, rstd, dims, around_mean)
        if weight is not None:
            grad_weight = (projected * grad).sum(parameter_dims, True)
    if for_weight is not None:
        grad_grad = _plus(grad_grad, n * for_weight)
        grad_input = _plus(grad_input, projection(grad * for_weight, n, rstd, dims, around_mean))
    if for_bias is not None:
        grad_grad = _plus(grad_grad, for_bias.expand(x.shape))
    return grad_grad, grad_input, grad_weight


def _plus(a: Tensor | None, b: Tensor) -> Tensor:
    return b if a is None else a + b


def reshaped(x: Tensor | None, shape: Sequence[int]) -> Tensor | None:
    """The tensor in another shape; None where there is none."""
    return None if x is None else x.reshape(shape)


# --------------------------------------------------------------------------------- layers


def layer_norm_double_backward(
    grads: Grads,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
) -> Gradients:
    """The gradients of native_layer_norm_backward for grad_out, input and weight."""
    return _row_norm_double_backward(grads, grad_out, input, normalized_shape, rstd, weight, True)


def rms_norm_double_backward(
    grads: Grads,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
) -> Gradients:
    """The gradients of _native_rms_norm_backward for grad_out, input and weight."""
    both = (*grads, None)
    return _row_norm_double_backward(both, grad_out, input, normalized_shape, rstd, weight, False)


def _row_norm_double_backward(
    grads: Grads,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
    around_mean: bool,
) -> Gradients:
    count = prod(normalized_shape)
    rows = (-1, count) if count else (input.numel(), 0)
    outer, single = rows[0], (1, count)
    got = _double_backward(
        (reshaped(grads[0], rows), reshaped(grads[1], single), reshaped(grads[2], single)),
        grad_out.reshape(rows),
        input.reshape(rows),
        rstd.reshape(outer, 1),
        reshaped(weight, single),
        (1,),
        (0,),
        around_mean,
    )
    shapes = (input.shape, input.shape, tuple(normalized_shape))
    return tuple([reshaped(g, s) for g, s in zip(got, shapes, strict=True)])  # type: ignore[return-value]


def layer_norm_jvp(
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    bias_t: Tensor | None,
    normalized_shape: Sequence[int],
    rstd: Tensor,
) -> Tensor:
    """The tangent of native_layer_norm's output."""
    dims = tuple(range(-len(normalized_shape), 0))
    return _jvp(input, input_t, weight, weight_t, bias_t, rstd, dims)


def rms_norm_jvp(
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    normalized_shape: Sequence[int],
    rstd: Tensor,
) -> Tensor:
    """The tangent of _native_rms_norm's output."""
    dims = tuple(range(-len(normalized_shape), 0))
    return _jvp(input, input_t, weight, weight_t, None, rstd, dims, False)


def _jvp(
    x: Tensor,
    x_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    bias_t: Tensor | None,
    rstd: Tensor,
    dims: tuple[int, ...],
    around_mean: bool = True,
) -> Tensor:
    n, rstd = normalised_input(x, rstd, dims, around_mean)
    out = projection(x_t, n, rstd, dims, around_mean)
    if weight is not None:
        out = out * weight
        if weight_t is not None:
            out = out + n * weight_t
    return out if bias_t is None else out + bias_t


# --------------------------------------------------------------------------------- groups


def group_norm_backward(
    grads: Grads,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    grad_input_mask: Sequence[bool],
) -> Gradients:
    """The gradients of native_group_norm, whose mean and rstd have gradients, too."""
    grad, grad_mean, grad_rstd = grads
    found: Gradients = (None, None, None)
    if grad is not None:
        found = F.native_group_norm_backward(
            grad, input, mean, rstd, weight, N, C, HxW, group, grad_input_mask
        )
    if not grad_input_mask[0] or (grad_mean is None and grad_rstd is None):
        return found
    rows, single = (N, group, C // group * HxW), (N, group, 1)
    total = found[0]
    if grad_mean is not None:
        share = (grad_mean / rows[2]).reshape(single).expand(rows)
        total = _plus(total, share.reshape(input.shape))
    if grad_rstd is not None:
        n, rstd = normalised_input(input.reshape(rows), rstd.reshape(single), (2,))
        share = n * (grad_rstd.reshape(single) * rstd * rstd / -rows[2])
        total = _plus(total, share.reshape(input.shape))
    return total, found[1], found[2]


def group_norm_rstd_jvp(
    input: Tensor, input_t: Tensor, N: int, C: int, HxW: int, group: int, rstd: Tensor
) -> Tensor:
    """The tangent of native_group_norm's rstd, of shape (N, group)."""
    rows = (N, group, C // group * HxW)
    n, rstd = normalised_input(input.reshape(rows), rstd.reshape(N, group, 1), (2,))
    return (-rstd * rstd * mean_over(n * input_t.reshape(rows), (2,))).reshape(N, group)


def group_norm_double_backward(
    grads: Grads,
    grad_out: Tensor,
    input: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
) -> Gradients:
    """The gradients of native_group_norm_backward for grad_out, input and weight."""
    rows = (N, group, C // group, HxW)
    single = (1, group, C // group, 1)
    got = _double_backward(
        (reshaped(grads[0], rows), reshaped(grads[1], single), reshaped(grads[2], single)),
        grad_out.reshape(rows),
        input.reshape(rows),
        rstd.reshape(N, group, 1, 1),
        reshaped(weight, single),
        (2, 3),
        (0, 3),
    )
    shapes = (input.shape, input.shape, (C,))
    return tuple([reshaped(g, s) for g, s in zip(got, shapes, strict=True)])  # type: ignore[return-value]


def group_norm_jvp(
    input: Tensor,
    input_t: Tensor,
    weight: Tensor | None,
    weight_t: Tensor | None,
    bias_t: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    rstd: Tensor,
) -> Tensor:
    """The tangent of native_group_norm's output."""
    rows, single = (N, group, C // group, HxW), (1, group, C // group, 1)
    scale, scale_t, shift_t = (reshaped(p, single) for p in (weight, weight_t, bias_t))
    x, x_t, rstd = input.reshape(rows), input_t.reshape(rows), rstd.reshape(N, group, 1, 1)
    return _jvp(x, x_t, scale, scale_t, shift_t, rstd, (2, 3)).reshape(input.shape)


# -------------------------------------------------------------------------------- batches


def by_channel(x: Tensor) -> tuple[int, ...]:
    """The shape (batch, channels, places)."""
    return (*x.shape[:2], prod(x.shape[2:]))


def batch_norm_double_backward(
    grads: Grads, grad_out: Tensor, input: Tensor, weight: Tensor | None, save_invstd: Tensor
) -> Gradients:
    """The gradients of _batch_norm_with_stats_backward for grad_out, input and weight."""
    rows, single = by_channel(input), (1, -1, 1)
    got = _double_backward(
        (reshaped(grads[0], rows), reshaped(grads[1], single), reshaped(grads[2], single)),
        grad_out.reshape(rows),
        input.reshape(rows),
        save_invstd.reshape(single),
        reshaped(weight, single),
        (0, 2),
        (0, 2),
    )
    shapes = (input.shape, input.shape, (input.shape[1],))
    return tuple([reshaped(g, s) for g, s in zip(got, shapes, strict=True)])  # type: ignore[return-value]


def batch_norm_by_running_double_backward(
    grads: Grads,
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    eps: float,
) -> Gradients:
    """The gradients of _batch_norm_by_running_backward for grad_out, input and weight."""
    rows, single = by_channel(input), (1, -1, 1)
    rstd = (running_var + eps).rsqrt().reshape(single)
    got = _affine_double_backward(
        (reshaped(grads[0], rows), reshaped(grads[1], single), reshaped(grads[2], single)),
        grad_out.reshape(rows),
        (input.reshape(rows) - running_mean.reshape(single)) * rstd,
        rstd,
        reshaped(weight, single),
    )
    shapes = (input.shape, input.shape, (input.shape[1],))
    return tuple([reshaped(g, s) for g, s in zip(got, shapes, strict=True)])  # type: ignore[return-value]


def _affine_double_backward(
    grads: Grads, grad: Tensor, normalised: Tensor, rstd: Tensor, weight: Tensor | None
) -> Gradients:
    """The same where mean and rstd are constants: the operator is affine in its input."""
    for_input, for_weight, for_bias = grads
    grad_grad: Tensor | None = None
    grad_input = grad_weight = None
    if for_input is not None:
        grad_grad = for_input * rstd
        if weight is not None:
            grad_weight = (grad_grad * grad).sum((0, 2), True)
            grad_grad = grad_grad * weight
    if for_weight is not None:
        grad_grad = _plus(grad_grad, normalised * for_weight)
        grad_input = grad * for_weight * rstd
    if for_bias is not None:
        grad_grad = _plus(grad_grad, for_bias.expand(grad.shape))
    return grad_grad, grad_input, grad_weight
