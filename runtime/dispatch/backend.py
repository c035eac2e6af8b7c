"""What the runtime asks of a backend's array library, apart from operators.

A backend is declared in declarations/backends.yaml: a name, a device, and the module that
implements the functions below (``tengen.kernels.cpu`` does for NumPy). That module is
``T.backend.lib`` of each of the backend's Types. Operators do not go through here: their
kernels are named by the generated code.
"""

from __future__ import annotations

from typing import Any, Protocol

Shape = tuple[int, ...]


class Library(Protocol):
    """The functions of a backend's library; arrays are whatever the library works with.

    ``dtype`` is always an array dtype (NumPy's), shapes and strides are tuples of ints, strides
    and offsets count elements. None of the functions but the two that say so changes its
    arguments.
    """

    @property
    def device_name(self) -> str:
        """The kind of its devices: "cpu"."""

    @property
    def dlpack_device(self) -> tuple[int, int] | None:
        """DLPack's (kind, index) of its device; None where DLPack does not know it."""

    # -- new arrays, contiguous unless strides are given

    def zeros(self, shape: Shape, dtype: Any) -> Any: ...
    def ones(self, shape: Shape, dtype: Any) -> Any: ...
    def empty(self, shape: Shape, dtype: Any) -> Any: ...
    def full(self, shape: Shape, value: Any, dtype: Any) -> Any:
        """Every element is ``value``, converted as ``cast`` does."""

    def empty_strided(self, shape: Shape, strides: Shape, dtype: Any) -> Any: ...

    # -- what the engine computes with gradients

    def add(self, a: Any, b: Any) -> Any:
        """The sum of two arrays of one shape and dtype."""

    def add_(self, a: Any, b: Any) -> Any:
        """The same, written into ``a``, which is returned."""

    def sum_to(self, a: Any, shape: Shape) -> Any:
        """The sum over the dimensions that were broadcast to go from ``shape`` to ``a.shape``."""

    def isnan_any(self, a: Any) -> bool:
        """Whether an element is NaN."""

    # -- conversion and copying

    def cast(self, a: Any, dtype: Any) -> Any:
        """``a`` itself when it has the dtype; complex to real takes the real part."""

    def copyto(self, destination: Any, source: Any) -> None:
        """Write ``source`` into ``destination``, broadcast and converted as ``cast`` does."""

    def copy(self, a: Any) -> Any:
        """A copy in fresh memory: dense, its dimensions in the order they have in memory."""

    def contiguous(self, a: Any) -> Any:
        """``a`` itself when its elements are contiguous in C's order, else a copy that is."""

    def from_numpy(self, a: Any) -> Any:
        """An array of the library, sharing memory where it can."""

    def to_numpy(self, a: Any) -> Any:
        """A NumPy array, sharing memory where it can."""

    def item(self, a: Any) -> Any:
        """The one element, as a Python number."""

    # -- memory

    def is_contiguous(self, a: Any) -> bool:
        """Whether the elements stand in C's order without gaps."""

    def same_layout(self, a: Any, b: Any) -> bool:
        """Whether shape, strides and dtype are the same."""

    def strides(self, a: Any) -> Shape: ...
    def storage_offset(self, a: Any) -> int:
        """How many elements after the start of ``root(a)`` the first element is."""

    def root(self, a: Any) -> Any:
        """A 1-d array of a's dtype over all the memory that ``a`` is a view of."""

    def data_ptr(self, a: Any) -> int:
        """The address of the first element."""

    def may_share_memory(self, a: Any, b: Any) -> bool:
        """Whether the arrays may have a byte in common; a quick answer, never False where they have."""

    def nbytes(self, root: Any) -> int:
        """The bytes of the memory that a ``root`` covers."""

    def as_strided(self, a: Any, size: Shape, strides: Shape, offset: int) -> Any:
        """A view of a's memory; RuntimeError when it would not fit."""

    def broadcast_to(self, a: Any, shape: Shape) -> Any:
        """A view, which may be read-only."""
