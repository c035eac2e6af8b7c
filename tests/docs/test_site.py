"""The site: it builds, its links lead somewhere, and it says of every public operator what it should."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest

from tengen.ir.reader import read_expression

PROJECT = Path(__file__).resolve().parents[2]
GENERATOR = PROJECT / "docs" / "generator"
NEEDED = ("mkdocs", "material", "pygments")


class Page(HTMLParser):
    """What a page has: ids, links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.tags: set[str] = set()
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.ids.add(given.get("id") or "")
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag in ("script", "img", "iframe"):
            self.loads.append(given.get("src") or "")
        if tag == "link" and given.get("rel") != "canonical":
            self.loads.append(given.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built."""
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        pytest.skip("mkdocs and its theme are not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "TENGEN_SOURCE_URL": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Its pages by their paths."""
    return {p.relative_to(site).as_posix(): Page(p) for p in site.rglob("*.html")}


def test_links_lead_somewhere(site: Path, pages: dict[str, Page]) -> None:
    broken = []
    for name, page in pages.items():
        for link in page.links if name != "404.html" else ():
            target, _, anchor = unquote(link).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            path = (site / name).parent / target if target else site / name
            found = path.resolve().relative_to(site.resolve()).as_posix()
            known = pages.get("index.html" if found == "." else found)
            if (known is None and not path.exists()) or (anchor and known and anchor not in known.ids):
                broken.append(f"{name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, Page]) -> None:
    assert [(n, s) for n, page in pages.items() for s in page.loads if "//" in s] == []


def test_every_public_operator_has_an_entry_an_example_and_a_place(
    pages: dict[str, Page], generator: Callable[[str], ModuleType]
) -> None:
    import tengen
    from tengen.testing import declared

    anchor_of = generator("reference_model").anchor_of
    operators = {n: p.text for n, p in pages.items() if n.startswith("operators/")}
    sections: dict[str, str] = {}
    for text in operators.values():
        for part in re.split(r"(?=<h[23] class=\"operator\")", text)[1:]:
            anchor = re.findall(r'id="([^"]+)"', part)[0]
            assert anchor not in sections
            sections[anchor] = part
    sparse = "".join((PROJECT / "docs" / f).read_text(encoding="utf-8") for f in ("sparse.md", "nested.md"))
    lacking = []
    for operator in declared.declared_operators().values():
        function = operator.name.function
        section = sections.get(anchor_of(function), "")
        place = f">{operator.place.file}:{operator.place.line}</a>"
        public = hasattr(tengen, function) and not function.startswith("_")
        example = "&gt;&gt;&gt;" in section or function.endswith(("_backward", "_forward"))
        # Of tensors of other layouts there are no samples: the examples are those of their page.
        example |= "other_layout" in operator.tags and f"tengen.{function}(" in sparse
        if place not in section or (public and not example):
            lacking.append(str(operator.name))
    assert lacking == []


def test_derivatives_are_typeset_and_the_matrix_has_every_operator(pages: dict[str, Page]) -> None:
    from tengen.testing import declared

    used = set().union(*(p.tags for n, p in pages.items() if n.startswith("operators/")))
    assert {"math", "mfrac", "msqrt", "msup", "msub", "mover", "mtable"} <= used
    matrix = pages["operators/coverage.html"].text
    shown = set(re.findall(r"<tr[^>]*><td><a href='[^']+'>([^<]+)</a></td>", matrix))
    assert shown >= set(declared.declared_operators())
    assert matrix.count("<table class='coverage'>") == matrix.count("<thead>") == 1
    heads = " ".join(re.findall(r"<th[^>]*>(?:<span>)?([^<]+)", matrix[: matrix.index("</thead>")]))
    for backend in declared.declarations().backends:
        assert re.search(rf"\b{backend.name}\b", heads), f"no column says {backend.name}"


def test_names_and_headings_of_the_matrix_stay_in_view() -> None:
    style = (PROJECT / "docs" / "assets" / "site.css").read_text(encoding="utf-8")
    rules = dict(
        re.findall(r"^([^\n{}@/]+|[^{}@/]*coverage td:first-child) \{([^{}]*)\}", style, re.MULTILINE)
    )
    assert "overflow: auto" in rules[".matrix"] and "max-height" in rules[".matrix"]
    sticky = [name for name, rule in rules.items() if "position: sticky" in rule]
    assert any("thead" in name for name in sticky)
    assert any("td:first-child" in name for name in sticky)
    assert re.search(r"@media[^{]*max-width[^{]*\{\s*\.matrix \{ --names: 7rem", style)


def test_every_document_is_in_the_navigation() -> None:
    import yaml

    config = yaml.load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    named = set(re.findall(r"[\w-]+\.md", str(config["nav"])))
    assert {p.name for p in (PROJECT / "docs").glob("*.md")} <= named
    assert [p for p in (PROJECT / "docs").rglob("*.md") if p.parent.name != "docs"] == []


def test_every_hand_written_function_and_class_has_a_section(
    generator: Callable[[str], ModuleType], pages: dict[str, Page]
) -> None:
    api = generator("api_model")
    lacking = []
    for page in api.pages():
        built = pages[f"api/{page.slug}.html"]
        for entry in page.entries:
            lacking += [d.path for d in (entry, *entry.members) if d.anchor not in built.ids]
    assert lacking == []
    assert 'href="../operators/nn.html#layer_norm"' in pages["api/nn-functional.html"].text
    assert 'href="../api/nn-functional.html#nn.functional.softmax"' in pages["operators/nn.html"].text
    assert 'href="api/func.html#vmap"' in pages["autograd.html"].text
    assert "../source/runtime/" in pages["api/func.html"].text


def test_a_search_finds_what_is_described_by_its_name(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    pages = {doc["location"].partition("#")[0] for doc in index["docs"]}
    assert "operators/coverage.html" not in pages
    assert not [p for p in pages if p.startswith("source/")]
    assert {"api/func.html", "operators/nn.html", "autograd.html"} <= pages
    tagged: dict[str, list[str]] = {}
    for doc in index["docs"]:
        for tag in doc.get("tags", ()):
            tagged.setdefault(tag, []).append(doc["location"])
            words = re.split(index["config"]["separator"], doc["title"])
            assert tag in words, "no word of the title, as the search sees it"
    for name, place in {
        "softmax": "operators/nn.html#softmax",
        "add": "operators/binary.html#add",
        "sum": "operators/reduction.html#sum",
        "layer_norm": "operators/nn.html#layer_norm",
        "index_put": "operators/indexing.html#index_put",
        "vmap": "api/func.html#vmap",
        "Function": "api/autograd.html#autograd.Function",
        "tensor": "api/tengen.html#tensor",
    }.items():
        assert place in tagged[name]
    lists = [doc for doc in index["docs"] if doc["location"].startswith(("changelog", "names", "api/index"))]
    assert lists
    assert all(doc["boost"] < 1 for doc in lists)


def test_lines_are_linked_in_the_repository_where_its_address_is_given(
    generator: Callable[[str], ModuleType],
) -> None:
    pytest.importorskip("mkdocs")
    hooks = generator("site_hooks")
    from tengen.codegen.model.source import Place

    place = Place("declarations/nn.yaml", 12, 1)
    assert hooks.place_address(place, "https://host/p/blob/main") == (
        "https://host/p/blob/main/declarations/nn.yaml#L12"
    )
    assert hooks.place_address(place, "") == "../source/nn.yaml.html#__codelineno-0-12"


def test_an_example_that_fails_stops_the_build(
    generator: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = generator("reference_examples")
    from tengen.testing import declared

    operator = declared.declared_operators()["exp"]
    assert examples.example(operator, "tengen.exp").startswith(">>> x = tengen.tensor(")

    def fail(*arguments: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(examples.tengen, "exp", fail)
    monkeypatch.setattr(examples.tengen.dispatch.operator, "operator", fail)
    with pytest.raises(examples.ExampleError, match="the example of exp fails: broken"):
        examples.example(operator, "tengen.exp")


# -- formulas --------------------------------------------------------------------------------

FORMULAS = {
    "a + b * c": "a + b ⋅ c",
    "(a + b) * c": "( a + b ) ⋅ c",
    "a - (b - c)": "a − ( b − c )",
    "a * -b": "a ⋅ ( − b )",
    "-a * b": "− a ⋅ b",
    "-(a + b)": "− ( a + b )",
    "a / (b + c)": "frac[ a , b + c ]",
    "(a / b) ** 2": "sup[ ( frac[ a , b ] ) , 2 ]",
    "a ** -b": "sup[ a , − b ]",
    "a ** 0.5": "sqrt[ a ]",
    "(a + b).sqrt()": "sqrt[ a + b ]",
    "grad * other.conj()": "g ⋅ conj[ other ]",
    "self_t * other_p": "dot[ self , • ] ⋅ other",
    "where(a > 0, b, c)": "cases[ b , if\xa0 a > 0 , c , otherwise ]",
    "b if a == 1 else c": "cases[ b , if\xa0 a = 1 , c , otherwise ]",
    "a.exp() - 1": "sup[ e , a ] − 1",
    "a.abs().log()": "ln \u2061 ( | a | )",
    "a.sum(dim, keepdim=True)": "sum \u2061 ( a , dim , keepdim = True )",
    "a @ b.mT": "a @ sup[ b , ⊤ ]",
    "not a or b": "¬ a ∨ b",
    "alpha * math.pi": "α ⋅ π",
    "[x.shape for x in a]": "[x.shape for x in a]",
    "grads[0]": "sub[ g , 0 ]",
}
_STRUCTURES = {
    "mfrac": "frac",
    "msup": "sup",
    "msub": "sub",
    "msqrt": "sqrt",
    "mover": "dot",
    "mtable": "cases",
}


@pytest.mark.parametrize("source", FORMULAS)
def test_formulas_as_mathml(source: str, generator: Callable[[str], ModuleType]) -> None:
    written = generator("mathml").MathWriter().formula(read_expression(source))
    assert flattened(written) == FORMULAS[source]


def flattened(mathml: str) -> str:
    """MathML as a line: its text, and structures as NAME[ child , child ]."""
    from xml.etree import ElementTree

    def flat(element: Any) -> str:
        children = [text for child in element if (text := flat(child))]
        own = (element.text or "").strip(" \n")
        if element.tag in _STRUCTURES:
            return f"{_STRUCTURES[element.tag]}[ {' , '.join(children)} ]"
        if element.tag == "mtr":
            return " , ".join(children)
        if element.get("class") == "conjugate":
            return f"conj[ {' '.join(children)} ]"
        return " ".join([own, *children] if own else children)

    return flat(ElementTree.fromstring(mathml.replace("&nbsp;", "\xa0")))
