"""The memory that views share, and its version counter."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .device import default_device, device, device as Device
from .held_memory import hold_memory, is_held
from .package_name import package
from .scalar_type import dtype
from .storage_conversions import StorageConversions

if TYPE_CHECKING:
    from .tensor_base import TensorBase

_Tensor = TypeVar("_Tensor", bound="TensorBase")

_new = object.__new__


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
        storage = tensor._storage = _new(Storage)  # what its __init__ does, without the call
        storage.version, storage.views, storage.untyped = 0, None, None
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


def hold(tensor: _Tensor) -> _Tensor:
    """The tensor, whose memory stays where it is from now on: NumPy has it, too, or another library."""
    hold_memory(tensor._array)
    return tensor


#: What finds the backend of a device, which a higher floor puts here.
backend_for: list[Callable[[Any], Any]] = []
#: The handles that users have, by the address of the memory, for `x` and `x.data`, which share no Storage.
_handles: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


class UntypedStorage(StorageConversions):
    """The bytes that a tensor's elements are kept in, as the user sees them.

    ``t.untyped_storage()`` of all tensors over a memory is the same object.
    """

    __slots__ = ("__weakref__", "_backend", "_filename", "_owner", "_root")

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
        self._note()
        if content:
            self.memory()[:] = [value & 0xFF for value in content]

    @classmethod
    def over(cls, root: Any, backend: Any, owner: Storage | None = None) -> UntypedStorage:
        """The handle on memory that there is: a 1-d array of the backend's over all of it."""
        made = cls.__new__(cls)
        made._put(root, backend)
        made._note()
        if owner is not None:
            made._owner = weakref.ref(owner)  # weak: the Storage holds this handle
        return made

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: dtype,
    ) -> UntypedStorage:
        """A storage with a copy of a buffer's bytes, which are elements of ``dtype`` in this order.

        ``byte_order`` is "big", "little" or "native"; elements of one byte need none. ``count`` is in
        elements (-1: all there are), ``offset`` in bytes. TypeError for what is no buffer, RuntimeError
        without an order, ValueError for an unknown order and where the buffer does not hold so many whole
        elements.
        """
        from .storage_sources import of_buffer

        backend = backend_for[0](default_device)
        return cls.over(backend.lib.from_numpy(of_buffer(buffer, byte_order, count, offset, dtype)), backend)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first ``nbytes`` bytes of a file, mapped into memory.

        With ``shared`` what is written is written to the file, which is made as long as that; else it is not,
        and the file is as it was. RuntimeError for a file that cannot be opened or is too short, TypeError
        for what is no path.
        """
        from .storage_sources import of_file

        made = cls.over(of_file(filename, shared, nbytes), backend_for[0](default_device))
        hold_memory(made._root)
        made._filename = filename if shared else None
        return made

    def _put(self, root: Any, backend: Any) -> None:
        self._root, self._backend = root.view(np.uint8), backend
        self._owner: weakref.ref[Storage] | None = None
        self._filename: str | None = None

    def _note(self) -> None:
        if self._backend.has_data:
            _handles[self.data_ptr()] = self

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
        return _typed(self._root, self.nbytes(), array_dtype)

    def resizable(self) -> bool:
        """Whether ``resize_`` can change the size: not of memory that NumPy or a file has, or of a slice."""
        return not is_held(self._root)

    def resize_(self, size: int) -> UntypedStorage:
        """Give the storage so many bytes, the first of which are as before; returns it.

        The tensors over it are so afterwards. RuntimeError for what is no number of bytes, for a storage that
        cannot be resized, and where one of its tensors would lie beyond its end: nothing is changed then.
        """
        if isinstance(size, bool) or not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if size < 0:
            raise RuntimeError(f"resize_ expects no negative number of bytes, but got {size}")
        tensors = self.movable()
        if size == self.nbytes():
            return self
        lib = self._backend.lib
        root = lib.empty((size,), self._root.dtype)
        kept = min(size, self.nbytes())
        if kept:
            lib.copyto(lib.as_strided(root, (kept,), (1,), 0), lib.as_strided(self._root, (kept,), (1,), 0))
        arrays = [self._window(tensor, root) for tensor in tensors]
        if self._backend.has_data:
            _handles.pop(self.data_ptr(), None)
        self._root = root
        self._note()
        for tensor, array in zip(tensors, arrays, strict=True):
            tensor._array = array
        return self

    def movable(self) -> list[TensorBase]:
        """The tensors over the memory, which may be moved. RuntimeError where somebody else has it, too."""
        refusal = "Trying to resize storage that is not resizable"
        if not self.resizable():  # first: to look for the tensors takes long
            raise RuntimeError(refusal)
        tensors = self._tensors()
        if any([is_held(tensor._array) for tensor in tensors]):
            raise RuntimeError(refusal)
        return tensors

    def _window(self, tensor: TensorBase, root: Any) -> Any:
        """The tensor's array, in other memory. RuntimeError where that ends before it."""
        array, lib = tensor._array, self._backend.lib
        shape, strides, offset = tuple(array.shape), lib.strides(array), lib.storage_offset(array)
        reach = 0 if 0 in shape else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
        end, size = (offset + reach) * array.itemsize, lib.nbytes(root)
        if reach and end > size:
            raise RuntimeError(
                f"resize_: a tensor of the shape {list(shape)} ends at byte {end} of the storage, "
                f"which cannot be given {size} bytes"
            )
        return lib.as_strided(_typed(root, size, array.dtype), shape, strides, offset)

    def _tensors(self) -> list[TensorBase]:
        """The tensors over the memory.

        They are looked for among all objects, which takes milliseconds. To have them listed would cost
        every handle that is made, by ``detach``, for ``data``, in a transform, a weak reference, for the
        sake of the few memories which are resized while somebody shares them.
        """
        from .tensor_base import TensorBase

        gc.unfreeze()  # it does not tell of those that are frozen; they only become the collector's again
        alive = [found for found in gc.get_objects() if issubclass(type(found), TensorBase)]
        return [found for found in alive if self._is_memory_of(found)]

    def _is_memory_of(self, tensor: TensorBase) -> bool:
        """Whether the tensor is a window of this memory; not one whose slots are still being filled."""
        if tensor._wraps or not hasattr(tensor, "_array"):  # what wraps may not say of which type it is
            return False
        T: Any = getattr(tensor, "_type", None)
        if T is None or T.backend is not self._backend:
            return False
        lib = self._backend.lib
        root = lib.root(tensor._array)
        return bool(
            lib.data_ptr(root) == lib.data_ptr(self._root)
            and (self._backend.has_data or lib.may_share_memory(root, self._root))
        )

    @property
    def filename(self) -> str | None:
        """The file that what is written is written to; None where there is none."""
        return self._filename

    def byteswap(self, dtype: dtype) -> None:
        """Turn the order of the bytes of each element of a dtype. RuntimeError where these are not all."""
        from .storage_sources import swapped

        if self.nbytes() % dtype.itemsize:
            raise RuntimeError(f"the length of data is not a multiple of {dtype.itemsize}")
        self.memory()[:] = swapped(self.memory(), dtype)

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
            return self._part(chosen)
        return int(self.memory()[chosen])

    def _part(self, chosen: slice) -> UntypedStorage:
        root = self._root[chosen]
        if isinstance(root, np.ndarray):  # whose memory is to begin and end there
            root = np.frombuffer(root.data, np.uint8)
        part = UntypedStorage.__new__(UntypedStorage)
        part._put(root, self._backend)
        hold_memory(part._root)
        return part

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

    def to(self, *, device: Device | str, non_blocking: bool = False) -> UntypedStorage:
        """The storage itself, or a copy of its bytes on another device."""
        backend = backend_for[0](device)
        if backend.device == self.device:
            return self
        made = UntypedStorage.over(backend.lib.empty((self.nbytes(),), np.dtype(np.uint8)), backend)
        return made.copy_(self) if backend.has_data else made

    def cuda(self, device: Device | str | int | None = None, non_blocking: bool = False) -> UntypedStorage:
        """The storage itself, or a copy of its bytes on a GPU. As ``Tensor.cuda`` where there is none."""
        number = f"cuda:{device}" if isinstance(device, int) else device
        return self.to(device="cuda" if number is None else number)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class; with a class of storages, or its name, the bytes as its elements."""
        if dtype is None:
            return f"{package.name}.storage.UntypedStorage"
        named = dtype.rpartition(".")[2] if isinstance(dtype, str) else dtype
        return self if named in (UntypedStorage, "UntypedStorage") else self._as(dtype)

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(device=self.device)

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist()) if self._backend.has_data else "...\n"
        return f"{lines}[{package.name}.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _typed(root: Any, size: int, array_dtype: Any) -> Any:
    step = array_dtype.itemsize
    return root[: size // step * step].view(array_dtype)


class ElementStorage(StorageConversions):
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
    address, found = backend.lib.data_ptr(root), storage.untyped
    if found is None or found.data_ptr() != address:  # none yet, or another memory since
        found = _handles.get(address) if backend.has_data else None
        if found is None or found._backend is not backend:
            found = UntypedStorage.over(root, backend, storage)
        if is_held(tensor._array):
            hold_memory(found._root)  # which is another array where the owner has gaps
        storage.untyped = found
    return found


def resize_memory(tensor: TensorBase, size: int) -> None:
    """Give a tensor's memory so many bytes, for all tensors over it. Errors of ``UntypedStorage.resize_``."""
    untyped_storage_of(tensor).resize_(size)
