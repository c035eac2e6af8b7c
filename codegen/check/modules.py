"""Check: the classes of ``tengen.nn`` that operators and functions say they have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...ir.expressions import names_in
from ...ir.reader import read_expression
from ...ir.writer import write
from ..model.annotations import annotation, default, users_name
from ..model.diagnostics import Report, suggestion
from ..model.modules import LOSSES, ModuleClass, Parameter, Signature
from ..model.schema import Argument
from ..model.source import Entry, Located, Place
from ..parse.formula import parse_formula
from ..read.fields import check_keys, kind_of, length_of_scalar, require_keys, words
from ..read.functions import FunctionIndex
from ..read.keys import MODULE_KEYS
from ..read.module_homes import module_homes
from ..read.signatures import Functional, functional_of, parse_parameters
from .expand import Declared
from .module_classes import check_class

#: The module that has a class where nothing else is said.
_HOME = "activation"
_WHAT = "the key module"
_BUILTINS = frozenset({"float", "int", "tuple", "len", "isinstance", "type"})
#: Arguments of losses that are older words for ``reduction``.
_OLDER = ("size_average", "reduce")
#: The lines of names that annotations of schemas have.
_TYPES = {"Number": "from tengen.dispatch.arguments import Number"}
_CALL = re.compile(r"\s*[A-Za-z_]\w*\(.*\)\s*", re.S)


def check_modules(
    declared: Collection[Declared], entries: Iterable[Entry], runtime: Path, report: Report
) -> tuple[ModuleClass, ...]:
    """The classes, sorted by name; mistakes are reported."""
    functional = functional_of(runtime)
    helpers = FunctionIndex(runtime / "nn" / "modules", "arguments.py")
    homes = module_homes(runtime)
    found: dict[str, ModuleClass] = {}
    places: dict[str, Place] = {}
    every = [
        *_of_operators(declared, functional, report),
        *_of_entries(entries, declared, functional, report),
    ]
    for signature, fields, place in every:
        name = str(fields["name"].value)
        if name in places:
            first = ((places[name], "it is first declared here"),)
            message = f'the module "{name}" is declared twice'
            report.error(place, message, length=len(name), related=first)
            continue
        places[name] = place
        made = _Maker(signature, fields, place, helpers, report).made()
        if made is not None:
            found[name] = made
    given = {str(fields["name"].value): fields for _, fields, _ in reversed(every)}
    for name, made in found.items():
        check_class(made, given[name], found, places, homes, report)
    return tuple(found[name] for name in sorted(found))


_Found = list[tuple[Signature, Mapping[str, Located], Place]]


def _of_operators(declared: Iterable[Declared], functional: Functional, report: Report) -> _Found:
    """The operators whose entries have the key ``module``: a name, or a mapping of more."""
    found: _Found = []
    for item in declared:
        located = item.fields.get("module")
        if located is None:
            continue
        place = located.key or located.place
        if item.schema.name.namespace:
            message = "a library's operators have no modules in tengen.nn"
            report.error(place, message, length=len("module"), expected="a class of the library's own")
            continue
        named = kind_of(located.value) == "str"
        fields = {"name": located} if named else check_keys(located.value, MODULE_KEYS, _WHAT, report)
        require_keys(fields, ("name",), MODULE_KEYS, place, report)
        if "name" in fields:
            found.append((_of_operator(item, functional), fields, fields["name"].place))
    return found


def _of_operator(item: Declared, functional: Functional) -> Signature:
    """The function of an operator: that of nn.functional, or the operator's own."""
    base = item.schema.name.base
    exported = functional.exported.get(base, base)
    if exported in functional.written:
        return functional.written[exported]
    doc = item.fields["doc"].value if "doc" in item.fields else ""
    lines = {f"from tengen.generated.functions import {base}"}
    if base in functional.exported:
        lines = {"from tengen.nn import functional as F"}
    parameters = tuple(_parameter(a) for a in item.schema.arguments)
    for name, line in _TYPES.items():
        if any(name in p.annotation for p in parameters):
            lines.add(line)
    called = f"F.{exported}" if base in functional.exported else base
    returns = "Tensor" if len(item.schema.returns) == 1 else "Any"
    return Signature(called, parameters, returns, " ".join(str(doc).split()), frozenset(lines))


def _parameter(argument: Argument) -> Parameter:
    name = users_name(argument)
    text, value = annotation(argument.type, caller=True), default(argument)
    if value == "()":  # an empty list is what None is to users
        text, value = f"{text} | None", "None"
    return Parameter(name, text, value, argument.kwarg_only)


