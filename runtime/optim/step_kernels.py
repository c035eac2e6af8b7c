"""The kernels of a step over arrays, with the numbers of that step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import is_
from typing import Any

import numpy as np

from ..composite.updates import Declared, Form
from ..kernels.native_kernels import kernels
from ..kernels.shares import share_elements
from .blocks import Array, Kernel, Update
from .optimizer import Group, number

#: The options of what is done to the gradient before.
_DIRECTION = ("maximize", "weight_decay", "decoupled_weight_decay")
#: What most options are.
_PLAIN = frozenset({float, int, bool, type(None)})


class StepKernels:
    """Makes the kernels of a group's steps, which take the gradient as it is.

    They last while the options are the same objects, if none is a tensor; those of one step, which all passes
    with the same counts share, until ``step`` is called.
    """

    __slots__ = ("declared", "given", "lasting", "made", "names", "options")

    def __init__(self, declared: Declared, group: Group) -> None:
        self.declared = declared
        self.names = (*_DIRECTION, *declared.options)
        self.given = [group.get(name) for name in self.names]
        self.lasting = all(map(_is_plain, self.given))
        self.options = {name: _as_number(v) for name, v in zip(self.names, self.given, strict=True)}
        self.made: dict[Any, tuple[Update, Sequence[float]]] = {}

    def fits(self, group: Group) -> bool:
        """Whether the options are what they were."""
        return self.lasting and all(map(is_, map(group.get, self.names), self.given))

    def step(self) -> None:
        """Begin a step: what depends on counts is not asked for again."""
        if self.declared.counters:
            self.made.clear()

    def make(self, first: bool, counts: Sequence[float], kinds: tuple[Any, ...], dtype: Any) -> Any:
        """The update for a dtype, and what the counters become, whose values and types are given."""
        key = dtype, kinds, first, *counts
        found = self.made.get(key)
        if found is None:

            def kept(i: int, value: float) -> Any:
                return kinds[i](value).item()

            flags, numbers, after = self.declared.numbers(self.options, kept, first, *counts)
            update = _update_of(self.declared.forms[flags], numbers, dtype)
            maximize, decay, decoupled = [self.options[name] for name in _DIRECTION]
            decay = 0 if decoupled else decay or 0
            if maximize or decay != 0:
                update = _adjusting(update[0], decay, maximize, dtype), (update[1] or 0) + 1
            found = self.made[key] = update, after
        return found


def _is_plain(value: Any) -> bool:
    if value.__class__ is tuple:
        return all(map(_is_plain, value))
    return value.__class__ in _PLAIN


def _as_number(value: Any) -> Any:
    """An option, or a tuple of such, as numbers."""
    return tuple(map(number, value)) if isinstance(value, tuple) else number(value)


def _update_of(form: Form, numbers: Sequence[Any], dtype: Any) -> Update:
    """The form of an update with the numbers of a step, by its native kernel where that is there."""
    given = _constants(dtype, *[numbers[i] for i in form.takes])
    kernel = getattr(kernels, form.kernel)
    if kernel is None:
        return partial(form.function, *given), form.scratch

    def update(p: Array, g: Array, *states: Array) -> None:
        share_elements(kernel, (p, g, *states, *given), (p, *states))

    return update, None


def _adjusting(kernel: Kernel, decay: float, maximize: bool, dtype: Any) -> Kernel:
    """A kernel that gives ``kernel`` the gradient with its sign turned, and the decayed parameter added."""
    (factor,) = _constants(dtype, decay)
    multiply, negative = np.multiply, np.negative
    combine = np.subtract if maximize else np.add

    def adjusted(p: Array, g: Array, *others: Array) -> None:
        *rest, changed = others
        if decay == 0:
            negative(g, changed)
        else:
            multiply(p, factor, changed)
            combine(changed, g, changed)
        kernel(p, changed, *rest)

    return adjusted


def _constants(dtype: Any, *values: Any) -> list[Array]:
    """The numbers as 0-d arrays: a ufunc takes these faster than Python's."""
    return [np.array(value, dtype) for value in values]
