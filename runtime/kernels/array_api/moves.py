"""Operators that move elements, over arrays of any library: by the sources of the places along each dim."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import moves as host
from ..move_plans import Form, plan_of
from .common import Array, number_of


def move(xp: Any, form: Form, order: str, fill: Any, self: Array, *arguments: Any) -> Array:
    """What ``kernels.moves.move`` gives, and its errors."""
    plan = plan_of(form, tuple(self.shape), arguments)
    filler = xp.full((1,) * len(plan.seen), number_of(fill, self.dtype, xp), dtype=self.dtype)
    if not prod(plan.seen):
        return xp.broadcast_to(xp.reshape(filler, (1,) * len(plan.shape)), plan.shape)
    if plan.axes is not None:
        out = xp.permute_dims(self, plan.axes)
    else:
        out = self if tuple(self.shape) == plan.seen else xp.reshape(self, plan.seen)
    for d, along in plan.dims.items():
        index, there = along.by_element()
        out = xp.take(out, xp.constant(index), axis=d)
        if there is not None:
            across = (1,) * d + (len(there),) + (1,) * (len(plan.seen) - d - 1)
            out = xp.where(xp.from_host(there.reshape(across)), out, filler)
    if plan.mask is not None:
        out = xp.where(xp.from_host(plan.mask), out, filler)
    return out if tuple(out.shape) == plan.shape else xp.reshape(out, plan.shape)


def move_back(xp: Any, form: Form, grad_output: Array, sizes: Sequence[int], *arguments: Any) -> Array:
    """What ``kernels.moves.move_back`` gives, and its errors."""
    plan = plan_of(form, tuple(sizes), arguments)
    host.check_moved(plan.shape, grad_output.shape)
    count = prod(plan.source)
    # The first of one element more takes what is of none.
    places = host.move(form, "C", 0, np.arange(1, count + 1).reshape(plan.source), *arguments)
    sums = xp.zeros((count + 1,), dtype=grad_output.dtype)
    sums = xp.scatter(sums, xp.constant(places), xp.reshape(grad_output, places.shape), "add")
    return xp.reshape(sums[1:], plan.source)
