"""The pictures in the documents are of what the code beside them draws."""

from __future__ import annotations

import re

import draw_house
import pytest
from draw_pictures import PICTURES, layer
from test_layers import FLOORS


def test_the_layer() -> None:
    pytest.importorskip("graphviz")
    shown = re.findall(r"<text [^>]*>([^<]+)</text>", (PICTURES / "layer.svg").read_text(encoding="utf-8"))
    labels = re.findall(r'label=("[^"]*"|\w+)', layer().source)
    expected = [line for label in labels for line in label.strip('"').split("\n")]
    assert sorted(shown) == sorted(expected)


def test_the_house_is_drawn_from_the_tree() -> None:
    drawn = draw_house.PICTURE.read_text(encoding="utf-8")
    assert drawn == draw_house.picture(), "python tests/docs/draw_house.py draws it anew"


def test_the_house_has_every_stage_and_floor() -> None:
    shown = re.findall(r'<text [^>]*class="name">([^<]+)</text>', draw_house.picture())
    runtime = [p for floor in reversed(draw_house.floors()) for p in floor]
    generator = draw_house.generator()
    assert shown == [p.name for p in (*generator["ir"], *generator["codegen"], *runtime)]
    parts = {p.name: p for p in runtime}
    assert "core" in parts["kernels"].uses
    assert parts["core"].uses == ()
    stages = {p.name: p for parts in generator.values() for p in parts}
    assert stages["parse"].uses == ("model",)
    assert stages["writer"].uses == ("expressions",)
    assert all(p.sentence for p in stages.values())


def test_the_page_has_the_floors_as_they_are() -> None:
    page = draw_house.PAGE.read_text(encoding="utf-8")
    assert page == draw_house.page_with_table(), "python tests/docs/draw_house.py makes the table anew"


def test_another_floor_is_another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    made = draw_house.page_with_table()
    monkeypatch.setattr(draw_house, "FLOORS", (*FLOORS[:2], (*FLOORS[2], "autograd.engine"), *FLOORS[3:]))
    changed = made.replace("| `autograd/` |", "| `autograd/`, `autograd/engine` |")
    assert draw_house.page_with_table() == changed != made


def test_what_is_there_is_said_of_floors_that_are() -> None:
    assert [*draw_house.WHAT_IS_THERE] == [names[0] for names in FLOORS]
