"""What all optimisers share: groups, states, hooks, errors, saving; here and in torch."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from optim_programs import OPTIONS, arrays, convex, network, parameters, train

import tengen
from tengen.autograd import profiler

NAMES = [*OPTIONS, "LBFGS"]


def one(m: ModuleType, *shape: int) -> Any:
    return m.ones(*(shape or (3,)), requires_grad=True)


def base(m: ModuleType) -> Any:
    """The module of the base class, which torch hides."""
    return importlib.import_module(f"{m.__name__}.optim.optimizer")


def test_groups(m: ModuleType) -> None:
    """Options of a group come before the defaults; a group may be added later."""
    a, b, c = one(m), one(m), one(m)
    made = m.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1, momentum=0.9)
    made.add_param_group({"params": iter([c]), "momentum": 0.5})
    assert [(g["lr"], g["momentum"], len(g["params"])) for g in made.param_groups] == [
        (0.1, 0.9, 1),
        (0.5, 0.9, 1),
        (0.1, 0.5, 1),
    ]
    assert made.param_groups[1]["params"][0] is b
    assert made.defaults["lr"] == 0.1
    for p in (a, b, c):
        p.grad = m.ones(3)
    made.step()
    assert [round(p[0].item(), 6) for p in (a, b, c)] == [0.9, 0.5, 0.9]


def test_named_parameters(m: ModuleType) -> None:
    a, b = one(m), one(m)
    made = m.optim.Adam([("a", a), ("b", b)])
    assert made.param_groups[0]["param_names"] == ["a", "b"]
    assert made.param_groups[0]["params"][1] is b
    assert made.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="with/without names"):
        made.add_param_group({"params": [one(m)]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        m.optim.Adam([("a", one(m)), one(m)])
    other = m.optim.Adam([("x", one(m)), ("y", one(m))])
    other.load_state_dict(made.state_dict())
    assert other.param_groups[0]["param_names"] == ["a", "b"]


def test_bad_parameters(m: ModuleType) -> None:
    sgd = m.optim.SGD
    a = one(m)
    with pytest.raises(TypeError, match="should be an iterable of Tensors or dicts, but got"):
        sgd(a, lr=0.1)
    with pytest.raises(ValueError, match="empty parameter list"):
        sgd([], lr=0.1)
    with pytest.raises(TypeError, match="can only optimize Tensors"):
        sgd([a, 3], lr=0.1)
    with pytest.raises(ValueError, match="non-leaf"):
        sgd([a * 2], lr=0.1)
    with pytest.raises(TypeError, match="ordered collections"):
        sgd([{"params": {a}}], lr=0.1)
    with pytest.raises(ValueError, match="more than one parameter group"):
        sgd([{"params": [a]}, {"params": [a]}], lr=0.1)
    with pytest.raises(TypeError, match="param_group must be a dict"):
        sgd([a], lr=0.1).add_param_group([a])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        sgd([a, a], lr=0.1)
    with pytest.raises(ValueError, match="didn't specify a value of required"):
        m.optim.Optimizer([a], {"lr": base(m).required})


def test_a_tensor_that_retains_its_gradient(m: ModuleType) -> None:
    a = one(m)
    b = a * 2
    b.retain_grad()
    made = m.optim.SGD([b], lr=0.1)
    (b * b).sum().backward()
    made.step()
    assert b.tolist() == pytest.approx([1.6] * 3)


BAD_OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    *[(name, {"lr": -1}, "Invalid learning rate: -1") for name in NAMES],
    *[(n, {"weight_decay": -1}, "Invalid weight_decay value: -1") for n in OPTIONS if n != "Rprop"],
    *[
        (n, {"betas": (1.0, 0.9)}, "beta parameter at index 0: 1.0")
        for n in ("Adam", "AdamW", "Adamax", "NAdam")
    ],
    *[(n, {"betas": (0.9, -0.1)}, "beta parameter at index 1: -0.1") for n in ("Adam", "RAdam")],
    *[(n, {"eps": -1}, "Invalid epsilon value: -1") for n, o in OPTIONS.items() if "eps" in o],
    ("SGD", {"momentum": -1}, "Invalid momentum value: -1"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "Nesterov momentum requires"),
    ("RMSprop", {"momentum": -1}, "Invalid momentum value: -1"),
    ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
    ("Adagrad", {"lr_decay": -1}, "Invalid lr_decay value: -1"),
    ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1"),
    ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5"),
    ("NAdam", {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
    ("Adam", {"betas": (0.9, 0)}, "both floats or both Tensors"),
]


@pytest.mark.parametrize(("name", "options", "text"), BAD_OPTIONS, ids=str)
def test_bad_options(m: ModuleType, name: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        getattr(m.optim, name)([one(m)], **options)


def test_rates_that_are_tensors(m: ModuleType) -> None:
    for name in OPTIONS:
        seen = []
        for rate in (0.25, m.tensor(0.25), m.tensor([0.25])):
            a = one(m)
            a.grad = m.ones(3)
            getattr(m.optim, name)([a], lr=rate).step()
            seen.append(a.tolist())
        assert seen[0] == pytest.approx(seen[1])
        assert seen[0] == pytest.approx(seen[2])
        with pytest.raises(ValueError, match="1-element"):
            getattr(m.optim, name)([one(m)], lr=m.tensor([0.1, 0.2]))
    with pytest.raises(ValueError, match="lr as a Tensor is not supported"):
        m.optim.Adam([one(m)], lr=m.tensor(0.1), foreach=True)
    with pytest.raises(ValueError, match=r"betas\[0\] as a Tensor is not supported"):
        m.optim.Adam([one(m)], betas=(m.tensor(0.9), m.tensor(0.9)), foreach=True)
    a, b = one(m), one(m)
    a.grad = b.grad = m.ones(3)
    m.optim.Adam([a], betas=(m.tensor(0.75), m.tensor([0.5]))).step()
    m.optim.Adam([b], betas=(0.75, 0.5)).step()
    assert a.tolist() == pytest.approx(b.tolist())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_forms(m: ModuleType, name: str) -> None:
    """The same values by whatever form is asked for; some exclude each other."""
    seen = []
    for form in ({}, {"foreach": True}, {"foreach": False}, {"fused": True}):
        params = parameters(m, "float32")
        made = getattr(m.optim, name)(params, lr=0.05, **form)
        train(m, network, params, made, 5)
        seen.append(arrays(params))
    for other in seen[1:]:
        for x, y in zip(seen[0], other, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-5)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        getattr(m.optim, name)([one(m)], fused=True, differentiable=True)
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        getattr(m.optim, name)([one(m)], fused=True, foreach=True)
    z = m.ones(2, dtype=m.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point"):
        made = getattr(m.optim, name)([z], fused=True)
        z.grad = m.ones(2, dtype=m.complex64)
        made.step()


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam"])
def test_capturable(m: ModuleType, name: str) -> None:
    a = one(m)
    made = getattr(m.optim, name)([a], capturable=True, foreach=False)
    made.step()
    a.grad = m.ones(3)
    with pytest.raises(AssertionError, match="If capturable=True"):
        made.step()
    assert a.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_closure(m: ModuleType, name: str) -> None:
    """It is called with gradients on, whatever is on outside, and the step returns what it returns."""
    a = one(m)
    made = getattr(m.optim, name)([a], lr=0.01)

    def closure() -> Any:
        assert m.is_grad_enabled()
        made.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with m.no_grad():
        assert made.step(closure).item() == pytest.approx(3)
        assert not m.is_grad_enabled()
    assert a[0].item() < 1
    if name != "LBFGS":
        assert made.step() is None

    def failing() -> Any:
        raise KeyError("mine")

    with m.no_grad(), pytest.raises(KeyError, match="mine"):
        made.step(failing)
    assert m.is_grad_enabled()


def test_no_gradients(m: ModuleType) -> None:
    """Parameters without one are left alone, and have no state."""
    for name in OPTIONS:
        a, b = one(m), one(m)
        made = getattr(m.optim, name)([a, b], lr=0.1)
        b.grad = m.ones(3)
        made.step()
        assert a.tolist() == [1, 1, 1]
        assert b.tolist() != [1, 1, 1]
        assert (a in made.state) == (name == "Adagrad")


def test_zero_grad(m: ModuleType) -> None:
    a, b = one(m), one(m)
    made = m.optim.SGD([a, b])
    (a * 2).sum().backward()
    made.zero_grad()
    assert a.grad is None
    assert b.grad is None
    (a * 2).sum().backward()
    grad = a.grad
    made.zero_grad(set_to_none=False)
    assert a.grad is grad
    assert grad.tolist() == [0, 0, 0]
    (a.grad,) = m.autograd.grad((a * a).sum(), a, create_graph=True)
    made.zero_grad(set_to_none=False)
    assert not a.grad.requires_grad
    assert a.grad.grad_fn is None


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_versions(m: ModuleType, name: str) -> None:
    """A step between forward and backward is a write to what was saved, of the parameters and of states."""
    a, x = one(m), m.ones(3, requires_grad=True)
    made = getattr(m.optim, name)([a], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
    a.grad = m.ones(3)
    loss = (a * a * x).sum()
    version = a._version
    made.step()
    assert a._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    state = next(v for k, v in made.state[a].items() if k != "step")
    loss = (state * x).sum()
    made.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_views_see_the_step(m: ModuleType) -> None:
    a = one(m, 2, 2)
    row, held = a.detach()[0], a.detach().numpy()
    a.grad = m.ones(2, 2)
    made = m.optim.Adam([a], lr=0.5)
    made.step()
    assert row.tolist() == a[0].tolist()
    assert held.tolist() == a.tolist()
    assert a.requires_grad
    assert a.is_leaf


def test_hooks(m: ModuleType) -> None:
    """Before and after steps, of all optimisers and of one; arguments may be replaced."""
    seen: list[str] = []
    a = one(m)
    made = m.optim.SGD([a], lr=0.1)
    handles = [
        made.register_step_post_hook(lambda o, args, kwargs: seen.append("post")),
        base(m).register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("global pre")),
        made.register_step_pre_hook(lambda o, args, kwargs: seen.append(f"pre {len(args)} {o is made}")),
        base(m).register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("global post")),
    ]
    try:
        made.step()
        assert seen == ["global pre", "pre 1 True", "post", "global post"]
        with made.register_step_pre_hook(lambda o, args, kwargs: ((*args, lambda: m.tensor(7.0)), kwargs)):
            assert made.step() == 7
        with (
            made.register_step_pre_hook(lambda o, args, kwargs: 3),
            pytest.raises(RuntimeError, match="must return"),
        ):
            made.step()
    finally:
        for handle in handles:
            handle.remove()
    count = len(seen)
    made.step()
    assert len(seen) == count


def test_state_dict_hooks(m: ModuleType) -> None:
    seen: list[str] = []
    made = m.optim.SGD([one(m)], lr=0.1)
    made.register_state_dict_pre_hook(lambda o: seen.append("pre"))
    made.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    made.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    made.register_load_state_dict_pre_hook(lambda o, d: {k: v for k, v in d.items() if k != "more"})
    made.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    saved = made.state_dict()
    assert saved["more"] == 1
    made.load_state_dict(saved)
    assert seen == ["first", "pre", "loaded"]
    assert "more" in saved


def test_parameters_are_numbered_through_all_groups(m: ModuleType) -> None:
    made = m.optim.SGD([{"params": [one(m), one(m)]}, {"params": [one(m)]}, {"params": [one(m)]}], lr=0.1)
    assert [group["params"] for group in made.state_dict()["param_groups"]] == [[0, 1], [2], [3]]


def test_loading_what_does_not_fit(m: ModuleType) -> None:
    made = m.optim.SGD([one(m), one(m)], lr=0.1)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        made.load_state_dict(m.optim.SGD([{"params": one(m)}, {"params": one(m)}], lr=0.2).state_dict())
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        made.load_state_dict(m.optim.SGD([one(m)], lr=0.2).state_dict())
    assert made.param_groups[0]["lr"] == 0.1


def test_loading_converts(m: ModuleType) -> None:
    """States get the parameter's dtype; the count of steps stays as it is."""
    a = m.ones(3, dtype=m.float64, requires_grad=True)
    source = m.optim.Adam([a])
    a.grad = m.ones(3, dtype=m.float64)
    source.step()
    b = one(m)
    made = m.optim.Adam([b])
    made.load_state_dict(source.state_dict())
    assert {k: v.dtype for k, v in made.state[b].items()} == {
        k: m.float32 for k in ("step", "exp_avg", "exp_avg_sq")
    }
    b.grad = m.ones(3)
    made.step()
    assert made.state[b]["step"].item() == 2


