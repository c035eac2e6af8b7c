"""``tengen init NAME``: begins a library, a package outside of tengen with operators of its own.

Writes the package with two operators, its tests, what builds it, and CI; and generates its code.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tengen.codegen.emit.page import rendered
from tengen.codegen.emit.write import write
from tengen.codegen.gen import generate, templates_dir, version
from tengen.codegen.read.libraries import library_at, name_problem

#: Each file of a library, and its template; the empty ones have none.
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    ".github/workflows/ci.yml": "workflow.yml",
    "NAME/__init__.py": "package.py",
    "NAME/py.typed": "",
    "NAME/declarations/native_functions.yaml": "native_functions.yaml",
    "NAME/declarations/derivatives.yaml": "derivatives.yaml",
    "NAME/native/__init__.py": "",
    "NAME/native/filters.py": "kernels.py",
    "NAME/native/meta/__init__.py": "",
    "NAME/native/meta/filters.py": "meta.py",
    "NAME/composite/__init__.py": "",
    "NAME/formulas/__init__.py": "",
    "tests/references.py": "references.py",
    "tests/test_operators.py": "test_operators.py",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("name", help="of the library, and of its package: mylib")
    parser.add_argument("--path", type=Path, metavar="DIR", help="its folder (default: NAME, here)")


def run(options: argparse.Namespace) -> int:
    """Write the library. Returns the exit status: 1, with nothing written, where a file is in the way."""
    name: str = options.name
    problem = name_problem(name)
    if problem is not None:
        print(problem, file=sys.stderr)
        return 1
    root: Path = options.path or Path(name)
    files = {root / path.replace("NAME", name): source for path, source in FILES.items()}
    taken = [path for path in files if path.exists()] or ([root / name] if (root / name).exists() else [])
    if taken:
        print(f"{taken[0]} is there already; nothing was written", file=sys.stderr)
        return 1
    problem = taken_problem(name)
    if problem is not None:
        print(problem, file=sys.stderr)
        return 1
    folder = templates_dir() / "library"
    environment = Environment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, keep_trailing_newline=True
    )
    for path, source in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = ""
        if source:
            text = rendered(environment, f"{source}.jinja", name=name, version=version())
        path.write_text(text, encoding="utf-8", newline="\n")
    library = library_at(root)
    assert library is not None
    write(generate(None, library), library.generated)
    print(f"wrote the library {name} to {root}/")
    print(f"next: cd {root}; pip install -e .[test]; pytest")
    return 0


def taken_problem(name: str) -> str | None:
    """Why a new package cannot have this name: what is imported by it now would be hidden, or hide it."""
    if name in sys.stdlib_module_names:
        return f'"{name}" cannot name a library: it is a module of Python itself'
    found = find_spec(name)
    if found is None or found.origin is None:  # a folder without a module is in nobody's way
        return None
    return f'"{name}" cannot name a library: a package of that name is installed ({found.origin})'
