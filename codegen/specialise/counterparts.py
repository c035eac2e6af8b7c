"""Kernels of groups of backends: those of another backend, with the group's functions of the same names."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace

from ..model.names import COMPOSITES
from ..model.operators import EXPRESSIONS, Backend, Kernel, Operator, Primitive
from ..read.functions import FunctionIndex, of_library


def counterpart(
    operator: Operator, group: Backend, functions: FunctionIndex, primitives: Container[str]
) -> Kernel | None:
    """The kernel of another backend, each of its functions that of the same name of the group.

    Of ``primitives``, which ``apart`` gives, one that the group lacks is computed on the host. None where it
    lacks another function, or what is no pointwise expression names none: that is written for one library.
    """
    if operator.kernels.keys() & set(COMPOSITES):
        return None
    pointwise, modules = not EXPRESSIONS.isdisjoint(operator.tags), frozenset(group.kernels)

    def called(qualified: str) -> str | None:
        if ":" in qualified:
            return qualified
        found = _namesake(qualified, modules, functions)
        return of_library(qualified) if found is None and qualified in primitives else found

    found = (_translated(kernel, pointwise, called) for kernel in operator.kernels.values())
    return next((kernel for kernel in found if kernel is not None), None)


def apart(primitives: Mapping[str, Primitive]) -> frozenset[str]:
    """The functions of those primitives that are functions of their own."""
    return frozenset([p.function for p in primitives.values() if p.function is not None])


def _translated(kernel: Kernel, pointwise: bool, called: Callable[[str], str | None]) -> Kernel | None:
    """A kernel of another backend with other functions; None where there is none for one of its own."""
    if kernel.function is not None:
        if ":" in kernel.function:
            return kernel if pointwise else None
        function = called(kernel.function)
        return None if function is None else replace(kernel, function=function)
    found = [(name, called(qualified)) for name, qualified in kernel.calls.items()]
    calls = {name: other for name, other in found if other is not None}
    if len(calls) < len(found) or not (calls or pointwise):
        return None
    return replace(kernel, calls=calls)


def _namesake(function: str, modules: frozenset[str], functions: FunctionIndex) -> str | None:
    """The function of these modules that is called as another backend's is."""
    found = functions.find(function.rpartition(".")[2], modules)
    return found[0].qualified if len(found) == 1 else None
