"""Kernels that copy, join and rearrange, beside NumPy's functions, in every kind of dtype."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tengen.core.memory_format import channels_last, contiguous_format
from tengen.generated import views as forms
from tengen.kernels import shape, views
from tengen.kernels.meta import shape as meta
from tengen.kernels.meta.array import MetaArray
from tengen.kernels.view_plans import viewed

DTYPES = [np.bool_, np.uint8, np.int64, np.float16, ml_dtypes.bfloat16, np.float64, np.complex64]


def data(dtype: Any, *sizes: int) -> Any:
    return (np.arange(np.prod(sizes)).reshape(sizes) % 5 - 1).astype(dtype)


CASES: list[tuple[Any, Any]] = [
    (lambda a: shape.to_copy(a.T), lambda a: a.T),
    (lambda a: shape.to_copy(a, np.dtype(np.float32)), lambda a: a.real.astype(np.float32)),
    (lambda a: shape.cat([a, a[:1]]), lambda a: np.concatenate([a, a[:1]])),
    (lambda a: shape.cat([a, a], -1), lambda a: np.concatenate([a, a], 1)),
    (lambda a: shape.stack([a, a], 1), lambda a: np.stack([a, a], 1)),
    (lambda a: shape.stack([a, a], -1), lambda a: np.stack([a, a], -1)),
    (lambda a: shape.select_scatter(a, a[0], 0, 1), lambda a: np.stack([a[0], a[0]])),
    (lambda a: shape.slice_scatter(a, a[:, :2], 1, 1, None, 1)[:, 1:], lambda a: a[:, :2]),
    (lambda a: shape.viewed_scatter(forms.diagonal, a, a[:, 0], 0, 0, 1).diagonal(), lambda a: a[:, 0]),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex values")
def test_values(case: int, dtype: Any) -> None:
    kernel, reference = CASES[case]
    a = data(dtype, 2, 3)
    before = a.copy()
    result, expected = kernel(a), reference(a)
    assert type(result) is np.ndarray and result.shape == expected.shape and result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(a, before)


def test_copies_are_copies() -> None:
    a = np.zeros((2, 3))
    for copy in (
        shape.to_copy(a),
        shape.to_copy(a, np.dtype(float)),
        shape.cat([a]),
        shape.stack([a]),
    ):
        assert not np.shares_memory(a, copy)


def test_layout_of_copies() -> None:
    a = np.zeros((2, 3, 4)).transpose(2, 0, 1)
    assert shape.to_copy(a).strides == a.strides
    assert shape.to_copy(a, None, contiguous_format).flags.c_contiguous
    assert shape.to_copy(a, np.dtype(np.float32)).strides == (4, 48, 16)
    expanded = np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8))
    assert shape.to_copy(expanded).strides == (24, 8)
    with pytest.raises(RuntimeError, match="channels_last"):
        shape.to_copy(a, None, channels_last)


def test_adjoints() -> None:
    """<A x, y> = <x, A* y> for the views and what puts gradients back."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 5))
    pairs = [
        (lambda a: views.at_index(a, 1, 2), lambda g: shape.select_backward(g, (4, 5), 1, 2)),
        (lambda a: views.slice_tensor(a, 0, 1, 4, 2), lambda g: shape.slice_backward(g, (4, 5), 0, 1, 4, 2)),
        (
            lambda a: viewed(forms.diagonal, a, 1, 0, 1),
            lambda g: shape.viewed_back(forms.diagonal, g, (4, 5), 1, 0, 1),
        ),
        (
            lambda a: viewed(forms.unfold, a, 1, 3, 1),
            lambda g: shape.viewed_back(forms.unfold, g, (4, 5), 1, 3, 1),
        ),
        (
            lambda a: viewed(forms.unfold, a, 0, 2, 3),
            lambda g: shape.viewed_back(forms.unfold, g, (4, 5), 0, 2, 3),
        ),
        (
            lambda a: views.as_strided(a, (3, 4), (2, 1), 3),
            lambda g: shape.as_strided_backward(g, (4, 5), (5, 1), 0, (3, 4), (2, 1), 3),
        ),
    ]
    for forward, adjoint in pairs:
        y = rng.standard_normal(forward(x).shape)
        assert np.isclose((forward(x) * y).sum(), (x * adjoint(y)).sum())
    gathered = shape.as_strided_gather(x, (4, 5), (5, 1), 0, (3, 4), (2, 1), 3)
    np.testing.assert_array_equal(gathered, views.as_strided(x, (3, 4), (2, 1), 3))


ERRORS: list[tuple[Any, type[Exception], str]] = [
    (lambda a: shape.cat([]), ValueError, "non-empty list"),
    (
        lambda a: shape.cat([a, a[:, :2]]),
        RuntimeError,
        "except in dimension 0. Expected size 3 but got size 2",
    ),
    (lambda a: shape.cat([a, a[0]]), RuntimeError, "same number of dimensions"),
    (lambda a: shape.cat([a[0, 0, ...]]), RuntimeError, "zero-dimensional"),
    (lambda a: shape.stack([a, a.T]), RuntimeError, "equal size"),
    (lambda a: shape.stack([a], 3), IndexError, "out of range"),
    (lambda a: views.diag_embed_shape(a.shape, 0, 1, 1), RuntimeError, "cannot be identical"),
    (lambda a: shape.select_scatter(a, a, 0, 1), RuntimeError, "expected src to have a size equal"),
    (lambda a: shape.copy_value(a, a.T), RuntimeError, "must match"),
    (lambda a: shape.copy_value(a[0], a), RuntimeError, "broadcast shape"),
    (lambda a: shape.repeat_interleave_indices(a), RuntimeError, "1D vector"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    call, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        call(np.zeros((2, 3)))


def test_meta_shapes() -> None:
    a, b = np.zeros((2, 3)), np.zeros((1, 3))
    m, n = MetaArray((2, 3), a.dtype), MetaArray((1, 3), b.dtype)
    pairs = [
        (shape.cat([a, b]), meta.meta_cat([m, n])),
        (shape.stack([a, a], 1), meta.meta_stack([m, m], 1)),
        (shape.to_copy(a, np.dtype(np.int8)), meta.meta_to_copy(m, np.dtype(np.int8))),
        (shape.copy_value(a, b), meta.meta_copy_value(m, n)),
    ]
    for ours, theirs in pairs:
        assert (ours.shape, ours.dtype, ours.strides) == (theirs.shape, theirs.dtype, theirs.strides)
    with pytest.raises(NotImplementedError):
        meta.meta_repeat_interleave(MetaArray((2,), np.dtype(np.int64)))
    assert meta.meta_repeat_interleave(MetaArray((2,), np.dtype(np.int64)), 5).shape == (5,)
