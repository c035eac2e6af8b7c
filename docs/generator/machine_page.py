"""The page of the C machine's machine: its operations, as runtime/fast_paths/operations.def says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

DEFINITIONS = Path(__file__).resolve().parents[2] / "runtime" / "fast_paths" / "operations.def"

#: An entry: what it is of, and all that is in its parentheses.
_ENTRY = re.compile(r"^([A-Z]+)\(((?:\"[^\"]*\"|[^()\"])*)\)", re.MULTILINE)
_FIELD = re.compile(r"\"([^\"]*)\"|([^,\s]+)")
#: By what entries are of: the title of their table, the names of its columns, and which fields these show.
_TABLES = {
    "TEST": ("Tests", ("test", "operands", "holds where"), (0, 1, 2)),
    "STEP": ("Steps", ("step", "operands", "stack", "where it jumps", "meaning"), (0, 1, 2, 3, 4)),
    "BINARY": ("Binary operators", ("symbol", "function"), (0, 1)),
    "UNARY": ("Unary operators", ("symbol", "function"), (0, 1)),
    "COMPARISON": ("Comparisons", ("symbol", "kind"), (0, 1)),
    "KEPT": ("What a Node keeps", ("word", "what"), (0, 1)),
    "RESULTS": ("How many results are recorded", ("word", "number", "what"), (0, 1, 2)),
}
_EXAMPLE = ("functions", "mul")


def entries() -> dict[str, list[tuple[str, ...]]]:
    """The fields of all entries, by what they are of."""
    found: dict[str, list[tuple[str, ...]]] = {kind: [] for kind in _TABLES}
    text = DEFINITIONS.read_text(encoding="utf-8")
    for kind, fields in _ENTRY.findall(text[text.index("clang-format off") :]):
        found[kind].append(tuple([quoted or word for quoted, word in _FIELD.findall(fields)]))
    return found


def legend() -> str:
    """What the head of the file says."""
    head = DEFINITIONS.read_text(encoding="utf-8").partition("*/")[0].removeprefix("/*")
    paragraphs = [re.sub(r"^   ", "", part, flags=re.MULTILINE) for part in head.strip().split("\n\n")]
    return "\n\n".join(f"```text\n{p}\n```" if p.startswith(" ") else p for p in paragraphs)


def page() -> str:
    """The whole page."""
    lines = [
        "# The C machine",
        "",
        "What a generated function does in the usual case is a [fast path](architecture.md)"
        ": words of text, which a machine written in C runs on a small stack. "
        f"That of `tengen.{_EXAMPLE[1]}` is",
        "",
        "```text",
        *example().split("; "),
        "```",
        "",
        "A fast path that takes what is not there, or in which ways of different heights meet, is refused "
        "before it runs (`stack.py`).",
        "",
        legend(),
        "",
    ]
    for kind, rows in entries().items():
        title, columns, shown = _TABLES[kind]
        lines += [f"## {title}", "", _row(columns), _row(["---"] * len(columns))]
        lines += [_row([_cell(row[i], i, columns[-1] == columns[i]) for i in shown]) for row in rows]
        lines.append("")
    return "\n".join(lines)


def example() -> str:
    """A fast path that the generator wrote."""
    from tengen.fast_paths import texts

    module, name = _EXAMPLE
    (found,) = [text for text, names in texts("tengen.generated")[module].items() if name in names.split()]
    return found.replace("@", name)


def _cell(text: str, number: int, is_prose: bool) -> str:
    if is_prose and number:
        return text
    return f"`{text}`" if text else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
