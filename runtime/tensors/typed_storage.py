"""``Tensor.storage()``: a tensor's memory as elements of its dtype, which older programs ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated.functions import empty

from ..core.device import default_device, device as Device
from ..core.package_name import package
from ..core.scalar_type import dtype as DType, get_default_dtype
from ..core.storage import ElementStorage, UntypedStorage

if TYPE_CHECKING:
    from .tensor import Tensor

Number = bool | int | float | complex


class TypedStorage(ElementStorage):
    """A storage of elements of ``dtype``.

    It is that of ``wrap_storage``, or a new one of a number of elements, or with those of a sequence. An
    element is a Python number. ``untyped()`` is the memory as bytes. TypeError for other arguments,
    RuntimeError for a negative number of elements.
    """

    __slots__ = ("__weakref__", "_dtype", "_untyped")

    def __init__(
        self,
        *args: int | Sequence[Number],
        wrap_storage: UntypedStorage | None = None,
        dtype: DType | None = None,
        device: Device | str | None = None,
    ) -> None:
        self._dtype = get_default_dtype() if dtype is None else dtype
        self._untyped: UntypedStorage
        if wrap_storage is not None:
            if args or not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    "TypedStorage(): expected wrap_storage to be an UntypedStorage, and given alone, "
                    f"but got {type(wrap_storage).__name__} and {len(args)} other arguments"
                )
            self._untyped = wrap_storage
            return
        values = args[0] if args else 0
        is_number = isinstance(values, int) and not isinstance(values, bool)
        is_sequence = isinstance(values, (Sequence, TypedStorage)) and not isinstance(values, (str, bytes))
        if len(args) > 1 or not (is_number or is_sequence):
            raise TypeError(f"TypedStorage(): expected a number of elements or a sequence, but got {args!r}")
        count: Any = values if is_number else len(values)  # type: ignore[arg-type]
        if count < 0:
            raise RuntimeError(f"TypedStorage(): expected no negative number of elements, but got {count}")
        self._untyped = empty(count, dtype=self._dtype, device=device).untyped_storage()
        if not is_number:
            self[:] = list(values)  # type: ignore[arg-type]

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: DType | None = None,
    ) -> TypedStorage:
        """A storage with a copy of a buffer's elements, as ``UntypedStorage.from_buffer`` takes them.

        RuntimeError for a ``dtype`` that is given to a class of one dtype; other errors are those of that.
        """
        own = cls._own_dtype()
        if own is not None and dtype is not None:
            raise RuntimeError(f"from_buffer: {cls.__name__} is of {own}, so that 'dtype' cannot be given")
        kind = own or dtype or get_default_dtype()
        memory = UntypedStorage.from_buffer(buffer, byte_order, count, offset, dtype=kind)
        return TypedStorage(wrap_storage=memory, dtype=kind)

    @classmethod
    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """As ``UntypedStorage.from_file``, for the classes of one dtype, in elements. RuntimeError else."""
        own = cls._own_dtype()
        if own is None:
            raise RuntimeError("from_file can only be called on derived classes")
        memory = UntypedStorage.from_file(filename, shared, size * own.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=own)

    @classmethod
    def _own_dtype(cls) -> DType | None:
        """The dtype of a class as ``FloatStorage``."""
        found = vars(cls).get("dtype")
        return found if isinstance(found, DType) else None

    def _whole(self) -> Tensor:
        """A tensor over the whole memory, with a version of its own."""
        whole: Tensor = empty(0, dtype=self._dtype, device=self.device)
        return whole.set_(self._untyped)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._untyped.device

    @property
    def filename(self) -> str | None:
        """The file that what is written is written to; None where there is none."""
        return self._untyped.filename

    def untyped(self) -> UntypedStorage:
        """The memory as bytes."""
        return self._untyped

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self._dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """The number of bytes of an element."""
        return self._dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none."""
        return self._untyped.data_ptr() if self.nbytes() else 0

    def tolist(self) -> list[Number]:
        """The elements, as numbers."""
        found: list[Number] = self._whole().tolist()
        return found

    def __iter__(self) -> Iterator[Number]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Number:
        """An element. IndexError where there is none, RuntimeError for a slice, else TypeError."""
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        found: Number = self._whole()[self._checked(index)].item()
        return found

    def _checked(self, index: Any) -> int:
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"can't index a {package.name}.TypedStorage with {type(index).__name__}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        return index

    def __setitem__(self, index: int | slice, value: Number | Sequence[Number]) -> None:
        """Set an element, or those of a slice to a number or to as many. Errors as of ``Tensor``'s."""
        if not isinstance(index, slice):
            index = self._checked(index)
        given: Any = value
        if not isinstance(value, (int, float, complex)):
            given = self._whole().new_tensor(value)
        self._whole()[index] = given

    def fill_(self, value: Number) -> TypedStorage:
        """Set all elements to a number; returns the storage."""
        self[:] = value
        return self

    def copy_(self, source: TypedStorage | UntypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Write the elements of another, cast to this dtype; returns this. RuntimeError for another size.

        Of a storage of bytes the bytes are written as they are.
        """
        if isinstance(source, UntypedStorage):
            self._untyped.copy_(source)
            return self
        if source.size() != self.size():
            raise RuntimeError(f"size does not match, self was {self.size()} but src was {source.size()}")
        self._whole().copy_(source._whole())
        return self

    def clone(self) -> TypedStorage:
        """A storage with a copy of the elements."""
        return self._of(self._untyped.clone())

    def _of(self, memory: UntypedStorage) -> TypedStorage:
        return self if memory is self._untyped else TypedStorage(wrap_storage=memory, dtype=self._dtype)

    def resizable(self) -> bool:
        """Whether ``resize_`` can change the size."""
        return self._untyped.resizable()

    def resize_(self, size: int) -> None:
        """Give the storage so many elements. Errors are those of ``UntypedStorage.resize_``."""
        is_number = isinstance(size, int) and not isinstance(size, bool)
        self._untyped.resize_(size * self._dtype.itemsize if is_number else size)

    def cpu(self) -> TypedStorage:
        """The storage itself, or a copy of it on the CPU."""
        return self._of(self._untyped.cpu())

    def cuda(self, device: Device | str | int | None = None, non_blocking: bool = False) -> TypedStorage:
        """The storage itself, or a copy of it on a GPU. As ``Tensor.cuda`` where there is none."""
        return self._of(self._untyped.cuda(device))

    def to(self, *, device: Device | str, non_blocking: bool = False) -> TypedStorage:
        """The storage itself, or a copy of it on another device."""
        return self._of(self._untyped.to(device=device))

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class of the dtype's storages; with such a class, or its name, a conversion."""
        if dtype is not None:
            return self._as(dtype)
        place = "" if self.device == default_device else f"{self.device.type}."
        return f"{package.name}.{place}{self.pickle_storage_type()}"

    def pickle_storage_type(self) -> str:
        """The name of the class of the dtype's storages, as "FloatStorage". KeyError where there is none."""
        from .storage_classes import class_name

        return class_name(self._dtype)

    def __repr__(self) -> str:
        lines = (
            "".join(f" {value}\n" for value in self.tolist()) if self._untyped._backend.has_data else "...\n"
        )
        kind = f"[{package.name}.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size"
        return f"{lines}{kind} {self.size()}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_typed_storage, (self._untyped, self._dtype)

    def __copy__(self) -> TypedStorage:
        return self.clone()  # as PyTorch has it


def rebuild_typed_storage(memory: UntypedStorage, dtype: DType) -> TypedStorage:
    """A storage of elements over one of bytes, for pickles."""
    return TypedStorage(wrap_storage=memory, dtype=dtype)


rebuild_typed_storage.__module__ = "tengen.serialization"


def converted(storage: UntypedStorage | TypedStorage, kind: Any) -> TypedStorage:
    """The elements, or bytes, as elements of a dtype, or of a class of storages: itself if it is that.

    ValueError for what is none of these.
    """
    from .storage_classes import StorageType, class_named

    dtype = kind if isinstance(kind, DType) else class_named(kind).dtype
    place = class_named(kind).place if isinstance(kind, (StorageType, str)) else storage.device.type
    if isinstance(storage, UntypedStorage):
        storage = TypedStorage(wrap_storage=storage, dtype=DType.registry["uint8"])
    made = storage
    if dtype is not storage.dtype:
        made = TypedStorage(wrap_storage=storage._whole().to(dtype).untyped_storage(), dtype=dtype)
    return made if made.device.type == place else made.to(device=place)
