"""Operator: one overload as the second path sees it, and the table of them.

The generated bindings take the first path, straight to the Type, when their arguments are
tensors of one Type. Everything else comes here, by ``calls``, which finds the overload: Python
scalars that promote, tensors of different types, out variants, active interceptors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..autograd.edge import gradient_edge
from ..autograd.grad_mode import grad_mode
from ..autograd.inference_mode import check_saved, mixes, use as inference
from ..autograd.linear_maps import Cast
from ..core.device import as_device
from ..core.error_notes import note_operator, public_name
from ..core.interception import AliasKind, Interceptor, active, layers, notify_alias
from ..core.library_tables import add_row, remove_row
from ..core.numbers import NUMBERS
from ..core.promotion import common_dtype
from ..core.scalar_type import default_complex, dtype, get_default_dtype, int64
from ..core.tensor_base import TensorBase
from ..kernels.creation import as_number
from .arguments import (
    Parameter,
    shown,
)
from .legacy_type_dispatch import get_type, type_of
from .type import Type

if TYPE_CHECKING:
    from tengen.generated.operators import Row


class Operator:
    """A declared operator. Calling it promotes, chooses the Type and runs its method."""

    __slots__ = (
        "base",
        "decomposes",
        "factory",
        "function",
        "kind",
        "layouts",
        "method",
        "name",
        "names",
        "numbers",
        "numbers_become",
        "options",
        "out",
        "parameters",
        "promote",
        "promoted",
        "refuse",
        "same_dtype",
        "scalars",
        "schema",
        "tensors",
        "written",
        "zero_dim",
    )

    #: Whether what it is made of stays as it is; what a program defines may be given another kernel or rule.
    fixed = True

    def __init__(self, name: str, row: Row) -> None:
        self.name = name
        self.function = name.partition(".")[0]
        self.schema = row.schema
        self.method = row.method
        self.promote = row.promote
        self.promoted = row.promoted
        self.same_dtype = row.same_dtype
        self.zero_dim = row.zero_dim
        self.numbers_become = row.numbers_become
        self.tensors = row.tensors
        self.written = row.written
        self.factory = row.factory
        self.options = row.options
        self.out = row.out
        self.numbers = row.numbers
        self.refuse = row.refuse
        self.kind = row.kind
        self.base = row.base
        self.decomposes = row.decomposes
        self.layouts = row.layouts
        self.parameters: tuple[Parameter, ...] = tuple(
            Parameter(p, bool(row.numbers)) for p in row.parameters
        )
        #: The numbers that have no say in the dtype.
        numbers = [i for i, p in enumerate(self.parameters) if p.type in ("Scalar", "Scalar?")]
        self.scalars = [i for i in numbers if i not in self.promoted and self.kind in ("functional", "view")]
        if self.kind == "inplace" and self.base is not None and self.base in table().OPERATORS:
            # It takes them as the operator does.
            self.scalars = operator(self.base).scalars
        elif self.decomposes:  # its parts say which they take
            self.scalars = []
        #: The words that may be keywords of a call; users know self as "input".
        self.names = frozenset(shown(p) for p in self.parameters)

    def __repr__(self) -> str:
        return f"<tengen operator {self.schema}>"

    def __call__(self, *arguments: Any) -> Any:
        """Run on arguments that are complete and in the schema's order."""
        try:
            if active:
                return self._intercepted(layers(), arguments)
            return self.proceed(*arguments)
        except Exception as error:
            note_operator(error, self.name)
            raise

    def _intercepted(self, layers: tuple[Interceptor, ...], arguments: tuple[Any, ...]) -> Any:
        """Run below the interceptors ``layers``, the newest, which is the last, first."""
        if not layers:  # a snapshot: another thread may take its own out of the list meanwhile
            return self.proceed(*arguments)
        return layers[-1](self, arguments, lambda *given: self._intercepted(layers[:-1], given))

    def proceed(self, *arguments: Any) -> Any:
        """The rest of the path below the interceptors."""
        if self.factory is not None:
            return self._make(arguments)
        if self.refuse is not None:
            self._check_refused(arguments)
        tensors = self._tensors(arguments)
        if self.same_dtype:
            self._check_same_dtype(arguments)
        if self.promote:
            arguments, T = self._promote(arguments, tensors)
        else:
            T = self._common_type(tensors, arguments)
        if self.scalars and not T.scalar_type.is_complex:
            arguments = self._real_numbers(arguments, T)
        result = getattr(T, self.method)(*arguments)
        if inference.ever and grad_mode.enabled and mixes(arguments):
            check_saved(result)
        return result

    def _real_numbers(self, arguments: tuple[Any, ...], T: Type) -> tuple[Any, ...]:
        """The arguments without complex numbers; bool may hold one (is it 0?): there the kernel decides."""
        if T.scalar_type.category == "bool":
            return arguments
        for i in self.scalars:
            value = arguments[i]
            if value.__class__ is complex:
                if value.imag:
                    what = f"type {T.scalar_type} without overflow"
                    raise RuntimeError(f"{public_name(self.function)}: value cannot be converted to {what}")
                arguments = (*arguments[:i], value.real, *arguments[i + 1 :])
        return arguments

    # -- creation ----------------------------------------------------------------------

    def _make(self, arguments: tuple[Any, ...]) -> Any:
        """Run a factory: its Type comes from dtype and device, or from the values given."""
        at = self.options
        behind = at + len(table().TENSOR_OPTIONS)
        chosen, layout, where, _ = arguments[at:behind]  # dtype, layout, device, pin_memory
        if chosen is None:
            chosen = self._inferred(arguments)
        T = type_of(chosen, as_device(where), None, "strided" if layout is None else layout.name)
        rest = arguments[:at] + arguments[behind:]
        made = getattr(T, self.method)(*rest)
        return made if layout is None or made.layout is layout else made.to_sparse(layout=layout)

    def _inferred(self, arguments: tuple[Any, ...]) -> dtype:
        if self.factory == "default":
            given = arguments[: self.options]
            return default_complex() if any(v.__class__ is complex for v in given) else get_default_dtype()
        if self.factory == "int64":
            return int64
        least, places = self.factory
        values = [arguments[i] for i in places if arguments[i] is not None]
        if any(isinstance(v, complex) for v in values):
            return default_complex()
        if any(isinstance(v, float) for v in values):
            return get_default_dtype()
        bools = values and all([isinstance(v, bool) for v in values])
        return dtype.registry[least] if bools else int64

    # -- types -------------------------------------------------------------------------

    def _tensors(self, arguments: tuple[Any, ...]) -> list[TensorBase]:
        found: list[TensorBase] = []
        for i in self.tensors:
            value = arguments[i]
            if value.__class__ in NUMBERS:
                continue
            if value.__class__ in (list, tuple):
                found += [t for t in value if t is not None]
            elif value is not None:
                found.append(value)
        return found

    def _common_type(self, tensors: Sequence[TensorBase], arguments: Sequence[Any]) -> Type:
        """The Type of the first tensor, or that of the layout which decides; all must live on its device."""
        if not tensors:
            return type_of(get_default_dtype(), as_device(None))
        T: Type = tensors[0]._type
        others = [t._type for t in tensors if t._type is not T]
        for other in others:
            if other.backend is not T.backend:
                T = self._joint(T, other, tensors, arguments)
            if other.recording and not T.recording:
                T = T.recorded(True)
        if self.layouts and len(tensors) > 1 and T.backend.name in self.layouts:
            self._check_layouts(T, tensors, arguments)
        return T

    def _joint(self, T: Type, other: Type, tensors: Sequence[TensorBase], arguments: Sequence[Any]) -> Type:
        """The Type of a call with tensors of two backends, which are of two layouts on one device.

        NotImplementedError for layouts that the operator does not take together.
        """
        if other.backend.device != T.backend.device:
            raise self._devices_differ(tensors)
        if other.backend.rank > T.backend.rank:
            T = get_type(other.backend.name, T.scalar_type, T.recording)
        if self.decomposes:
            return T
        getattr(T, self.method)  # which says so where there is no kernel at all
        self._check_layouts(T, tensors, arguments)
        return T

    def _check_layouts(self, T: Type, tensors: Sequence[TensorBase], arguments: Sequence[Any]) -> None:
        """NotImplementedError for layouts that the operator does not take together."""
        places = [i for i in self.tensors if arguments[i] is not None]
        backends = {i: _backends_of(arguments[i]) for i in places}
        chosen = tuple([i for i in places if backends[i] == {T.backend}])
        allowed = (self.layouts or {}).get(T.backend.name, (tuple(places),))
        others = [b for i in places if i not in chosen for b in backends[i]]
        if allowed is None:  # a pointwise operator that is called on values
            allowed = (chosen,)
        if chosen not in allowed or not all([b.is_strided for b in others]):
            taken = " or ".join(T.backend.layouts)
            if any([t.is_nested for t in tensors]):
                taken = "nested tensors"
            found = ", ".join([f"{shown(self.parameters[i])} {_layouts_of(arguments[i])}" for i in places])
            sets = [" and ".join([shown(self.parameters[i]) for i in one]) for one in allowed]
            raise NotImplementedError(
                f"{public_name(self.function)}: got tensors of the layouts {found}; "
                f"{T.backend.name} takes {taken} as {', or as '.join(sets)} alone"
            )

    def _devices_differ(self, tensors: Sequence[TensorBase]) -> RuntimeError:
        found = ", ".join(dict.fromkeys(str(t._type.backend.device) for t in tensors))
        return RuntimeError(
            f"{public_name(self.function)}: Expected all tensors to be on the same device, "
            f"but found at least two devices: {found}"
        )

    def _check_same_dtype(self, arguments: tuple[Any, ...]) -> None:
        first: TensorBase | None = None
        name = ""
        for i in self.same_dtype:
            value = arguments[i]
            for t in value if value.__class__ in (list, tuple) else (value,):
                if t is None or (i in self.zero_dim and not t._array.ndim):
                    continue
                if first is None:
                    first, name = t, self.parameters[i].name
                elif t._type.scalar_type is not first._type.scalar_type:
                    raise RuntimeError(
                        f"{public_name(self.function)}: expected {name} and {self.parameters[i].name} "
                        f"to have the same dtype, but got: {first._type.scalar_type} != {t._type.scalar_type}"
                    )

    def _promote(self, arguments: tuple[Any, ...], tensors: list[TensorBase]) -> tuple[tuple[Any, ...], Type]:
        """The arguments cast to their common Type, and that Type."""
        taking_part: list[Any] = []
        for i in self.promoted:
            value = arguments[i]
            if value.__class__ in (list, tuple):
                taking_part.extend(value)
            elif value is not None:
                taking_part.append(value)
        common = common_dtype(taking_part, self.promote)
        T = self._common_type_ignoring_scalars(tensors, arguments).of(common)
        cast = list(arguments)
        for i in self.promoted:
            value = cast[i]
            if value.__class__ in (list, tuple):
                cast[i] = [cast_alias(t, T) for t in value]
            elif isinstance(value, TensorBase):
                cast[i] = cast_alias(value, T)
            elif value is not None:
                number = self._number(value, common)
                is_tensor = self.parameters[i].type == "Tensor"
                cast[i] = T.wrap(T.backend.lib.full((), number, T.dtype)) if is_tensor else number
        return tuple(cast), T

    def _number(self, value: Any, common: dtype) -> Any:
        """A Python number as an operand of the type ``common``."""
        if self.numbers_become is None or common.category not in ("integral", "unsigned"):
            return wrapped_number(common, value)
        return value if self.numbers_become == "given" else as_number(value, common.array_dtype)

    def _check_refused(self, operands: Sequence[Any]) -> None:
        """RuntimeError for an operand of a category that the operator refuses, or where all of some are."""
        places = self.refuse.get("args")
        chosen = operands if places is None else [operands[i] for i in places]
        found = [c for c in map(_category, chosen) if c is not None]
        refused = [c for c in found if c in self.refuse]
        if refused and (places is None or len(refused) == len(found)):
            raise RuntimeError(f"{public_name(self.function)}: {self.refuse[refused[0]]}")

    def _common_type_ignoring_scalars(self, tensors: list[TensorBase], arguments: Sequence[Any]) -> Type:
        """As _common_type, but a 0-d CPU-like tensor may join tensors of another device."""
        sized = [t for t in tensors if t._array.ndim] or tensors
        return self._common_type(sized, arguments)


