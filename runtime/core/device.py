"""Devices: where a tensor's elements are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tengen.generated.backends import BACKENDS

from .memory_format import strided
from .thread_state import propagated

#: The kinds of devices, in the order of their declaration, and the backend of each, that of strided tensors.
#: Libraries add theirs.
DEVICES = {row["device"]: name for name, row in BACKENDS.items() if strided.name in row["layouts"]}

#: PyTorch's other kinds: programs make and compare such devices, and an error comes where one is used.
UNSERVED = frozenset(
    (
        "fpga",
        "hip",
        "hpu",
        "ideep",
        "ipu",
        "maia",
        "mkldnn",
        "mps",
        "mtia",
        "opencl",
        "opengl",
        "privateuseone",
        "ve",
        "vulkan",
        "xla",
        "xpu",
    )
)

#: What finds the kind of device that a bare number is one of, or None; ``tengen`` registers it.
_find_accelerator: list[Callable[[], str | None]] = []


def register_accelerator(find: Callable[[], str | None]) -> None:
    """Register what tells the kind of devices that are given by a number alone, or None."""
    _find_accelerator.append(find)


class device:
    """A device: ``tengen.device("cpu")``, ``tengen.device("cpu", 0)``, ``tengen.device("cpu:0")``.

    A number alone is a device of the accelerator. RuntimeError where there is none, and when the string
    cannot be understood or is no kind of device; TypeError for what is neither a string, a number nor a
    device. A device of a kind that PyTorch has can be made anywhere: what uses it raises the error. With
    ``with`` it is where tensors are made inside when no device is named, in this thread.
    """

    __module__ = "tengen"
    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device) and index is None:
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int) and not isinstance(type, bool) and index is None:
            index = type
            type = _accelerator(index)
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {_class_name(type)}")
        if not type:
            raise RuntimeError("Device string must not be empty")
        kind, colon, number = type.partition(":")
        if kind not in DEVICES and kind not in UNSERVED:
            expected = ", ".join({**DEVICES, **dict.fromkeys(sorted(UNSERVED))})
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

    def __enter__(self) -> device:
        _default.before = (*_default.before, _default.chosen)
        _default.chosen = self
        return self

    def __exit__(self, *_: object) -> None:
        before = _default.before  # without a call between, in which an interrupt would leave half of it
        _default.before, _default.chosen = before[:-1], before[-1]

    def __reduce__(self) -> tuple[Any, ...]:
        # By a function: under as_torch the class has another module, and files are read without that, too.
        return made, (self.type,) if self.index is None else (self.type, self.index)


def made(kind: str, *index: int) -> device:
    """The device of a kind, and of an index where it has one. RuntimeError of a kind that there is not."""
    return device(kind, *index)


def _accelerator(index: int) -> str:
    """The kind of device that a number alone means."""
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    found = next((kind for find in _find_accelerator if (kind := find()) is not None), None)
    if found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return found


def _class_name(value: object) -> str:
    return value.__class__.__name__


#: Where tensors are made when no device is named, unless a program says otherwise.
default_device = device(next(iter(DEVICES)))


class _Default(threading.local):
    """Where this thread makes tensors when no device is named, and, within ``with``, what that was before."""

    chosen = default_device
    before: tuple[device, ...] = ()


_default = propagated(_Default())


def as_device(value: device | str | int | None) -> device:
    """The device that an argument ``device=`` means; None is the default device."""
    if value is None:
        return _default.chosen
    return value if isinstance(value, device) else device(value)


def asked_device(value: device | str | int | None) -> device | None:
    """The device that ``device=`` asks for, of what is somewhere already; None where nothing does.

    None is the default device where a program has chosen one.
    """
    chosen = _default.chosen
    if value is None and chosen is default_device and not _default.before:
        return None
    return as_device(value)


def get_default_device() -> device:
    """Where tensors are made in this thread when no device is named."""
    return _default.chosen


def set_default_device(device: device | str | int | None) -> None:
    """Make tensors there, in this thread, when no device is named; None is the first device again.

    Raises what ``tengen.device`` raises.
    """
    _default.chosen = default_device if device is None else as_device(device)
