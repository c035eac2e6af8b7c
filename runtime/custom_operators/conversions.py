"""What arguments of operators that programs define may be: PyTorch casts them as TorchScript does.

Less strict than the binding of declared functions in some things (None for a Tensor, a truth value for an
int), and stricter in others: a list is a list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.arguments import Mismatch, converter
from ..tensors.tensor import Tensor

_Convert = Callable[[Any], Any]
_tensor, _int, _float, _scalar = map(converter, ("Tensor", "int", "float", "Scalar"))


def conversion(kind: str) -> _Convert:
    """The function that converts a value for a type of a schema; it raises Mismatch."""
    if kind.endswith("?"):
        inner = conversion(kind[:-1])
        return lambda value: None if value is None else inner(value)
    if kind.endswith("]"):
        element, _, size = kind[:-1].rpartition("[")
        of_one = _tensor if element == "Tensor" else conversion(element)
        return _list(of_one, int(size) if size else None)
    return _OF_BASE.get(kind) or converter(kind)


def _list(element: _Convert, size: int | None) -> _Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple([element(v) for v in value])
        if size is None or isinstance(value, Tensor):
            raise Mismatch
        return (element(value),) * size  # ``int[2]`` takes one int for both

    return convert


def _single(value: Any) -> Any:
    """The element of a tensor that has one; all else as it is."""
    if not isinstance(value, Tensor):
        return value
    _tensor(value)  # it may take the call over
    if value.numel() != 1:
        raise Mismatch
    return value.item()


def _as_tensor(value: Any) -> Any:
    return None if value is None else _tensor(value)


def _as_int(value: Any) -> Any:
    if value.__class__ is int:
        return value
    value = _single(value)
    return int(value) if isinstance(value, bool) else _int(value)


def _as_float(value: Any) -> Any:
    return value if value.__class__ is float else _float(_single(value))


def _as_bool(value: Any) -> Any:
    return value if value.__class__ is bool else bool(_scalar(_single(value)))


_OF_BASE: dict[str, _Convert] = {
    "Tensor": _as_tensor,
    "int": _as_int,
    "SymInt": _as_int,
    "float": _as_float,
    "bool": _as_bool,
}
