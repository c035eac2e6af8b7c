"""Random operators: their distributions, their generators, and what is an error as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen

FLOATS = [tengen.float16, tengen.bfloat16, tengen.float32, tengen.float64]
COUNT = 40_000


def numbers(tensor: Any) -> Any:
    return (tensor.float() if tensor.dtype is tengen.bfloat16 else tensor).numpy().astype(np.float64)


def moments(tensor: Any, mean: float, deviation: float) -> None:
    found = numbers(tensor)
    assert abs(found.mean() - mean) < 5 * deviation / COUNT**0.5 + 1e-2 * abs(mean)
    assert abs(found.std() - deviation) < 0.05 * deviation


@pytest.fixture(autouse=True)
def seeded() -> None:
    tengen.manual_seed(20)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype: Any) -> None:
    for drawn in (tengen.rand(COUNT, dtype=dtype), tengen.empty(COUNT, dtype=dtype).uniform_()):
        assert drawn.dtype is dtype
        found = numbers(drawn)
        assert found.min() >= 0 and found.max() < 1
        moments(drawn, 0.5, 12**-0.5)
    found = numbers(tengen.empty(COUNT, dtype=dtype).uniform_(2.0, 2.5))
    assert found.min() >= 2 and found.max() < 2.5


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype: Any) -> None:
    moments(tengen.randn(COUNT, dtype=dtype), 0.0, 1.0)
    moments(tengen.empty(COUNT, dtype=dtype).normal_(3.0, 2.0), 3.0, 2.0)
    moments(tengen.normal(tengen.full((COUNT,), 3.0, dtype=dtype), 2.0), 3.0, 2.0)
    moments(tengen.normal(3.0, tengen.full((COUNT,), 2.0, dtype=dtype)), 3.0, 2.0)
    moments(tengen.normal(3.0, 2.0, (COUNT,), dtype=dtype), 3.0, 2.0)


def test_complex_parts() -> None:
    drawn = tengen.randn(COUNT, dtype=tengen.complex64).numpy()
    assert abs(drawn.real.std() - 0.5**0.5) < 0.02 and abs(drawn.imag.std() - 0.5**0.5) < 0.02
    drawn = tengen.rand(COUNT, dtype=tengen.complex128).numpy()
    assert drawn.imag.min() >= 0 and drawn.imag.max() < 1


def test_other_distributions() -> None:
    moments(tengen.empty(COUNT).exponential_(2.0), 0.5, 0.5)
    moments(tengen.empty(COUNT).geometric_(0.25), 4.0, 12**0.5)
    moments(tengen.bernoulli(tengen.full((COUNT,), 0.3)), 0.3, 0.21**0.5)
    moments(tengen.empty(COUNT, dtype=tengen.int32).bernoulli_(0.3), 0.3, 0.21**0.5)
    moments(tengen.empty(2, COUNT).bernoulli_(tengen.full((COUNT,), 0.3)), 0.3, 0.21**0.5)


def test_integers() -> None:
    drawn = tengen.randint(-2, 3, (COUNT,))
    assert drawn.dtype is tengen.int64
    assert np.bincount(drawn.numpy() + 2).min() > COUNT / 5 * 0.9
    assert set(tengen.empty(100, dtype=tengen.uint8).random_(254, None).tolist()) == {254, 255}
    for kind in (tengen.uint16, tengen.uint32, tengen.uint64):
        most = tengen.iinfo(kind).max
        assert set(tengen.empty(100, dtype=kind).random_(most - 1, None).tolist()) == {most - 1, most}
        assert set(tengen.randint(2, 4, (100,), dtype=kind).tolist()) == {2, 3}
    assert set(tengen.randint_like(tengen.empty(100), 2).tolist()) == {0.0, 1.0}
    assert sorted(tengen.randperm(50).tolist()) == list(range(50))
    assert numbers(tengen.empty(COUNT).random_()).max() <= 2**24


def test_multinomial() -> None:
    odds = tengen.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 2.0]])
    drawn = tengen.multinomial(odds, COUNT, replacement=True).numpy()
    assert drawn.shape == (2, COUNT)
    np.testing.assert_allclose(np.bincount(drawn[0], minlength=3) / COUNT, [0.25, 0, 0.75], atol=0.02)
    first = [int(tengen.multinomial(odds[0], 1)) for _ in range(400)]
    assert 1 not in first and 50 < first.count(0) < 150
    assert sorted(tengen.multinomial(tengen.ones(5), 5).tolist()) == [0, 1, 2, 3, 4]


DRAWS: list[Callable[[Any], Any]] = [
    lambda g: tengen.rand(4, generator=g),
    lambda g: tengen.randn(4, generator=g),
    lambda g: tengen.randint(9, (4,), generator=g),
    lambda g: tengen.randint(-9, 9, (4,), generator=g),
    lambda g: tengen.randperm(9, generator=g),
    lambda g: tengen.bernoulli(tengen.full((9,), 0.5), generator=g),
    lambda g: tengen.normal(tengen.zeros(4), 1.0, generator=g),
    lambda g: tengen.multinomial(tengen.ones(9), 4, generator=g),
    lambda g: tengen.empty(4).uniform_(generator=g),
    lambda g: tengen.empty(4).random_(0, 99, generator=g),
    lambda g: tengen.rand_like(tengen.ones(4), generator=g),
    lambda g: tengen.randint_like(tengen.ones(4), 99, generator=g),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_generator_starts_where_it_is_told(draw: Callable[[Any], Any]) -> None:
    first = draw(tengen.Generator().manual_seed(7)).tolist()
    before = tengen.get_rng_state().tolist()
    assert draw(tengen.Generator().manual_seed(7)).tolist() == first
    assert tengen.get_rng_state().tolist() == before, "the default generator was drawn from"
    tengen.manual_seed(7)
    assert draw(None).tolist() == first


def test_fills_have_no_gradient() -> None:
    x = tengen.ones(3, requires_grad=True)
    y = (x * 2).uniform_()
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 0]


BAD = """
m.rand(-1)
m.randint(3, 1, (2,))
m.randint(3, 5)
m.randperm(-1)
m.ones(2).uniform_(1, 0)
m.ones(2).normal_(0, -1)
m.ones(2).exponential_(-1)
m.ones(2).geometric_(0)
m.ones(2).bernoulli_(2.0)
m.bernoulli(m.tensor([1.5]))
m.multinomial(m.tensor([0.0, 0]), 1)
m.multinomial(m.tensor([-1.0, 1]), 1)
m.multinomial(m.ones(3), 4)
m.multinomial(m.ones(2, 3, 2), 2)
m.multinomial(m.ones(3), 0)
m.normal(m.zeros(1), -1.0)
m.normal(m.zeros(2), m.ones(3))
m.normal(m.zeros(2), -m.ones(2))
m.ones(2).random_(5, 5)
m.ones(2, dtype=m.uint8).random_(0, 300)
m.ones(2, dtype=m.int64).uniform_()
m.ones(2, dtype=m.int64).normal_()
m.rand(2, dtype=m.int64)
""".strip().splitlines()


@pytest.mark.oracle
@pytest.mark.parametrize("text", BAD)
def test_bad_calls(text: str) -> None:
    from oracle import agree, outcome

    torch = pytest.importorskip("torch")
    assert isinstance(outcome(text, tengen, {}), Exception)
    agree(text, torch)
