"""What a backend over a library takes from it: its dtypes, whatever it has for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.array_libraries import ArrayLibrary


class _Function:
    """A function that makes numbers of a dtype, and has it: what ``jax.numpy.float32`` is."""

    dtype = np.dtype("float32")


@pytest.mark.parametrize(
    "its", [np.float32, np.dtype("float32"), _Function()], ids=["class", "dtype", "function"]
)
def test_a_librarys_dtype_is_found(its: Any) -> None:
    """Its float32 may be NumPy's class, as CuPy's and NumPy's own are."""
    library = ArrayLibrary(SimpleNamespace(__name__="mylib", float32=its))
    assert library.dtypes == {np.dtype("float32"): np.dtype("float32")}
    assert library.array_dtype(tengen.float32.array_dtype) == np.dtype("float32")


def test_numpy_is_a_library_too() -> None:
    library = ArrayLibrary(np)
    assert library.zeros((2,), np.dtype("int16")).dtype == np.int16
    assert library.full((), 2, np.dtype("complex64")) == 2
