"""Type: what a tensor is, and where its operators are.

There is one singleton for each backend, scalar type, and recording or not. The generated
classes derive from this one; ``x.log10()`` ends in ``x._type.log10(x)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ..core.memory_format import strided
from ..core.numbers import FITTING, Numbers
from ..core.scalar_type import bool_, dtype, from_array_dtype, int64
from ..core.tensor_base import TensorBase, declare_tensor
from ..kernels.dtypes import FLOAT32
from ..kernels.reduced import converted, upcast
from .legacy_type_dispatch import Backend, get_type, type_of

if TYPE_CHECKING:
    Tensor = TensorBase
else:
    declare_tensor(globals())

#: The class Tensor, as whoever calls ``wrap`` knows: it stands above.
_Tensor = TypeVar("_Tensor", bound=TensorBase)
_new = object.__new__

Load = Callable[[Any], Any]
Store = Callable[[Any, Any], Any]


def _weak(scalar_type: dtype) -> frozenset[type]:
    """The classes of Python numbers that stay in a type; a narrow integer must wrap an int first."""
    category = scalar_type.category
    narrow = (category == "integral" and scalar_type.itemsize < 8) or category == "unsigned"
    return FITTING["bool" if narrow else scalar_type.category]


class Type:
    """The operators of tensors of one backend and scalar type."""

    __slots__ = (
        "__dict__",  # for the siblings
        "backend",
        "dtype",
        "load",
        "numbers",
        "recording",
        "rounds",
        "scalar_type",
        "store",
        "store_computed",
        "unsettled",
        "weak",
    )

    #: Whether it stands for any, as only ``AnyDtype`` does.
    any_dtype: ClassVar[bool] = False

    def __init__(self, backend: Backend, scalar_type: dtype, recording: bool) -> None:
        self.backend = backend
        self.scalar_type = scalar_type
        self.dtype: Any = backend.array_dtype(scalar_type)
        self.recording = recording
        #: Whether it is computed in another type, and results are rounded.
        self.rounds = scalar_type.opmath is not scalar_type
        #: Whether it depends on the thread's mode if results are of this Type, or of its twin.
        self.unsettled = not recording
        #: The classes of Python scalars that an operation with such a tensor does not promote.
        self.weak = _weak(scalar_type)
        self.numbers = Numbers(backend.lib.full, self.dtype, scalar_type.category)
        #: What a kernel gets for an array of this Type.
        self.load: Load
        #: What makes a result, with the dtype that it must have, one of this Type; None for nothing.
        self.store: Store | None
        #: The same for a result that need not be of this Type, but should be if it is of that computed in.
        self.store_computed: Store | None
        self.load, self.store, self.store_computed = _hooks(scalar_type, backend.lib.cast)

    @property
    def name(self) -> str:
        """``CPUFloatType``, ``VariableCPUFloatType``, ..."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<tengen Type {self.name}>"

    def wrap(self, array: Any) -> _Tensor:  # type: ignore[type-var]
        """A new tensor of this Type over ``array``, which must have its dtype; no history."""
        out: Any = _new(Tensor)
        out._array = array
        out._type = self
        out._requires_grad = False
        out._edge = out._storage = out._base = out._meta = None
        return out  # type: ignore[no-any-return]

    def number(self, value: Any) -> TensorBase:
        """A Python number of a ``weak`` class as a 0-d tensor of this Type."""
        return self.wrap(self.backend.lib.full((), value, self.dtype))

    def of(self, scalar_type: dtype) -> Type:
        """The Type of another scalar type on the same backend, recording as this one does."""
        if scalar_type is self.scalar_type:
            return self
        return get_type(self.backend.name, scalar_type, self.recording)

    def of_array(self, array: Any) -> Type:
        """The Type for an array of this backend, by its dtype."""
        dtype = array.dtype
        if dtype is self.dtype:
            return self
        if not isinstance(dtype, np.dtype):
            return self.accepted(array).of(
                from_array_dtype(dtype.base if hasattr(dtype, "layout") else dtype)
            )
        found = self._by_dtype.get(dtype)
        if found is None:
            found = self._by_dtype[dtype] = self.accepted(array).of(from_array_dtype(dtype))
        return found

    @cached_property
    def _by_dtype(self) -> dict[Any, Type]:
        """The Types of arrays of other dtypes that there were."""
        return {}

    def accepted(self, array: Any) -> Type:
        """The Type of which a gradient must be where one of this Type is awaited: its layout is free."""
        layout = getattr(array.dtype, "layout", strided.name)
        if layout in self.backend.layouts:
            return self
        return type_of(self.scalar_type, self.backend.device, self.recording, layout)

    def recorded(self, recording: bool) -> Type:
        """This Type's twin that records, or does not."""
        if recording is self.recording:
            return self
        return get_type(self.backend.name, self.scalar_type, recording)

    # Siblings are made when they are first asked for. No `__getattr__`: it would slow all access down.

    @cached_property
    def bool_type(self) -> Type:
        """The Type of truth values."""
        return self.of(bool_)

    @cached_property
    def int64_type(self) -> Type:
        """The Type of indices."""
        return self.of(int64)

    @cached_property
    def real_type(self) -> Type:
        """The Type of absolute values."""
        return self.of(self.scalar_type.to_real())

    @cached_property
    def twin(self) -> Type:
        """The Type that records where this one does not, and the other way round."""
        return self.recorded(not self.recording)


# -- what is computed in another type ---------------------------------------------------------------


def _hooks(scalar_type: dtype, cast: Store) -> tuple[Load, Store | None, Store | None]:
    """What a Type does with its arrays, where they are computed in another type, and with results.

    The first gives what a kernel gets for an array. The second makes a result, with the dtype that it must
    have, one of the Type; the third does so only with one that is of the type computed in. None is for
    nothing. ``cast`` is that of the Type's backend.
    """
    computed = scalar_type.opmath
    if computed is scalar_type:
        return _unchanged, None, None
    if scalar_type.category == "reduced":
        return upcast, _round_to, _downcast
    narrow, wide = scalar_type.array_dtype, computed.array_dtype
    narrower = {wide: narrow}
    if scalar_type.is_complex:  # the magnitudes are of such a type, too
        narrower[computed.to_real().array_dtype] = scalar_type.to_real().array_dtype

    def load(array: Any) -> Any:
        return cast(array, wide) if array.dtype == narrow else array

    def store(array: Any, dtype: Any) -> Any:
        return cast(array, narrower.get(array.dtype, dtype))

    def store_computed(array: Any, dtype: Any) -> Any:
        return cast(array, narrower.get(array.dtype, array.dtype))

    return load, store, store_computed


def _unchanged(array: Any) -> Any:
    return array


def _round_to(array: Any, dtype: Any) -> Any:
    """A result rounded to ``dtype``."""
    return array if array.dtype == dtype else converted(array, dtype)


def _downcast(array: Any, dtype: Any) -> Any:
    """A float32 result rounded to ``dtype``; anything else as it is."""
    return converted(array, dtype) if array.dtype == FLOAT32 else array
