"""``x.float()``, ``x.long()`` and so on: shorthands of ``to``.

They are named like Python's own types, so they live in a class of their own, where no
annotation means those.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ..autograd.linear_maps import Placed, apply_linear
from ..core import scalar_type as _types
from ..core.device import as_device, device
from ..core.function_dispatch import UNHANDLED, dispatch, state
from ..core.interception import active
from ..core.tensor_base import TensorBase
from ..dispatch.binding_support import MISSING
from ..dispatch.calls import call
from ..dispatch.legacy_type_dispatch import backend_of_device
from ..dispatch.operator import operator, table

if TYPE_CHECKING:
    from .tensor import Tensor


class TensorCasts(TensorBase):
    """The tensor itself if it has the dtype, else a copy that has."""

    __slots__ = ()

    if not TYPE_CHECKING:  # whose stub is generated: the overloads of ``TensorMethods``

        def to(self, *args, **keywords) -> Tensor:
            """The tensor with another dtype or on another device; itself if it is that already.

            ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``, where ``other`` is a tensor; then
            ``non_blocking``, ``copy`` and ``memory_format``. ``copy=True`` always makes a copy.
            A device's array library may have more options, as ``chunks``, of how it places the elements.
            """
            asked = keywords
            if keywords and not active:
                asked = {name: v for name, v in keywords.items() if v is not _UNASKED.get(name, MISSING)}
            if len(args) == 1 and not asked and args[0].__class__ is _types.dtype:
                return _cast(self, args[0], None, "to")
            if not active and (wanted := _dtype_here(self, args, asked)) is not None:
                return _cast(self, wanted, None, "to")
            if keywords and not keywords.keys() <= _options():
                return _placed(self, args, keywords)
            return call("to", (self, *args), keywords, "to")

    def bool(self, memory_format: Any = None) -> Tensor:
        """``self`` as bool: whether each element is not zero."""
        return _cast(self, _types.bool_, memory_format, "bool")

    def byte(self, memory_format: Any = None) -> Tensor:
        """``self`` as uint8."""
        return _cast(self, _types.uint8, memory_format, "byte")

    def char(self, memory_format: Any = None) -> Tensor:
        """``self`` as int8."""
        return _cast(self, _types.int8, memory_format, "char")

    def short(self, memory_format: Any = None) -> Tensor:
        """``self`` as int16."""
        return _cast(self, _types.int16, memory_format, "short")

    def int(self, memory_format: Any = None) -> Tensor:
        """``self`` as int32."""
        return _cast(self, _types.int32, memory_format, "int")

    def long(self, memory_format: Any = None) -> Tensor:
        """``self`` as int64."""
        return _cast(self, _types.int64, memory_format, "long")

    def half(self, memory_format: Any = None) -> Tensor:
        """``self`` as float16."""
        return _cast(self, _types.float16, memory_format, "half")

    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """``self`` as bfloat16."""
        return _cast(self, _types.bfloat16, memory_format, "bfloat16")

    def float(self, memory_format: Any = None) -> Tensor:
        """``self`` as float32."""
        return _cast(self, _types.float32, memory_format, "float")

    def double(self, memory_format: Any = None) -> Tensor:
        """``self`` as float64."""
        return _cast(self, _types.float64, memory_format, "double")

    def chalf(self, memory_format: Any = None) -> Tensor:
        """``self`` as complex32."""
        return _cast(self, _types.complex32, memory_format, "chalf")

    def cfloat(self, memory_format: Any = None) -> Tensor:
        """``self`` as complex64."""
        return _cast(self, _types.complex64, memory_format, "cfloat")

    def cdouble(self, memory_format: Any = None) -> Tensor:
        """``self`` as complex128."""
        return _cast(self, _types.complex128, memory_format, "cdouble")


_PLACE_AND_DTYPE = ("device", "dtype")
#: The options of ``to`` that ask for nothing.
_UNASKED = {"non_blocking": False, "copy": False, "memory_format": None}


def _dtype_here(self: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The dtype that is wanted on the tensor's own device; None where more is asked for, or nothing."""
    given = keywords if not args else dict(zip(_PLACE_AND_DTYPE, args, strict=False))
    if not given or (args and (keywords or len(args) > 2)) or not given.keys() <= {*_PLACE_AND_DTYPE}:
        return None
    T = self._type
    where, wanted = given.get("device"), given.get("dtype")
    place = where.type if where.__class__ is device else where
    if where is not None and (place.__class__ is not str or place != T.backend.device.type):
        return None
    if wanted is None:
        return T.scalar_type
    return wanted if wanted.__class__ is _types.dtype else None


@cache
def _options() -> frozenset[str]:
    """The keywords that the overloads of ``to`` have."""
    return frozenset().union(*[operator(name).names for name in table().OVERLOADS["to"]])


def _placed(self: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Tensor:
    """``to`` with options that the device's array library has, else the error of unknown keywords."""
    where = next((a for a in (*args[:1], keywords.get("device")) if isinstance(a, str | device)), None)
    lib = (self._type.backend if where is None else backend_of_device(as_device(where))).lib
    options = {name: keywords[name] for name in keywords.keys() - _options()}
    if not options.keys() <= getattr(lib, "placement", frozenset()):
        refused: Tensor = call("to", (self, *args), keywords, "to")
        return refused
    given = {name: value for name, value in keywords.items() if name not in options}
    moved = call("to", (self, *args), given, "to") if args or given else self
    try:
        result: Tensor = apply_linear(Placed(moved._type, partial(lib.placed, **options)), moved)
    except (TypeError, ValueError) as error:
        raise type(error)(f"to(): {error}") from None
    return result


def _cast(self: Any, dtype: Any, memory_format: Any, method: str) -> Tensor:
    if active:
        if state.modes:
            given = (self, dtype) if method == "to" else (self,)
            keywords = {} if memory_format is None else {"memory_format": memory_format}
            taken = dispatch(method, given, keywords)
            if taken is not UNHANDLED:
                return taken  # type: ignore[no-any-return]
        result: Tensor = operator("to.dtype")(self, dtype, False, False, memory_format)
        return result
    if self._type.scalar_type is dtype and memory_format is None:
        unchanged: Tensor = self
        return unchanged
    copy: Tensor = self._type.to_dtype(self, dtype, False, False, memory_format)
    return copy
