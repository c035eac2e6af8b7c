"""The gradients that a backward pass begins with: those given, and those that go without saying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor_base import TensorBase
from .graph import GradientEdge
from .view_geometry import element_count


def make_grads(roots: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradient of each root: checked when given, one for a real scalar.

    Raises RuntimeError for a gradient that does not fit its root, TypeError for what is no Tensor.
    """
    made = []
    for index, (root, given) in enumerate(zip(roots, grads, strict=True)):
        if given is None:
            made.append(implicit_grad(root))
        elif isinstance(given, TensorBase):
            _check_given_grad(index, root, given)
            made.append(given)
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    return made


def implicit_grad(root: Any) -> Any:
    """The gradient of a root of which none is given: one; RuntimeError unless it is a real scalar."""
    if isinstance(root, TensorBase) and not root._requires_grad:
        return None  # an error of its own comes when the edge is looked for
    shape, T = metadata_of(root)
    if shape and element_count(shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not T.scalar_type.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {T.scalar_type}"
        )
    return T.wrap(T.backend.lib.full(shape, 1, T.dtype))


def _check_given_grad(index: int, root: Any, given: Any) -> None:
    shape, T = metadata_of(root)
    if given._type.backend.device != T.backend.device:
        raise RuntimeError(
            f"invalid gradient at index {index} - expected device {T.backend.device} but got "
            f"{given._type.backend.device}"
        )
    if given._array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {list(given._array.shape)} and "
            f"output[{index}] has a shape of {list(shape)}."
        )
    here, there = T.scalar_type, given._type.scalar_type
    if here.is_complex is not there.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch "
            f"in dtype: grad_output[{index}] has a dtype of {there} and output[{index}] has a dtype of "
            f"{here}."
        )


def metadata_of(root: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and Type of a tensor, or of the gradient at a GradientEdge."""
    if not isinstance(root, GradientEdge):
        return root._array.shape, root._type
    node, number = root.node, root.output_nr
    if node.type.__class__ is tuple:
        return node.shape[number], node.type[number]
    return node.shape, node.type
