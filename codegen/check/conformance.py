"""Shows that PyTorch's own declarations are read: ``python -m tengen.codegen.check.conformance FOLDER``.

FOLDER is torchgen's ``packaged`` folder, which an installed torch has beside it.  Every schema
of its native_functions.yaml is parsed and printed back, and every key is looked up; of its
derivatives.yaml every name and key is.  (The formulas themselves are C++.)
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..model.diagnostics import DeclarationErrors, Report
from ..model.schema import Schema
from ..model.source import Entry, Located, Place
from ..parse.schema import SchemaError, parse_name
from ..read.entries import read_entries, read_yaml
from ..read.fields import check_keys, known_word, words
from ..read.keys import DERIVATIVE_KEYS, KEYS
from .derivatives import TORCH_BACKENDS, key_names
from .expand import parse_located_schema

NATIVE = Path("ATen/native/native_functions.yaml")
DERIVATIVES = Path("autograd/derivatives.yaml")
_TAGS = Path(__file__).parents[2] / "declarations" / "tags.yaml"


@dataclass(slots=True)
class Conformance:
    """What was read, and what could not be."""

    report: Report = field(default_factory=Report)
    entries: int = 0
    parsed: int = 0
    same: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    dispatch_keys: Counter[str] = field(default_factory=Counter)
    variants: set[str] = field(default_factory=set)  # names below autogen
    schemas: dict[str, Schema] = field(default_factory=dict)
    derivatives: int = 0
    entry_names: int = 0
    variant_names: int = 0
    derivative_keys: Counter[str] = field(default_factory=Counter)

    def text(self) -> str:
        """The counts, a line each."""
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        yield f"{NATIVE.name}: {self.entries} entries"
        yield f"  {self.parsed} schemas parse, {self.same} print back to the same string"
        yield f"  {len(self.variants)} variants below autogen"
        for name, key in KEYS["native"].items():
            if self.keys[name]:
                yield f"  {name:34}{self.keys[name]:6}  {key.meaning or 'accepted, without effect'}"
        yield f"  {len(self.dispatch_keys)} dispatch keys: {', '.join(sorted(self.dispatch_keys))}"
        yield f"{DERIVATIVES.name}: {self.derivatives} entries"
        known = f"{self.entry_names} of entries, {self.variant_names} of variants below autogen"
        yield f"  {self.entry_names + self.variant_names} names are known schemas: {known}"
        for name, count in sorted(self.derivative_keys.items()):
            yield f"  {name:34}{count:6}"
        yield f"{len(self.report.diagnostics)} not understood"


def conformance(packaged: Path) -> Conformance:
    """Reads the two files; whatever is not understood is in the result's ``report``."""
    found = Conformance()
    tags = _tags(found.report)
    for entry in read_entries(packaged / NATIVE, NATIVE.name, "native", found.report):
        _native(entry, tags, found)
    for entry in read_entries(packaged / DERIVATIVES, DERIVATIVES.name, "derivatives", found.report):
        _derivative(entry, found)
    return found


def _tags(report: Report) -> list[str]:
    root = read_yaml(_TAGS.read_text(encoding="utf-8"), _TAGS.name, report)
    assert root is not None
    return [row.value["tag"].value for row in root.value]


def _native(entry: Entry, tags: list[str], found: Conformance) -> None:
    report = found.report
    found.entries += 1
    fields = check_keys(entry.fields, KEYS["native"], "an entry of native_functions.yaml", report)
    found.keys.update(fields.keys())
    parsed = parse_located_schema(fields["func"], report)
    if parsed is None:
        return
    found.parsed += 1
    found.same += str(parsed[0]) == fields["func"].value
    found.schemas[str(parsed[0].name)] = parsed[0]
    for word, place in _words(fields, "tags", report):
        known_word(word, place, tags, "tag", report)
    for word, place in _words(fields, "variants", report):
        known_word(word, place, ("function", "method"), "variant", report)
    for word, place in _words(fields, "autogen", report):
        try:
            parse_name(word)
            found.variants.add(word)
        except SchemaError as error:
            report.error(place, error.message)
    if "dispatch" in fields:
        for names, value in fields["dispatch"].value.items():
            found.dispatch_keys.update(word for word, _ in words(Located(names, value.place), report))


def _words(fields: dict[str, Located], key: str, report: Report) -> list[tuple[str, Place]]:
    return words(fields[key], report) if key in fields else []


def _derivative(entry: Entry, found: Conformance) -> None:
    report = found.report
    found.derivatives += 1
    fields = dict(entry.fields)
    named = parse_located_schema(fields.pop("name"), report)
    if named is None:
        return
    schema, name = named[0], str(named[0].name)
    if name in found.schemas and found.schemas[name] == schema:
        found.entry_names += 1
    elif name in found.variants:
        found.variant_names += 1
    else:
        report.error(entry.place, f"no operator has the schema {schema}")
        return
    _formulas(fields, schema, found)


def _formulas(fields: dict[str, Located], schema: Schema, found: Conformance) -> None:
    report = found.report
    fixed = {name: value for name, value in fields.items() if name in DERIVATIVE_KEYS}
    good = check_keys(fixed, DERIVATIVE_KEYS, "an entry of derivatives.yaml", report)
    found.derivative_keys.update(good.keys())
    for name, value in fields.items():
        if name == "dispatch":
            for key, body in value.value.items():
                known = ("Default", *(f"Autograd{backend}" for backend in TORCH_BACKENDS))
                known_word(key, body.key or body.place, known, "dispatch key", report)
                _formulas(dict(body.value), schema, found)
        elif name not in fixed:
            understood = key_names(name, value, schema, report)
            if understood is not None:
                kind, names = understood
                found.derivative_keys[f"{'jointly ' if len(names) > 1 else ''}{kind}"] += 1


def main(arguments: list[str]) -> int:
    """Prints the counts; the status is 1 when anything was not understood."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found = conformance(Path(arguments[0]))
    print(found.text())
    try:
        found.report.finish()
    except DeclarationErrors as errors:
        print(errors, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
