"""Operators that move elements, or put back what a view shows: the shapes of what these give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..layout import check_bytes
from ..move_plans import Form, plan_of
from ..moves import check_moved
from ..view_plans import viewed
from .array import MetaArray


def move(form: Form, order: str, fill: Any, self: MetaArray, *arguments: Any) -> MetaArray:
    """The result of ``kernels.moves.move``, without elements, and its errors but for those of ``fill``."""
    plan = plan_of(form, self.shape, arguments)
    check_bytes(plan.shape, self.dtype.itemsize)
    return MetaArray(plan.shape, self.dtype)


def move_back(form: Form, grad_output: MetaArray, sizes: Sequence[int], *arguments: Any) -> MetaArray:
    """The result of ``kernels.moves.move_back``, without elements, and its errors."""
    plan = plan_of(form, tuple(sizes), arguments)
    check_moved(plan.shape, grad_output.shape)
    check_bytes(plan.source, grad_output.dtype.itemsize)
    return MetaArray(plan.source, grad_output.dtype)


def viewed_back(form: Any, grad: MetaArray, sizes: Sequence[int], *arguments: Any) -> MetaArray:
    """The result of ``kernels.shape.viewed_back``, without elements, and its errors."""
    made = MetaArray(sizes, grad.dtype)
    check_moved(viewed(form, made, *arguments).shape, grad.shape)
    return made
