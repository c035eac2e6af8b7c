"""Operators over windows: the shapes of what these give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..layout import check_bytes
from ..move_plans import FormOfWindows, plan_of
from ..window_sums import check_windows
from .array import MetaArray


def sums_of_windows(form: FormOfWindows, self: MetaArray, *arguments: Any) -> MetaArray:
    """The result of ``kernels.window_sums.sums_of_windows``, without elements, and its errors."""
    plan = plan_of(form, self.shape, arguments)
    check_bytes(plan.shape, self.dtype.itemsize)
    return MetaArray(plan.shape, self.dtype)


def sums_of_windows_back(
    form: FormOfWindows, grad_output: MetaArray, sizes: Sequence[int], *arguments: Any
) -> MetaArray:
    """The result of ``kernels.window_sums.sums_of_windows_back``, without elements, and its errors."""
    plan = plan_of(form, tuple(sizes), arguments)
    check_windows(plan, grad_output.shape)
    check_bytes(plan.source, grad_output.dtype.itemsize)
    return MetaArray(plan.source, grad_output.dtype)


def maxima_of_windows(form: FormOfWindows, self: MetaArray, *arguments: Any) -> tuple[MetaArray, MetaArray]:
    """The results of ``kernels.window_maxima.maxima_of_windows``, without elements, and its errors."""
    out = sums_of_windows(form, self, *arguments)
    return out, MetaArray(out.shape, np.dtype(np.int64))


def maxima_of_windows_back(
    form: FormOfWindows, grad_output: MetaArray, sizes: Sequence[int], indices: MetaArray, *arguments: Any
) -> MetaArray:
    """The result of ``kernels.window_maxima.maxima_of_windows_back``, without elements, and its errors."""
    return sums_of_windows_back(form, grad_output, sizes, *arguments)
