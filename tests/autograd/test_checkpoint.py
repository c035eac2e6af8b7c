"""utils.checkpoint in both modes; in torch too."""

from __future__ import annotations

import contextlib
import gc
import importlib
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tengen
from tengen.core.interception import active


@pytest.fixture
def c(m: Any) -> Any:
    """The module of checkpoints."""
    return importlib.import_module(f"{m.__name__}.utils.checkpoint")


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(list(values), requires_grad=True)


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients(m: Any, c: Any, reentrant: bool) -> None:
    run = Counted(lambda x, y: ((x * y).exp().sin() * x).tanh())
    x, y = leaf(m, 0.1, 0.2), leaf(m, 0.3, 0.4)
    expected = m.autograd.grad(run.function(x, y).sum(), (x, y))
    out = c.checkpoint(run, x, y, use_reentrant=reentrant)
    assert run.calls == 1
    out.sum().backward()
    assert run.calls == 2
    assert m.allclose(x.grad, expected[0]) and m.allclose(y.grad, expected[1])


@pytest.mark.parametrize("reentrant", [True, False])
def test_arguments_and_results_of_all_kinds(m: Any, c: Any, reentrant: bool) -> None:
    x = leaf(m, 1.0)
    a, s, others = c.checkpoint(
        lambda a, s, many: (a.exp(), s + "!", [many[0] * 3]), x, "s", [x], use_reentrant=reentrant
    )
    assert s == "s!" and others[0].item() == 3.0
    assert others[0].requires_grad is not reentrant
    a.sum().backward()
    assert m.allclose(x.grad, x.detach().exp())


def test_keyword_arguments(m: Any, c: Any) -> None:
    x, k = leaf(m, 1.0), leaf(m, 3.0)
    c.checkpoint(lambda x, k: (x * k).exp(), x, use_reentrant=False, k=k).sum().backward()
    assert m.allclose(x.grad, 3 * (x * k).detach().exp())
    assert m.allclose(k.grad, (x * k).detach().exp())
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        c.checkpoint(lambda x, k: x * k, x, use_reentrant=True, k=k)


@pytest.mark.parametrize("reentrant", [True, False])
def test_random_numbers_are_the_same(m: Any, c: Any, reentrant: bool) -> None:
    m.manual_seed(0)
    x = leaf(m, 1.0, 2.0)
    out = c.checkpoint(lambda x: (x * m.rand(2)).exp(), x, use_reentrant=reentrant)
    m.rand(5)
    state = m.get_rng_state()
    out.sum().backward()
    assert m.equal(state, m.get_rng_state())  # as it was before
    m.manual_seed(0)
    scale = m.rand(2)
    assert m.allclose(x.grad, scale * (x.detach() * scale).exp())
    c.checkpoint(lambda x: x.exp(), x, use_reentrant=reentrant, preserve_rng_state=False).sum().backward()


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_second_backward_pass(m: Any, c: Any, reentrant: bool) -> None:
    x = leaf(m, 1.0)
    run = Counted(lambda x: x.exp().sin())
    y = c.checkpoint(run, x, use_reentrant=reentrant)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert run.calls == 3
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_reentrant_refuses_grad(m: Any, c: Any) -> None:
    x = leaf(m, 1.0)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs`"):
        m.autograd.grad(c.checkpoint(lambda x: x.exp(), x, use_reentrant=True).sum(), x)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs`"):
        c.checkpoint(lambda x: x.exp(), x, use_reentrant=True).sum().backward(inputs=[x])


