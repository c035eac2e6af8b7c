"""NumPy's BLAS, called by machine code: its functions of products by their addresses."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import numpy as np

from tengen.ir.fuse.calls import Blas

#: The functions as OpenBLAS has them in NumPy's wheels, whose integers have 64 bits, by dtypes.
_NAMES = {"float32": "scipy_cblas_sgemm64_", "float64": "scipy_cblas_dgemm64_"}


@functools.cache
def blas() -> tuple[Blas | None, dict[str, int]]:
    """NumPy's BLAS and the addresses of its functions; None where it has none under known names."""
    folders = (Path(np.__file__).parent.parent / "numpy.libs", Path(np.__file__).parent / ".dylibs")
    for path in [path for folder in folders for path in sorted(folder.glob("*openblas*"))]:
        try:
            loaded = ctypes.CDLL(str(path))
            found = {name: _address(loaded, name) for name in _NAMES.values()}
        except (OSError, AttributeError):
            continue
        return Blas(_NAMES, "i64"), found
    return None, {}


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
