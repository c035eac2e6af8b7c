"""The matrix of Types: one singleton for each backend, scalar type and recording or not.

Filled lazily: a backend's library and its generated classes are imported when the first
tensor of that backend is made.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tengen.generated.backends import BACKENDS

from ..autograd.grad_mode import grad_mode
from ..autograd.inference_mode import use as inference
from ..core.device import DEVICES, device
from ..core.memory_format import strided
from ..core.scalar_type import dtype

if TYPE_CHECKING:
    from .type import Type


class MissingLibrary(ImportError, AssertionError):
    """The package of a device's arrays is not installed; PyTorch raises AssertionError for its devices."""


class UnservedDevice(NotImplementedError, AssertionError):
    """A device of a kind that PyTorch has, and no backend here."""


class Backend:
    """One backend: its name, its device and the library of array functions behind it.

    ``lib`` is a module, or an object, with the functions that :mod:`tengen.dispatch.backend` describes.
    """

    __slots__ = ("device", "group", "has_data", "layouts", "lib", "mutable", "name", "rank")

    def __init__(self, name: str, row: dict[str, Any]) -> None:
        layouts: tuple[str, ...] = row["layouts"]
        self.name = name
        #: The name of the group that it is a member of.
        self.group: str | None = row.get("group")
        #: Whether its arrays can be written to; else a tensor that is written gets another one.
        self.mutable: bool = row["mutable"]
        #: The layouts of its tensors. Of a device's backends that with the higher rank takes mixed calls.
        self.layouts = layouts
        self.rank = tuple(BACKENDS).index(name)
        #: False where tensors have shapes only, so that no value can be looked at.
        self.has_data: bool = row["data"]
        self.device = device(row["device"])
        module, _, name = row["library"].partition(":")
        #: The module or object with the functions.
        self.lib: Any = _library(module, row)
        if name:
            self.lib = getattr(self.lib, name)

    @property
    def is_strided(self) -> bool:
        """Whether its tensors are strided memory."""
        return strided.name in self.layouts

    def array_dtype(self, scalar_type: dtype) -> Any:
        """The dtype of its arrays of a scalar type; that of another layout says that, too."""
        found = scalar_type.array_dtype
        return found if self.is_strided and self.group is None else self.lib.array_dtype(found)

    def __repr__(self) -> str:
        return f"<tengen backend {self.name}>"