def _backends_of(value: Any) -> set[Any]:
    """The backends of a tensor, or of those in a list."""
    tensors = value if value.__class__ in (list, tuple) else (value,)
    return {t._type.backend for t in tensors if isinstance(t, TensorBase)}


def _layouts_of(value: Any) -> str:
    tensors = value if value.__class__ in (list, tuple) else (value,)
    found = [
        f"nested {t.layout}" if t.is_nested else str(t.layout) for t in tensors if isinstance(t, TensorBase)
    ]
    return " and ".join(dict.fromkeys(found)) or "number"


def _category(operand: Any) -> str | None:
    """The category of a tensor's or number's dtype; None for anything else."""
    if isinstance(operand, TensorBase):
        found: str = operand._type.scalar_type.category
        return found
    return dtype.of_python(operand.__class__).category if operand.__class__ in NUMBERS else None


def cast_alias(tensor: TensorBase, T: Type) -> TensorBase:
    """``tensor`` in the Type ``T``, with the same gradient edge.

    Not an operator: the history sees the tensor itself, and the gradient is cast back to its
    dtype where it arrives.
    """
    T = T.recorded(tensor._type.recording)  # an inference tensor stays one
    if tensor._type.backend is not T.backend and tensor._type.backend.device == T.backend.device:
        T = tensor._type.of(T.scalar_type)  # of another layout, which it keeps
    if tensor._type is T:
        return tensor
    source = tensor._type.backend
    array = tensor._array
    if source is not T.backend:
        array = T.backend.lib.from_numpy(source.lib.to_numpy(array))
    out: TensorBase = T.wrap(T.backend.lib.cast(array, T.dtype))
    if tensor._requires_grad and T.recording:
        out._edge = gradient_edge(tensor)
        out._requires_grad = True
    if active:
        same = source is T.backend
        notify_alias(tensor, out, AliasKind.COPIED, Cast(tensor._type, T) if same else None)
    return out


