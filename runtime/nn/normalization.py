"""Normalisation and embedding as ``torch.nn.functional`` has them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tengen.generated import functions as F

from ..autograd import no_grad
from ..autograd.rounding import is_reduced, rounded, widened
from ..tensors.tensor import Tensor


def _check_values_per_channel(shape: Sequence[int]) -> None:
    """With one value a channel every output would be 0."""
    if shape[0] * prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalisation of each channel (dim 1) over the batch.

    Training moves the running statistics in place. Raises ValueError for one value a channel.

    ``input`` has the shape (N, C, ...); the result has its shape and dtype.
    """
    if training and (shape := input.shape)[0] < 2:
        _check_values_per_channel(shape)
    return F.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalisation of each channel of each sample. Raises ValueError for one value a channel.

    ``input`` has the shape (N, C, ...); the result has its shape and dtype.
    """
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return F.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalisation over the last dims, whose sizes are ``normalized_shape``."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps, False)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Division by the root mean square over the last dims, whose sizes are ``normalized_shape``."""
    return F.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalisation over each of ``num_groups`` groups of channels of each sample.

    Raises ValueError for one value a group, RuntimeError when the channels do not divide.

    ``input`` has the shape (N, C, ...); the result has its shape and dtype.
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    shape = input.shape
    _check_values_per_channel([shape[0] * shape[1] // max(num_groups, 1), num_groups, *shape[2:]])
    return F.group_norm(input, num_groups, weight, bias, eps, False)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """``input`` divided by its p-norm along ``dim``, or by eps where that is larger.

    The result has the shape and the dtype of ``input``.
    """
    if is_reduced(input):
        result = normalize(widened(input), p, dim, eps, out)
        return rounded(input._type, result) if out is None else result
    length = F.linalg_vector_norm(input, p, dim, True).clamp(min=eps).expand_as(input)
    return F.div(input, length) if out is None else F.div(input, length, out=out)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight`` by the indices ``input``.

    With ``max_norm`` the rows that are used and longer are scaled down to it first, in place. A
    negative ``padding_idx`` counts from the end. Raises AssertionError when it is out of range, RuntimeError
    for a weight that is no matrix.
    """
    if weight.ndim != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, but it has {weight.ndim} dimensions")
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += rows
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    return F.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _shorten(weight: Tensor, rows: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale rows down in place: a change of the data, of which neither gradients nor tangents know."""
    with no_grad():
        F.embedding_renorm_(weight.detach(), rows, max_norm, norm_type)


_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of rows of ``weight``: for rows of ``input``, or between offsets into a vector.

    Raises ValueError for arguments that do not belong together, NotImplementedError for weights of
    other than sums.
    """
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as its rows are the bags")
        offsets = F.arange(len(input), dtype=input.dtype, device=input.device) * input.shape[1]
        include_last_offset = False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None or offsets.ndim != 1:
        raise ValueError(
            f"offsets has to be a 1D Tensor but got {None if offsets is None else f'{offsets.ndim}D'}"
        )
    if mode not in _MODES:
        raise ValueError(f"mode has to be one of sum, mean or max, but got {mode!r}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        option = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {option}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights is only supported for mode='sum' (got mode='{mode}')"
        )
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    rest = (scale_grad_by_freq, _MODES[mode], sparse, per_sample_weights, include_last_offset)
    return F.embedding_bag(weight, input, offsets, *rest, padding_idx)[0]
