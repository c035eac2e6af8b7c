"""Trajectories beside torch's: the same program in both libraries, to rounding."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from optim_programs import CASES, OPTIONS, PROBLEMS, arrays, groups, named, network, parameters, train

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

STEPS = 60
#: A few units in the last place, for numbers of the size of 1.
ROUNDING = {"float32": 2e-6, "float64": 4e-15}


def compare(run: Callable[[ModuleType, list[Any]], Any], dtype: str, seed: int = 0) -> None:
    """Both run from the same parameters; how far rounding may lead is seen from torch, begun beside them."""
    ours = run(tengen, parameters(tengen, dtype, seed))
    theirs = run(torch, parameters(torch, dtype, seed))
    beside = parameters(torch, dtype, seed)
    with torch.no_grad():
        for p in beside:
            p.mul_(1 + ROUNDING[dtype])
    apart = run(torch, beside)
    unit = ROUNDING[dtype]
    bound = 0.0
    for step, states in enumerate(zip(ours, theirs, apart, strict=True)):
        bound = max(bound, *[float(np.abs(b - c).max(initial=0)) for _, b, c in zip(*states, strict=True)])
        for a, b, _ in zip(*states, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=20 * unit + 100 * bound, err_msg=f"step {step}")
    assert bound < 1e-2, "torch's own trajectories lead apart: nothing is compared"


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("name", "options"), CASES, ids=named)
def test_trajectory(name: str, options: dict[str, Any], problem: str, dtype: str) -> None:
    """Two groups, all pairs of options."""

    def run(m: ModuleType, params: list[Any]) -> Any:
        made = getattr(m.optim, name)(groups(params, options), **options)
        return train(m, PROBLEMS[problem], params, made, STEPS)

    compare(run, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", OPTIONS)
def test_half_precision(name: str, dtype: str) -> None:
    """Where each operator rounds, trajectories stay together for some steps."""
    seen = []
    for m in (tengen, torch):
        params = [p.detach().to(getattr(m, dtype)).requires_grad_() for p in parameters(m, "float32")]
        made = getattr(m.optim, name)(params, lr=1e-2)
        for step in range(5):
            for i, p in enumerate(params):
                p.grad = (0.5 * p.detach() + 0.1 * (i + step)).to(p.dtype)
            made.step()
        seen.append([p.detach().to(m.float32).numpy() for p in params])
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=0.03)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1, "maximize": True}], ids=named)
@pytest.mark.parametrize("name", OPTIONS)
def test_complex_parameters(name: str, options: dict[str, Any], dtype: str) -> None:
    """They are treated as pairs of real ones."""
    options = {k: v for k, v in options.items() if k in OPTIONS[name]}
    numbers = np.random.default_rng(0)
    start = [numbers.standard_normal(s) + 1j * numbers.standard_normal(s) for s in ((4, 3), (), (3, 4))]
    seen = []
    for m in (tengen, torch):
        params = [m.tensor(v.tolist(), dtype=getattr(m, dtype)) for v in start]
        params = [p.requires_grad_() for p in (*params[:2], params[2].t())]  # one is not contiguous
        made = getattr(m.optim, name)(params, lr=1e-2, **options)
        for step in range(20):
            for p in params:
                p.grad = (0.5 * p.detach() + (0.1 + 0.2j) * (step % 3 - 1)).to(p.dtype)
            made.step()
        seen.append(arrays(params))
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 if dtype == "complex64" else 1e-13)


@pytest.mark.parametrize("name", OPTIONS)
def test_layouts(name: str) -> None:
    """Transposed, sliced and expanded-from parameters, gradients of other layouts."""
    numbers = np.random.default_rng(1)
    start = numbers.standard_normal((6, 8))
    seen = []
    for m in (tengen, torch):
        whole = [m.tensor(start.tolist(), dtype=m.float64) for _ in range(3)]
        params = [whole[0].t(), whole[1][::2, 1:5], whole[2].reshape(2, 3, 8).transpose(0, 1)]
        params = [p.detach().requires_grad_() for p in params]
        made = getattr(m.optim, name)(params, lr=1e-2)
        for step in range(10):
            for p in params:
                p.grad = (p.detach().clone() * 0.5 + 0.1 * step).contiguous()
            made.step()
        seen.append([*arrays(params), *arrays(whole)])
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", OPTIONS)
def test_state_dict_between_libraries(name: str) -> None:
    """The same keys and kinds of values; ours goes on from torch's, and torch from ours, in the middle."""
    options = {"lr": 0.05, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})}
    made, params = {}, {}
    for m in (tengen, torch):
        params[m] = parameters(m, "float64")
        made[m] = getattr(m.optim, name)(groups(params[m], options), **options)
        train(m, network, params[m], made[m], 10)
    saved = {m: made[m].state_dict() for m in made}
    assert described(saved[tengen]) == described(saved[torch])
    there, here = train(torch, network, params[torch], made[torch], 10, 10), []
    for source, target in ((torch, tengen), (tengen, torch)):
        fresh = parameters(target, "float64", seed=9)
        again = getattr(target.optim, name)(groups(fresh, options), **options)
        again.load_state_dict(converted(saved_after(source, name, options), target))
        with target.no_grad():
            for p, value in zip(fresh, start_of(source, name, options), strict=True):
                p.copy_(target.tensor(value.tolist(), dtype=target.float64).reshape(value.shape))
        here.append(train(target, network, fresh, again, 10, 10))
    for seen in here:
        for a, b in zip(seen, there, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_allclose(x, y, rtol=0, atol=1e-7)


def first_half(m: ModuleType, name: str, options: dict[str, Any]) -> tuple[list[Any], Any]:
    """Ten steps of training."""
    params = parameters(m, "float64")
    made = getattr(m.optim, name)(groups(params, options), **options)
    train(m, network, params, made, 10)
    return params, made


def saved_after(m: ModuleType, name: str, options: dict[str, Any]) -> Any:
    return first_half(m, name, options)[1].state_dict()


def start_of(m: ModuleType, name: str, options: dict[str, Any]) -> list[np.ndarray]:
    return arrays(first_half(m, name, options)[0])


def described(value: Any) -> Any:
    """A state dict with the kinds of its leaves in place of them."""
    if isinstance(value, dict):
        return {k: described(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(v) for v in value]
    if hasattr(value, "dtype"):
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), value.requires_grad
    return type(value).__name__, value


def converted(value: Any, m: ModuleType) -> Any:
    """A state dict with tensors of the other library."""
    if isinstance(value, dict):
        return {k: converted(v, m) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([converted(v, m) for v in value])
    if hasattr(value, "dtype"):
        dtype = getattr(m, str(value.dtype).rpartition(".")[2])
        return m.tensor(value.tolist(), dtype=dtype).reshape(tuple(value.shape))
    return value


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize(
    "options", [{}, {"history_size": 3}, {"max_iter": 4, "max_eval": 6}, {"lr": 0.2}], ids=named
)
@pytest.mark.parametrize("problem", ["network", "rosenbrock"])
def test_lbfgs(problem: str, options: dict[str, Any], search: str | None) -> None:
    """Losses, parameters and counts."""
    seen = []
    for m in (tengen, torch):
        params = parameters(m, "float64") if problem == "network" else [valley(m)]
        options = {"lr": 0.1 if search is None else 1, **options}
        made = m.optim.LBFGS(params, line_search_fn=search, **options)
        calls = []

        def closure(m: Any = m, params: Any = params, made: Any = made, calls: Any = calls) -> Any:
            made.zero_grad()
            loss = network(m, params, 0) if problem == "network" else rosenbrock(params[0])
            loss.backward()
            calls.append(loss.item())
            return loss

        for _ in range(2):  # later on rounding decides, in torch as well
            made.step(closure)
        state = made.state_dict()["state"][0]
        counts = state["func_evals"], state["n_iter"], len(state["old_dirs"]), sorted(state)
        seen.append((calls, arrays(params), counts))
    assert seen[0][2] == seen[1][2]
    np.testing.assert_allclose(seen[0][0], seen[1][0], rtol=1e-5, atol=1e-12)
    for a, b in zip(seen[0][1], seen[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5)


def valley(m: ModuleType) -> Any:
    return m.tensor([-1.2, 1.0, 0.5], dtype=m.float64, requires_grad=True)


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
