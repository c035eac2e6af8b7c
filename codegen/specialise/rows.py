"""Specialise: the tables that the runtime reads: scalar types, promotion, operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from string import ascii_letters
from typing import Any

from ..model.annotations import default, default_value, parameter_name
from ..model.derived import Variant
from ..model.names import EXPLICIT, NUMBERS_AS_TENSORS
from ..model.operators import Operator, ScalarType
from ..model.schema import Argument
from .bindings import takes_numbers


def variable(name: str) -> str:
    """The name of a scalar type as a variable, where Python has taken it."""
    return f"{name}_" if name in ("bool", "int", "float", "complex") else name


def scalar_type_rows(scalars: Sequence[ScalarType]) -> list[dict[str, str]]:
    """The variable and the arguments of each ``dtype(...)``."""
    dtypes = {s.name: s.dtype for s in scalars}
    complexes = {s.real: s for s in scalars if s.real != s.name}
    rows = []
    for s in scalars:
        real = s.category in ("floating", "reduced")
        over = complexes.get(s.name, complexes.get(s.opmath)) if real else None
        parts = [f'"{s.dtype}"', f'"{s.name}"', f'"{s.category}"', str(_itemsize(s))]
        parts += ["is_signed=False"] if not s.signed else []
        parts += [f'array="{s.array}"'] if s.array != s.dtype else []
        parts += [f'opmath="{dtypes[s.opmath]}"'] if s.opmath != s.name else []
        parts += [f'real="{dtypes[s.real]}"'] if s.real != s.name else []
        parts += [f'complex="{over.dtype}"'] if over is not None else []
        rows.append({"variable": variable(s.dtype), "arguments": ", ".join(parts)})
    return rows


def _itemsize(scalar: ScalarType) -> int:
    digits = scalar.dtype.lstrip(ascii_letters)  # those of float8_e4m3fn are not all of its size
    bits = "".join(takewhile(str.isdigit, digits))
    return int(bits) // 8 if bits else 1


def promotion_table(scalars: Sequence[ScalarType]) -> dict[tuple[str, str], str]:
    """The least common superior of every pair in the promotion lattice, by dtype name.

    A type of a limited category is not in the lattice: with another one it promotes to that, if it says so,
    or else to nothing, which is "".
    """
    by_name = {s.name: s for s in scalars}
    above: dict[str, frozenset[str]] = {}
    for s in scalars:
        reached = {s.name: None}
        for name in (queue := [s.name]):
            queue += [n for n in by_name[name].promotes_to if n not in reached]
            reached.update(dict.fromkeys(by_name[name].promotes_to))
        above[s.name] = frozenset(reached)
    table = {}
    for a in scalars:
        for b in scalars:
            if a.is_apart or b.is_apart:
                table[a.dtype, b.dtype] = _limited(a, b)
                continue
            common = above[a.name] & above[b.name]
            least = next(c for c in common if common <= above[c])
            table[a.dtype, b.dtype] = by_name[least].dtype
    return table


def _limited(a: ScalarType, b: ScalarType) -> str:
    """What two types promote to of which one is in no lattice."""
    if a is b or b.name in a.promotes_to:
        return b.dtype
    return a.dtype if a.name in b.promotes_to else ""


def structures(variants: Iterable[Variant]) -> dict[str, str]:
    """The named tuple of each operator with several named results: ``max``, and ``max_out`` with ``out``."""
    found: dict[str, str] = {}
    for v in variants:
        returns = v.operator.schema.returns
        if len(returns) > 1 and all(r.name for r in returns):
            module = "library_types" if v.name.namespace else "return_types"
            name = v.name if v.kind != "out" or v.base is None else v.base
            suffix = "_out" if v.kind == "out" else ""
            found[str(v.name)] = f"{module}.{name.function.strip('_')}{suffix}"
    return found


@dataclass(frozen=True, slots=True)
class Structure:
    """A named tuple. That of an ``out`` variant is derived from the functional operator's."""

    name: str
    fields: tuple[str, ...]
    base: str | None = None

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields that it does not have from a base."""
        return () if self.base else self.fields


def structure_rows(variants: Iterable[Variant], named: Mapping[str, str]) -> list[Structure]:
    """Each named tuple once, after the one that it is derived from."""
    rows: dict[str, Structure] = {}
    for v in variants:
        name = named.get(str(v.name), "").partition(".")[2]
        if name:
            fields = tuple(str(r.name) for r in v.operator.schema.returns)
            base = named[str(v.base)].partition(".")[2] if v.kind == "out" else None
            rows.setdefault(name, Structure(name, fields, base))
    return sorted(rows.values(), key=lambda row: row.name)


#: The columns of the row of an operator: the name of each, the type, and what it says.
COLUMNS = (
    ("schema", "str", "As it is written, with its full name."),
    ("method", "str", "The method of Types."),
    (
        "parameters",
        "tuple[tuple[str, str, bool, Any, bool], ...]",
        "Name, type, whether it is required, default, whether it is keyword-only.",
    ),
    ("promote", "str", "How it promotes, if it does."),
    ("promoted", "tuple[int, ...]", "The arguments that promote."),
    ("same_dtype", "tuple[int, ...]", "Those that must have one dtype."),
    ("zero_dim", "tuple[int, ...]", "Those of them that may be of another dtype where they are 0-d."),
    (
        "numbers_become",
        "str | None",
        'What an integral dtype makes of numbers: None where they wrap; "given" where the kernel gets them '
        'as they are; "fitting" where it is an error if they are out of its range.',
    ),
    ("tensors", "tuple[int, ...]", "The arguments that are tensors, or lists of them."),
    ("written", "tuple[int, ...]", "The arguments that are written to."),
    ("factory", "Any", "Of a factory how it finds its dtype."),
    ("options", "int", "Where a factory's options begin."),
    ("out", "bool", "Whether it is an out variant."),
    ("numbers", "str | bool", 'Whether Python numbers may stand for tensors, "alone" for all of them.'),
    ("refuse", "Any", "The texts of errors by categories of operands that are refused."),
    (
        "kind",
        "str",
        '"functional", "view", "inplace", "out", or "composite": made of others, without a derivative; '
        '"mutating" where a program has defined it, and it writes to some of its arguments.',
    ),
    ("base", "str | None", "Of an in-place or out variant the full name of the functional operator."),
    ("decomposes", "bool", "Whether running it is calling other operators."),
    (
        "layouts",
        "Any",
        "By backend, the sets of arguments that may be of its layouts together, others strided.",
    ),
)


def operator_row(variant: Variant) -> str:
    """The row of an operator, as text: its columns."""
    operator = variant.operator
    arguments = operator.schema.arguments
    index = {a.name: i for i, a in enumerate(arguments)}
    plain = variant.kind in ("functional", "view")
    parameters = [_parameter(a) for a in arguments]
    tensors = [i for i, a in enumerate(arguments) if a.is_tensor_like]
    if variant.kind == "out":
        parameters.append(("out", _out_type(operator), True, None, True))
        tensors = tensors or [len(arguments)]
    promoted = tuple(index[n] for n in operator.promoted if n in index) if plain and operator.promote else ()
    factory, options = _factory(variant, index)
    written = [i for i, a in enumerate(arguments) if a.alias is not None and a.alias.write]
    columns = {
        "schema": str(operator.schema),
        "method": variant.name.method,
        "parameters": tuple(parameters),
        "promote": (plain and operator.promote) or "",
        "promoted": promoted,
        "same_dtype": tuple(index[n] for n in operator.same_dtype if n in index),
        "zero_dim": tuple(index[n] for n in operator.zero_dim if n in index),
        "numbers_become": operator.numbers,
        "tensors": tuple(tensors),
        "written": (len(arguments),) if variant.kind == "out" else tuple(written),
        "factory": factory,
        "options": options,
        "out": variant.kind == "out",
        "numbers": variant.kind != "inplace" and _takes_numbers(operator),
        "refuse": _refused(operator, index),
        "kind": "composite" if operator.schema.writes_list else variant.kind,
        "base": str(variant.base) if variant.base is not None else None,
        "decomposes": variant.kind in ("composite", "inplace", "out") or EXPLICIT in operator.kernels,
        "layouts": _mixtures(operator, index),
    }
    return repr(tuple(columns[name] for name, _, _ in COLUMNS))


def autocast_rows(variants: Iterable[Variant]) -> list[tuple[str, str]]:
    """The operators that autocast casts for, each with what its tag says. Variants are as they are."""
    prefix = "autocast_"
    return [
        (str(v.name), tag.removeprefix(prefix))
        for v in variants
        if v.base is None and not v.operator.tags & {"view_copy"}
        for tag in sorted(v.operator.tags)
        if tag.startswith(prefix)
    ]


def tag_rows(variants: Iterable[Variant]) -> list[tuple[str, tuple[str, ...]]]:
    """The tags of operators, of in-place and out forms where they have others.

    PyTorch's tag of elementwise operators is "pointwise".
    """
    variants = list(variants)
    found = {v.name: v.operator.tags for v in variants}
    return [
        (str(v.name), tuple(sorted(tags | ({"pointwise"} if v.operator.is_elementwise else set()))))
        for v in variants
        if (tags := v.operator.tags) and (v.base is None or tags != found.get(v.base))
    ]


def _out_type(operator: Operator) -> str:
    """The type of ``out``, in which all that is written to is given together."""
    written = operator.schema.out
    return f"Tensor[{len(written)}]" if len(written) > 1 else str(written[0].type)


def _takes_numbers(operator: Operator) -> str | bool:
    """Whether Python numbers may stand for tensors, or "alone": for all of them."""
    return "alone" if NUMBERS_AS_TENSORS in operator.tags else takes_numbers(operator)


def _refused(operator: Operator, index: Mapping[str, int]) -> dict[str, Any] | None:
    """The texts of errors by category, and where the operands are that must all be so, if some are named."""
    places = tuple(index[n] for n in operator.refuse_args)
    return {**operator.refuse, **({"args": places} if places else {})} or None


def _mixtures(operator: Operator, index: Mapping[str, int]) -> dict[str, Any] | None:
    """By backend, the sets of arguments, by number, that may be of its layouts together; None for any."""
    found = {
        b: None if sets is None else tuple(tuple(index[n] for n in names) for names in sets)
        for b, sets in operator.layouts.items()
    }
    return found or None


def _parameter(argument: Argument) -> tuple[Any, ...]:
    required = default(argument) is None
    name = parameter_name(argument.name)
    return (name, str(argument.type), required, default_value(argument), argument.kwarg_only)


def _factory(variant: Variant, index: Mapping[str, int]) -> tuple[Any, int]:
    """How a creation operator finds its dtype, and where its options begin."""
    operator = variant.operator
    if operator.factory is None or variant.kind not in ("functional", "view"):
        return None, 0
    fixed = operator.factory[0] in ("default", "int64")
    arguments = operator.schema.arguments
    options = next(i for i, a in enumerate(arguments) if a.kwarg_only and a.type.is_optional_dtype)
    if fixed:
        return operator.factory[0], options
    # Of bools alone it is bool, where there is the operator in bool.
    least = "bool" if any("Bool" in names for names in operator.dtypes.values()) else "int64"
    return (least, tuple(index[n] for n in operator.factory)), options
