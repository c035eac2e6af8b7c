"""What MkDocs calls: pages that are made when the site is built, links from documents into the project."""

from __future__ import annotations

import json
import posixpath
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

#: Documents outside of docs/ that are pages of the site.
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "declarations/README.md": "declarations.md",
}
#: Pages that only mention what others describe: a search shows them last.
LISTS = ("names.md", "changelog.md", "operators/index.md", "api/index.md")
#: Pages in which names are no links to what describes them.
UNLINKED = ("names.md", "changelog.md", "helpers.md", "machine.md")
_LINK = re.compile(r"(?<!\!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```\w+)[ \t]+([^\n]+)$", re.MULTILINE)
_ATTRIBUTE = re.compile(r'(?:title|append|in)="([^"]*)"')


def generator(name: str) -> Any:
    """A module beside this one. MkDocs lets hooks import those only while it loads them."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return import_module(name)


def on_config(config: Any) -> Any:
    """Put the reference into the navigation."""
    modules = [{p.title: f"api/{p.slug}.md"} for p in generator("api_model").pages()]
    subjects = [{s.title: f"operators/{s.slug}.md"} for s in generator("reference_model").subjects()]
    first = [{"All operators": "operators/index.md"}, {"Coverage": "operators/coverage.md"}]
    api = {"Python API": [{"All modules": "api/index.md"}, *modules]}
    config.nav = [*config.nav, api, {"Operators": first + subjects}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Make the pages of the reference, of documents outside of docs/, and of the declarations' sources."""
    url = source_url(config)
    subjects = generator("reference_model").subjects()
    writer = generator("reference_pages").PageWriter(subjects, lambda place: place_address(place, url))
    made = {f"operators/{s.slug}.md": writer.subject(s) for s in subjects}
    made["operators/index.md"] = writer.index()
    made["operators/coverage.md"] = writer.coverage()
    made |= api_pages(url)
    made["helpers.md"] = generator("helpers_page").page(lambda place: place_address(place, url, "."))
    made["machine.md"] = generator("machine_page").page()
    made["names.md"] = generator("names_page").page()
    for name, page in OUTSIDE.items():
        made[page] = (ROOT / name).read_text(encoding="utf-8")
    if not url:
        declarations = (p for p in (ROOT / "declarations").iterdir() if p.suffix in (".yaml", ".cwrap"))
        for path in sorted((*declarations, *api_sources())):
            name = path.relative_to(ROOT).as_posix()
            made[source_of(name)] = source_page(name)
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_post_build(config: Any) -> None:
    """Give what describes a function or a class its name as a tag, which is what a search looks at first."""
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    names = {a.replace(".md#", ".html#"): n for a, n in generator("api_pages").described().items()}
    for doc in index["docs"]:
        if doc["location"] in names:
            doc["tags"] = [names[doc["location"]]]
    path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")


def api_pages(url: str) -> dict[str, str]:
    """The pages of the hand-written API."""
    writer = generator("api_pages").ApiWriter(lambda place: place_address(place, url))
    made = {f"api/{p.slug}.md": writer.page(p) for p in generator("api_model").pages()}
    return {"api/index.md": writer.index(), **made}


def api_sources() -> list[Path]:
    """The files in which the hand-written API and the helpers of declarations are defined."""
    described = [d for p in generator("api_model").pages() for e in p.entries for d in (e, *e.members)]
    kinds = generator("helpers_page").vocabularies()
    described += [h for kind in kinds for helpers in kind.modules.values() for h in helpers]
    return [ROOT / file for file in {d.place.file for d in described if d.place is not None}]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links into the project become links of the site; a file behind a fence's language becomes its title."""
    name = page.file.src_uri
    if name in LISTS:
        page.meta["search"] = {"boost": 0.1}
    if name.startswith(("operators/", "source/")):
        return markdown
    if name.startswith("api/"):
        return with_links(markdown, name)
    origin = next((o for o, p in OUTSIDE.items() if p == name), f"docs/{name}")

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        address = address_of(path, name, files, source_url(config))
        return f"[{text}]({address}{anchor})" if address else text

    written = _FENCE.sub(fence, _LINK.sub(link, markdown))
    return written if name in UNLINKED else with_links(written, name)


def with_links(markdown: str, page: str) -> str:
    """A page in which names of functions and classes lead to what describes them."""
    here = posixpath.dirname(page) or "."
    addresses = generator("api_pages").addresses()
    text: str = generator("prose").linked(markdown, addresses, lambda a: posixpath.relpath(a, here))
    return text


def fence(found: re.Match[str]) -> str:
    """A fence with the file that it is of as its title."""
    attribute = _ATTRIBUTE.search(found[2])
    return f'{found[1]} title="{attribute[1]}"' if attribute else found[1]


def address_of(path: str, page: str, files: Files, url: str) -> str:
    """Where a file of the project is found from a page; "" when the site does not have it."""
    here = posixpath.dirname(page)
    target = OUTSIDE.get(path) or path.removeprefix("docs/")
    if path == "generated/operators.md":
        target = "operators/index.md"
    if source_of(path) in files.src_uris:
        target = source_of(path)
    if target in files.src_uris:
        return posixpath.relpath(target, here or ".")
    return f"{url}/{path}" if url else ""


def source_url(config: Any) -> str:
    """Where the project's files are shown, as ``https://HOST/PROJECT/blob/main``; "": on the site."""
    return str(config.extra.get("source_url") or "").rstrip("/")


def place_address(place: Any, url: str, top: str = "..") -> str:
    """The address of a place, from a page of the reference, or of the folder below which ``top`` leads."""
    if url:
        return f"{url}/{place.file}#L{place.line}"
    return f"{top}/{source_of(place.file).removesuffix('.md')}.html#__codelineno-0-{place.line}"


def source_of(path: str) -> str:
    """The page that shows a file of the project."""
    return f"source/{path.removeprefix('declarations/')}.md"


def source_page(path: str) -> str:
    """A file of the project, with numbered lines."""
    text = (ROOT / path).read_text(encoding="utf-8").rstrip()
    language = "python" if path.endswith(".py") else "yaml"
    return (
        "---\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"
        f"# {path}\n\n"
        f'~~~~{language} linenums="1"\n{text}\n~~~~\n'
    )
