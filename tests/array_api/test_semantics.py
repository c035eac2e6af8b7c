"""Where functions of the namespace do as the standard says, and PyTorch's operators otherwise."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import array_api as xp

NAN, INF = math.nan, math.inf
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
INEXACT = ["float32", "float64", "complex64", "complex128"]


def dtype(name: str) -> Any:
    return getattr(xp, name)


@pytest.mark.parametrize(("first", "second"), [*product(INTEGERS, repeat=2), *product(INEXACT, repeat=2)])
def test_promotion_is_numpys(first: str, second: str) -> None:
    expected = np.promote_types(first, second)
    if {first[0], second[0]} == {"i", "u"} and expected.kind == "f":  # an extension of NumPy's
        with pytest.raises(TypeError, match="promote to no dtype"):
            xp.result_type(dtype(first), dtype(second))
        assert not xp.can_cast(dtype(first), dtype(second))
        return
    assert xp.result_type(dtype(first), dtype(second)) == dtype(expected.name)
    assert xp.can_cast(dtype(first), dtype(second)) == (expected.name == second)


@pytest.mark.parametrize(
    ("name", "scalar", "expected"),
    [
        ("int8", 3, "int8"),
        ("int8", True, "int8"),
        ("float64", 3, "float64"),
        ("float32", 0.5, "float32"),
        ("float64", 1j, "complex128"),
        ("bool", True, "bool"),
    ],
)
def test_numbers_take_the_dtype_of_the_array(name: str, scalar: complex, expected: str) -> None:
    x = xp.ones(2, dtype=dtype(name))
    assert xp.result_type(x, scalar) == xp.result_type(scalar, dtype(name)) == dtype(expected)
    for result in (xp.where(x == 1, x, scalar), xp.where(x == 1, scalar, x)):
        assert result.dtype == dtype(expected)


def test_shapes_have_no_part_in_promotion() -> None:
    scalar, vector = xp.asarray(1.0, dtype=xp.float64), xp.ones(2, dtype=xp.float32)
    for function in (xp.add, xp.multiply, xp.maximum, xp.atan2):
        assert function(scalar, vector).dtype == function(vector, scalar).dtype == xp.float64
    assert xp.less(xp.asarray(-1, dtype=xp.int16), xp.zeros(1, dtype=xp.uint8)).tolist() == [True]
    assert xp.concat([xp.ones(1, dtype=xp.int8), xp.ones(1, dtype=xp.uint8)]).dtype == xp.int16


def test_two_numbers_are_no_operands() -> None:
    with pytest.raises(TypeError, match=r"add\(\): one of the operands must be a Tensor, not int and float"):
        xp.add(1, 2.0)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "all", "any"])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
@pytest.mark.parametrize("axis", [None, (), -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_numpys(name: str, shape: tuple[int, ...], axis: Any, keepdims: bool) -> None:
    if (axis is not None and axis != () and max(np.atleast_1d(axis)) >= len(shape)) or (
        axis == -1 and not shape
    ):
        with pytest.raises(IndexError, match="out of range"):
            getattr(xp, name)(xp.ones(shape), axis=axis)
        return
    array = np.arange(1, 1 + math.prod(shape), dtype=np.float64).reshape(shape)
    expected = getattr(np, name)(array, axis=axis, keepdims=keepdims)
    found = getattr(xp, name)(xp.asarray(array), axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(found.numpy(), expected)
    assert found.shape == expected.shape


@pytest.mark.parametrize("name", ["max", "min", "mean", "std", "var", "sum", "prod"])
def test_reductions_of_no_axes_keep_nan(name: str) -> None:
    assert math.isnan(getattr(xp, name)(xp.asarray(NAN)).item())
    assert xp.isnan(getattr(xp, name)(xp.asarray([NAN, 1.0]), axis=())).tolist() == [True, False]


def test_special_values() -> None:
    assert math.isnan(xp.sign(xp.asarray(NAN)).item())
    for z, expected in {
        complex(INF, 0): complex(INF, 0),
        complex(-INF, INF): -1 + 0j,
        complex(-INF, NAN): -1 + 0j,
        complex(-0.0, 0.0): 0j,
        1 + 1j: np.expm1(1 + 1j),
    }.items():
        assert repr(xp.expm1(xp.asarray(z, dtype=xp.complex128)).item()) == repr(complex(expected)), z
    assert repr(xp.tanh(xp.asarray(complex(INF, 2), dtype=xp.complex128)).item()) == "(1+0j)"
    assert xp.round(xp.asarray([1.5 - 2.5j])).tolist() == [2 - 2j]


def test_every_nan_is_a_unique_value() -> None:
    x = xp.asarray([[NAN, 1.0], [0.0, NAN], [1.0, -0.0]])
    values, indices, inverse, counts = xp.unique_all(x)
    assert values[:2].tolist() == [0, 1] and xp.isnan(values).tolist() == [False, False, True, True]
    assert (indices.tolist(), counts.tolist()) == ([2, 1, 0, 3], [2, 2, 1, 1])
    np.testing.assert_array_equal(values[inverse].numpy(), x.numpy())
    assert xp.unique_values(xp.asarray([2 + 1j, 1 + 2j, 1 + 1j, 2 + 1j])).tolist() == [1 + 1j, 1 + 2j, 2 + 1j]
    assert xp.unique_counts(xp.asarray([], dtype=xp.int64)).counts.shape == (0,)


def test_axes_count_from_the_end() -> None:
    x = xp.reshape(xp.arange(24), (2, 3, 4))
    array = x.numpy()
    assert xp.take(x, xp.asarray([-1, 0]), axis=-1).equal(tengen.tensor(array.take([-1, 0], -1)))
    assert xp.expand_dims(x, (0, -1)).shape == np.expand_dims(array, (0, -1)).shape
    assert xp.cumulative_sum(x, axis=-2, include_initial=True).shape == (2, 4, 4)
    assert xp.moveaxis(x, -1, 0).shape == (4, 2, 3)
    assert xp.linalg.vecdot(xp.ones((2, 1, 3)), xp.ones((4, 3))).tolist() == [[3.0] * 4] * 2
    assert xp.linalg.cross(xp.ones((2, 3)), xp.ones((1, 3))).shape == (2, 3)


def test_errors_name_what_is_wrong() -> None:
    x = xp.ones((2, 3))
    for call, error, text in (
        (lambda: xp.squeeze(x, 1), ValueError, "axis 1 has 3 elements"),
        (lambda: xp.expand_dims(x, (0, 0)), ValueError, "an axis is named twice"),
        (lambda: xp.cumulative_sum(x), ValueError, "axis must be given"),
        (lambda: xp.take(x, xp.asarray([0])), ValueError, "axis must be given"),
        (lambda: xp.reshape(x.mT, (6,), copy=False), ValueError, "copy is False"),
        (lambda: xp.astype(xp.ones(1, dtype=xp.complex64), xp.float32), TypeError, "cannot be converted"),
        (lambda: xp.isdtype(xp.int8, "integer"), ValueError, "kind must be one of 'bool'"),
        (lambda: xp.broadcast_shapes((2,), (3,)), ValueError, "do not broadcast"),
        (lambda: xp.linalg.vecdot(x, xp.ones((2, 2))), ValueError, "3 and 2 elements"),
        (lambda: xp.nonzero(xp.asarray(1)), ValueError, "without dimensions"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_limits_tell_dtypes() -> None:
    found = xp.finfo(xp.complex64)
    assert (found.dtype, found.bits, found.eps) == (xp.float32, 32, np.finfo(np.float32).eps)
    assert xp.finfo(xp.ones(1)).smallest_normal == np.finfo(np.float32).smallest_normal
    assert (xp.iinfo(xp.uint8).max, xp.iinfo(xp.int64).min, xp.iinfo(xp.int8).dtype) == (
        255,
        -(2**63),
        xp.int8,
    )


def test_gradients_go_through() -> None:
    x = tengen.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tengen.float64, requires_grad=True)
    for function in (
        lambda x: xp.std(x, axis=0),
        lambda x: xp.linalg.solve(x, xp.ones(2, dtype=xp.float64)),
        lambda x: xp.prod(x, axis=(0, 1)),
        lambda x: xp.take(x, xp.asarray([1, -1]), axis=1),
        lambda x: xp.fft.rfft(x).real,
        lambda x: xp.sort(x, axis=0, descending=True),
        lambda x: xp.clip(x, 1.5, xp.asarray(3.5, dtype=xp.float64)),
    ):
        assert tengen.autograd.gradcheck(function, [x])


def test_new_arrays() -> None:
    assert xp.arange(3, 0).shape == xp.arange(0, 5, -1).shape == (0,)
    assert xp.arange(3, 0).dtype == xp.int64 and xp.arange(3.0, 0).dtype == xp.float32
    assert xp.eye(2, 3, k=1).tolist() == np.eye(2, 3, 1).tolist()
    assert xp.eye(2, 3, k=-5).tolist() == np.eye(2, 3, -5).tolist()
    assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.meshgrid() == xp.broadcast_arrays() == ()
    assert xp.broadcast_shapes((2, 1), (None, 3), ()) == (2, 3)
