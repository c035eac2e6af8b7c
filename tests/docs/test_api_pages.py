"""The reference of the hand-written API: everything public is in it, and says what it is."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tengen

PROJECT = Path(__file__).resolve().parents[2]
GENERATOR = PROJECT / "docs" / "generator"


@pytest.fixture(scope="module")
def api(generator: Callable[[str], ModuleType]) -> ModuleType:
    """The module that reads the API, which takes seconds."""
    pytest.importorskip("pygments")
    return generator("api_model")


def described(api: Any) -> dict[int, str]:
    """By identity what has a section of its own, and where."""
    return {api.identity(api.resolve(e.path)): p.title for p in api.pages() for e in p.entries}


def is_documented(api: Any, value: Any, found: dict[int, str]) -> bool:
    """Whether the pages have it: as an entry, as a constant, or as an operator."""
    if isinstance(value, (ModuleType, api.CONSTANTS)) or api.is_generated(value):
        return True
    return api.identity(value) in found


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module says is public of it, or names without an underscore that are at home in it."""
    listed = getattr(module, "__all__", None)
    for name in listed if listed is not None else vars(module):
        value = getattr(module, name)
        home = getattr(inspect.unwrap(value) if callable(value) else value, "__module__", "") or ""
        if not name.startswith("_") and (listed is not None or home == module.__name__):
            yield name, value


def test_every_public_object_of_a_described_module_is_described(api: Any) -> None:
    found = described(api)
    lacking = [
        f"{module.__name__}.{name}"
        for module in map(api.module_of, api.public_modules())
        for name, value in public(module)
        if not is_documented(api, value, found)
    ]
    assert lacking == []


def test_every_name_of_pytorch_that_is_recorded_is_described(api: Any) -> None:
    names_page = importlib.import_module("names_page")
    found = described(api)
    lacking = []
    pages = api.public_modules()
    for place, members in names_page.recorded().items():
        # What stands in for a name that is not here is none of the module's.
        home = api.module_of(place) if place in pages else None
        for name in members if home is not None else ():
            if name in dir(home) and not is_documented(api, getattr(home, name), found):
                lacking.append(f"{place}.{name}")
    assert lacking == []


@pytest.mark.oracle
def test_every_name_that_pytorch_has_too_is_described(api: Any, torch: Any) -> None:
    found = described(api)
    lacking = []
    for path in api.public_modules():
        here = api.module_of(path)
        try:
            there = torch if path == "tengen" else importlib.import_module(f"torch.{path}")
        except ImportError:
            continue
        for name in sorted(set(getattr(there, "__all__", dir(there))) & set(vars(here))):
            value = getattr(here, name)
            if name.startswith("_") or not str(getattr(value, "__module__", "")).startswith("tengen"):
                continue
            if not is_documented(api, value, found):
                lacking.append(f"{path}.{name}")
    assert lacking == []


def test_every_member_of_tensor_is_described_or_an_operator(api: Any) -> None:
    from tengen.testing import declared

    page = next(p for p in api.pages() if p.name == "Tensor")
    known = {e.name for e in page.entries} | {n.partition(".")[0] for n in declared.operators()}
    derived = {str(v.name).partition(".")[0] for v in declared.derived().variants}
    members = {n for n in dir(tengen.Tensor) if not n.startswith("_")} - {"wraps"}  # what func has of its own
    assert members - known - derived == set()


def test_everything_says_what_it_is_and_is_one_entry(api: Any) -> None:
    everything = [d for p in api.pages() for e in p.entries for d in (e, *e.members)]
    assert [d.path for d in everything if len(d.doc.split()) < 3] == []
    anchors = [d.anchor for d in everything]
    assert len(anchors) == len(set(anchors)) > 400
    assert [d.path for d in everything if d.kind == "function" and not d.signature] == []


def test_signatures_and_places(api: Any) -> None:
    entries = {d.path: d for p in api.pages() for e in p.entries for d in (e, *e.members)}
    assert entries["tengen.Size.numel"].signature == "Size.numel() -> int"
    assert entries["tengen.from_numpy"].signature == "tengen.from_numpy(ndarray: ndarray) -> Tensor"
    vmap = entries["tengen.vmap"]
    assert vmap.also == ("tengen.func.vmap",)
    assert vmap.signature.startswith("tengen.vmap(\n    func: Callable[..., Any],\n    in_dims: Any = 0,\n")
    source = (PROJECT / vmap.place.file).read_text(encoding="utf-8").splitlines()
    assert source[vmap.place.line - 1].startswith("def vmap(")
    sgd = entries["tengen.optim.SGD"]
    assert sgd.inherits == ("tengen.optim.Optimizer",)
    assert [m.name for m in sgd.members] == ["step"]
    assert entries["tengen.nn.functional.layer_norm"].calls == ("layer_norm",)


def test_members_are_described_once(api: Any) -> None:
    entries = {e.path: e for p in api.pages() for e in p.entries}
    assert entries["tengen.nn.GELU"].inherits == ("tengen.nn.Module",)
    assert [m.name for m in entries["tengen.nn.GELU"].members] == ["forward"]
    assert "register_forward_hook" in [m.name for m in entries["tengen.nn.Module"].members]


def test_a_name_that_no_section_has_stops_the_build(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = api.chosen()
    making = chosen["sections"]["Making tensors"]
    less = {**chosen["sections"], "Making tensors": [name for name in making if name != "tensor"]}
    monkeypatch.setattr(api, "chosen", lambda: {**chosen, "sections": less})
    with pytest.raises(ValueError, match=r"the hand-written names of tengen differ in: tensor"):
        api.pages.__wrapped__()


def test_docstrings_as_markdown(api: Any) -> None:
    prose = importlib.import_module("prose")
    text = "Names with ``a_b < c`` and a_b < *c*:\n- one;\n- two.\n\n>>> f(1)\n2"
    assert prose.markdown(text) == (
        "Names with ``a_b < c`` and a\\_b &lt; \\*c\\*:\n\n- one;\n\n- two.\n\n```pycon\n>>> f(1)\n2\n```"
    )


def test_names_in_text_are_links_once_in_a_section(api: Any) -> None:
    prose = importlib.import_module("prose")
    known = {"vmap": "api/func.md#vmap", "autograd.grad": "api/autograd.md#autograd.grad"}
    text = (
        "# `vmap`\n\n`vmap` and ``tengen.autograd.grad(x)``, `vmap` and [`vmap`](x.md).\n\n"
        "```python\n`vmap`\n```\n## More\n\nNot `autograd`, but `vmap`.\n"
    )
    assert prose.linked(text, known, lambda a: a) == (
        "# `vmap`\n\n[`vmap`](api/func.md#vmap) and "
        "[``tengen.autograd.grad(x)``](api/autograd.md#autograd.grad), `vmap` and [`vmap`](x.md).\n\n"
        "```python\n`vmap`\n```\n## More\n\nNot `autograd`, but [`vmap`](api/func.md#vmap).\n"
    )


def test_the_index_of_the_search_knows_names(api: Any) -> None:
    names = importlib.import_module("api_pages").described()
    assert names["api/func.md#vmap"] == "vmap"
    assert names["operators/binary.md#add"] == "add"
    assert json.dumps(names)
