"""What notebooks show of tensors: the facts above the elements, as HTML that is sound for every tensor."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import tengen
from tengen.overrides import TengenFunctionMode

DTYPES = [
    tengen.bool,
    tengen.uint8,
    tengen.int64,
    tengen.float16,
    tengen.bfloat16,
    tengen.float64,
    tengen.complex64,
]


class Shown(HTMLParser):
    """The facts and the elements; AssertionError for tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: dict[str, str] = {"div": "", "pre": ""}
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts[self.open[-1]] += data

    @property
    def facts(self) -> list[str]:
        return self.texts["div"].split(" · ")

    @property
    def text(self) -> str:
        return self.texts["pre"]


def shown(tensor: Any) -> Shown:
    html = tensor._repr_html_()
    assert "color: inherit" in html and "#" not in html.replace("&#", "")  # right on light and dark pages
    return Shown(html)


def test_the_facts_and_the_elements() -> None:
    x = tengen.ones(2, 3, requires_grad=True)
    assert shown(x).facts == ["Tensor", "shape (2, 3)", "tengen.float32", "cpu", "requires_grad=True"]
    assert shown(x).text == "[[1., 1., 1.],\n [1., 1., 1.]]"
    assert shown(x * 2).facts[-1] == "grad_fn=<MulBackward0>"


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (2, 3), (2, 1, 2, 2), (100, 100), (10**6,)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_every_kind_of_tensor(shape: tuple[int, ...], dtype: tengen.dtype, device: str) -> None:
    found = shown(tengen.zeros(shape, dtype=dtype, device=device))
    assert found.facts == ["Tensor", f"shape {shape}", str(dtype), device]
    if device == "meta":
        assert found.text == "..."
    elif 0 in shape:
        assert found.text == "[]"
    else:
        assert "0" in found.text or "False" in found.text
        assert len(found.text) < 20_000
    assert not found.text.startswith("tensor(")


def test_memory_that_is_expanded_or_not_contiguous() -> None:
    assert "..." in shown(tengen.ones(1).expand(10**9)).text
    assert shown(tengen.arange(6).reshape(2, 3).t()).text == "[[0, 3],\n [1, 4],\n [2, 5]]"


def test_options_apply() -> None:
    with tengen.printoptions(precision=2):
        assert shown(tengen.tensor([1 / 3])).text == "[0.33]"


def test_a_view_whose_history_is_invalid() -> None:
    base = tengen.ones(2, requires_grad=True).clone()
    with tengen.no_grad():
        view = base[0]
    base.mul_(2)
    try:
        expected = repr(view)
    except RuntimeError:
        expected = ""
    assert ("Invalid" in expected) == ("grad_fn=<Invalid>" in shown(view).facts)


def test_inside_transforms() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        html = x._repr_html_()
        seen.append(None if html is None else Shown(html))
        return (x * x).sum()

    x = tengen.ones(3, 2)
    tengen.func.grad(look)(x)
    assert seen[-1].facts[-1] == "requires_grad=True"
    tengen.func.jvp(look, (x,), (x,))
    assert "tangent=tensor([[1., 1.]" in seen[-1].text
    escaped: list[Any] = []
    tengen.vmap(lambda v: (look(v), escaped.append(v))[0])(x)
    assert seen[-1] is None, "its repr tells more: all examples"
    assert escaped[0]._repr_html_() is None
    tengen.jit.trace(look, (x,))
    assert seen[-1].facts[:2] == ["Tensor", "shape (3, 2)"]


def test_subclasses() -> None:
    class Refusing(tengen.Tensor):
        @classmethod
        def __tengen_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise RuntimeError("refused")

    class Printing(tengen.Tensor):
        def __repr__(self) -> str:
            raise RuntimeError("nor is it asked for")

    data = tengen.tensor([1.0, 2.0])
    odd = type("<b>Bold</b>", (tengen.Tensor,), {})
    assert shown(data.as_subclass(Refusing)).facts[0] == "Refusing"
    assert shown(data.as_subclass(odd)).facts[0] == "<b>Bold</b>"
    assert "<b>" not in data.as_subclass(odd)._repr_html_()
    assert data.as_subclass(Printing)._repr_html_() is None


def test_modes_are_not_asked() -> None:
    class Refusing(TengenFunctionMode):
        def __tengen_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise RuntimeError("refused")

    x = tengen.ones(2, requires_grad=True)
    with Refusing():
        assert shown(x).text == "[1., 1.]"
