"""``scalar_overloads``: what they stand for, and that no entry repeats what one could say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tengen.codegen.commands.affected import plain
from tengen.codegen.gen import declarations_dir
from tengen.codegen.model.diagnostics import Report
from tengen.codegen.model.source import Entry, Located, Place
from tengen.codegen.read.entries import mechanism_of, read_entries
from tengen.codegen.read.overloads import KEY, OF, with_overloads
from tengen.core.error_notes import locate_entry

BASE = """
- func: half_of.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  autogen: half_of_.Tensor, half_of.out
  inplace_variants: method
  tags: [pointwise, numbers_as_tensors]
  out: exact
  overlap: {other: free, self: free}
  domain: {other: "(0, 2)"}
  doc: For tensors.
  samples: ["[3], [3]"]
  scalar_overloads:
"""


def read(tmp_path: Path, text: str) -> dict[str, dict[str, object]]:
    path = tmp_path / "native_functions.yaml"
    path.write_text(text)
    report = Report()
    found = [{k: plain(v) for k, v in e.fields.items()} for e in read_entries(path, "f", "native", report)]
    report.finish()
    return {str(fields["func"]).partition("(")[0]: fields for fields in found}


def test_what_an_overload_takes_from_its_entry(tmp_path: Path) -> None:
    text = "    Scalar:\n      of: other\n      autogen: half_of_.Scalar\n      doc: For numbers.\n"
    assert read(tmp_path, BASE + text)["half_of.Scalar"] == {
        "func": "half_of.Scalar(Tensor self, Scalar other, *, Scalar alpha=1) -> Tensor",
        "variants": "function, method",
        "inplace_variants": "method",
        "tags": ["pointwise"],
        "out": "exact",
        "overlap": {"self": "free"},
        "autogen": "half_of_.Scalar",
        "doc": "For numbers.",
    }


def test_an_overload_without_variants(tmp_path: Path) -> None:
    text = "    Scalar_Tensor: {of: self, variants: function, domain: {other: '(1, 2)'}}\n"
    assert read(tmp_path, BASE + text)["half_of.Scalar_Tensor"] == {
        "func": "half_of.Scalar_Tensor(Scalar self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "variants": "function",
        "tags": ["pointwise"],
        "domain": {"other": "(1, 2)"},
    }
    both = read(tmp_path, f"{BASE}    Scalar_Scalar: {{of: [self, other]}}\n")["half_of.Scalar_Scalar"]
    assert str(both["func"]).startswith("half_of.Scalar_Scalar(Scalar self, Scalar other, *")
    assert "domain" not in both


def native_entries() -> Iterator[dict[str, Entry]]:
    """The entries of each file, by operator."""
    for path in sorted(declarations_dir().iterdir()):
        if mechanism_of(path) == "native":
            found = read_entries(path, path.name, "native", Report())
            yield {str(e.fields["func"].value).partition("(")[0]: e for e in found}


def numbers_of(base: str, twin: str) -> list[str]:
    """The arguments that one schema has as numbers, where it is another's but for these."""
    given, wanted = (f"({schema.partition('(')[2]}" for schema in (base, twin))
    of = [n for n in re.findall(r"\bTensor (\w+)", given) if f"Scalar {n}" in wanted]
    for name in of:
        given = re.sub(rf"\bTensor {name}\b", f"Scalar {name}", given, count=1)
    return of if given == wanted else []


def test_no_entry_repeats_what_an_overload_would_take() -> None:
    """An entry of its own is for what has another schema, or lacks what it would take."""
    here, repeated, overloads = Place("", 1, 1), [], 0
    for entries in native_entries():
        overloads += sum(len(e.fields[KEY].value) for e in entries.values() if KEY in e.fields)
        made = {
            f"{n.partition('.')[0]}.{o}"
            for n, e in entries.items()
            if KEY in e.fields
            for o in e.fields[KEY].value
        }
        written = {name: entry for name, entry in entries.items() if name not in made}
        for name, entry in written.items():
            function, _, overload = name.partition(".")
            for other, base in written.items():
                of = numbers_of(str(base.fields["func"].value), str(entry.fields["func"].value))
                if other.partition(".")[0] != function or not of or not overload:
                    continue
                own = {OF: Located(tuple(Located(n, here) for n in of), here)}
                if "autogen" in entry.fields:
                    own["autogen"] = entry.fields["autogen"]
                twins = Located({overload: Located(own, here, here)}, here)
                *_, twin = with_overloads(Entry("native", here, {**base.fields, KEY: twins}), Report())
                taken = {k: plain(v) for k, v in twin.fields.items() if k not in ("func", "autogen")}
                wanted = {k: plain(v) for k, v in entry.fields.items()}
                alike = [k for k, v in taken.items() if wanted.get(k) == v]
                if len(alike) >= 4 and taken.keys() - {"variants"} <= wanted.keys():
                    repeated.append(f"{name} repeats {', '.join(alike)} of {other}")
    assert not repeated
    assert overloads > 40


def test_errors_say_where_an_overload_is_declared() -> None:
    for path in sorted(declarations_dir().glob("native_functions*.yaml")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for entry in read_entries(path, path.name, "native", Report()):
            name = str(entry.fields["func"].value).partition("(")[0]
            _, _, number = locate_entry(f"declarations/{path.name}", name).partition(":")
            assert int(number) == entry.place.line, name
            shown = lines[int(number) - 1]
            assert name in shown or shown == f"    {name.partition('.')[2]}:", name
