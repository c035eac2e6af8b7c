"""Optimisers without torch: formulas in plain NumPy, ways of computing, convergence."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optim_programs import (
    CASES,
    OPTIONS,
    allowed,
    arrays,
    convex,
    named,
    network,
    pairwise,
    parameters,
    train,
)

import tengen
from tengen import optim
from tengen.autograd import profiler
from tengen.optim import blocks, plan
from tengen.optim.line_search import Point, StrongWolfe

# -- formulas, as they stand in the papers ---------------------------------------------------------


def direction(o: dict[str, Any], p: Any, g: Any) -> Any:
    """The gradient with sign and coupled decay."""
    g = -g if o["maximize"] else g
    return g if o.get("decoupled_weight_decay") else g + o.get("weight_decay", 0) * p


def sgd(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g = direction(o, p, g)
    if o["momentum"]:
        s["b"] = g if t == 1 else o["momentum"] * s["b"] + (1 - o["dampening"]) * g
        g = g + o["momentum"] * s["b"] if o["nesterov"] else s["b"]
    return p - o["lr"] * g


def moments(o: dict[str, Any], t: int, g: Any, s: dict[str, Any]) -> tuple[Any, Any]:
    """The two running averages, with their beginning at 0 not corrected."""
    b1, b2 = o["betas"]
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    return s["m"], s["v"]


def shrunk(o: dict[str, Any], p: Any) -> Any:
    return p * (1 - o["lr"] * o["weight_decay"]) if o["decoupled_weight_decay"] else p


def adam(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    b1, b2 = o["betas"]
    m, v = moments(o, t, direction(o, p, g), s)
    if o["amsgrad"]:
        v = s["largest"] = np.maximum(s.get("largest", 0), v)
    return shrunk(o, p) - o["lr"] * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + o["eps"])


def adamw(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    return adam({**o, "decoupled_weight_decay": True, "betas": (0.9, 0.999), "eps": 1e-8}, t, p, g, s)


def rmsprop(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g = direction(o, p, g)
    s["v"] = o["alpha"] * s.get("v", 0) + (1 - o["alpha"]) * g**2
    variance = s["v"]
    if o["centered"]:
        s["mean"] = o["alpha"] * s.get("mean", 0) + (1 - o["alpha"]) * g
        variance = s["v"] - s["mean"] ** 2
    s["b"] = o["momentum"] * s.get("b", 0) + g / (np.sqrt(variance) + o["eps"])
    return p - o["lr"] * s["b"]


def adagrad(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g = direction(o, p, g)
    s["sum"] = s.get("sum", o["initial_accumulator_value"]) + g**2
    return p - o["lr"] / (1 + (t - 1) * o["lr_decay"]) * g / (np.sqrt(s["sum"]) + o["eps"])


def adadelta(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g, rho = direction(o, p, g), o["rho"]
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g**2
    d = np.sqrt(s.get("u", 0) + o["eps"]) / np.sqrt(s["v"] + o["eps"]) * g
    s["u"] = rho * s.get("u", 0) + (1 - rho) * d**2
    return p - o["lr"] * d


def adamax(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g, (b1, b2) = direction(o, p, g), o["betas"]
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["u"] = np.maximum(b2 * s.get("u", 0), np.abs(g) + o["eps"])
    return p - o["lr"] / (1 - b1**t) * s["m"] / s["u"]


def nadam(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g, (b1, b2) = direction(o, p, g), o["betas"]
    m, v = moments(o, t, g, s)
    now, later = (b1 * (1 - 0.5 * 0.96 ** (k * o["momentum_decay"])) for k in (t, t + 1))
    s["product"] = s.get("product", 1) * now
    mean = later * m / (1 - s["product"] * later) + (1 - now) * g / (1 - s["product"])
    return shrunk(o, p) - o["lr"] * mean / (np.sqrt(v / (1 - b2**t)) + o["eps"])


def radam(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    b1, b2 = o["betas"]
    m, v = moments(o, t, direction(o, p, g), s)
    m = m / (1 - b1**t)
    limit = 2 / (1 - b2) - 1
    rho = limit - 2 * t * b2**t / (1 - b2**t)
    if rho > 5:
        r = math.sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))
        m = m * r * math.sqrt(1 - b2**t) / (np.sqrt(v) + o["eps"])
    return shrunk(o, p) - o["lr"] * m


def asgd(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g = direction(o, p, g)
    eta = o["lr"] / (1 + o["lambd"] * o["lr"] * (t - 1)) ** o["alpha"]
    p = p - eta * (g + o["lambd"] * p)
    weight = 1 / max(1, t - 1 - o["t0"])
    s["ax"] = p if t == 1 else s["ax"] + weight * (p - s["ax"])
    return p


def rprop(o: dict[str, Any], t: int, p: Any, g: Any, s: dict[str, Any]) -> Any:
    g = direction(o, p, g)
    turned = np.sign(g) * np.sign(s.get("g", 0 * g))
    factor = np.select([turned > 0, turned < 0], [o["etas"][1], o["etas"][0]], 1.0)
    s["size"] = np.clip(s.get("size", o["lr"]) * factor, *o["step_sizes"])
    s["g"] = np.where(turned < 0, 0, g)
    return p - s["size"] * np.sign(s["g"])


FORMULAS: dict[str, Callable[..., Any]] = {
    "SGD": sgd,
    "Adam": adam,
    "AdamW": adamw,
    "RMSprop": rmsprop,
    "Adagrad": adagrad,
    "Adadelta": adadelta,
    "Adamax": adamax,
    "NAdam": nadam,
    "RAdam": radam,
    "ASGD": asgd,
    "Rprop": rprop,
}


@pytest.mark.parametrize(("name", "options"), CASES, ids=named)
def test_formula(name: str, options: dict[str, Any]) -> None:
    """Ten steps by gradients that do not depend on the parameter."""
    numbers = np.random.default_rng(3)
    values = [numbers.standard_normal(shape) for shape in ((4, 3), (5,), ())]
    params = [tengen.tensor(v.tolist(), dtype=tengen.float64).requires_grad_() for v in values]
    made = getattr(optim, name)(params, **options)
    states: list[dict[str, Any]] = [{} for _ in params]
    for t in range(1, 11):
        grads = [numbers.standard_normal(v.shape) for v in values]
        for p, g in zip(params, grads, strict=True):
            p.grad = tengen.tensor(g.tolist(), dtype=tengen.float64)
        made.step()
        values = [FORMULAS[name](options, t, v, g, s) for v, g, s in zip(values, grads, states, strict=True)]
        for p, v in zip(params, values, strict=True):
            # the product of NAdam's momenta and ASGD's rate are kept in float32
            rough = name in ("NAdam", "ASGD")
            np.testing.assert_allclose(p.detach().numpy(), v, rtol=0, atol=1e-6 if rough else 1e-12)


# -- ways of computing ------------------------------------------------------------------------------


def by_operators(name: str, options: dict[str, Any], dtype: str, steps: int) -> list[np.ndarray]:
    """Trained in a profile, where all is done by operators."""
    params = parameters(tengen, dtype)
    made = getattr(optim, name)(params, **options)
    with profiler.profile():
        train(tengen, network, params, made, steps)
    return arrays(params)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=named)
def test_arrays_and_operators_agree(name: str, options: dict[str, Any], dtype: str) -> None:
    params = parameters(tengen, dtype)
    made = getattr(optim, name)(params, **options)
    train(tengen, network, params, made, 8)
    assert all(not found.rest for found in made._plans.values())
    for a, b in zip(arrays(params), by_operators(name, options, dtype, 8), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=5e-5 if dtype == "float32" else 1e-12)


@pytest.mark.usefixtures("threads_kept")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", OPTIONS)
def test_large_parameters(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, with one that is not full, in threads: what one pass over all would give."""
    numbers = np.random.default_rng(5)
    size = 5 * blocks.CHUNK + 77
    monkeypatch.setattr(blocks, "GRAIN", blocks.CHUNK)
    tengen.set_num_threads(threads)
    start = numbers.standard_normal(size)
    options = {"lr": 0.01, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})}
    large = tengen.tensor(start).requires_grad_()
    pieces = [tengen.tensor(start[i : i + 999]).requires_grad_() for i in range(0, size, 999)]
    one, many = (getattr(optim, name)(found, **options) for found in ([large], pieces))
    for _ in range(3):
        grad = numbers.standard_normal(size)
        large.grad = tengen.tensor(grad)
        for i, p in enumerate(pieces):
            p.grad = tengen.tensor(grad[999 * i : 999 * (i + 1)])
        one.step()
        many.step()
    together = np.concatenate([p.detach().numpy() for p in pieces])
    np.testing.assert_allclose(large.detach().numpy(), together, rtol=0, atol=1e-13)