def test_repr(m: ModuleType) -> None:
    text = repr(m.optim.SGD([{"params": one(m)}, {"params": one(m), "lr": 2}], lr=0.5))
    lines = ["dampening: 0", "differentiable: False", "foreach: None", "fused: None", "lr: 0.5"]
    lines += ["maximize: False", "momentum: 0", "nesterov: False", "weight_decay: 0"]
    body = "".join(f"    {line}\n" for line in lines)
    assert text == f"SGD (\nParameter Group 0\n{body}\nParameter Group 1\n{body.replace('0.5', '2')})"


@pytest.mark.parametrize("name", NAMES)
def test_copies(m: ModuleType, name: str) -> None:
    """A deep copy together with its parameters, and one by pickle, go on as the original does."""
    if m is not tengen and name == "LBFGS":
        pytest.skip("torch's copy has lost its parameters")
    params = parameters(m, "float64")
    made = getattr(m.optim, name)(params, lr=0.01)
    step_all(m, params, made)
    copies = [copy.deepcopy((params, made)), pickle.loads(pickle.dumps((params, made)))]
    step_all(m, params, made)
    for others, again in copies:
        assert type(again) is type(made)
        step_all(m, others, again)
        for x, y in zip(arrays(params), arrays(others), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-13)


def step_all(m: ModuleType, params: list[Any], made: Any) -> None:
    """Some steps, with a closure."""

    def closure() -> Any:
        made.zero_grad()
        loss = convex(m, params, 0)
        loss.backward()
        return loss

    for _ in range(3):
        made.step(closure)


