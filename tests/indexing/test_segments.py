"""``segment_reduce``: NaN, segments without elements, half precision."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import tengen

NAN = math.nan
HALVES = [tengen.float16, tengen.bfloat16]


def test_a_gradient_at_nan() -> None:
    """A maximum that is NaN is shared by the NaNs; a factor has the product of the others."""
    for reduce, expected in (
        ("max", [0, 1, 0, 0.5, 0, 0.5]),
        ("min", [1, 0, 0, 0.5, 0, 0.5]),
        ("prod", [4, 2, NAN, NAN, NAN, NAN]),
    ):
        x = tengen.tensor([2.0, 4, 3, NAN, 1, NAN], requires_grad=True)
        tengen.segment_reduce(x, reduce, lengths=tengen.tensor([2, 4])).sum().backward()
        assert x.grad is not None and x.grad.tolist() == pytest.approx(expected, nan_ok=True)
    x = tengen.tensor([NAN, 0.0, 5], requires_grad=True)
    tengen.segment_reduce(x, "prod", lengths=tengen.tensor([3])).sum().backward()
    assert x.grad is not None and x.grad.tolist() == pytest.approx([0, NAN, NAN], nan_ok=True)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod"])
def test_it_is_rounded_once(reduce: str, dtype: tengen.dtype) -> None:
    x = tengen.linspace(0.9, 1.1, 1000).to(dtype)
    lengths = tengen.tensor([600, 0, 400])
    wide = tengen.segment_reduce(x.float(), reduce, lengths=lengths, initial=3)
    assert tengen.segment_reduce(x, reduce, lengths=lengths, initial=3).equal(wide.to(dtype))
    many = tengen.ones(70000, dtype=dtype)  # a count that float16 has not
    assert tengen.segment_reduce(many, "mean", lengths=tengen.tensor([70000])).tolist() == [1]


CASES: list[tuple[Any, Any, int]] = [
    ([1, NAN, 3, 4, 5, 5], [1, 2, 3, 0], 0),
    ([[1, 1], [NAN, 1], [3, NAN], [4, 1], [3, 2], [2, 3]], [1, 2, 3, 0], 0),
    ([[1, 3, 5, 7, 9, 0], [2, 4, 6, 0, 0, 12]], [[2, 3, 0, 1], [3, 2, 1, 0]], 1),
    ([[[1, 2], [3, 4], [5, 6]], [[7, 9], [10, 11], [12, 13]]], [[2, 1, 0], [1, 0, 2]], 1),
    ([], [0, 0], 0),
]


@pytest.mark.oracle
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_as_torch(reduce: str) -> None:
    torch = pytest.importorskip("torch")
    for (data, lengths, axis), initial, by_offsets in itertools.product(CASES, (None, 0, 2, 1000), (0, 1)):
        found = []
        for lib in (tengen, torch):
            x = lib.tensor(data, dtype=lib.float64, requires_grad=True)
            sizes = lib.tensor(lengths)
            offsets = lib.nn.functional.pad(sizes.cumsum(-1), (1, 0))
            where = {"offsets": offsets} if by_offsets else {"lengths": sizes}
            out = lib._segment_reduce(x, reduce, axis=axis, initial=initial, **where)
            out.sum().backward()
            found.append([out.flatten().tolist(), x.grad.flatten().tolist()])
        assert found[0][0] == pytest.approx(found[1][0], nan_ok=True)
        assert found[0][1] == pytest.approx(found[1][1], nan_ok=True)