def test_small_parameters_go_together() -> None:
    """Their states are views of one array; each is the parameter's own all the same."""
    params = [tengen.randn(4, 3, requires_grad=True) for _ in range(5)]
    made = optim.Adam(params, lr=0.1)
    train(tengen, convex, params, made, 2)
    (found,) = made._plans.values()
    assert [type(p) for p in found.passes] == [plan.Together]
    state = made.state[params[1]]
    state["exp_avg"].zero_()
    state["exp_avg_sq"].fill_(1.0)
    value, others = params[1].detach().clone(), [p.detach().clone() for p in params]
    params[1].grad = tengen.zeros(4, 3)
    for p in params[:1] + params[2:]:
        p.grad = None
    made.step()  # of this one alone
    assert params[1].equal(value)
    assert all(p.equal(o) for p, o in zip(params, others, strict=True))
    assert state["step"].item() == 3
    assert made.state[params[0]]["step"].item() == 2
    train(tengen, convex, params, made, 2)  # together again, with counts that differ
    assert [type(p) for p in made._plans[0].passes] == [plan.Together]
    assert [made.state[p]["step"].item() for p in params] == [4, 5, 4, 4, 4]


@pytest.mark.parametrize("name", OPTIONS)
def test_counts_that_differ(name: str) -> None:
    """Parameters that had no gradient in some steps: each is as if it were alone."""
    numbers = np.random.default_rng(2)
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    start = [numbers.standard_normal(3) for _ in range(4)]
    params = [tengen.tensor(v).requires_grad_() for v in start]
    alone = [tengen.tensor(v).requires_grad_() for v in start]
    made = getattr(optim, name)(params, lr=0.01, **options)
    single = [getattr(optim, name)([p], lr=0.01, **options) for p in alone]
    for step in range(8):
        for i, (p, q) in enumerate(zip(params, alone, strict=True)):
            wanted = step >= 5 or (step + i) % 3 > 0
            grad = numbers.standard_normal(3)
            p.grad = tengen.tensor(grad) if wanted else None
            q.grad = tengen.tensor(grad) if wanted else None
        made.step()
        for o in single:
            o.step()
        for p, q in zip(params, alone, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_replaced_is_seen(name: str) -> None:
    """Data, states, state dicts and options that a user replaces between steps: as in a new optimiser."""
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    params = parameters(tengen, "float64")
    made = getattr(optim, name)(params, lr=0.01, **options)
    train(tengen, network, params, made, 3)
    for p in params:
        p.data = p.detach() * 1.5
        for key, value in made.state[p].items():
            made.state[p][key] = value.clone()
    made.param_groups[0]["lr"] = 0.02
    fresh = [p.detach().clone().requires_grad_() for p in params]
    other = getattr(optim, name)(fresh, lr=0.02, **options)
    other.load_state_dict(copy.deepcopy(made.state_dict()))
    train(tengen, network, params, made, 3)
    train(tengen, network, fresh, other, 3)
    for a, b in zip(arrays(params), arrays(fresh), strict=True):
        # loading makes NAdam's product of momenta a float64, as in torch
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 if name == "NAdam" else 1e-13)
    del made.state[params[0]]
    train(tengen, network, params, made, 1)
    if name != "SGD":
        assert made.state[params[0]]["step"].item() == 1


