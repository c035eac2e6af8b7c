"""Check: the operators over lists of tensors that ``foreach`` of an entry stands for.

``_foreach_add.List`` gives for each tensor of a list what ``add`` gives; ``_foreach_add_.List`` writes that
to it. Their schemas are the names and the parameters that the key has, their kernels calls of the operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..model.diagnostics import Report
from ..model.names import IMPLICIT
from ..model.schema import Alias, Argument, Schema
from ..model.source import Located, Place
from ..parse.schema import SchemaError, parse_schema
from ..read.fields import words
from .expand import Declared

KEY = "foreach"
PREFIX = "_foreach_"


def with_foreach(declared: Declared, report: Report) -> Iterator[Declared]:
    """The operator, and its forms for lists. Mistakes are reported and left out."""
    yield declared
    located = declared.fields.get(KEY)
    for names, parameters in located.value.items() if located is not None else ():
        yield from _Forms(declared, names, parameters, report).declared()


class _Forms:
    """The operators that take the same: out of place, in place, or both."""

    def __init__(self, declared: Declared, names: str, parameters: Located, report: Report) -> None:
        self.base, self.report = declared, report
        self.own = declared.schema.arguments
        self.parameters = parameters
        self.place = parameters.key or parameters.place
        self.names = words(Located(names, self.place), report)

    def declared(self) -> Iterator[Declared]:
        """An operator for each name."""
        for name, place in self.names:
            function, dot, overload = name.partition(".")
            if not function.startswith(PREFIX):
                self.wrong(
                    place,
                    f'"{name}" is not the name of a form for lists',
                    len(name),
                    f"{PREFIX}{self.base.schema.name.base}{dot}{overload}",
                )
                continue
            schema = self.schema(name)
            kernel = None if schema is None else self.kernel(schema)
            if schema is None or kernel is None:
                return  # of all names the parameters are wrong
            yield self.made(schema, kernel)

    def wrong(self, place: Place, message: str, length: int, expected: str) -> None:
        self.report.error(place, message, length=length, expected=expected)

    def schema(self, name: str) -> Schema | None:
        """The schema with these parameters, of which the first list is written to in place."""
        text = str(self.parameters.value)
        try:
            schema = parse_schema(f"{name}({text}) -> {'()' if '_.' in f'{name}.' else 'Tensor[]'}")
        except SchemaError as error:
            at = max(error.offset - len(name) - 1, 0)
            self.wrong(self.parameters.at(at), error.message, error.length, error.expected)
            return None
        if not any(a.is_tensor_list for a in schema.positional):
            self.wrong(self.parameters.place, f"{name} takes no list of tensors", len(text), "Tensor[] self")
            return None
        if not schema.name.inplace:
            return schema
        first = replace(schema.positional[0], alias=Alias(("a",), True))
        return replace(schema, positional=(first, *schema.positional[1:]))

    def made(self, schema: Schema, kernel: str) -> Declared:
        called = self.base.schema.name.function
        doc = f"What ``{called}`` gives for each of the tensors."
        if schema.name.inplace:
            doc = f"Writes to each of the tensors what ``{called}`` gives for it."
        fields = {
            "tags": Located((Located("generated", self.place),), self.place),
            "dispatch": Located({IMPLICIT: Located(kernel, self.place)}, self.place),
            "doc": Located(doc, self.place),
        }
        return Declared(schema, self.place, self.base.mechanism, fields, None, frozenset(fields))

    # -- the kernel

    def kernel(self, schema: Schema) -> str | None:
        """A call of the operator for each tensor; None, and an error reported, where none fits."""
        tensors = next(a.name for a in schema.positional if a.is_tensor_list)
        drawn: dict[str, str] = {}  # of the arguments that differ from call to call: what they are taken from
        positional: list[str] = []
        keywords: list[str] = []
        usual: list[str] = []  # keywords that say no more than the operator's own defaults do
        for number, argument in enumerate(schema.arguments):
            wanted = self.counterpart(argument, number)
            if wanted is None:
                return None
            value = argument.name
            source = _source(schema.name.function, argument, wanted, tensors)
            if source is not None:
                value = _variable(len(drawn))
                drawn[argument.name] = source
            if number == len(positional) and wanted == self.own[number] and not wanted.kwarg_only:
                positional.append(value)
            else:
                keywords.append(f"{wanted.name}={value}")
                if source is None and wanted.default is not None and argument.default == wanted.default:
                    usual.append(f"{value} {'is' if wanted.default == 'None' else '=='} {wanted.default}")
        steps = _steps(schema.name.function, drawn)
        variables = ", ".join(map(_variable, range(len(drawn))))
        results = f"[{self.call(schema, positional, keywords)} for {variables} in {steps}]"
        if len(usual) == len(keywords) > 0:  # calls without keywords are the faster ones
            plain = f"[{self.call(schema, positional, [])} for {variables} in {steps}]"
            results = f"{plain} if {' and '.join(usual)} else {results}"
        return f"nothing({results})" if schema.name.inplace else f"tuple({results})"

    def counterpart(self, argument: Argument, number: int) -> Argument | None:
        """The operator's own argument: the one of that name, or else the one at the place."""
        for own in self.own:
            if own.name == argument.name:
                return own
        if number < len(self.own) and not argument.kwarg_only:
            return self.own[number]
        at = self.parameters.at(str(self.parameters.value).rindex(argument.name))
        message = f'{self.base.schema.name} has no argument "{argument.name}"'
        self.wrong(at, message, len(argument.name), f"one of {', '.join(a.name for a in self.own)}")
        return None

    def call(self, schema: Schema, positional: list[str], keywords: list[str]) -> str:
        base = self.base.schema.name
        function = f"{base.base}_" if schema.name.inplace else base.function
        variants = self.base.fields.get("variants")
        method = variants is not None and "method" in str(variants.value)
        first, *rest = positional
        if schema.name.inplace or (method and schema.positional[0].is_tensor_list):
            return f"{first}.{function}({', '.join([*rest, *keywords])})"
        return f"{function}({', '.join([*positional, *keywords])})"


def _variable(number: int) -> str:
    """What is drawn is called by a name that no argument has."""
    return f"t{number}"


def _source(function: str, argument: Argument, wanted: Argument, tensors: str) -> str | None:
    """What gives a value for each of the tensors; None for what all of them have in common."""
    if str(argument.type) in ("Tensor[]", "Scalar[]"):
        return argument.name
    if not argument.type.is_tensor:
        return None
    made = "numbers" if wanted.type.is_scalar else "repeated"
    return f'{made}("{function}", {argument.name}, {tensors})'


def _steps(function: str, drawn: dict[str, str]) -> str:
    if len(drawn) == 1:
        return f'tensors_of("{function}", {", ".join(drawn.values())})'
    together = ", ".join([f"{name}={source}" for name, source in drawn.items()])
    return f'in_step("{function}", {together})'
