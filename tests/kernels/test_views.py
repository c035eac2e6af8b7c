"""View kernels: PyTorch's shapes, strides and offsets, on NumPy's arrays and on MetaArrays."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from view_facts import geometry, outcome

from tengen.generated import views as forms
from tengen.kernels import views
from tengen.kernels.layout import contiguous_strides, view_strides
from tengen.kernels.meta.array import MetaArray
from tengen.kernels.strided import element_strides
from tengen.kernels.view_plans import viewed

STEPS = 40


class Step:
    """A view with random arguments: the kernel, its name in torch.ops.aten, the arguments."""

    def __init__(self, kernel: Callable[..., Any], name: str, *args: Any) -> None:
        self.kernel, self.name, self.args = kernel, name, args

    def __repr__(self) -> str:
        return f"{self.name}{self.args}"


def random_step(rng: random.Random, shape: tuple[int, ...]) -> Step:
    """A view operator for an array of that shape; now and then with arguments that do not fit."""
    ndim = len(shape)
    d, e = rng.randint(-ndim - 1, ndim), rng.randint(-ndim - 1, ndim)
    order = list(range(ndim))
    rng.shuffle(order)
    wide = tuple([rng.choice([n, -1, 3]) if n == 1 else rng.choice([n, n, -1, 2]) for n in shape])
    wide = tuple([rng.randint(0, 3) for _ in range(rng.randint(0, 2))]) + wide
    sizes, strides = [tuple([rng.randint(0, 3) for _ in range(e % 4)]) for _ in range(2)]
    bounds = [rng.choice([None, rng.randint(-5, 5)]) for _ in range(2)]
    n = shape[d] if -ndim <= d < ndim else 3
    cut = rng.randint(0, n)
    steps = [
        Step(views.view, "view", another_shape(rng, shape)),
        Step(views.with_dims_exchanged, "transpose", d, e),
        Step(views.with_dims_ordered, "permute", tuple(order)),
        Step(views.t, "t"),
        Step(views.without_ones, "squeeze"),
        Step(views.without_dim, "squeeze", d),
        Step(partial(viewed, forms.squeeze_dims), "squeeze", (d, e)),
        Step(views.with_dim, "unsqueeze", d),
        Step(views.expand_to, "expand", wide),
        Step(views.at_index, "select", d, rng.randint(-4, 4)),
        Step(views.slice_tensor, "slice", d, *bounds, rng.randint(0, 3)),
        Step(partial(viewed, forms.diagonal), "diagonal", rng.randint(-3, 3), d, e),
        Step(partial(viewed, forms.unfold), "unfold", d, rng.randint(-1, 4), rng.randint(0, 3)),
        Step(views.parts_along, "split", rng.randint(-1, 4), d),
        Step(views.parts_along, "split_with_sizes", (cut, n - cut + rng.choice([0, 0, 0, 1])), d),
        Step(views.each_along, "unbind", d),
        Step(
            views.as_strided,
            "as_strided",
            sizes,
            strides[: len(sizes)],
            rng.choice([None, rng.randint(0, 3)]),
        ),
    ]
    return rng.choice(steps)


def another_shape(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    sizes = list(shape)
    if rng.random() < 0.5:
        sizes.insert(rng.randint(0, len(sizes)), 1)
    if len(sizes) > 1 and rng.random() < 0.5:
        i = rng.randint(0, len(sizes) - 2)
        sizes[i : i + 2] = [sizes[i] * sizes[i + 1]]
    if sizes and rng.random() < 0.2:
        sizes[rng.randint(0, len(sizes) - 1)] = -1
    return tuple(sizes)


def chains(seed: int, rounds: int) -> Any:
    """Random chains of views, as (random numbers, shape)."""
    rng = random.Random(seed)
    for _ in range(rounds):
        yield (
            rng,
            tuple(
                [
                    rng.choice([0, 1, 2, 3, 4, 4]) if rng.random() < 0.1 else rng.randint(1, 4)
                    for _ in range(rng.randint(0, 3))
                ]
            ),
        )


@pytest.mark.parametrize("seed", range(4))
def test_meta_arrays_have_the_geometry_of_arrays(seed: int) -> None:
    for rng, shape in chains(seed, STEPS * 10):
        array, meta = np.zeros(shape), MetaArray(shape, np.dtype(float))
        for _ in range(4):
            step = random_step(rng, array.shape)
            ours, theirs = outcome(step.kernel, array, *step.args), outcome(step.kernel, meta, *step.args)
            if isinstance(ours, type):
                assert ours is theirs or step.name == "as_strided", (step, shape)
                break
            if isinstance(ours, tuple):
                assert len(ours) == len(theirs)
                if not ours:
                    break
                ours, theirs = ours[-1], theirs[-1]
            assert geometry(ours) == geometry(theirs), (step, geometry(array))
            assert ours.flags.writeable and type(ours) is np.ndarray
            assert theirs.storage is meta.storage
            if not ours.size:
                break
            array, meta = ours, theirs


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(8))
def test_against_torch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    for rng, shape in chains(100 + seed, STEPS * 10):
        data = np.random.default_rng(seed).standard_normal(shape)
        array, tensor = data, torch.tensor(data)
        for _ in range(4):
            step = random_step(rng, array.shape)
            ours = outcome(step.kernel, array, *step.args)
            theirs = outcome(getattr(torch.ops.aten, step.name), tensor, *step.args)
            where = f"{step} of {geometry(tensor)}"
            if isinstance(ours, type) or isinstance(theirs, type):
                assert ours is theirs, where
                break
            if isinstance(ours, tuple):
                assert len(ours) == len(theirs), where
                if not ours:
                    break
                ours, theirs = ours[-1], theirs[-1]
            assert geometry(ours) == geometry(theirs), where
            np.testing.assert_array_equal(ours, theirs.numpy(), where)
            if not ours.size:
                break  # NumPy does not keep where nothing begins
            array, tensor = ours, theirs


def test_views_share_memory() -> None:
    a = np.zeros((3, 4))
    for view in (
        views.view(a, (2, 6)),
        views.expand_to(a, (2, 3, 4)),
        views.at_index(a, 0, 1),
        views.at_index(a[0], 0, 1),
        viewed(forms.diagonal, a, 0, 0, 1),
        viewed(forms.unfold, a, 1, 2, 1),
        views.with_dim(a.T, 2),
        views.as_strided(a.T, (2, 2), (1, 5), 1),
        views.view_dtype(a, np.dtype(np.int64)),
        views.without_dim(a, 0),
    ):
        assert isinstance(view, np.ndarray)
        assert np.shares_memory(a, view)
        view[...] = 1
    assert a.all()


def test_view_dtype() -> None:
    a = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(views.view_dtype(a, np.dtype(np.int16)), a.view(np.int16))
    np.testing.assert_array_equal(views.view_dtype(a, np.dtype(np.float64)), a.view(np.float64))
    meta = views.view_dtype(MetaArray((2, 4), a.dtype), np.dtype(np.float64))
    assert (meta.shape, meta.element_strides) == ((2, 2), (2, 1))
    with pytest.raises(RuntimeError, match=r"stride\(-1\) must be 1"):
        views.view_dtype(a.T, np.dtype(np.int16))
    with pytest.raises(RuntimeError, match="divisible by 2"):
        views.view_dtype(a[:, 1:], np.dtype(np.float64))
    with pytest.raises(RuntimeError, match="cannot be 0"):
        views.view_dtype(a[0, 0, ...], np.dtype(np.float64))


SHAPES = [s for n in range(4) for s in product((1, 2, 3), repeat=n)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_view_of_packed_elements_is_packed(shape: tuple[int, ...]) -> None:
    """Also where sizes are 1, whose strides NumPy chooses."""
    array = np.zeros(shape, np.float32)
    for size in SHAPES:
        if math.prod(size) == math.prod(shape):
            strides = view_strides(shape, contiguous_strides(shape), size)
            assert element_strides(views.view(array, size)) == strides == contiguous_strides(size)
