"""The native kernels of declarations/native_kernels.yaml, and what they make of rows.

``kernels.softmax`` is a ufunc, or None where there are no native kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..machine_code import Kernels, kernels_of
from .copies import in_rows
from .shares import share_rows

Array = Any

kernels = kernels_of("tengen.generated.kernels")
#: How the forms of kernels are called after these, by dtype.char.
_FORMS = {"f": "", "d": "", "e": "_float16", "E": "_bfloat16"}


def of_reduced_rows(name: str, self: Array, keepdim: bool) -> Array | None:
    """What a kernel makes of each row of a contiguous array of a reduced type: a number. None without one."""
    kernel = kernel_of(name, self.dtype)
    return None if kernel is None else of_rows(kernel, self, keepdim)


def of_rows(kernel: np.ufunc, self: Array, keepdim: bool) -> Array:
    """What a kernel makes of each row of a contiguous array: a number of the same dtype."""
    out = np.empty((*self.shape[:-1], 1) if keepdim else self.shape[:-1], self.dtype)
    share_rows(kernel, (as_bits(as_rows(self)),), (), (as_bits(out.reshape(-1)),))
    return out


def kernel_of(name: str, dtype: np.dtype[Any], namespace: Kernels = kernels, way: str = "") -> Any:
    """The form of a kernel for a dtype, that of a reduced type being another; None where there is none.

    ``way`` is what the names of those end in that go another way over the elements.
    """
    ending = _FORMS.get(dtype.char)
    return None if ending is None else getattr(namespace, name + way + ending, None)


def kernel_of_floats(name: str, dtype: np.dtype[Any], namespace: Kernels = kernels) -> Any:
    """The kernel for float32 and float64; None for other dtypes, and where there is none."""
    return getattr(namespace, name) if dtype.char in "fd" else None


def as_bits(array: Array) -> Array:
    """An array of a reduced type as kernels take it: NumPy knows bfloat16 as 16 bits only."""
    return array.view(np.uint16) if array.dtype.char == "E" else array


def as_rows(array: Array) -> Array:
    """An array as a matrix of what its last dimension has, contiguous."""
    return in_rows(array).reshape(-1, array.shape[-1])
