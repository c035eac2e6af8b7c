"""``Tensor.storage()``: a tensor's memory as elements of its dtype, which older programs ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tengen.generated.functions import empty

from ..core.device import device as Device
from ..core.package_name import package
from ..core.scalar_type import dtype as DType, get_default_dtype
from ..core.storage import ElementStorage, UntypedStorage
from .tensor import Tensor

Number = bool | int | float | complex


class TypedStorage(ElementStorage):
    """A storage of elements of ``dtype``.

    It is that of ``wrap_storage``, or a new one of a number of elements, or with those of a sequence. An
    element is a Python number. ``untyped()`` is the memory as bytes. TypeError for other arguments.
    """

    __slots__ = ("_tensor",)

    def __init__(
        self,
        *args: int | Sequence[Number],
        wrap_storage: UntypedStorage | None = None,
        dtype: DType | None = None,
        device: Device | str | None = None,
    ) -> None:
        dtype = get_default_dtype() if dtype is None else dtype
        self._tensor: Tensor  # 1-d, over the whole memory
        if wrap_storage is not None:
            if args or not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    "TypedStorage(): expected wrap_storage to be an UntypedStorage, and given alone, "
                    f"but got {type(wrap_storage).__name__} and {len(args)} other arguments"
                )
            count = wrap_storage.nbytes() // dtype.itemsize
            whole = empty(0, dtype=dtype, device=wrap_storage.device)
            self._tensor = whole.set_(wrap_storage, 0, (count,), (1,))
            return
        if len(args) > 1:
            raise TypeError(f"TypedStorage(): expected a number of elements or a sequence, but got {args!r}")
        values = args[0] if args else 0
        count = values if isinstance(values, int) else len(values)
        self._tensor = empty(count, dtype=dtype, device=device)
        if not isinstance(values, int):
            self[:] = values

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._tensor.dtype

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._tensor.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self._tensor.is_cuda

    def untyped(self) -> UntypedStorage:
        """The memory as bytes."""
        return self._tensor.untyped_storage()

    def size(self) -> int:
        """The number of elements."""
        return self._tensor.numel()

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.untyped().nbytes()

    def element_size(self) -> int:
        """The number of bytes of an element."""
        return self._tensor.element_size()

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none."""
        return self._tensor.data_ptr()

    def tolist(self) -> list[Number]:
        """The elements, as numbers."""
        found: list[Number] = self._tensor.tolist()
        return found

    def __iter__(self) -> Iterator[Number]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Number:
        """An element. IndexError where there is none, RuntimeError for a slice, else TypeError."""
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"can't index a {package.name}.TypedStorage with {type(index).__name__}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        found: Number = self._tensor[index].item()
        return found

    def __setitem__(self, index: int | slice, value: Number | Sequence[Number]) -> None:
        """Set an element, or those of a slice to a number or to as many. Errors as of ``Tensor``'s."""
        given: Any = value
        if not isinstance(value, (int, float, complex)):
            given = self._tensor.new_tensor(value)
        self._tensor.detach()[index] = given

    def fill_(self, value: Number) -> TypedStorage:
        """Set all elements to a number; returns the storage."""
        self[:] = value
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Write the elements of another, cast to this dtype; returns this. RuntimeError for another size."""
        if source.size() != self.size():
            raise RuntimeError(f"size does not match, self was {self.size()} but src was {source.size()}")
        self._tensor.copy_(source._tensor)
        return self

    def clone(self) -> TypedStorage:
        """A storage with a copy of the elements."""
        return TypedStorage(wrap_storage=self.untyped().clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage itself, or a copy of it on the CPU."""
        return (
            self
            if self.device.type == "cpu"
            else TypedStorage(wrap_storage=self.untyped().cpu(), dtype=self.dtype)
        )

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist())
        kind = f"[{package.name}.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size"
        return f"{lines}{kind} {self.size()}]"
