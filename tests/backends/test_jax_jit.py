"""``tengen.jax.jit``: compiled functions do as the functions do, and say what they cannot."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
import tengen.nn.functional as F
from tengen import nn

jax = pytest.importorskip("jax", reason="NOT TESTED: JAX is not installed")

tj = tengen.jax


def close(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    """The same shape, dtype, device and numbers."""
    assert found.dtype is expected.dtype and found.device == expected.device
    mine, its = (t.detach().numpy() for t in (found, expected))
    np.testing.assert_allclose(mine, its, rtol=rtol, atol=1e-12)


def there(*size: int, seed: int = 0, dtype: Any = tengen.float64) -> Any:
    return tengen.randn(*size, dtype=dtype, generator=tengen.Generator().manual_seed(seed)).to("jax")


class Counted:
    """A function, and how often Python ran it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


# -- trees, static values, traces


def test_trees_go_in_and_come_out() -> None:
    counted = Counted(
        lambda p, *rows, more: {"y": [r @ p["w"] + more for r in rows], "n": ("two", 2, p["w"])}
    )
    function = tj.jit(counted)
    p, x = {"w": there(3, 2)}, there(4, 3, seed=1)
    for more in (there(2, seed=2), there(2, seed=3)):
        found = function(p, x, x * 2, more=more)
        for mine, its in zip(found["y"], (x @ p["w"] + more, 2 * x @ p["w"] + more), strict=True):
            close(mine, its)
        assert found["n"][:2] == ("two", 2) and found["n"][2] is p["w"]
    assert counted.calls == 1


def test_it_is_traced_anew_for_shapes_dtypes_and_values() -> None:
    counted = Counted(lambda x, n, flag=False: x * n if flag else x + n)
    function = tj.jit(counted)
    x = there(3)
    close(function(x, 2), x + 2)
    close(function(x, 3), x + 3)
    close(function(x, 3.0), x + 3)
    close(function(x, True), x + True)
    close(function(x, 1), x + 1)
    assert counted.calls == 5
    close(function(x, 2, flag=True), x * 2)
    close(function(x.float(), 2), x.float() + 2)
    close(function(there(2, 2), 2), there(2, 2) + 2)
    assert counted.calls == 8
    function(x, 2), function(x, 3, flag=False)
    assert counted.calls == 9
    with tengen.no_grad():
        function(x, 2)
    assert counted.calls == 10


def test_static_arguments_are_whole_values() -> None:
    class Config:
        scale = 3.0

    counted = Counted(lambda x, config, *, power: (x * config.scale) ** power)
    function = tj.jit(counted, static_argnums=1, static_argnames="power")
    x, config = there(3), Config()
    close(function(x, config, power=2), (x * 3) ** 2)
    close(function(x, config, power=2), (x * 3) ** 2)
    assert counted.calls == 1

    @tj.jit(static_argnames=["n"])
    def repeated(x: Any, n: Any) -> Any:
        return x.repeat(n)

    assert repeated(x, (2,)).shape == (6,) and repeated(x, n=(3,)).shape == (9,)
    assert repeated.__name__ == "repeated" and repeated.__wrapped__(x, (2,)).shape == (6,)


# -- derivatives

X = there(5, 4, seed=3)
DERIVATIVES = {
    "grad": lambda w: tengen.func.grad(lambda w: (X @ w).tanh().sum())(w),
    "backward": lambda w: _backward(w),
    "autograd.grad twice": lambda w: _twice(w),
    "hessian": lambda w: tengen.func.hessian(lambda w: (X @ w).exp().sum())(w),
    "jvp": lambda w: tengen.func.jvp(lambda w: (X @ w).sin(), (w,), (w,))[1],
    "vmap of grad": lambda w: tengen.func.vmap(tengen.func.grad(lambda x: (x @ w).cos()))(X),
    "checkpoint": lambda w: _checkpoint(w),
}


def _backward(w: Any) -> Any:
    leaf = w.detach().requires_grad_()
    (X @ leaf).square().sum().backward()
    return leaf.grad


def _twice(w: Any) -> Any:
    leaf = w.detach().requires_grad_()
    (first,) = tengen.autograd.grad((X @ leaf).exp().sum(), leaf, create_graph=True)
    return tengen.autograd.grad(first.square().sum(), leaf)[0]


