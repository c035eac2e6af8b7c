"""Random indices: tengen and PyTorch must give the same values, strides, gradients and errors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:Using a non-tuple sequence"),
    pytest.mark.filterwarnings("ignore:indexing with dtype"),
]

ROUNDS = 150
ERRORS = (IndexError, RuntimeError, TypeError, ValueError)


class Part:
    """One part of an index, for both libraries."""

    def __init__(self, ours: Any, theirs: Any, text: str) -> None:
        self.ours, self.theirs, self.text = ours, theirs, text

    @classmethod
    def plain(cls, value: Any) -> Part:
        return cls(value, value, repr(value))

    @classmethod
    def tensor(cls, array: Any) -> Part:
        return cls(tengen.tensor(array), torch.tensor(array), f"tensor({array.tolist()}, {array.dtype})")


def random_part(rng: random.Random, n: int, broadcast: tuple[int, ...]) -> Part:
    """A part for a dimension of size ``n``; index tensors have a shape that broadcasts to ``broadcast``."""
    kind = rng.choice(["int", "int", "slice", "slice", "slice", "tensor", "list", "mask", "numpy", "number"])
    low, high = (-n, n - 1) if n and rng.random() < 0.97 else (-n - 1, n)
    bound = lambda: rng.choice([None, rng.randint(-n - 1, n + 1)])  # noqa: E731
    if kind == "int":
        return Part.plain(rng.randint(low, high))
    if kind == "slice":
        return Part.plain(slice(bound(), bound(), rng.choice([None, 1, 1, 2, 3])))
    if kind == "mask":
        return Part.tensor(np.array([rng.random() < 0.6 for _ in range(n)], bool))
    shape = tuple([m if rng.random() < 0.8 else 1 for m in broadcast])[rng.randint(0, len(broadcast)) :]
    array = np.array([rng.randint(low, high) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
    if kind == "numpy":
        return Part.plain(array)
    if kind == "list" and array.ndim:
        return Part.plain(array.tolist())
    if kind == "number":
        return Part.plain(np.int64(rng.randint(low, high)))
    return Part.tensor(array.astype(rng.choice([np.int64, np.int32])))


def random_index(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, Any, str]:
    """An index of a tensor of that shape, for tengen, for torch and to read."""
    if len(shape) > 1 and rng.random() < 0.1:
        covered = rng.randint(1, len(shape))
        parts = [
            Part.tensor(
                np.array(np.random.default_rng(rng.random().__hash__()).random(shape[:covered]) < 0.5)
            )
        ]
        rest = shape[covered:]
    else:
        parts, rest = [], shape
    broadcast = tuple([rng.randint(1, 3) for _ in range(rng.randint(0, 2))])
    used = rest[: rng.randint(0, len(rest))] if rng.random() < 0.6 else rest
    parts += [random_part(rng, n, broadcast) for n in used]
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        parts.insert(rng.randint(0, len(parts)), Part.plain(None))
    if rng.random() < 0.25:
        at = rng.randint(0, len(parts))
        parts.insert(at, Part.plain(...))
    if rng.random() < 0.06:
        parts.insert(rng.randint(0, len(parts)), Part.plain(rng.random() < 0.8))
    text = ", ".join([p.text for p in parts])
    if len(parts) == 1 and rng.random() < 0.5:
        return parts[0].ours, parts[0].theirs, text
    return tuple([p.ours for p in parts]), tuple([p.theirs for p in parts]), text


def outcome(function: Any) -> tuple[Any, type | None]:
    try:
        return function(), None
    except ERRORS as error:
        return error, type(error)


def random_tensors(rng: random.Random, seed: int) -> tuple[Any, Any]:
    """The same tensor in both libraries, not always contiguous, and requiring a gradient."""
    shape = tuple(
        [rng.choice([1, 2, 3, 4, 4, 5]) if rng.random() < 0.97 else 0 for _ in range(rng.randint(0, 4))]
    )
    data = np.random.default_rng(seed).standard_normal(shape)
    ours, theirs = tengen.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    return ours, theirs


def arranged(rng: random.Random, tensors: tuple[Any, Any]) -> tuple[Any, Any]:
    """The tensors times 1, permuted now and then."""
    order = list(range(tensors[0].ndim))
    if rng.random() < 0.4:
        rng.shuffle(order)
    ours, theirs = [t.mul(1).permute(tuple(order)) for t in tensors]
    return ours, theirs


def same(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


@pytest.mark.parametrize("seed", range(12))
def test_getitem(seed: int) -> None:
    rng = random.Random(seed)
    for i in range(ROUNDS):
        leaves = random_tensors(rng, i)
        x, y = arranged(rng, leaves)
        mine, torchs, text = random_index(rng, tuple(x.shape))
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
        leaves = random_tensors(rng, i)
        x, y = arranged(rng, leaves)
        mine, torchs, text = random_index(rng, tuple(x.shape))
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
        where = f"x{list(x.shape)}{list(x.stride())}[{text}] = {1.5 if number else list(shape)}"
        ours, our_error = outcome(lambda: x.__setitem__(mine, 1.5 if number else u))  # noqa: B023
        theirs, their_error = outcome(lambda: y.__setitem__(torchs, 1.5 if number else v))  # noqa: B023
        if our_error is IndexError and their_error is None and not target.numel():
            continue
        assert our_error is their_error, f"{where}: {ours} | {theirs}"
        try:
            same(x, y)
            if our_error is not None:
                continue
            plain = leaves[0].detach().clone().permute(tuple(range(leaves[0].ndim)))
            grads = tengen.autograd.grad([x * x], [leaves[0], u], [tengen.ones_like(x)], allow_unused=True)
            expected = torch.autograd.grad([y * y], [leaves[1], v], [torch.ones_like(y)], allow_unused=True)
            for a, b in zip(grads, expected, strict=True):
                if b is not None and a is not None:
                    np.testing.assert_allclose(a.numpy(), b.numpy())
                elif b is not None or a is not None:
                    assert not np.any((a if b is None else b).numpy())
            del plain
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
        x, y = arranged(rng, random_tensors(rng, i))
        x, y = x.detach(), y.detach()
        mine, torchs, text = random_index(rng, tuple(x.shape))
        if outcome(lambda x=x, mine=mine: x[mine])[1] is None and not distinct(x, mine):
            continue
        version = x._version
        _, our_error = outcome(lambda: x.__setitem__(mine, 2))  # noqa: B023
        _, their_error = outcome(lambda: y.__setitem__(torchs, 2))  # noqa: B023
        assert our_error is their_error, text
        same(x, y)
        assert (x._version > version) is (our_error is None and mine is not False), text