def _library(module: str, row: dict[str, Any]) -> Any:
    """The module of a backend's library; ImportError that says how it is installed, where it is not."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        extra = row.get("extra")
        if extra is None or (error.name or "").startswith("tengen"):
            raise
        raise MissingLibrary(
            f"{_not_compiled(row['device'])}: it needs the package {error.name}: pip install tengen[{extra}]",
            name=error.name,
        ) from error


def _not_compiled(kind: str) -> str:
    """What PyTorch says of a device that it was built without, and programs look for."""
    return f"Torch not compiled with {kind.upper()} enabled, the device {kind!r}"


_backends: dict[str, Backend] = {}
_matrix: dict[tuple[str, dtype, bool], Type] = {}
#: What gives the classes that each Type gets before its own, the newest last.
_extensions: list[Callable[[Type], type | None]] = []


def backend(name: str) -> Backend:
    """The backend called ``name``, as in backends.yaml ("CPU").

    Raises RuntimeError for a name that no declaration has.
    """
    found = _backends.get(name)
    if found is None:
        row = BACKENDS.get(name)
        if row is None:
            raise RuntimeError(f"no backend {name!r}; there are {', '.join(sorted(BACKENDS))}")
        found = _backends[name] = Backend(name, row)
    return found


def backend_with(where: device, layout: str) -> Backend:
    """The backend of tensors of a layout on ``where``; NotImplementedError when there is none."""
    for name, row in BACKENDS.items():
        if row["device"] == where.type and layout in row["layouts"]:
            return backend(name)
    raise NotImplementedError(f"no backend has tensors of the layout {layout} on the device {where}")


def backend_of_device(where: device) -> Backend:
    """The backend whose tensors live on ``where``; UnservedDevice when there is none."""
    name = DEVICES.get(where.type)
    if name is None:
        known = ", ".join(sorted(DEVICES))
        raise UnservedDevice(f"{_not_compiled(where.type)}: no backend has it; there are {known}")
    return backend(name)


def dataless_device() -> device:
    """The device of the backend whose tensors have shapes only."""
    return next(device(row["device"]) for row in BACKENDS.values() if not row["data"])


def get_type(backend_name: str, scalar_type: dtype, recording: bool = True) -> Type:
    """The Type of a backend and a scalar type; ``recording`` ones build the graph.

    Raises NotImplementedError when the backend does not have that scalar type.
    """
    found = _matrix.get((backend_name, scalar_type, recording))
    if found is None:
        found = _make(backend_name, scalar_type, recording)
    return found


def type_of(
    scalar_type: dtype, where: device, recording: bool | None = None, layout: str = strided.name
) -> Type:
    """The Type of tensors of ``scalar_type`` on ``where``: one that records, save in inference mode."""
    if recording is None:
        recording = not grad_mode.inference
    if layout != strided.name:
        return get_type(backend_with(where, layout).name, scalar_type, recording)
    return get_type(backend_of_device(where).name, scalar_type, recording)


def _make(backend_name: str, scalar_type: dtype, recording: bool) -> Type:
    owner = backend(backend_name)
    row = BACKENDS[backend_name]
    if scalar_type.type_name not in row["scalar_types"]:
        raise NotImplementedError(f"backend {backend_name} has no tensors of {scalar_type}")
    made: Type = _type_class(row, backend_name, scalar_type, recording)(owner, scalar_type, recording)
    done = 0
    while True:
        for extension in _extensions[done:]:  # this may import: not below the lock
            _extend(made, extension(made))
            done += 1
        with inference.lock:  # two threads may come here at once; setdefault keeps the singleton single
            if done == len(_extensions):
                made.unsettled = not recording or bool(inference.threads)
                return _matrix.setdefault((backend_name, scalar_type, recording), made)


def _type_class(row: dict[str, Any], backend_name: str, scalar_type: dtype, recording: bool) -> Any:
    """The generated class of a Type; a member of a group gets one of its own, derived from the group's."""
    module = import_module(row["variable_types"] if recording else row["types"])
    prefix, stem = "Variable" if recording else "", f"{scalar_type.type_name}Type"
    group = row.get("group")
    if group is None:
        return getattr(module, f"{prefix}{backend_name}{stem}")
    bases = [getattr(module, f"{prefix}{group}{stem}")]
    if row["own_types"]:  # its kernels beside the group's
        own = getattr(import_module(row["own_types"]), f"{backend_name}{stem}")
        bases = [*bases, own] if recording else [own]
    name = f"{prefix}{backend_name}{stem}"
    body = {"__slots__": (), "__doc__": f"The Type of {name.removesuffix('Type')} tensors."}
    return type(name, tuple(bases), {**body, "__module__": bases[0].__module__})


def extend_types(extension: Callable[[Type], type | None]) -> None:
    """Give every Type, those made later too, the methods of a class before its own.

    ``extension`` says of which: a class without slots, or None.
    """
    seen: dict[int, type | None] = {}
    while True:
        for T in list(_matrix.values()):
            if id(T) not in seen:  # this may import: not below the lock
                seen[id(T)] = extension(T)
        with inference.lock:
            if len(seen) == len(_matrix):
                for T in _matrix.values():
                    _extend(T, seen[id(T)])
                _extensions.append(extension)
                return


def _extend(T: Type, mixin: type | None) -> None:
    """Make a Type, which all its tensors keep, one of a class that derives from the mixin and its own."""
    former = type(T)
    if mixin is not None:
        body = {"__slots__": (), "__doc__": former.__doc__, "__module__": former.__module__}
        T.__class__ = type(former.__name__, (mixin, former), body)


def _unsettle(inside: bool) -> None:
    """While a thread is in inference mode, Types that record look at the mode before they make a result."""
    for T in _matrix.values():
        T.unsettled = not T.recording or inside


inference.tell = _unsettle
