"""Nested tensors of lists of tensors, and of the rows of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tengen.generated.functions as F

from ..core.device import as_device
from ..core.memory_format import jagged, layout as Layout, strided
from ..core.scalar_type import int64
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import backend_with
from ..tensors.creation import check_options, tensor

if TYPE_CHECKING:
    from ..core.device import device as Device
    from ..core.scalar_type import dtype as DType
    from ..tensors.tensor import Tensor

__all__ = ["as_nested_tensor", "nested_tensor"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _is_tensor(given: Any) -> bool:
    return isinstance(given, TensorBase)


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor, a leaf, of copies of tensors, or of lists of what ``tengen.tensor`` takes.

    With the layout ``tengen.strided``, the default, components may differ in all sizes, and their dtypes
    promote. With ``tengen.jagged`` they may differ in one, and their dtypes must agree. ``dtype`` and
    ``device`` are those of the first component, unless given. TypeError for what is no list and a requirement
    that is no bool, RuntimeError for components that do not go together.
    """
    # Of the layout strided PyTorch takes pin_memory, and leaves the memory as it is.
    check_options("nested_tensor", requires_grad, pin_memory, layout is jagged)
    if not isinstance(tensor_list, list) and not (layout is jagged and _is_tensor(tensor_list)):
        raise TypeError(
            "nested_tensor(): Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in "
            "nested_tensor, "
            f"but argument tensor_list is of type {type(tensor_list).__name__}"
        )
    components = [p.detach() if _is_tensor(p) else tensor(p, dtype=dtype, device=device) for p in tensor_list]
    if components and (dtype is not None or layout is not jagged):
        components = [p.to(dtype or components[0].dtype) for p in components]
    made = _of_components("nested_tensor", components, dtype, device, layout)
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(
    ts: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    layout: Layout | None = None,
) -> Tensor:
    """A nested tensor of a list of tensors, or of the rows of a tensor. Gradients flow to them.

    ``dtype`` and ``device`` are those of the first component, unless given.

    A nested tensor of this layout is itself, of another one a RuntimeError. Errors are those of
    ``nested_tensor``; TypeError for other things.
    """
    wanted = strided if layout is None else layout
    if _is_tensor(ts):
        if ts.is_nested:
            if ts.layout is not wanted:
                raise RuntimeError(
                    "as_nested_tensor(): Converting between nested tensor layouts is not supported"
                )
            return ts.to(device=device, dtype=dtype)  # type: ignore[no-any-return]
        if ts.ndim <= 1:
            raise RuntimeError(
                f"as_nested_tensor(): Expected tensor argument to have dim() > 1, but ts has dim() {ts.ndim}"
            )
        return _of_components("as_nested_tensor", ts.unbind(), dtype, device, layout)
    strangers = [t for t in ts if not _is_tensor(t)] if isinstance(ts, (list, tuple)) else [ts]
    if strangers:
        what = "is" if strangers[0] is ts else "has an element"
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors, but ts "
            f"{what} of type {type(strangers[0]).__name__}"
        )
    return _of_components("as_nested_tensor", ts, dtype, device, layout)


def _of_components(
    name: str, components: Sequence[Any], dtype: DType | None, device: Any, layout: Layout | None
) -> Tensor:
    """The nested tensor of components, of which the dtypes and the numbers of dimensions are checked."""
    _check_components(name, components, device)
    if layout is None or layout is strided:
        if not components:
            return _empty(dtype, device)
        kind = components[0].dtype if dtype is None else dtype
        return F._nested_tensor_from_tensor_list([p.to(device=device, dtype=kind) for p in components])
    if layout is not jagged:
        raise RuntimeError(f"{name}(): Specified layout is unsupported for nested tensors: {layout}")
    if not components:
        raise RuntimeError(
            f"{name}(): Cannot construct a nested tensor of the layout jagged from an empty list"
        )
    if not components[0].ndim:
        raise RuntimeError(
            f"{name}(): Cannot construct a nested tensor of the layout jagged from 0-d tensors"
        )
    if len({p.dtype for p in components}) > 1:
        found = ", ".join(dict.fromkeys(str(p.dtype) for p in components))
        raise RuntimeError(f"{name}(): all tensors in list must have the same dtype, but got {found}")
    at = _ragged_dim(name, components)
    values = F.cat([p.to(device=device, dtype=dtype) for p in components], at)
    sizes = [p.shape[at] for p in components]
    offsets = tensor(np.concatenate([[0], np.cumsum(sizes)]), dtype=int64)
    return F._nested_view_from_jagged(values, offsets, None, at + 1)


def _empty(dtype: DType | None, device: Any) -> Tensor:
    """A nested tensor without components."""
    like = F._nested_tensor_from_tensor_list([F.empty((0,), dtype=dtype, device=device)])
    return F.slice(like, 0, 0, 0, 1)


def check_device(what: str, where: Device) -> None:
    """NotImplementedError for a device that has no nested tensors."""
    try:
        backend_with(where, jagged.name)
    except NotImplementedError as error:
        raise NotImplementedError(f"{what}: {error}") from None


def _check_components(name: str, components: Sequence[Any], device: Any) -> None:
    for number, component in enumerate(components):
        if component.is_nested or component.layout is not strided:
            found = "nested itself" if component.is_nested else f"of the layout {component.layout}"
            raise RuntimeError(f"{name}(): the tensor at index {number} is {found}")
        if component.device != components[0].device and device is None:
            raise RuntimeError(
                f"{name}(): all tensors in list must be on the same device, but got {components[0].device} "
                f"and, at index {number}, {component.device}"
            )
        if component.ndim != components[0].ndim:
            raise RuntimeError(
                f"{name}(): All Tensors given to nested_tensor must have the same dimension. Found "
                f"dimension {component.ndim} for Tensor at index {number} and dimension "
                f"{components[0].ndim} for Tensor at index 0."
            )
    if components:
        check_device(f"{name}()", components[0].device if device is None else as_device(device))


def _ragged_dim(name: str, components: Sequence[Any]) -> int:
    """The one dimension in which components differ; the first, where they do not."""
    ragged = [d for d in range(components[0].ndim) if len({p.shape[d] for p in components}) > 1]
    if len(ragged) > 1:
        raise RuntimeError(
            f"{name}(): a nested tensor of the layout jagged has one ragged dimension, but the components "
            f"differ in the dimensions {ragged}"
        )
    return ragged[0] if ragged else 0
