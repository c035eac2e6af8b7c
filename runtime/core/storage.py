"""The memory that views share, and its version counter."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .device import device, device as Device
from .package_name import package
from .scalar_type import dtype

if TYPE_CHECKING:
    from .tensor_base import TensorBase


class Storage:
    """What a tensor, its views and its detached handles have in common.

    Made only once something needs it (a view, an in-place operator): a tensor without one has
    version 0. ``version`` counts the writes. ``views`` has a weak reference to each live view,
    so that a write through one of them can give the others their new history.
    """

    __slots__ = ("__weakref__", "untyped", "version", "views")

    def __init__(self) -> None:
        self.version = 0
        self.views: list[weakref.ref[TensorBase]] | None = None
        self.untyped: UntypedStorage | None = None  # the user's handle, made when asked for


def storage_of(tensor: TensorBase) -> Storage:
    """The tensor's Storage, made if there is none yet.

    The Node that computed the tensor is told, when it saved the tensor as its result: it must be
    able to see later whether somebody wrote into it.
    """
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage()
        if tensor._edge is not None:
            node, number = tensor._edge[0], tensor._edge[1]
            stored = getattr(node, "result_stored", None)
            if stored is not None:
                stored(number, storage)
    return storage


def begin_write(tensor: TensorBase) -> None:
    """Count a write before it is done.

    Were it interrupted, a Node that saved the old values would say that they are gone.
    """
    storage_of(tensor).version += 1


#: What finds the backend of a device, which a higher floor puts here.
backend_for: list[Callable[[Any], Any]] = []


class UntypedStorage:
    """The bytes that a tensor's elements are kept in, as the user sees them.

    ``t.untyped_storage()`` of a tensor and of its views is the same object.
    """

    __slots__ = ("__weakref__", "_backend", "_owner", "_root")

    def __init__(self, data: int | Sequence[int] = 0, *, device: Device | str | None = None) -> None:
        """A storage of so many bytes, or of the lowest bytes of these ints.

        RuntimeError for a negative number, and for what is no sequence of ints.
        """
        backend = backend_for[0](device)
        is_count = isinstance(data, int) and not isinstance(data, bool)
        if not is_count and not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
            raise RuntimeError(f"UntypedStorage(): Expected a sequence type, but got {type(data).__name__}")
        count = data if is_count else len(data)  # type: ignore[arg-type]
        if count < 0:  # type: ignore[operator]
            raise RuntimeError(f"UntypedStorage(): expected no negative number of bytes, but got {count}")
        content = [] if is_count else [data[i] for i in range(len(data))]  # type: ignore[index, arg-type]
        for value in content:
            if isinstance(value, bool) or not isinstance(value, int):
                raise RuntimeError(
                    f"UntypedStorage(): tried to construct a storage from a {type(data).__name__}, but one "
                    f"of the items was of type {type(value).__name__} instead of int"
                )
        self._put(backend.lib.empty((count,), np.dtype(np.uint8)), backend)
        if content:
            self.memory()[:] = [value & 0xFF for value in content]

    @classmethod
    def over(cls, root: Any, backend: Any, owner: Storage | None = None) -> UntypedStorage:
        """The handle on memory that there is: a 1-d array of the backend's over all of it."""
        made = cls.__new__(cls)
        made._put(root, backend)
        # weak: the Storage holds this handle
        made._owner = None if owner is None else weakref.ref(owner)
        return made

    def _put(self, root: Any, backend: Any) -> None:
        self._root, self._backend = root.view(np.uint8), backend
        self._owner: weakref.ref[Storage] | None = None

    def shared(self) -> Storage:
        """The Storage of the tensors over this memory, made if none of them is left."""
        owner = None if self._owner is None else self._owner()
        if owner is None:
            owner = Storage()
            owner.untyped = self
            self._owner = weakref.ref(owner)
        return owner

    @property
    def device(self) -> device:
        """Where the memory is."""
        found: device = self._backend.device
        return found

    def data_ptr(self) -> int:
        """The address of the first byte."""
        address: int = self._backend.lib.data_ptr(self._root)
        return address

    def nbytes(self) -> int:
        """The number of bytes."""
        count: int = self._backend.lib.nbytes(self._root)
        return count

    size = nbytes
    __len__ = nbytes

    def element_size(self) -> int:
        """Always 1: what is stored are bytes."""
        return 1

    def memory(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes as a NumPy array that shares the memory."""
        found: np.ndarray[Any, Any] = self._backend.lib.to_numpy(self._root)
        return found

    def typed(self, array_dtype: Any) -> Any:
        """The backend's 1-d array over the memory, as whole elements of a dtype."""
        step = array_dtype.itemsize
        return self._root[: self.nbytes() // step * step].view(array_dtype)

    def tolist(self) -> list[int]:
        """The bytes, as ints."""
        values: list[int] = self.memory().tolist()
        return values

    def __getitem__(self, index: int | slice) -> int | UntypedStorage:
        """A byte, or for a slice with step 1 a storage that shares these bytes.

        IndexError for a byte that is not there, TypeError for another index, RuntimeError for another step.
        """
        chosen = self._chosen(index)
        if isinstance(chosen, slice):
            return UntypedStorage.over(self._root[chosen], self._backend)
        return int(self.memory()[chosen])

    def __setitem__(self, index: int | slice, value: int) -> None:
        """Set a byte, or all of a slice. RuntimeError for a value that is no int; else as ``__getitem__``."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise RuntimeError(
                f"can only set storage content with a int types, but got {type(value).__name__} instead"
            )
        self.memory()[self._chosen(index)] = value & 0xFF

    def _chosen(self, index: Any) -> int | slice:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.nbytes())
            if step != 1:
                raise RuntimeError(
                    f"Trying to slice with a step of {step}, but only a step of 1 is supported"
                )
            return slice(start, max(start, stop))
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"can't index a {package.name}.UntypedStorage with {type(index).__name__}")
        if not -self.nbytes() <= index < self.nbytes():
            raise IndexError(f"index {index} out of range for storage of size {self.nbytes()}")
        return index

    def fill_(self, value: int) -> UntypedStorage:
        """Set all bytes to a value, and return the storage. RuntimeError for no int."""
        self[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of another storage; returns this one. RuntimeError for another size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self.memory()[:] = source.memory()
        return self

    def clone(self) -> UntypedStorage:
        """A storage with a copy of the bytes."""
        lib = self._backend.lib
        made = lib.empty((self.nbytes(),), self._root.dtype)
        return (
            UntypedStorage.over(made, self._backend).copy_(self)
            if self._backend.has_data
            else UntypedStorage.over(made, self._backend)
        )

    def cpu(self) -> UntypedStorage:
        """The storage itself, or a copy of its bytes on the CPU."""
        if self.device.type == "cpu":
            return self
        made = UntypedStorage(self.nbytes())
        made.memory()[:] = self.memory()
        return made

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(device=self.device)

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __repr__(self) -> str:
        return f"{package.name}.UntypedStorage(device={self.device}) of size {self.nbytes()}"


class ElementStorage:
    """What a storage of elements is to those who take its memory."""

    __slots__ = ()

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements."""
        raise NotImplementedError

    def untyped(self) -> UntypedStorage:
        """The memory as bytes."""
        raise NotImplementedError


def bytes_of(name: str, source: Any, scalar_type: dtype) -> Any:
    """The bytes of a storage of elements; anything else as it is. RuntimeError for another dtype."""
    if not isinstance(source, ElementStorage):
        return source
    if source.dtype is not scalar_type:
        raise RuntimeError(
            f"{name}: Expected a Storage of {scalar_type} or an UntypedStorage, but got one of {source.dtype}"
        )
    return source.untyped()


def untyped_storage_of(tensor: TensorBase) -> UntypedStorage:
    """The user's handle on a tensor's memory."""
    storage, backend = storage_of(tensor), tensor._type.backend
    root = backend.lib.root(tensor._array)
    found = storage.untyped
    if found is None or found.data_ptr() != backend.lib.data_ptr(root):  # resized since
        found = storage.untyped = UntypedStorage.over(root, backend, storage)
    return found
