"""Emit: the signatures that type checkers and editors see.

Each overload of a function or method has its own. A list of sizes or of tensors may also be given
loose, one int may stand for a list of fixed length, Python numbers for tensors where Python's
operators allow it, and NumPy's words for ``dim`` and ``keepdim``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.annotations import annotation, default, return_annotation, users_name
from ..model.derived import Variant
from ..model.groups import Group
from ..model.operators import Operator
from ..model.schema import Argument
from ..specialise.bindings import NUMPY_WORDS, makes_leaf, takes_numbers

#: What an annotation takes beside itself.
_NARROWER = {"Number": frozenset({"int", "float", "bool"}), "float": frozenset({"int", "bool"})}
_SIZES = ("int[]", "SymInt[]", "Tensor[]")


@dataclass(frozen=True, slots=True)
class StubParameter:
    """A parameter of a stub."""

    name: str
    annotation: str  # "Tensor | Number"; empty for ``self``
    default: str | None = None  # as Python writes it; None where it is required
    keyword: bool = False  # keyword-only
    loose: bool = False  # *sizes

    @property
    def optional(self) -> bool:
        return self.default is not None

    @property
    def takes_an_int(self) -> bool:
        return "int" in _members(self.annotation)

    def __str__(self) -> str:
        """With the default, for editors show it; "..." where the annotation has no word for it: a dtype."""
        word = {"None": "None", "'": "str", '"': "str"}
        needed = word.get(self.default or "") or word.get((self.default or "")[:1])
        fits = needed is None or needed in _members(self.annotation)
        return self.text(self.default if fits else "...")

    def text(self, default: str | None) -> str:
        """The parameter in a signature, with this default."""
        name = f"*{self.name}" if self.loose else self.name
        value = "" if default is None else f" = {default}"
        return f"{name}: {self.annotation}{value}" if self.annotation else name

    def covers(self, other: StubParameter) -> bool:
        """Whether it takes whatever the other one takes."""
        same = (self.name, self.loose) == (other.name, other.loose) and self.optional >= other.optional
        return same and _takes(self.annotation) >= _members(other.annotation)


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature."""

    parameters: tuple[StubParameter, ...]
    returns: str

    def __str__(self) -> str:
        return self._text([str(p) for p in self.parameters])

    def documented(self) -> str:
        """The signature as docstrings have it, with the values of defaults."""
        shown = [p for p in self.parameters if p.annotation]  # without self, as in PyTorch's
        return replace(self, parameters=tuple(shown))._text([p.text(p.default) for p in shown])

    def _text(self, written: Sequence[str]) -> str:
        texts: list[str] = []
        starred = False
        for p, text in zip(self.parameters, written, strict=True):
            if p.keyword and not starred:
                texts.append("*")
            starred = starred or p.keyword or p.loose
            texts.append(text)
        return f"({', '.join(texts)}) -> {self.returns}"

    def covers(self, other: Overload) -> bool:
        """Whether a checker that tries this signature before the other never comes to that."""
        mine = [p for p in self.parameters if not p.keyword]
        theirs = [p for p in other.parameters if not p.keyword]
        named = {p.name: p for p in other.parameters if p.keyword}
        pairs = [(p, theirs[i] if i < len(theirs) else None) for i, p in enumerate(mine)]
        pairs += [(p, named.pop(p.name, None)) for p in self.parameters if p.keyword]
        if named or len(theirs) > len(mine):
            return False
        return all(p.optional if q is None else p.covers(q) for p, q in pairs)


