"""Check: what a signature must hold beyond its grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ..model.diagnostics import Report, suggestion
from ..model.schema import Argument, OperatorName, Schema
from ..model.source import Located, Place
from ..parse.schema import SchemaError, parse_name
from .expand import Declared
from .reserved import argument_problem, function_problem, result_problem

_ANOTHER = "another name"


def check_signature(declared: Declared, report: Report) -> None:
    """Duplicate names, required arguments after defaulted ones, aliases that do not agree."""
    if declared.source is not None:
        _Signature(declared.schema, declared.source, report).check()
    else:
        _check_made(declared, report)


def _check_made(declared: Declared, report: Report) -> None:
    """A schema that an entry stands for: the names in it may meet those of the entry."""
    arguments = [a.name for a in declared.schema.arguments]
    returned = [r.name for r in declared.schema.returns if r.name is not None]
    for name in dict.fromkeys(n for n in arguments if arguments.count(n) > 1 or n in returned):
        both = "two arguments" if arguments.count(name) > 1 else "an argument and a result"
        message = f'{declared.schema.name} would have {both} named "{name}"'
        report.error(declared.place, message, expected="another name in the schema of the entry")


class _Signature:
    def __init__(self, schema: Schema, source: Located, report: Report) -> None:
        self.schema, self.source, self.report = schema, source, report
        self.arguments = (*schema.positional, *schema.kwarg_only, *schema.out)

    def error(
        self,
        offset: int,
        length: int,
        message: str,
        expected: str = "",
        related: Place | None = None,
        help: str = "",
    ) -> None:
        notes = ((related, "it was first used here"),) if related is not None else ()
        place = self.source.at(offset)
        self.report.error(place, message, length=length, expected=expected, help=help, related=notes)

    def name_offset(self, argument: Argument) -> int:
        """Where the argument's name stands in the string: behind its type."""
        default = "" if argument.default is None else f"={argument.default}"
        return argument.offset + len(str(argument)) - len(default) - len(argument.name)

    def check(self) -> None:
        self.names()
        self.reserved()
        self.defaults()
        self.aliases()
        self.kind()

    def names(self) -> None:
        first: dict[str, Argument] = {}
        for argument in self.arguments:
            name = argument.name
            if name in first:
                self.error(
                    self.name_offset(argument),
                    len(name),
                    f'two arguments are named "{name}"',
                    "a name for each argument",
                    self.source.at(self.name_offset(first[name])),
                )
            first.setdefault(name, argument)
        returned = [r.name for r in self.schema.returns if r.name is not None]
        for name in sorted({n for n in returned if returned.count(n) > 1}):
            offset = _word(self.source.value, name, self.source.value.rindex("->"))
            self.error(offset, len(name), f'two results are named "{name}"', "a name for each result")

    def reserved(self) -> None:
        """Names that generated code uses itself."""
        function = self.schema.name.function
        problem = function_problem(function)
        if problem:
            self.error(0, len(function), f'an operator cannot be named "{function}"', _ANOTHER, help=problem)
        for argument in self.schema.arguments:
            name = argument.name
            problem = argument_problem(name, self.schema)
            if problem:
                message = f'an argument cannot be named "{name}"'
                self.error(self.name_offset(argument), len(name), message, _ANOTHER, help=problem)
        for name in dict.fromkeys(r.name for r in self.schema.returns if r.name is not None):
            problem = result_problem(name)
            if problem:
                offset = _word(self.source.value, name, self.source.value.rindex("->"))
                self.error(offset, len(name), f'a result cannot be named "{name}"', _ANOTHER, help=problem)

    def defaults(self) -> None:
        defaulted: Argument | None = None
        for argument in self.schema.positional:
            if argument.default is not None:
                defaulted = defaulted or argument
            elif defaulted is not None:
                name, first = argument.name, defaulted.name
                message = f'the required argument "{name}" follows "{first}", which has a default'
                expected = f'a default, or "{name}" before "{first}"'
                self.error(argument.offset, len(str(argument)), message, expected)

    def aliases(self) -> None:
        shared = {letter for a in self.arguments if a.alias for letter in (*a.alias.before, *a.alias.after)}
        text = self.source.value
        for result in self.schema.returns:
            for letter in result.alias.before if result.alias is not None else ():
                if letter not in shared:
                    offset = text.index(f"({result.alias}", text.rindex(") ->") if ") ->" in text else 0)
                    self.error(
                        offset,
                        len(f"({result.alias})"),
                        f'a result shares the memory "{letter}", which no argument has',
                        f"an argument such as Tensor({letter}) self",
                    )

    def kind(self) -> None:
        """An operator's name says whether it writes to its first argument."""
        schema, name = self.schema, self.schema.name
        first = schema.positional[0] if schema.positional else None
        writes = first is not None and first.alias is not None and first.alias.write
        if name.inplace and not writes:
            message = f"{name.function} is an in-place operator but does not write to self"
            self.error(
                0, len(name.function), message, "Tensor(a!) self as the first argument, and -> Tensor(a!)"
            )
        written = any(a.alias is not None and a.alias.write for a in self.arguments)
        if re.search("(^|_)out$", name.overload) and not written:
            message = f"{name} is an out variant but writes to no argument"
            expected = "*, Tensor(a!) out as the last argument, and -> Tensor(a!)"
            self.error(0, len(str(replace(name, namespace=""))), message, expected)
        for argument in schema.out:
            if not any(r.alias == argument.alias for r in schema.returns) and schema.returns:
                self.error(
                    argument.offset,
                    len(str(argument)),
                    f'the operator does not return "{argument.name}"',
                    f"-> Tensor({argument.alias})",
                )


