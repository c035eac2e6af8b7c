"""Docstrings as Markdown, and links from names in text to what describes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

#: Code in text: between double or single backticks.
_CODE = re.compile(r"(``.+?``|`[^`\n]+`)", re.DOTALL)
_MARKUP = re.compile(r"([\\*_\[\]])")
#: What is not touched: blocks of code, headings, links, HTML.
_BLOCK = re.compile(r"^(```.*?^```|#+ [^\n]*|<[^\n]*|(?: {4}|\t)[^\n]*)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)]*\))")
_NAME = re.compile(r"`+(?:tengen\.|torch\.)?([A-Za-z_][\w.]*)(?:\([^()]*\))?`+")


def markdown(doc: str) -> str:
    """A docstring as Markdown: what stands between double backticks is code, sessions are blocks."""
    paragraphs = re.split(r"\n\s*\n", doc.strip())
    return "\n\n".join(map(_paragraph, paragraphs))


def _paragraph(text: str) -> str:
    if text.lstrip().startswith(">>> "):
        lines = text.splitlines()
        margin = len(lines[0]) - len(lines[0].lstrip())
        return "\n".join(["```pycon", *(line[margin:] for line in lines), "```"])
    if text.startswith("    "):
        return text
    parts = _CODE.split(text)
    return "".join(p if i % 2 else _plain(p) for i, p in enumerate(parts))


def _plain(text: str) -> str:
    """Text in which nothing is markup; a ``-`` that begins a line begins an item of a list."""
    escaped = _MARKUP.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
    return re.sub(r"(?<!\n)\n(- )", r"\n\n\1", escaped)


def linked(text: str, addresses: Mapping[str, str], relative: Callable[[str], str]) -> str:
    """Text in which the first mention of each name, in each section, is a link to what describes it."""
    seen: set[str] = set()

    def link(found: re.Match[str]) -> str:
        address = addresses.get(found[1])
        if address is None or found[1] in seen:
            return found[0]
        seen.add(found[1])
        return f"[{found[0]}]({relative(address)})"

    made = []
    for number, part in enumerate(_BLOCK.split(text)):
        if number % 2:
            if part.startswith("#"):
                seen.clear()
            made.append(part)
            continue
        pieces = _LINK.split(part)
        made += [p if i % 2 else _NAME.sub(link, p) for i, p in enumerate(pieces)]
    return "".join(made)
