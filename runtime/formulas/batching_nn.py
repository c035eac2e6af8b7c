"""What the batching rules of neural networks' operators call.

Every tensor is a value, its dimension 0 is the batch dimension, where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from ..kernels.creation import as_number
from .batching import pad_to_logical_rank

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex
Grads = tuple["Tensor | None", ...]


# -- matrices -----------------------------------------------------------------------------


def scaled_sum(self: Tensor, product: Tensor, beta: Number, alpha: Number) -> Tensor:
    """``beta * self + alpha * product``, factors being of the dtype; without ``self`` where ``beta`` is 0."""
    beta, alpha = (as_number(factor, product.dtype.array_dtype) for factor in (beta, alpha))
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return (self if beta == 1 else self * beta) + product


def _same_batch(*tensors: Tensor) -> list[Tensor]:
    """The values with as many dimensions as the one that has the most."""
    ndim = max([t.ndim for t in tensors])
    return [t.view((len(t), *[1] * (ndim - t.ndim), *t.shape[1:])) for t in tensors]


def _system(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor, bool]:
    """``A`` and ``B`` in one batch; a logical vector ``B``, which is told, becomes a matrix of one column."""
    vector = B.ndim == 2 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    matrix, given = _same_batch(A, B.unsqueeze(-1) if vector else B)
    return matrix, given, vector


def _with_pivots(A: Tensor, pivots: Tensor, B: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The factors, the pivots and the right-hand sides in one batch."""
    matrix, given = _same_batch(A, B)
    rows = pivots.view((len(pivots), *[1] * (matrix.ndim - 1 - pivots.ndim), *pivots.shape[1:]))
    return matrix, rows, given


