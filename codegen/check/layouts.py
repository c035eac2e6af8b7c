"""Check: what ``layout`` says of the results of an operator, and ``layouts`` of its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..model.diagnostics import Report, one_of, suggestion
from ..model.names import POINTWISE_VALUES
from ..model.operators import Backend, ResultLayout
from ..model.schema import Schema
from ..model.source import Located
from ..read.fields import known_word, known_words, length_of_scalar

#: The layouts that need no argument, and those that are made from that of arguments.
PLAIN = ("contiguous", "column_major")
OF_ARGUMENTS = ("like", "strided_as", "channels_last", "contiguous_or_channels_last")
_WRITTEN = re.compile(r"(\w+)(?:\(([\w\s,]+)\))?(?: if (\w+))?")


def parse_layouts(located: Located | None, schema: Schema, report: Report) -> tuple[ResultLayout | None, ...]:
    """A layout for each result, None where the kernel's is right; mistakes are reported."""
    if located is None:
        return ()
    written = located.value if isinstance(located.value, tuple) else (located,)
    if len(written) != len(schema.returns):
        expected = f"a list of {len(schema.returns)}, with null for a result whose layout the kernel makes"
        report.error(located.place, f"{len(written)} layouts for {len(schema.returns)} results",
                     length=length_of_scalar(located), expected=expected)  # fmt: skip
        return ()
    return tuple(_layout(one, schema, report) for one in written)


def _layout(located: Located, schema: Schema, report: Report) -> ResultLayout | None:
    text = located.value
    if text is None:
        return None
    match = _WRITTEN.fullmatch(str(text))
    kind, given, flag = match.groups() if match else (str(text), None, None)
    names = [n.strip() for n in given.split(",")] if given else []
    if kind not in (OF_ARGUMENTS if given else PLAIN):
        every = [*PLAIN, *(f"{k}(self)" for k in OF_ARGUMENTS)]
        report.error(located.place, f'unknown layout "{text}"', length=length_of_scalar(located),
                     expected=one_of(every), help=suggestion(kind, (*PLAIN, *OF_ARGUMENTS)))  # fmt: skip
        return None
    if flag is not None and flag not in [a.name for a in schema.arguments if str(a.type) == "bool"]:
        report.error(
            located.at(str(text).rindex(flag)),
            f'"{flag}" is no bool argument',
            length=len(flag),
            expected="a bool argument",
        )
        return None
    tensors = [a.name for a in schema.arguments if a.is_tensor]
    for name in names:
        if name not in tensors:
            place = located.at(str(text).index(name))
            help = suggestion(name, tensors)
            report.error(
                place,
                f'"{name}" is no Tensor argument',
                length=len(name),
                expected=one_of(tensors),
                help=help,
            )
            return None
    return ResultLayout(kind, tuple(names), flag)


def parse_mixtures(
    located: Located | None,
    schema: Schema,
    backends: Mapping[str, Backend],
    kernels: Mapping[str, object],
    elementwise: bool,
    report: Report,
) -> dict[str, tuple[tuple[str, ...], ...] | None]:
    """By backend, the sets of Tensor arguments that may be of its layouts; mistakes are reported.

    None for any: of elementwise operators where these are called on values.
    """
    found: dict[str, tuple[tuple[str, ...], ...] | None] = {}
    tensors = [a.name for a in schema.arguments if a.is_tensor_like]
    if elementwise and len(tensors) > 1:
        found |= dict.fromkeys(
            name for name, b in backends.items() if POINTWISE_VALUES in b.capabilities and name not in kernels
        )
    sparse = [name for name, backend in backends.items() if not backend.is_strided]
    for name, value in located.value.items() if located is not None else ():
        place = value.key or value.place
        if not known_word(name, place, sparse, "backend with layouts", report):
            continue
        if name not in kernels:
            message = f"{schema.name} has no kernel for {name}"
            report.error(place, message, length=len(name), expected=f"{name} in dispatch")
            continue
        sets = []
        for one in value.value if isinstance(value.value, tuple) else (value,):
            sets.append(known_words(one, tensors, "Tensor argument", report))
        found[name] = tuple(sets)
    return found
