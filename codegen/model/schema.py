"""Signatures: PyTorch's schema language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast


class SchemaType:
    """What can be asked of a type of the schema language."""

    __slots__ = ()

    @property
    def required(self) -> Type:
        """The type without the ``?``."""
        return self.element if isinstance(self, OptionalType) else cast("Type", self)

    @property
    def is_optional(self) -> bool:
        return isinstance(self, OptionalType)

    @property
    def is_tensor(self) -> bool:
        """``Tensor`` itself, not ``Tensor?``."""
        return self == BaseType("Tensor")

    @property
    def is_optional_tensor(self) -> bool:
        return self == OptionalType(BaseType("Tensor"))

    @property
    def is_tensor_list(self) -> bool:
        """``Tensor[]`` or ``Tensor?[]``."""
        return isinstance(self, ListType) and self.element.required.is_tensor

    @property
    def is_scalar(self) -> bool:
        """``Scalar``: a number of any kind."""
        return self == BaseType("Scalar")

    @property
    def is_dtype(self) -> bool:
        return self == BaseType("ScalarType")

    @property
    def is_optional_dtype(self) -> bool:
        return self == OptionalType(BaseType("ScalarType"))

    @property
    def is_int_list(self) -> bool:
        """``int[]``, of any length."""
        return isinstance(self, ListType) and self.size is None and str(self.element) in ("int", "SymInt")

    @property
    def is_option(self) -> bool:
        """Whether it is that of an option of factories: dtype, layout, device, pin_memory."""
        return self.is_optional and str(self.required) in ("ScalarType", "Layout", "Device", "bool")


@dataclass(frozen=True, slots=True)
class BaseType(SchemaType):
    """``Tensor``, ``Scalar``, ``int``, ``SymInt``, ``float``, ``bool``, ``str``, ``ScalarType``,
    ``Device``, ``Generator``, ...: the names of PyTorch's schema language."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionalType(SchemaType):
    element: Type

    def __str__(self) -> str:
        return f"{self.element}?"


@dataclass(frozen=True, slots=True)
class ListType(SchemaType):
    element: Type
    size: int | None

    def __str__(self) -> str:
        return f"{self.element}[{'' if self.size is None else self.size}]"


Type = BaseType | OptionalType | ListType


@dataclass(frozen=True, slots=True)
class Alias:
    """``(a)``, ``(a!)``, ``(a|b)``, ``(a! -> a|b)``: which memory an argument or result shares."""

    before: tuple[str, ...]
    write: bool
    after: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = "|".join(self.before) + ("!" if self.write else "")
        return text + (" -> " + "|".join(self.after) if self.after else "")


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    type: Type
    default: str | None = None  # as written: "1", "[]", "None", "Mean", "'none'"
    alias: Alias | None = None
    kwarg_only: bool = False
    offset: int = field(default=0, compare=False)  # of its first character in the schema's string

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{_aliased(self.type, self.alias)} {self.name}{default}"

    @property
    def is_tensor(self) -> bool:
        """A Tensor or an optional Tensor (lists of tensors are not)."""
        return self.type.required.is_tensor

    @property
    def is_tensor_list(self) -> bool:
        return self.type.is_tensor_list

    @property
    def is_tensor_like(self) -> bool:
        return self.is_tensor or self.is_tensor_list


@dataclass(frozen=True, slots=True)
class Return:
    type: Type
    name: str | None = None
    alias: Alias | None = None

    def __str__(self) -> str:
        return _aliased(self.type, self.alias) + ("" if self.name is None else f" {self.name}")


def _aliased(kind: Type, alias: Alias | None) -> str:
    """A type with its alias annotation, which stands behind the base type: ``Tensor(a!)[]``."""
    text = str(kind)
    if alias is None:
        return text
    base = text.rstrip("?[]0123456789")
    return f"{base}({alias}){text[len(base) :]}"


@dataclass(frozen=True, slots=True)
class OperatorName:
    """``add_.Tensor``: base ``add``, in place, overload ``Tensor``."""

    base: str  # without the trailing underscore of an in-place operator
    inplace: bool = False
    dunder: bool = False  # __and__, __iand__ ...: base is written with its underscores
    overload: str = ""
    namespace: str = ""  # the library whose operator it is; empty for tengen's own

    @property
    def function(self) -> str:
        """The name without the overload, as formulas and Python have it: ``add_``."""
        return self.base + ("_" if self.inplace and not self.dunder else "")

    @property
    def called(self) -> str:
        """The name without the overload, as the runtime has it: ``add_``, ``mylib::foo``."""
        return f"{self.namespace}::{self.function}" if self.namespace else self.function

    @property
    def method(self) -> str:
        """The name of the generated method of a Type: ``add__Tensor``, ``exp``, ``mylib__foo``."""
        function = f"{self.namespace}__{self.function}" if self.namespace else self.function
        return f"{function}_{self.overload}" if self.overload else function

    def __str__(self) -> str:
        return f"{self.called}.{self.overload}" if self.overload else self.called


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed signature. ``str(schema)`` is the very string that was read."""

    name: OperatorName
    positional: tuple[Argument, ...]
    kwarg_only: tuple[Argument, ...]  # without out arguments
    out: tuple[Argument, ...]  # keyword-only, written to: Tensor(a!) out
    returns: tuple[Return, ...]
    parenthesised: bool = False  # whether the returns were written in parentheses

    @property
    def is_view(self) -> bool:
        """Whether the results share memory with an argument, and nothing is written."""
        first = self.returns[0].alias if self.returns else None
        return first is not None and not first.write

    @property
    def writes_list(self) -> bool:
        """Whether it writes its results into a list of tensors, and returns nothing: ``Tensor(a!)[] out``."""
        return any(a.is_tensor_list for a in self.out)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """All arguments save the out ones, in order."""
        return self.positional + self.kwarg_only

    def __iter__(self) -> Iterator[Argument]:
        return iter(self.arguments)

    def __str__(self) -> str:
        keywords = self.kwarg_only + self.out
        arguments = [*map(str, self.positional), *(["*"] if keywords else []), *map(str, keywords)]
        returns = ", ".join(map(str, self.returns))
        if self.parenthesised:
            returns = f"({returns})"
        return f"{self.name}({', '.join(arguments)}) -> {returns}"