def test_memory_that_is_shared() -> None:
    """Parameters that are windows of one another are changed one after the other."""
    base = tengen.ones(4)
    params = [base.detach().requires_grad_(), base[1:].detach().requires_grad_()]
    for p in params:
        p.grad = tengen.ones(p.shape)
    optim.SGD(params, lr=0.25).step()
    assert base.tolist() == [0.75, 0.5, 0.5, 0.5]


def test_states_that_somebody_holds_stay_where_they_are() -> None:
    """A NumPy array of a state that was loaded goes on to show it."""
    params = [tengen.ones(3, requires_grad=True) for _ in range(2)]
    made = optim.SGD(params, lr=0.1, momentum=0.5)
    buffers = [tengen.ones(3), tengen.ones(3)]
    seen = buffers[0].numpy()
    state = {i: {"momentum_buffer": b} for i, b in enumerate(buffers)}
    made.load_state_dict({**made.state_dict(), "state": state})
    for p in params:
        p.grad = tengen.zeros(3)
    made.step()
    assert seen.tolist() == [0.5, 0.5, 0.5]
    assert made.state[params[1]]["momentum_buffer"] is buffers[1]
    assert buffers[1].tolist() == [0.5, 0.5, 0.5]


def test_meta_parameters() -> None:
    """Without data there is nothing to compute, but states get their shapes."""
    p = tengen.ones(3, 2, device="meta", requires_grad=True)
    p.grad = tengen.ones(3, 2, device="meta")
    for name in OPTIONS:
        made = getattr(optim, name)([p])
        made.step()
        for key, value in made.state[p].items():
            assert value.shape == (() if key in (*made._declared.counters, "step") else (3, 2))


