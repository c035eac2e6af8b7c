"""What docstrings of hand-written functions tell: errors, and of tensors shapes or dtypes.

Docstrings of operators are made from their declarations.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest
from public_names import PLACES, at, public

import tengen

#: Words that tell what a tensor is like.
LIKE = re.compile(
    r"\b(shapes?|sizes?|dtypes?|dimensions?|elements?|broadcast|matrix|matrices|vectors?|numbers?|memory)\b"
)


def functions(place: str) -> Iterator[tuple[str, FunctionType, str]]:
    """The public functions of a module and the methods of its classes, with what is told of each."""
    home = at(tengen, place)
    for name in sorted(public(dir(home))):
        value = getattr(home, name)
        if inspect.isfunction(value):
            yield name, value, inspect.getdoc(value) or ""
        elif inspect.isclass(value):
            for own, member in vars(value).items():
                found: Any = getattr(member, "__func__", getattr(member, "fget", member))
                if inspect.isfunction(found) and (not own.startswith("_") or own in ("__init__", "__call__")):
                    yield f"{name}.{own}", found, f"{inspect.getdoc(found)} {value.__doc__}"


def written(place: str) -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Those that are written by hand, as trees."""
    for name, function, told in functions(place):
        plain = inspect.unwrap(function)
        path = plain.__code__.co_filename
        if plain.__module__.partition(".")[0] == "tengen" and "generated" not in path and "<" not in path:
            tree = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
            if isinstance(tree, ast.FunctionDef):
                yield name, tree, told


def raised(node: ast.AST) -> Iterator[str]:
    """The classes of errors that a body raises itself, functions inside of it left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
            name = ast.unparse(child.exc.func)
            if name.endswith(("Error", "Exception")):
                yield name.rpartition(".")[2]
        yield from raised(child)


def gives_tensors(function: ast.FunctionDef) -> bool:
    """Whether the annotation of what it returns has a Tensor; TypeIs and TypeGuard are a bool."""
    returned = ast.unparse(function.returns) if function.returns is not None else ""
    return re.search(r"\bTensor\b", returned) is not None and not returned.startswith("Type")


def test_raised_leaves_inner_functions_out() -> None:
    tree = ast.parse(
        "def f():\n def g(): raise KeyError('a')\n if g: raise ValueError('b')\n raise errors.MyError('c')"
    )
    assert list(raised(tree.body[0])) == ["ValueError", "MyError"]


def test_there_are_many() -> None:
    assert sum(1 for place in PLACES for _ in written(place)) > 400


@pytest.mark.parametrize("place", PLACES)
def test_errors_are_told(place: str) -> None:
    untold = {
        name: missing
        for name, tree, told in written(place)
        if (missing := {error for error in raised(tree) if not re.search(rf"\b{error}\b", told)})
    }
    assert untold == {}


@pytest.mark.parametrize("place", [p for p in PLACES if p != "Tensor"])
def test_shapes_or_dtypes_are_told(place: str) -> None:
    """Of functions that give a Tensor."""
    untold = [
        n
        for n, tree, told in written(place)
        if "." not in n and gives_tensors(tree) and not LIKE.search(told)
    ]
    assert untold == []
