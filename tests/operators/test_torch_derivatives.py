"""Tangents, second derivatives, and gradients through single results, in PyTorch: of the declared samples."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing import declared
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import calls
from tengen.testing.differentiable import all_inputs, inputs_of
from tengen.testing.samples import Call

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
reverse = pytest.importorskip("test_torch_gradients")
pytestmark = pytest.mark.oracle

TENGEN, TORCH, OPERATORS, cotangent = reverse.TENGEN, reverse.TORCH, reverse.OPERATORS, reverse.cotangent
KINDS = (tengen.float64, tengen.complex128)
Arrays = list[Any]
Places = Sequence[tuple[int, int | None]]


class Program:
    """A call in a dtype, with the places of the inputs that are differentiated."""

    def __init__(self, call: Call, kind: Any, places: Places) -> None:
        self.call, self.kind, self.places = call, kind, places

    def values(self, of: Any) -> tuple[list[Any], list[Any]]:
        """The arguments, and the inputs among them, which require gradients."""
        values = self.call.tensors(self.kind, make=of.make)
        inputs = [values[i] if j is None else values[i][j] for i, j in self.places]
        for t in inputs:
            t.requires_grad_()
        return values, inputs

    def results(self, of: Any, values: list[Any]) -> list[Any]:
        """The results that have a gradient."""
        found = of.unique(self.call.operator, of.call(self.call, reverse.start(self.call, values)))
        return [r for r in found if r.requires_grad]

    def placed(self, values: list[Any], inputs: Sequence[Any]) -> list[Any]:
        """The arguments with other inputs."""
        given = [list(v) if isinstance(v, list) else v for v in values]
        for (i, j), t in zip(self.places, inputs, strict=True):
            if j is None:
                given[i] = t
            else:
                given[i][j] = t
        return given


def seeds(of: Any, tensors: Sequence[Any], start: int = 0) -> list[Any]:
    """Random numbers like each of the tensors, the same for both sides."""
    return [of.make(cotangent(t, start + i)).to(t.dtype) for i, t in enumerate(tensors)]


def arrays(of: Any, found: Sequence[Any]) -> Arrays:
    return [None if g is None else of.array(g.detach()) for g in found]


def through(chosen: Sequence[int]) -> Callable[[Any, Program], Arrays]:
    """The gradients through some of the results alone."""

    def gradients(of: Any, program: Program) -> Arrays:
        values, inputs = program.values(of)
        results = program.results(of, values)
        pairs = [(results[k], seeds(of, [results[k]], k)[0]) for k in chosen if k < len(results)]
        if not pairs:
            return []
        wanted, given = zip(*pairs, strict=True)
        return arrays(of, of.library.autograd.grad(wanted, inputs, given, allow_unused=True))

    return gradients


def second(of: Any, program: Program) -> Arrays:
    """The gradients of the gradients, times random numbers, for the inputs and the cotangents."""
    values, inputs = program.values(of)
    results = program.results(of, values)
    given = [s.requires_grad_() for s in seeds(of, results)]
    grad = of.library.autograd.grad
    found = grad(results, inputs, given, allow_unused=True, create_graph=True) if results else []
    # A gradient that is zero may be left out: the others have the same random numbers all the same.
    pairs = [(g, seeds(of, [g], 9 + i)[0]) for i, g in enumerate(found) if g is not None and g.requires_grad]
    if not pairs:
        return []
    kept, weights = zip(*pairs, strict=True)
    return arrays(of, grad(kept, [*inputs, *given], weights, allow_unused=True))


def dual(of: Any, inputs: Sequence[Any]) -> list[Any]:
    """The inputs with random tangents."""
    make = of.library.autograd.forward_ad.make_dual
    return [make(t, u) for t, u in zip(inputs, seeds(of, inputs), strict=True)]


def tangents(of: Any, program: Program) -> Arrays:
    """The tangents of the results."""
    values, inputs = program.values(of)
    ad = of.library.autograd.forward_ad
    with ad.dual_level():
        results = program.results(of, program.placed(values, dual(of, inputs)))
        return arrays(of, [ad.unpack_dual(r).tangent for r in results])


def tangents_of_gradients(of: Any, program: Program) -> Arrays:
    """The tangents of the gradients: forward over reverse mode."""
    values, inputs = program.values(of)
    ad = of.library.autograd.forward_ad
    with ad.dual_level():
        duals = dual(of, inputs)
        results = program.results(of, program.placed(values, duals))
        if not results:
            return []
        found = of.library.autograd.grad(results, duals, seeds(of, results), allow_unused=True)
        return arrays(of, [None if g is None else ad.unpack_dual(g).tangent for g in found])


@functools.cache
def programs(name: str) -> tuple[Program, ...]:
    """``_programs``, which torch is asked for once for all modes."""
    return tuple(_programs(name))


def _programs(name: str) -> Iterator[Program]:
    """The calls of an operator in float64 and complex128, with the inputs for which torch has gradients."""
    operator = OPERATORS[name]
    for call, kind in itertools.product(calls(name), KINDS):
        if not call.takes(kind) or kind not in (declared.dtypes_of(operator) or KINDS):
            continue
        values = call.tensors(kind)
        for places in (all_inputs(call, values), inputs_of(call, values)):
            program = Program(call, kind, places)
            if places and not side.failed(side.outcome(through(range(99)), TORCH, program)):
                yield program
                break


def difference(ours: Arrays, theirs: Arrays, program: Program) -> str:
    """How the arrays differ where torch's are finite; None counts as zero."""
    if len(ours) != len(theirs):
        return f"{len(ours)} arrays are not {len(theirs)}" if any(np.any(a) for a in [*ours, *theirs]) else ""
    for number, (g, e) in enumerate(zip(ours, theirs, strict=True)):
        if g is None and e is None:
            continue
        g, e = (np.zeros_like(e if a is None else a) if b is None else b for a, b in ((e, g), (g, e)))
        finite = np.isfinite(e)
        try:
            close(g[finite], e[finite], 1e3 * tolerance(program.call.operator, program.kind), str(number))
        except AssertionError as error:
            return str(error)
    return ""