def wrapped_number(common: dtype, value: Any) -> Any:
    """A Python number as an operand of the type ``common``; integers wrap as C's do."""
    match common.category:
        case "integral" | "unsigned":
            bits = 8 * common.itemsize
            low = -(1 << (bits - 1)) if common.is_signed else 0
            return (int(value) - low) % (1 << bits) + low
        case "complex" | "reduced_complex":
            return complex(value)
        case "bool":
            return bool(value)
    return float(value)


# -- the table -------------------------------------------------------------------------

_made: dict[str, Operator] = {}
_overloads: dict[tuple[str, bool], list[Operator]] = {}


@cache
def table() -> Any:
    """The generated rows: imported when an operator is first needed, not with tengen."""
    from tengen.generated import operators

    return operators


def operator(name: str) -> Operator:
    """The operator with this full name (``"add.Tensor"``); KeyError when there is none."""
    found = _made.get(name)
    if found is None:
        found = _made[name] = Operator(name, table().OPERATORS[name])
    return found


def overloads(function: str, out: bool) -> list[Operator]:
    """The overloads of a function, in the order they are tried in: those with ``out``, or those without.

    One of them is a function, too, whether it takes ``out`` or not: ``add.Tensor``; ``add.default`` where
    it has no name.
    """
    found = _overloads.get((function, out))
    if found is None:
        found = [o for o in map(operator, overload_names(function)) if o.out is out or "." in function]
        _overloads[function, out] = found
    return found


