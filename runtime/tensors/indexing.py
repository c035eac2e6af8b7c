"""``x[...]`` and ``x[...] = value``.

An index is worked off from left to right: integers, slices, ``None`` and ``...`` make views, one
operator each; tensors, lists and arrays are collected and make one advanced index (a copy) of
what the views have left. The rules and the errors are PyTorch's.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.grad_mode import grad_mode
from ..autograd.inference_mode import check_write
from ..autograd.view import as_view
from ..core.function_dispatch import UNHANDLED, Overridden, dispatch, overrides, state, without_overrides
from ..core.interception import active
from ..core.memory_format import NotStrided
from ..core.numbers import NUMBERS
from ..core.scalar_type import from_array_dtype
from ..core.storage import begin_write
from ..core.sym_int import RaggedSizeError, SymInt, ragged_size
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from ..dispatch.operator import operator as by_name
from ..fast_paths import fast_path
from ..kernels.cpu import cast
from ..kernels.creation import cast_number
from .sequences import array_of

if TYPE_CHECKING:
    from .tensor import Tensor

#: Sequences shorter than this may stand for a tuple, as in old NumPy.
_TUPLE_LIMIT = 32


@fast_path(
    "not_intercepted; is_tensor self; has_array self; runs self; is_recorded self => L1; "
    "array self; local index; at_key; wrap_part self; give; "
    "L1:; is_class index int -> L2; is_index self index; "
    "local self; constant 0; local index; method select_int 3; give; "
    "L2:; has_dims self 0 => out; local self; constant 0; bounds index; method slice_Tensor 5; give"
)
def getitem(self: Tensor, index: Any) -> Tensor:
    """What ``self[index]`` is: a view for integers, slices, ``None`` and ``...``, else a copy.

    IndexError for too many indices, one out of range or one of a wrong class; ValueError for a
    slice with a step that is not positive.
    """
    if not active:
        if self._type.backend.mutable:  # else a view has to know how it was made
            if index.__class__ is int and self._array.ndim > 1:
                try:
                    if self._requires_grad and grad_mode.enabled:
                        return self._type.select_int(self, 0, index)  # type: ignore[no-any-return]
                    return as_view(self, self._array[index], self._type)  # type: ignore[no-any-return]
                except IndexError:
                    pass  # which is put in PyTorch's words below
            try:
                quick = _quick(self, index)
            except (NotStrided, RaggedSizeError):  # its operators know what its parts are
                quick = None
            if quick is not None:
                return quick
    elif state.modes:
        taken = dispatch("__getitem__", (self, index), {})
        if taken is not UNHANDLED:
            return taken  # type: ignore[no-any-return]
    try:
        view, indices = _apply(self, index)
    except Overridden:
        return dispatch("__getitem__", (self, index), {})  # type: ignore[no-any-return]
    if indices is not None:
        return run_operator(view, "index.Tensor", indices)
    return run_operator(self, "alias") if view is self else view


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``: a number, or a tensor that broadcasts to ``self[index]``.

    Errors are those of ``getitem``; TypeError for a value that is neither; RuntimeError for one that does
    not fit, or where an in-place operator would not be allowed.
    """
    is_tensor = isinstance(value, TensorBase)
    if (value.__class__ not in without_overrides or (active and state.modes)) and dispatch(
        "__setitem__", (self, index, value), {}
    ) is not UNHANDLED:
        return
    if not is_tensor:
        value = _number(self, value)
    elif value._type.backend is not self._type.backend:
        value = value.to(self.device)
    kind = index.__class__
    if kind is bool and not index:
        return
    if kind in (int, slice, tuple) and not _recorded(self, value):
        try:
            key = _basic_key(self._array.shape, index if kind is tuple else (index,))
            if key is not None and self._type.backend.mutable and _write(self, key, value):
                return
        except (NotStrided, RaggedSizeError):  # said below
            pass
    if not self._type.backend.is_strided:
        if self.is_nested:
            raise TypeError("Cannot assign to parts of a nested tensor: write into its components, tensor[i]")
        raise TypeError(f"Cannot assign to a sparse tensor, which {self.layout} is: a part of it is no view")
    if not self._type.backend.mutable and _fill_mask(self, index, value):
        return
    if value._storage is not None and value._storage is self._storage and not value._array.ndim:
        value = value.clone()  # one element, that is read before any is written
    view, indices = _apply(self, index)
    if indices is None:
        run_operator(view, "copy_", _without_leading_ones(value, view._array.ndim), False)
        return
    ones = 0
    shape = value._array.shape
    while ones < len(shape) and shape[ones] == 1:
        ones += 1
    if ones:
        value = value.reshape(shape[ones:])
    if value._array.size == 1:
        indices = [_apart(self, index) for index in indices]
    run_operator(view, "index_put_", indices, value, False)