def inner(a: Arrays, b: Arrays) -> float:
    """The real inner product."""
    return float(
        sum(np.vdot(x, y).real for x, y in zip(a, b, strict=True) if x is not None and y is not None)
    )


def torch_contradicts_itself(mode: Any, program: Program) -> bool:
    """Whether torch's forward mode is not the transpose of its reverse mode, for this program.

    Then the reverse mode is what ours is compared with: it is the mode that torch has tested for longer.
    """
    if mode not in (tangents, tangents_of_gradients):
        return False
    transposed = through(range(99)) if mode is tangents else second
    forward, back = (side.outcome(f, TORCH, program) for f in (mode, transposed))
    if side.failed(forward) or side.failed(back):
        return False
    _, inputs = program.values(TORCH)
    moved = [TORCH.array(u) for u in seeds(TORCH, inputs)]
    if mode is tangents:
        results = program.results(TORCH, program.values(TORCH)[0])
        weights = [TORCH.array(s) for s in seeds(TORCH, results)]
    else:
        found = through(range(99))(TORCH, program)
        pairs = [(t, g, i) for i, (t, g) in enumerate(zip(forward, found, strict=True)) if g is not None]
        weights = [TORCH.array(seeds(TORCH, [torch.from_numpy(g)], 9 + i)[0]) for _, g, i in pairs]
        forward = [t for t, _, _ in pairs]
    return not np.isclose(inner(weights, forward), inner(moved, back[: len(moved)]), rtol=1e-6)


def torch_does_not_add_up(program: Program) -> bool:
    """Whether torch's gradients through each result are not, together, those through all."""
    everything = through(range(99))(TORCH, program)
    count = len(program.call.operator.schema.returns)
    alone = [through((k,))(TORCH, program) for k in range(count)]
    for number, whole in enumerate(everything):
        parts = [a[number] for a in alone if a and a[number] is not None]
        if not np.allclose(0 if whole is None else whole, sum(parts), rtol=1e-6, equal_nan=True):
            return True
    return False


@pytest.mark.parametrize("mode", [second, tangents, tangents_of_gradients], ids=lambda mode: mode.__name__)
@pytest.mark.parametrize("name", OPERATORS)
def test_same_derivatives(name: str, mode: Callable[[Any, Program], Arrays]) -> None:
    """Wherever torch has them, and finite."""
    check(name, [mode], lambda program: torch_contradicts_itself(mode, program))


SEVERAL = [n for n, o in OPERATORS.items() if len(o.schema.returns) > 1]


@pytest.mark.parametrize("name", SEVERAL)
def test_same_gradients_through_some_results(name: str) -> None:
    """Through each result alone, and through each two of them."""
    count = len(OPERATORS[name].schema.returns)
    chosen = [(k,) for k in range(count)] + list(itertools.combinations(range(count), 2))
    check(name, [through(c) for c in chosen], torch_does_not_add_up)


def check(
    name: str, modes: Sequence[Callable[[Any, Program], Arrays]], excused: Callable[[Program], bool]
) -> None:
    """Compare each mode for each program, but where torch is at odds with itself."""
    operator = OPERATORS[name]
    differences = []
    for program in programs(name):
        for mode in modes:
            theirs = side.outcome(mode, TORCH, program)
            if side.failed(theirs) or not theirs:
                continue
            ours = side.outcome(mode, TENGEN, program)
            found = side.described(ours) if side.failed(ours) else difference(ours, theirs, program)
            if found and not excused(program):
                differences.append(f"{program.call} in {program.kind}: {found}")
    if "gradient" not in operator.differs:
        assert not differences, "\n".join(differences)
