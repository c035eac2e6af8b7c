"""What the namespace can do, as ``__array_namespace_info__`` tells it."""

from __future__ import annotations

from typing import Any, Final

from tengen.generated.backends import BACKENDS

from ..core.device import DEVICES, device as Device, get_default_device
from ..core.scalar_type import dtype as DType, get_default_dtype
from . import data_types
from .data_type_functions import isdtype
from .operands import Where

Kind = str | tuple[str, ...] | None
_DTYPES: Final = {name: d for name, d in vars(data_types).items() if name[0] != "_" and isinstance(d, DType)}


class Info:
    """The functions of the standard's inspection API."""

    def capabilities(self) -> dict[str, Any]:
        """What is optional in the standard and there: NumPy bounds the number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device on which new arrays are made."""
        return get_default_device()

    def default_dtypes(self, *, device: Where = None) -> dict[str, DType]:
        """The dtypes of arrays made of Python's numbers, and of indices."""
        real = get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": data_types.int64,
            "indexing": data_types.int64,
        }

    def devices(self) -> tuple[Device, ...]:
        """The devices that are there without another library."""
        ours = [kind for kind, name in DEVICES.items() if "extra" not in BACKENDS.get(name, {})]
        return tuple(map(Device, ours))

    def dtypes(self, *, device: Where = None, kind: Kind = None) -> dict[str, DType]:
        """The dtypes of a kind, or of several, by name."""
        return {name: d for name, d in _DTYPES.items() if kind is None or isdtype(d, kind)}
