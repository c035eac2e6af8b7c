"""Errors that NumPy raises in its own classes: their texts can be read, and name the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.core.errors import explain


@pytest.mark.parametrize(
    ("name", "function", "text"),
    [
        ("zeros", lambda: tengen.zeros(2**45, 64), "can't allocate memory"),
        ("zeros", lambda: tengen.zeros(2**62, 4), "Storage size calculation overflowed"),
        ("eye", lambda: tengen.eye(2**40), "Storage size calculation overflowed"),
        ("arange", lambda: tengen.arange(2**62), "Storage size calculation overflowed"),
        ("clone", lambda: tengen.ones(1).expand(2**45, 64).clone(), "can't allocate memory"),
        ("expand", lambda: tengen.ones(1).expand(2**62, 4), "Storage size calculation overflowed"),
        ("ones", lambda: tengen.ones((1,) * 65), "at most 64 dimensions"),
        ("view", lambda: tengen.ones(1).view((1,) * 65), "at most 64 dimensions"),
        ("expand", lambda: tengen.ones(1).expand((1,) * 65), "at most 64 dimensions"),
        ("unsqueeze", lambda: tengen.ones((1,) * 64)[None], "at most 64 dimensions"),
        ("stack", lambda: tengen.stack([tengen.ones((1,) * 64)]), "at most 64 dimensions"),
    ],
)
def test_tensors_that_cannot_be(name: str, function: Any, text: str) -> None:
    """More bytes than there are, or more dimensions than NumPy's 64, are a RuntimeError as in PyTorch."""
    error = raised(function)
    assert type(error) is RuntimeError
    assert str(error).startswith(f"{name}: ") and text in str(error)


def raised(function: Any) -> Exception:
    """What a function raises."""
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


@pytest.mark.parametrize(
    ("function", "base"),
    [
        (lambda: np.add(np.ones(2), 1j, out=np.ones(2)), TypeError),
        (lambda: np.add("a", 1), TypeError),
        (lambda: np.sum(np.ones(2), axis=3), IndexError),
    ],
)
def test_texts_of_numpys_own_errors(function: Any, base: type[Exception]) -> None:
    """An explained error is of the same built-in class, and its text says the operator's name first."""
    error = raised(function)
    explained = explain(error, "add.Tensor")
    assert isinstance(explained, base)
    assert str(explained) == f"add: {error}"
