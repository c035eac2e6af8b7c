"""The tests of a library: every operator that it declares, in every respect."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tengen.codegen.read.libraries import Library

from . import declared
from .operators import operator_tests


def library_tests(package: str, references: Path | None = None) -> Callable[..., None]:
    """A test for pytest of every operator that a library declares, in every respect.

    ``package`` is the library's, as it is imported; ``references`` the folder of the ``references*.py``, or
    with a folder ``references``, that its declarations name functions of. In a module of its tests::

        test_operators = library_tests("mylib", Path(__file__).parent)

    makes a test of each operator and aspect, ``test_operators[mylib::foo-gradient]``. It is for a process
    that tests one library alone.
    """
    module = import_module(package)
    assert module.__file__ is not None
    folder = Path(module.__file__).parent
    root = folder.parents[package.count(".")]
    name: str = import_module(f"{package}.generated.library").NAME
    declared.use_library(Library(name, package, root, folder), references)
    return operator_tests(f"{name}::")
