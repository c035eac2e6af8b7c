"""Kernels of groups of backends: those of another backend, with the group's functions of the same names."""

from __future__ import annotations

from dataclasses import replace

from ..model.names import COMPOSITES
from ..model.operators import EXPRESSIONS, Backend, Kernel, Operator
from ..read.functions import FunctionIndex


def counterpart(operator: Operator, group: Backend, functions: FunctionIndex) -> Kernel | None:
    """The kernel of another backend, each of its functions that of the same name of the group.

    None where the group lacks one, or what is no pointwise expression names none: that is written for
    one array library.
    """
    if operator.kernels.keys() & set(COMPOSITES):
        return None
    pointwise, modules = not EXPRESSIONS.isdisjoint(operator.tags), frozenset(group.kernels)
    found = (_translated(kernel, pointwise, modules, functions) for kernel in operator.kernels.values())
    return next((kernel for kernel in found if kernel is not None), None)


def _translated(
    kernel: Kernel, pointwise: bool, modules: frozenset[str], functions: FunctionIndex
) -> Kernel | None:
    """A kernel of another backend with functions of these modules; None where they lack one."""
    if kernel.function is not None:
        if ":" in kernel.function:
            return kernel if pointwise else None
        function = _namesake(kernel.function, modules, functions)
        return None if function is None else replace(kernel, function=function)
    found = [(name, _namesake(name, modules, functions)) for name in kernel.calls]
    calls = {name: namesake for name, namesake in found if namesake is not None}
    if len(calls) < len(found) or not (calls or pointwise):
        return None
    return replace(kernel, calls=calls)


def _namesake(function: str, modules: frozenset[str], functions: FunctionIndex) -> str | None:
    """The function of these modules that is called as another backend's is."""
    found = functions.find(function.rpartition(".")[2], modules)
    return found[0].qualified if len(found) == 1 else None
