"""Parameters as one vector, and a vector as parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tengen.generated.functions import cat

from ...tensors.queries import typename
from ...tensors.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def __dir__() -> list[str]:
    return sorted(__all__)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, one behind the other, in one dimension; differentiable.

    TypeError when they are on several devices, RuntimeError when one of them cannot be viewed in one
    dimension.
    """
    found = list(parameters)
    _check_devices("parameters_to_vector", found)
    return cat([p.view(-1) for p in found])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the elements of a vector: from now on they are views of its memory, as in PyTorch.

    TypeError for what is no tensor, and when the parameters are on several devices; RuntimeError when the
    vector has too few elements.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected tengen.Tensor, but got: {typename(vec)}")
    found = list(parameters)
    _check_devices("vector_to_parameters", found)
    needed = sum([p.numel() for p in found])
    if vec.numel() < needed:
        raise RuntimeError(
            f"vector_to_parameters(): the vector has {vec.numel()} elements, the parameters have {needed}"
        )
    begin = 0
    for p in found:
        end = begin + p.numel()
        p.data = vec[begin:end].view(p.shape).data
        begin = end


def _check_devices(function: str, parameters: Iterable[Any]) -> None:
    devices = list(dict.fromkeys([p.device for p in parameters]))
    if len(devices) > 1:
        raise TypeError(
            f"{function}(): Found two parameters on different devices, {devices[0]} and {devices[1]}; this "
            "is currently not supported."
        )
