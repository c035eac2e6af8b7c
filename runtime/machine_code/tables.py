"""What a module of tables declares, and the key that tells whether machine code was made of the same."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

#: The scalar types that each kernel has a loop for.
SCALARS = ("float32", "float64")
#: Changes with the form of what is kept: the names of symbols, the loops' signature, the files.
FORMAT = "1"
#: What operands can be in place of the scalar type, as "k:int64", and the dtypes of their arrays.
_DTYPES = {
    "bool": "bool",
    "int64": "int64",
    "float32": "float32",
    "float64": "float64",
    "float16": "float16",
    "bfloat16": "uint16",
}


#: Those that are computed in float32.
_REDUCED = ("float16", "bfloat16")
#: What statements call that goes along rows and keeps them, and what brings them together or counts.
SCANS = ("scan", "scan_back")
REDUCTIONS = ("sum", "prod", "max", "min", "any", "count", "n")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A row of a table: operands, the signature of a generalised ufunc or an empty text, statements."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    signature: str
    statements: str

    @property
    def row(self) -> tuple[tuple[str, ...], tuple[str, ...], str, str]:
        """As the table has it."""
        return self.inputs, self.outputs, self.signature, self.statements

    @property
    def is_over_rows(self) -> bool:
        """Whether it is a generalised ufunc, of which NumPy tells floating-point errors in any case."""
        return bool(self.signature)

    @property
    def scalars(self) -> tuple[str, ...]:
        """The scalar types that it has loops for: one, if nothing that it takes tells which is meant."""
        given = [operand.partition(":")[2] for operand in self.inputs]
        of_one = {*_REDUCED} & {*given} or all([mark in _DTYPES for mark in given])
        return SCALARS[:1] if of_one else SCALARS

    @property
    def reads_at_indices(self) -> bool:
        """Whether it reads or changes tables at indices, which it waits for."""
        return any([operand.endswith(":int64") for operand in self.inputs])

    @property
    def scans(self) -> bool:
        """Whether it scans rows."""
        return self.calls(SCANS)

    @property
    def goes_across(self) -> bool:
        """Whether it goes along several rows at once that lie side by side: it does nothing but scan rows."""
        rows = all([o.endswith("[n]") for o in self.inputs]) and all(["[n]" in o for o in self.outputs])
        return self.scans and rows and not self.calls(REDUCTIONS)

    def calls(self, functions: Collection[str]) -> bool:
        """Whether any of these functions is in its statements."""
        return not {*re.findall(r"\w+", self.statements)}.isdisjoint(functions)

    def symbol(self, scalar: str) -> str:
        """The name of the loop for a scalar type."""
        return f"{self.name}_{scalar}"

    def dtypes(self, scalar: str) -> tuple[str, ...]:
        """The dtypes of the operands for a scalar type."""
        marks = (operand.partition(":")[2] for operand in (*self.inputs, *self.outputs))
        return tuple(_DTYPES.get(mark, scalar) for mark in marks)


@dataclass(frozen=True)
class Table:
    """The kernels and routines of a module."""

    module: ModuleType
    kernels: Mapping[str, Kernel]
    routines: Mapping[str, Mapping[str, str]]

    def key(self, *more: str) -> str:
        """A hash of all kernels, of the routines, and of the generator's lowering."""
        return digest(*(repr(k) for _, k in sorted(self.kernels.items())), *self._shared, *more)

    def kernel_key(self, name: str, *more: str) -> str:
        """A hash of all that one kernel's code depends on, save the compiler and the processor: ``more``."""
        return digest(repr(self.kernels[name]), *self._shared, *more)

    @functools.cached_property
    def _shared(self) -> tuple[str, ...]:
        routines = sorted((name, sorted(texts.items())) for name, texts in self.routines.items())
        return (repr(routines), repr(SCALARS), lowering_digest(), FORMAT)


@functools.cache
def table_of(module: str) -> Table:
    """The table of a module, which is imported."""
    found = import_module(module)
    kernels = {name: Kernel(name, *row) for name, row in found.KERNELS.items()}
    forms = [form for kernel in kernels.values() for form in _reduced_forms(kernel)]
    return Table(found, {**kernels, **{form.name: form for form in forms}}, found.ROUTINES)


def _reduced_forms(kernel: Kernel) -> list[Kernel]:
    """Those of an elementwise kernel with one result for reduced types: they compute in float32."""
    marks = [operand.partition(":")[2] for operand in (*kernel.inputs, *kernel.outputs)]
    if kernel.signature or len(kernel.outputs) != 1 or {*SCALARS, *_REDUCED} & {*marks}:
        return []
    return [
        Kernel(
            f"{kernel.name}_{dtype}",
            tuple([operand if ":" in operand else f"{operand}:{dtype}" for operand in kernel.inputs]),
            tuple([operand if ":" in operand else f"{operand}:{dtype}" for operand in kernel.outputs]),
            "",
            kernel.statements,
        )
        for dtype in _REDUCED
    ]


def digest(*parts: str) -> str:
    """A hash of texts, in hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def lowering_digest() -> str:
    """A hash of the sources that make IR of kernels, and code of that. They are read, not imported."""
    spec = find_spec("tengen.ir")
    if spec is None or not spec.submodule_search_locations:
        return ""
    folder = Path(next(iter(spec.submodule_search_locations)))
    found = hashlib.sha256(Path(__file__).with_name("compiler.py").read_bytes())
    for path in sorted([*folder.glob("*.py"), *folder.glob("lower/*.py")]):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()
