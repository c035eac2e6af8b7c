"""What functions give, whatever it is; and what they decide by elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from compared import alike, entries, is_ready, leaves_of, reason, same

import tengen
from tengen import nn

LOG: list[Any] = []
WEIGHT = tengen.ones(3)


def x() -> Any:
    return tengen.arange(6.0).reshape(2, 3) / 4 - 0.5


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


def test_numbers_of_places_are_tensors_like_others() -> None:
    """What loops know is in no memory, until somebody reads it from there."""

    def function(x: Any, i: Any) -> Any:
        places = tengen.arange(1, 13).reshape(3, 4)
        return (
            places[i],
            places.t() * 1,
            places.flip(0),
            places.sum(1),
            x[tengen.arange(2)],
            places.sort().values,
        )

    compiled = tengen.compile(function)
    for _ in range(3):
        alike(compiled, function, tengen.arange(6.0).reshape(3, 2), tengen.tensor([2, 0]))


@pytest.mark.parametrize("accumulate", [False, True])
def test_writes_at_indices_meet_in_their_order(accumulate: bool) -> None:
    def function(x: Any, i: Any, j: Any, v: Any) -> Any:
        rows = x.index_put((i,), v, accumulate)
        apart = x.permute(2, 0, 1).index_put((i, None, j), v[:, 0, :3], accumulate)
        along = i.abs()[:, None, None].expand(6, 4, 5)
        return rows, apart, x.scatter_reduce(0, along, v.expand(6, 4, 5), "amax"), x.scatter(0, along, 2.0)

    x = tengen.arange(60.0).reshape(3, 4, 5).sin().requires_grad_()
    v = tengen.arange(30.0).reshape(6, 1, 5).cos().requires_grad_()
    i, j = tengen.tensor([0, 2, 2, -1, 0, 0]), tengen.tensor([0, 0, 1, 2, -3, 1])
    compiled = tengen.compile(function)
    for _ in range(3):
        alike(compiled, function, x, i, j, v)
    assert is_ready(compiled)
    with tengen.no_grad():
        for found, expected in zip(compiled(x, i, j, v), function(x, i, j, v), strict=True):
            assert tengen.equal(found, expected)  # bit by bit
