"""What must hold of every program. Each check raises Finding where it does not."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from programs import Program, run
from sides import cotangent

import tengen
from tengen.autograd.forward.forward_grad import ForwardLevel
from tengen.jit.functionalize import functionalized
from tengen.jit.interpreter import run_graph
from tengen.testing import declared
from tengen.testing.batching import REFUSALS
from tengen.testing.closeness import close
from tengen.testing.numeric import difference, directions, inner, leaves
from tengen.testing.samples import Call
from tengen.testing.variants import out_variants, together

#: How near results must be, relative to the largest number on the way there.
NEAR = {"float64": 1e-7, "complex128": 1e-7, "float32": 1e-3, "complex64": 1e-3}
#: By how much inputs are moved to see whether results follow from them smoothly, and how much these may move.
NUDGE = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-6}
LARGE = 1e4
#: What an operator without a derivative says, one that cannot run on many examples at once, and a backward
#: pass through what the program has written over.
WITHOUT = (
    "modified by an inplace operation",
    "does not support automatic differentiation",
    "derivative for",
    "not differentiable with respect to",
    "forward AD",
    "not implemented",
    "inplace arithmetic",
    "in-place",
    "is not possible because there exists a Tensor",  # in-place, of one tensor for all examples of a batch
    *REFUSALS,
)


class Finding(AssertionError):
    """A program that does not do as it must."""


class Skip(Exception):
    """A program of which the check says nothing."""


def near(program: Program, found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    """Equal shapes, and values up to the rounding of what is on the way."""
    if len(found) != len(expected):
        raise Finding(f"{what}: {len(found)} results, not {len(expected)}")
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        if a is None and b is None:
            continue
        if a is None or b is None:  # which stands for zeros
            a, b = (np.zeros_like(b if a is None else a) if x is None else x for x in (a, b))
        inexact = NEAR.get(str(np.asarray(b).dtype), 0.0)
        allowed = max(inexact, NEAR.get(program.kind, 0.0)) if inexact else 0.0
        scale = max(1.0, float(np.abs(b).max(initial=0.0)))
        try:
            close(a, b, allowed, f"{what}, result {number}", atol=allowed * scale)
        except AssertionError as error:
            raise Finding(str(error)) from None


def arrays(tensors: Sequence[Any]) -> list[Any]:
    """Copies of the values; None stays."""
    return [None if t is None else t.detach().numpy().copy() for t in tensors]


def start(program: Program) -> list[Any]:
    """The program's leaves. Skip for a program that ends in an error."""
    try:
        return [leaf.detach() for leaf in run(program).leaves]
    except Exception as error:
        raise Skip from error


def another(program: Program, points: Sequence[Any]) -> list[Any]:
    """Leaves near these. Skip where the program ends in an error there: they are beyond a domain."""
    others = [p * 1.0625 for p in points]
    try:
        run(program, others)
    except Exception as error:
        raise Skip from error
    return others


def function(program: Program) -> Callable[..., list[Any]]:
    """The program as a function of its leaves, with all that has a derivative as results."""
    return lambda *points: run(program, points).outputs


def everything(program: Program) -> Callable[..., list[Any]]:
    """The program as a function of its leaves, with all that is unique as results."""
    return lambda *points: run(program, points).values


def gradients(program: Program, points: Sequence[Any], create_graph: bool = False) -> list[Any]:
    """The gradients of the leaves, along the cotangents of the results."""
    outputs = [r for r in optional(lambda: function(program)(*points)) if r.requires_grad]
    if not outputs:
        raise Skip
    seeds = [tengen.from_numpy(cotangent(r, i)).to(r.dtype) for i, r in enumerate(outputs)]
    found = optional(
        lambda: tengen.autograd.grad(outputs, points, seeds, allow_unused=True, create_graph=create_graph)
    )
    return list(found)


