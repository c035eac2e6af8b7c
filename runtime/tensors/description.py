"""What a tensor says of itself: shape, strides, type, device, memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

from ..autograd.view_geometry import geometry_of
from ..core.device import default_device, device as Device
from ..core.memory_format import (
    CONSTANTS,
    channels_last,
    contiguous_format,
    is_channels_last,
    jagged,
    layout as Layout,
    memory_format as MemoryFormat,
    preserve_format,
    sparse_coo,
    sparse_csr,
    strided,
)
from ..core.package_name import package
from ..core.scalar_type import dtype as DType
from ..core.size import Size, of_shape
from ..core.storage import UntypedStorage, untyped_storage_of
from ..core.tensor_base import TensorBase
from ..kernels.dims import wrap_dim
from ..kernels.layout import is_told_by_strides, memory_order

if TYPE_CHECKING:
    from .tensor import Tensor
    from .typed_storage import TypedStorage

_new_size = tuple.__new__


class TensorDescription(TensorBase):
    """The part of Tensor that needs neither elements nor operators."""

    __slots__ = ()

    # -- shape

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return _new_size(Size, self._array.shape)

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Size | int:
        """The shape, or the size of one dimension. IndexError when there is no such dimension."""
        sizes: tuple[int, ...] = self._array.shape
        return of_shape(sizes) if dim is None else sizes[_checked_dim(dim, len(sizes))]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        count: int = self._array.ndim
        return count

    def dim(self) -> int:
        """The number of dimensions."""
        count: int = self._array.ndim
        return count

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        count: int = self._array.size
        return count

    nelement = numel

    def is_same_size(self, other: TensorBase) -> bool:
        """Whether both tensors have the same shape."""
        same: bool = self._array.shape == other._array.shape
        return same

    # -- memory

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """The strides in elements, or that of one dimension. IndexError when there is no such one."""
        backend = self._type.backend
        steps: tuple[int, ...]
        steps = backend.lib.strides(self._array) if backend.mutable else geometry_of(self).strides
        return steps if dim is None else steps[_checked_dim(dim, len(steps))]

    def storage_offset(self) -> int:
        """How many elements after the start of the storage the first element is."""
        backend = self._type.backend
        offset: int
        offset = backend.lib.storage_offset(self._array) if backend.mutable else geometry_of(self).offset
        return offset

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none."""
        address: int = self._type.backend.lib.data_ptr(self._array) if self._array.size else 0
        return address

    const_data_ptr = data_ptr

    def untyped_storage(self) -> UntypedStorage:
        """The memory that the tensor shares with its views, as bytes."""
        return untyped_storage_of(self)

    def storage(self) -> TypedStorage:
        """The memory that the tensor shares with its views, as elements; ``untyped_storage`` is newer."""
        from .typed_storage import TypedStorage

        return TypedStorage(wrap_storage=untyped_storage_of(self), dtype=self.dtype)

    def storage_type(self) -> type:
        """The class of ``storage()``: ``FloatStorage``; TypedStorage where the dtype has none of its own."""
        from .storage_classes import class_name, storage_class
        from .typed_storage import TypedStorage

        try:
            return storage_class(class_name(self.dtype), self.device.type)
        except KeyError:
            return TypedStorage

    def is_contiguous(self, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements stand in memory in the order of the indices, without gaps.

        With a channels-last ``memory_format``: in the order of that.
        """
        backend = self._type.backend
        if memory_format is contiguous_format or memory_format is preserve_format:
            contiguous: bool
            if backend.mutable:
                contiguous = backend.lib.is_contiguous(self._array)
            else:
                contiguous = geometry_of(self).is_contiguous()
            return contiguous
        if self.is_nested:  # whose dimensions have an order of their own only in each component
            return False
        return is_channels_last(memory_format, self._array.shape, self.stride())

    def dim_order(self, *, ambiguity_check: bool | list[MemoryFormat] = False) -> tuple[int, ...]:
        """The dimensions in the order in which they stand in memory, the outermost first.

        Where several orders say the same, as with sizes of 1, one of them is taken. With ``ambiguity_check``
        that is a RuntimeError; a list of memory formats lets it be where the tensor is in exactly one of
        these. TypeError for anything else.
        """
        formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
        if not isinstance(formats, list) or not all([isinstance(f, MemoryFormat) for f in formats]):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        shape, strides = tuple(self._array.shape), self.stride()
        ambiguous = 1 in shape or any([a == b for a, b in pairwise(strides)])
        if (ambiguity_check is not False and ambiguous) and sum(map(self.is_contiguous, formats)) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory "
                "formats."
            )
        if len(shape) < 2:
            return tuple(range(len(shape)))
        last = is_channels_last(channels_last, shape, strides)
        if self.is_contiguous() is not last:
            return (0, *range(2, len(shape)), 1) if last else tuple(range(len(shape)))
        order = memory_order(shape, strides)
        if ambiguity_check and not is_told_by_strides(shape, strides, order):
            raise RuntimeError("The tensor does not have unique dim order.")
        return tuple(reversed(order))

    def is_set_to(self, tensor: TensorBase) -> bool:
        """Whether both tensors are the same window of the same memory."""
        lib, other = self._type.backend.lib, tensor._type.backend.lib
        if lib is not other:
            return False
        a, b = self._array, tensor._array
        address = lib.data_ptr(a)
        shared = address == lib.data_ptr(b) if address else self._storage is tensor._storage is not None
        return shared and bool(lib.same_layout(a, b))

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements. RuntimeError for a sparse tensor."""
        if self.layout is not strided and not self.is_nested:
            raise RuntimeError(
                "nbytes is not defined for sparse tensors. If you want the size of the constituent "
                "tensors, add "
                "the nbytes of the indices and values. If you want the size of the equivalent dense tensor, "
                "multiply numel() by element_size()"
            )
        return self.numel() * self.itemsize

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is locked for copies to a GPU: it never is."""
        return False

    def pin_memory(self, device: Any = None) -> Any:
        """RuntimeError: memory is locked for copies to a GPU, of which a number says that there is one."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def share_memory_(self) -> Any:
        """The tensor itself: memory is not shared with other processes here, which get copies."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes see the memory: they never do."""
        return False

    # -- type

    @property
    def dtype(self) -> DType:
        """The scalar type of the elements."""
        found: DType = self._type.scalar_type
        return found

    @property
    def device(self) -> Device:
        """Where the elements are."""
        found: Device = self._type.backend.device
        return found

    def get_device(self) -> int:
        """The index of the device; -1 when its kind has only one."""
        index = self.device.index
        return -1 if index is None else index

    @property
    def layout(self) -> Layout:
        """How the elements are stored: ``tengen.strided``, ``tengen.sparse_coo`` and the like."""
        if strided.name in self._type.backend.layouts:
            return strided
        # An array without data, as one of a batch, tells no layout.
        name = getattr(self._array, "layout", self._type.backend.layouts[0])
        return CONSTANTS[name]  # type: ignore[return-value]

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the elements can be negative."""
        return self.dtype.is_signed

    def _type_string(self) -> str:
        """``tengen.FloatTensor``; with the layout, or the kind of device where it is not the default."""
        kind = self.device.type
        place = "" if kind == default_device.type else f"{kind}."
        place += "" if self.layout is strided or self.is_nested else "sparse."
        return f"{package.name}.{place}{self.dtype.type_name}Tensor"

    # -- layouts, and what no tensor of ours is, and programs written for PyTorch ask

    @property
    def is_cpu(self) -> bool:
        """Whether the elements are in the memory of the CPU."""
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has no data, only a shape, a dtype and strides."""
        return self.device.type == "meta"

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are in the memory of a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_sparse(self) -> bool:
        """Whether the elements are stored in coordinate format, with indices."""
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the elements are stored in compressed rows."""
        return self.layout is sparse_csr

    @property
    def _blocksize(self) -> tuple[int, int] | None:
        """The sizes of the blocks that are stored; None of a layout without blocks."""
        sizes: tuple[int, int] | None = getattr(self._array, "blocksize", None)
        return sizes

    def to_sparse_coo(self) -> Tensor:
        """The tensor in coordinate format, of the same shape; as ``to_sparse()``."""
        made: Tensor = self.to_sparse()  # type: ignore[attr-defined]
        return made

    def sparse_dim(self) -> int:
        """The number of dimensions that are indexed: 0 of a strided tensor."""
        count: int = 0 if self.layout is strided else self._array.sparse_dim
        return count

    def dense_dim(self) -> int:
        """The number of dimensions that values have: all of a strided tensor."""
        count: int = self._array.ndim if self.layout is strided else self._array.dense_dim
        return count

    def _nnz(self) -> int:
        """The number of values that are stored. NotImplementedError for a strided tensor."""
        if self.layout is strided:
            raise NotImplementedError("_nnz: a strided tensor has no number of stored values")
        count: int = self._array.nnz
        return count

    def is_coalesced(self) -> bool:
        """Whether each index occurs once, in C's order. RuntimeError for what has no such indices."""
        if self.layout is not sparse_coo:
            raise RuntimeError(f"is_coalesced expected sparse coordinate tensor layout but got {self.layout}")
        flag: bool = self._array.coalesced
        return flag

    def _coalesced_(self, coalesced: bool) -> Tensor:
        """Say that it is coalesced, or not; the tensor itself."""
        self._array.coalesced = coalesced
        return self  # type: ignore[return-value]

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are quantized: never."""
        return False

    @property
    def is_nested(self) -> bool:
        """Whether this is a list of tensors, the parts, of several shapes."""
        return jagged.name in self._type.backend.layouts

    def offsets(self) -> Tensor:
        """Where each part begins in the values of a nested tensor, and where the last one ends, ``(parts +
        1,)``.

        NotImplementedError for a tensor that is not nested, RuntimeError for one of the layout strided.
        """
        made: Tensor = self._nested_get_offsets()  # type: ignore[attr-defined]
        return made

    def lengths(self) -> Tensor | None:
        """The lengths of the parts, ``(parts,)``, of a jagged tensor with gaps between them; else None.

        Errors are those of ``offsets``.
        """
        made: Tensor = self._nested_get_lengths()  # type: ignore[attr-defined]
        return None if self._array.lengths is None else made

    @property
    def is_ipu(self) -> bool:
        """Whether the elements are in the memory of one of Graphcore's devices: never."""
        return self.device.type == "ipu"

    @property
    def is_maia(self) -> bool:
        """Whether the elements are in the memory of one of Microsoft's devices: never."""
        return self.device.type == "maia"

    @property
    def is_mps(self) -> bool:
        """Whether the elements are in the memory of an Apple GPU: never."""
        return self.device.type == "mps"

    @property
    def is_mtia(self) -> bool:
        """Whether the elements are in the memory of one of Meta's devices: never."""
        return self.device.type == "mtia"

    @property
    def is_vulkan(self) -> bool:
        """Whether the elements are in the memory of a Vulkan device: never."""
        return self.device.type == "vulkan"

    @property
    def is_xla(self) -> bool:
        """Whether the elements are in the memory of an XLA device of PyTorch's: never."""
        return self.device.type == "xla"

    @property
    def is_xpu(self) -> bool:
        """Whether the elements are in the memory of an Intel GPU: never."""
        return self.device.type == "xpu"

    @property
    def is_mkldnn(self) -> bool:
        """Whether the elements are in a layout of oneDNN's: never."""
        return False

    def is_conj(self) -> bool:
        """Whether conjugation is pending: never, ``conj`` computes."""
        return False

    def is_neg(self) -> bool:
        """Whether negation is pending: never."""
        return False

    def is_distributed(self) -> bool:
        """Whether the elements are shared out among processes: never."""
        return False

    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugation is never pending."""
        return self  # type: ignore[return-value]

    def resolve_neg(self) -> Tensor:
        """The tensor itself: negation is never pending."""
        return self  # type: ignore[return-value]


def _checked_dim(dim: Any, ndim: int) -> int:
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)
