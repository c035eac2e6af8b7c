"""The pages of the reference, as Markdown with HTML in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from api_pages import addresses, twins
from coverage_matrix import legend, rows, table
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonConsoleLexer
from reference_examples import example
from reference_model import DerivativeEntry, FunctionEntry, OverloadEntry, Subject

import tengen.testing.declared as declared
from tengen.codegen.model.names import OTHER_LAYOUT
from tengen.codegen.model.source import Place

#: From a place of the declarations to the address it is linked to, from a page of the reference.
Linker = Callable[[Place], str]


class MissingExample(Exception):
    """A public operator of which no example can be made."""


class PageWriter:
    """Writes the pages."""

    def __init__(self, subjects: list[Subject], linker: Linker) -> None:
        self.subjects = subjects
        self.linker = linker
        self.lexer = PythonConsoleLexer()
        self.formatter = HtmlFormatter(cssclass="highlight", wrapcode=True)

    # -- a subject

    def subject(self, subject: Subject) -> str:
        """The page of a subject."""
        parts = [f"# {subject.title}", "", subject.intro, ""]
        public = [f for f in subject.functions if f.public]
        internal = [f for f in subject.functions if not f.public]
        parts += [self._contents(public), ""]
        for entry in public:
            parts += [self.function(entry), ""]
        if internal:
            parts += ["## Behind them { .internal }", "", "What formulas and composites call.", ""]
            for entry in internal:
                parts += [self.function(entry, "###"), ""]
        return "\n".join(parts)

    def _contents(self, entries: Iterable[FunctionEntry]) -> str:
        links = [f'<a href="#{e.anchor}">{escape(_short(e.title))}</a>' for e in entries]
        return f'<p class="contents">{" ".join(links)}</p>'

    # -- a function

    def function(self, entry: FunctionEntry, level: str = "##") -> str:
        """The part of a page that is about one function."""
        label = f" data-toc-label='{_short(entry.title)}'" if entry.public else ""
        attributes = f"#{entry.anchor} .operator{label}"
        parts = [
            f"{level} {_escaped(entry.title)} {{ {attributes} }}",
            "",
            escape(entry.doc, quote=False),
            "",
            "```python",
            *entry.signatures,
            "```",
            "",
        ]
        for number, overload in enumerate(entry.overloads):
            parts += [self.overload(entry, overload, number == 0, len(entry.overloads) > 1), ""]
        return "\n".join(parts)

    def overload(self, entry: FunctionEntry, overload: OverloadEntry, first: bool, several: bool) -> str:
        rows = [*self._facts(overload), *self._twins(entry)]
        facts = "".join(f"<tr><th>{_label(name)}</th><td>{text}</td></tr>" for name, text in rows)
        body = f'<table class="facts"><tbody>{facts}</tbody></table>{self._example(entry, overload)}'
        if not several:
            return f"<div>{body}</div>"
        state = " open" if first else ""
        return (
            f'<details class="overload"{state}><summary><code>{escape(overload.name)}</code></summary>'
            f"{body}</details>"
        )

    def _example(self, entry: FunctionEntry, overload: OverloadEntry) -> str:
        if not entry.public:
            return ""
        operators = {str(v.name): v.operator for v in declared.derived().variants}
        operator = operators[overload.name]
        text = example(operator, entry.title)
        if not text and OTHER_LAYOUT in operator.tags:  # docs/sparse.md shows them
            return ""
        if not text:
            raise MissingExample(f"{overload.name} has no sample that can be shown")
        return _one_line(highlight(text + "\n", self.lexer, self.formatter))

    def _facts(self, overload: OverloadEntry) -> Iterable[tuple[str, str]]:
        yield "schema", f'<code class="schema">{escape(overload.schema)}</code>'
        yield "declared", self._place(overload.place)
        yield "forms", "; ".join(overload.forms) or "called by formulas only"
        for names in dict.fromkeys(overload.dtypes.values()):
            where = ", ".join(b for b, n in overload.dtypes.items() if n == names)
            yield "dtypes", f"{names} <small>({where})</small>"
        if overload.promotion:
            yield "promotion", escape(overload.promotion)
        if overload.result:
            yield "result dtype", overload.result
        for key, text, function in overload.kernels:
            label = "made of others" if key.startswith("Composite") else f"kernel {key}"
            where = f" <small>{escape(function)}</small>" if function not in ("", text) else ""
            yield label, f"<code>{escape(text)}</code>{where}"
        yield from self._derivative(overload.derivative)
        yield "vmap", overload.batching
        yield "ONNX", overload.symbolic
        if overload.tags:
            yield "tags", ", ".join(f'<span title="{escape(d)}">{t}</span>' for t, d in overload.tags)
        for note in overload.notes:
            yield "note", escape(note)

    def _twins(self, entry: FunctionEntry) -> Iterable[tuple[str, str]]:
        """What is written by hand and has the same name: ``nn.functional.softmax``, of ``softmax``."""
        found = twins().get(entry.title.rpartition(".")[2], ())
        links = [_link(f"<code>{escape(path)}</code>", address) for path, address in found]
        if links and entry.public:
            yield "by hand", ", ".join(links)

    def _derivative(self, entry: DerivativeEntry) -> Iterable[tuple[str, str]]:
        if entry.note:
            yield "gradient", entry.note
            return
        if entry.gradients:
            source = "derived from the kernel" if entry.derived else self._place(entry.place)
            found = "".join(f.math or f.note for f in entry.gradients)
            yield "gradient", f'{found}<p class="origin"><code>{entry.node}</code>, {source}</p>'
            yield "saved", ", ".join(entry.saved) or "nothing"
        else:
            yield "gradient", "None."
        tangents = "".join(f.math for f in entry.tangents) + entry.tangent_note
        yield "tangent", tangents

    def _place(self, place: Place | None) -> str:
        if place is None:
            return ""
        return f'<a href="{escape(self.linker(place))}">{escape(place.file)}:{place.line}</a>'

    # -- pages about all

    def index(self) -> str:
        """The list of subjects, and of all functions."""
        parts = ["# Operators", "", _INDEX, ""]
        for s in self.subjects:
            public = [f for f in s.functions if f.public]
            links = " ".join(f"[{_short(f.title)}]({s.slug}.md#{f.anchor})" for f in public)
            parts += [f"## [{s.title}]({s.slug}.md)", "", s.intro, "", f"{links}", "{ .contents }", ""]
        return "\n".join(parts)

    def coverage(self) -> str:
        """The coverage matrix."""
        found = rows(self.subjects)
        parts = ["---", "hide: [toc, navigation]", "search:", "  exclude: true", "---", "", "# Coverage"]
        parts += ["", _COVERAGE, ""]
        by_subject = {s.title: [r for r in found if r.subject == s.title] for s in self.subjects}
        matrix = f'<div class="matrix" tabindex="0">{table(by_subject)}</div>'
        return "\n".join([*parts, _FILTER, legend(), "", matrix])


_INDEX = """
Every operator that is declared, by the file that declares it. This part of the site is made from the
declarations when the site is built; each example is run then. [Coverage](coverage.md) shows all of it in one
table.

