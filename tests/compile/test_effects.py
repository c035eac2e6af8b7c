"""What functions do beside giving tensors: it happens in every call."""

from __future__ import annotations

import collections
import contextlib
import io
import itertools
import logging
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared import alike, is_ready, same

import tengen
from tengen import nn

CALLS = 5
LOG: list[Any] = []
COUNTS = {"calls": 0}
STEPS = 0
LAST: Any = None
LOGGER = logging.getLogger("tengen.test.compiled")
STREAM = itertools.count(1)
WEIGHT = tengen.ones(3)


def x() -> Any:
    return tengen.arange(6.0).reshape(2, 3) / 4 - 0.5


class Counter:
    total = 0

    def __init__(self) -> None:
        self.calls = 0
        self.last: Any = None
        self.seen: set[int] = set()


# -- effects: of each a function, and what it has changed


def appends() -> Any:
    return lambda t: (LOG.append(1), t * 2)[1], lambda: len(LOG)


def counts_in_a_dict() -> Any:
    def f(t: Any) -> Any:
        COUNTS["calls"] += 1
        return t * 2

    return f, lambda: COUNTS["calls"]


def writes_a_global() -> Any:
    def f(t: Any) -> Any:
        global STEPS
        STEPS += 1
        return t * 2

    return f, lambda: STEPS


def keeps_the_result() -> Any:
    def f(t: Any) -> Any:
        global LAST
        LAST = t * 2
        return LAST + 1

    return f, lambda: LAST.sum().item() if LAST is not None else 0


def writes_an_attribute() -> Any:
    box = Counter()

    def f(t: Any) -> Any:
        box.calls += 1
        return t * 2

    return f, lambda: box.calls


def writes_a_class_attribute() -> Any:
    def f(t: Any) -> Any:
        Counter.total += 1
        return t * 2

    return f, lambda: Counter.total


def writes_by_setattr() -> Any:
    box = Counter()

    def f(t: Any) -> Any:
        setattr(box, "calls", getattr(box, "calls") + 1)  # noqa: B009, B010
        return t * 2

    return f, lambda: box.calls


def writes_a_cell() -> Any:
    calls = 0

    def f(t: Any) -> Any:
        nonlocal calls
        calls += 1
        return t * 2

    return f, lambda: calls


def adds_to_a_set() -> Any:
    box = Counter()

    def f(t: Any) -> Any:
        box.seen.add(len(box.seen))
        return t * 2

    return f, lambda: len(box.seen)


def adds_to_a_deque() -> Any:
    queue: Any = collections.deque()
    return lambda t: (queue.append(1), t * 2)[1], lambda: len(queue)


def writes_to_an_array() -> Any:
    array = np.zeros(2)

    def f(t: Any) -> Any:
        array[0] += 1
        return t * 2

    return f, lambda: float(array[0])


def writes_to_a_list_argument() -> Any:
    given: list[Any] = []

    def f(t: Any) -> Any:
        given.extend([1, 2])
        return t * len(given)

    return f, lambda: len(given)


def prints() -> Any:
    out = io.StringIO()

    def f(t: Any) -> Any:
        with contextlib.redirect_stdout(out):
            print("called")
        return t * 2

    return f, out.getvalue


def prints_shapes() -> Any:
    out = io.StringIO()
    return lambda t: (print(t.shape, file=out), t * 2)[1], out.getvalue


def logs() -> Any:
    records: list[Any] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO)

    def f(t: Any) -> Any:
        LOGGER.info("shape %s", t.shape)
        return t * 2

    return f, lambda: len(records)


def warns() -> Any:
    def f(t: Any) -> Any:
        warnings.warn("look out", stacklevel=1)
        LOG.append(1)
        return t * 2

    return f, lambda: len(LOG)


def writes_a_file() -> Any:
    path = Path(f"/tmp/tengen-test-{time.monotonic_ns()}")

    def f(t: Any) -> Any:
        with path.open("a") as file:
            file.write("called\n")
        return t * 2

    def read() -> Any:
        return path.read_text() if path.exists() else ""

    return f, read


def draws_of_python() -> Any:
    return lambda t: t * random.random(), lambda: random.getstate()[1][-1]


def draws_of_an_own_generator() -> Any:
    draws = random.Random(1)
    return lambda t: t * draws.random(), lambda: draws.getstate()[1][-1]


def draws_of_numpy() -> Any:
    return lambda t: t * float(np.random.rand()), lambda: np.random.get_state()[2]


