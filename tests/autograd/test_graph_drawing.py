"""Drawings of graphs: the boxes and lines of the DOT text."""

from __future__ import annotations

import re
import shutil
import sys
from typing import Any, NamedTuple

import pytest

import tengen
from tengen.autograd.graph import draw, get_gradient_edge, saved_tensors_hooks

pytest.importorskip("graphviz")

LEAF, OUTPUT, VIEW, SAVED, NODE = "lightblue", "darkolivegreen1", "darkolivegreen3", "orange", "lightgrey"

_BOX = re.compile(r'\t(\w+) \[label=("(?:[^"\\]|\\.)*"|\w+) fillcolor=(\w+)\]', re.DOTALL)
_LINE = re.compile(r"\t(\w+) -> (\w+)(?: \[(.*?)\])?$", re.MULTILINE)


class Read(NamedTuple):
    """A drawing read again: labels with their colours, and lines between labels with their attributes."""

    boxes: list[tuple[str, str]]
    lines: list[tuple[str, str, str]]

    def labels(self, color: str) -> list[str]:
        return sorted(label for label, found in self.boxes if found == color)

    def into(self, label: str) -> list[str]:
        return sorted(start for start, end, _ in self.lines if end == label)


def read(dot: Any) -> Read:
    labels: dict[str, str] = {}
    boxes = []
    for key, label, color in _BOX.findall(dot.source):
        labels[key] = label.strip('"').replace('\\"', '"').replace("\\\\", "\\")
        boxes.append((labels[key], color))
    lines = [(labels[start], labels[end], rest) for start, end, rest in _LINE.findall(dot.source)]
    assert len(labels) == len(boxes)
    return Read(boxes, lines)


def test_a_layer() -> None:
    x, w = tengen.ones(3, 4), tengen.ones(5, 4, requires_grad=True)
    b = tengen.zeros(5, requires_grad=True, dtype=tengen.float64)
    found = read(draw(x @ w.t() + b.float(), {"w": w, "b": b}))
    assert found.labels(LEAF) == ["b\n(5) float64", "w\n(5, 4)"]
    assert found.labels(OUTPUT) == ["(3, 5)"]
    assert found.labels(NODE) == sorted(
        ["AddBackward0", "MmBackward0", "TBackward0", "ToCopyBackward0", "AccumulateGrad", "AccumulateGrad"]
    )
    assert found.into("(3, 5)") == ["AddBackward0"]
    assert found.into("AddBackward0") == ["MmBackward0", "ToCopyBackward0"]
    assert found.into("AccumulateGrad") == ["b\n(5) float64", "w\n(5, 4)"]
    assert found.labels(SAVED) == []


def test_each_thing_is_drawn_once() -> None:
    x = tengen.ones(2, requires_grad=True)
    y = x * x
    found = read(draw([y, y.exp(), y], {"x": x}))
    assert found.labels(NODE) == ["AccumulateGrad", "ExpBackward0", "MulBackward0"]
    assert found.labels(OUTPUT) == ["(2)", "(2)"]
    assert found.into("MulBackward0") == ["AccumulateGrad", "AccumulateGrad"]


def test_the_text_is_the_same_each_time() -> None:
    def text() -> str:
        x = tengen.ones(2, requires_grad=True)
        return str(draw({"loss": (x * x.exp()).sum()}, {"x": x}, True, True).source)

    assert text() == text()


def test_outputs_of_all_kinds() -> None:
    x = tengen.ones(2, requires_grad=True)
    y = x.exp()
    assert read(draw({"y": y, "z": y.sum()})).labels(OUTPUT) == ["y\n(2)", "z\n()"]
    assert read(draw(get_gradient_edge(y))).boxes == [
        ("ExpBackward0", NODE),
        ("AccumulateGrad", NODE),
        ("(2)", LEAF),
    ]
    assert read(draw(x)).labels(LEAF) == ["(2)"] and read(draw(x)).labels(OUTPUT) == []
    assert read(draw({"constant": tengen.ones(3)})).boxes == [("constant\n(3)", OUTPUT)]
    assert read(draw([])).boxes == []
    assert read(draw(tengen.ones(3, 0, dtype=tengen.complex64))).labels(OUTPUT) == ["(3, 0) complex64"]


def test_views_hang_on_their_base() -> None:
    x = tengen.ones(2, 3, requires_grad=True)
    y = x * 2
    found = read(draw({"view": y[0], "base": y}))
    assert found.labels(VIEW) == ["view\n(3)"]
    assert ("base\n(2, 3)", "view\n(3)", "style=dotted") in found.lines
    assert found.into("base\n(2, 3)") == ["MulBackward0"]


def test_a_write_through_a_view_says_what_was_written() -> None:
    y = tengen.ones(2, 3, requires_grad=True) * 2
    y[0].exp_()
    assert "CopySlices\n(ExpBackward0)" in read(draw(y)).labels(NODE)


def test_results_of_a_node_are_numbered() -> None:
    a, b = (tengen.ones(4, requires_grad=True) * 2).split([1, 3])
    found = read(draw(a.exp() + b))
    assert {line for line in found.lines if line[0] == "SplitWithSizesBackward0"} == {
        ("SplitWithSizesBackward0", "ExpBackward0", "label=0"),
        ("SplitWithSizesBackward0", "AddBackward0", "label=1"),
    }