@pytest.mark.parametrize("name", OPTIONS)
def test_differentiable(m: ModuleType, name: str) -> None:
    """The parameter after two steps as a function of the first, and of the gradients; by differences."""
    if name in ("Adamax", "Rprop") and m is not tengen:
        pytest.skip("torch writes over what it has saved")

    def after(start: Any, grads: Any) -> Any:
        p = start.clone()
        made = getattr(m.optim, name)([p], differentiable=True, lr=0.1, **options)
        for g in grads:
            p.grad = g
            made.step()
        return p

    options: dict[str, Any] = {
        **({"weight_decay": 0.1} if name != "Rprop" else {}),
        **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {}),
    }
    start = m.tensor([0.5, -1.0], dtype=m.float64, requires_grad=True)
    grads = [m.tensor(v, dtype=m.float64, requires_grad=True) for v in ([0.3, 0.2], [-0.1, 0.4])]
    used = grads[1:] if name == "SGD" else grads  # its buffer begins detached
    found = m.autograd.grad(after(start, grads).sum(), [start, *used], allow_unused=True)
    for tensor, gradient in zip([start, *used], found, strict=True):
        for i in range(2):
            values = []
            for h in (1e-6, -1e-6):
                with m.no_grad():
                    moved = {id(t): t.detach().clone() for t in (start, *grads)}
                    moved[id(tensor)][i] += h
                    values.append(after(moved[id(start)], [moved[id(g)] for g in grads]).sum().item())
            if name == "SGD" and tensor is start:
                continue  # through the buffer of the first step the difference goes, the gradient does not
            assert gradient[i].item() == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("name", OPTIONS)
