"""The pictures in the documents are of what the code beside them draws."""

from __future__ import annotations

import re

import draw_house
import pytest
from draw_pictures import PICTURES, layer
from test_layers import FLOORS, PROJECT


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
    assert shown == [p.name for p in (*draw_house.stages(), *runtime)]
    parts = {p.name: p for p in runtime}
    assert "core" in parts["native"].uses
    assert parts["core"].uses == ()
    stages = {p.name: p for p in draw_house.stages()}
    assert stages["parse"].uses == ("ir", "model")
    assert all(p.sentence for p in stages.values())


def test_the_page_has_every_floor_in_its_order() -> None:
    """The rows of the table are the floors; each names the packages of its floor, and nothing of another."""
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| floor | what is there |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [re.findall(r"`([\w/]+)`", line.split("|")[1]) for line in table.split("\n")]
    named = [{name.rstrip("/").replace("/", ".") for name in row} for row in rows]
    assert len(named) == len(FLOORS)
    for row, floor in zip(named, FLOORS, strict=True):
        packages = {name for name in floor if (PROJECT / "runtime" / name.replace(".", "/")).is_dir()}
        assert packages <= row <= set(floor)
