"""Errors that NumPy raises in its own classes: their texts can be read, and name the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.errors import explain


def test_memory_errors_have_texts() -> None:
    with pytest.raises(MemoryError) as caught:
        tengen.zeros(2**45, 64)
    assert "zeros: Unable to allocate" in str(caught.value)


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
        (lambda: np.ones(2**50), MemoryError),
        (lambda: np.sum(np.ones(2), axis=3), IndexError),
    ],
)
def test_texts_of_numpys_own_errors(function: Any, base: type[Exception]) -> None:
    """An explained error is of the same built-in class, and its text says the operator's name first."""
    error = raised(function)
    explained = explain(error, "add.Tensor")
    assert isinstance(explained, base)
    assert str(explained) == f"add: {error}"
