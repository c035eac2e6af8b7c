"""The pictures in the documents are of what the code beside them draws."""

from __future__ import annotations

import re

import pytest
from draw_pictures import PICTURES, layer


def test_the_layer() -> None:
    pytest.importorskip("graphviz")
    shown = re.findall(r"<text [^>]*>([^<]+)</text>", (PICTURES / "layer.svg").read_text(encoding="utf-8"))
    labels = re.findall(r'label=("[^"]*"|\w+)', layer().source)
    expected = [line for label in labels for line in label.strip('"').split("\n")]
    assert sorted(shown) == sorted(expected)