def solve_batched(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> tuple[Tensor, Tensor]:
    """``linalg_solve_ex``: a logical vector ``B`` is one in the value."""
    matrix, given, vector = _system(A, B)
    result, info = F.linalg_solve_ex(matrix, given, left=left, check_errors=check_errors)
    return (result.squeeze(-1) if vector else result), info


def lstsq_batched(self: Tensor, b: Tensor, rcond: float | None, driver: str | None) -> tuple[Tensor, ...]:
    """``linalg_lstsq``: a logical vector ``B`` is one in the value; what is not computed is empty."""
    matrix, given, vector = _system(self, b)
    solution, *rest = F.linalg_lstsq(matrix, given, rcond, driver=driver)
    rest = [r if r.numel() else r.new_empty((len(self), 0)) for r in rest]
    return (solution.squeeze(-1) if vector else solution), *rest


def lu_solve_batched(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    """``linalg_lu_solve``."""
    return F.linalg_lu_solve(*_with_pivots(LU, pivots, B), left=left, adjoint=adjoint)


def ldl_solve_batched(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    """``linalg_ldl_solve``."""
    return F.linalg_ldl_solve(*_with_pivots(LD, pivots, B), hermitian=hermitian)


def lu_unpack_batched(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool
) -> tuple[Tensor, ...]:
    """``lu_unpack``; what is not asked for is empty."""
    parts = F.lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)
    asked = (unpack_pivots, unpack_data, unpack_data)
    return tuple(p if a else p.new_empty((len(LU_data), 0)) for p, a in zip(parts, asked, strict=True))


def pinv_batched(self: Tensor, atol: Tensor | None, rtol: Tensor | None, hermitian: bool) -> Tensor:
    """``linalg_pinv``: a tolerance for each matrix."""

    ndim = max([self.ndim - 3, *[t.ndim - 1 for t in (atol, rtol) if t is not None]])
    atol, rtol = [None if t is None else pad_to_logical_rank(t, ndim) for t in (atol, rtol)]
    return F.linalg_pinv(pad_to_logical_rank(self, ndim + 2), atol=atol, rtol=rtol, hermitian=hermitian)


# -- embeddings ---------------------------------------------------------------------------


def _folded_indices(indices: Tensor, count: int) -> Tensor:
    """Row numbers of each slice's matrix as those of all matrices stacked.

    What is no row of its own stays out of range: it must not become another slice's.
    """
    starts = F.arange(len(indices), device=indices.device) * count
    folded = indices + starts.view((len(indices), *[1] * (indices.ndim - 1)))
    return F.where((indices >= 0).logical_and(indices < count), folded, -1)


def embedding_batched(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """``embedding`` with a batched weight."""
    count = weight.shape[1]
    flat = weight.reshape((weight.shape[0] * count, weight.shape[2]))
    found = F.embedding(flat, _folded_indices(indices, count), -1, scale_grad_by_freq)
    if padding_idx < 0:
        return found
    return F.where((indices == padding_idx).unsqueeze(-1), found.detach(), found)


def embedding_backward_batched(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """``embedding_dense_backward``."""
    if padding_idx >= 0:
        grad_output = grad_output.masked_fill((indices == padding_idx).unsqueeze(-1), 0)
    count = len(indices)
    flat = F.embedding_dense_backward(
        grad_output, _folded_indices(indices, num_weights), count * num_weights, -1, scale_grad_by_freq
    )
    return flat.reshape((count, num_weights, flat.shape[-1]))


# -- channels: the batch dimension is folded into them ------------------------------------------


def fold_channels(self: Tensor) -> Tensor:
    """(B, N, C, ...) as (N, B * C, ...)."""
    shape = self.shape
    return self.movedim(0, 1).reshape((shape[1], shape[0] * shape[2], *shape[3:]))


def unfold_channels(self: Tensor, count: int) -> Tensor:
    """The inverse of ``fold_channels``, for the batch size ``count``."""
    shape = self.shape
    return self.reshape((shape[0], count, shape[1] // count, *shape[2:])).movedim(1, 0)


def fold_first(self: Tensor | None) -> Tensor | None:
    """(B, C, ...) as (B * C, ...)."""
    if self is None:
        return None
    shape = self.shape
    return self.reshape((shape[0] * shape[1], *shape[2:]))


def unfold_first(self: Tensor | None, count: int) -> Tensor | None:
    """The inverse of ``fold_first``."""
    if self is None:
        return None
    shape = self.shape
    return self.reshape((count, shape[0] // count, *shape[1:]))


def convolution_folded(self: Tensor, weight: Tensor) -> Tensor:
    """The value of a convolution's input as one batch of all samples; without any it is one."""
    return self if self.ndim == weight.ndim else self.flatten(0, 1)


def convolution_unfolded(self: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    """The result of a convolution of such a batch, unfolded; ``input`` is the value that was folded."""
    return self if input.ndim == weight.ndim else self.reshape((*input.shape[:2], *self.shape[1:]))


def convolution_with_batch_dim(self: Tensor, weight: Tensor) -> Tensor:
    """The input of a convolution with its dimension of the batch, which may be missing: (B, N, C, ...)."""
    return self.unsqueeze(1) if self.ndim < weight.ndim else self


def convolved(self: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    """The result of a convolution with the batch dimension folded into the channels, unfolded."""
    out = unfold_channels(self, len(weight))
    return out.squeeze(1) if input.ndim < weight.ndim else out


def convolution_gradients(grads: Grads, input: Tensor, weight: Tensor) -> Grads:
    """The gradients of a convolution with the batch dimension folded into the channels, unfolded."""
    count = len(weight)
    grad_input = None if grads[0] is None else convolved(grads[0], input, weight)
    return grad_input, unfold_first(grads[1], count), unfold_first(grads[2], count)


def fractional_max_pool_each(
    self: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Tensor, dims: int
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool2d`` or ``3d``: the batch dimension is folded into the first one."""
    batch = self.shape[1] if self.ndim == dims + 3 else 1
    flat = self.reshape((len(self) * batch, *self.shape[-dims - 1 :]))
    samples = random_samples[:, :batch].reshape((len(flat), *random_samples.shape[2:]))
    pool = F.fractional_max_pool2d if dims == 2 else F.fractional_max_pool3d
    best, where = pool(flat, kernel_size, output_size, samples)
    shape = (*self.shape[:-dims], *best.shape[-dims:])
    return best.reshape(shape), where.reshape(shape)


def batch_norm_results(results: Sequence[Tensor], count: int) -> tuple[Tensor | None, ...]:
    """The results for folded channels, unfolded."""
    return unfold_channels(results[0], count), *[unfold_first(r, count) for r in results[1:]]


def batch_norm_gradients(grads: Grads, count: int) -> Grads:
    """The gradients for folded channels, unfolded."""
    grad_input = None if grads[0] is None else unfold_channels(grads[0], count)
    return grad_input, unfold_first(grads[1], count), unfold_first(grads[2], count)


# -- normalisation: batched weights are applied afterwards -------------------


def _trailing(self: Tensor, ndim: int) -> Tensor:
    """A value like a weight, so that it broadcasts to one of logical rank ``ndim``."""
    return self.view((len(self), *[1] * (ndim + 1 - self.ndim), *self.shape[1:]))


def _affine(self: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        self = self * weight
    return self if bias is None else self + bias


def layer_norm_batched(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, ...]:
    """``native_layer_norm`` with a batched weight and bias."""
    out, mean, rstd = F.native_layer_norm(input, normalized_shape, None, None, eps)
    ndim = input.ndim - 1
    w, b = [None if t is None else _trailing(t, ndim) for t in (weight, bias)]
    return _affine(out, w, b), mean, rstd


def layer_norm_backward_batched(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
) -> Grads:
    """``native_layer_norm_backward`` with a batched weight."""
    ndim = input.ndim - 1
    lead = tuple(range(1, input.ndim - len(normalized_shape)))
    grad_input = grad_weight = grad_bias = None
    if output_mask[0]:
        grad = grad_out if weight is None else grad_out * _trailing(weight, ndim)
        grad_input = F.native_layer_norm_backward(
            grad, input, normalized_shape, mean, rstd, None, None, (True, False, False)
        )[0]
    if output_mask[1]:
        product = grad_out * (input - mean) * rstd
        grad_weight = product.sum(lead) if lead else product
    if output_mask[2]:
        grad_bias = grad_out.sum(lead) if lead else grad_out
    return grad_input, grad_weight, grad_bias


def rms_norm_batched(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float
) -> tuple[Tensor, ...]:
    """``_native_rms_norm`` with a batched weight."""
    out, rstd = F._native_rms_norm(input, normalized_shape, None, eps)
    return _affine(out, None if weight is None else _trailing(weight, input.ndim - 1), None), rstd


def rms_norm_backward_batched(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
) -> Grads:
    """``_native_rms_norm_backward`` with a batched weight."""
    grad_input = grad_weight = None
    if output_mask[0]:
        grad = grad_out if weight is None else grad_out * _trailing(weight, input.ndim - 1)
        given = (grad, input, normalized_shape, rstd, None, (True, False))
        grad_input = F._native_rms_norm_backward(*given)[0]
    if output_mask[1]:
        lead = tuple(range(1, input.ndim - len(normalized_shape)))
        product = grad_out * input * rstd
        grad_weight = product.sum(lead) if lead else product
    return grad_input, grad_weight


def _by_channel(weight: Tensor | None, ndim: int) -> Tensor | None:
    """(B, C) so that it broadcasts to (B, N, C, ...)."""
    return None if weight is None else weight.view((len(weight), 1, weight.shape[1], *[1] * (ndim - 3)))


def group_norm_batched(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, ...]:
    """``native_group_norm``: the batch dimension is folded into N."""
    count = len(input)
    flat = input.reshape((count * N, *input.shape[2:]))
    out, mean, rstd = F.native_group_norm(flat, None, None, count * N, C, HxW, group, eps)
    out = out.reshape(input.shape)
    out = _affine(out, _by_channel(weight, input.ndim), _by_channel(bias, input.ndim))
    return out, mean.reshape((count, N, group)), rstd.reshape((count, N, group))


def group_norm_backward_batched(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> Grads:
    """``native_group_norm_backward``: the batch dimension is folded into N."""
    count = len(input)
    grad_input = grad_weight = grad_bias = None
    if output_mask[0]:
        scale = _by_channel(weight, input.ndim)
        grad = grad_out if scale is None else grad_out * scale
        g, x, m, r = [t.reshape((count * N, *t.shape[2:])) for t in (grad, input, mean, rstd)]
        grad_input = F.native_group_norm_backward(
            g, x, m, r, None, count * N, C, HxW, group, (True, False, False)
        )[0]
        grad_input = grad_input.reshape(input.shape)
    if output_mask[1]:
        parts = (count, N, group, C // group * HxW)
        normalised = (input.reshape(parts) - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)
        product = grad_out.reshape((count, N, C, HxW)) * normalised.reshape((count, N, C, HxW))
        grad_weight = product.sum((1, 3))
    if output_mask[2]:
        grad_bias = grad_out.reshape((count, N, C, HxW)).sum((1, 3))
    return grad_input, grad_weight, grad_bias


# -- losses of classes, of one slice ------------------------------------------------------


def _weights(target: Tensor, self: Tensor, weight: Tensor | None, ignore_index: int) -> tuple[Tensor, Tensor]:
    """The weight of each target, 0 where it is ignored; and the targets, 0 there."""
    ignored = target == ignore_index
    valid = target.masked_fill(ignored, 0)
    if weight is None:
        found = F.ones_like(target, dtype=self.dtype)
    else:
        found = weight.index_select(0, valid.reshape(-1)).reshape(target.shape)
    return found.masked_fill(ignored, 0), valid


def nll_loss_decomposition(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """``nll_loss_forward`` of one slice, the classes in dimension 1, or 0 of a vector."""
    dim = 1 if self.ndim > 1 else 0
    weights, valid = _weights(target, self, weight, ignore_index)
    loss = -self.gather(dim, valid.unsqueeze(dim)).squeeze(dim) * weights
    # What is ignored counts for nothing, even where it is not finite.
    loss = F.where(weights == 0, 0, loss)
    total = weights.sum()
    if reduction == 0:
        return loss, self.new_zeros(())
    if reduction == 1:
        return loss.sum() / total, total
    return loss.sum(), total


def nll_loss_backward_decomposition(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """``nll_loss_backward`` of one slice."""
    dim = 1 if self.ndim > 1 else 0
    weights, valid = _weights(target, self, weight, ignore_index)
    slope = -weights * grad_output
    if reduction == 1:
        slope = slope / total_weight
    slope = F.where(weights == 0, 0, slope)
    zeros = F.zeros_like(self)
    return zeros.scatter(dim, valid.unsqueeze(dim), slope.unsqueeze(dim))


# ------------------------------------------------------------------------------------ grids


def affine_grid_generator_batched(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """``affine_grid_generator`` of (batch, N, d, d + 1): of as many maps as there are in all."""
    count = theta.shape[:2] if theta.ndim > 2 else theta.shape
    points = F.affine_grid_generator(theta.flatten(0, 1), (count.numel(), *size[1:]), align_corners)
    return points.unflatten(0, count)