def _fill_mask(self: Tensor, index: Any, value: Tensor) -> bool:
    """Write one value where a mask of the same shape says; no place need be known for that."""
    mask = isinstance(index, TensorBase) and index._type.scalar_type.name == "bool"
    if not mask or index._array.shape != self._array.shape or value._array.ndim:
        return False
    run_operator(self, "masked_fill_.Tensor", index, value)
    return True


def _quick(self: Tensor, index: Any) -> Tensor | None:
    """The view at an index of a usual kind; None where the general way has to look at it."""
    kind = index.__class__
    array = self._array
    recorded = self._requires_grad and grad_mode.enabled
    if kind is int:
        shape = array.shape
        if len(shape) != 1 or not -shape[0] <= index < shape[0]:
            return None
        if recorded:
            return self._type.select_int(self, 0, index)  # type: ignore[no-any-return]
        element = array[index, ...]  # which is no scalar
        return as_view(self, element, self._type)  # type: ignore[no-any-return]
    if kind is slice:
        start, stop, step = index.start, index.stop, index.step
        if step is None:
            step = 1
        if (
            (start.__class__ is int or start is None)
            and (stop.__class__ is int or stop is None)
            and (step.__class__ is int and step > 0)
            and not (start is None and stop is None)
            and array.ndim
        ):
            if recorded:
                return self._type.slice_Tensor(self, 0, start, stop, step)  # type: ignore[no-any-return]
            part = array[index]
            if step == 1 or part.size:
                return as_view(self, part, self._type)  # type: ignore[no-any-return]
    elif kind is tuple:
        key = _basic_key(array.shape, index)
        if key is not None:
            return _recorded_view(self, index) if recorded else _direct_view(self, key)
    elif index is None:
        return self._type.unsqueeze(self, 0)  # type: ignore[no-any-return]
    return None


def delitem(self: Tensor, index: Any) -> None:
    """Tensors have no elements that could be deleted: TypeError."""
    raise TypeError("Tensor does not support deleting items")


def run_operator(self: Tensor, operator: str, *args: Any) -> Tensor:
    """An operator on complete arguments, through the interceptors if there are any."""
    result: Tensor
    if active:
        result = by_name(operator)(self, *args)
    else:
        result = getattr(self._type, operator.replace(".", "_"))(self, *args)
    return result


# ------------------------------------------------------------------------- views in one step


