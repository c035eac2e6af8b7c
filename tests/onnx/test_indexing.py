"""Indices in ONNX: integers, slices, None, ``...``, masks, and tensors side by side and with gaps.

Torch puts the dimensions of index tensors where the first one stands when all of them are neighbours, and in
front when there is a gap between them.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing.symbolics import session_of

SIZES = (3, 4, 2, 3)


class Places:
    """An index tensor of a shape, with places of whichever dimension it stands at, negative ones too."""

    def __init__(self, *shape: int, dtype: str = "int64") -> None:
        self.shape, self.dtype = shape, dtype

    def array(self, size: int, at: int) -> np.ndarray[Any, Any]:
        count = int(np.prod(self.shape))
        values = (np.arange(count) * (2 * at + 3) + at) % (2 * size) - size
        return values.reshape(self.shape).astype(self.dtype)

    def __repr__(self) -> str:
        return f"places{self.shape}"


class Mask(Places):
    """A mask of one dimension of which two places are true, or of several."""

    def __init__(self, dims: int = 1) -> None:
        super().__init__()
        self.dims = dims

    def of(self, sizes: tuple[int, ...]) -> np.ndarray[Any, Any]:
        found = np.zeros(sizes, bool)
        found.reshape(-1)[[0, found.size - 1]] = True
        return found

    def __repr__(self) -> str:
        return f"mask{self.dims}"


def arrays(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with arrays for what stands for a tensor."""
    counted = sum(p.dims if isinstance(p, Mask) else p is not None and p is not Ellipsis for p in parts)
    found, at = [], 0
    for part in parts:
        if isinstance(part, Mask):
            found.append(part.of(SIZES[at : at + part.dims]))
            at += part.dims
            continue
        found.append(part.array(SIZES[at], at) if isinstance(part, Places) else part)
        if part is Ellipsis:
            at += len(SIZES) - counted
        elif part is not None:
            at += 1
    return tuple(found)


ALL = slice(None)
PLAIN = (ALL, slice(1, None), slice(None, None, 2), 1, -1)
TENSORS = (Places(2), Places(3, 1), Places(1), Places(), Places(2, dtype="int32"))


def gaps() -> Iterator[tuple[Any, ...]]:
    """Each choice of dimensions that index tensors stand at, with something plain at the others."""
    for count in range(1, len(SIZES) + 1):
        for chosen in itertools.product((False, True), repeat=count):
            if any(chosen):
                for turn in range(3):
                    tensors = itertools.cycle(TENSORS[turn:] + TENSORS[:turn])
                    plain = itertools.cycle(PLAIN[turn:] + PLAIN[:turn])
                    yield tuple([next(tensors) if c else next(plain) for c in chosen])


def with_none() -> Iterator[tuple[Any, ...]]:
    """None, and ``...``, in each place of an index that has neighbours and of one that has a gap."""
    for parts in (
        (Places(2), Places(3, 1)),
        (Places(2), ALL, Places(2)),
        (1, Places(2)),
        (ALL, Places(2), 0),
    ):
        for at in range(len(parts) + 1):
            for more in (None, Ellipsis):
                yield (*parts[:at], more, *parts[at:])
        yield (None, *parts, None)


def with_masks() -> Iterator[tuple[Any, ...]]:
    """A mask among whatever is no tensor, and beside tensors and other masks."""
    for lead in ((), (ALL,), (1,), (slice(1, None), None), (None, ALL)):
        for dims in (1, 2):
            yield (*lead, Mask(dims))
            yield (*lead, Mask(dims), slice(0, 1))
    for other in (Places(2), Places(1), Places(), Places(3, 1), Mask(1)):
        yield (Mask(1), other)
        yield (other, Mask(1))
        yield (Mask(1), ALL, other)
        yield (ALL, other, None, Mask(1))
    yield (Mask(4),)
    yield (..., Mask(1))


INDICES = {str(parts): arrays(parts) for parts in (*gaps(), *with_none(), *with_masks())}
X = np.arange(np.prod(SIZES), dtype=np.float32).reshape(SIZES)


def pieces(index: tuple[Any, ...], library: Any) -> tuple[Any, ...]:
    """The index with the tensors of a library."""
    return tuple([library.tensor(part) if isinstance(part, np.ndarray) else part for part in index])


def put(x: Any, index: tuple[Any, ...], values: Any) -> Any:
    """The tensor after a write."""
    result = x.clone()
    result[index] = values
    return result


def in_onnxruntime(function: Any, *inputs: Any) -> np.ndarray[Any, Any]:
    pytest.importorskip("onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tengen.jit.TracerWarning)
        model = tengen.onnx.export(function, inputs)
    session = session_of(model)
    names = [i.name for i in model.graph.input]
    used = {i.name for i in session.get_inputs()}
    given = {n: t.numpy() for n, t in zip(names, inputs, strict=True) if n in used}
    found: np.ndarray[Any, Any] = session.run(None, given)[0]
    return found


def indexed(index: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """What makes the index of tensors, and these, which are inputs of the model."""
    tensors = [tengen.tensor(part) for part in index if isinstance(part, np.ndarray)]

    def made(given: tuple[Any, ...]) -> tuple[Any, ...]:
        waiting = iter(given)
        return tuple([next(waiting) if isinstance(part, np.ndarray) else part for part in index])

    return made, tensors


@pytest.mark.parametrize("text", INDICES)
def test_reading(text: str) -> None:
    made, tensors = indexed(INDICES[text])
    x = tengen.tensor(X)
    found = in_onnxruntime(lambda x, *given: x[made(given)], x, *tensors)
    expected = x[made(tuple(tensors))].numpy()
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("text", INDICES)
def test_writing(text: str) -> None:
    made, tensors = indexed(INDICES[text])
    x = tengen.tensor(X)
    shape = x[made(tuple(tensors))].shape
    whole = tengen.arange(int(np.prod(shape)), dtype=tengen.float32).reshape(shape).neg()
    # One value for a place that is named twice: which of several is kept is not said.
    given = [whole.flatten()[-1], (whole * 0 - 7)[..., :1] if shape else whole]
    places = x[made(tuple(tensors))].flatten().tolist()
    if len(set(places)) == len(places):
        given.append(whole)
    for values in given:
        found = in_onnxruntime(lambda x, v, *given: put(x, made(given), v), x, values, *tensors)
        np.testing.assert_array_equal(found, put(x, made(tuple(tensors)), values).numpy())


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_how_many_a_mask_chooses_is_the_models_to_find(count: int) -> None:
    pytest.importorskip("onnxruntime")
    x, mask = tengen.tensor(X), tengen.tensor([True, False, True, False])
    functions = (
        lambda x, m: x[:, m].sum(1),
        lambda x, m: x[1:, m, None, -1].exp().sum(1),
        lambda x, m: put(x, (slice(None), m), -1.0),
        lambda x, m: x[0][m, :, tengen.tensor([1])].sum(0),
    )
    other = tengen.arange(4) < count
    for function in functions:
        model = tengen.onnx.export(function, (x, mask))
        session = session_of(model)
        names = [i.name for i in model.graph.input]
        (found,) = session.run(None, dict(zip(names, (x.numpy(), other.numpy()), strict=True)))
        np.testing.assert_allclose(found, function(x, other).numpy(), rtol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("text", INDICES)
def test_torch_reads_and_writes_the_same(text: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (library.tensor(X)[pieces(INDICES[text], library)] for library in (tengen, torch))
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    ours, theirs = (
        put(library.tensor(X), pieces(INDICES[text], library), -7.0) for library in (tengen, torch)
    )
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
