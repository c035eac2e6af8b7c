"""Types of arguments of modules, under the names that programs import: a number, or one for each dim."""

from __future__ import annotations

from typing import Any, TypeVar

from ..tensors.tensor import Tensor as Tensor

T = TypeVar("T")


def _of(kind: Any, count: int) -> Any:
    return kind | tuple.__class_getitem__((kind,) * count)


def _any_of(kind: Any) -> Any:
    return kind | tuple.__class_getitem__((kind, ...))


_scalar_or_tuple_any_t = _any_of(T)
_scalar_or_tuple_1_t, _scalar_or_tuple_2_t, _scalar_or_tuple_3_t = (_of(T, n) for n in (1, 2, 3))
_scalar_or_tuple_4_t, _scalar_or_tuple_5_t, _scalar_or_tuple_6_t = (_of(T, n) for n in (4, 5, 6))

_size_any_t = _any_of(int)
_size_1_t, _size_2_t, _size_3_t = (_of(int, n) for n in (1, 2, 3))
_size_4_t, _size_5_t, _size_6_t = (_of(int, n) for n in (4, 5, 6))

_size_any_opt_t = _any_of(int | None)
_size_2_opt_t, _size_3_opt_t = (_of(int | None, n) for n in (2, 3))

_ratio_any_t = _any_of(float)
_ratio_2_t, _ratio_3_t = (_of(float, n) for n in (2, 3))

_tensor_list_t = _any_of(Tensor)
_maybe_indices_t = _of(Tensor, 2)