def _of_entries(
    entries: Iterable[Entry], declared: Iterable[Declared], functional: Functional, report: Report
) -> _Found:
    """The entries of modules.yaml, which name a function: one of nn.functional, or an operator."""
    operators = {
        item.schema.name.base: item for item in reversed([*declared]) if not item.schema.name.namespace
    }
    exported = {name: operator for operator, name in functional.exported.items()}
    found: _Found = []
    for entry in entries:
        fields = check_keys(entry.fields, MODULE_KEYS, "an entry of modules.yaml", report)
        require_keys(entry.fields, ("name", "function"), MODULE_KEYS, entry.place, report)
        if "name" not in fields or "function" not in fields:
            continue
        named = str(fields["function"].value)
        if named in functional.written:
            signature = functional.written[named]
        elif exported.get(named, named) in operators:
            signature = _of_operator(operators[exported.get(named, named)], functional)
        else:
            report.error(
                fields["function"].place,
                f'there is no function "{named}"',
                length=len(named),
                expected="a function of nn.functional, or an operator",
                help=suggestion(named, [*functional.written, *exported, *operators]),
            )
            continue
        found.append((signature, fields, fields["name"].place))
    return found


@dataclass(slots=True)
class _Maker:
    """Makes one class of what is said of it."""

    function: Signature
    fields: Mapping[str, Located]
    place: Place
    helpers: FunctionIndex
    report: Report

    def made(self) -> ModuleClass | None:
        before = len(self.report.diagnostics)
        forward, init = self.parameters()
        own = {p.name for p in init}
        base, given, whole = self.base(own)
        attributes = {} if whole else self.attributes(init, base)
        buffers = tuple(word for word, _ in self.words("buffers"))
        inputs = {p.name for p in forward}
        checks = tuple(self.expressions("check", own))
        input_checks = tuple(self.expressions("check_input", inputs))
        passed = () if whole else self.passed(forward, {*attributes, *buffers, *own})
        if len(self.report.diagnostics) != before:
            return None
        return ModuleClass(
            name=str(self.fields["name"].value),
            place=self.place,
            home=str(self.fields["home"].value) if "home" in self.fields else _HOME,
            function=self.function,
            init=init,
            forward=forward,
            passed=passed,
            attributes=attributes,
            buffers=buffers,
            base=base,
            base_arguments=given,
            calls_base=whole,
            checks=checks,
            input_checks=input_checks,
            shown=self.shown(attributes, base, whole),
            doc=" ".join(str(self.fields["doc"].value).split()) if "doc" in self.fields else "",
            helpers=self.used([*attributes.values(), *checks, *input_checks]),
        )

    def text(self, key: str) -> str:
        return str(self.fields[key].value) if key in self.fields else ""

    def words(self, key: str) -> list[tuple[str, Place]]:
        return words(self.fields[key], self.report) if key in self.fields else []

    # -- parameters

    def parameters(self) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
        """Those of ``forward`` and of ``__init__``."""
        known = {p.name: p for p in self.function.parameters}
        if "forward" in self.fields:
            forward = self.listed("forward", known)
        else:
            forward = tuple(p for p in self.function.parameters if p.is_input)
        if "init" in self.fields:
            return forward, self.listed("init", known)
        taken = {p.name for p in forward} | {"training", *self.given()}
        rest = [p for p in self.function.parameters if p.name not in taken and not p.name.startswith("_")]
        return forward, tuple(replace(p, keyword=False) for p in rest)

    def listed(self, key: str, known: Mapping[str, Parameter]) -> tuple[Parameter, ...]:
        """The parameters that are written; what is not said of one is as in the function."""
        located = self.fields[key]
        found = parse_parameters(str(located.value))
        if found is None:
            message = f"{key} is no list of parameters"
            expected = "as a function has them: dim=None, *, eps: float = 1e-6"
            self.report.error(located.place, message, expected=expected)
            return ()
        return tuple(self.completed(p, known.get(p.name), located) for p in found)

    def completed(self, p: Parameter, like: Parameter | None, located: Located) -> Parameter:
        if like is None and not p.annotation:
            message = f'"{p.name}" is no argument of {self.function.called}, so its type is not known'
            expected = f"{p.name}: TYPE, or one of its arguments"
            at = max(str(located.value).find(p.name), 0)
            self.report.error(located.at(at), message, length=len(p.name), expected=expected)
        if like is None or p.annotation:
            return p
        return replace(p, annotation=like.annotation, default=p.default or like.default)

    # -- what it is made of

    def given(self) -> dict[str, Located]:
        return dict(self.fields["given"].value) if "given" in self.fields else {}

    def base(self, own: Iterable[str]) -> tuple[str, str, bool]:
        """The base class, what it is called with, and whether it has all that the class needs."""
        text = self.text("base")
        if "(" in text:
            name, _, arguments = text.rstrip(")").partition("(")
            self.checked(replace(self.fields["base"], value=f"made({arguments})"), {*own, "made"})
            return name, arguments, True
        if not text and "reduction" in own and any(p.name == "reduction" for p in self.function.parameters):
            older = "size_average, reduce" if set(_OLDER) <= set(own) else "None, None"
            return "_Loss", f"{older}, reduction", False
        if text == "_WeightedLoss":
            return text, "weight, size_average, reduce, reduction", False
        return text or "Module", "", False

    def attributes(self, init: Iterable[Parameter], base: str) -> dict[str, str]:
        """What the instance keeps: its arguments, some of them as an expression makes them."""
        set_by_base = LOSSES.get(base, frozenset())
        kept_elsewhere = {*_OLDER, *set_by_base, *(word for word, _ in self.words("buffers"))}
        own = [p.name for p in init]
        written = dict(self.fields["attributes"].value) if "attributes" in self.fields else {}
        made = {name: self.checked(value, own) for name, value in written.items() if value.value is not None}
        dropped = {name for name, value in written.items() if value.value is None}
        return {
            **{n: made.pop(n, n) for n in own if n not in kept_elsewhere and n not in dropped},
            **made,
        }

    def passed(self, forward: Iterable[Parameter], kept: Iterable[str]) -> tuple[str, ...]:
        """What the function is called with: by position as far as none is left out."""
        given, inputs, attributes = self.given(), {p.name for p in forward}, set(kept)
        parts: list[str] = []
        by_name = False
        for p in self.function.parameters:
            if p.name in given:
                value = self.checked(given[p.name], {"self", *inputs})
            elif p.name in inputs:
                value = p.name
            elif p.name == "training":
                value = "self.training"
            elif p.name in attributes and p.name not in _OLDER:
                value = f"self.{p.name}"
            else:
                if p.default is None:
                    self.missing(p)
                by_name = True
                continue
            by_name = by_name or p.keyword
            parts.append(f"{p.name}={value}" if by_name else value)
        arguments = {p.name for p in self.function.parameters}
        for name, located in given.items():
            if name not in arguments:
                self.unknown(name, located.key or located.place, arguments)
        return tuple(parts)

    def missing(self, p: Parameter) -> None:
        """Reports an argument that the function would be called without."""
        self.report.error(
            self.place,
            f'{self.function.called} is not given "{p.name}", which it needs',
            length=len(str(self.fields["name"].value)),
            expected=f"{p.name} among the arguments of init or forward, or in given",
        )

    def shown(self, attributes: Mapping[str, str], base: str, whole: bool) -> str | None:
        """The text of ``extra_repr``: each argument by its name, ``inplace`` where it is so."""
        if "repr" in self.fields:
            located = self.fields["repr"]
            if kind_of(located.value) == "list":
                return ", ".join(_named(word) for word, _ in self.words("repr"))
            return re.sub(r"\{(?=[a-z])", "{self.", str(located.value))
        if whole or base in LOSSES or not attributes:
            return None
        plain = [n for n in attributes if n != "inplace"]
        text = ", ".join(_named(n) for n in plain)
        if "inplace" in attributes:
            mark = ", inplace=True" if plain else "inplace=True"
            text += f"{{'{mark}' if self.inplace else ''}}"
        return text

    # -- expressions

    def expressions(self, key: str, names: Iterable[str]) -> list[str]:
        if key not in self.fields:
            return []
        located = self.fields[key]
        each = located.value if kind_of(located.value) == "list" else (located,)
        for value in each:
            if not _CALL.fullmatch(str(value.value)):
                message, length = f"{key} calls nothing", length_of_scalar(value)
                self.report.error(value.place, message, length=length, expected="check_probability(p)")
        return [self.checked(value, names) for value in each]

    def checked(self, located: Located, names: Iterable[str]) -> str:
        """An expression whose names are these, helpers, or a few of Python's."""
        formula = parse_formula(located, self.report, "expression")
        if formula is None:
            return "None"
        known = {*names, *_BUILTINS, "self"}
        for name in sorted(formula.names() - known):
            if not self.helpers.find(name):
                at = formula.text.find(name)
                self.unknown(name, formula.source.at(max(at, 0)), [*known, *self.helpers.names()])
        return write(formula.tree)

    def unknown(self, name: str, place: Place, known: Iterable[str]) -> None:
        self.report.error(
            place,
            f'unknown name "{name}"',
            length=len(name),
            expected="an argument, or a function of runtime/nn/modules/arguments.py",
            help=suggestion(name, list(known)),
        )

    def used(self, texts: Iterable[str]) -> dict[str, str]:
        """The helpers that expressions name."""
        given = [str(v.value) for v in self.given().values()]
        names = {n for text in [*texts, *given] for n in names_in(read_expression(text))}
        return {n: "arguments" for n in sorted(names) if self.helpers.find(n)}


def _named(name: str) -> str:
    return f"{name}={{self.{name}!r}}"
