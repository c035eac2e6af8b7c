"""Read: the entry that ``view_copy`` of a view operator's entry stands for.

``permute_copy`` is what ``permute`` shows, copied: its schema is the view's without the aliases, its kernel a
call of the view operator, and its samples, bad calls and reference are the view's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ..model.diagnostics import Report
from ..model.names import IMPLICIT
from ..model.source import Entry, Located
from .fields import words

KEY = "view_copy"
#: What is the same of the copy as of the view.
_SAME = ("python_module", "domain", "samples", "errors", "reference", "expected", "tolerance", "warns")
#: Tags of a view that say nothing of its copy.
_OF_VIEW = ("core", "internal")
#: The alias of a view, also of one in a list.
_ALIAS = re.compile(r"(?<=Tensor)\(a(?: -> \*)?\)")


def with_view_copy(entry: Entry, report: Report) -> Iterator[Entry]:
    """The entry, and the one of the copying form. Mistakes are reported and left out."""
    yield _view(entry)
    located, head = entry.fields.get(KEY), entry.fields.get("func")
    if located is None or head is None or not isinstance(head.value, str):
        return
    first, *variants = _located(located)
    if not _ALIAS.search(head.value):
        name = head.value.partition("(")[0]
        report.error(located.place, f"{name} is no view", expected="an entry whose result is a Tensor(a)")
        return
    wanted = _name(head.value)
    if first.value != wanted:
        length = len(str(first.value))
        message = f'"{first.value}" is not the name of the copying form'
        report.error(first.place, message, length=length, expected=wanted)
        return
    yield Entry(entry.mechanism, first.place, _fields(entry, head, first, variants))


def _view(entry: Entry) -> Entry:
    """The view's own entry: a view takes no ``out``, so what is said of that is said of the copy."""
    differs = entry.fields.get("differs")
    if KEY not in entry.fields or differs is None or not isinstance(differs.value, dict):
        return entry
    kept = {key: value for key, value in differs.value.items() if key != "out"}
    fields = {key: value for key, value in entry.fields.items() if key != "differs"}
    return replace(entry, fields={**fields, **({"differs": replace(differs, value=kept)} if kept else {})})


def _located(given: Located) -> list[Located]:
    """The words of a value; what is wrong with them is reported where they are checked."""
    return [Located(word, place) for word, place in words(given, Report())] or [given]


def _name(schema: str) -> str:
    """``permute_copy`` of ``permute``, ``select_copy.int`` of ``select.int``."""
    function, dot, overload = schema.partition("(")[0].partition(".")
    return f"{function}_copy{dot}{overload}"


def _fields(entry: Entry, head: Located, first: Located, variants: list[Located]) -> dict[str, Located]:
    place = first.place
    view = head.value.partition("(")[0]
    schema = f"{first.value}({_ALIAS.sub('', head.value.partition('(')[2])}"
    kernel = Located(f"copied({_call(entry, head.value)})", place)
    made = {
        "func": Located(schema, place, place, ((0, place),)),
        "tags": Located((*_tags(entry), Located(KEY, place)), place),
        "dispatch": Located({IMPLICIT: kernel}, place),
        "out": Located("exact", place),
        "doc": Located(f"A copy of what ``{view.partition('.')[0]}`` shows.", place),
    }
    if variants:
        made["autogen"] = Located(tuple(variants), place)
    differs = entry.fields.get("differs")
    if differs is not None and isinstance(differs.value, dict) and "out" in differs.value:
        made["differs"] = replace(differs, value={"out": differs.value["out"]})
    same = {key: entry.fields[key] for key in _SAME if key in entry.fields}
    if "samples" in same:
        same["samples"] = _samples(entry, same["samples"])
    return made | same


def _samples(entry: Entry, samples: Located) -> Located:
    """The samples of the view; a composite has no dtypes, so they name those of the view."""
    dtypes = entry.fields.get("dtypes")
    if dtypes is None or not isinstance(samples.value, tuple):
        return samples
    kinds = ", ".join(word for word, _ in words(dtypes, Report()))
    calls = [s if " for " in s.value else replace(s, value=f"{s.value} for {kinds}") for s in samples.value]
    return replace(samples, value=tuple(calls))


def _tags(entry: Entry) -> list[Located]:
    """The tags of the view that are the copy's, too."""
    given = entry.fields.get("tags")
    return [tag for tag in _located(given) if tag.value not in _OF_VIEW] if given is not None else []


def _call(entry: Entry, schema: str) -> str:
    """The call of the view operator with all arguments of the copy."""
    inside = schema.partition("(")[2].rpartition(") ->")[0]
    positional, _, keywords = _ALIAS.sub("", inside).partition("*, ")
    names = [_argument(part) for part in re.split(r", ", positional.rstrip(", ")) if part]
    words = [f"{name}={name}" for name in map(_argument, re.split(r", ", keywords)) if name]
    function = re.split(r"[.(]", schema)[0]
    given = entry.fields.get("variants")
    if given is not None and "method" in str(given.value):
        return f"{names[0]}.{function}({', '.join([*names[1:], *words])})"
    return f"{function}({', '.join([*names, *words])})"


def _argument(declared: str) -> str:
    """``dim`` of ``int dim=0``."""
    return declared.partition("=")[0].rpartition(" ")[2]
