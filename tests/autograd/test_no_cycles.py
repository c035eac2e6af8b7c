"""No graph is part of a reference cycle: memory goes with its last user, not when the collector runs."""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import tengen as tg
from tengen.autograd import forward_ad
from tengen.autograd.graph import (
    allow_mutation_on_saved_tensors,
    get_gradient_edge,
    register_multi_grad_hook,
    saved_tensors_hooks,
)
from tengen.autograd.profiler import profile
from tengen.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from tengen.testing.declared import operators
from tengen.testing.differentiable import as_function, cases, recorded
from tengen.utils.checkpoint import GraphExecGroup, checkpoint, create_selective_checkpoint_contexts


def garbage(program: Callable[[], object]) -> list[str]:
    """The kinds of objects that only the collector can free when the program is done.

    Functions that are defined within it are none of the library's: a recursive one is a cycle.
    """
    program()  # what is made when it is first used
    gc.collect(0)
    gc.freeze()  # what is there now is not looked at, which would take long
    before = gc.get_debug()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        program()
        gc.collect()
        return sorted({type(found).__name__ for found in gc.garbage})
    finally:
        gc.set_debug(before)
        gc.garbage.clear()
        gc.enable()


def leaf() -> Any:
    return tg.tensor([0.5, 1.5, 2.5, 3.5], requires_grad=True)


