"""Kernels of indexing, masks and takes: PyTorch's results, and the rules where it is not at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_oracle import DTYPES, compare, random, to_torch

from tengen.kernels import creation, index as kernels, masks, positions, scatter
from tengen.kernels.index_checks import check_mask
from tengen.kernels.select import select

oracle = pytest.mark.oracle
pytestmark = pytest.mark.filterwarnings("ignore")


def numbers(values: Any, dtype: str = "int64") -> Any:
    return np.array(values, DTYPES[dtype])


FLAT = np.arange(12, dtype=np.float32).reshape(3, 4)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
NUMBER, EMPTY = np.float32(5)[...], np.zeros((0, 3), np.float32)
KEYS: list[tuple[Any, list[Any]]] = [
    (FLAT, [numbers([0, 2])]), (FLAT, [numbers([0, 5])]), (FLAT, [numbers([0, -4])]),
    (FLAT, [numbers([-1, 2, 1])]), (FLAT, [numbers([0, 1], "int32")]),
    (FLAT, [numbers([0, 1], "int16")]), (FLAT, [numbers([0, 1], "float32")]),
    (FLAT, [numbers([0, 1], "uint8")]), (FLAT, [numbers([1, 0, 1], "uint8")]),
    (FLAT, [numbers([1, 0], "bool")]),
    (FLAT, [numbers([1, 0, 1], "bool"), numbers([1, 0, 1, 1], "bool")]),
    (FLAT, [numbers([1, 0, 1], "bool"), numbers([1, 0, 1, 0], "bool")]),
    (FLAT, [numbers([0, 1]), numbers([0, 1, 2])]), (FLAT, [numbers([0, 1])] * 3), (FLAT, []),
    (FLAT, [None, numbers([0])]), (FLAT, [numbers([0, 0]), None]), (FLAT, [numbers(1)]),
    (FLAT, [numbers([])]), (FLAT, [numbers([0, 0, 1]), numbers([1, 1, 2])]), (NUMBER, [numbers([1])]),
    (EMPTY, [numbers([0])]), (EMPTY, [None, numbers([0])]), (EMPTY, [numbers([])]),
    (EMPTY, [None, numbers([])]), (CUBE, [numbers([0, 1]), None, numbers([0, 1])]),
    (CUBE, [None, numbers([0, 1]), numbers([0, 1])]), (CUBE, [None, numbers([[0, 1], [2, 1]])]),
    (CUBE, [numbers([[0], [1]]), numbers([[0, 1]])]),
    (CUBE, [numbers([[0], [1]]), None, numbers([[0, 1]])]), (CUBE, [CUBE[:, :, 0] > 3]),
    (CUBE, [None, CUBE[0] > 3]), (CUBE, [CUBE > 3]),
    (CUBE, [numbers([1, 0], "bool"), None, numbers([2, 3])]),
    (CUBE, [numbers([1, 1], "bool"), None, numbers([2, 3, 1])]), (CUBE, [numbers(1), numbers(2)]),
    (CUBE, [numbers(1), None, numbers(2)]), (CUBE, [numbers(1), None, numbers([2, 0])]),
    (CUBE, [None, numbers(1)]), (CUBE, [None, None, numbers([2, -1, 0])]),
    (CUBE, [None, None, numbers([0, 9])]),
]  # fmt: skip


def repeats(key: list[Any]) -> bool:
    """Whether some index names a position twice, so that the order of writing matters."""
    return any(i is not None and i.dtype.kind == "i" and len(set((i % 4).ravel())) < i.size for i in key)


@oracle
@pytest.mark.parametrize(("array", "key"), KEYS)
def test_index(torch: Any, array: Any, key: list[Any]) -> None:
    compare(kernels.index, torch.ops.aten.index.Tensor, array, key)
    try:
        shape = kernels.index(array, key).shape
    except IndexError:
        shapes = [()]  # one mistake at a time
    else:
        assert kernels.index_shape(array.shape, key) == shape
        shapes = [shape, (), shape[-1:], (1, *shape), (3, 7, 5)]
    rng = np.random.default_rng(0)
    for shape in shapes:
        values = random(rng, shape, "float32")
        for accumulate in (False, True):
            if (
                key
                and (accumulate or not repeats(key))
                and not any(i is not None and i.dtype == np.uint8 for i in key)
            ):
                compare(
                    lambda x, k, v, a=accumulate: kernels.index_put(x, k, v, a),
                    lambda x, k, v, a=accumulate: torch.ops.aten.index_put(x, k, v, a),
                    array, key, values,
                )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(torch: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, values = random(rng, (5, 3), dtype), random(rng, (5, 3), dtype)
    rows, flat = numbers([0, 4, 4, -1, 2]), numbers([[0, 14], [-1, -15]])
    compare(lambda x, i: kernels.index(x, [i]), lambda x, i: x[i], a, rows, opmath=False)
    compare(
        lambda x, i, v: kernels.index_put(x, [i], v, True),
        lambda x, i, v: x.index_put((i,), v, True),
        a, rows, values,
    )  # fmt: skip
    compare(kernels.gather_flat, torch.take, a, flat, opmath=False)
    for accumulate in (False, True):
        places = numbers([0, 0, -1] if accumulate else [0, 1, -1])
        compare(
            lambda x, i, v, b=accumulate: kernels.scatter_flat(x, i, v, "sum" if b else "set"),
            lambda x, i, v, b=accumulate: x.put(i, v, b),
            a, places, random(rng, (3,), dtype),
        )  # fmt: skip
    for array in (a, a[0, 0][...], a[:0]):
        compare(positions.nonzero, torch.nonzero, np.asarray(array), opmath=False)


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim"), [((5, 3), 0), ((5, 3), 1), ((2, 5, 3), 1), ((), 0), ((4,), -1)])
def test_along_a_dimension(torch: Any, dtype: str, shape: tuple[int, ...], dim: int) -> None:
    rng = np.random.default_rng(0)
    a = random(rng, shape, dtype)
    n = shape[dim] if shape else 1
    for index in (
        numbers([0] * min(2, n)), numbers(0), numbers([n - 1, 0][:n]), numbers([n]), numbers([-1]),
        numbers([]), numbers([0], "int32"), numbers([0], "int16"), np.arange(n),
    ):  # fmt: skip
        inside = index.size == 0 or 0 <= index.min() <= index.max() < n
        if dim == 0 or inside:  # elsewhere torch raises another class of error
            compare(
                lambda x, i: scatter.gather_slices(scatter.check_gather_slices, x, dim, i),
                lambda x, i: x.index_select(dim, i),
                a, index, opmath=False,
            )  # fmt: skip
        for value in (1, 1.5, True, np.array(1.5), np.array([1.0])):
            compare(
                lambda x, i, v=value: scatter.fill_slices(scatter.check_fill_slices, x, dim, i, v),
                lambda x, i, v=value: x.index_fill(dim, i, to_torch(v)),
                a, index, opmath=False,
            )  # fmt: skip
        if len(set(index.ravel())) < index.size or index.dtype != np.int64:
            continue
        fitting = (*shape[: dim % len(shape)], index.size, *shape[dim % len(shape) + 1 :]) if shape else ()
        for source in (random(rng, fitting, dtype), random(rng, (*fitting, 2), dtype)):
            compare(
                lambda x, i, s: scatter.scatter_slices(kernels.check_index_copy, x, dim, i, s, "set"),
                lambda x, i, s: x.index_copy(dim, i, s),
                a, index, source, opmath=False,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(torch: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, mask = random(rng, (3, 4), dtype), random(rng, (3, 4), "bool")
    for m in (mask, mask[0], mask[:, :1], np.array(True), mask.astype(np.uint8), mask[None, None]):
        for value in (1, 1.5, True, 1j, np.array(1.5), np.array([1.0]), 300, -300, -1, np.nan, np.inf):
            compare(
                lambda x, k, v=value: select(check_mask(k), creation.as_scalar(v, x.dtype), x),
                lambda x, k, v=value: x.masked_fill(k, to_torch(v)),
                a, m, opmath=False,
            )  # fmt: skip
        compare(masks.masked_select, torch.masked_select, a, m, opmath=False)
        for count in (0, 3, 60):
            compare(
                masks.masked_scatter,
                lambda x, k, s: x.masked_scatter(k, s),
                a, m, random(rng, (count,), dtype), opmath=False,
            )  # fmt: skip


# -- the rules ------------------------------------------------------------------------------------


def test_the_result_is_a_copy() -> None:
    a = np.zeros((2, 3))
    for key in ([numbers(1)], [numbers([0])], [None, numbers(1)], [numbers(1), numbers(2)]):
        assert not np.shares_memory(kernels.index(a, key), a)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ([numbers([5])], "index 5 is out of bounds for dimension 0 with size 3"),
        ([numbers([0]), numbers([-9])], "index -9 is out of bounds for dimension 1 with size 4"),
        ([numbers([0, 1]), numbers([0, 1, 2])], r"together with shapes \[2\], \[3\]"),
        ([numbers([1, 0], "bool")], r"The shape of the mask \[2\] at index 0 does not match"),
        ([numbers([0])] * 3, "too many indices for tensor of dimension 2"),
        ([numbers([0.0], "float32")], "tensors used as indices must be long, int, byte or bool"),
    ],
)
def test_index_errors(key: list[Any], text: str) -> None:
    with pytest.raises(IndexError, match=text):
        kernels.index(FLAT, key)
    with pytest.raises(IndexError, match=text):
        kernels.index_put(FLAT, key, NUMBER, True)


def test_index_put_errors() -> None:
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[2\] cannot be broadcast"):
        kernels.index_put(FLAT, [numbers([0, 1])], np.zeros(2, np.float32), False)
    with pytest.raises(RuntimeError, match="source and destination dtypes match"):
        kernels.index_put(FLAT, [numbers([0, 1])], np.zeros(4), False)


def test_accumulating_repeated_positions() -> None:
    ones = np.ones((40_000, 3), np.float32)
    where = np.arange(40_000) % 5
    for key, shape in (([where], (5, 3)), ([where - 5], (5, 3))):
        np.testing.assert_array_equal(kernels.index_put(np.zeros(shape, np.float32), key, ones, True), 8000)
        np.testing.assert_array_equal(kernels.index_backward(ones, shape, key), 8000)
    other = kernels.index_put(np.zeros((3, 5), np.float32), [None, where], ones.T, True)
    np.testing.assert_array_equal(other, 8000)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.9, "int32", 1),
        (-1, "uint8", 255),
        (2, "bool", True),
        (True, "float32", 1.0),
        (np.inf, "float32", np.inf),
    ],
)
def test_fitted(value: Any, dtype: str, expected: Any) -> None:
    found = creation.cast_number(value, DTYPES[dtype])
    assert found == expected and found.dtype == DTYPES[dtype]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "uint8"), (-1.0, "uint8"), (np.nan, "int64"), (1e39, "float32"), (1j, "float64")],
)
def test_what_does_not_fit(value: Any, dtype: str) -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        creation.cast_number(value, DTYPES[dtype])
