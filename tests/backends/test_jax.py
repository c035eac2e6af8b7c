"""Tensors on the device ``jax``: arrays, keys, and what is wrong with arguments."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen

jax = pytest.importorskip("jax", reason="NOT TESTED: JAX is not installed")

import jax.numpy as jnp  # noqa: E402

tj = tengen.jax


def test_arrays_go_to_tensors_and_back_without_copies() -> None:
    array = jnp.arange(6.0).reshape(2, 3)
    x = tj.from_jax(array)
    assert x.shape == (2, 3) and x.dtype is tengen.float64 and x.device == tengen.device("jax")
    assert tj.to_jax(x) is array
    assert tj.to_jax(x.detach()) is array


def test_the_sharding_of_one_device() -> None:
    x = tengen.ones(3).to("jax", sharding=jax.devices()[0])
    assert tj.sharding(x).device_set == {jax.devices()[0]}
    y = tengen.ones(3, device="jax").requires_grad_()
    (tj.device_put(y, jax.devices()[0]) * 3).sum().backward()
    assert y.grad.tolist() == [3, 3, 3]


# -- random numbers


def drawn(generator: Any) -> dict[str, Any]:
    """Numbers of every distribution, many of each."""
    zeros = tengen.zeros(4000, dtype=tengen.float64, device="jax")
    like: Any = {"generator": generator}
    new: Any = {"device": "jax", **like}
    return {
        "rand": tengen.rand(4000, **new),
        "rand complex": tengen.rand(4000, dtype=tengen.complex64, **new),
        "randn": tengen.randn(4000, **new),
        "randn complex": tengen.randn(4000, dtype=tengen.complex128, **new),
        "randint": tengen.randint(-3, 9, (4000,), **new),
        "randperm": tengen.randperm(4000, **new),
        "random_": zeros.to(tengen.int8).random_(**like),
        "random_ long": zeros.long().random_(**like) >> 40,
        "random_ from": zeros.clone().random_(2, 7, **like),
        "random_ all": zeros.long().random_(-(2**63), None, **like) >> 40,
        "uniform_": zeros.clone().uniform_(-2, 3, **like),
        "normal_": zeros.clone().normal_(1, 2, **like),
        "normal": tengen.normal(zeros + 3, zeros + 0.5, **like),
        "exponential_": zeros.clone().exponential_(2, **like),
        "log_normal_": zeros.clone().log_normal_(0, 0.5, **like),
        "cauchy_": zeros.clone().cauchy_(1, 2, **like),
        "geometric_": zeros.clone().geometric_(0.3, **like),
        "bernoulli": tengen.bernoulli(zeros + 0.2, **like),
        "bernoulli_": zeros.clone().bernoulli_(0.7, **like),
        "poisson": tengen.poisson(zeros + 4, **like),
        "poisson many": tengen.poisson(zeros + 1e20, **like) / 1e20,
        "binomial": tengen.binomial(zeros + 10, zeros + 0.3, **like),
        "multinomial": tengen.multinomial(tengen.tensor([1.0, 0, 3, 4]).to("jax"), 4000, True, **like),
        "without replacement": tengen.multinomial(zeros + 1, 4000, **like),
    }


def test_every_distribution_is_drawn_by_keys_as_on_the_cpu() -> None:
    """Traced, as many numbers as on the CPU are below each of some quantiles."""
    there = tj.jit(drawn)(tengen.Generator("jax").manual_seed(5))
    here = drawn(tengen.Generator().manual_seed(6))
    for name, found in there.items():
        expected = here[name]
        assert found.dtype is expected.dtype and found.shape == expected.shape, name
        parts = [(t.cpu().numpy()) for t in (found, expected)]
        sides = [[p.real, p.imag] if np.iscomplexobj(p) else [p] for p in parts]
        for mine, its in zip(*sides, strict=True):
            for q in np.quantile(its, (0.05, 0.25, 0.5, 0.75, 0.95)):
                # 5 standard deviations of the difference of two shares of 4000
                assert abs((mine <= q).mean() - (its <= q).mean()) < 5 * (0.5 / 4000) ** 0.5, (name, q)
    assert sorted(there["without replacement"].tolist()) == list(range(4000))


def test_a_generator_carries_a_key() -> None:
    generator = tj.from_key(jax.random.key(7))
    same = tengen.Generator("jax").manual_seed(7)
    first = tengen.rand(3, device="jax", generator=generator)
    assert first.tolist() == tengen.rand(3, device="jax", generator=same).tolist()
    assert jnp.all(jax.random.key_data(tj.to_key(generator)) == jax.random.key_data(tj.to_key(same)))
    copies = [pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator), generator.clone_state()]
    state = generator.get_state()
    second = tengen.rand(3, device="jax", generator=generator).tolist()
    assert second != first.tolist()
    for each in (*copies, generator.set_state(state)):
        assert tengen.rand(3, device="jax", generator=each).tolist() == second
    old = tj.from_key(jax.random.PRNGKey(7))
    assert tengen.rand(3, device="jax", generator=old).tolist() == first.tolist()


def test_operators_without_an_argument_draw_from_the_generator_of_the_context() -> None:
    x = tengen.ones(1000, device="jax")

    def dropped(seed: int) -> list[float]:
        with tj.use_generator(tengen.Generator("jax").manual_seed(seed)):
            kept: list[float] = tengen.nn.functional.dropout(x, 0.25).tolist()
        return kept

    assert dropped(1) == dropped(1) != dropped(2)
    assert 650 < np.count_nonzero(dropped(1)) < 850
    tengen.manual_seed(3)
    rand = tengen.rand(2, device="jax").tolist()
    tengen.manual_seed(3)
    assert rand == tengen.rand(2).tolist()  # without one the host draws, as on the CPU


# -- what is wrong

there = tengen.arange(6.0).reshape(2, 3).to("jax")
here = tengen.ones(2, 3)
far = tengen.tensor([0, 9]).to("jax")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: tj.from_jax(np.ones(2)),
        TypeError,
        "from_jax(): argument 'array' must be a jax.Array, not numpy",
    ),
    (
        lambda: tj.from_jax(jax.random.key(0)),
        TypeError,
        "from_jax(): argument 'array' has the dtype key<fry>",
    ),
    (
        lambda: tj.to_jax(here),
        TypeError,
        "to_jax(): argument 'tensor' must be a Tensor on jax, not a Tensor on c",
    ),
    (
        lambda: tj.to_jax(there.clone().requires_grad_()),
        RuntimeError,
        "to_jax(): argument 'tensor' requires grad",
    ),
    (lambda: tj.sharding(3), TypeError, "sharding(): argument 'tensor' must be a Tensor on jax, not int"),
    (
        lambda: tj.device_put(here, jax.devices()[0]),
        TypeError,
        "device_put(): argument 'tensor' must be a Tensor",
    ),
    (
        lambda: tj.device_put(there, "cpu"),
        TypeError,
        "device_put(): argument 'sharding' must be a jax.Device or",
    ),
    (lambda: here.to("cpu", sharding=jax.devices()[0]), TypeError, "to() received an invalid combination"),
    (lambda: tj.from_key(3), TypeError, "from_key(): argument 'key' must be a key of jax.random, not int"),
    (
        lambda: tj.from_key(jnp.ones(2)),
        TypeError,
        "from_key(): argument 'key' must be a key of jax.random, not",
    ),
    (
        lambda: tj.from_key(jax.random.split(jax.random.key(0))),
        ValueError,
        "must be one key, but there are (2,)",
    ),
    (
        lambda: tj.to_key(tengen.Generator()),
        TypeError,
        "to_key(): argument 'generator' must be a Generator on jax",
    ),
    (
        lambda: tengen.rand(2, generator=tengen.Generator("jax")),
        RuntimeError,
        "rand: Expected a 'cpu' device type",
    ),
    (
        lambda: tengen.Generator("jax").set_state(tengen.get_rng_state()),
        RuntimeError,
        "RNG state is wrong size: 45 bytes, where 16 are expected",
    ),
    # Mixed backends, and indices out of bounds.
    (lambda: there + here, RuntimeError, "add: Expected all tensors to be on the same device"),
    (lambda: there @ here.T, RuntimeError, "Expected all tensors to be on the same device"),
    (lambda: tengen.cat([there, here]), RuntimeError, "cat: Expected all tensors to be on the same device"),
    (lambda: there[far], IndexError, "index: index 9 is out of bounds for dimension 0 with size 2"),
    (
        lambda: there.index_select(1, far),
        IndexError,
        "index_select: index 9 is out of bounds for dimension 1",
    ),
    (lambda: there.gather(1, far[:, None]), RuntimeError, "gather: index 9 is out of bounds for dimension 1"),
    (
        lambda: there.index_add(0, far, there),
        RuntimeError,
        "index_add: index 9 is out of bounds for dimension 0",
    ),
    (lambda: tengen.nn.functional.embedding(far, there), IndexError, "embedding: index out of range"),
    (lambda: tengen.nn.functional.cross_entropy(there, far), IndexError, "Target 9 is out of bounds"),
    # Arrays that cannot change: what is written is another array, unless there is no way to it.
    (
        lambda: there.clone().as_strided((2,), (1,)),
        NotImplementedError,
        "\"as_strided\" not implemented for 'Float'",
    ),
    (lambda: there.numpy().__setitem__(0, 1), ValueError, "read-only"),
    (
        lambda: there.expand(4, 2, 3).add_(1),
        RuntimeError,
        "add_: unsupported operation: more than one element",
    ),
]


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda i: re.sub(r"\W+", "_", WRONG[i][2])[:40])
def test_what_is_wrong_is_told_and_leaves_all_as_it_was(number: int) -> None:
    call, kind, text = WRONG[number]
    with pytest.raises(kind, match=re.escape(text)):
        call()
    assert there.tolist() == [[0, 1, 2], [3, 4, 5]] and here.tolist() == [[1, 1, 1]] * 2


def test_an_operator_that_lacks_is_told_before_anything_ran() -> None:
    calls = []
    x = there.clone().requires_grad_()
    x.register_hook(calls.append)
    with pytest.raises(NotImplementedError, match=r'"as_strided" not implemented for \'Float\' \(JAX\)'):
        tengen.as_strided_copy(x, (2,), (1,)).sum().backward()
    assert calls == [] and x.grad is None and x._version == 0
