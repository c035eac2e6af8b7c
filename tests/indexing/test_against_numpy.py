"""Random indices: the elements that NumPy finds are read, written, and get the gradients."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import numpy as np
import pytest
from indices import elements, random_index, random_shape

import tengen

pytestmark = pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")

ROUNDS = 150
ERRORS = re.compile(
    r"index -?\d+ is out of bounds for dimension \d+ with size \d+"
    r"|index is out of bounds for dimension with size 0"
    r"|too many indices for tensor of dimension \d+"
    r"|invalid index of a 0-dim tensor|slice\(\) cannot be applied to a 0-dim tensor"
    r"|The shape of the mask .* does not match the shape of the indexed tensor"
    r"|shape mismatch: indexing tensors could not be broadcast"
)


def taken(shape: tuple[int, ...], index: Any) -> Any:
    """The numbers of the elements that an index takes; None where it is an error."""
    try:
        return elements(shape, index.meant())
    except IndexError:
        return None


@pytest.mark.parametrize("seed", range(6))
def test_reading(seed: int) -> None:
    rng = random.Random(seed)
    for i in range(ROUNDS):
        shape = random_shape(rng)
        data = np.random.default_rng(i).standard_normal(shape)
        leaf = tengen.tensor(data, requires_grad=True)
        index = random_index(rng, shape)
        where = f"x{list(shape)}[{index}]"
        places = taken(shape, index)
        for x in (leaf.detach(), leaf, leaf * 1):
            if places is None:
                with pytest.raises(IndexError) as caught:
                    x[index.given(tengen)]
                assert ERRORS.search(str(caught.value)), f"{where}: {caught.value}"
                continue
            found = x[index.given(tengen)]
            np.testing.assert_array_equal(found.detach().numpy(), data.reshape(-1)[places], err_msg=where)
            assert found._is_view() is index.basic(), where
            assert found.requires_grad is x.requires_grad
            if x.requires_grad:
                weight = np.random.default_rng(i + 1).standard_normal(places.shape)
                (grad,) = tengen.autograd.grad([found], [leaf], [tengen.tensor(weight)])
                expected = np.zeros(data.size)
                np.add.at(expected, places, weight)
                np.testing.assert_allclose(grad.numpy(), expected.reshape(shape), err_msg=where)


def value_for(rng: random.Random, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Values that broadcast to a shape: of size 1 in some dimensions, of fewer, or of one more in front."""
    sizes = [n if rng.random() < 0.85 else 1 for n in shape][rng.choice([0, 0, 0, len(shape)]) :]
    if rng.random() < 0.1:
        sizes = [1, *sizes]
    return np.random.default_rng(seed).standard_normal(sizes)


def broadcast_to(value: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """As NumPy's; dims of size 1 in front that are too many are left out."""
    while value.ndim > len(shape):
        value = value[0]
    return np.broadcast_to(value, shape)


@pytest.mark.parametrize(("of_target", "of_value"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("seed", range(2))
def test_writing(seed: int, of_target: bool, of_value: bool) -> None:
    """Recorded if either requires a gradient; where nothing is recorded and where something is alike."""
    rng = random.Random(100 + seed)
    for i in range(ROUNDS):
        shape = random_shape(rng)
        index = random_index(rng, shape)
        places = taken(shape, index)
        where = f"x{list(shape)}[{index}] = ..."
        data = np.random.default_rng(i).standard_normal(shape)
        leaf = tengen.tensor(data, requires_grad=of_target)
        x = leaf * 1
        if places is None:
            with pytest.raises(IndexError) as caught:
                x[index.given(tengen)] = 2
            assert ERRORS.search(str(caught.value)), f"{where}: {caught.value}"
            np.testing.assert_array_equal(x.detach().numpy(), data)
            continue
        if len(np.unique(places)) < places.size:
            continue  # which of several values stays is nobody's promise
        value = value_for(rng, places.shape, i)
        given = tengen.tensor(value, requires_grad=of_value)
        version = x._version
        x[index.given(tengen)] = given
        nothing = index.bare and index.parts[0].value is False
        assert x._version == version + (not nothing), where
        expected = data.reshape(-1).copy()
        expected[places] = broadcast_to(value, places.shape)
        np.testing.assert_array_equal(x.detach().numpy(), expected.reshape(shape), err_msg=where)
        assert x.requires_grad is (of_target or (of_value and not nothing)), where
        if not x.requires_grad:
            continue
        leaves = [t for t in (leaf, given) if t.requires_grad]
        grads = tengen.autograd.grad([x * x], leaves, [tengen.ones_like(x)], allow_unused=True)
        if of_target:
            kept = 2 * data.reshape(-1)
            kept[places] = 0
            np.testing.assert_allclose(grads[0].numpy(), kept.reshape(shape), err_msg=where)
        if of_value:
            shares = np.zeros(value.size)
            np.add.at(shares, broadcast_to(np.arange(value.size).reshape(value.shape), places.shape), 1)
            wanted = 2 * value * shares.reshape(value.shape)
            found = np.zeros(value.shape) if grads[-1] is None else grads[-1].numpy()
            np.testing.assert_allclose(found, wanted, err_msg=where)


@pytest.mark.parametrize("shape", [(2, 3, 4), (4, 3, 2), (5,), (3, 1)], ids=str)
def test_what_is_out_of_range_behind_dots(shape: tuple[int, ...]) -> None:
    """At each place and beside ``...`` at each place the text names the dimension of the tensor."""
    x = tengen.zeros(shape)
    for dim, n in enumerate(shape):
        for bad, dots in itertools.product((n, -n - 1), range(len(shape) + 1)):
            # The dimensions before the dots are given from the front, those behind from the back.
            parts = [0] * len(shape)
            parts[dim] = bad
            for key in ((*parts[:dots], ..., *parts[dots:]), tuple(parts)):
                text = f"index {bad} is out of bounds for dimension {dim} with size {n}"
                with pytest.raises(IndexError, match=text):
                    x[key]
                with pytest.raises(IndexError, match=text):
                    x[key] = 1
            text = f"too many indices for tensor of dimension {len(shape)}"
            many = (*[0] * dots, ..., *[0] * (len(shape) + 1 - dots))
            for key in (many, tuple([slice(None) if k == 0 else k for k in many])):
                with pytest.raises(IndexError, match=text):
                    x[key]
                with pytest.raises(IndexError, match=text):
                    x[key] = 1
    assert not x.any()


def test_masks_stand_for_their_dimensions() -> None:
    """Before, behind and instead of ``...``, of every number of dimensions."""
    shape = (2, 3, 4)
    data = np.arange(24.0).reshape(shape)
    x = tengen.tensor(data)
    for dims, start in itertools.product(range(1, 4), range(3)):
        if start + dims > 3:
            continue
        mask = np.random.default_rng(dims).random(shape[start : start + dims]) < 0.5
        before, behind = (slice(None),) * start, (slice(None),) * (3 - start - dims)
        expected = data[(*before, mask)]
        for key in ((*before, mask), (..., mask, *behind), (*before, mask, ...)):
            ours = tuple([tengen.tensor(k) if k is mask else k for k in key])
            for given in (ours, key):
                np.testing.assert_array_equal(x[given].numpy(), expected)
        with pytest.raises(IndexError, match="too many indices for tensor of dimension 3"):
            x[(*before, tengen.tensor(mask), *behind, 0)]