def saving(kind: str, dirty: bool = False) -> Any:
    """A Function that saves its input, its result, both or what it has computed on the way."""

    class Saving(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.mul_(2) if dirty else x * 2
            if dirty:
                ctx.mark_dirty(x)
            between = y * 1
            saved = {"input": (x,), "result": (y,), "both": (x, y), "between": (between, None)}
            ctx.save_for_backward(*saved[kind])
            ctx.note = saved[kind][0].detach()
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert len(ctx.saved_tensors) in (1, 2)
            return g * 2 + 0 * ctx.saved_tensors[0]

    return Saving.apply


SAVING = {
    (kind, dirty): saving(kind, dirty)
    for kind in ("input", "result", "both", "between")
    for dirty in (False, True)
}


class Several(tg.autograd.Function):
    """Two results, and one that is a view of the input; forward mode too."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2, x.exp(), x[:2]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.save_for_forward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any, i: Any) -> Any:
        return g * 2 + h * ctx.saved_tensors[2]

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t * 2, t * ctx.saved_tensors[2], t[:2]


class Failing(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise KeyError("inside")


class Reentrant(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, left: int) -> Any:
        ctx.left = left
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if ctx.left:
            with tg.enable_grad():
                y = ctx.saved_tensors[0].detach().requires_grad_()
                Reentrant.apply(y, ctx.left - 1).backward(g)
            return y.grad, None
        return g, None


def written_view(x: Any, function: Callable[[Any], Any], view: Callable[[Any], Any]) -> Any:
    base = x * 1
    part = view(base)
    function(part)
    return base.sum() + part.sum()


def hooked(x: Any) -> Any:
    y = (x * 2).exp()
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda i, o: None)
    y.grad_fn.register_prehook(lambda o: None)
    x.register_post_accumulate_grad_hook(lambda t: None)
    x.register_hook(lambda g: None)
    register_multi_grad_hook((x, y), lambda grads: None)
    return y.sum()


def hooked_on_itself(x: Any) -> Any:
    y = x * 2
    y.retain_grad()
    y.grad_fn.metadata["note"] = "mine"
    get_gradient_edge(y)
    return (y * y).sum()


def packed(x: Any) -> Any:
    with saved_tensors_hooks(lambda t: t.detach(), lambda t: t):  # a result itself would be a cycle
        return (x.exp() * x).sin().sum()


def failing(x: Any) -> Any:
    with contextlib.suppress(KeyError):
        Failing.apply(x).sum().backward()
    return x.sum()


def watched(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tg.autograd.detect_anomaly():
            y = x.exp() * x
            (g,) = tg.autograd.grad(y.sum(), x, create_graph=True)
            return g.sum()


def failing_watched(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tg.autograd.detect_anomaly():
            return failing(x)


def mutated(x: Any) -> Any:
    with allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y * y).exp()
        y.mul_(3)
        z.sum().backward()
    return x.sum()


def dual(x: Any) -> Any:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x * 1, tg.ones(4))
        view = d[:2]
        view.mul_(3)
        tangent = forward_ad.unpack_dual(d.exp() * Several.apply(d)[1]).tangent
    return tangent.sum()


def profiled(x: Any) -> Any:
    with profile(record_shapes=True):
        (x * 2).sum().backward()
    return x.sum()


def copied(x: Any) -> Any:
    return (copy.deepcopy(x.detach().requires_grad_()) * 2).sum() + x.sum()


def selective(x: Any) -> Any:
    def contexts() -> Any:
        return create_selective_checkpoint_contexts(["sin"])

    return checkpoint(lambda a: (a.sin().exp() * a).sum(), x, use_reentrant=False, context_fn=contexts)


def grouped(x: Any) -> Any:
    a, b = checkpoint(lambda x: (x.sin(), x.exp()), x, use_reentrant=False, early_stop=False)
    with GraphExecGroup():
        a.sum().backward()
        return tg.autograd.grad(b.sum(), x, create_graph=True)[0].sum()


def cube(a: Any) -> Any:
    return (a**3).sum()


def twice(x: Any, function: Callable[[Any], Any]) -> Any:
    (g,) = tg.autograd.grad(function(x).sum(), x, create_graph=True)
    return (g * g).sum()


#: Functions of a leaf that make a graph and return a scalar of it.
GRAPHS: dict[str, Callable[[Any], Any]] = {
    "chain": lambda x: ((x * 2).exp() / x).sum(),
    "saved results": lambda x: x.exp().tanh().sigmoid().sqrt().sum(),
    "several results": lambda x: sum(p.sum() for p in x.sort()[:1] + tuple(x.split(2)) + x.unbind()),
    "in place": lambda x: (x * 2).exp_().mul(x).sin_().sum(),
    "a written view": lambda x: written_view(x, lambda v: v.mul_(3), lambda b: b[:2]),
    "a written view's result": lambda x: written_view(x, lambda v: v.exp_(), lambda b: b[:2]),
    "a written view of a view": lambda x: written_view(x, lambda v: v.sigmoid_(), lambda b: b.view(2, 2)[0]),
    "copied into a view": lambda x: written_view(x, lambda v: v.copy_(x[1:3]), lambda b: b[:2]),
    "a view without history": lambda x: written_view(x, lambda v: v.mul_(2), lambda b: b.detach()[:2]),
    "items": lambda x: (y := x * 1).__setitem__(0, x[1] * 2) or y.__setitem__(y > 2, 0.0) or y.sum(),
    "hooks": hooked,
    "retained": hooked_on_itself,
    "packed": packed,
    "an error": failing,
    "anomaly": watched,
    "an error in anomaly mode": failing_watched,
    "mutation": mutated,
    "forward mode": dual,
    "profiler": profiled,
    "copies": copied,
    "reentrant": lambda x: Reentrant.apply(x, 3).sum(),
    "reentrant in threads": lambda x: Reentrant.apply(x, 150).sum(),
    "checkpoint": lambda x: checkpoint(lambda a: (a.exp() * a).sin().sum(), x, use_reentrant=False),
    "nested checkpoints": lambda x: checkpoint(
        lambda a: checkpoint(lambda b: (b.exp() * b).sin(), a * 2, use_reentrant=False).sum(),
        x,
        use_reentrant=False,
    ),
    "reentrant checkpoint": lambda x: checkpoint(lambda a: (a.exp() * a).sin().sum(), x, use_reentrant=True),
    "selective checkpoint": selective,
    "a group of passes": grouped,
    "several results of a Function": lambda x: sum(r.sum() for r in Several.apply(x)),
    "func.grad": lambda x: grad(cube)(x).sum(),
    "func.grad twice": lambda x: grad(lambda a: grad(cube)(a).sum())(x).sum(),
    "func.vjp": lambda x: vjp(cube, x)[1](tg.tensor(1.0))[0].sum(),
    "func.jvp": lambda x: jvp(cube, (x,), (tg.ones(4),))[1],
    "func.vmap": lambda x: vmap(lambda a: a.exp() * a)(x).sum(),
    "func.vmap of grad": lambda x: vmap(grad(lambda a: a.exp() * a))(x).sum(),
    "func.vmap of a Function": lambda x: vmap(grad(lambda a: a.exp()))(x).sum(),
    "func.jacrev": lambda x: jacrev(lambda a: a.exp())(x).sum(),
    "func.jacfwd": lambda x: jacfwd(lambda a: a.exp())(x).sum(),
    "func.hessian": lambda x: hessian(cube)(x).sum(),
    "func.linearize": lambda x: linearize(lambda a: a.exp(), x)[1](tg.ones(4)).sum(),
    "functional.hessian": lambda x: tg.autograd.functional.hessian(cube, x).sum() + x.sum(),
    **{
        f"a Function that saves {kind}{', dirty' * dirty}": lambda x, f=f: f(x * 1).sum()  # type: ignore[misc]
        for (kind, dirty), f in SAVING.items()
    },
    **{
        f"a Function that saves {kind}, of a view": lambda x, f=f: written_view(x, f, lambda b: b[:2])  # type: ignore[misc]
        for (kind, dirty), f in SAVING.items()
        if dirty
    },
}

#: What becomes of the graph.
USES: dict[str, Callable[[Callable[[Any], Any]], object]] = {
    "nothing": lambda f: f(leaf()),
    "backward": lambda f: f(leaf()).backward(),
    "retained": lambda f: f(leaf()).backward(retain_graph=True),
    "grad": lambda f: tg.autograd.grad(f(x := leaf()), x, allow_unused=True),
    "second derivative": lambda f: twice(leaf(), lambda x: f(x) + (x**3).sum()).backward(),
    "batched": lambda f: tg.autograd.grad(f(x := leaf()), x, tg.ones(2), is_grads_batched=True),
}

#: What does not go together.
REFUSED = {
    *(("reentrant checkpoint", use) for use in ("batched", "grad", "second derivative")),
    ("selective checkpoint", "second derivative"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.filterwarnings("ignore")
def test_graphs_of_all_kinds(name: str, use: str) -> None:
    graph, run = GRAPHS[name], USES[use]

    def program() -> None:
        with pytest.raises(RuntimeError) if (name, use) in REFUSED else contextlib.nullcontext():
            run(graph)

    assert garbage(program) == []


@pytest.mark.parametrize("name", [n for n in operators() if recorded(n)])
@pytest.mark.filterwarnings("ignore")
def test_graphs_of_all_operators(name: str) -> None:
    """First and second derivatives; an operator in place also on a view."""
    found = cases(name)[:1]

    def program() -> None:
        for call, kind in found:
            function, inputs = as_function(call, kind)
            for tensor in inputs:
                tensor.requires_grad_()
            results = [r for r in function(*inputs) if r.requires_grad]
            try:
                grads = tg.autograd.grad(
                    results, inputs, [tg.ones_like(r) for r in results], create_graph=True, allow_unused=True
                )
                again = [g for g in grads if g is not None and g.requires_grad]
                tg.autograd.grad(again, inputs, [tg.ones_like(g) for g in again], allow_unused=True)
            except (RuntimeError, NotImplementedError):
                pass

    assert garbage(program) == []


def test_a_cycle_would_be_seen() -> None:
    def program() -> None:
        x = leaf()
        y = x * 2
        y.grad_fn.metadata["itself"] = y

    found = garbage(program)
    assert "Tensor" in found
    assert "MulBackward0" in found or "MulBackward1" in found
    assert isinstance(program, FunctionType)
    assert importlib.import_module("gc") is gc
