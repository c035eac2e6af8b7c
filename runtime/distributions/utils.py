"""What distributions share: parameters that broadcast, odds and probabilities, triangles as vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from math import isqrt
from typing import Any, Final, Generic, TypeVar, overload

from tengen.generated.functions import arange, log, log1p, randn, sigmoid, softmax, zeros

from ..autograd.grad_mode import enable_grad
from ..core.device import device as Device
from ..core.scalar_type import dtype as DType, finfo, get_default_dtype
from ..func.batched import BatchedTensor
from ..functional import broadcast_tensors
from ..tensors.creation import tensor
from ..tensors.tensor import Tensor

#: The Euler-Mascheroni constant, the mean of a standard Gumbel distribution.
euler_constant: Final = 0.57721566490153286060

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

T = TypeVar("T", contravariant=True)
R = TypeVar("R", covariant=True)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__tengen_function__")


def broadcast_all(*values: Any) -> Sequence[Tensor]:
    """The values as tensors of one shape.

    Numbers take the dtype and device of the first tensor among the values, or the default dtype where there
    is none. ValueError for what is neither a number nor a tensor.
    """
    like: Tensor | None = None
    numbers = False
    for value in values:
        if _is_tensor_like(value):
            if like is None and isinstance(value, Tensor):
                like = value
        elif isinstance(value, int | float | complex):
            numbers = True
        else:
            raise ValueError(
                "broadcast_all(): Input arguments must all be instances of Number, torch.Tensor or objects "
                f"implementing __torch_function__, not {type(value).__name__}"
            )
    if not numbers:
        return broadcast_tensors(*values)
    dtype, device = (get_default_dtype(), None) if like is None else (like.dtype, like.device)
    found = [v if _is_tensor_like(v) else tensor(v, dtype=dtype, device=device) for v in values]
    return broadcast_tensors(*found)


def all_valid(found: Tensor) -> bool:
    """Whether all elements are True; under ``vmap`` those of all slices, of which it makes one decision."""
    while isinstance(found, BatchedTensor):
        found = found._value
    return bool(found.all())


def _standard_normal(shape: Sequence[int], dtype: DType | None, device: Device | str | None) -> Tensor:
    """Numbers of the standard normal distribution."""
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log odds, or without ``is_binary`` of log weights along the last dimension."""
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """The probabilities, between ``eps`` and ``1 - eps`` of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds of probabilities, or without ``is_binary`` their logarithms, of their shape."""
    clamped = clamp_probs(probs)
    return log(clamped) - log1p(-clamped) if is_binary else log(clamped)


class lazy_property(Generic[T, R]):
    """An attribute that is computed when it is first read, with gradients, and kept in the instance."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        self.wrapped: Callable[[T], R] = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, obj_type: Any = None) -> _lazy_property_and_property[T, R]: ...

    @overload
    def __get__(self, instance: T, obj_type: Any = None) -> R: ...

    def __get__(self, instance: T | None, obj_type: Any = None) -> R | _lazy_property_and_property[T, R]:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[T, R], property):
    """What a class shows for a lazy property: a property, for ``help``, and lazy, for validation."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        property.__init__(self, wrapped)


def _triangle(n: int, diag: int, device: Device) -> Tensor:
    """Where a matrix of ``n`` rows has its lower triangle, up to the diagonal ``diag``."""
    columns = arange(n, device=device)
    return columns < columns.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of the last two dimensions, by rows: (..., D, D) -> (..., number of elements).

    ``diag`` moves the diagonal up to which elements are taken. ValueError where it is outside the matrix.
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"tril_matrix_to_vec(): diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices of which the last dimension has the elements by rows; else 0.

    The inverse of ``tril_matrix_to_vec``. ValueError for a length that no matrix has.
    """
    count, width = vec.shape[-1], 1 + 2 * diag
    # n rows have n (n + 1) / 2 elements, and |diag| diagonals more or fewer: n (n + width) = twice.
    twice = 2 * count + abs(diag) * (diag + 1)
    size = (isqrt(width * width + 4 * twice) - width) // 2
    if size * (size + width) != twice:
        raise ValueError(
            f"vec_to_tril_matrix(): The size of last dimension is {count} which cannot be expressed as the "
            "lower triangular part of a square D x D matrix."
        )
    mat = zeros((*vec.shape[:-1], size, size), dtype=vec.dtype, device=vec.device)
    mat[..., _triangle(size, diag, vec.device)] = vec
    return mat


def __dir__() -> list[str]:
    return sorted(__all__)
