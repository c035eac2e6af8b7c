"""Contractions of all sorts of dims, over NumPy's arrays, beside ``einsum``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.kernels.contractions import Contraction

#: The text, the shapes of both operands, and the equation of the same.
CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], str]] = [
    ("i j, j k -> i k", (3, 4), (4, 5), "ij,jk->ik"),
    ("i j, k j -> i k", (3, 4), (5, 4), "ij,kj->ik"),
    ("j i, j k -> i k", (4, 3), (4, 5), "ji,jk->ik"),
    ("j i, k j -> i k", (4, 3), (5, 4), "ji,kj->ik"),
    ("i j, j k -> k i", (3, 4), (4, 5), "ij,jk->ki"),
    ("i j, j -> i", (3, 4), (4,), "ij,j->i"),
    ("j, j k -> k", (4,), (4, 5), "j,jk->k"),
    ("i, i ->", (4,), (4,), "i,i->"),
    ("i j, j i ->", (3, 4), (4, 3), "ij,ji->"),
    ("b i j, b j k -> b i k", (2, 3, 4), (2, 4, 5), "bij,bjk->bik"),
    ("b i j, b k j -> b k i", (2, 3, 4), (2, 5, 4), "bij,bkj->bki"),
    ("b i j, b j k -> i k", (2, 3, 4), (2, 4, 5), "bij,bjk->ik"),
    ("b j, b j -> b", (2, 4), (2, 4), "bj,bj->b"),
    ("*b i j, *b j k -> *b i k", (2, 3, 4), (4, 5), "bij,jk->bik"),
    ("*b i j, *b j k -> *b i k", (7, 1, 3, 4), (2, 4, 1), "...ij,...jk->...ik"),
    ("*b i j, *b j k -> *b i k", (3, 1), (2, 1, 5), "...ij,...jk->...ik"),
    ("*b k, *j k -> *b *j", (4,), (5, 4), "k,jk->j"),
    ("*b k, *j k -> *b *j", (2, 3, 4), (5, 4), "abk,jk->abj"),
    ("*b k, *j k -> *b *j", (2, 0, 4), (5, 4), "abk,jk->abj"),
    ("*b k, *j k -> *b *j", (2, 3, 4), (4,), "abk,k->ab"),
    ("*b *j, *j k -> *b k", (2, 3, 5), (5, 4), "abj,jk->abk"),
    ("*b *j, *j k -> *b k", (2, 3), (4,), "ab,k->abk"),
    ("*b *j, *b k -> *j k", (2, 3, 5), (2, 3, 4), "abj,abk->jk"),
    ("*b *j, *b k -> *j k", (2, 3), (2, 3, 4), "ab,abk->k"),
    ("i j b l, b k l j -> k b i", (2, 3, 4, 5), (4, 6, 5, 3), "ijbl,bklj->kbi"),
    ("i j, j k -> i k", (0, 4), (4, 5), "ij,jk->ik"),
    ("i j, j k -> i k", (3, 0), (0, 5), "ij,jk->ik"),
]


@pytest.mark.parametrize("text, first, second, equation", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_it_is_the_sum_of_products(
    text: str, first: tuple[int, ...], second: tuple[int, ...], equation: str, dtype: Any
) -> None:
    rng = np.random.default_rng(0)

    def of(shape: tuple[int, ...]) -> Any:
        array: Any = rng.integers(-9, 9, shape) + (1j * rng.integers(-9, 9, shape) if dtype[0] == "c" else 0)
        return array.astype(dtype)

    a, b = of(first), of(second)
    layouts = [np.ascontiguousarray, np.asfortranarray, lambda x: np.repeat(x, 2, -1)[..., ::2]]
    for marks in (("", ""), ("~", ""), ("", "~"), ("~", "~")):
        given, _, out = text.partition(" -> ") if "-> " in text else (text[:-3], "", "")
        form = Contraction(f"{marks[0]}{given.replace(', ', f', {marks[1]}')} -> {out}")
        wanted = np.einsum(equation, a.conj() if marks[0] else a, b.conj() if marks[1] else b)
        for layout in layouts:
            for other in layouts:
                found = form.numpy(layout(a), other(b))  # whole numbers: nothing is rounded
                np.testing.assert_array_equal(found, wanted)
                assert np.asarray(found).flags.c_contiguous and found.dtype == wanted.dtype
                assert form.shape(first, second) == wanted.shape


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("numbers", [(), (1, 1), (2, 3), (0, 2), (2, 0), (0, 0)])
def test_what_is_added(place: int, numbers: tuple[int, ...]) -> None:
    a, b, c = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.arange(4.0)
    beta, alpha = numbers or (1, 1)
    parts, operands = ["i j", "j k"], [a, b]
    parts.insert(place, "+")
    operands.insert(place, c if beta else c * np.nan)
    form = Contraction(f"{', '.join(parts)} -> i k")
    np.testing.assert_array_equal(
        form.numpy(*operands, *numbers), (beta * c if beta else 0) + alpha * (a @ b)
    )
    assert a.tolist() == np.arange(6.0).reshape(2, 3).tolist() and c.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "text, first, second",
    [
        ("i j, j k -> i k", (3, 4), (3, 4)),
        ("i j, j k -> i k", (3, 4, 1), (4, 5)),
        ("i, i ->", (3,), (1,)),
        ("b i j, b j k -> b i k", (1, 3, 4), (2, 4, 5)),
        ("*b i j, *b j k -> *b i k", (3, 1, 4), (2, 4, 5)),
        ("*b i j, *b j k -> *b i k", (4,), (4, 5)),
        ("*b *j, *b k -> *j k", (2, 3), (3, 2, 4)),
        ("*b *j, *b k -> *j k", (2,), (2, 3, 4)),
        ("i j, j i ->", (3, 4), (2, 6)),
    ],
)
def test_what_does_not_fit(text: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    form = Contraction(text)
    for _ in range(2):  # also where a plan of such numbers of dims is there
        with pytest.raises(RuntimeError):
            form.numpy(np.ones(first), np.ones(second))
        with pytest.raises(RuntimeError):
            form.shape(first, second)