def writes_to_results(program: Program) -> bool:
    """Whether a step writes in place to what another gave.

    Which part of a result it writes to, or whether to a copy, depends on how the result lies in memory.
    """
    return any(step.form == "in place" and (0, None) in dict(step.wires) for step in program.steps)


def reads_strides(program: Program) -> bool:
    """Whether what an operator gives depends on how its input lies in memory, as with ``as_strided``."""
    return any("needs_exact_strides" in o.tags for o in program.operators)


def reads_what_it_writes(program: Program) -> bool:
    """Whether a step writes in place to memory that another of its arguments may share."""
    return any(
        step.form == "in place" and sum(wire.source == target.source for _, wire in step.wires) > 1
        for step in program.steps
        for place, target in step.wires
        if place == (0, None)
    )


def of_one_layout(program: Program) -> None:
    """Skip for a program that gives something else where its tensors lie otherwise in memory.

    They do in ``out=``, and where many examples are one tensor: of these ``flatten`` may be a copy.
    """
    if writes_to_results(program) or reads_strides(program):
        raise Skip


def batches(program: Program) -> None:
    """Skip for a program with an operator that decides by elements, which many examples cannot share."""
    if not all(declared.runs_on_meta(o) for o in program.operators):
        raise Skip


def settled(program: Program, of: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """What a function of the leaves gives, where it hardly moves with them; else Skip."""
    points = start(program)
    if program.kind not in NEAR or not points:
        raise Skip
    rng = np.random.default_rng(0)
    nudged = [p * (1 + NUDGE[program.kind] * directions([p], rng)[0]) for p in points]
    found, moved = arrays(of(points)), arrays(of(nudged))
    for a, b in zip(found, moved, strict=True):
        if a is not None and b is not None:
            with np.errstate(all="ignore"):
                good = a.shape == b.shape and np.all(np.abs(a) < LARGE)
                good = good and np.all(np.abs(np.subtract(a, b, dtype=complex)) <= 0.1 * NEAR[program.kind])
            if not good:
                raise Skip
    return found


def optional(of: Callable[[], Any]) -> Any:
    """What it gives. Skip where an operator says that it has no such thing."""
    try:
        return of()
    except (RuntimeError, NotImplementedError, ValueError) as error:
        if any(text in str(error) for text in WITHOUT):
            raise Skip from error
        raise


# -- the checks ------------------------------------------------------------------------------


def repeated(program: Program) -> None:
    """The same program on the same inputs gives the same bits."""
    points = start(program)
    first, second = (arrays(everything(program)(*[p.clone() for p in points])) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        if a.tobytes() != b.tobytes():
            raise Finding("the second run has other bits than the first")


def strided(program: Program) -> None:
    """Arguments that are not contiguous give what contiguous ones give."""
    if any(step.form == "in place" for step in program.steps):
        raise Skip  # a copy is not what was to be written to
    if any("needs_exact_strides" in o.tags for o in program.operators):
        raise Skip
    expected = settled(program, lambda points: everything(program)(*points))
    steps = [replace(s, form="strided") if s.form == "call" else s for s in program.steps]
    spread = replace(program, steps=tuple(steps))
    near(program, arrays(everything(spread)(*start(program))), expected, "of strided arguments")


def functional(program: Program) -> None:
    """The graph of the program, and this graph without writes, give what the program gives."""
    expected = settled(program, lambda points: function(program)(*points))
    points = start(program)
    traced = optional(
        lambda: tengen.jit.trace(lambda *xs: tuple(function(program)(*xs)), tuple(points), check_trace=False)
    )
    near(program, arrays(traced(*points)), expected, "of the trace")
    graph = optional(lambda: functionalized(traced.graph, points))
    if any(node.operator.base for node in graph.nodes):
        raise Finding("the graph without writes has a write")
    near(program, arrays(run_graph(graph, points)), expected, "of the trace without writes")


def batched(program: Program) -> None:
    """All examples at once give what one after the other gives."""
    of_one_layout(program)
    batches(program)
    settled(program, lambda points: everything(program)(*points))
    points = start(program)
    others = another(program, points)
    each = [arrays(everything(program)(*given)) for given in (points, others)]
    at_once = tengen.func.vmap(lambda *xs: tuple(everything(program)(*xs)))
    stacked = [tengen.stack(pair) for pair in zip(points, others, strict=True)]
    found = arrays(optional(lambda: at_once(*stacked)))
    settled_other = [np.stack(pair) for pair in zip(*each, strict=True)]
    near(program, found, settled_other, "of vmap")


def forward(program: Program) -> None:
    """Tangents are the transpose of gradients."""
    settled(program, lambda points: everything(program)(*points))
    found = settled(program, lambda points: gradients(program, leaves(points)))
    points = start(program)
    along = directions(points, np.random.default_rng(1))
    with ForwardLevel() as level:
        duals = [level.make_dual(p, u) for p, u in zip(points, along, strict=True)]
        outputs = optional(lambda: function(program)(*duals))
        tangents = [level.unpack(r)[1] for r in outputs]
    recorded = [r.requires_grad for r in function(program)(*leaves(points))]
    kept = [(t, r) for t, r, has in zip(tangents, outputs, recorded, strict=True) if has]
    seeds = [tengen.from_numpy(cotangent(r, i)).to(r.dtype) for i, (_, r) in enumerate(kept)]
    by_tangents = inner(seeds, [r.detach() * 0 if t is None else t for t, r in kept])
    by_gradients = inner_along(along, found)
    near(program, [by_tangents], [by_gradients], "tangents against gradients")


def inner_along(along: Sequence[Any], gradients: Sequence[Any]) -> float:
    """The inner product of a direction with the gradients that there are."""
    there = [k for k, g in enumerate(gradients) if g is not None]
    product: float = inner([along[k] for k in there], [tengen.from_numpy(gradients[k]) for k in there])
    return product


def compare_along(
    along: Sequence[Any], gradients: Sequence[Any], differences: Sequence[Any], tolerance: float, what: str
) -> None:
    """Gradients of results against the differences of these along a direction."""
    seeds = [tengen.from_numpy(cotangent(r, i)).to(r.dtype) for i, r in enumerate(differences)]
    expected, got = inner(seeds, differences), inner_along(along, gradients)
    if abs(got - expected) > tolerance * max(1.0, abs(expected), abs(got)):
        raise Finding(f"{what} along a direction is {got}, by differences {expected}")


def is_cut(program: Program) -> bool:
    """Whether a gradient stops in the program on purpose. Skip where an operator has none."""
    return bool(optional(lambda: run(program, leaves(start(program))).is_cut))


def numeric(program: Program) -> None:
    """Gradients are what differences say, in the dtypes that have the digits."""
    found = settled(program, lambda points: gradients(program, leaves(points)))
    if is_cut(program):
        raise Skip  # differences see what gradients do not
    if program.kind == "float32" or any(
        r.dtype not in (declared.REAL, declared.COMPLEX) for r in run(program).outputs
    ):
        raise Skip
    points = start(program)
    along = directions(points, np.random.default_rng(2))
    recorded = [r.requires_grad for r in function(program)(*leaves(points))]

    def kept(*given: Any) -> list[Any]:
        return [r for r, has in zip(function(program)(*given), recorded, strict=True) if has]

    differences = difference(kept, points, along)
    compare_along(along, found, differences, 1e-4, "the gradient")


def transformed(program: Program) -> None:
    """``func.vjp`` gives the gradients that ``autograd.grad`` gives."""
    found = settled(program, lambda points: gradients(program, leaves(points)))
    recorded = [r.requires_grad for r in function(program)(*leaves(start(program)))]

    def kept(*given: Any) -> tuple[Any, ...]:
        return tuple(r for r, has in zip(function(program)(*given), recorded, strict=True) if has)

    results, pull = tengen.func.vjp(kept, *start(program))
    seeds = tuple(tengen.from_numpy(cotangent(r, i)).to(r.dtype) for i, r in enumerate(results))
    near(program, arrays(pull(seeds)), found, "func.vjp")


def second(program: Program) -> None:
    """The gradient of the gradient is what differences of the gradient say."""

    def twice(points: list[Any]) -> list[Any]:
        xs = leaves(points)
        first = [g for g in optional(lambda: gradients(program, xs, create_graph=True)) if g is not None]
        wanted = [g for g in first if g.requires_grad]
        if not wanted:
            raise Skip
        seeds = [tengen.from_numpy(cotangent(g, i)).to(g.dtype) for i, g in enumerate(wanted)]
        return list(optional(lambda: tengen.autograd.grad(wanted, xs, seeds, allow_unused=True)))

    if program.kind != "float64" or is_cut(program):
        raise Skip
    found = settled(program, twice)
    points = start(program)
    xs = leaves(points)
    has = [g is not None and g.requires_grad for g in gradients(program, xs, create_graph=True)]

    def first(*given: Any) -> list[Any]:
        with tengen.enable_grad():
            made = gradients(program, leaves(given))
        return [g for g, kept in zip(made, has, strict=True) if kept]

    settled(program, lambda given: first(*given))
    along = directions(points, np.random.default_rng(3))
    differences = difference(first, points, along)
    compare_along(along, found, differences, 1e-3, "the second derivative")


def written(program: Program) -> None:
    """``out=`` gives what the operator gives, whatever was in the memory before, and however that lies."""
    of_one_layout(program)
    expected = settled(program, lambda points: everything(program)(*points))

    def with_out(name: str, call: Call, values: list[Any]) -> Any:
        result, names = declared.run(name, values), out_variants(name)
        tensors = declared.flat(result)
        if not names or any(t.requires_grad for t in declared.tensors_in(values)):
            return result
        outs = [tengen.stack([t, t.logical_not().to(t.dtype)], -1).select(-1, 1) for t in tensors]
        declared.run(names[0], [*values, together(names[0], outs)])
        return outs[0] if isinstance(result, tengen.Tensor) else type(result)(outs)

    made = run(program, start(program), variant=with_out)
    near(program, arrays(made.values), expected, "of out=")


def per_example(program: Program) -> None:
    """The gradients of all examples at once are those of one after the other."""
    of_one_layout(program)
    batches(program)
    first = settled(program, lambda points: gradients(program, leaves(points)))
    points = start(program)
    others = another(program, points)
    second = arrays(gradients(program, leaves(others)))
    recorded = [r.requires_grad for r in function(program)(*leaves(points))]

    def pulled(*given: Any) -> tuple[Any, ...]:
        def kept(*xs: Any) -> tuple[Any, ...]:
            return tuple(r for r, has in zip(function(program)(*xs), recorded, strict=True) if has)

        results, pull = tengen.func.vjp(kept, *given)
        found: tuple[Any, ...] = pull(
            tuple(tengen.from_numpy(cotangent(r, i)).to(r.dtype) for i, r in enumerate(results))
        )
        return found

    stacked = [tengen.stack(pair) for pair in zip(points, others, strict=True)]
    found = arrays(optional(lambda: tengen.func.vmap(pulled)(*stacked)))
    expected = [None if a is None else np.stack([a, b]) for a, b in zip(first, second, strict=True)]
    near(program, found, expected, "vmap of func.vjp")


def alike(program: Program) -> None:
    """PyTorch gives the same values, shapes, dtypes, gradients, and errors where ours are."""
    import torch
    import torch_side

    def theirs(name: str, call: Call, values: list[Any]) -> Any:
        return torch_side.call(name, call.operator, values)

    among = [o for o in program.operators if not declared.made_beside(o)]
    forward_ones = [declared.declared_operators().get(declared.made_beside(o)) for o in program.operators]
    if any(o is not None and "gradient" in o.differs for o in forward_ones):
        raise Skip  # a backward operator is the gradient of its forward one
    among += [o for o in forward_ones if o is not None]

    def excused(aspect: str) -> bool:
        return any(aspect in o.differs for o in among)

    if reads_what_it_writes(program):
        raise Skip  # PyTorch refuses some of these, and of others does not say what they give
    if excused(_scalar_type(program.kind)) or not all(torch_side.same_schema(o) for o in program.operators):
        raise Skip
    run_there = functools.partial(run, side=torch_side.SIDE, variant=theirs)
    here, there = torch_side.outcome(run, program), torch_side.outcome(run_there, program)
    if torch_side.failed(there):
        raise Skip  # it has fewer dtypes
    if torch_side.failed(here):
        if "doesn't match the broadcast shape" in str(here):
            raise Skip  # some of torch's kernels resize what they write to
        if excused("errors"):
            raise Skip
        raise Finding(f"{torch_side.described(here)}, but torch has {torch_side.described(there)}")
    if writes_to_results(program) and any(
        a is not None and a.stride() != b.stride() for a, b in zip(here.results, there.results, strict=True)
    ):
        raise Skip  # by its layout ``flatten`` is a view or a copy, so that another tensor is written to
    for a, b in zip(here.values, there.values, strict=True):
        if tuple(a.shape) != tuple(b.shape) or (torch_side.has_dtype(b) and not torch_side.same_dtype(a, b)):
            raise Finding(
                f"{a.dtype} of shape {tuple(a.shape)}, in torch {b.dtype} of shape {tuple(b.shape)}"
            )
    smooth = bool(here.leaves)
    values = settled(program, lambda points: everything(program)(*points)) if smooth else arrays(here.values)
    near(program, values, [torch_side.to_array(r) for r in there.values], "beside torch")
    if excused("gradient") or not smooth:
        return
    found = settled(program, lambda points: gradients(program, leaves(points)))
    if any(
        step.form == "in place" and o.result == "bool"
        for step, o in zip(program.steps, program.operators, strict=True)
    ):
        return  # PyTorch lets the gradient through a write that has none
    points = [torch_side.from_array(p.numpy().copy()).requires_grad_() for p in start(program)]
    try:
        outputs = run_there(program, points).outputs
    except RuntimeError as error:
        if "does not support automatic differentiation for outputs with complex dtype" in str(error):
            return  # a deliberate difference: here they can be differentiated
        raise
    recorded = [r.requires_grad for r in function(program)(*leaves(start(program)))]
    if recorded != [r.requires_grad for r in outputs]:
        raise Skip  # where torch records what has the gradient zero
    kept = [r for r in outputs if r.requires_grad]
    seeds = [torch.from_numpy(cotangent(r, i)).to(r.dtype) for i, r in enumerate(kept)]
    try:
        wanted = optional(lambda: torch.autograd.grad(kept, points, seeds, allow_unused=True))
    except RuntimeError as error:
        if "returned an invalid gradient" in str(error):
            return  # a mistake of PyTorch's own, which it finds
        raise
    near(
        program,
        found,
        [None if g is None else torch_side.to_array(g) for g in wanted],
        "gradient beside torch",
    )


def _scalar_type(kind: str) -> str:
    """The name that declarations have for a dtype."""
    return next(s.name for s in declared.scalar_types() if s.dtype == kind)


CHECKS: dict[str, Callable[[Program], None]] = {
    f.__name__: f
    for f in (
        repeated,
        strided,
        functional,
        batched,
        forward,
        numeric,
        transformed,
        second,
        written,
        per_example,
    )
}
#: Those beside PyTorch.
ORACLE = {"alike": alike}


def check(name: str, program: Program) -> bool:
    """Whether the check says anything of the program. Finding, with the program, where it does not hold."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            (CHECKS | ORACLE)[name](program)
    except Skip:
        return False
    except Exception as error:
        text = str(error) if isinstance(error, Finding) else f"{type(error).__name__}: {error}"
        raise Finding(f"{name}: {text}\n{program.text()}\n{program!r}") from error
    return True