def _basic_key(shape: tuple[int, ...], keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The index as NumPy takes it, when it is made of ``int``, slices and ``...`` only, all in range.

    None for anything else, and for what is an error: the general way tells which.
    """
    dim, ndim = 0, len(shape)
    dots = False
    for position, key in enumerate(keys):
        kind = key.__class__
        if kind is int:
            if dim >= ndim or not -shape[dim] <= key < shape[dim]:
                return None
            dim += 1
        elif kind is slice:
            step = key.step
            if dim >= ndim or not (step is None or (step.__class__ is int and step > 0)):
                return None
            dim += 1
        elif key is ... and not dots:
            dots = True
            dim = ndim - len(keys) + position + 1
            if dim < position:
                return None
        else:
            return None
    return keys if dots else (*keys, ...)


def _direct_view(self: Tensor, key: tuple[Any, ...]) -> Tensor | None:
    """The view at a basic key, for a tensor whose history is not recorded; None if it has no elements.

    NumPy does not keep the strides of those.
    """
    try:
        array = self._array[key]
    except TypeError:  # of slice bounds
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None
    if not array.size:
        return None
    view: Tensor = as_view(self, array, self._type)
    return view


def _recorded_view(self: Tensor, keys: tuple[Any, ...]) -> Tensor | None:
    """The view at basic keys, by an operator for each that takes a part; None where that is all of it."""
    view, dim = self, 0
    for position, key in enumerate(keys):
        if key.__class__ is int:
            view = view._type.select_int(view, dim, key)
        elif key is ...:
            dim = view._array.ndim - (len(keys) - position - 1)
        else:
            if not _is_all(key, view._array.shape[dim]):
                view = view._type.slice_Tensor(view, dim, *_bounds(key))
            dim += 1
    return None if view is self else view


def _is_all(key: slice, size: int) -> bool:
    """Whether a slice is a whole dimension, which no operator need take."""
    start, stop, step = _bounds(key)
    return step == 1 and start in (None, 0) and (stop is None or stop >= size)


def _recorded(self: Tensor, value: Tensor) -> bool:
    """Whether a write of ``value`` is more than a copy of elements."""
    if active:
        return True
    base = self._base
    requires = self._requires_grad or value._requires_grad or (base is not None and base._requires_grad)
    return requires and grad_mode.enabled


def _write(self: Tensor, key: tuple[Any, ...], value: Tensor) -> bool:
    """Copy the elements of ``value`` to a basic key, when that needs no further check."""
    if value._type is not self._type and _loses_a_part(self, value):
        return False
    array = self._array
    if not self._type.recording:
        check_write(self)
    if 0 in getattr(array, "strides", ()):  # an expanded tensor: the key decides whether it may be written
        return False
    target = array[key]
    source = value._array
    if source.ndim and value._storage is self._storage and value._storage is not None:
        return False  # it may lie across what is written
    if source.ndim and source.shape != target.shape:
        if source.ndim > target.ndim:
            return False
        for n, m in zip(reversed(source.shape), reversed(target.shape), strict=False):
            if n != m and n != 1:
                return False
    begin_write(self)
    self._type.backend.lib.copyto(target, source)
    return True


def _loses_a_part(self: Tensor, value: Tensor) -> bool:
    """Whether complex numbers become real, of which ``copy_`` warns."""
    return value._type.scalar_type.is_complex and not self._type.scalar_type.is_complex


# --------------------------------------------------------------------------- the general way


_Advanced = tuple["Tensor", "list[Tensor | None]"]


def _apply(self: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None] | None]:
    """The view that the basic parts of an index give, and its advanced index, if there is one."""
    keys = _as_tuple(self, index)
    missing = self._array.ndim - sum([_dims_of(key) for key in keys])
    if missing < 0:
        if not self._array.ndim and keys[0].__class__ is int:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number"
            )
        if not self._array.ndim and keys[0].__class__ is slice:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {self._array.ndim}")
    walk = _Walk(self)
    for key in keys:
        if key is ...:
            walk.keep(missing)
            missing = 0
        else:
            walk.step(key)
    if not walk.advanced:
        return walk.view, None
    return _beside(walk.view, walk.indices, walk.numbers) if walk.numbers else (walk.view, walk.indices)


def _beside(view: Tensor, indices: list[Tensor | None], numbers: list[int]) -> _Advanced:
    """The view and its advanced index, with the places ``numbers`` moved before the first other index.

    Each of them selects, as an integer does, so they must not decide where the dimensions of the others go.
    """
    others = [i for i, index in enumerate(indices) if index is not None and i not in numbers]
    if not others:
        return view, indices
    first = others[0]
    rest = [i for i in range(len(indices)) if i not in numbers]
    order = [i for i in rest if i < first] + numbers + [i for i in rest if i >= first]
    ends = [0]
    for index in indices:
        ends.append(ends[-1] + _dims_of_advanced(index))
    dims = [d for i in order for d in range(ends[i], ends[i + 1])]
    dims += range(ends[-1], view._array.ndim)
    return run_operator(view, "permute", dims), [indices[i] for i in order]


def _dims_of_advanced(index: Tensor | None) -> int:
    """How many dimensions a part of an advanced index stands for: a mask for as many as it has."""
    if index is None or index._type.scalar_type.name not in _MASKS:
        return 1
    dims: int = index._array.ndim
    return dims


class _Walk:
    """The state between two parts of an index.

    ``dim`` is the dimension of ``view`` that comes next, ``place`` its number in the tensor that was
    indexed, for errors. ``indices`` is the advanced index so far: None for a dimension that stays.
    ``numbers`` are the places in it of 0-d tensors whose numbers only a transform knows.
    """

    __slots__ = ("advanced", "dim", "indices", "numbers", "place", "view")

    def __init__(self, tensor: Tensor) -> None:
        self.view = tensor
        self.dim = 0
        self.place = 0
        self.indices: list[Tensor | None] = []
        self.numbers: list[int] = []
        self.advanced = False

    def keep(self, dims: int) -> None:
        """Pass over dimensions as they are."""
        self.dim += dims
        self.place += dims
        self.indices.extend([None] * dims)

    def step(self, key: Any) -> None:
        """Work off one part of the index, no ``...``."""
        kind = key.__class__
        if kind is int:
            self.select(key)
        elif kind is slice:
            self.slice(key)
        elif key is None:
            self.view = run_operator(self.view, "unsqueeze", self.dim)
            self.dim += 1
            self.indices.append(None)
        elif kind is bool:
            self.flag(key)
        elif isinstance(key, TensorBase):
            self.tensor(key)
        elif isinstance(key, (Sequence, np.ndarray)):
            self.tensor(_index_tensor(self.view, key))
        else:
            self.select(_integer(key))

    def select(self, index: int) -> None:
        shape = self.view._array.shape
        n = shape[self.dim]
        if n.__class__ is SymInt:
            raise ragged_size("index", self.place, n)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for dimension {self.place} with size {n}")
        self.view = run_operator(self.view, "select.int", self.dim, index)
        self.place += 1

    def slice(self, key: slice) -> None:
        if not _is_all(key, self.view._array.shape[self.dim]):
            self.view = run_operator(self.view, "slice.Tensor", self.dim, *_bounds(key))
        self.keep(1)

    def flag(self, value: bool) -> None:
        """``True`` and ``False`` add a dimension of size 1, of which they take all or nothing."""
        self.view = run_operator(self.view, "unsqueeze", self.dim)
        self.advance(_long_tensor(self.view, np.zeros(1 if value else 0, np.int64)), 1)

    def tensor(self, index: Any) -> None:
        category = index._type.scalar_type.name
        if self.view._type.backend.is_strided and not index._type.backend.is_strided:
            what = "a nested one" if index.is_nested else f"one of the layout {index.layout}"
            raise IndexError(f"tensors used as indices must be strided, but got {what}")
        if index._array.ndim == 0 and category in _INTEGERS:
            if index._wraps:
                self.number(index)
            else:
                self.select(int(index))
        elif index._array.ndim == 0 and category in _MASKS:
            self.flag(bool(index))
        elif category in _MASKS:
            self.advance(index, index._array.ndim)
            self.place += index._array.ndim
        elif category in ("int64", "int32"):
            self.advance(index, 1)
            self.place += 1
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")

    def number(self, index: Any) -> None:
        """Select by a 0-d tensor that vmap batches."""
        self.numbers.append(len(self.indices))
        self.advance(index.long(), 1)
        self.place += 1

    def advance(self, index: Tensor, dims: int) -> None:
        """Add an advanced index that stands for so many dimensions."""
        self.indices.append(index)
        self.advanced = True
        self.dim += dims


_INTEGERS = frozenset({"int8", "int16", "int32", "int64"})
_MASKS = frozenset({"bool", "uint8"})


# ------------------------------------------------------------------------- parts of an index


def _as_tuple(self: Tensor, index: Any) -> tuple[Any, ...]:
    """The parts of an index; a list with slices, tensors or lists in it counts as a tuple."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(index).__name__}'")
    if not isinstance(index, Sequence) or len(index) >= _TUPLE_LIMIT:
        return (index,)
    for part in index:
        if part is None or part is ... or isinstance(part, (slice, Sequence, TensorBase, np.ndarray)):
            warnings.warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] "
                "instead of x[seq].",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
            return tuple(index)
    return (index,)


