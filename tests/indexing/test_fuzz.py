"""Random indices: tengen and PyTorch must give the same values, strides, gradients and errors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from indices import random_index, random_shape

import tengen

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:Using a non-tuple sequence"),
    pytest.mark.filterwarnings("ignore:indexing with dtype"),
]

ROUNDS = 150
ERRORS = (IndexError, RuntimeError, TypeError, ValueError)


def outcome(function: Any) -> tuple[Any, type | None]:
    try:
        return function(), None
    except ERRORS as error:
        return error, type(error)


def random_tensors(rng: random.Random, seed: int) -> tuple[Any, Any]:
    """The same tensor in both libraries, not always contiguous, and requiring a gradient."""
    data = np.random.default_rng(seed).standard_normal(random_shape(rng))
    ours, theirs = tengen.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    return ours, theirs


def arranged(rng: random.Random, tensors: tuple[Any, Any]) -> tuple[Any, Any]:
    """The tensors times 1, permuted now and then."""
    order = list(range(tensors[0].ndim))
    if rng.random() < 0.4:
        rng.shuffle(order)
    ours, theirs = [t.mul(1).permute(tuple(order)) for t in tensors]
    return ours, theirs


def drawn(rng: random.Random, seed: int) -> tuple[Any, Any, Any, Any]:
    """The leaves, what is made of them in each library, and an index of it."""
    leaves = random_tensors(rng, seed)
    x, y = arranged(rng, leaves)
    return leaves, x, y, random_index(rng, tuple(x.shape))


def same(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


@pytest.mark.parametrize("seed", range(12))
def test_getitem(seed: int) -> None:
    rng = random.Random(seed)
    for i in range(ROUNDS):
        leaves, x, y, index = drawn(rng, i)
        mine, torchs, text = index.given(tengen), index.given(torch), str(index)
        where = f"x{list(x.shape)}{list(x.stride())}[{text}]"
        ours, our_error = outcome(lambda x=x, mine=mine: x[mine])
        theirs, their_error = outcome(lambda y=y, torchs=torchs: y[torchs])
        if our_error is IndexError and their_error is None and not theirs.numel():
            continue  # torch does not look at indices when the result has no elements
        assert our_error is their_error, f"{where}: {ours} | {theirs}"
        if our_error is not None:
            continue
        try:
            same(ours, theirs)
            assert ours._is_view() == theirs._is_view()
            if ours._is_view() and ours.numel():
                assert tuple(ours.stride()) == theirs.stride()
                assert ours.storage_offset() == theirs.storage_offset()
            weight = np.random.default_rng(i).standard_normal(tuple(theirs.shape))
            (a,) = tengen.autograd.grad([ours], [leaves[0]], [tengen.tensor(weight)])
            (b,) = torch.autograd.grad([theirs], [leaves[1]], [torch.tensor(weight)])
            np.testing.assert_allclose(a.numpy(), b.numpy())
            with tengen.no_grad():
                same(x[mine], theirs)
            if ours._is_view():
                assert ours.stride() == x.detach()[mine].stride()
        except AssertionError as error:
            raise AssertionError(where) from error


@pytest.mark.parametrize("seed", range(12))
def test_setitem(seed: int) -> None:
    rng = random.Random(100 + seed)
    for i in range(ROUNDS):
        leaves, x, y, index = drawn(rng, i)
        mine, torchs, text = index.given(tengen), index.given(torch), str(index)
        target, their_error = outcome(lambda y=y, torchs=torchs: y[torchs])
        if their_error is None and not distinct(x, mine):
            continue  # which of several values stays is nobody's promise
        shape = tuple(target.shape) if their_error is None else ()
        shape = tuple([n if rng.random() < 0.85 else 1 for n in shape])[rng.choice([0, 0, 0, len(shape)]) :]
        if rng.random() < 0.1:
            shape = (1, *shape)
        data = np.random.default_rng(i).standard_normal(shape)
        u, v = tengen.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
        number = rng.random() < 0.2
        before = x.detach().numpy().copy()
        where = f"x{list(x.shape)}{list(x.stride())}[{text}] = {1.5 if number else list(shape)}"
        ours, our_error = outcome(lambda: x.__setitem__(mine, 1.5 if number else u))  # noqa: B023
        theirs, their_error = outcome(lambda: y.__setitem__(torchs, 1.5 if number else v))  # noqa: B023
        if our_error is IndexError and their_error is None and not target.numel():
            continue
        assert our_error is their_error, f"{where}: {ours} | {theirs}"
        try:
            if our_error is not None:  # torch may have written a part
                np.testing.assert_array_equal(x.detach().numpy(), before)
                continue
            same(x, y)
            grads = tengen.autograd.grad([x * x], [leaves[0], u], [tengen.ones_like(x)], allow_unused=True)
            expected = torch.autograd.grad([y * y], [leaves[1], v], [torch.ones_like(y)], allow_unused=True)
            for a, b in zip(grads, expected, strict=True):
                if b is not None and a is not None:
                    np.testing.assert_allclose(a.numpy(), b.numpy())
                elif b is not None or a is not None:
                    assert not np.any((a if b is None else b).numpy())
        except AssertionError as error:
            raise AssertionError(where) from error


def distinct(x: Any, index: Any) -> bool:
    """Whether an index names no element twice."""
    try:
        places = tengen.arange(x.numel()).view(x.shape)[index].numpy().reshape(-1)
    except IndexError:
        return True
    return len(np.unique(places)) == len(places)


@pytest.mark.parametrize("seed", range(4))
def test_setitem_without_history(seed: int) -> None:
    """The short way of assignment writes what the long one does."""
    rng = random.Random(200 + seed)
    for i in range(ROUNDS):
        _, x, y, index = drawn(rng, i)
        x, y = x.detach(), y.detach()
        mine, torchs, text = index.given(tengen), index.given(torch), str(index)
        if outcome(lambda x=x, mine=mine: x[mine])[1] is None and not distinct(x, mine):
            continue
        version = x._version
        _, our_error = outcome(lambda: x.__setitem__(mine, 2))  # noqa: B023
        _, their_error = outcome(lambda: y.__setitem__(torchs, 2))  # noqa: B023
        assert our_error is their_error, text
        same(x, y)
        assert (x._version > version) is (our_error is None and mine is not False), text