def test_hooks() -> None:
    x = tengen.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sum()
    x.register_hook(lambda g: g)
    x.register_post_accumulate_grad_hook(lambda t: None)
    y.register_hook(lambda g: g)
    y.register_hook(lambda g: g)
    y.retain_grad()
    z.grad_fn.register_hook(lambda a, b: None)
    z.grad_fn.register_prehook(lambda a: None)
    assert read(draw(z)).labels(NODE) == [
        "AccumulateGrad\nhooks: 1 tensor, 1 accumulated",
        "ExpBackward0\nhooks: 2 tensor\nretains grad",
        "SumBackward0\nhooks: 1 before, 1 after",
    ]
    y.grad_fn.metadata["note"] = 1
    handle = y.register_hook(lambda g: g)
    handle.remove()
    assert "ExpBackward0\nhooks: 2 tensor\nretains grad" in read(draw(z)).labels(NODE)


def test_saved_tensors() -> None:
    x, c = tengen.ones(2, requires_grad=True), tengen.ones(2)
    z = (x * c).exp()
    found = read(draw(z, {"x": x}, show_saved=True))
    assert found.labels(SAVED) == ["other\n(2)", "result\n(2)"]
    assert ("other\n(2)", "MulBackward0", "dir=none style=dashed") in found.lines
    # What has a box is not drawn anew: a leaf, also where it is saved before its turn to be drawn.
    found = read(draw((x * x).exp() * x, {"x": x}, show_saved=True))
    assert found.labels(LEAF) == ["x\n(2)"] and "self\n(2)" not in [label for label, _ in found.boxes[:4]]
    assert [line for line in found.lines if line[0] == "x\n(2)" and "dashed" in line[2]]


def test_saved_tensors_that_were_freed() -> None:
    x = tengen.ones(2, requires_grad=True)
    z = x.exp()
    z.sum().backward()
    assert read(draw(z, show_saved=True)).labels(SAVED) == ["result\nfreed"]


def test_hooks_of_saved_tensors_are_not_called() -> None:
    def unpack(packed: Any) -> Any:
        raise AssertionError("a drawing unpacks nothing")

    x = tengen.ones(2, requires_grad=True)
    with saved_tensors_hooks(lambda t: "packed", unpack):
        z = x.exp() * x
    found = read(draw(z, show_saved=True, show_attrs=True)).labels(SAVED)
    assert found and all(label.endswith("\npacked by hooks") for label in found)


def test_lists_and_functions() -> None:
    class Twice(tengen.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, None)
            ctx.constant = 3
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    c = tengen.ones(3)
    x = tengen.ones(3, requires_grad=True)
    found = read(draw(Twice.apply(x * c), show_saved=True, show_attrs=True))
    assert found.labels(NODE) == ["AccumulateGrad", "MulBackward0", "TwiceBackward"]
    assert "tensors[0]\n(3)" in found.labels(SAVED)


def test_attributes() -> None:
    x = tengen.ones(2, 3, requires_grad=True)
    (label,) = [n for n in read(draw(x.sum(1), show_attrs=True)).labels(NODE) if n.startswith("Sum")]
    assert "\ndim: " in label and label.count("(2, 3)") == 1
    (short,) = [
        n for n in read(draw(x.sum(1), show_attrs=True, max_attr_chars=8)).labels(NODE) if n.startswith("Sum")
    ]
    assert all(len(line) <= 8 for line in short.splitlines()[1:]) and "..." in short


@pytest.mark.parametrize(
    "name", ['a "b"', "<b>bold</b>", "back\\slash", "two\nlines", "\u00fc", "a\\", "\\N"]
)
def test_names_are_shown_as_they_are(name: str) -> None:
    x = tengen.ones(2, requires_grad=True)
    assert read(draw(x.exp(), {name: x})).labels(LEAF) == [f"{name}\n(2)"]


def test_pairs_of_names() -> None:
    x = tengen.ones(2, requires_grad=True)
    assert read(draw(x.exp(), iter([("x", x)]))).labels(LEAF) == ["x\n(2)"]


def test_a_deep_graph() -> None:
    y = tengen.ones(1, requires_grad=True)
    for _ in range(5000):
        y = y + 1
    assert draw(y).source.count("AddBackward0") == 5000


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3,), TypeError, "outputs must be a Tensor or several, but got int"),
        (([tengen.ones(1), 3],), TypeError, "one of them is int"),
        (
            (tengen.ones(1), 3),
            TypeError,
            "params must be a dict, or pairs of a name and a Tensor, but got int",
        ),
        ((tengen.ones(1), {"w": 3}), TypeError, r"params\['w'\] must be a Tensor, but got int"),
        ((tengen.ones(1), None, True, True, 2), ValueError, "max_attr_chars must be an int of at least 3"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        draw(*arguments)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match=r"pip install tengen\[draw\]"):
        draw(tengen.ones(1))


@pytest.mark.skipif(shutil.which("dot") is None, reason="the program dot is not installed")
def test_a_picture() -> None:
    x = tengen.ones(2, requires_grad=True)
    picture = draw({"a <b>": (x.exp() * 2).sum()}, {"x": x}, True, True).pipe("svg").decode()
    assert "<svg" in picture and "ExpBackward0" in picture