def overload_names(function: str) -> Sequence[str]:
    """The full names of the overloads of a function; of one of them its own."""
    if "." in function:
        return (function.removesuffix(".default"),)
    return table().OVERLOADS[function]  # type: ignore[no-any-return]


def add_operator(made: Operator, row: Row) -> None:
    """Make an operator known that a program has defined, behind the other overloads of its function."""
    names = [*(n for n in table().OVERLOADS.get(made.function, ()) if n != made.name), made.name]
    add_row("operators", "OPERATORS", made.name, row)
    add_row("operators", "OVERLOADS", made.function, tuple(names))
    _made[made.name] = made
    _forget_overloads(made.function)


def remove_operator(name: str) -> None:
    """Forget an operator that ``add_operator`` has added."""
    made = _made.pop(name)
    names = tuple([n for n in table().OVERLOADS[made.function] if n != name])
    remove_row("operators", "OPERATORS", name)
    if names:
        add_row("operators", "OVERLOADS", made.function, names)
    else:
        remove_row("operators", "OVERLOADS", made.function)
    _forget_overloads(made.function)


def _forget_overloads(function: str) -> None:
    for out in (False, True):
        _overloads.pop((function, out), None)


def by_method(method: str) -> Operator | None:
    """The operator behind a generated method of a Type (``"add_Tensor"``)."""
    # Only errors ask: a table of these names would be made at each import.
    name = next((name for name, row in table().OPERATORS.items() if row.method == method), None)
    return operator(name) if name is not None else None