def draws_of_a_numpy_generator() -> Any:
    draws = np.random.default_rng(1)
    return lambda t: t * float(draws.random()), lambda: draws.bit_generator.state["state"]["state"]


def draws_of_a_generator() -> Any:
    draws = tengen.Generator()
    draws.manual_seed(3)
    return lambda t: t + tengen.rand(3, generator=draws), lambda: draws.get_state().sum().item()


def takes_of_an_iterator() -> Any:
    return lambda t: t * next(STREAM), lambda: repr(STREAM)


def takes_of_a_generator() -> Any:
    numbers = (n for n in range(1000))
    return lambda t: t * next(numbers), lambda: 0


def seeds() -> Any:
    def f(t: Any) -> Any:
        tengen.manual_seed(5)
        return t + tengen.rand(3)

    return f, lambda: tengen.get_rng_state().sum().item()


def seeds_to_another_state() -> Any:
    def f(t: Any) -> Any:
        tengen.set_rng_state(STATE)
        return t * 2

    return f, lambda: tengen.get_rng_state().sum().item()


STATE = tengen.get_rng_state()


def writes_to_a_tensor() -> Any:
    w = tengen.zeros(3)

    def f(t: Any) -> Any:
        w.add_(1)
        return t * w

    return f, lambda: w.sum().item()


def writes_data() -> Any:
    w = tengen.zeros(3)

    def f(t: Any) -> Any:
        w.data = w.data + 1
        return t * w

    return f, lambda: w.sum().item()


def writes_an_element() -> Any:
    w = tengen.zeros(3)

    def f(t: Any) -> Any:
        w[1] = w[1] + t[0, 0].detach() + 1
        return t * 2

    return f, lambda: w.sum().item()


def writes_with_numpy() -> Any:
    w = tengen.zeros(3)

    def f(t: Any) -> Any:
        w.numpy()[0] += 1
        return t * w

    return f, lambda: w.sum().item()


def assigns_a_tensor() -> Any:
    box = Counter()
    box.last = tengen.zeros(3)

    def f(t: Any) -> Any:
        box.last = box.last + 1
        return t * box.last

    return f, lambda: box.last.sum().item()


def goes_backward() -> Any:
    w = tengen.ones(3, requires_grad=True)

    def f(t: Any) -> Any:
        loss = (t * w).sum()
        loss.backward()
        return loss.detach()

    return f, lambda: 0 if w.grad is None else w.grad.sum().item()


def sets_a_gradient() -> Any:
    w = tengen.ones(3, requires_grad=True)

    def f(t: Any) -> Any:
        w.grad = t.sum(0).detach() if w.grad is None else w.grad + 1
        return t * 2

    return f, lambda: 0 if w.grad is None else w.grad.sum().item()


def reads_a_gradient() -> Any:
    w = tengen.ones(3, requires_grad=True)
    w.grad = tengen.zeros(3)

    def f(t: Any) -> Any:
        return t * w.grad.add_(1)

    return f, lambda: w.grad.sum().item()


def steps() -> Any:
    w = nn.Parameter(tengen.ones(3))
    optimizer = tengen.optim.SGD([w], lr=0.1, momentum=0.9)

    def f(t: Any) -> Any:
        optimizer.zero_grad()
        loss = (t.detach() * w).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return f, lambda: w.sum().item()


def adam() -> Any:
    w = nn.Parameter(tengen.ones(3))
    optimizer = tengen.optim.Adam([w], lr=0.1)

    def f(t: Any) -> Any:
        optimizer.zero_grad()
        ((t.detach() * w).square().sum()).backward()
        optimizer.step()
        return t * 2

    return f, lambda: w.sum().item()


def hooks_a_tensor() -> Any:
    seen: list[Any] = []

    def f(t: Any) -> Any:
        t.register_hook(seen.append)
        return t * 2

    return f, lambda: len(seen)


def changes_modes() -> Any:
    def f(t: Any) -> Any:
        tengen.set_grad_enabled(False)
        return t * 2

    return f, tengen.is_grad_enabled


def changes_the_default_dtype() -> Any:
    def f(t: Any) -> Any:
        tengen.set_default_dtype(tengen.float64)
        return t + tengen.ones(3)

    return f, tengen.get_default_dtype


def sets_a_flag() -> Any:
    w = tengen.ones(3)

    def f(t: Any) -> Any:
        w.requires_grad_(not w.requires_grad)
        return t * 2

    return f, lambda: w.requires_grad


def resizes() -> Any:
    w = tengen.ones(1)

    def f(t: Any) -> Any:
        w.resize_(w.numel() + 1)
        return t * w.numel()

    return f, w.numel


