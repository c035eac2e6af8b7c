"""Tensors on the device ``dask``: chunked, lazily computed, on threads, processes or a cluster.

What a tensor there holds is a ``dask.array.Array``. Operators make its graph longer; ``compute`` runs it, on
whatever scheduler Dask is set to: its threads, ``dask.config.set(scheduler="processes")``, or the cluster of
the last ``dask.distributed.Client``. See docs/dask.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .autograd.grad_mode import grad_mode
from .autograd.linear_maps import Placed, apply_linear
from .core.device import device
from .core.scalar_type import from_array_dtype
from .core.tensor_base import TensorBase
from .dispatch.legacy_type_dispatch import backend_of_device, type_of
from .tensors.creation import from_numpy
from .utils.pytree import tree_flatten, tree_unflatten

#: The device that this module is named after.
_DEVICE = device(__name__.rpartition(".")[2])
backend_of_device(_DEVICE)  # where Dask is not installed, the ImportError that says what to do

from .array_libraries.dask import computed, is_lazy, library, persisted  # noqa: E402

if TYPE_CHECKING:
    from .tensors.tensor import Tensor

__all__ = ["chunks", "compute", "from_dask", "persist", "rechunk", "to_dask_array"]


def __dir__() -> list[str]:
    return sorted(__all__)


def from_dask(array: Any) -> Tensor:
    """A tensor over a ``dask.array.Array``, of its shape, dtype and chunks; nothing is computed.

    TypeError for anything else, and for a dtype that tensors on this device have not; ValueError for chunks
    of unknown sizes, which ``array.compute_chunk_sizes()`` makes known.
    """
    if not is_lazy(array):
        raise TypeError(f"from_dask(): argument 'array' must be dask.array.Array, not {_name(array)}")
    if any(n != n for n in array.shape):
        raise ValueError(
            f"from_dask(): argument 'array' has chunks of unknown sizes, {array.chunks}, but a tensor has a "
            "shape; array.compute_chunk_sizes() computes them"
        )
    if array.dtype not in library.dtypes:
        raise TypeError(
            f"from_dask(): argument 'array' has the dtype {array.dtype}, which tensors there have not"
        )
    made: Tensor = type_of(from_array_dtype(array.dtype), _DEVICE).wrap(array)
    return made


def to_dask_array(tensor: Tensor) -> Any:
    """The ``dask.array.Array`` of a tensor on ``dask``; nothing is computed.

    TypeError for a tensor of another device, RuntimeError for one that requires grad while recording is on.
    """
    array = _array(tensor, "to_dask_array", "tensor")
    if tensor._requires_grad and grad_mode.enabled:
        raise RuntimeError(
            "to_dask_array(): argument 'tensor' requires grad; use to_dask_array(tensor.detach()) instead"
        )
    return array


def compute(*values: Any, **options: Any) -> Any:
    """The values of tensors, computed together: what their graphs have in common is computed once.

    ``values`` are tensors, or trees of them; what is no tensor on ``dask`` stays as it is. Returns for one
    value that with CPU tensors in place of those on ``dask``, for several a tuple. Results have no history.
    ``options`` are those of ``dask.compute``, as ``scheduler`` and ``num_workers``.

    IndexError for indices that turn out to be out of bounds; RuntimeError where the cluster is gone that had
    to compute, or had persisted chunks. The tensors stay as they were.
    """
    return _replaced(
        values, lambda arrays: [from_numpy(a) for a in computed(arrays, **options)], detached=True
    )


def persist(*values: Any, **options: Any) -> Any:
    """Tensors whose chunks are computed, and kept where they were: in the cluster's workers, or here.

    Takes and returns what ``compute`` does, but tensors on ``dask``, with their histories. On a cluster it
    returns at once, and computing goes on there.
    """
    return _replaced(values, partial(persisted, **options), detached=False)


def chunks(tensor: Tensor) -> tuple[tuple[int, ...], ...]:
    """The sizes of a tensor's chunks along each dimension. TypeError for a tensor of another device."""
    found: tuple[tuple[int, ...], ...] = _array(tensor, "chunks", "tensor").chunks
    return found


def rechunk(tensor: Tensor, chunks: Any) -> Tensor:
    """The same elements in other chunks; gradients flow through it.

    ``chunks`` is a size for all dimensions, a tuple with a size, or the sizes, for each, or a dict of those
    of some dimensions; -1 is the whole dimension, "auto" Dask's choice, "64MiB" about so many bytes.
    ValueError for chunks that do not add up to the shape, TypeError for what are none, and for a tensor of
    another device.
    """
    _array(tensor, "rechunk", "tensor")
    try:
        made: Tensor = apply_linear(Placed(tensor._type, partial(library.placed, chunks=chunks)), tensor)
    except (TypeError, ValueError) as error:
        raise type(error)(f"rechunk(): {error}") from None
    except ZeroDivisionError:
        raise ValueError(f"rechunk(): argument 'chunks' ({chunks}) must have no size 0") from None
    return made


def _array(tensor: Any, operator: str, argument: str) -> Any:
    if not isinstance(tensor, TensorBase) or tensor._type.backend.device != _DEVICE:
        raise TypeError(f"{operator}(): argument {argument!r} must be a Tensor on dask, not {_name(tensor)}")
    return tensor._array


def _name(value: Any) -> str:
    if isinstance(value, TensorBase):
        return f"a Tensor on {value._type.backend.device}"
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _replaced(values: tuple[Any, ...], function: Callable[[list[Any]], Sequence[Any]], detached: bool) -> Any:
    """The trees ``values`` with what a function makes of the arrays of all tensors on ``dask``."""
    leaves, spec = tree_flatten(values)
    places = [
        i for i, v in enumerate(leaves) if isinstance(v, TensorBase) and v._type.backend.device == _DEVICE
    ]
    for i, made in zip(places, function([leaves[i]._array for i in places]), strict=True):
        leaves[i] = made if detached else _with_array(leaves[i], made)
    results = tree_unflatten(leaves, spec)
    return results[0] if len(results) == 1 else results


def _with_array(tensor: Any, array: Any) -> Any:
    """The tensor with another array of the same elements."""
    return apply_linear(Placed(tensor._type, lambda old, lead: array), tensor)