def test_differentiable_by_states(name: str) -> None:
    """What a step makes of parameter, gradient and states, as a function of them, by differences."""
    options: dict[str, Any] = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    cls, p = getattr(tengen.optim, name), tengen.tensor([0.5, -1.0], dtype=tengen.float64)
    made = cls([p], lr=0.1, **options)
    for g in ([0.3, 0.2], [0.1, 0.4]):
        p.grad = tengen.tensor(g, dtype=tengen.float64)
        made.step()
    states = made.state[p]
    names = [key for key, value in states.items() if key != "step" and isinstance(value, tengen.Tensor)]

    def after(start: Any, grad: Any, *given: Any) -> tuple[Any, ...]:
        q = start.clone()
        made = cls([q], lr=0.1, differentiable=True, **options)
        q.grad = grad
        made.state[q] = states | {key: value.clone() for key, value in zip(names, given, strict=True)}
        if "step" in states:
            made.state[q]["step"] = states["step"].clone()
        made.step()
        return q, *[made.state[q][key] for key in names]

    inputs = [p, tengen.tensor([0.2, 0.7], dtype=tengen.float64), *[states[key] for key in names]]
    leaves = [t.detach().double().requires_grad_() for t in inputs]
    assert tengen.autograd.gradcheck(after, leaves, eps=1e-8)  # the smallest states are near 1e-6