def _checkpoint(w: Any) -> Any:
    from tengen.utils.checkpoint import checkpoint

    leaf = w.detach().requires_grad_()
    checkpoint(lambda t: (X @ t).tanh(), leaf, use_reentrant=False).sum().backward()
    return leaf.grad


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_compiled(name: str) -> None:
    w = there(4, seed=4)
    close(tj.jit(DERIVATIVES[name])(w), DERIVATIVES[name](w))


# -- what a function writes


class Network(nn.Module):
    """A network with buffers that training writes to."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm, self.outer = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, rows: Any) -> Any:
        return self.outer(self.norm(self.inner(rows)).relu())


def step(model: Any, optimiser: Any, rows: Any, labels: Any) -> Any:
    optimiser.zero_grad()
    loss = F.cross_entropy(model(rows), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss


OPTIMISERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"amsgrad": True},
    "AdamW": {"weight_decay": 0.1},
    "Adamax": {},
    "Adadelta": {"lr": 1.0},
    "NAdam": {},
    "RAdam": {"lr": 0.01},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Rprop": {},
    "ASGD": {"lr": 0.1, "t0": 3.0},
}


def trained(name: str, device: str, compile: Any, make: Callable[[], Any], **more: Any) -> Any:
    """The losses of some steps, the model, the optimiser, and how often each parameter was written."""
    tengen.manual_seed(0)
    model = make().double().to(device)
    optimiser = getattr(tengen.optim, name)(model.parameters(), **OPTIMISERS[name], **more)
    rows, labels = there(16, 6, seed=5).to(device), (tengen.arange(16) % 3).to(device)
    versions = [p._version for p in model.parameters()]
    losses = [compile(model, optimiser, rows, labels).item() for _ in range(7)]
    return (
        losses,
        model,
        optimiser,
        [p._version - v for p, v in zip(model.parameters(), versions, strict=True)],
    )


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimiser_step_is_compiled(name: str) -> None:
    """Parameters, gradients, buffers and states are as without jit on the CPU."""
    make = Network if name in ("SGD", "Adam") else lambda: nn.Linear(6, 3)
    counted = Counted(step)
    more = {} if name == "SGD" else {"capturable": True}
    run = tj.jit(counted, donate_argnums=(0, 1))
    losses, model, optimiser, writes = trained(name, "jax", run, make, **more)
    expected, alike, other, _ = trained(name, "cpu", step, make)
    assert expected[-1] < expected[0] and counted.calls == 2  # without states, and with them
    # Captured counts are float32, as in PyTorch.
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for mine, its in zip(model.state_dict().values(), alike.state_dict().values(), strict=True):
        np.testing.assert_allclose(mine.cpu().numpy(), its.numpy(), rtol=1e-3, atol=1e-4)
    for mine, its in zip(model.parameters(), alike.parameters(), strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), its.grad.numpy(), rtol=1e-3, atol=1e-4)
        assert list(optimiser.state[mine]) == list(other.state[its])
        assert mine.is_leaf and mine.requires_grad
    assert set(writes) == {7}


def test_a_rate_in_a_tensor_changes_without_a_new_trace() -> None:
    counted = Counted(step)
    run = tj.jit(counted)
    for make in (
        lambda p: tengen.optim.SGD(p, lr=tengen.tensor(0.1, dtype=tengen.float64).to("jax")),
        lambda p: tengen.optim.Adam(
            p, lr=tengen.tensor(0.1, dtype=tengen.float64).to("jax"), capturable=True
        ),
    ):
        model, rows, labels = (
            nn.Linear(6, 3).double().to("jax"),
            there(8, 6),
            (tengen.arange(8) % 3).to("jax"),
        )
        optimiser = make(model.parameters())
        run(model, optimiser, rows, labels), run(model, optimiser, rows, labels)
        calls, before = counted.calls, model.weight.detach().clone()
        optimiser.param_groups[0]["lr"].fill_(0.0)
        run(model, optimiser, rows, labels)
        assert counted.calls == calls and tengen.equal(model.weight, before)


def test_writes_reach_who_shares_the_elements() -> None:
    base = there(2, 3)
    before, view, detached = base.clone(), base[1], base.detach()
    function = tj.jit(lambda t: (t.add_(1), t[0].mul_(2)))
    first, row = function(base)
    assert first is base
    expected = before + 1
    expected[0] *= 2
    for found, part in ((base, expected), (view, expected[1]), (detached, expected), (row, expected[0])):
        close(found, part)
    assert base._version == 1


def test_modules_are_known_by_their_mode() -> None:
    tengen.manual_seed(0)
    model, x = Network().double().to("jax"), there(9, 6)
    run = tj.jit(lambda model, x: model(x).detach())
    trained = run(model, x)
    mean = model.norm.running_mean.clone()
    assert not tengen.equal(mean, tengen.zeros_like(mean))
    model.eval()
    assert not np.allclose(run(model, x).numpy(), trained.numpy())
    close(model.norm.running_mean, mean)


def test_donated_memory_is_used() -> None:
    x, kept = there(64, 64), there(64, 64)
    array = x._array
    function = tj.jit(lambda x, y: x.mul_(2).add_(y), donate_argnums=0)
    function(x, kept)
    close(x, there(64, 64) * 3)
    assert array.is_deleted() and not kept._array.is_deleted()
    given = there(8)
    made = tj.jit(lambda x: x + 1, donate_argnames="x")(given)
    close(made, there(8) + 1)
    with pytest.raises((RuntimeError, ValueError), match=r"add: .* deleted"):
        given + 1


def test_calls_nest() -> None:
    inner = tj.jit(lambda w, x: (w @ x).sin())
    w, x = there(3, 3), there(3)
    close(tj.jit(lambda w, x: inner(w, x) + inner(w, inner(w, x)))(w, x), inner(w, x) + inner(w, inner(w, x)))


# -- keys


def test_a_generator_is_an_argument_and_goes_on() -> None:
    generator = tengen.Generator("jax")
    drawn = tj.jit(lambda g: tengen.rand(3, device="jax", generator=g))
    generator.manual_seed(4)
    found = [drawn(generator).tolist() for _ in range(3)]
    generator.manual_seed(4)
    assert found == [tengen.rand(3, device="jax", generator=generator).tolist() for _ in range(3)]
    dropped = tj.jit(lambda x: F.dropout(x, 0.5))
    x = tengen.ones(64, device="jax")
    with tj.use_generator(generator.manual_seed(1)):
        first, second = dropped(x), dropped(x)
    with tj.use_generator(generator.manual_seed(1)):
        assert F.dropout(x, 0.5).tolist() == first.tolist() != second.tolist()


# -- what is wrong

x = there(4)
w = there(4, seed=1).requires_grad_()
model = nn.Linear(4, 2).double().to("jax")
far = tengen.tensor([0, 9]).to("jax")


def _leaf_gets_gradient(x: Any) -> None:
    (w * x).sum().backward()


VALUES: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x.sum().item(),
    "__bool__": lambda x: x if x.sum() > 0 else -x,
    "__float__": lambda x: float(x[0]),
    "__index__": lambda x: [1, 2][x.long().sum()],
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "cpu": lambda x: x.cpu(),
    "nonzero": lambda x: x.nonzero(),
    "masked_select": lambda x: x.masked_select(x > 0),
    "index": lambda x: x[x > 0],
    "unique": lambda x: x.unique(),
    "bincount": lambda x: x.long().abs().bincount(),
    "repeat_interleave": lambda x: x.repeat_interleave(x.long().abs()),
    "equal": lambda x: tengen.equal(x, x),
    "rand": lambda x: tengen.rand(2, device="jax"),
    "native_dropout": lambda x: F.dropout(x),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_is_asked_for_is_told_with_operator_and_line(name: str) -> None:
    function = VALUES[name]
    line = function.__code__.co_firstlineno
    with pytest.raises(tj.TracedValueError) as caught:
        tj.jit(function)(x)
    text = str(caught.value)
    assert text.startswith(f"{name}: needs ") and f"test_jax_jit.py, line {line})" in text
    assert "which jax.jit does not know while it traces" in text


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tj.jit(3), TypeError, "jit(): argument 'fun' must be callable, not int"),
    (
        lambda: tj.jit(lambda a: a, static_argnums=2),
        ValueError,
        "static_argnums has 2, but there are 1 arguments",
    ),
    (
        lambda: tj.jit(lambda a: a, donate_argnames="b"),
        ValueError,
        "donate_argnames has 'b', which is no argument",
    ),
    (lambda: tj.jit(lambda a: a)(tengen.ones(2)), TypeError, "argument 'a' has a Tensor on cpu, not on jax"),
    (
        lambda: tj.jit(lambda a, b: a)(x, [np.ones(2)]),
        TypeError,
        "argument 'b' has a numpy.ndarray, which is not",
    ),
    (
        lambda: tj.jit(lambda a: a, static_argnums=0)({}),
        TypeError,
        "argument 'a' has a dict, which is not hashable",
    ),
    (
        lambda: tj.jit(lambda m: m)(nn.Linear(2, 2)),
        TypeError,
        "argument 'm' has 'weight', a Tensor on cpu, not on",
    ),
    (
        lambda: tj.jit(lambda a: a)(w * 2),
        RuntimeError,
        "argument 'a' has a history, through which no gradient",
    ),
    (lambda: tj.jit(lambda a, b: a)(x, x[1:]), RuntimeError, "two arguments are views of the same memory"),
    (
        lambda: tengen.vmap(tj.jit(lambda a: a))(x),
        RuntimeError,
        "'a' is being transformed by a function of tengen",
    ),
    (
        lambda: tengen.func.grad(tj.jit(lambda a: a.sum()))(x),
        RuntimeError,
        "argument 'a' is being transformed",
    ),
    (lambda: tj.jit(lambda a: a._array)(x), TypeError, "a result is an array of JAX's"),
    (lambda: tj.jit(lambda a: tengen.ones(2))(x), TypeError, "a result is a Tensor on cpu, not on jax"),
    (
        lambda: tj.jit(lambda a: setattr(a, "data", a[:2]))(x.clone()),
        RuntimeError,
        "makes of a tensor of shape (4,)",
    ),
    (
        lambda: tj.jit(_leaf_gets_gradient)(x),
        RuntimeError,
        "is no argument of the function gets a gradient (first",
    ),
    (
        lambda: tj.jit(lambda a: x.add_(a))(w.detach().clone()),
        RuntimeError,
        "function is written to (first used in",
    ),
    (
        lambda: tj.jit(lambda a: x[1:].mul_(a[0]))(w.detach().clone()),
        RuntimeError,
        "function is written to (first",
    ),
    (
        lambda: tj.jit(lambda a: model.weight.data.zero_() + a)(x),
        RuntimeError,
        "function is written to (first used",
    ),
    (
        lambda: tj.jit(lambda a: a + tengen.ones(4))(x),
        RuntimeError,
        "add: Expected all tensors to be on the same",
    ),
    (
        lambda: tj.jit(lambda g: g)(tengen.Generator()),
        TypeError,
        "must be a Generator on jax, not one on cpu",
    ),
    (
        lambda: tj.jit(lambda o: o.step())(_adam()),
        TypeError,
        "the state 'step' of Adam, a Tensor on cpu (capturable=True has it counted there), not on jax",
    ),
]


def _adam() -> Any:
    model.zero_grad()
    model(x).sum().backward()
    return tengen.optim.Adam(model.parameters())


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda i: re.sub(r"\W+", "_", WRONG[i][2])[:40])
def test_what_is_wrong_is_told_and_leaves_all_as_it_was(number: int) -> None:
    call, kind, text = WRONG[number]
    before = [x.tolist(), w.tolist(), model.weight.tolist()]
    with pytest.raises(kind, match=re.escape(text)):
        call()
    assert [x.tolist(), w.tolist(), model.weight.tolist()] == before and w.grad is None


def test_an_error_of_the_function_leaves_all_as_it_was() -> None:
    tengen.manual_seed(0)
    model = Network().double().to("jax")
    optimiser = tengen.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    generator = tengen.Generator("jax").manual_seed(0)
    before = {name: t.tolist() for name, t in model.state_dict().items()}

    def failing(model: Any, optimiser: Any, generator: Any, rows: Any) -> None:
        tengen.rand(2, device="jax", generator=generator)
        step(model, optimiser, rows, (tengen.arange(4) % 3).to("jax"))
        raise ValueError("mine")

    run = tj.jit(failing, donate_argnums=(0, 1))
    for _ in range(2):
        with pytest.raises(ValueError, match="mine"):
            run(model, optimiser, generator, there(4, 6))
    assert {name: t.tolist() for name, t in model.state_dict().items()} == before
    assert not optimiser.state and all(p.grad is None for p in model.parameters())
    assert (
        tengen.rand(2, device="jax", generator=generator).tolist()
        == tengen.rand(2, device="jax", generator=tengen.Generator("jax").manual_seed(0)).tolist()
    )
