"""How the samples of a batch become tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from tengen.generated.functions import stack

from ....core.scalar_type import float64
from ....tensors.creation import as_tensor, tensor as make_tensor
from ....tensors.tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: By the type of a batch's elements, or several of them, how these are put together.
CollateMap = dict[Any, Callable[..., Any]]
ERROR = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
#: What NumPy's dtypes of strings and objects are called.
_NO_NUMBERS = "SaUO"


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers as tensors, also in mappings, tuples and sequences; all else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.char in _NO_NUMBERS else as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[default_convert(d) for d in data])
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt(data, [default_convert(d) for d in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """The samples of a batch in one: tensors stacked, numbers as a tensor, strings as a list.

    Mappings, tuples and sequences keep their form, each place with the samples' elements there. RuntimeError
    for sequences of different lengths, TypeError for anything else.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """As ``default_collate``, with a function for each type, or several: ``f(batch, collate_fn_map=...)``."""
    element = batch[0]
    kind = type(element)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for types, function in collate_fn_map.items():
            if isinstance(element, types):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(element, Mapping):
        found = {k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in element}
        return _rebuilt(element, found)
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        columns = zip(*batch, strict=True)
        return kind(*[collate(c, collate_fn_map=collate_fn_map) for c in columns])
    if isinstance(element, Sequence):
        if not all([len(e) == len(element) for e in batch]):
            raise RuntimeError("each element in list of batch should be of equal size")
        made = [collate(c, collate_fn_map=collate_fn_map) for c in zip(*batch, strict=True)]
        return made if isinstance(element, tuple) else _rebuilt(element, made)
    raise TypeError(ERROR.format(kind))


def _rebuilt(data: Any, found: Any) -> Any:
    """What was found in the form of a mapping or sequence; as it is where that cannot be made."""
    clone: Any
    try:
        if isinstance(data, MutableMapping):
            clone = copy.copy(data)
            clone.update(found)
            return clone
        if isinstance(data, MutableSequence):
            clone = copy.copy(data)
            for i, value in enumerate(found):
                clone[i] = value
            return clone
        return type(data)(found)
    except TypeError:
        return found


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    made: Tensor = stack(list(batch), 0)
    return made


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    if batch[0].dtype.char in _NO_NUMBERS:
        raise TypeError(ERROR.format(batch[0].dtype))
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return as_tensor(np.array(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return make_tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return make_tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return batch


#: The functions of ``default_collate``.
default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
