"""Steps of training in compiled functions: parameters, states, gradients and counts are the function's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from compared import is_ready, near, reason
from trainings import CALLS, OPTIMISERS, Training, agree, batch, beside, step_of

import tengen
from tengen import nn
from tengen.nn import functional as F

#: Optimisers whose steps ask for elements, or have numbers of their own.
WRITTEN: dict[str, Callable[[Any], Any]] = {
    "LBFGS": lambda p: tengen.optim.LBFGS(p, 0.1, max_iter=3),
    "Adafactor": lambda p: tengen.optim.Adafactor(p, 1e-2),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps(name: str) -> None:
    compiled = beside(step_of, OPTIMISERS[name], calls=9)
    assert is_ready(compiled), reason(compiled)
    assert len(compiled.entries) <= 3  # the first step, and those before and behind a choice


@pytest.mark.parametrize("name", WRITTEN)
def test_steps_as_written(name: str) -> None:
    def make(t: Training) -> Callable[..., Any]:
        def step(x: Any, y: Any) -> Any:
            def closure() -> Any:
                t.optimiser.zero_grad()
                loss = F.cross_entropy(t.model(x), y)
                loss.backward()
                return loss

            return t.optimiser.step(closure)

        return step

    assert not is_ready(beside(make, WRITTEN[name]))


def test_noise_is_no_difference() -> None:
    """The gradient of a bias that a norm takes out again is 0 but for rounding; Adam makes steps of it."""
    tengen.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 3))
    optimiser = tengen.optim.Adam(model.parameters(), 1e-2)

    @tengen.compile
    def step(x: Any, y: Any) -> Any:
        optimiser.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
        return loss

    for number in range(CALLS):
        step(*batch(number))
    assert is_ready(step), reason(step)


def test_a_model_that_draws() -> None:
    assert is_ready(beside(step_of, dropout=True))


# -- what a step may be


def clipped(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(t.model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(t.model.parameters(), 0.1)
        t.optimiser.step()
        t.optimiser.zero_grad()
        return loss.detach(), norm

    return step


def zeroed(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        t.optimiser.zero_grad(set_to_none=False)
        F.cross_entropy(t.model(x), y).backward()
        t.optimiser.step()

    return step


def of_the_model(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        t.model.zero_grad()
        out = t.model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        t.optimiser.step()
        return {"loss": loss.detach(), "out": out}

    return step


def by_hand(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(t.model(x), y)
        loss.backward()
        with tengen.no_grad():
            for p in t.model.parameters():
                assert p.grad is not None
                p -= 0.1 * p.grad
                p.grad.zero_()
        return loss

    return step


def sums(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(t.model(x), y)
        loss.backward()
        return loss

    return step


def twice(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        for _ in range(2):
            t.optimiser.zero_grad()
            loss = F.cross_entropy(t.model(x), y)
            loss.backward()
            t.optimiser.step()
        return loss

    return step


def with_a_closure(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        def closure() -> Any:
            t.optimiser.zero_grad()
            loss = F.cross_entropy(t.model(x), y)
            loss.backward()
            return loss

        return t.optimiser.step(closure)

    return step


def of_two_losses(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        t.optimiser.zero_grad()
        out = t.model(x)
        F.cross_entropy(out, y).backward(retain_graph=True)
        (out**2).mean().backward()
        t.optimiser.step()

    return step


def of_some(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        t.optimiser.zero_grad()
        loss = F.cross_entropy(t.model(x), y)
        loss.backward(inputs=list(t.model[0].parameters()))
        t.optimiser.step()
        return loss.item() if False else loss

    return step


def hooked(t: Training) -> Callable[..., Any]:
    for p in t.model.parameters():
        p.register_hook(lambda grad: grad * 2)
    return step_of(t)


STEPS = [clipped, zeroed, of_the_model, by_hand, sums, twice, with_a_closure, of_two_losses, of_some, hooked]


@pytest.mark.parametrize("make", STEPS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_kinds_of_steps(make: Any, name: str) -> None:
    compiled = beside(make, OPTIMISERS[name])
    assert is_ready(compiled), reason(compiled)


# -- what changes between the calls


def lower_the_rate(t: Training, number: int) -> None:
    for group in t.optimiser.param_groups:
        group["lr"] *= 0.7


def change_the_decay(t: Training, number: int) -> None:
    t.optimiser.param_groups[0]["weight_decay"] = 0.1 * (number // 3)


def turn_around(t: Training, number: int) -> None:
    t.optimiser.param_groups[0]["maximize"] = number % 4 > 1


def forget_gradients(t: Training, number: int) -> None:
    t.model.zero_grad()


def forget_one_gradient(t: Training, number: int) -> None:
    t.model[0].weight.grad = None if number % 4 == 3 else t.model[0].weight.grad


def set_gradients(t: Training, number: int) -> None:
    for p in t.model.parameters():
        p.grad = tengen.ones_like(p).t().contiguous().t() if number > 3 else tengen.ones_like(p) * number


def forget_states(t: Training, number: int) -> None:
    if number == 3:
        t.optimiser.state.clear()


def load_states(t: Training, number: int) -> None:
    if number == 3:
        t.optimiser.load_state_dict(t.optimiser.state_dict())


def load_copies(t: Training, number: int) -> None:
    if number == 3:
        copies = {k: v.clone() * 2 for k, v in t.model.state_dict().items()}
        t.model.load_state_dict(copies, assign=True)
        t.optimiser.param_groups[0]["params"] = list(t.model.parameters())
        t.optimiser.state.clear()


def count_one_more(t: Training, number: int) -> None:
    if number == 3 and "step" in t.optimiser.state[t.model[0].weight]:
        t.optimiser.state[t.model[0].weight]["step"] += 5


def freeze(t: Training, number: int) -> None:
    t.model[0].weight.requires_grad_(number % 4 < 2)


def evaluate(t: Training, number: int) -> None:
    t.model.train(number % 4 < 2)


def change_memory(t: Training, number: int) -> None:
    t.model[0].weight.data = t.model[0].weight.data * 2


def step_as_written(t: Training, number: int) -> None:
    if number in (2, 4):
        step_of(t)(*batch(9))


def leave_out(t: Training, number: int) -> None:
    t.optimiser.param_groups[0]["params"] = list(t.model.parameters())[number // 3 :]


def double_gradient(p: Any) -> None:
    p.grad.mul_(2)


def add_a_hook(t: Training, number: int) -> None:
    if number == 3:
        t.model[0].weight.register_hook(lambda grad: grad * 3)
        t.model[3].weight.register_post_accumulate_grad_hook(double_gradient)
        t.optimiser.register_step_post_hook(lambda *args: t.model[3].bias.data.add_(1).sum() and None)


def halve(optimiser: Any, *given: Any) -> None:
    optimiser.param_groups[0]["params"][0].grad.mul_(0.5)


def add_a_global_hook(t: Training, number: int) -> None:
    if number == 3:
        HANDLES.append(tengen.optim.optimizer.register_optimizer_step_pre_hook(halve))
    if number == 6 and HANDLES:
        HANDLES.pop().remove()


HANDLES: list[Any] = []
CHANGES = [
    *(lower_the_rate, change_the_decay, turn_around, forget_gradients, forget_one_gradient, set_gradients),
    *(forget_states, load_states, load_copies, count_one_more, freeze, evaluate, change_memory),
    *(step_as_written, leave_out, add_a_hook, add_a_global_hook),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("make", [step_of, sums], ids=lambda make: make.__name__)
def test_changes(change: Any, make: Any) -> None:
    beside(make, OPTIMISERS["Adam"], change, 10)


@pytest.mark.parametrize(
    "scheduler",
    [
        lambda o: tengen.optim.lr_scheduler.StepLR(o, 2, 0.5),
        lambda o: tengen.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
        lambda o: tengen.optim.lr_scheduler.CosineAnnealingLR(o, 5),
    ],
)
def test_a_scheduler_compiles_nothing(scheduler: Callable[[Any], Any]) -> None:
    known: dict[int, Any] = {}

    def advance(t: Training, number: int) -> None:
        if number == 0:
            known[id(t)] = scheduler(t.optimiser)
        else:
            known[id(t)].step()

    compiled = beside(step_of, OPTIMISERS["AdamW"], advance, 12)
    assert is_ready(compiled), reason(compiled)
    assert len(compiled.entries) <= 2


def test_groups_and_two_optimisers() -> None:
    def make(t: Training) -> Callable[..., Any]:
        parameters = [*t.model.parameters()]
        first = tengen.optim.SGD(
            [{"params": parameters[:2]}, {"params": parameters[2:3], "lr": 0.3}], 0.1, momentum=0.5
        )
        second = tengen.optim.AdamW(parameters[3:], 0.01)

        def step(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(t.model(x), y)
            loss.backward()
            for each in (first, second):
                each.step()
                each.zero_grad()
            return loss

        return step

    compiled = beside(make)
    assert is_ready(compiled), reason(compiled)


@pytest.mark.parametrize("dtype", [tengen.float64, tengen.float16, tengen.bfloat16], ids=str)
def test_dtypes(dtype: Any) -> None:
    results = []
    for compiles in (False, True):
        tengen.manual_seed(0)
        model = nn.Linear(5, 3).to(dtype)
        optimiser = tengen.optim.SGD(model.parameters(), 0.25, momentum=0.5)

        def step(x: Any, m: Any = model, o: Any = optimiser) -> Any:
            o.zero_grad()
            loss = (m(x) ** 2).sum()
            loss.backward()
            o.step()
            return loss

        function = tengen.compile(step) if compiles else step
        results.append([function(batch(i)[0].to(dtype)) for i in range(5)] + [*model.parameters()])
    for a, b in zip(*results, strict=True):
        assert near(a, b, 4)


# -- results with a history that was used


def test_a_result_that_was_used_up() -> None:
    t = Training()
    step = tengen.compile(step_of(t))
    for number in range(CALLS):
        loss = step(*batch(number))
        assert loss.requires_grad and not loss.is_leaf
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            loss.backward()
    assert is_ready(step)


def test_a_result_that_is_not_used_up() -> None:
    w = tengen.ones(3, requires_grad=True)

    def f(x: Any) -> Any:
        loss = (w * x).exp().sum()
        loss.backward(retain_graph=True)
        return loss

    compiled = tengen.compile(f)
    for _ in range(CALLS):
        w.grad = None
        compiled(tengen.arange(3.0)).backward()
        assert w.grad is not None
        grad: Any = w.grad
        assert near(grad, 2 * tengen.arange(3.0) * tengen.arange(3.0).exp())


def test_gradients_of_arguments() -> None:
    def f(x: Any, y: Any) -> None:
        (x * y).sum().backward()

    compiled = tengen.compile(f)
    for number in range(CALLS):
        x, y = tengen.ones(3, requires_grad=True), tengen.arange(3.0) + number
        compiled(x, y)
        assert near(x.grad, y)
        first = x.grad
        compiled(x, y)
        assert x.grad is first and near(x.grad, 2 * y)


@pytest.mark.parametrize(
    "loss", [lambda x, w: (x @ w).tanh().sum(), lambda x, w: w.t().sum(), lambda x, w: w[1].sum()]
)
def test_gradients_lie_as_the_leaf_does(loss: Callable[[Any, Any], Any]) -> None:
    w = tengen.ones(5, 7, requires_grad=True)
    compiled = tengen.compile(lambda x: loss(x, w).backward())
    for number in range(CALLS):
        w.grad = None
        compiled(batch(number)[0])
        assert w.grad is not None and w.grad.is_contiguous()
    assert is_ready(compiled), reason(compiled)


def test_an_error_changes_nothing() -> None:
    t = Training(OPTIMISERS["SGD with momentum"])
    step = tengen.compile(step_of(t))
    for number in range(CALLS):
        step(*batch(number))
    assert is_ready(step)
    kept = [*t.model.parameters(), *[state for p in t.optimiser.state.values() for state in p.values()]]
    before = [p.clone() for p in kept]
    with pytest.raises(IndexError):
        step(batch()[0], tengen.tensor([0, 1, 2, 3]))
    assert all(bool((p == q).all()) for p, q in zip(before, kept, strict=True))


def test_an_argument_with_a_history() -> None:
    w = tengen.ones(3, requires_grad=True)
    compiled = tengen.compile(lambda x: (x * x).sum().backward())
    for number in range(CALLS):
        w.grad = None
        compiled(w * (number + 1) if number % 4 > 1 else w)
        assert near(w.grad, 2 * w.detach() * ((number + 1) ** 2 if number % 4 > 1 else 1))


# -- what no program repeats


def test_an_optimiser_of_the_call() -> None:
    def make(t: Training) -> Callable[..., Any]:
        def step(x: Any, y: Any) -> Any:
            optimiser = tengen.optim.Adam(t.model.parameters(), 0.01)
            t.model.zero_grad()
            loss = F.cross_entropy(t.model(x), y)
            loss.backward()
            optimiser.step()
            return loss

        return step

    assert not is_ready(beside(make))


def test_a_rate_that_the_function_reads() -> None:
    def make(t: Training) -> Callable[..., Any]:
        step = step_of(t)

        def read(x: Any, y: Any) -> Any:
            return step(x, y) * t.optimiser.param_groups[0]["lr"]

        return read

    beside(make, between=lower_the_rate, calls=4)


def test_an_optimiser_of_the_program() -> None:
    class Own(tengen.optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @tengen.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["count"] = state.get("count", 0) + 1
                    p -= group["lr"] / state["count"] * p.grad

    beside(step_of, lambda p: Own(p, 0.1), lower_the_rate, 8)


def test_a_tensor_that_the_call_keeps() -> None:
    kept: list[Any] = [None]

    def f(x: Any) -> Any:
        if kept[0] is None:
            kept[0] = x * 2
        return x + kept[0]

    compiled = tengen.compile(f)
    for number in range(CALLS):
        assert near(compiled(tengen.ones(3) * number), tengen.ones(3) * number)
    assert is_ready(compiled)


def test_many_parameters_in_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    trainings = [Training() for _ in range(4)]
    steps = [tengen.compile(step_of(t)) for t in trainings]

    def train(step: Any) -> None:
        for number in range(20):
            step(*batch(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(train, steps))
    expected = Training()
    for number in range(20):
        step_of(expected)(*batch(number))
    for t in trainings:
        agree(t, expected)
