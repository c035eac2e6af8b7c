"""Gradients that are not to be too large: their common norm, or each element, is limited."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from tengen.generated.functions import clamp, stack

from ...autograd.grad_mode import no_grad
from ...core.user_stack import program_stacklevel
from ...linalg import vector_norm
from ...tensors.creation import tensor
from ...tensors.tensor import Tensor
from .grad_arrays import euclidean_norm, limit, scale

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def __dir__() -> list[str]:
    return sorted(__all__)


Tensors = Tensor | Iterable[Tensor]


@no_grad
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of order ``norm_type`` of all elements of the tensors, as if they were one vector; 0-d.

    0.0 for no tensors. With ``error_if_nonfinite`` a norm that is infinite or NaN is a RuntimeError.
    ``foreach`` chooses among PyTorch's ways to compute the same, and changes nothing here.
    """
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not found:
        return tensor(0.0)
    total = euclidean_norm(found) if norm_type == 2 else None
    if total is None:
        device = found[0].device
        total = vector_norm(stack([vector_norm(t, norm_type).to(device) for t in found]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    return total


@no_grad
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients of the parameters by ``max_norm / total_norm``, in place, if that is below 1.

    1e-6 is added to ``total_norm``, which ``get_total_norm`` computes, so that gradients may be zero.
    """
    grads = _gradients(_listed(parameters))
    if not grads:
        return
    factor = clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in grads:
        if not scale(grad, factor):
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of the parameters down, in place, so that their norm is ``max_norm`` at most.

    The norm is of order ``norm_type`` and of all elements together; it is returned, as it was before.
    With ``error_if_nonfinite`` a norm that is infinite or NaN is a RuntimeError, and nothing is changed.
    ``foreach`` chooses among PyTorch's ways to compute the same, and changes nothing here.
    """
    found = _listed(parameters)
    if isinstance(parameters, types.GeneratorType) and not found:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
    total: Tensor = get_total_norm(_gradients(found), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The former name of ``clip_grad_norm_``; a FutureWarning.

    It returns the norm, a tensor without dimensions.
    """
    warnings.warn(
        "`tengen.nn.utils.clip_grad_norm` is now deprecated in favor of `tengen.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=program_stacklevel(),
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the parameters' gradients, in place, to at most ``clip_value`` in size.

    ``foreach`` chooses among PyTorch's ways to compute the same, and changes nothing here.
    """
    largest = float(clip_value)
    for grad in _gradients(_listed(parameters)):
        if not limit(grad, largest):
            grad.clamp_(-largest, largest)


def _listed(parameters: Tensors) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in parameters if p.grad is not None]
