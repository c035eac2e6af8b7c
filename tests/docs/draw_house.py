"""Draws the picture of docs/architecture.md and makes its table: ``python tests/docs/draw_house.py``.

The picture has the stages of codegen/ in their order and the floors of runtime/, the highest on top, the
table the floors from the lowest on. Which there are is said by tests/test_layers.py, what each imports by its
modules, and what it is for by its docstring.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

if (TESTS := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path[:0] = [TESTS, str(Path(TESTS) / "helpers")]

from syntax_trees import imported, modules, tree
from test_layers import FLOORS, IR, LARGEST_RING, PROJECT, STAGES, runtime_imports

PICTURE = PROJECT / "docs" / "pictures" / "house.svg"
PAGE = PROJECT / "docs" / "architecture.md"
_BEGIN, _END = "<!-- floors: python tests/docs/draw_house.py -->", "<!-- end of floors -->"

WIDTH, MARGIN, GAP = 700, 12, 8
LETTER, LINE = 6.1, 14  # of the small type: the width of a letter, the height of a line
NAME = 7.3  # of names: the width of a letter

_STYLE = """
  text { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 10px; }
  text { fill: #222; }
  text.name { font-size: 12px; font-weight: bold; }
  text.title { font-size: 14px; font-weight: bold; }
  text.uses { fill: #666; }
  rect.band { fill: #eef3f2; } rect.box { fill: #fff; stroke: #2f8f83; }
  path { stroke: #2f8f83; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; } text.uses { fill: #9aa; }
    rect.band { fill: #262a33; } rect.box { fill: #1b1e25; }
  }
"""


@dataclass(frozen=True)
class Part:
    """A package or a module: its name, what it is for, and the parts that it imports."""

    name: str
    sentence: str
    uses: tuple[str, ...]


# -- what there is ---------------------------------------------------------------------------


def generator() -> dict[str, list[Part]]:
    """The parts of ir/ and of codegen/."""
    return {folder: stages(folder, names) for folder, names in (("ir", IR), ("codegen", STAGES))}


def stages(folder: str, names: Sequence[str]) -> list[Part]:
    """The parts of ir/ or codegen/, in the order in which they stand or run."""
    uses: dict[str, set[str]] = {name: set() for name in names}
    for path in modules(folder):
        own = path.relative_to(PROJECT / folder).with_suffix("").parts[0]
        for name in imported(path) if own in uses else ():
            package, _, rest = name.partition(f"tengen.{folder}.")
            if not package and rest.partition(".")[0] in uses:
                uses[own].add(rest.partition(".")[0])
    return [Part(name, sentence(folder, name), _others(name, uses[name], names)) for name in names]


def floors() -> list[list[Part]]:
    """The parts of runtime/ on each floor, the lowest first."""
    order = [name for names in FLOORS for name in names]
    uses: dict[str, set[str]] = {name: set() for name in order}
    for module, others in runtime_imports().items():
        uses[part_of(module)] |= {part_of(other) for other in others}
    return [
        [Part(shown(n), sentence("runtime", n), tuple(map(shown, _others(n, uses[n], order)))) for n in names]
        for names in FLOORS
    ]


def part_of(module: str) -> str:
    """The part that a module of runtime/ belongs to: the longest prefix that stands on a floor."""
    named = {name for names in FLOORS for name in names}
    while module not in named:
        assert "." in module, f"{module} has no floor"
        module = module.rpartition(".")[0]
    return module


def shown(name: str) -> str:
    """A part's name; ``autograd.__init__`` holds the names of ``autograd``, whose modules stand lower."""
    return "tengen" if name == "__init__" else name.replace(".__init__", " (names)")


def _others(own: str, names: set[str], order: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(n for n in order if n in names and n != own)


def sentence(folder: str, name: str) -> str:
    """The first sentence of the docstring of a package or module; "" where it has none."""
    below = PROJECT / folder / name.replace(".", "/")
    path = below / "__init__.py" if below.is_dir() else below.with_suffix(".py")
    doc = ast.get_docstring(tree(path)) or ""
    return doc.split("\n\n")[0].replace("\n", " ").partition(". ")[0].rstrip(".").replace("``", "")


# -- the table of the floors ---------------------------------------------------------------

#: What is on each floor, by the first of its names.
WHAT_IS_THERE = {
    "core": (
        "scalar types, devices, sizes, storages, promotion, errors; what intercepts calls; the slots of a "
        "tensor; the C machine, which runs the fast paths of generated functions"
    ),
    "kernels": (
        "kernels, by subject: arrays in, arrays out. A package of it for each other kind of arrays: `meta/`"
        " (without data), `sparse/`, `compressed/`, `nested/`, `array_api/` (other libraries'); "
        "`machine_code` makes ufuncs of declared kernels, by llvmlite or of libraries that were built in "
        "advance ([performance.md](performance.md#native-kernels)); what a program asks of all operators at"
        " once"
    ),
    "autograd": (
        "the graph and the engine; modules are named as in PyTorch's csrc/autograd. No operator is named"
    ),
    "dispatch": "from a call to a kernel: Types and the matrix of them, operators, arguments",
    "tensors": "the class Tensor: making, indexing, converting, printing, pickling",
    "composite": "operators that are made of operators; what derivative formulas call",
    "autograd.forward": "forward mode: tangents, and how operators carry them; Functions of a program",
    "func": "transforms: `vmap`, `grad`, `jvp`, `jacrev` ...",
    "autograd.__init__": "what users call of autograd",
    "library": "packages with PyTorch's names, and backends of other libraries. They stand side by side",
    "amp": (
        "datasets and loaders (`utils/data/`), checkpointing, `tengen doctor`; mixed precision; "
        "`tengen.profiler`; what users call of devices"
    ),
    "__init__": "what `tengen` has, who may take it over, and its second name",
    "testing": "checks of operators by what they declare, for tests and `tengen verify`; `assert_close`",
}


def page_with_table() -> str:
    """The page, with the table of the floors as they are."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    assert begin and end, f"{PAGE.name} has no place for the table of floors"
    rows = [f"| {', '.join(map(_as_path, names))} | {WHAT_IS_THERE[names[0]]} |" for names in FLOORS]
    table = "\n".join(["| floor | what is there |", "|---|---|", *rows])
    ring = f"No ring of modules that import each other has more than {LARGEST_RING}."
    return f"{before}{begin}\n\n{table}\n\n{ring}\n\n{end}{after}"


def _as_path(name: str) -> str:
    path = name.replace(".", "/")
    return f"`{path}/`" if (PROJECT / "runtime" / path).is_dir() else f"`{path}`"


# -- how it is drawn -------------------------------------------------------------------------


class Drawing:
    """Shapes, from the top down."""

    def __init__(self) -> None:
        self.shapes: list[str] = []
        self.y = float(MARGIN)

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        attribute = f' class="{kind}"' if kind else ""
        self.shapes.append(f'<text x="{x:g}" y="{y:g}"{attribute}>{escape(text)}</text>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self.shapes.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>'
        )

    def title(self, text: str) -> None:
        self.text(MARGIN, self.y + 14, text, "title")
        self.y += 28

    def stage(self, part: Part, last: bool) -> None:
        """A row: the name in a box, what it is for, and what it uses; an arrow to the next."""
        lines = textwrap.wrap(part.sentence, 88)
        uses = textwrap.wrap(f"uses {', '.join(part.uses)}", 88) if part.uses else []
        height = max(30, LINE * len(lines + uses) + 6)
        self.rect(MARGIN, self.y, 110, height, "box")
        self.text(MARGIN + 8, self.y + height / 2 + 4, part.name, "name")
        for number, line in enumerate([*lines, *uses]):
            kind = "" if number < len(lines) else "uses"
            self.text(MARGIN + 124, self.y + LINE * (number + 1), line, kind)
        if not last:
            bottom = self.y + height
            self.shapes.append(f'<path d="M60 {bottom:g} v{GAP} m-3 -3 l3 3 l3 -3"/>')
        self.y += height + GAP

    def floor(self, parts: list[Part]) -> None:
        """A band with a box for each part, in as many rows as they need."""
        boxes = [(part, *_box(part)) for part in parts]
        rows = list(_rows(boxes))
        top, self.y = self.y, self.y + GAP
        start = len(self.shapes)
        for row in rows:
            x, height = float(MARGIN + GAP), max(len(lines) for _, _, lines in row) * LINE + 26
            for part, width, lines in row:
                self.rect(x, self.y, width, height, "box")
                self.text(x + 8, self.y + 16, part.name, "name")
                for number, line in enumerate(lines):
                    self.text(x + 8, self.y + 32 + LINE * number, line, "uses")
                x += width + GAP
            self.y += height + GAP
        band = f'<rect class="band" x="{MARGIN}" y="{top:g}" width="{WIDTH - 2 * MARGIN}"'
        self.shapes.insert(start, f'{band} height="{self.y - top:g}" rx="4"/>')
        self.y += GAP

    def svg(self) -> str:
        size = f'width="{WIDTH}" height="{self.y:g}" viewBox="0 0 {WIDTH} {self.y:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        title = "<title>The stages of the generator and the floors of the runtime</title>"
        return "\n".join([head, title, f"<style>{_STYLE}</style>", *self.shapes, "</svg>", ""])


def _box(part: Part) -> tuple[float, list[str]]:
    """The width of a box, and the lines of what its part uses."""
    lines = textwrap.wrap(", ".join(part.uses), 48)
    return max(len(part.name) * NAME, *(len(line) * LETTER for line in lines or [""])) + 18, lines


def _rows(boxes: list[tuple[Part, float, list[str]]]) -> Iterator[list[tuple[Part, float, list[str]]]]:
    row: list[tuple[Part, float, list[str]]] = []
    left = room = WIDTH - 2 * MARGIN - GAP
    for box in boxes:
        if row and box[1] + GAP > left:
            yield row
            row, left = [], room
        row.append(box)
        left -= box[1] + GAP
    yield row


def picture() -> str:
    """The picture, as SVG."""
    drawing = Drawing()
    titles = {
        "ir": "ir/, below the generator and the runtime",
        "codegen": "codegen/, a stage after the other",
    }
    for folder, parts in generator().items():
        drawing.title(titles[folder])
        for part in parts:
            drawing.stage(part, part is parts[-1])
        drawing.y += GAP
    drawing.title("runtime/, each floor on those below it")
    for parts_of_floor in reversed(floors()):
        drawing.floor(parts_of_floor)
    return drawing.svg()


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page_with_table(), encoding="utf-8")