def names_a_tensor() -> Any:
    w: Any = tengen.ones(1)
    w.calls = 0

    def f(t: Any) -> Any:
        w.calls += 1
        return t * w

    return f, lambda: w.calls


def reads_a_clock() -> Any:
    return lambda t: t * 0 + (time.perf_counter() > 0), lambda: 0


def changes_a_module() -> Any:
    model = nn.BatchNorm1d(3)
    return model, lambda: (model.running_mean.sum().item(), model.num_batches_tracked.item())


def changes_training() -> Any:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    def f(t: Any) -> Any:
        out = model(t)
        model.train(not model.training)
        return out.detach()

    return f, lambda: model.training


def spectral_norm() -> Any:
    tengen.manual_seed(0)
    model = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
    return lambda t: model(t).detach(), lambda: model.parametrizations.weight[0]._u.sum().item()


EFFECTS: dict[str, Callable[[], Any]] = {
    f.__name__: f
    for f in (
        appends, counts_in_a_dict, writes_a_global, keeps_the_result, writes_an_attribute,
        writes_a_class_attribute, writes_by_setattr, writes_a_cell, adds_to_a_set, adds_to_a_deque,
        writes_to_an_array, writes_to_a_list_argument, prints, prints_shapes, logs, warns, writes_a_file,
        draws_of_python, draws_of_an_own_generator, draws_of_numpy, draws_of_a_numpy_generator,
        draws_of_a_generator, takes_of_an_iterator, takes_of_a_generator, seeds, seeds_to_another_state,
        writes_to_a_tensor, writes_data, writes_an_element, writes_with_numpy, assigns_a_tensor,
        goes_backward, sets_a_gradient, reads_a_gradient, steps, adam, changes_modes,
        changes_the_default_dtype, sets_a_flag, resizes, names_a_tensor, reads_a_clock,
        changes_a_module, changes_training, spectral_norm,
    )
}  # fmt: skip


def start() -> None:
    """All that effects change, as it was."""
    global STEPS, LAST, STREAM
    LOG.clear()
    COUNTS["calls"] = STEPS = Counter.total = 0
    LAST, STREAM = None, itertools.count(1)
    random.seed(0)
    np.random.seed(0)
    tengen.manual_seed(0)


def history(compiled: bool, make: Callable[[], Any]) -> list[Any]:
    """What calls give, and what is changed after each."""
    start()
    function, read = make()
    if compiled:
        function = tengen.compile(function)
    found: list[Any] = []
    t = x()
    try:
        for _ in range(CALLS):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                result = function(t)
            mine = [str(w.message) for w in said if not str(w.message).startswith("tengen.compile")]
            found.append((result.clone(), result.requires_grad, read(), mine))
    finally:
        tengen.set_grad_enabled(True)
        tengen.set_default_dtype(tengen.float32)
    return found


@pytest.mark.parametrize("name", EFFECTS)
def test_effect(name: str) -> None:
    expected, found = history(False, EFFECTS[name]), history(True, EFFECTS[name])
    for number, ((a, g, s, w), (b, h, r, v)) in enumerate(zip(found, expected, strict=True)):
        same(a, b, f"the result of call {number}")
        assert (g, w) == (h, v) and s == pytest.approx(r) if isinstance(r, float) else s == r, number


def test_hooks_are_registered_in_each_call() -> None:
    function, read = hooks_a_tensor()
    compiled = tengen.compile(function)
    for number in range(1, CALLS):
        compiled(x().requires_grad_()).sum().backward()
        assert read() == number


# -- errors


class Wrong(Exception):
    pass


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("error", [Wrong, KeyboardInterrupt, SystemExit])
def test_an_error_of_the_function(early: bool, error: type[BaseException]) -> None:
    fails = [True]

    def f(t: Any) -> Any:
        if early and fails[0]:
            raise error("wrong")
        t = t * 2
        if fails[0]:
            raise error("wrong")
        return t

    compiled = tengen.compile(f)
    for _ in range(3):
        fails[0] = True
        for _ in range(3):
            with pytest.raises(error, match="wrong"):
                compiled(x())
        fails[0] = False
        for _ in range(3):
            alike(compiled, f, x())
    assert is_ready(compiled)


def test_an_error_caught_inside() -> None:
    def f(t: Any) -> Any:
        try:
            t.reshape(7)
        except RuntimeError:
            return t * 2
        return t * 3

    compiled = tengen.compile(f)
    for shape in ((2, 3), (7,), (2, 3)):
        for _ in range(3):
            alike(compiled, f, tengen.ones(shape))
