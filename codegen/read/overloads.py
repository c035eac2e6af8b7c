"""Read: the entries that ``scalar_overloads`` of an entry stands for.

Such an overload takes a number where the entry takes a Tensor. It has the keys of the entry, with their
places, but for those that are about calls and those that it gives itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..model.diagnostics import Report
from ..model.names import NUMBERS_AS_TENSORS
from ..model.source import Entry, Located, Place
from .fields import words

KEY = "scalar_overloads"
#: The key of an overload that names the arguments.
OF = "of"
#: What an overload does not take from the entry: what is about calls with tensors, and names.
_OWN = frozenset(
    {"func", KEY, "autogen", "operators", "layouts", "doc", "samples", "errors", "expected", "foreach"}
    | {"differs"}
)
#: What an overload takes from the entry only where it has variants itself.
_OF_VARIANTS = frozenset({"out", "overlap"})
_OF_INPLACE = "inplace_variants"
#: The keys that say something by argument.
_BY_ARGUMENT = ("domain", "overlap")


def with_overloads(entry: Entry, report: Report) -> Iterator[Entry]:
    """The entry, and those that it stands for. Mistakes are reported and left out."""
    yield entry
    located, head = entry.fields.get(KEY), entry.fields.get("func")
    if located is None or head is None or not isinstance(head.value, str):
        return
    for name, own in located.value.items() if isinstance(located.value, dict) else ():
        made = _Overload(entry, head, name, own, report).entry()
        if made is not None:
            yield made


class _Overload:
    def __init__(self, entry: Entry, head: Located, name: str, own: Located, report: Report) -> None:
        self.base, self.head, self.name, self.own, self.report = entry, head, name, own, report
        self.place = own.key or own.place

    def entry(self) -> Entry | None:
        """The entry, as if it were written in full."""
        fields = self.own.value
        if not isinstance(fields, dict):
            expected = f"a mapping of keys, as {{{OF}: other}}"
            self.wrong(self.own.place, f'the overload "{self.name}" is no mapping', 1, expected)
            return None
        if OF not in fields:
            message = f'the overload "{self.name}" does not say which arguments are numbers'
            self.wrong(self.place, message, len(self.name), f"{OF}: an argument, or several")
            return None
        of = self.arguments(fields[OF])
        if of is None:
            return None
        left_out = {*_OWN, *fields, *(() if "autogen" in fields else _OF_VARIANTS)}
        if not self.inplace(fields):
            left_out.add(_OF_INPLACE)
        inherited = {k: v for k, v in self.base.fields.items() if k not in left_out}
        given = {k: v for k, v in fields.items() if k != OF}
        made = {"func": self.schema(of), **self.of_numbers(inherited, of), **given}
        return Entry(self.base.mechanism, self.place, made)

    def inplace(self, fields: Mapping[str, Located]) -> bool:
        """Whether an in-place operator is derived from the overload."""
        located = fields.get("autogen")
        names = [] if located is None else [name for name, _ in words(located, Report())]
        return f"{self.function}_" in [name.partition(".")[0] for name in names]

    @property
    def function(self) -> str:
        """The name of the operators, without an overload."""
        return re.split(r"[.(]", self.head.value)[0]

    def wrong(self, place: Place, message: str, length: int, expected: str) -> None:
        self.report.error(place, message, length=length, expected=expected)

    def arguments(self, located: Located) -> tuple[str, ...] | None:
        """The arguments that are numbers; each is a Tensor of the entry."""
        several = located.value if isinstance(located.value, tuple) else (located,)
        for each in several:
            if not isinstance(each.value, str) or not self.pattern(each.value).search(self.head.value):
                base = self.head.value.partition("(")[0]
                tensors = re.findall(r"(?<=[(, ])Tensor (\w+)", self.head.value.rpartition("->")[0])
                expected = f"one of {', '.join(tensors)}" if tensors else "an entry that takes a Tensor"
                message = f'{base} has no Tensor "{each.value}"'
                self.wrong(each.place, message, len(str(each.value)), expected)
                return None
        return tuple(each.value for each in several)

    @staticmethod
    def pattern(argument: str) -> re.Pattern[str]:
        return re.compile(rf"(?<=[(, ])Tensor(?= {re.escape(argument)}\b)")

    def schema(self, of: tuple[str, ...]) -> Located:
        """The entry's schema, with numbers for these arguments."""
        text: str = self.head.value
        for argument in of:
            text = self.pattern(argument).sub("Scalar", text, count=1)
        whole = f"{self.function}.{self.name}({text.partition('(')[2]}"
        return Located(whole, self.place, self.place, ((0, self.place),))

    def of_numbers(self, fields: Mapping[str, Located], of: tuple[str, ...]) -> dict[str, Located]:
        """The fields without what they say of tensors that are numbers here."""
        found = dict(fields)
        tags = found.get("tags")
        if tags is not None and isinstance(tags.value, tuple):
            kept = tuple(tag for tag in tags.value if tag.value != NUMBERS_AS_TENSORS)
            found["tags"] = replace(tags, value=kept)
        for key in _BY_ARGUMENT:
            value = found[key].value if key in found else None
            if isinstance(value, dict):
                left = {name: each for name, each in value.items() if name not in of}
                found[key] = replace(found[key], value=left)
                if not left:
                    del found[key]
        return found
