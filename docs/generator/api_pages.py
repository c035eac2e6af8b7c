"""The pages of the hand-written API, as Markdown with HTML in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from html import escape

import reference_model
from api_model import Entry, ModulePage, pages
from prose import markdown

from tengen.codegen.model.source import Place

#: From a place of the project to the address it is linked to, from a page of the reference.
Linker = Callable[[Place], str]

_INDEX = """\
What is written by hand: functions, classes and methods of Tensor. These pages are made from the docstrings
when the site is built. What is generated is among the [operators](../operators/index.md): many functions of
`tengen`, and most methods of Tensor.
"""


@functools.cache
def addresses() -> Mapping[str, str]:
    """For names as texts have them (``autograd.grad``, ``vmap``), the page and the anchor that describe them.

    Names without a dot are those that mean one thing, and no argument of a function.
    """
    found: dict[str, str] = {}
    bare: dict[str, set[str]] = {}
    for page in pages():
        for entry in page.entries:
            for described in (entry, *entry.members):
                address = f"api/{page.slug}.md#{described.anchor}"
                for path in (described.path, *described.also):
                    found[path.removeprefix("tengen.")] = address
                if described is entry and page.name != "Tensor":
                    bare.setdefault(entry.name, set()).add(address)
    for subject in reference_model.subjects():
        for function in subject.functions:
            address = f"operators/{subject.slug}.md#{function.anchor}"
            if function.public:
                found.setdefault(function.title.removeprefix("tengen."), address)
            bare.setdefault(function.title.rpartition(".")[2], set()).add(address)
    arguments = {p for s in reference_model.subjects() for f in s.functions for p in _arguments(f)}
    arguments |= {p for page in pages() for e in page.entries for d in (e, *e.members) for p in d.parameters}
    single = {n: a for n, a in bare.items() if len(a) == 1 and n not in arguments and len(n) > 3}
    made = {n: a for n, a in found.items() if "." in n} | {n: a for n, (a,) in single.items()}
    return {**made, **{f"F.{n[14:]}": a for n, a in made.items() if n.startswith("nn.functional.")}}


def _arguments(function: reference_model.FunctionEntry) -> Iterable[str]:
    for group in reference_model.all_groups()[function.function].operators:
        yield from (a.name for a in group.schema.arguments)


def described() -> Mapping[str, str]:
    """The names of public functions, classes and methods by the addresses at which they are described."""
    found = {
        f"api/{p.slug}.md#{d.anchor}": d.name for p in pages() for e in p.entries for d in (e, *e.members)
    }
    for subject in reference_model.subjects():
        for f in subject.functions:
            if f.public:
                found[f"operators/{subject.slug}.md#{f.anchor}"] = f.title.rpartition(".")[2]
    return found


@functools.cache
def twins() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """For the last part of a name, what of that name is written by hand: its path, and its address."""
    found: dict[str, list[tuple[str, str]]] = {}
    for page in pages():
        for entry in page.entries:
            if entry.kind in ("function", "method"):
                found.setdefault(entry.name, []).append((entry.path, f"api/{page.slug}.md#{entry.anchor}"))
    return {name: tuple(made) for name, made in found.items()}


@functools.cache
def _operators() -> Mapping[str, tuple[str, str]]:
    """By the name of a generated function its title and its address."""
    return {
        f.function: (f.title, f"../operators/{s.slug}.md#{f.anchor}")
        for s in reference_model.subjects()
        for f in s.functions
    }


class ApiWriter:
    """Writes the pages."""

    def __init__(self, linker: Linker) -> None:
        self.linker = linker
        self.homes = {
            described.path: f"{page.slug}.md#{described.anchor}"
            for page in pages()
            for entry in page.entries
            for described in (entry, *entry.members)
        }

    def index(self) -> str:
        """The list of pages, and of what is on each."""
        parts = ["# Python API", "", _INDEX]
        for page in pages():
            doc = next(page.entries).doc if page.name == "Tensor" else page.doc
            parts += [f"## [{_escaped(page.title)}]({page.slug}.md)", "", markdown(doc.split("\n\n")[0]), ""]
            links = [f"[{_escaped(e.name)}]({page.slug}.md#{e.anchor})" for e in page.entries]
            parts += [" ".join(links), "{ .contents }", ""]
        return "\n".join(parts)

    def page(self, page: ModulePage) -> str:
        """The page of a module."""
        doc = page.doc if page.name == "Tensor" else markdown(page.doc)
        parts = [f"# {_escaped(page.title)}", "", doc, ""]
        parts += [self._contents(page), ""]
        for section in page.sections:
            if section.title:
                parts += [f"## {section.title}", ""]
            level = "###" if section.title else "##"
            for entry in section.entries:
                parts += [self.entry(entry, level), ""]
        if page.elsewhere:
            links = (f"[`{n}`]({self.homes[p]})" for n, p in page.elsewhere)
            parts += ["## Described elsewhere", "", ", ".join(links), ""]
        if page.constants:
            parts += ["## Constants", "", "| name | value |", "|---|---|"]
            parts += [f"| {_codes(n)} | `{text}` |" for n, text in page.constants]
        return "\n".join(parts)

    def _contents(self, page: ModulePage) -> str:
        links = [f'<a href="#{e.anchor}">{escape(e.name)}</a>' for e in page.entries]
        return f'<p class="contents">{" ".join(links)}</p>'

    def entry(self, entry: Entry, level: str = "##", member: bool = False) -> str:
        """The part of a page that is about one function, class or member of a class."""
        owned = member or entry.path.startswith("tengen.Tensor.")
        shown = ".".join(entry.path.split(".")[-2:]) if owned else entry.path
        kind = ".operator .member" if member else ".operator"
        parts = [f"{level} {_escaped(shown)} {{ #{entry.anchor} {kind} data-toc-label='{entry.name}' }}", ""]
        if entry.signature:
            keyword = "class " if entry.kind == "class" else ""
            parts += ["```python", f"{keyword}{entry.signature}", "```", ""]
        parts += [markdown(entry.doc), "", self._facts(entry), ""]
        for m in entry.members:
            parts += [self.entry(m, "####", member=True), ""]  # below what the list beside the page shows
        return "\n".join(parts)

    def _facts(self, entry: Entry) -> str:
        rows = []
        if entry.values:
            rows.append(("values", ", ".join(f"<code>{escape(v)}</code>" for v in entry.values)))
        if entry.also:
            rows.append(("also", ", ".join(f"<code>{escape(p)}</code>" for p in entry.also)))
        if entry.inherits:
            links = (_html_link(p, self.homes[p]) for p in entry.inherits)
            rows.append(("inherits from", ", ".join(links)))
        known = [_operators()[n] for n in entry.calls if n in _operators()]
        if known:
            rows.append(("operators", ", ".join(_html_link(t, a) for t, a in known)))
        if entry.place is not None:
            place = escape(f"{entry.place.file}:{entry.place.line}")
            rows.append(("source", f'<a href="{escape(self.linker(entry.place))}">{place}</a>'))
        if not rows:
            return ""
        text = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
        return f'<table class="facts"><tbody>{text}</tbody></table>'


def _html_link(text: str, address: str) -> str:
    return f'<a href="{address.replace(".md", ".html")}"><code>{escape(text)}</code></a>'


def _codes(names: str) -> str:
    return ", ".join(f"`{n}`" for n in names.split(", "))


def _escaped(name: str) -> str:
    """A name in which underscores mean nothing to Markdown."""
    return name.replace("_", "\\_")
