"""Operators that move elements: kernels beside NumPy's functions, and integers in pieces beside arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tengen.generated import moves as forms
from tengen.kernels import steps
from tengen.kernels.meta import moves as meta
from tengen.kernels.meta.array import MetaArray
from tengen.kernels.moves import move, move_back
from tengen.kernels.steps import TooMany, places

DTYPES = [np.bool_, np.uint8, np.int64, np.float16, ml_dtypes.bfloat16, np.float64, np.complex64]
RANDOM = np.random.default_rng(0)


def data(dtype: Any, *sizes: int) -> Any:
    return (np.arange(np.prod(sizes)).reshape(sizes) % 7 - 1).astype(dtype)


def by_numpy(mode: str) -> Callable[..., Any]:
    """``np.pad`` with the pads of the last dims first, where negative ones cut off before or behind."""

    def padded(a: Any, pad: tuple[int, ...]) -> Any:
        pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
        pairs = [(0, 0)] * (a.ndim - len(pairs)) + pairs
        out = np.pad(a, [(max(b, 0), max(e, 0)) for b, e in pairs], mode)  # type: ignore[call-overload]
        cut = zip(out.shape, pairs, strict=True)
        return out[tuple([slice(max(-b, 0), n - max(-e, 0)) for n, (b, e) in cut])]

    return padded


PADS = [(1, 2), (1, 2, 0, 1), (0, 0), (-1, 2, 1, -2), (2, -1)]
CASES: list[tuple[str, Callable[..., Any], list[tuple[Any, ...]]]] = [
    ("flip", np.flip, [((0, -1),), ((),), ([1],)]),
    (
        "roll",
        lambda a, s, d: np.roll(a, s if d else s[0], d or None),
        [((1, -2), (0, 1)), ((5,), ()), ((2, 3), (1, 1)), ((0,), (0,))],
    ),
    ("repeat", np.tile, [((2, 1, 3),), ((1, 3, 1, 2),), ((1, 1, 1),), ((2, 0, 1),), ((1, 60, 1),)]),
    ("constant_pad_nd", by_numpy("constant"), [(pad,) for pad in (*PADS, ())]),
    ("reflection_pad1d", by_numpy("reflect"), [((1, 2),), ((2, -1),)]),
    ("reflection_pad2d", by_numpy("reflect"), [((1, 2, 0, 1),), ((-1, 2, 1, -2),)]),
    ("replication_pad1d", by_numpy("edge"), [((1, 2),), ((60, 3),)]),
    ("replication_pad2d", by_numpy("edge"), [((1, 2, 0, 1),), ((9, 2, 1, -2),)]),
    ("tril", np.tril, [(0,), (-1,), (9,), (-1 << 40,)]),
    ("triu", np.triu, [(0,), (-1,), (2,), ((1 << 62) + 1,)]),
]
CALLS = [(name, reference, arguments) for name, reference, calls in CASES for arguments in calls]


@pytest.mark.parametrize(("name", "reference", "arguments"), CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(name: str, reference: Any, arguments: Any, dtype: Any) -> None:
    for a in (data(dtype, 2, 3, 5), data(dtype, 5, 3, 2).T):
        before = a.copy()
        found = move(getattr(forms, name), "C", 0, a, *arguments)
        np.testing.assert_array_equal(found, reference(a, *arguments))
        assert found.dtype == a.dtype and not np.shares_memory(found, a)
        np.testing.assert_array_equal(a, before)
        shape = meta.move(getattr(forms, name), "C", 0, MetaArray(a.shape, a.dtype), *arguments)
        assert shape.shape == found.shape


@pytest.mark.parametrize(("name", "reference", "arguments"), CALLS)
def test_the_transposed(name: str, reference: Any, arguments: Any) -> None:
    """<A x, y> = <x, A* y>, and what is given is not written."""
    form, x = getattr(forms, name), RANDOM.standard_normal((2, 3, 5))
    y = RANDOM.standard_normal(reference(x, *arguments).shape)
    before = y.copy()
    back = move_back(form, y, x.shape, *arguments)
    assert back.shape == x.shape and np.isclose((reference(x, *arguments) * y).sum(), (x * back).sum())
    np.testing.assert_array_equal(y, before)
    assert meta.move_back(form, MetaArray(y.shape, y.dtype), x.shape, *arguments).shape == x.shape
    with pytest.raises(RuntimeError, match="expected grad_output of size"):
        move_back(form, y[None], x.shape, *arguments)


def test_halves_are_summed_in_float32() -> None:
    grad = np.full((1, 2003), 1.0, np.float16)
    assert move_back(forms.replication_pad1d, grad, (1, 3), (2000, 0)).tolist() == [[2001, 1, 1]]


def test_arrays_without_elements_and_without_dims() -> None:
    empty, number = np.zeros((0, 3)), np.float32(3).reshape(())
    assert move(forms.flip, "C", 0, empty, (0,)).shape == (0, 3)
    assert move(forms.roll, "C", 0, empty, (1,), (7,)).shape == (0, 3)
    assert move(forms.roll, "C", 0, empty, (1, 2), (0, 1)).shape == (0, 3)
    assert move(forms.constant_pad_nd, "C", 2, empty, (0, 0, 1, 0)).tolist() == [[2, 2, 2]]
    assert move_back(forms.constant_pad_nd, np.ones((1, 3)), (0, 3), (0, 0, 1, 0)).shape == (0, 3)
    for name, arguments in (("flip", ((0,),)), ("roll", ((3,), ())), ("constant_pad_nd", ((),))):
        found = move(getattr(forms, name), "C", 0, number, *arguments)
        assert found.shape == () and found == 3
    assert move(forms.repeat, "C", 0, number, (2, 1)).tolist() == [[3], [3]]


ERRORS: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("repeat", ((2,),), RuntimeError, "can not be smaller"),
    ("repeat", ((-1, 2),), RuntimeError, "negative dimension -1: \\[-2, 6\\]"),
    ("flip", ((0, 0),), RuntimeError, "multiple times"),
    ("flip", ((2,),), IndexError, "out of range"),
    ("roll", ((), ()), RuntimeError, "required"),
    ("roll", ((1, 2), (0,)), RuntimeError, "must align"),
    ("roll", ((1,), (2,)), IndexError, "out of range"),
    ("constant_pad_nd", ((1, 1, 1),), RuntimeError, "must be even"),
    ("constant_pad_nd", ((1,) * 6,), RuntimeError, "no more than twice"),
    ("constant_pad_nd", ((-2, -2),), RuntimeError, "negative padding -2 and -2"),
    ("constant_pad_nd", ((-4, 9),), RuntimeError, "negative padding -4 and 9"),
    ("reflection_pad1d", ((3, 0),), RuntimeError, "padding \\(3, 0\\) at dimension 1 of input \\[2, 3\\]"),
    ("replication_pad2d", ((1, 0, 0, 0),), RuntimeError, "Expected 3D or 4D"),
    ("replication_pad1d", ((-2, -1),), RuntimeError, "too small"),
    ("constant_pad_nd", ((1 << 62, 1 << 62),), RuntimeError, "overflowed"),
]


@pytest.mark.parametrize(("name", "arguments", "error", "text"), ERRORS)
def test_errors(name: str, arguments: Any, error: type[Exception], text: str) -> None:
    for kernel, a in ((move, np.zeros((2, 3))), (meta.move, MetaArray((2, 3), np.dtype(float)))):
        for _ in range(2):  # no error is kept
            with pytest.raises(error, match=text):
                kernel(getattr(forms, name), "C", 0, a, *arguments)


def test_a_body_of_more_dims_than_there_are() -> None:
    with pytest.raises(RuntimeError, match="input tensor must have at least 2 dimensions"):
        move(forms.tril, "C", 0, np.zeros(3), 0)


# -- integers in pieces ----------------------------------------------------------------------------------

EXPRESSIONS: list[Callable[..., Any]] = [
    lambda f, k, n, a, b: n - 1 - k,
    lambda f, k, n, a, b: (k - a) % n,
    lambda f, k, n, a, b: n - 1 - f.absolute(n - 1 - f.absolute(k - a)),
    lambda f, k, n, a, b: f.minimum(f.maximum(k - a, 0), n - 1),
    lambda f, k, n, a, b: f.where(k < a, k + b, n - k) % n - k // 2,
    lambda f, k, n, a, b: (k >= a) & (k < n - b) | (k == 3),
    lambda f, k, n, a, b: f.where((k != a) & ~(k <= 1), (n - k) // 3, k * 2 - 7) % 5,
    lambda f, k, n, a, b: (a - 3 * k) // 4 + (k > b) * (2 * k),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_pieces_are_what_arrays_are(expression: Any) -> None:
    for _ in range(200):
        n, count, a, b = [int(RANDOM.integers(*ends)) for ends in ((1, 9), (0, 20), (-6, 7), (-3, 6))]
        found = expression(steps, places(count), n, a, b)
        wanted = expression(np, np.arange(count), n, a, b)
        assert [
            first + i * step for size, first, step in found.pieces for i in range(size)
        ] == wanted.tolist()


def test_too_many_pieces() -> None:
    for expression in (lambda k: k * k, lambda k: k % 2, lambda k: k // -2):
        with pytest.raises(TooMany):
            expression(places(1000))
