"""The three ways to call ``Module.to``."""

from __future__ import annotations

from typing import Any

from ...core.device import device as Device
from ...core.memory_format import memory_format as MemoryFormat
from ...core.scalar_type import dtype as DType
from ...dispatch.arguments import Parameter as Argument, Rejected, bind_arguments

_REST = [("non_blocking", "bool", False, False, False), ("copy", "bool", False, False, False)]
_FORMAT = ("memory_format", "MemoryFormat?", False, None, True)
#: For each way what a call is shown as, and its arguments, as a schema has them.
_WAYS = {
    "tengen.device device = None, tengen.dtype dtype = None": [
        ("device", "Device?", False, None, False),
        ("dtype", "ScalarType?", False, None, False),
    ],
    "tengen.dtype dtype": [("dtype", "ScalarType", True, None, False)],
    "Tensor tensor": [("tensor", "Tensor", True, None, False)],
}
_ARGUMENTS = {
    shown: [Argument(row, False) for row in (*rows, *_REST, _FORMAT)] for shown, rows in _WAYS.items()
}


def parse_to(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Device | None, DType | None, bool, MemoryFormat | None]:
    """The device, the dtype, ``non_blocking`` and the memory format of a call; None for what it does not say.

    TypeError for arguments that are none of ``to``, RuntimeError for ``copy``.
    """
    for shown, arguments in _ARGUMENTS.items():
        try:
            *leading, non_blocking, copy, memory_format = bind_arguments(arguments, args, kwargs)
        except Rejected:
            continue
        if copy:
            raise RuntimeError(".to() does not accept copy argument")
        if "Tensor" in shown:
            leading = [leading[0].device, leading[0].dtype]
        elif len(leading) == 1:
            leading = [None, *leading]
        return leading[0], leading[1], non_blocking, memory_format
    given = [type(value).__name__ for value in args]
    given += [f"{name}={type(value).__name__}, " for name, value in kwargs.items()]
    rest = "bool non_blocking = False, bool copy = False, *, tengen.memory_format memory_format = None"
    ways = "".join([f" * ({shown}, {rest})\n" for shown in _WAYS])
    raise TypeError(
        "to() received an invalid combination of arguments - got "
        f"({', '.join(given)}), but expected one of:\n{ways}"
    )
