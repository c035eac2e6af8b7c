"""Checkpoints that keep some results, explain themselves, and let memory go."""

from __future__ import annotations

import functools
import gc
import importlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import tengen
from tengen.core.interception import Layer, active
from tengen.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


class Counter(Layer):
    """Counts the operators that are run, by function; those given from elsewhere are not seen here."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}

    def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        self.found[operator.function] = self.found.get(operator.function, 0) + 1
        return proceed(*arguments)


def selective(m: Any, saved: Any, **options: Any) -> Callable[..., Any]:
    """``checkpoint`` with what is saved given as names of functions, or as a policy."""
    module = importlib.import_module(f"{m.__name__}.utils.checkpoint")
    if not callable(saved) and m is not tengen:
        saved = [getattr(m.ops.aten, name).default for name in saved]
    contexts = functools.partial(module.create_selective_checkpoint_contexts, saved, **options)
    return functools.partial(module.checkpoint, use_reentrant=False, context_fn=contexts)


def leaf(m: Any) -> Any:
    return m.tensor([1.0, 2.0], requires_grad=True)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "unary": lambda m, a: (a.sin().exp() * a).sum(),
    "kept last": lambda m, a: (a * 2).exp().sin().sum(),
    "reductions": lambda m, a: m.softmax(a.exp(), 0).sin().max(0)[0] * a.sum(),
    "lists": lambda m, a: m.stack([a.sin(), a.exp()]).prod(0).sum(),
    "views": lambda m, a: (a.sin().view(2, 1) * a.exp()).sum(),
    "promoted": lambda m, a: (a.sin() * a.exp().double()).sum(),
    "in place": lambda m, a: a.sin().mul(2).exp_().sum(),
    "random": lambda m, a: (m.nn.functional.dropout(a.sin(), 0.5) * m.rand_like(a) * a.exp()).sum(),
}


@pytest.mark.parametrize("saved", [(), ("sin",), ("exp",), ("sin", "exp")])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_the_same(m: Any, name: str, saved: Sequence[str]) -> None:
    program = PROGRAMS[name]
    m.manual_seed(3)
    x = leaf(m)
    expected = program(m, x)
    (gradient,) = m.autograd.grad(expected, x)
    m.manual_seed(3)
    found = selective(m, list(saved))(functools.partial(program, m), x)
    after = m.rand(1).item()
    assert found.item() == expected.item()
    found.backward()
    assert m.allclose(x.grad, gradient)
    m.manual_seed(3)
    program(m, x)
    assert m.rand(1).item() == after


@pytest.mark.parametrize(
    "kept",
    [
        "sin",
        "mul.Tensor",
        "mul",
        tengen.exp,
        tengen.Tensor.sum,
        tengen.ops.aten.sin,
        tengen.ops.aten.sin.default,
        tengen.ops.aten.mul.Tensor,
    ],
)
def test_what_is_kept_is_not_computed_again(kept: Any) -> None:
    name = kept if isinstance(kept, str) else kept.__name__
    counts = []
    for saved in ([], [kept]):
        with Counter() as counter:  # below the checkpoint's own layer, which gives what was kept
            y = selective(tengen, saved, allow_cache_entry_mutation=True)(
                lambda a: (((a.sin() * a).exp() * a).exp().sum().exp() * a).exp(), leaf(tengen)
            )
            counter.found.clear()
            y.backward(tengen.ones(2))
        counts.append(counter.found.get(name.partition(".")[0], 0))
    assert counts[1] < counts[0]


@pytest.mark.parametrize("keep", [True, False])
def test_a_policy(keep: bool) -> None:
    seen: list[Any] = []

    def policy(context: Any, op: Any, *arguments: Any) -> Any:
        seen.append((context.is_recompute, op.name(), len(arguments)))
        if op in {tengen.ops.aten.sin.default}:
            return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.MUST_RECOMPUTE
        return False

    x = leaf(tengen)
    with Counter() as counter:
        y = selective(tengen, policy)(lambda a: (a.sin() * a).sum(), x)
        counter.found.clear()
        y.backward()
    assert seen == [(False, "aten::sin", 1), (False, "aten::mul.Tensor", 2), (False, "aten::sum", 2)]
    assert counter.found.get("sin", 0) == (0 if keep else 1)


def test_bad_policies(m: Any) -> None:
    create = importlib.import_module(f"{m.__name__}.utils.checkpoint").create_selective_checkpoint_contexts
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        create(3)
    with pytest.raises(ValueError, match="Expected "):
        create([3])
    with pytest.raises(ValueError, match=r"Expected an operator in the list.*'frobnicate'"):
        create_selective_checkpoint_contexts(["frobnicate"])


def test_what_was_kept_may_not_be_written_to(m: Any) -> None:
    def program(a: Any) -> Any:
        b = a.sin()
        b.add_(1)
        return (b.exp() * a).sum()

    y = selective(m, ["sin"])(program, leaf(m))
    with pytest.raises(
        RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"
    ):
        y.backward()
    x = leaf(m)
    selective(m, ["sin"], allow_cache_entry_mutation=True)(program, x).backward()
    assert x.grad is not None


def test_one_backward_pass_only(m: Any) -> None:
    y = selective(m, ["sin"])(lambda a: (a.sin().exp() * a).sum(), leaf(m))
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.backward()


def test_a_policy_sees_results_and_is_asked_once(m: Any) -> None:
    seen: list[Any] = []
    policies = importlib.import_module(f"{m.__name__}.utils.checkpoint").CheckpointPolicy

    def policy(context: Any, op: Any, *arguments: Any, **options: Any) -> Any:
        seen.append((context.is_recompute, context.op_output.tolist()))
        return policies.PREFER_RECOMPUTE

    x = leaf(m)
    y = selective(m, policy)(lambda a: (a.sin() * 2).exp(), x)
    y.sum().backward(retain_graph=True)
    assert seen[0] == (False, x.sin().tolist())
    assert seen[-1] == (False, y.tolist())
    assert len(seen) == 3
    y.sum().backward()  # nothing was kept, so nothing was used up
    assert m.allclose(x.grad, 4 * x.cos() * y)


def test_a_run_with_more_operators(m: Any) -> None:
    calls: list[int] = []

    def program(a: Any) -> Any:
        calls.append(1)
        return (a.sin().sin() if len(calls) > 1 else a.sin()).exp().cos()

    y = selective(m, ["sin"])(program, leaf(m))
    with pytest.raises(RuntimeError, match="not found"):
        y.sum().backward()


def test_nothing_stays_active_after_an_error() -> None:
    def program(a: Any) -> Any:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        selective(tengen, ["sin"])(program, leaf(tengen))
    assert not active
    runs = iter([1, 2])

    def second_fails(a: Any) -> Any:
        if next(runs) == 2:
            raise ValueError("again")
        return (a.sin() * a).sum()

    y = selective(tengen, ["sin"])(second_fails, leaf(tengen))
    with pytest.raises(ValueError, match="again"):
        y.backward()
    assert not active and tengen.is_grad_enabled()


# -- explanations ------------------------------------------------------------------------------


def changing() -> Callable[[Any], Any]:
    runs = iter([1, 2])

    def program(a: Any) -> Any:
        return (a.sin() * a).sum() if next(runs) == 1 else a.cos().sum()

    return program


def test_debugging_lists_the_operators_of_both_runs() -> None:
    y = checkpoint(changing(), leaf(tengen), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError) as found:
        y.backward()
    text = str(found.value)
    first, _, second = text.partition("Operations executed during recomputation")
    assert (
        "A different number of tensors was saved" in first and "Operations executed during the orig" in first
    )
    assert "sin(tengen.float32[2])" in first and "cos(tengen.float32[2])" in second and "cos(" not in first
    assert f"{__file__}:" in first and f"{__file__}:" in second
    assert not active


def test_debugging_by_the_context() -> None:
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(changing(), leaf(tengen), use_reentrant=False)
    with pytest.raises(CheckpointError, match="Operations executed during recomputation"):
        y.backward()
    with set_checkpoint_debug_enabled(False):
        y = checkpoint(changing(), leaf(tengen), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError) as found:
        y.backward()
    assert "Operations executed" not in str(found.value)
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        selective(tengen, ["sin"], allow_cache_entry_mutation=False)(torchlike, leaf(tengen), debug=True)


def torchlike(a: Any) -> Any:
    return a.sin().sum()


def test_debugging_changes_nothing_else() -> None:
    x = leaf(tengen)
    y = checkpoint(lambda a: (a.sin() * a).sum(), x, use_reentrant=False, debug=True)
    y.backward(retain_graph=True)
    y.backward()
    assert tengen.allclose(x.grad, 2 * (x.cos() * x + x.sin()).detach()) and not active


def test_determinism_check(m: Any) -> None:
    module = importlib.import_module(f"{m.__name__}.utils.checkpoint")

    def growing() -> Callable[[Any], Any]:
        sizes = iter([1, 2])

        def program(a: Any) -> Any:
            b = a.expand(next(sizes), 2)
            return (b.sin() * b.exp()).sum()

        return program

    y = module.checkpoint(growing(), leaf(m), use_reentrant=False)
    with pytest.raises(module.CheckpointError, match="different metadata"):
        y.backward()
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        module.checkpoint(growing(), leaf(m), use_reentrant=False, determinism_check="maybe")


def test_early_stop(m: Any) -> None:
    module = importlib.import_module(f"{m.__name__}.utils.checkpoint")
    ends: list[int] = []

    def program(a: Any) -> Any:
        result = a.sin().exp()
        ends.append(1)
        return result.sum()

    module.checkpoint(program, leaf(m), use_reentrant=False).backward()
    assert len(ends) == 1
    module.checkpoint(program, leaf(m), use_reentrant=False, early_stop=False).backward()
    assert len(ends) == 3
    with module.set_checkpoint_early_stop(False):
        y = module.checkpoint(program, leaf(m), use_reentrant=False)
    y.backward()
    assert len(ends) == 5


# -- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("saved", [None, ["sin"]])
def test_memory_is_let_go(saved: Any) -> None:
    """Of the parts only what is kept lives on after the first run, and nothing after backward."""
    arrays: dict[str, list[Any]] = {"sin": [], "exp": []}

    def program(a: Any) -> Any:
        s = a.sin()
        e = s.exp()
        arrays["sin"].append(weakref.ref(s._array))
        arrays["exp"].append(weakref.ref(e._array))
        return (e * s).sum()

    run = functools.partial(checkpoint, use_reentrant=False) if saved is None else selective(tengen, saved)
    gc.collect()
    gc.disable()
    try:
        y = run(program, leaf(tengen) * 1.0)
        assert arrays["exp"][0]() is None
        assert (arrays["sin"][0]() is None) is (saved is None)
        y.backward()
        assert not any(ref() is not None for refs in arrays.values() for ref in refs[1:])
        assert arrays["sin"][0]() is None
    finally:
        gc.enable()


def test_contexts_nest() -> None:
    def inner(a: Any) -> Any:
        return selective(tengen, ["exp"])(lambda b: (b.exp() * b.sin()).sum(), a)

    x = leaf(tengen)
    with set_checkpoint_early_stop(True):
        checkpoint(lambda a: inner(a) * a.sum(), x, use_reentrant=False).backward()
    w = leaf(tengen)
    ((w.exp() * w.sin()).sum() * w.sum()).backward()
    assert tengen.allclose(x.grad, w.grad)
