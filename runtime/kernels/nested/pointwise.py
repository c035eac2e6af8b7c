"""Elementwise functions of ragged arrays, and how others stand beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.memory_format import NotStrided
from ..creation import as_scalar
from ..dtypes import REDUCED
from ..index_checks import check_mask
from ..reduced import upcast
from ..select import select
from .array import Array, JaggedArray, NestedArray, RaggedArray
from .expansion import expanded_to


def on_values(name: str, function: Callable[..., Array], *operands: Any) -> Any:
    """The elementwise ``function`` of the operator ``name``, of the values of the operands.

    Strided operands broadcast to the components; None stays. RuntimeError for sizes that do not go together.
    """
    like = _widest(operands)
    given = [_values_beside(name, a, like) for a in operands]
    wide = [None if a is None else upcast(a) for a in given]
    computed: Any = function(*wide)
    if computed.__class__ is tuple:
        return tuple([_stored(one, like) for one in computed])
    return _stored(computed, like)


def on_stored(name: str, function: Callable[..., Array], *operands: Any) -> RaggedArray:
    """As ``on_values``, in the dtype of the values: a function that draws does so in the one that it gets."""
    like = _widest(operands)
    return _stored(function(*[_values_beside(name, a, like) for a in operands]), like)


def _stored(computed: Any, like: RaggedArray) -> RaggedArray:
    """A result as values of ``like``, in its dtype where it was computed in a wider one."""
    narrow = like.values.dtype
    result = np.asarray(computed)
    if narrow.char in REDUCED and result.dtype == np.float32:
        result = result.astype(narrow)
    return like.with_values(result)


def nested_masked_fill(self: RaggedArray, mask: Any, value: Any) -> RaggedArray:
    """``value`` where ``mask``, nested or strided, is true; the elements of ``self`` elsewhere."""
    found: RaggedArray = on_values(
        "masked_fill", lambda a, m: select(check_mask(m), as_scalar(value, a.dtype), a), self, mask
    )
    return found


def call_on_values(ufunc: np.ufunc, method: str, inputs: Sequence[Any], out: Any) -> Any:
    """A ufunc of NumPy's, of the values, into ``out`` if that is given. Raises NotStrided for its other
    methods."""
    if method != "__call__":
        raise NotStrided(JaggedArray.layout)
    result = on_values(ufunc.__name__, ufunc, *inputs)
    target = out[0] if out.__class__ is tuple else None
    if target is None or target is ...:
        return result
    target.assign(result)
    return target


def _widest(operands: Sequence[Any]) -> RaggedArray:
    """The largest ragged array, the first of several."""
    ragged: list[RaggedArray] = [a for a in operands if isinstance(a, RaggedArray)]
    return ragged[0] if len(ragged) == 1 else max(ragged, key=lambda a: (a.ndim, a.values.size))


def _values_beside(name: str, operand: Any, like: RaggedArray) -> Any:
    """What of an operand goes with the values of ``like``."""
    if operand is like:
        return like.values
    if isinstance(operand, RaggedArray):
        if operand.shape == like.shape:
            return operand.matched_values(like)
        values = operand.values_beside(like)
        if values is not None:
            return values
    if operand is None or not np.ndim(operand):
        return operand
    if isinstance(like, JaggedArray):
        if isinstance(operand, RaggedArray):
            raise _misfit(name, like, operand)
        return beside_jagged(name, operand, like)
    if not _broadcasts(operand, like):
        raise _misfit(name, like, operand)
    return expanded_to(operand, like).values


def _broadcasts(operand: Any, like: RaggedArray) -> bool:
    """Whether an array that is not jagged, of components or not, broadcasts to such components."""
    own = operand.shape
    if isinstance(operand, JaggedArray) or len(own) > like.ndim:
        return False
    return all([n == 1 or n == m for n, m in zip(own, like.shape[like.ndim - len(own) :], strict=True)])


def beside_jagged(name: str, operand: Array, like: JaggedArray) -> Array:
    """A strided array that broadcasts to the components, as one that broadcasts to their values. RuntimeError
    where it has a size of its own along the ragged dimension, or does not broadcast."""
    shape = (1,) * (like.ndim - operand.ndim) + operand.shape
    count, at = like.shape[0], like.ragged_idx
    if len(shape) > like.ndim or shape[0] not in (1, count) or shape[at] != 1:
        raise _misfit(name, like, operand)
    whole = operand.reshape(shape)
    if shape[0] == 1:
        beside: Array = whole[0]
        return beside
    moved = _by_component(whole, at)
    total = like.values.shape[at - 1]
    return np.take(moved, owners(like, total), at - 1)


def _by_component(whole: Array, at: int) -> Array:
    """``(B, *, 1, *)`` with the components where the ragged dimension, of size 1, was."""
    return np.moveaxis(np.squeeze(whole, at), 0, at - 1)


def owners(like: JaggedArray, total: int) -> Array:
    """Of each place along the ragged dimension of the values the component that it is in; 0 in gaps."""
    if like.is_dense:
        return np.repeat(np.arange(like.shape[0]), like.counts)
    found = np.zeros(total, np.int64)
    for component, (start, count) in enumerate(
        zip(like.offsets[:-1].tolist(), like.counts.tolist(), strict=True)
    ):
        found[start : start + count] = component
    return found


def _misfit(name: str, a: Any, b: Any) -> RuntimeError:
    return RuntimeError(
        f"{name}: cannot call a pointwise operator with inputs of shapes {_shown(a)} and {_shown(b)}: the "
        "ragged sizes must be the same ones, of the same offsets, and other sizes equal or 1"
    )


def _shown(a: Any) -> str:
    return "(" + ", ".join(map(str, a.shape)) + ")"


def nested_like(like: RaggedArray, values: Array) -> RaggedArray:
    """The array of which these are the values. RuntimeError where there are too many, or too few."""
    own = like.values.shape
    if isinstance(like, NestedArray):
        if values.shape != own:
            raise RuntimeError(f"values of size {list(values.shape)} for components of {list(own)}")
        return like.with_values(values)
    at = like.ragged_idx - 1  # type: ignore[attr-defined]
    if values.ndim <= at or values.shape[at] != own[at]:
        raise RuntimeError(f"values of size {list(values.shape)} for components of {list(own)}")
    return like.with_values(values)
