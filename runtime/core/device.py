"""Devices: where a tensor's elements are."""

from __future__ import annotations

from typing import Any

from tengen.generated.backends import BACKENDS

#: The kinds of devices, in the order of their declaration, and the backend of each. Libraries add theirs.
DEVICES = {row["device"]: name for name, row in BACKENDS.items()}


class device:
    """A device: ``tengen.device("cpu")``, ``tengen.device("cpu", 0)``, ``tengen.device("cpu:0")``.

    RuntimeError when no backend has such devices, or when the string cannot be understood; TypeError for what
    is neither a string nor a device.
    """

    __module__ = "tengen"
    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | device, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {_class_name(type)}")
        if not type:
            raise RuntimeError("Device string must not be empty")
        kind, colon, number = type.partition(":")
        if kind not in DEVICES:
            expected = ", ".join(DEVICES)
            raise RuntimeError(f"Expected one of {expected} device type at start of device string: {kind}")
        if colon:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            if not number.isdecimal() or (number != "0" and number.startswith("0")):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type, self.index = kind, index

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type,) if self.index is None else (self.type, self.index))


def _class_name(value: object) -> str:
    return value.__class__.__name__


def as_device(value: device | str | None) -> device:
    """The device that an argument ``device=`` means; None is the default device."""
    if value is None:
        return default_device
    return value if isinstance(value, device) else device(value)


#: Where tensors are made when no device is named.
default_device = device(next(iter(DEVICES)))
