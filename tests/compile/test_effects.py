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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from compared import alike, entries, is_ready, leaves_of, reason, same

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


# -- elements that decide


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t * 2 if t.sum() > 0 else t - 1,
        lambda t: t * t.sum().item(),
        lambda t: t * float(t[0, 0]),
        lambda t: t * int(t.sum()),
        lambda t: t[: int(t.abs().sum() % 2)],
        lambda t: t * len(t.tolist()[0]) + t.tolist()[0][0],
        lambda t: t + tengen.from_numpy(t.numpy() * 2),
        lambda t: t + float(np.asarray(t).sum()),
        lambda t: t[t > 0],
        lambda t: t.nonzero(),
        lambda t: t.unique(),
        lambda t: sum(row.sum() for row in t if row.sum() > 0) + t,
        lambda t: t * hash(t.shape) % 7,
        lambda t: t * (1 if f"{t.sum():.2f}" > "0" else 2),
        lambda t: t * ("-" in repr(t)),
        lambda t: tengen.where(t.any(), t, -t),
        lambda t: t.clone().masked_fill_(t > 0, 5),
        lambda t: t * max(t.max(), 1.0),
        lambda t: t * (t.sum() in [tengen.tensor(0.0)]),
        lambda t: t.new_tensor(t.sum().tolist()) * t,
        lambda t: t * tengen.tensor([t.sum(), 2.0, 1.0]),
        lambda t: t * t.equal(t.abs()),
        lambda t: t * tengen.allclose(t, t.abs()),
        lambda t: t.repeat_interleave((t[:, 0] > 0).to(tengen.int64) + 1, 0),
        lambda t: t.split([int(t[0, 0] > 0) + 1, 1 - int(t[0, 0] > 0)]),
    ],
)
def test_elements_decide(function: Any) -> None:
    compiled = tengen.compile(function)
    for shift in (0.0, 1.0, -1.0, 0.25, 0.0):
        for _ in range(3):
            alike(compiled, function, x() + shift)


# -- results


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Pair:
    a: Any
    b: Any


def test_numbers_and_containers() -> None:
    def f(t: Any) -> Any:
        out = t * 2
        return {
            "out": out,
            "size": t.shape[0],
            "name": "n",
            "none": None,
            "all": [(out, 1.5), True, Point(out, 2)],
        }

    compiled = tengen.compile(f)
    for t in (x(), x().t(), x().requires_grad_(), x()):
        for _ in range(3):
            alike(compiled, f, t)
    assert is_ready(compiled)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: Pair(t * 2, t.shape[0]),
        lambda t: iter([t * 2]),
        lambda t: {1, 2},
        lambda t: t.dtype,
        lambda t: t.device,
        lambda t: np.float32(2),
        lambda t: t.shape,
        lambda t: (t * 2).shape,
        lambda t: lambda: t,
        lambda t: range(len(t)),
        lambda t: (n for n in [1]),
        lambda t: t.numpy(),
        lambda t: object(),
        lambda t: b"bytes",
        lambda t: slice(1, t.shape[0]),
        lambda t: tengen.Size([1, t.shape[1]]),
    ],
)
def test_other_results(function: Any) -> None:
    compiled = tengen.compile(function)
    for t in (x(), x()[:1], x() + 1, x()):
        for _ in range(3):
            found, expected = compiled(t), function(t)
            assert type(found) is type(expected)
            if isinstance(found, Pair):
                same((found.a, found.b), (expected.a, expected.b))
            elif isinstance(found, np.ndarray):
                assert np.shares_memory(found, expected)
            elif not hasattr(found, "__next__") and not callable(found) and type(found) is not object:
                assert found == expected


def test_lists_are_new() -> None:
    compiled = tengen.compile(lambda t: [t * 2, {"a": [1]}])
    first = [compiled(x()) for _ in range(4)]
    first[2].append(1)
    first[2][1]["a"].append(3)
    assert [len(r) for r in first] == [2, 2, 3, 2] and compiled(x())[1] == {"a": [1]}


def test_results_keep_their_elements() -> None:
    compiled = tengen.compile(lambda t: (t.sin() * 2, tengen.ones(3)))
    results = [compiled(x() + n) for n in range(6)]
    for number, (a, b) in enumerate(results):
        same((a, b), ((x() + number).sin() * 2, tengen.ones(3)))
        a.zero_()
        b.zero_()
    same(compiled(x()), (x().sin() * 2, tengen.ones(3)))