def _dims_of(key: Any) -> int:
    """How many dimensions a part of an index stands for."""
    if key is None or key is ... or key.__class__ is bool:
        return 0
    if isinstance(key, TensorBase):
        if key.__class__ not in without_overrides and overrides(key):
            raise Overridden
        return key._array.ndim if key._type.scalar_type.name in _MASKS else 1
    if isinstance(key, np.ndarray):
        return key.ndim if key.dtype.kind == "b" or key.dtype == np.uint8 else 1
    return 1


def _integer(key: Any) -> int:
    """An object that stands for an integer, such as NumPy's; IndexError for any other."""
    if not isinstance(key, (np.bool_, float)) and hasattr(key, "__index__"):
        return int(key.__index__())
    if overrides(key):
        raise Overridden
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {_class_name(key)})"
    )


def _class_name(value: Any) -> str:
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _bounds(key: slice) -> tuple[int | None, int | None, int]:
    """Start, stop and step of a slice; ValueError unless the step is positive."""
    start, stop, step = _bound(key.start), _bound(key.stop), _bound(key.step)
    if step is None:
        step = 1
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    return start, stop, step


def _bound(bound: Any) -> int | None:
    if bound is None or bound.__class__ is int:
        return bound
    if isinstance(bound, TensorBase) or hasattr(bound, "__index__"):
        return int(bound.__index__())
    raise TypeError("slice indices must be integers or None or have an __index__ method")