# -- what they are for ----------------------------------------------------------------------------------

RATES = {"SGD": 0.02, "Adadelta": 5.0, "Adagrad": 0.5, "RAdam": 0.1}


@pytest.mark.parametrize("name", OPTIONS)
def test_convergence(name: str) -> None:
    """To the minimum of a square with a condition number of 20."""
    target = tengen.tensor([1.0, -2.0, 0.5])
    weights = tengen.tensor([1.0, 20.0, 5.0])
    x = tengen.zeros(3, requires_grad=True)
    made = getattr(optim, name)([x], lr=RATES.get(name, 0.05))
    for step in range(600):
        if step == 500:
            made.param_groups[0]["lr"] *= 0.1
        made.zero_grad()
        (weights * (x - target) ** 2).sum().backward()
        made.step()
    np.testing.assert_allclose(x.detach().numpy(), target.numpy(), atol=0.02)


def test_the_first_step_of_lbfgs_is_short() -> None:
    """Nothing is known of the curvature: a gradient whose sizes sum up to more than 1 is divided by that."""
    for scale in (1.0, 0.01):
        x = tengen.tensor([3.0 * scale, -4.0 * scale], dtype=tengen.float64, requires_grad=True)
        made = optim.LBFGS([x], lr=0.5, max_iter=1)
        before, gradient = x.detach().numpy().copy(), 2 * x.detach().numpy()
        made.step(closure_of(made, x, lambda x: (x * x).sum()))
        length = 0.5 * min(1.0, 1.0 / np.abs(gradient).sum())
        np.testing.assert_allclose(x.detach().numpy(), before - length * gradient, rtol=1e-12)


def test_the_search_of_lbfgs_goes_on_while_it_is_steep() -> None:
    """A step that is much too short lowers the loss, too: the second of Wolfe's conditions refuses it."""
    x, direction = (tengen.tensor([v], dtype=tengen.float64) for v in (10.0, -10.0))

    def objective(t: float) -> tuple[float, Any]:
        at = x + t * direction
        return (at * at).sum().item() / 2, at

    start = Point(0.0, *objective(0.0), x.dot(direction))
    found = StrongWolfe(objective, start, direction, limit=25).search(1e-4)
    assert found.loss <= start.loss + 1e-4 * found.t * start.slope
    assert abs(found.slope) <= 0.9 * abs(start.slope)


def closure_of(made: Any, x: Any, loss: Callable[[Any], Any]) -> Callable[[], Any]:
    """What LBFGS calls: the loss, with its gradient in ``x.grad``."""

    def closure() -> Any:
        made.zero_grad()
        value = loss(x)
        value.backward()
        return value

    return closure


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_converges(search: str | None) -> None:
    """Rosenbrock's valley."""
    x = tengen.tensor([-1.2, 1.0], dtype=tengen.float64, requires_grad=True)
    made = optim.LBFGS([x], lr=1 if search else 0.1, line_search_fn=search, max_iter=20)

    def closure() -> Any:
        made.zero_grad()
        loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        loss.backward()
        return loss

    for _ in range(30):
        made.step(closure)
    np.testing.assert_allclose(x.detach().numpy(), [1, 1], atol=1e-3)


def test_pairs_of_options_are_complete() -> None:
    """The choice of options that the tests above go through has all pairs."""
    for name, values in OPTIONS.items():
        found = pairwise(name)
        assert all(allowed(name, options) for options in found)
        for key, choices in values.items():
            assert {options[key] for options in found} == set(choices)
        assert len(found) < math.prod(map(len, values.values())) or len(found) <= 6
