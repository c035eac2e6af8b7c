"""MaskedTensor: a tensor with a mask that says which of its elements count, as in ``torch.masked``.

It has two plain tensors, its data and its mask, and its history is that of its data. Functions come to it by
``__tengen_function__``, and ``functions_of_masked`` says what each does to data and mask.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self, TypeGuard

from tengen.generated import functions, scalar_types

from ..autograd.function import Function
from ..core.memory_format import sparse_coo, sparse_csr, strided
from ..core.scalar_type import dtype as DType
from ..core.user_stack import program_stacklevel
from ..tensors.held_slots import held_slot, read_slot
from ..tensors.tensor import Tensor

# PyTorch has the functions that make one in a module beside.
__all__ = ["MaskedTensor", "is_masked_tensor"]


def __dir__() -> list[str]:
    return sorted(__all__)


_new = object.__new__

#: What the elements may be.
_DTYPES = frozenset(
    {
        scalar_types.float16,
        scalar_types.float32,
        scalar_types.float64,
        scalar_types.bool_,
        scalar_types.int8,
        scalar_types.int16,
        scalar_types.int32,
        scalar_types.int64,
    }
)
_NO_ELEMENTS = "MaskedTensor: {} would lose the mask; use to_tensor(value), or get_data() and get_mask()"


class MaskedTensor(Tensor):
    """``data`` of which only those elements count where ``mask`` is True.

    Both have one shape and layout: strided, ``sparse_coo`` or ``sparse_csr``, with the same indices. ``mask``
    is of bools, ``data`` of bools, integers or floating-point numbers. Both are copied, without history, for
    a leaf. TypeError and ValueError for what does not fit.

    Pointwise functions compute on the data and keep the mask, which operands have in common; functions that
    move elements move both; reductions leave out what is masked out, and their results are masked out where
    nothing is left. ``grad`` is a MaskedTensor with this tensor's mask.
    """

    __module__ = "tengen.masked"

    _masked_data: Tensor
    _masked_mask: Tensor

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        check_tensors(data, mask)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid "
                "this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
        data, mask = aligned(data.detach(), mask)
        data = data.clone()
        if requires_grad:
            data.requires_grad = True
        return wrap(data, mask.clone())

    @staticmethod
    def _from_values(data: Any, mask: Any) -> MaskedTensor:
        """As the constructor, but with the history of ``data``."""
        check_tensors(data, mask)
        data, mask = aligned(data, mask)
        return wrap(_Entered.apply(data, mask), mask.clone())

    # -- the slots of a tensor are those of the data

    _array: Any = read_slot("_masked_data._array")
    _type: Any = read_slot("_masked_data._type")
    _requires_grad: Any = read_slot("_masked_data._requires_grad")
    _edge: Any = read_slot("_masked_data._edge")
    _base: Any = read_slot("_masked_data._base")
    _storage: Any = held_slot("_masked_data._storage")
    _meta: Any = held_slot("_masked_data._meta")

    # -- data and mask

    def get_data(self) -> Tensor:
        """The data, also where it is masked out: a plain tensor with its history, if strided its memory."""
        data = self._masked_data
        return functions.alias(data) if data.layout is strided else data.clone()

    def get_mask(self) -> Tensor:
        """The mask: a plain tensor of bools in the shape of the data."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """The data as a plain tensor, with ``value`` where it is masked out. Strided data only."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    # Methods in PyTorch, of which the last is a property of other tensors.
    def is_sparse_coo(self) -> bool:
        """Whether data and mask are sparse in coordinate format."""
        return self._masked_data.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether data and mask are sparse, in rows."""
        return self._masked_data.layout is sparse_csr

    @property
    def is_sparse(self) -> bool:
        """Whether data and mask are sparse, in either layout."""
        return self._masked_data.layout is not strided

    # -- gradients

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to the data; settable for leaves."""
        return self._masked_data._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._masked_data.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad``, and return the tensor. Errors as for any tensor."""
        self._masked_data.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated, with this tensor's mask; or None."""
        found = self._masked_data.grad
        return None if found is None else with_mask(found, self._masked_mask)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._masked_data.grad = value._masked_data if is_masked_tensor(value) else value

    @grad.deleter
    def grad(self) -> None:
        self._masked_data.grad = None

    def detach(self) -> MaskedTensor:
        """The same data and mask without history."""
        return wrap(self._masked_data.detach(), self._masked_mask)

    @property
    def data(self) -> Tensor:
        """The same data and mask without history."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        raise TypeError("MaskedTensor: data cannot be assigned to; make a new one with masked_tensor()")

    # -- transposition

    @property
    def T(self) -> Tensor:
        """The dimensions reversed."""
        return self.permute(tuple(range(self._array.ndim - 1, -1, -1)))

    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged."""
        return self.transpose(-2, -1)

    H = T
    mH = mT

    # -- elements

    def item(self) -> Any:
        """The one element as a Python number. ValueError where it is masked out, RuntimeError for several."""
        found = self._masked_data.item()
        if not self._masked_mask.item():
            raise ValueError("item(): expected a mask tensor that is True, but the element is masked out")
        return found

    def __bool__(self) -> bool:
        return bool(self._masked_data) and bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        found = self._masked_data.__index__()
        self.item()
        return found

    def __lt__(self, other: Any) -> MaskedTensor:  # with any mask, as in PyTorch
        operand = other._masked_data if is_masked_tensor(other) else other
        return wrap(self._masked_data < operand, self._masked_mask)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("MaskedTensor: elements cannot be assigned to; make a new one with masked_tensor()")

    def numpy(self, *, force: bool = False) -> NoReturn:
        """TypeError: an array has no mask."""
        raise TypeError(_NO_ELEMENTS.format("numpy()"))

    def tolist(self) -> NoReturn:
        """TypeError: a list has no mask."""
        raise TypeError(_NO_ELEMENTS.format("tolist()"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(_NO_ELEMENTS.format("an array"))

    def __reduce_ex__(self, protocol: Any) -> Any:
        leaf = self.is_leaf and self.requires_grad
        return MaskedTensor, (self._masked_data.detach(), self._masked_mask, leaf)

    def __deepcopy__(self, memo: Any) -> MaskedTensor:
        made, arguments = self.__reduce_ex__(2)
        found: MaskedTensor = made(*arguments)
        memo[id(self)] = found
        return found

    # -- functions

    @classmethod
    def __tengen_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """What ``func`` does to data and mask. NotImplemented, with a UserWarning, where that is not said."""
        from .functions_of_masked import run

        if not all([issubclass(kind, MaskedTensor) for kind in types]):
            return NotImplemented
        return run(func, args, kwargs or {})

    # -- text

    def __repr__(self) -> str:
        data, mask = dense(self._masked_data.detach()), dense(self._masked_mask)
        if not data.ndim:
            return f"MaskedTensor({_shown(data.item()) if mask.item() else '--'}, {mask.item()})"
        return f"MaskedTensor(\n{_indented(_rows(data, mask))}\n)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self) if self._array.ndim else format(self.item(), spec)

    def _repr_html_(self) -> None:
        """None: notebooks show the text."""


class _Entered(Function):
    """The data of a MaskedTensor that keeps its history: no gradient leaves where it is masked out."""

    @staticmethod
    def forward(data: Tensor, mask: Tensor) -> Tensor:
        return data.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return (grad.where(mask, 0) if mask.layout is strided and grad.layout is strided else grad), None


def is_masked_tensor(obj: Any, /) -> TypeGuard[MaskedTensor]:
    """Whether ``obj`` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A MaskedTensor of copies of ``data`` and ``mask``: a leaf. See ``masked.MaskedTensor``."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A MaskedTensor of copies of ``data`` and ``mask`` with the history of ``data``.

    The gradient of ``data`` is 0 where it is masked out. Errors as for ``masked.MaskedTensor``.
    """
    return MaskedTensor._from_values(data, mask)


# -- making ----------------------------------------------------------------------------


def wrap(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A MaskedTensor of these very tensors, which fit."""
    out = _new(MaskedTensor)
    out._masked_data, out._masked_mask = data, mask
    check_members(data, mask)
    return out


def with_mask(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A MaskedTensor of ``data`` in the layout of ``mask``."""
    if data.layout is not mask.layout:
        data = data.to_dense() if mask.layout is strided else dense(data).sparse_mask(mask)
    return wrap(data, mask)


def dense(tensor: Tensor) -> Tensor:
    """The tensor, strided."""
    return tensor if tensor.layout is strided else tensor.to_dense()


def aligned(data: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Data and mask of one layout; of sparse ones the data at the indices of the mask."""
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout is sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    if data.layout in (sparse_coo, sparse_csr) and data._nnz() != mask._nnz():
        data = data.to_dense().sparse_mask(mask)
    return data, mask


def check_tensors(data: Any, mask: Any) -> None:
    """TypeError for what is no tensor, or masked itself."""
    for name, value in (("data", data), ("mask", mask)):
        if is_masked_tensor(value) or not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a Tensor")


def check_members(data: Tensor, mask: Tensor) -> None:
    """Raise TypeError or ValueError where data and mask do not fit."""
    if type(data) is not type(mask):
        raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
    if data.layout not in (strided, sparse_coo, sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout is sparse_coo and not same(data.indices(), mask.indices()):
        raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
    if data.layout is sparse_csr and not same_rows(data, mask):
        raise ValueError(
            "data and mask are both sparse CSR tensors but do not share either crow or col indices."
        )
    if mask.dtype is not scalar_types.bool_:
        raise TypeError("mask must have dtype bool.")
    dtype: DType = data.dtype
    if dtype not in _DTYPES:
        raise TypeError(f"{dtype} is not supported in MaskedTensor.")
    if data.ndim != mask.ndim:
        raise ValueError("data.dim() must equal mask.dim()")
    if data.shape != mask.shape:
        raise ValueError("data.size() must equal mask.size()")


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are equal, in shape too."""
    return a.shape == b.shape and bool((a == b).all())


def same_rows(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors in rows store elements at the same indices."""
    return same(a.crow_indices(), b.crow_indices()) and same(a.col_indices(), b.col_indices())


def same_mask(a: Tensor, b: Tensor) -> bool:
    """Whether two masks are alike. ValueError for two layouts."""
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.layout is sparse_coo:
        return same(a.values(), b.values()) and same(a.indices(), b.indices())
    if a.layout is sparse_csr:
        return same_rows(a, b) and same(a.values(), b.values())
    return same(a, b) if a.ndim == b.ndim else False


# -- printing --------------------------------------------------------------------------


def _shown(number: Any) -> str:
    return f"{number:8.4f}" if isinstance(number, float) else str(number)


def _rows(data: Tensor, mask: Tensor) -> str:
    """The elements in brackets, ``--`` for those that are masked out."""
    if data.ndim == 1:
        texts, kept = [_shown(number) for number in data.tolist()], mask.tolist()
        width = max([len(text) if keep else 8 for text, keep in zip(texts, kept, strict=True)], default=8)
        shown = [text if keep else "--".rjust(width) for text, keep in zip(texts, kept, strict=True)]
        return f"[{', '.join(shown)}]"
    inner = [_indented(_rows(row, kept)) for row, kept in zip(data, mask, strict=True)]
    return "[\n" + ",\n".join(inner) + "\n]"


def _indented(text: str) -> str:
    return "\n".join(["  " + line for line in text.split("\n")])


#: How arguments of calls are taken apart.
Part = Callable[[MaskedTensor], Any]


def mapped(value: Any, part: Part) -> Any:
    """``value`` with the part of each MaskedTensor in its place, also in lists and tuples."""
    if is_masked_tensor(value):
        return part(value)
    if isinstance(value, (list, tuple)) and any([isinstance(v, Tensor) for v in value]):
        return type(value)([mapped(v, part) for v in value])
    return value


def masked_among(values: Sequence[Any]) -> list[MaskedTensor]:
    """The MaskedTensors among arguments and in their lists."""
    found: list[MaskedTensor] = []
    for value in values:
        if is_masked_tensor(value):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += masked_among(value)
    return found
