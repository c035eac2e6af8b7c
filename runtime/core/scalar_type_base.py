"""The class of scalar types. The objects themselves are in ``tengen.core.scalar_type``."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

import numpy as np

from .package_name import package

_PYTHON: dict[type, str] = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}

#: What the names of scalar types begin with, in short.
_LETTERS: dict[str, str] = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


class dtype:
    """A scalar type: ``tengen.float32`` and its like.

    There is one object for each scalar type, made by ``tengen.generated.scalar_types`` from
    declarations/scalar_types.yaml; compare with ``is``. ``name`` is what users write ("float32"),
    ``type_name`` what PyTorch's C++ calls it ("Float"), ``array_dtype`` NumPy's dtype for it.
    """

    __module__ = "tengen"
    __slots__ = (
        "_array_dtype",
        "_array_name",
        "_complex",
        "_opmath",
        "_real",
        "category",
        "is_complex",
        "is_floating_point",
        "is_inexact",
        "is_signed",
        "itemsize",
        "name",
        "type_name",
    )

    #: Every scalar type by its name ("float32") and by the name PyTorch's C++ gives it ("Float").
    registry: ClassVar[dict[str, dtype]] = {}

    def __init__(
        self,
        name: str,
        type_name: str,
        category: str,
        itemsize: int,
        *,
        is_signed: bool = True,
        array: str | None = None,
        opmath: str | None = None,
        real: str | None = None,
        complex: str | None = None,
    ) -> None:
        self.name = name
        self.type_name = type_name
        self.category = category
        self.itemsize = itemsize
        self.is_floating_point = category in ("floating", "reduced", "float8")
        self.is_complex = category in ("complex", "reduced_complex")
        self.is_inexact = self.is_floating_point or self.is_complex
        self.is_signed = is_signed
        self._array_name = array or name
        self._array_dtype: np.dtype[Any] | None = None
        self._opmath = opmath or name
        self._real = real
        self._complex = complex
        dtype.registry[name] = dtype.registry[type_name] = self

    @property
    def array_dtype(self) -> np.dtype[Any]:
        """NumPy's dtype for this type (``ml_dtypes`` is imported when bfloat16 is first asked)."""
        found = self._array_dtype
        if found is None:
            module, _, attribute = self._array_name.rpartition(":")
            found = np.dtype(getattr(importlib.import_module(module), attribute) if module else attribute)
            self._array_dtype = found
        return found

    @property
    def abbr(self) -> str:
        """The name in short: ``f32``, ``bf16``, ``u8``, ``b8`` for bool."""
        if self.category == "bool":
            return "b8"
        kind, bits = next((k, self.name.removeprefix(k)) for k in _LETTERS if self.name.startswith(k))
        return _LETTERS[kind] + bits.replace("_", "")

    @property
    def opmath(self) -> dtype:
        """The type that kernels compute in: float32 for float16 and bfloat16, else itself."""
        return dtype.registry[self._opmath]

    def to_real(self) -> dtype:
        """The type of the absolute value: float32 for complex64, itself for a real type."""
        return dtype.registry[self._real] if self._real else self

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type's precision (at least float32's).

        RuntimeError for a type that is neither floating-point nor complex.
        """
        if self.is_complex:
            return self
        if self._complex is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.type_name}")
        return dtype.registry[self._complex]

    def scalar(self, value: Any) -> Any:
        """A Python number as an operand that leaves tensors of this type in it.

        Integers wrap as C's do; a float stays one; NumPy's scalars, which would promote, become
        Python's.
        """
        category = self.category
        if category in ("integral", "unsigned"):
            bits = 8 * self.itemsize
            wrapped = int(value) & ((1 << bits) - 1)
            return wrapped - (1 << bits) if self.is_signed and wrapped >> (bits - 1) else wrapped
        if category == "bool":
            return bool(value)
        if self.is_complex:
            return complex(value)
        return int(value) if isinstance(value, int) else float(value)

    @staticmethod
    def of_python(cls: type) -> dtype:
        """What ``dtype=float`` means, and ``int``, ``bool``, ``complex``. KeyError for others."""
        return dtype.registry[_PYTHON[cls]]

    def __repr__(self) -> str:
        return f"{package.name}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


def named(name: str) -> dtype:
    """The scalar type called ``name``; ``KeyError`` when there is none."""
    return dtype.registry[name]