In formulas *g* is the gradient of the result, *g* with an index that of an argument or of one of several
results, a dot marks a tangent, and an overline the complex conjugate. Gradients are reduced to the shape and
dtype of their arguments afterwards. A formula's source is shown when the pointer rests on it.
"""

_COVERAGE = """
What each operator computes in on the CPU, on which other backends it is (those of a group have what the group
has; [CUDA](../cuda.md) has not been run on a GPU yet), and how it is differentiated: in reverse mode, in
forward mode, and twice in reverse mode; whether `vmap` has a rule for it, and how it is exported. Gradients,
tangents and rules are those of every floating and complex dtype that the operator computes in. That a second
derivative exists is found by taking one.
"""

_FILTER = """<form class="coverage-filter">
<input type="search" placeholder="Filter by name" aria-label="Filter by name">
<label><input type="checkbox"> only those with a gap (✕)</label><output></output></form>"""


def _short(title: str) -> str:
    return title.removeprefix("tengen.").replace("nn.functional.", "nn.")


#: What the facts are about, by their labels.
_ABOUT = {
    "gradient": "autograd.backward",
    "tangent": "autograd.forward_ad.make_dual",
    "vmap": "vmap",
    "ONNX": "onnx.export",
    "promotion": "promote_types",
}


def _label(name: str) -> str:
    """The label of a fact, with a link to the part of the API that it is about."""
    return _link(name, addresses()[_ABOUT[name]]) if name in _ABOUT else name


def _link(html: str, address: str) -> str:
    return f'<a href="../{address.replace(".md", ".html")}">{html}</a>'


def _escaped(name: str) -> str:
    """A name in which underscores mean nothing to Markdown."""
    return name.replace("_", "\\_")


def _one_line(html: str) -> str:
    """HTML without blank lines, at which Markdown would end it."""
    return html.replace("\n\n", "\n&#8203;\n").strip()
