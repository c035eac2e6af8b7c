"""The small tables beside the operators: scalar_types, backends, tags and primitives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...ir.kernels import NativeKernel
from ...ir.routines import FUNCTIONS
from ..model.diagnostics import Report
from ..model.operators import Backend, ScalarType
from ..model.optimizers import OptimizerUpdate
from ..model.source import Located, Place
from ..read.fields import check_word, known_words
from ..read.functions import FunctionIndex
from ..read.keys import Key
from ..read.libraries import Library
from ..read.tables import table_rows
from .backends import library_backends, load_backends
from .native_kernels import NATIVE_KERNEL_KEYS, LoweringCheck, load_native_kernels
from .optimizers import OPTIMIZER_KEYS, REQUIRED, functions_of, load_optimizers
from .primitives import Primitives, load_primitives
from .scalar_types import load_scalar_types

TABLES = (
    "scalar_types.yaml",
    "backends.yaml",
    "tags.yaml",
    "primitives.yaml",
    "native_kernels.yaml",
    "optimizers.yaml",
)

_TAG_KEYS = {
    key.name: key
    for key in (
        Key("tag", ("str",), "its name"),
        Key("desc", ("str",), "what it says of an operator"),
        Key("excludes", ("str", "list"), "tags that cannot be beside it"),
    )
}


@dataclass(frozen=True, slots=True)
class Tables:
    """What the operators' entries refer to."""

    scalar_types: Mapping[str, ScalarType]
    backends: Mapping[str, Backend]
    tags: Mapping[str, str]
    primitives: Primitives
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by tag, those not beside it
    native_kernels: Mapping[str, NativeKernel] = field(default_factory=dict)
    optimizers: tuple[OptimizerUpdate, ...] = ()


def load_tables(
    directory: Path,
    functions: FunctionIndex,
    symbolics: FunctionIndex,
    report: Report,
    lowered: set[str] | None = None,
) -> Tables:
    """Reads the tables; mistakes are reported.

    ``lowered`` are the native kernels that need not be lowered to see whether they can be.
    """
    scalar_types = load_scalar_types(directory, report)
    backends = load_backends(directory, scalar_types, functions, report)
    tags: dict[str, str] = {}
    listed: list[tuple[str, Located]] = []
    for fields, _ in table_rows(directory, "tags.yaml", _TAG_KEYS, ("tag", "desc"), report):
        check_word(fields["tag"], "a word, as pointwise", report)
        tags[fields["tag"].value] = " ".join(fields["desc"].value.split())
        if "excludes" in fields:
            listed.append((fields["tag"].value, fields["excludes"]))
    excluded = {tag: frozenset(known_words(located, tags, "tag", report)) for tag, located in listed}
    primitives = load_primitives(directory, scalar_types, functions, symbolics, report)
    check = LoweringCheck(primitives.routines, set() if lowered is None else lowered, report)
    native_kernels = load_native_kernels(
        _rows(directory, "native_kernels.yaml", NATIVE_KERNEL_KEYS, ("kernel", "body"), report),
        primitives.routines,
        check,
        report,
    )
    optimizers = load_optimizers(
        _rows(directory, "optimizers.yaml", OPTIMIZER_KEYS, REQUIRED, report),
        functions_of(primitives.pointwise, {*FUNCTIONS, *primitives.routines}),
        check,
        report,
    )
    return Tables(scalar_types, backends, tags, primitives, excluded, native_kernels, optimizers)


def with_backends(tables: Tables, library: Library, functions: FunctionIndex, report: Report) -> Tables:
    """The tables with the backends of a library, and its kernels."""
    backends = library_backends(library, tables.backends, tables.scalar_types, functions, report)
    return replace(tables, backends=backends)


def _rows(
    directory: Path, name: str, keys: Mapping[str, Key], required: Sequence[str], report: Report
) -> list[tuple[dict[str, Located], Place]]:
    """Those of a table that need not be there."""
    return table_rows(directory, name, keys, required, report) if (directory / name).exists() else []
