"""``tengen init NAME``: begins a library, a package outside of tengen with operators or a backend of its own.

Writes the package with two operators, or with a backend over the array library that ``--backend`` names, its
tests, what builds it, and CI; and generates its code.
"""

from __future__ import annotations

import argparse
import keyword
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tengen.codegen.emit.page import rendered
from tengen.codegen.emit.write import write
from tengen.codegen.gen import generate, templates_dir, version
from tengen.codegen.model.diagnostics import CommandError
from tengen.codegen.read.libraries import library_at, name_problem

#: Each file of a library, and its template; the empty ones have none.
COMMON_FILES = {
    "pyproject.toml": "pyproject.toml",
    ".gitignore": "gitignore",
    ".github/workflows/ci.yml": "workflow.yml",
    "NAME/py.typed": "",
}
#: Those of a library of operators.
FILES = COMMON_FILES | {
    "README.md": "README.md",
    "NAME/__init__.py": "package.py",
    "NAME/declarations/native_functions.yaml": "native_functions.yaml",
    "NAME/declarations/derivatives.yaml": "derivatives.yaml",
    "NAME/kernels/__init__.py": "",
    "NAME/kernels/filters.py": "kernels.py",
    "NAME/kernels/meta/__init__.py": "",
    "NAME/kernels/meta/filters.py": "meta.py",
    "NAME/composite/__init__.py": "",
    "NAME/formulas/__init__.py": "",
    "tests/references.py": "references.py",
    "tests/test_operators.py": "test_operators.py",
}
#: Those of a library with a backend.
BACKEND_FILES = COMMON_FILES | {
    "README.md": "backend_readme.md",
    "NAME/__init__.py": "backend_package.py",
    "NAME/arrays.py": "arrays.py",
    "NAME/declarations/backends.yaml": "backends.yaml",
    "tests/test_backend.py": "test_backend.py",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("name", help="of the library, and of its package: mylib")
    parser.add_argument("--path", type=Path, metavar="DIR", help="its folder (default: NAME, here)")
    parser.add_argument(
        "--backend",
        metavar="MODULE",
        help="in place of operators, a backend over this array library, which follows the array API standard",
    )


def run(options: argparse.Namespace) -> int:
    """Write the library. Returns the exit status: 1, with nothing written, where a file is in the way."""
    name: str = options.name
    module: str | None = options.backend
    problem = name_problem(name) or (module_problem(module) if module is not None else None)
    if problem is not None:
        print(problem, file=sys.stderr)
        return 1
    root: Path = options.path or Path(name)
    chosen = FILES if module is None else BACKEND_FILES
    files = {root / path.replace("NAME", name): source for path, source in chosen.items()}
    taken = [path for path in files if path.exists()] or ([root / name] if (root / name).exists() else [])
    if taken:
        print(f"{taken[0]} is there already; nothing was written", file=sys.stderr)
        return 1
    problem = taken_problem(name)
    if problem is not None:
        print(problem, file=sys.stderr)
        return 1
    write_files(files, name, module)
    try:
        library = library_at(root)
        assert library is not None
        write(generate(None, library), library.generated)
    except CommandError:  # as of a device that another backend has
        take_back(files, root)
        raise
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


def module_problem(module: str) -> str | None:
    """Why a module's name cannot be that of an array library; None when it can."""
    parts = module.split(".")
    if all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        return None
    return f'"{module}" cannot be an array library: --backend takes a module, as Python imports it'


def write_files(files: Mapping[Path, str], name: str, module: str | None) -> None:
    """Each file by its template. A backend and its device are called as the array library is."""
    environment = Environment(
        loader=FileSystemLoader(templates_dir() / "library"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    device = (module or "").replace(".", "_").lower()
    values = {
        "name": name,
        "version": version(),
        "array_library": module,
        "device": device,
        "backend": "".join(word.capitalize() for word in device.split("_")),
    }
    for path, source in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = rendered(environment, f"{source}.jinja", **values) if source else ""
        path.write_text(text, encoding="utf-8", newline="\n")


def take_back(files: Mapping[Path, str], root: Path) -> None:
    """Remove the files, and the folders from ``root`` down that they leave empty."""
    for path in files:
        path.unlink()
    for folder in sorted({f for path in files for f in path.parents if f.is_relative_to(root)}, reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
