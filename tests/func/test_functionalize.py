"""functionalize: what a function gives and writes is what it gives and writes without."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen.func import functionalize, grad, jvp, vmap
from tengen.testing.declared import calls, deterministic, flat, operators, run, working_dtypes, writes

REMOVE = ("mutations", "mutations_and_views")

#: Views of a matrix, and what may be written into what is left of it.
VIEWS: list[Callable[[Any, Any], Any]] = [
    lambda m, t: t.reshape(-1),  # a view or a copy, as the strides are; which copies of views do not keep
    lambda m, t: t.contiguous().view(-1),
    lambda m, t: t[...],
    lambda m, t: t.t() if t.ndim == 2 else t.unsqueeze(0),
    lambda m, t: t[-1] if t.ndim else t.view(1),
    lambda m, t: t[::2] if t.ndim else t.view(1),
    lambda m, t: t.unsqueeze(-1),
    lambda m, t: t.squeeze(),
    lambda m, t: t.unbind(0)[0] if t.ndim else t.detach(),
    lambda m, t: t.split(1)[-1] if t.ndim else t.detach(),
    lambda m, t: t.chunk(2)[0] if t.ndim else t.view_as(t),
    lambda m, t: t.diagonal() if t.ndim >= 2 else t.narrow(0, 0, 1) if t.ndim else t[None],
    lambda m, t: t.movedim(0, -1) if t.ndim else t.view(1, 1),
    lambda m, t: t.detach(),
    lambda m, t: t * 1,
]
WRITES: list[Callable[[Any, Any, Any], Any]] = [
    lambda m, t, o: t.add_(1),
    lambda m, t, o: t.mul_(o.sum().remainder(3) + 1),
    lambda m, t, o: t.copy_(o.flatten()[:1].sum() + 1),
    lambda m, t, o: t.clamp_(max=20),
    lambda m, t, o: t.fill_(2),
    lambda m, t, o: t.zero_(),
    lambda m, t, o: t.masked_fill_(t > 3, -1),
    lambda m, t, o: m.add(t, 2, out=t),
    lambda m, t, o: m.maximum(t, o.sum(), out=m.zeros_like(t)),
    lambda m, t, o: t.__setitem__(..., o.max()),
    lambda m, t, o: t.__setitem__(0, 5) if t.ndim else None,
    lambda m, t, o: t.index_fill_(0, m.tensor([0]), 4) if t.ndim else None,
    lambda m, t, o: t.sub_(t.detach()),
    lambda m, t, o: m.nn.functional.celu_(t),
    lambda m, t, o: t.clone().t_() if t.ndim == 2 else None,
    lambda m, t, o: t.unsqueeze_(0) if t.ndim < 3 else t.squeeze_(),
    lambda m, t, o: t.transpose_(0, -1) if t.ndim else None,
]


def program(seed: int, m: Any, remove: str) -> Callable[..., Any]:
    """A random program of views and writes.

    PyTorch takes no ``squeeze_`` and the like of inputs, and writes back in other strides.
    """
    writes = WRITES if m is tengen else WRITES[:-2]
    views = VIEWS if remove == "mutations" and m is tengen else VIEWS[2:]

    def run(*given: Any) -> Any:
        draw = random.Random(seed)
        known = [*given, m.zeros(2, 2)]
        for _ in range(draw.randint(3, 12)):
            source, other = draw.choice(known), draw.choice(known)
            if draw.random() < 0.5:
                known.append(draw.choice(views)(m, source))
            else:
                draw.choice(writes)(m, source, other)
        return tuple(known), float(known[-1].sum())

    return run


def inputs(m: Any) -> list[Any]:
    return [m.arange(9.0).reshape(3, 3), m.arange(4.0).reshape(2, 2).t()]


def told(values: Any) -> list[Any]:
    return [(tuple(t.shape), t.detach().tolist()) for t in values]


@pytest.mark.parametrize("remove", REMOVE)
def test_random_programs(m: Any, remove: str) -> None:
    for seed in range(150):
        run = program(seed, m, remove)
        plain, freed = inputs(m), inputs(m)
        expected, number = run(*plain)
        found, same = m.func.functionalize(run, remove=remove)(*freed)
        assert told(found) == told(expected), seed
        assert told(freed) == told(plain) and number == same, seed


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("remove", REMOVE)
def test_no_writes_are_left(remove: str) -> None:
    """What is around the call sees no write but those to the inputs, and with views removed no view."""
    for seed in range(40):
        run = program(seed, tengen, remove)
        freed = functionalize(lambda *given, run=run: run(*given)[0], remove=remove)
        traced = tengen.jit.trace(freed, tuple(inputs(tengen)), check_trace=False)
        given = {id(v) for v in traced.graph.inputs}
        for node in traced.inlined_graph.nodes:
            if node.operator.base is not None:
                assert id(node.inputs[0]) in given, (seed, node.operator)
                given |= {id(v) for v in node.outputs}
        again, plain = inputs(tengen), inputs(tengen)
        assert told(traced(*again)) == told(run(*plain)[0]), seed
        assert told(again) == told(plain), seed


def step(x: Any, w: Any) -> Any:
    y = x * w
    v = y.t()[1:]
    v.mul_(y.sum())
    y[0].sin_()
    y.unsqueeze_(0)
    with tengen.no_grad():
        y.mul_(2)
    return y.exp().sum() + v.cos().sum()


@pytest.mark.parametrize("remove", REMOVE)
def test_gradients(remove: str) -> None:
    x, w = tengen.arange(4.0).double().reshape(2, 2) / 7, tengen.ones(2).double() / 3
    free = functionalize(step, remove=remove)
    assert grad(free, (0, 1))(x, w)[1].allclose(grad(step, (0, 1))(x, w)[1])
    inside = functionalize(grad(step), remove=remove)(x, w)
    assert inside.allclose(grad(step)(x, w))
    for _ in range(2):
        x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
        results = [tengen.autograd.grad(f(x, w), (x, w)) for f in (step, free)]
        for a, b in zip(*results, strict=True):
            assert a.allclose(b)
    dual, direct = (jvp(f, (x.detach(), w.detach()), (x.detach(), w.detach())) for f in (free, step))
    assert dual[0].allclose(direct[0])


@pytest.mark.parametrize("remove", REMOVE)
def test_gradients_through_inputs_that_are_written_to(remove: str) -> None:
    def f(x: Any, w: Any) -> Any:
        x.sin_()
        x[0].mul_(w)
        return (x * w).sum()

    def of(g: Any) -> Any:
        x, w = tengen.arange(3.0, requires_grad=True), tengen.tensor(2.0, requires_grad=True)
        y = x * 1
        result = g(y, w) + y.sum()
        return [t.tolist() for t in tengen.autograd.grad(result, (x, w))], y.tolist()

    assert of(f) == of(functionalize(f, remove=remove))


def test_a_leaf_is_not_written_to() -> None:
    x = tengen.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        functionalize(lambda x: x.add_(1))(x)
    assert x.tolist() == [1, 1]

    def train(x: Any) -> Any:
        with tengen.no_grad():
            x[0].add_(1)
        return x * 2

    functionalize(train)(x).sum().backward()
    assert x.tolist() == [2, 1] and x.is_leaf and x.grad is not None and x.grad.tolist() == [2, 2]

    def leaf_inside(x: Any) -> Any:
        w = tengen.zeros(2).requires_grad_()
        return tengen.autograd.grad((x.detach() * w).sum(), w)[0]

    assert functionalize(leaf_inside)(x).tolist() == [2, 1]


@pytest.mark.parametrize("remove", REMOVE)
def test_under_and_over_vmap(remove: str) -> None:
    def f(x: Any) -> Any:
        y = x.view(-1)
        y[1:].mul_(y[0])
        x.t_()
        return y.cos(), x.sum(0)

    x = tengen.arange(12.0).reshape(3, 2, 2)
    free = functionalize(f, remove=remove)
    expected = vmap(f)(x.clone())
    for g in (vmap(free), functionalize(vmap(f), remove=remove), vmap(functionalize(free))):
        assert told(g(x.clone())) == told(expected)


@pytest.mark.parametrize("remove", REMOVE)
def test_what_it_is_not_given(remove: str) -> None:
    captured = tengen.zeros(3)

    def f(x: Any) -> Any:
        captured[1:].add_(x[0])
        return captured + x

    x = tengen.ones(3)
    assert functionalize(f, remove=remove)(x).tolist() == [1, 2, 2] and captured.tolist() == [0, 1, 1]


def test_arguments() -> None:
    x = tengen.zeros(3)
    assert functionalize(lambda a, b, *, c: a.add_(1) + b["x"] + c)(x, {"x": x}, c=x).tolist() == [3, 3, 3]
    assert x.tolist() == [1, 1, 1]
    assert functionalize(lambda a: a.add_(1))(x) is x
    with pytest.raises(RuntimeError, match="two of the arguments share memory"):
        functionalize(lambda a, b: a.add_(1))(x, x[1:])
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="can't be cast"):
        functionalize(lambda a: tengen.zeros(2, dtype=tengen.int64).add_(a))(tengen.ones(2))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        functionalize(lambda a: a.add_(tengen.ones(2, 3)))(x)


def test_a_wrong_word(m: Any) -> None:
    with pytest.raises(RuntimeError, match=r"received invalid argument for remove=all\. Valid options"):
        m.func.functionalize(lambda x: x, remove="all")


WRITTEN_BY_PARTS = [
    name
    for name, o in operators().items()
    if writes(o) and deterministic(o) and o.is_composite and "inplace_view" not in o.tags
]


@pytest.mark.parametrize("remove", REMOVE)
@pytest.mark.parametrize("name", WRITTEN_BY_PARTS)
def test_composites_that_write_by_their_parts(name: str, remove: str) -> None:
    """Also those of which there is no functional form, as of ``embedding_renorm_``."""
    ran = 0
    for call in calls(name):
        if tengen.float64 not in working_dtypes(call):
            continue
        plain, freed = call.tensors(tengen.float64), call.tensors(tengen.float64)
        expected = flat(run(name, plain))
        found = functionalize(lambda *given, name=name: flat(run(name, given)), remove=remove)(*freed)
        tengen.testing.assert_close(found, expected, equal_nan=True)
        for after, before in zip(freed, plain, strict=True):
            if isinstance(after, tengen.Tensor):
                tengen.testing.assert_close(after, before, equal_nan=True)
        ran += 1
    assert ran


@pytest.mark.parametrize("remove", REMOVE)
def test_results_with_names(m: Any, remove: str) -> None:
    x = m.tensor([[1.0, 4.0], [3.0, 2.0]])
    found = m.func.functionalize(lambda x: x.add_(1).max(0), remove=remove)(x)
    assert found.values.tolist() == [4, 5] and found.indices.tolist() == [1, 0]


@pytest.mark.parametrize("remove", REMOVE)
def test_tables_whose_rows_are_kept_short(m: Any, remove: str) -> None:
    indices = m.tensor([0, 2])
    for write in (
        lambda w: m.embedding_renorm_(w, indices, 1.0, 2.0),
        lambda w: m.nn.functional.embedding(indices, w, max_norm=1.0),
        lambda w: m.embedding_renorm_(w[1:3], indices[:1], 1.0, 2.0),
    ):
        plain, freed = (m.arange(12.0).view(4, 3) for _ in range(2))
        expected = write(plain)
        assert told([m.func.functionalize(write, remove=remove)(freed), freed]) == told([expected, plain])


def test_what_changes_a_shape_by_no_operator_is_refused() -> None:
    with pytest.raises(RuntimeError, match="resize_ has no functional variant"):
        functionalize(lambda x: x.resize_(2, 3))(tengen.ones(4))
