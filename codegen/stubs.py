"""Specialise: the signatures that type checkers and editors see.

Each overload of a function or method has its own; a list of sizes may also be given loose,
one int may stand for a list of fixed length, and Python numbers for tensors where Python's
operators allow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .annotations import default, parameter_name, return_annotation
from .bindings import Group
from .model import Argument, BaseType, ListType, Operator, OptionalType, Type, Variant

_SIMPLE = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Device": "device | str",
    "Generator": "Generator",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
}


@dataclass(frozen=True, slots=True)
class Stub:
    """One function of a stub file: its overloads."""

    name: str
    overloads: tuple[str, ...]  # "(input: Tensor, *, out: Tensor | None = ...) -> Tensor"
    doc: str


def stub_annotation(type_: Type) -> str:
    """What a caller may pass for a parameter."""
    match type_:
        case BaseType(name):
            return _SIMPLE.get(name, "Any")
        case OptionalType(element):
            inner = stub_annotation(element)
            return inner if inner == "Any" else f"{inner} | None"
        case ListType(element, size):
            inner = stub_annotation(element)
            return f"Sequence[{inner}]" if size is None else f"{inner} | Sequence[{inner}]"


class StubWriter:
    """Makes the stubs of all groups."""

    def __init__(self, groups: Mapping[str, Group], structures: Mapping[str, str]) -> None:
        self.groups = groups
        self.structures = structures

    def functions(self) -> list[Stub]:
        """The functions of the namespace."""
        return [s for g in self.groups.values() if (s := self._stub(g, "function"))]

    def methods(self) -> list[Stub]:
        """The methods of Tensor, and Python's special methods."""
        made = [s for g in self.groups.values() if (s := self._stub(g, "method"))]
        return made + [s for g in self.groups.values() for s in self._special(g)]

    def _stub(self, group: Group, variant: str) -> Stub | None:
        out = bool(group.outs) and variant == "function"
        texts: dict[str, None] = {}
        for v in group.variants:
            if variant in v.operator.variants:
                for text in self._overloads(v, variant, out):
                    texts[text] = None
        return Stub(group.function, tuple(texts), group.doc) if texts else None

    def _overloads(self, variant: Variant, kind: str, out: bool) -> Iterable[str]:
        operator = variant.operator
        returns = return_annotation(operator.schema.returns, self.structures.get(str(operator.name)))
        arguments = list(operator.schema.arguments)
        lead: list[str] = []
        if kind == "method":
            lead = ["self"]
            arguments = arguments[1:]
        yield f"({', '.join(self._parameters(operator, lead, arguments, out))}) -> {returns}"
        loose = next((a for a in arguments[:2] if str(a.type) in ("int[]", "SymInt[]")), None)
        before = [] if loose is None else arguments[: arguments.index(loose)]
        after = [] if loose is None else [a for a in arguments[len(before) + 1 :] if not a.kwarg_only]
        if loose is not None and not after and (kind == "method" or not before or before[0].name == "self"):
            given = [
                *lead,
                *[self._parameter(operator, a) for a in before],
                f"*{parameter_name(loose.name)}: int",
            ]
            rest = [self._parameter(operator, a) for a in arguments if a.kwarg_only]
            extra = ["requires_grad: bool = ..."] if operator.factory is not None else []
            yield f"({', '.join([*given, *rest, *extra])}) -> {returns}"

    def _parameters(
        self, operator: Operator, lead: list[str], arguments: list[Argument], out: bool
    ) -> Iterable[str]:
        yield from lead
        star = False
        for a in arguments:
            if a.kwarg_only and not star:
                yield "*"
                star = True
            yield self._parameter(operator, a)
        extra = ["requires_grad: bool = ..."] if operator.factory is not None else []
        if out:
            many = len(operator.schema.returns) > 1
            extra.append(f"out: {'Sequence[Tensor]' if many else 'Tensor'} | None = ...")
        if extra and not star:
            yield "*"
        yield from extra

    def _parameter(self, operator: Operator, argument: Argument) -> str:
        name = "input" if argument.name == "self" else parameter_name(argument.name)
        text = stub_annotation(argument.type)
        if text == "Tensor" and operator.operators:
            text = "Tensor | Number"
        return f"{name}: {text}" + (" = ..." if default(argument) is not None else "")

    def _special(self, group: Group) -> Iterable[Stub]:
        orders: dict[str, tuple[str, ...]] = {}
        for o in group.operators:
            orders.update(o.operators)
        for name, order in orders.items():
            rest = [n for n in order if n != "self"]
            parameters = ", ".join(["self", *(f"{n}: Tensor | Number" for n in rest)])
            yield Stub(name, (f"({parameters}) -> Tensor",), "")