@dataclass(frozen=True, slots=True)
class Stub:
    """One function of a stub file: its overloads."""

    name: str
    overloads: tuple[str, ...]  # "(input: Tensor, *, out: Tensor | None = ...) -> Tensor"
    overrides_object: bool = False  # where Python's own class has another signature: __eq__

    @property
    def is_overloaded(self) -> bool:
        return len(self.overloads) > 1


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

    def documented(self, group: Group, kind: str) -> list[str]:
        """The signatures of a function or method as its docstring lists them, without NumPy's words.

        Loose sizes are listed, of functions where nothing comes before them, and where no overload has an int
        in their place.
        """
        found = self._found(group, kind, documented=True)
        ints = {i for o in found for i, p in enumerate(o.parameters) if p.takes_an_int and not p.loose}
        return [
            o.documented()
            for o in found
            if not any(p.loose and i in ints for i, p in enumerate(o.parameters))
        ]

    def _stub(self, group: Group, kind: str) -> Stub | None:
        found = self._found(group, kind)
        return Stub(group.function, tuple(map(str, found))) if found else None

    def _found(self, group: Group, kind: str, documented: bool = False) -> list[Overload]:
        found: list[Overload] = []
        outs = {str(v.base or v.name): v.operator for v in group.outs} if kind == "function" else {}
        leaf = makes_leaf([v.operator for v in group.variants if kind in v.operator.variants])
        for v in group.variants:
            if kind in v.operator.variants:
                for made in self._overloads(v, kind, outs.get(str(v.name)), leaf, documented):
                    if not any(f.covers(made) for f in found):
                        found.append(made)
        return found

    def _overloads(
        self, variant: Variant, kind: str, out: Operator | None, leaf: bool, documented: bool
    ) -> Iterable[Overload]:
        operator = variant.operator
        schema = operator.schema
        returns = return_annotation(schema.returns, self.structures.get(str(operator.name)))
        numbers = variant.kind != "inplace" and takes_numbers(operator)
        numbers = numbers and sum(a.is_tensor for a in schema.arguments) > 1
        parameters = [_parameter(a, numbers) for a in schema.arguments]
        if kind == "method":
            position = next(i for i, a in enumerate(schema.arguments) if a.name == "self")
            parameters = [StubParameter("self", ""), *parameters[:position], *parameters[position + 1 :]]
        if leaf:
            parameters.append(StubParameter("requires_grad", "bool", "False", keyword=True))
        ways: list[tuple[tuple[StubParameter, ...], str]] = [((), returns)]
        if out is not None and out.schema.writes_list:
            ways.append(((StubParameter("out", "Sequence[Tensor]", keyword=True),), "None"))
        elif out is not None:
            written = "Tensor | None" if len(out.schema.out) == 1 else "Sequence[Tensor] | None"
            parameters.append(StubParameter("out", written, "None", keyword=True))
        for further, result in ways:
            whole = (*parameters, *further)
            for form in [whole] if documented else _with_words(whole):
                yield Overload(form, result)
        loose = _loose(operator, parameters)
        if loose is not None and not (documented and kind == "function" and not loose[0].takes_an_int):
            yield Overload(loose, returns)

    def _special(self, group: Group) -> Iterable[Stub]:
        """Python's operators: what the second operand may be is what the overloads take."""
        for name, order in group.special_methods.items():
            rest = [n for n in order if n != "self"]
            parameters = [StubParameter("self", "")]
            for n in rest:
                parameters.append(StubParameter(n, self._operand(group, order.index(n))))
            overrides = name in ("__eq__", "__ne__")
            yield Stub(name, (str(Overload(tuple(parameters), "Tensor")),), overrides)

    def _operand(self, group: Group, position: int) -> str:
        members: dict[str, None] = {}
        for o in group.operators:
            taken = _parameter(o.schema.arguments[position], takes_numbers(o))
            members |= dict.fromkeys(taken.annotation.split(" | "))
        return " | ".join(members)


def _parameter(argument: Argument, numbers: bool) -> StubParameter:
    name = users_name(argument)
    text = annotation(argument.type, caller=True)
    if text == "Tensor" and numbers:
        text = "Tensor | Number"
    if text.startswith("int | Sequence") and default(argument) == "()":
        text += " | None"  # which is the empty list
    return StubParameter(name, text, default(argument), argument.kwarg_only)


def _with_words(parameters: tuple[StubParameter, ...]) -> Iterable[tuple[StubParameter, ...]]:
    """The signatures that one gives with NumPy's words: ``dim`` may be called ``axis``.

    A word for what may be left out is one parameter more; for what is required it is another signature.
    """
    taken = {p.name for p in parameters}
    words = [(p, w) for p in parameters if (w := NUMPY_WORDS.get(p.name)) is not None and w not in taken]
    more = [replace(p, name=word, keyword=True) for p, word in words if p.optional]
    yield (*parameters, *more)
    for p, word in words:
        if not p.optional:
            at = parameters.index(p)
            named = [replace(q, keyword=True) for q in parameters[at + 1 :]]
            yield (*parameters[:at], replace(p, name=word, keyword=True), *named, *more)


def _loose(operator: Operator, parameters: Sequence[StubParameter]) -> tuple[StubParameter, ...] | None:
    """The signature in which the elements of the last list stand loose: ``x.view(2, 3)``."""
    positional = operator.schema.positional
    if not positional or str(positional[-1].type).rstrip("?") not in _SIZES:
        return None
    at = len(positional) - 1
    if at > 1 or (at == 1 and positional[0].name != "self"):
        return None
    if positional[0].name == "self" and positional[-1].is_tensor_list:
        return None  # the lists of ``foreach``
    listed = next(p for p in parameters if p.name == _parameter(positional[-1], False).name)
    element = listed.annotation.removeprefix("Sequence[").partition("]")[0]
    loose = replace(listed, annotation=element, default=None, loose=True)
    given = [p for p in parameters if not p.keyword and p is not listed]
    return (*given, loose, *[p for p in parameters if p.keyword])


def _members(annotation: str) -> frozenset[str]:
    return frozenset(annotation.split(" | "))


def _takes(annotation: str) -> frozenset[str]:
    members = _members(annotation)
    return members.union(*(_NARROWER.get(m, frozenset()) for m in members))