def _index_tensor(self: Tensor, data: Any) -> Tensor:
    """A list or an array as an index on the device of ``self``: a mask, or int64."""
    if isinstance(data, np.ndarray):
        array = data
    else:
        array = array_of(data, None)[0] if len(data) else np.zeros(0, np.int64)
    if array.dtype.kind != "b" and array.dtype != np.uint8:
        array = array.astype(np.int64)
    return _long_tensor(self, array)


def _long_tensor(self: Tensor, array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over an index array, on the device of ``self``."""
    T = self._type.of(from_array_dtype(array.dtype))
    made: Tensor = T.wrap(T.backend.lib.from_numpy(array))
    return made


# --------------------------------------------------------------------------------- the value


def _number(self: Tensor, value: Any) -> Tensor:
    """A number to be assigned, as a 0-d tensor of the Type of ``self``."""
    if isinstance(value, np.integer):
        value = int(value)
    elif value.__class__ not in NUMBERS and not isinstance(value, (int, float, complex)):
        raise TypeError(f"can't assign a {_class_name(value)} to a {self.type()}")
    T = self._type
    wide = T.scalar_type.opmath
    if wide is not T.scalar_type and not wide.is_complex and not isinstance(value, complex):
        # what is too large a number is not refused: it becomes infinite, where the type has infinity
        array = cast(np.asarray(value, wide.array_dtype), T.scalar_type.array_dtype)
    else:
        array = cast_number(value, T.scalar_type.array_dtype)
    made: Tensor = T.wrap(T.backend.lib.from_numpy(array))
    return made


def _apart(self: Tensor, index: Tensor | None) -> Tensor | None:
    """A mask, as a copy where it shares the memory of ``self``: it is read before anything is written."""
    if index is None or index._type.scalar_type.name not in _MASKS:
        return index
    shared = index is self or (index._storage is not None and index._storage is self._storage)
    return index.clone() if shared else index


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """``value`` without leading dims of size 1 that the target does not have."""
    shape = value._array.shape
    extra = len(shape) - ndim
    if extra <= 0 or any([n != 1 for n in shape[:extra]]):
        return value
    rest: Tensor = value.reshape(shape[extra:])
    return rest
