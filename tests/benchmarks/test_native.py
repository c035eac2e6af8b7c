"""The table of what native kernels give."""

from __future__ import annotations

from pathlib import Path

import native
import pytest


def record(add: float, mul: float, net: float) -> dict[str, object]:
    def row(name: str, of: str, ours: float) -> dict[str, object]:
        return {"name": name, "row": of, "counted": True, "seconds": {"torch": 2.0, "tengen": 2.0 * ours}}

    workloads = [row("op: add", "op", add), row("op: mul", "op", mul), row("net", "network", net)]
    return {
        "date": "2026-01-02",
        "machine": "a machine",
        "versions": {"numpy": "2.4"},
        "workloads": workloads,
    }


def test_rows_have_means_and_worst_workloads() -> None:
    sides = [record(1.0, 3.0, 2.0), record(0.5, 0.25, 1.0), record(0.25, 0.25, 0.5)]
    found = list(native.lines(sides))
    assert found[0] == "2026-01-02, a machine, numpy 2.4; one thread, processor time."
    assert found[-2:] == [
        "| op, mean of 2 | 2.00 | 3.00 mul | 0.38 | 0.50 add | 0.25 | 0.25 add |",
        "| network | 2.00 |  | 1.00 |  | 0.50 |  |",
    ]


def test_the_table_goes_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n{native.BEGIN}\nold\n{native.END}\nafter\n")
    native.write("new", page)
    assert page.read_text() == f"before\n{native.BEGIN}\n\nnew\n\n{native.END}\nafter\n"
    page.write_text("none")
    with pytest.raises(ValueError, match=r"README\.md has no"):
        native.write("new", page)


def test_the_page_has_the_markers() -> None:
    page = (native.HERE / "README.md").read_text(encoding="utf-8")
    assert page.count(native.BEGIN) == page.count(native.END) == 1