def test_learning_to_learn(m: ModuleType) -> None:
    """The derivative with respect to the learning rate."""
    for name, options in (("SGD", {}), ("Adam", {"eps": 1e-2})):
        rate = m.tensor(0.1, dtype=m.float64, requires_grad=True)
        p = m.tensor([1.0, 2.0], dtype=m.float64)
        made = getattr(m.optim, name)([p], lr=rate, differentiable=True, **options)
        p.grad = m.tensor([0.5, 0.25], dtype=m.float64)
        made.step()
        p.sum().backward()
        slope = -0.75 if name == "SGD" else -(0.5 / 0.51 + 0.25 / 0.26)
        assert rate.grad.item() == pytest.approx(slope, rel=1e-4)  # the step is counted in float32


def test_subclasses_of_the_users(m: ModuleType) -> None:
    """An optimiser of one's own, with hooks and groups."""

    class Signs(m.optim.Optimizer):
        def __init__(self, params: Any, lr: float = 0.1) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> Any:
            with m.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is not None:
                            self.state[p]["step"] = self.state[p].get("step", 0) + 1
                            p.sub_(group["lr"] * p.grad.sign())

    a, seen = one(m), []
    made = Signs([a], lr=0.25)
    made.register_step_post_hook(lambda *_: seen.append(1))
    a.grad = m.tensor([3.0, -2.0, 0.0])
    made.step()
    assert a.tolist() == [0.75, 1.25, 1.0]
    assert made.state_dict()["state"] == {0: {"step": 1}}
    assert seen == [1]
    with pytest.raises(NotImplementedError):
        m.optim.Optimizer([a], {}).step()


def test_a_step_is_an_event_of_a_profile() -> None:
    a = one(tengen)
    made = tengen.optim.SGD([a], lr=0.1)
    a.grad = tengen.ones(3)
    with profiler.profile() as prof:
        made.step()
        made.zero_grad()
    names = [event.name for event in prof.function_events if event.cpu_parent is None]
    assert names == ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"]


def test_lbfgs_errors(m: ModuleType) -> None:
    with pytest.raises(ValueError, match="parameter groups"):
        m.optim.LBFGS([{"params": one(m)}, {"params": one(m)}])
    with pytest.raises(TypeError, match="closure"):
        m.optim.LBFGS([one(m)]).step()
    a = one(m)
    made = m.optim.LBFGS([a], line_search_fn="wolfe")

    def closure() -> Any:
        made.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        made.step(closure)


def test_default_dtype_of_counts(m: ModuleType) -> None:
    before = m.get_default_dtype()
    m.set_default_dtype(m.float64)
    try:
        a = one(m)
        a.grad = m.ones(3)
        made = m.optim.Adam([a])
        made.step()
        assert made.state[a]["step"].dtype == m.float64
    finally:
        m.set_default_dtype(before)


def test_threads(m: ModuleType) -> None:
    """Optimisers of several threads do not disturb one another."""
    from concurrent.futures import ThreadPoolExecutor

    def run(seed: int) -> list[np.ndarray]:
        params = parameters(m, "float64", seed)
        train(m, network, params, m.optim.Adam(params, lr=0.05), 15)
        return arrays(params)

    expected = [run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool, warnings.catch_warnings():
        for found, wanted in zip(pool.map(run, range(4)), expected, strict=True):
            for x, y in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(x, y)
