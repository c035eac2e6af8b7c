"""Every character of a YAML value leads to its place in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tengen.codegen.model.diagnostics import Report
from tengen.codegen.model.source import Located
from tengen.codegen.read.entries import read_cwrap, read_entries, read_yaml

TEXT = """\
- plain: one two
  double: "a \\"b\\" c\\n d \\x41 e"
  single: 'it''s here, ''quoted'''
  folded: >
    folded text
    goes on

    a paragraph
  literal: |-
    x = 1
      y = 2
  over: plain over
     two lines
  quoted: "quoted over
      two lines"
  flow: [a b, "c d", {e: f g}]
  accents: é grad ü
  commented: value  # and a comment
"""


def scalars(value: Located) -> list[Located]:
    """All strings in a value."""
    if isinstance(value.value, tuple):
        return [found for item in value.value for found in scalars(item)]
    if isinstance(value.value, dict):
        return [found for item in value.value.values() for found in scalars(item)]
    return [value] if isinstance(value.value, str) else []


def test_places_of_all_characters() -> None:
    report = Report()
    root = read_yaml(TEXT, "f.yaml", report)
    assert root is not None and not report.diagnostics
    lines = TEXT.split("\n")
    found = scalars(root)
    assert len(found) == 12
    for value in found:
        for offset, char in enumerate(value.value):
            place = value.at(offset)
            there = lines[place.line - 1][place.column - 1 : place.column]
            if not char.isspace():
                assert there == char or there in "\\'", (value.value, offset, place)


def test_keys_and_values_have_places() -> None:
    root = read_yaml("- a:\n    bb: c\n  d: [e, f]\n", "f.yaml", Report())
    assert root is not None
    entry = root.value[0].value
    assert str(entry["a"].key) == "f.yaml:1:3"
    assert str(entry["a"].value["bb"].key) == "f.yaml:2:5"
    assert str(entry["a"].value["bb"].place) == "f.yaml:2:9"
    assert [str(item.place) for item in entry["d"].value] == ["f.yaml:3:7", "f.yaml:3:10"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("False", False), ("null", None), ("~", None), ("-", None), ("12", 12), ("-3", -3),
        ("1.5", 1.5), ("1e-5", 1e-5), ("no", "no"), ("on", "on"), ("'12'", "12"), ("1.2.3", "1.2.3"),
        ("1:30", "1:30"), ("0x10", "0x10"),
    ],
)  # fmt: skip
def test_what_plain_scalars_mean(text: str, value: object) -> None:
    """Only true and false are booleans, and only decimal numbers are numbers."""
    root = read_yaml(f"a: {text}" if text != "-" else "a:", "f.yaml", Report())
    assert root is not None
    got = root.value["a"].value
    assert got == value and type(got) is type(value)


def test_cwrap_blocks_keep_their_places() -> None:
    text = "# a comment\n[[\n  name: f\n  tags:\n    - a\n]]\n\n[[\n  name: g\n]]\n"
    report = Report()
    root = read_cwrap(text, "f.cwrap", report)
    assert root is not None and not report.diagnostics
    first, second = root.value
    assert str(first.value["name"].place) == "f.cwrap:3:9"
    assert str(first.value["tags"].value[0].place) == "f.cwrap:5:7"
    assert str(second.value["name"].key) == "f.cwrap:9:3"


def test_entries_before_a_syntax_error_are_read() -> None:
    report = Report()
    root = read_yaml("- a: 1\n- b: 2\n- c: [\n- d: 4\n", "f.yaml", report)
    assert root is not None and [list(item.value) for item in root.value] == [["a"], ["b"]]
    assert len(report.diagnostics) == 1


def test_an_empty_file_has_no_entries() -> None:
    assert read_yaml("# nothing\n", "f.yaml", Report()) is None


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"- a: 1\n- b: \xff\n")
    report = Report()
    assert not list(read_entries(tmp_path / "f.yaml", "f.yaml", "native", report))
    (error,) = report.diagnostics
    assert (str(error.place), error.message) == ("f.yaml:2:6", "not UTF-8")
