"""Functions that PyTorch writes in Python take here the same arguments by position."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

#: Where functions and methods are.
HOMES = (
    "Tensor",
    "",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "autograd",
    "autograd.functional",
    "func",
    "testing",
)
#: What takes more forms than a signature says, or stands for something else there.
OTHERWISE = {
    "Tensor.index": "there it is that of first-class dimensions",
    "norm": "its fifth argument is out, which is None where it is given by position",
    "split": "the signature has the names of one form, and both are taken",
}


def positional(function: Callable[..., Any]) -> list[str] | None:
    """The parameters that may be given by position; None where there is no signature, or one of any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else named


def home(library: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        library = getattr(library, name)
    return library


@pytest.mark.parametrize("path", HOMES)
def test_positions_are_the_same(path: str) -> None:
    theirs, ours = home(torch, path), home(tengen, path)
    compared, wrong = 0, []
    for name in dir(theirs):
        function, own = getattr(theirs, name), getattr(ours, name, None)
        if name.startswith("_") or not inspect.isfunction(function) or own is None:
            continue
        expected, found = positional(function), positional(own)
        if expected is not None and found is not None:
            compared += 1
            if expected != found and f"{path}.{name}".strip(".") not in OTHERWISE:
                wrong.append(f"{name}{tuple(found)}, not {tuple(expected)}")
    assert compared and not wrong, wrong


def test_split_takes_the_word_of_its_function() -> None:
    x = tengen.arange(6)
    assert [len(p) for p in tengen.split(x, split_size_or_sections=[1, 5], dim=0)] == [1, 5]


def test_norm_takes_a_dtype_by_position() -> None:
    x = tengen.ones(3, 4)
    assert x.norm(2, None, False, None).dtype is x.dtype
    assert x.norm("fro", 1, True, tengen.float64).dtype is tengen.float64