def test_reentrant_without_gradients(m: Any, c: Any) -> None:
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        assert not c.checkpoint(lambda x: x.exp(), m.ones(1), use_reentrant=True).requires_grad
    y = c.checkpoint(lambda x: x.detach() * 2, leaf(m, 1.0), use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()
    with m.no_grad():
        assert not c.checkpoint(lambda x: x.exp(), leaf(m, 1.0), use_reentrant=False).requires_grad


def test_grad_and_second_derivatives(m: Any, c: Any) -> None:
    x = leaf(m, 0.5)
    plain = (x.exp().sin()).sum()
    (g,) = m.autograd.grad(plain, x, create_graph=True)
    (expected,) = m.autograd.grad(g.sum(), x)
    y = c.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    assert m.allclose(m.autograd.grad(g.sum(), x)[0], expected)


def test_nested(m: Any, c: Any) -> None:
    inner = Counted(lambda x: x.exp().sin().cos())
    outer = Counted(lambda x: c.checkpoint(inner, x * 1, use_reentrant=False) * 2)
    x = leaf(m, 0.5)
    (expected,) = m.autograd.grad((inner.function(x) * 2).sum(), x)
    y = c.checkpoint(outer, x, use_reentrant=False)
    y.sum().backward()
    assert m.allclose(x.grad, expected)
    assert (inner.calls, outer.calls) == (2, 2)


def test_it_stops_early(m: Any, c: Any) -> None:
    for early, reached in ((True, 1), (False, 2)):
        last = Counted(lambda: None)

        def run(x: Any, last: Counted = last) -> Any:
            y = x.exp()
            last()
            return y

        x = leaf(m, 1.0)
        c.checkpoint(run, x, use_reentrant=False, early_stop=early).sum().backward()
        assert last.calls == reached
        with c.set_checkpoint_early_stop(early):
            y = c.checkpoint(run, x, use_reentrant=False)
        y.sum().backward()
        assert last.calls == 2 * reached


def changing(m: Any, first: Callable[[Any], Any], later: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that does something else when it is called again."""
    calls: list[int] = []

    def run(x: Any) -> Any:
        calls.append(1)
        return first(x) if len(calls) == 1 else later(x)

    return run


def test_runs_that_differ(m: Any, c: Any) -> None:
    x = leaf(m, 1.0, 2.0)
    fewer = changing(m, lambda x: x.exp().exp(), lambda x: x.exp())
    with pytest.raises(c.CheckpointError, match="A different number of tensors was saved"):
        c.checkpoint(fewer, x, use_reentrant=False).sum().backward()
    more = changing(m, lambda x: x.exp(), lambda x: x.exp().exp())
    with pytest.raises(c.CheckpointError, match="trying to save more tensors during recomputation"):
        c.checkpoint(more, x, use_reentrant=False, early_stop=False).sum().backward()
    wider = changing(m, lambda x: x.exp(), lambda x: m.cat([x, x]).exp())
    with pytest.raises(c.CheckpointError, match="have different metadata"):
        c.checkpoint(wider, x, use_reentrant=False).sum().backward()
    other = changing(m, lambda x: x.exp(), lambda x: x.double().exp())
    with pytest.raises(c.CheckpointError, match="have different metadata"):
        c.checkpoint(other, x, use_reentrant=False).sum().backward()
    other = changing(m, lambda x: x.exp(), lambda x: x.double().exp())
    c.checkpoint(other, x, use_reentrant=False, determinism_check="none").sum().backward()
    assert not active


def test_bad_options(m: Any, c: Any) -> None:
    x = leaf(m, 1.0)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        c.checkpoint(lambda x: x, x, use_reentrant=False, determinism_check="zz")
    for options in ({"debug": True}, {"context_fn": lambda: 1}):
        with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
            c.checkpoint(lambda x: x, x, use_reentrant=True, **options)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        c.checkpoint(lambda x: x.exp(), x)


def test_an_error_in_the_function(m: Any, c: Any) -> None:
    def fail(x: Any) -> Any:
        raise KeyError("mine")

    x = leaf(m, 1.0)
    y = c.checkpoint(changing(m, lambda x: x.exp(), fail), x, use_reentrant=False)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()
    assert m.is_grad_enabled()
    assert not active


def test_an_input_that_was_written_to(m: Any, c: Any) -> None:
    x = leaf(m, 1.0)
    y = x * 1
    z = c.checkpoint(lambda y: y.exp(), y, use_reentrant=False)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize("reentrant", [True, False])
def test_sequences(m: Any, c: Any, reentrant: bool) -> None:
    steps = [Counted(lambda x: x.exp()), Counted(lambda x: x.sin()), Counted(lambda x: x.cos())]
    x = leaf(m, 0.5)
    (expected,) = m.autograd.grad(x.exp().sin().cos().sum(), x)
    c.checkpoint_sequential(steps, 2, x, use_reentrant=reentrant).sum().backward()
    assert m.allclose(x.grad, expected)
    assert [step.calls for step in steps] == [2, 1, 1]
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        c.checkpoint_sequential(steps, 2, x, use_reentrant=reentrant, foo=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c.checkpoint_sequential(steps, 3, x)


def test_what_was_computed_again_is_freed() -> None:
    from tengen.utils.checkpoint import checkpoint

    kept: list[weakref.ref[Any]] = []

    def run(x: Any) -> Any:
        y = x.exp()
        kept.append(weakref.ref(y))
        return y.sin()

    x = leaf(tengen, 1.0)
    gc.disable()
    try:
        out = checkpoint(run, x, use_reentrant=False)
        assert kept[0]() is None
        node = weakref.ref(out.grad_fn)
        out.sum().backward()
        del out
        assert node() is None
        assert [ref() for ref in kept] == [None, None]
    finally:
        gc.enable()


# -- backward passes within, values that are given once, groups -----------------------------------


def with_grad_inside(m: Any, x: Any, retain: bool) -> Any:
    """A function that differentiates what it has saved, and goes on."""
    y = x.sin()
    z = y.cos().sum()
    (g,) = m.autograd.grad(z, x, create_graph=retain)
    return x.cos() * g


@pytest.mark.parametrize("retain", [True, False])
@pytest.mark.parametrize("early", [True, False])
def test_grad_within(m: Any, c: Any, early: bool, retain: bool) -> None:
    x = leaf(m, 0.5, 1.5)
    (expected,) = m.autograd.grad(with_grad_inside(m, x, retain).sum(), x)
    run = Counted(lambda x: with_grad_inside(m, x, retain))
    c.checkpoint(run, x, use_reentrant=False, early_stop=early).sum().backward()
    assert m.allclose(x.grad, expected)
    assert run.calls == 3


def test_runs_that_differ_while_the_first_goes_on(m: Any, c: Any) -> None:
    sizes = iter([2, 3, 3])

    def run(x: Any) -> Any:
        y = m.ones(next(sizes)) * x
        (g,) = m.autograd.grad((y * y).sum(), x)
        return x.exp() * g

    with pytest.raises(c.CheckpointError, match="different metadata"):
        c.checkpoint(run, leaf(m, 1.0), use_reentrant=False)


def exp_that_asks_twice(m: Any) -> Any:
    """A Function whose backward asks for what it has saved twice."""

    class Exp(m.autograd.Function):  # type: ignore[misc,name-defined]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert len(ctx.saved_tensors) == 2
            return g * ctx.saved_tensors[1]

    return Exp.apply


@pytest.mark.parametrize("debug", [True, False])
def test_a_value_is_given_once(m: Any, c: Any, debug: bool) -> None:
    x = leaf(m, 1.0)
    exp = exp_that_asks_twice(m)
    y = c.checkpoint(lambda x: exp(x * 1), x, use_reentrant=False, debug=debug)
    with pytest.raises(c.CheckpointError, match=r"already unpacked once|while unpacking"):
        y.sum().backward()
    y = exp(x * 1)
    y.sum().backward()
    assert m.equal(x.grad, y.detach())


def test_outside_of_passes_values_are_given_each_time(m: Any, c: Any) -> None:
    x = leaf(m, 1.0)
    y = c.checkpoint(lambda x: x.exp(), x, use_reentrant=False)
    assert m.equal(y.grad_fn._saved_result, y)
    assert m.equal(y.grad_fn._saved_result, y)
    y.sum().backward()
    assert m.equal(x.grad, y.detach())


def test_groups_of_passes(m: Any, c: Any) -> None:
    run = Counted(lambda x: (x.sin(), x.cos()))
    x = leaf(m, 0.5)
    a, b = c.checkpoint(run, x, use_reentrant=False, early_stop=False)
    with c.GraphExecGroup() as group:
        assert c.GraphExecGroup._get_current_group() is group
        a.sum().backward()
        b.sum().backward()
        with pytest.raises(RuntimeError, match="contexts cannot be nested"), c.GraphExecGroup():
            pass
    assert run.calls == 2
    assert m.allclose(x.grad, x.cos() - x.sin())
    a, b = c.checkpoint(run, x, use_reentrant=False, early_stop=False)
    a.sum().backward()
    b.sum().backward()
    assert run.calls == 5


def test_passes_of_a_group_must_not_overlap(m: Any, c: Any) -> None:
    a = c.checkpoint(lambda x: x.exp(), leaf(m, 0.5), use_reentrant=False)
    with c.GraphExecGroup():
        a.sum().backward(retain_graph=True)
        with pytest.raises(c.CheckpointError, match="two backward calls that overlap"):
            a.sum().backward()
    assert c.GraphExecGroup._get_current_group() is None


def test_a_context_that_suppresses_an_error(m: Any, c: Any) -> None:
    def fail(x: Any) -> Any:
        raise KeyError("mine")

    def contexts() -> Any:
        return contextlib.suppress(KeyError), contextlib.nullcontext()

    with pytest.raises(RuntimeError, match="suppressed an exception"):
        c.checkpoint(fail, leaf(m, 1.0), use_reentrant=False, context_fn=contexts)


def test_contexts_are_entered_where_something_is_recorded(m: Any, c: Any) -> None:
    entered: list[str] = []

    @contextlib.contextmanager
    def context(name: str) -> Iterator[None]:
        entered.append(name)
        yield

    def contexts() -> Any:
        return context("first"), context("second")

    x = leaf(m, 1.0)
    c.checkpoint(lambda x: x.exp(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert entered == ["first", "second"]
    with m.no_grad():
        c.checkpoint(lambda x: x.exp(), x, use_reentrant=False, context_fn=contexts)
    assert entered == ["first", "second"]


def test_helpers(m: Any, c: Any) -> None:
    x = leaf(m, 1.0) * 2
    plain = m.ones(1)
    found = c.detach_variable((x, 3, plain))
    assert [getattr(t, "requires_grad", t) for t in found] == [True, 3, False]
    assert found[0].is_leaf
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        c.detach_variable([x])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        c.check_backward_validity([plain, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c.check_backward_validity([plain, x])


def test_sequences_of_too_many_segments(m: Any, c: Any) -> None:
    with pytest.raises(ValueError, match=r"must not be zero|segments"):
        c.checkpoint_sequential([lambda x: x], 2, leaf(m, 1.0), use_reentrant=False)


MODES: dict[str, Callable[[Any], Any]] = {
    "none": lambda m: contextlib.nullcontext(),
    "bfloat16": lambda m: m.autocast("cpu", dtype=m.bfloat16),
    "float16": lambda m: m.autocast("cpu", dtype=m.float16, cache_enabled=False),
    "no autocast": lambda m: m.autocast("cpu", enabled=False),
}


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("outside", MODES)
@pytest.mark.parametrize("inside", MODES)
def test_both_runs_have_one_autocast(m: Any, c: Any, inside: str, outside: str, reentrant: bool) -> None:
    """Whatever autocast there is where the backward pass is called."""
    seen: list[Any] = []

    def run(x: Any, w: Any) -> Any:
        y = x @ w
        enabled = m.is_autocast_enabled("cpu")
        seen.append((y.dtype, enabled, m.get_autocast_dtype("cpu"), m.is_autocast_cache_enabled()))
        return y.float().sin().sum()

    x, w = m.ones(2, 2, requires_grad=True), m.ones(2, 2, requires_grad=True)
    with MODES[inside](m):
        y = c.checkpoint(run, x, w, use_reentrant=reentrant)
    with MODES[outside](m):
        before = m.is_autocast_enabled("cpu"), m.get_autocast_dtype("cpu"), m.is_autocast_cache_enabled()
        y.backward()
        assert before == (
            m.is_autocast_enabled("cpu"),
            m.get_autocast_dtype("cpu"),
            m.is_autocast_cache_enabled(),
        )
    assert len(seen) == 2 and seen[0] == seen[1]


@pytest.mark.parametrize("reentrant", [True, False])
def test_both_runs_have_one_default_device(reentrant: bool) -> None:
    seen: list[Any] = []

    def run(x: Any) -> Any:
        seen.append(tengen.empty(2).device.type)
        return (x * x).sum()

    x = leaf(tengen, 1.0, 2.0)
    for inside, outside in (("meta", "cpu"), ("cpu", "meta")):
        seen.clear()
        with tengen.device(inside):
            y = tengen.utils.checkpoint.checkpoint(run, x, use_reentrant=reentrant)
        with tengen.device(outside):
            y.backward()
        assert seen == [inside] * 2


def test_both_runs_have_the_same_function_modes() -> None:
    called: list[str] = []

    class Mode(tengen.overrides.TengenFunctionMode):
        def __tengen_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = leaf(tengen, 1.0, 2.0)
    with Mode():
        y = tengen.utils.checkpoint.checkpoint(lambda a: a.sin().cos(), x, use_reentrant=False).sum()
        called.clear()
    y.backward()
    assert "sin" in called
    called.clear()
    y = tengen.utils.checkpoint.checkpoint(lambda a: a.sin().cos(), x, use_reentrant=False).sum()
    with Mode():
        y.backward()
    assert "sin" not in called


def test_states_of_devices_are_those_of_gpus() -> None:
    from tengen.utils.checkpoint import get_device_states, set_device_states

    assert get_device_states(tengen.ones(2), [{"x": tengen.ones(1, device="meta")}], 3) == ([], [])
    set_device_states([], [])
    set_device_states([0], [tengen.ones(1)], device_type="meta")
    with pytest.raises(RuntimeError, match=r"set_device_states: expected device_type .* got 'mps'"):
        set_device_states([0], [tengen.ones(1)], device_type="mps")