@pytest.mark.parametrize("needs", [False, True])
def test_inputs_and_views_of_them(needs: bool) -> None:
    def f(t: Any) -> Any:
        return t, t.t(), t[0], t * 2, t.detach(), t.reshape(-1)[1:3], t.expand(2, 2, 3)

    compiled = tengen.compile(f)
    for _ in range(4):
        t = x().requires_grad_(needs)
        found = alike(compiled, f, t)
        assert found[0] is t
        for each in (1, 2, 4, 5, 6):
            assert found[each].untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
        if not needs:
            found[2].add_(5)
            assert t[0, 0] == 4.5 and found[1][0, 0] == 4.5


@pytest.mark.parametrize("needs", [False, True])
def test_results_of_one_memory(needs: bool) -> None:
    def f(t: Any) -> Any:
        out = t * 2
        return out, out, out.t(), out[1:], (t + 1).t()

    compiled = tengen.compile(f)
    for _ in range(4):
        found = alike(compiled, f, x().requires_grad_(needs))
        assert found[0] is found[1]
        with tengen.no_grad():
            found[0].zero_()
        assert not found[2].any() and not found[3].any() and found[4].any()


def test_held_tensor_as_result() -> None:
    compiled = tengen.compile(lambda t: (WEIGHT, t * WEIGHT, WEIGHT[1:]))
    for _ in range(4):
        found = compiled(x())
        assert (
            found[0] is WEIGHT
            and found[2].untyped_storage().data_ptr() == WEIGHT.untyped_storage().data_ptr()
        )


def test_nothing_is_given() -> None:
    def f(t: Any) -> None:
        t.add_(1)

    compiled = tengen.compile(f)
    t = x()
    for _ in range(5):
        assert compiled(t) is None
    same(t, x() + 5)


def test_no_tensors_at_all() -> None:
    compiled = tengen.compile(lambda n: n + 1)
    assert [compiled(n) for n in (1, 1, 1, 2, 1.0, "a" and 3)] == [2, 2, 2, 3, 2.0, 4]
    made = tengen.compile(lambda: tengen.ones(3) * 2)
    for _ in range(4):
        same(made(), tengen.full((3,), 2.0))
        made().zero_()


def test_generator_argument() -> None:
    compiled = tengen.compile(lambda tensors: sum([t * 2 for t in tensors]))
    for count in (1, 2, 3, 2):
        same(compiled(x() for _ in range(count)), x() * 2 * count)


@pytest.mark.filterwarnings("ignore:tengen.compile")
def test_iterators_as_arguments() -> None:
    compiled = tengen.compile(lambda t, more: t * next(more))
    numbers = iter(range(10))
    for number in range(6):
        same(compiled(x(), numbers), x() * number)


def test_random_numbers() -> None:
    def f(t: Any) -> Any:
        noise = tengen.rand(3) + tengen.randn_like(t)
        return nn.functional.dropout(t * noise, 0.5), tengen.randperm(4), t.bernoulli(0.5)

    compiled = tengen.compile(f)
    for seed in range(6):
        tengen.manual_seed(seed)
        alike(compiled, f, x().abs().clamp(0, 1).requires_grad_())


@pytest.mark.parametrize("written", [0, 1])
def test_writes_to_arguments(written: int) -> None:
    def f(p: Any, q: Any) -> Any:
        (p, q)[written].mul_(2).add_((p, q)[1 - written])
        p[0] = q[1]
        return p + q

    compiled = tengen.compile(f)
    for shift in range(5):
        a, b, c, d = x() + shift, x() * 2, x() + shift, x() * 2
        same((compiled(a, b), a, b), (f(c, d), c, d))
        assert (a._version > 0, b._version > 0) == (c._version > 0, d._version > 0)


def test_writes_where_arguments_share_memory() -> None:
    def f(p: Any, q: Any) -> Any:
        p.mul_(2)
        return p + q

    compiled = tengen.compile(f)
    for _ in range(4):
        alike_after(compiled, f, lambda: (x(), x()))
    alike_after(compiled, f, lambda: (t := x(), t))
    alike_after(compiled, f, lambda: ((t := tengen.arange(12.0))[:6].view(2, 3), t[3:9].view(2, 3)))
    alike_after(compiled, f, lambda: (x(), x()))


def alike_after(compiled: Any, f: Any, make: Callable[[], tuple[Any, ...]]) -> None:
    """Results, and the arguments after the call."""
    ours, theirs = make(), make()
    same((compiled(*ours), *ours), (f(*theirs), *theirs))


def test_effects_are_told() -> None:
    compiled = tengen.compile(lambda t: (LOG.append(1), t * 2)[1])
    for _ in range(3):
        compiled(x())
    assert reason(compiled) and not is_ready(compiled) and not leaves_of(*entries(compiled))
    strict = tengen.compile(lambda t: (print(end=""), t * 2)[1], fullgraph=True)
    with pytest.raises(RuntimeError, match="print"):
        strict(x())