def _word(text: str, word: str, start: int) -> int:
    """Where a whole word stands for the last time."""
    found = [m.start() for m in re.finditer(rf"\b{re.escape(word)}\b", text[start:])]
    return start + found[-1]


def check_autogen(
    schema: Schema, listed: Iterable[tuple[str, Place]], declared: Iterable[OperatorName], report: Report
) -> tuple[OperatorName, ...]:
    """The variants that ``autogen`` names; those that cannot be derived from the schema are reported."""
    result: list[OperatorName] = []
    name = schema.name
    others = set(declared)
    for word, place in listed:
        try:
            variant = replace(parse_name(word), namespace=name.namespace)
        except SchemaError as error:
            report.error(
                place.shifted(error.offset), error.message, length=error.length, expected=error.expected
            )
            continue
        expected = _fits(name, variant)
        if expected:
            report.error(place, f'"{word}" is no variant of {name}', length=len(word), expected=expected)
        elif variant in others:
            report.error(
                place, f'"{word}" has an entry of its own', length=len(word), expected="one or the other"
            )
        elif variant in result:
            report.error(place, f'"{word}" is listed twice', length=len(word))
        else:
            result.append(variant)
    return tuple(result)


def _fits(name: OperatorName, variant: OperatorName) -> str:
    """What would have been right; nothing when the variant is.

    PyTorch's variants keep the base name, but not always the overload: ``pow_.Tensor`` is the
    in-place variant of ``pow.Tensor_Tensor``, ``max.dim_max`` the out variant of ``max.dim``.
    """
    wanted = OperatorName(name.base, not name.inplace, name.dunder, name.overload)
    right = (
        f"{wanted}, or an out variant such as {name.base}.{name.overload + '_' if name.overload else ''}out"
    )
    if variant.base != name.base or (variant.inplace and name.inplace) or variant == name:
        return right
    if variant.inplace or name.inplace:
        return ""
    misspelt = "out" not in variant.overload.lower() and suggestion(variant.overload.split("_")[-1], ["out"])
    return "" if variant.overload and not misspelt else right
