"""The pictures in the documents are of what the code beside them draws."""

from __future__ import annotations

import re

import draw_house
import pytest
from draw_pictures import PICTURES, layer


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
