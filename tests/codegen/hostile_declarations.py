"""Generates from declarations whose texts are code, while it is watched what the process does.

A process of its own, for audit hooks stay: ``python hostile_declarations.py FOLDER`` with a folder for copies
of the declarations. It prints what was tried, and raises AssertionError when something ran.
"""

from __future__ import annotations

import ast
import json
import shutil
import sys
from pathlib import Path

from surroundings import SURROUNDINGS

from tengen.codegen import gen
from tengen.codegen.model.diagnostics import DeclarationErrors
from tengen.codegen.pipeline import load

#: Would set the mark if it ran, in Python, in a template, in YAML or in a shell.
CALL = "__import__('os').mkdir('hostile_mark')"
TEXTS = [
    CALL,
    f"{CALL} or self",
    f"self + {CALL}",
    f"(lambda: {CALL})()",
    f"[{CALL} for i in [1]]",
    f"().__class__.__base__.__subclasses__() and {CALL}",
    f'""" + {CALL} + """',
    f'"\n{CALL}\n"',
    f'\\"""\n{CALL}\n',
    f"{{{{ {CALL} }}}}{{% import os %}}",
    f"{{{CALL}}}",
    f"hostile_mark.of:{CALL}",
    "hostile_mark:run",
    "os.system:hostile_mark",
    f"hostile_mark(Tensor self, Scalar a={CALL}) -> Tensor",
    f'hostile_mark(Tensor self, str a="{CALL}") -> Tensor',
    f"hostile_mark(Tensor self, float[] a=[{CALL}]) -> Tensor",
    "$(mkdir hostile_mark); `mkdir hostile_mark`",
]
#: An entry, with what a text stands in the place of.
ENTRY = {
    "func": "hostile(Tensor self) -> Tensor",
    "variants": "function",
    "dispatch": {"CPU": "xp.exp(self)"},
    "tags": ["pointwise"],
    "doc": "Harmless.",
    "samples": ["[3, 4]"],
    "reference": "np.exp(self)",
}
PLACES = [
    *(
        "func",
        "variants",
        "dispatch",
        "dispatch.CPU",
        "tags",
        "autogen",
        "python_module",
        "dtypes",
        "promote",
    ),
    *("result", "operators.__radd__", "batching", "doc", "domain.self", "samples", "errors", "reference"),
    *("determined", "tolerance.float32", "symbolic", "write_back", "flops", "differs.float32", "refuse.bool"),
    "factory.dtype",
]
#: YAML that makes objects, where a reader lets it.
TAGS = [
    "!!python/object/apply:os.mkdir [hostile_mark]",
    "!!python/name:os.mkdir",
    "!!python/module:hostile_mark",
]


def entry(place: str, text: str) -> str:
    """The entry with the text at a place, as YAML (which JSON is)."""
    made: dict[str, object] = dict(ENTRY)
    key, _, inner = place.partition(".")
    made[key] = {inner: text} if inner else [text] if key in ("tags", "samples") else text
    return f"- {json.dumps(made)}\n"


class Watch:
    """What the process does while it is active."""

    def __init__(self) -> None:
        self.active = False
        self.seen: list[str] = []
        self.templates = str(gen.templates_dir())
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active:
            return
        writes = event == "open" and (str(arguments[1] or "r").strip("rbtU") or int(str(arguments[2])) & 3)
        if event.startswith(("os.", "subprocess.", "socket.", "ctypes.", "shutil.")) or writes:
            if event not in ("os.listdir", "os.scandir", "os.walk"):
                self.seen.append(f"{event}{arguments!r}")
        elif event == "exec" and getattr(arguments[0], "co_filename", "").startswith(self.templates):
            pass  # Jinja2 makes a function of each template of ours
        elif event in ("exec", "import", "marshal.loads"):
            self.seen.append(f"{event}{arguments!r}")


def names_in(text: str) -> set[str]:
    """Everything in a module but the contents of its strings."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        for name in ("id", "attr", "name", "arg", "module", "asname"):
            found.add(str(getattr(node, name, "")))
    return found


def main(folder: Path) -> None:
    cases = [("yaml", f"- func: {tag}\n") for tag in TAGS]
    cases += [(place, entry(place, text)) for place in PLACES for text in TEXTS]
    gen.generate()  # whatever is imported late is imported
    copy = folder / "declarations"
    shutil.copytree(SURROUNDINGS / "declarations", copy)
    bad = copy / "native_functions.bad.yaml"
    bad.write_text(f"- {json.dumps(ENTRY)}\n")
    load(copy, SURROUNDINGS / "runtime")
    watch, accepted = Watch(), []
    for place, text in cases:
        bad.write_text(text)
        watch.active = True
        try:
            load(copy, SURROUNDINGS / "runtime")
            accepted.append((place, text))
        except DeclarationErrors:
            pass
        finally:
            watch.active = False
        assert not watch.seen, (place, text, watch.seen)
    print(f"{len(cases)} entries: {len(accepted)} are declarations, {len(cases) - len(accepted)} are not")
    # Those that are, with names of their own, as one set of declarations which is generated from.
    whole = folder / "all"
    shutil.copytree(gen.declarations_dir(), whole)
    entries = [json.loads(text[2:]) for place, text in accepted]
    for number, made in enumerate(entries):
        made["func"] = f"hostile_{number}(" + str(made["func"]).partition("(")[2]
    (whole / "native_functions.hostile.yaml").write_text(
        "".join(f"- {json.dumps(made)}\n" for made in entries)
    )
    watch.active = True
    files = gen.generate(whole)
    watch.active = False
    assert not watch.seen, watch.seen
    modules = [file for file in files if file.path.endswith((".py", ".pyi"))]
    assert sum(f"hostile_{len(entries) - 1}" in file.text for file in modules) >= 3
    assert any("hostile_mark" in file.text for file in modules)  # as a docstring
    for file in modules:
        found = names_in(file.text)
        assert not {"hostile_mark", "__subclasses__", "__import__"} & found, file.path
    assert not Path("hostile_mark").exists()
    print(f"{len(files)} files generated")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
