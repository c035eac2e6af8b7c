"""Grouped matrix products: beside NumPy, and beside PyTorch with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.nn.functional import grouped_mm

#: Shapes of the operands, offsets, and how much of the result's first or last dim is in groups.
CASES = [
    ((5, 8), (2, 8, 8), [2, 5]),
    ((5, 8), (3, 8, 8), [2, 2, 5]),
    ((2, 5, 8), (2, 8, 8), None),
    ((2, 3, 8), (8, 16), [4, 16]),
    ((4, 8), (8, 8), [3, 8]),
]


def expected(a: Any, b: Any, offs: Any) -> Any:
    if offs is None:
        return a @ b
    groups = [slice(i, j) for i, j in zip([0, *offs[:-1]], offs, strict=True)]
    if b.ndim == 3:
        return np.concatenate([a[g] @ b[i] for i, g in enumerate(groups)])
    if a.ndim == 3:
        return np.concatenate([a[i] @ b[:, g] for i, g in enumerate(groups)], 1)
    return np.stack([a[:, g] @ b[g] for g in groups])


def operands(shapes: Any) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.integers(-4, 5, s).astype("f4") for s in shapes]


@pytest.mark.parametrize("case", CASES)
def test_values(case: Any) -> None:
    """Of small integers, so that every sum is exact."""
    *shapes, offs = case
    a, b = operands(shapes)
    ends = None if offs is None else tengen.tensor(offs, dtype=tengen.int32)
    for kind in (tengen.float32, tengen.bfloat16):
        result = grouped_mm(
            tengen.from_numpy(a).to(kind), tengen.from_numpy(b).to(kind).contiguous(), offs=ends
        )
        assert result.dtype is kind
        wanted = tengen.from_numpy(expected(a, b, offs)).to(kind)
        assert result.tolist() == wanted.tolist()


def test_behind_the_last_offset() -> None:
    """Nothing is there: the result is 0, and no gradient goes to it."""
    a = tengen.ones(5, 8, requires_grad=True)
    ends = tengen.tensor([1, 3], dtype=tengen.int32)
    result = grouped_mm(a, tengen.ones(2, 8, 4), offs=ends)
    assert result.sum(1).tolist() == [32, 32, 32, 0, 0]
    result.sum().backward()
    assert a.grad.sum(1).tolist() == [32, 32, 32, 0, 0]


@pytest.mark.parametrize("ends", [[2, 6], [3, 2], [-1, 2]])
def test_offsets_that_cannot_be(ends: list[int]) -> None:
    with pytest.raises(RuntimeError, match="grouped_mm: offs must rise"):
        grouped_mm(tengen.ones(5, 8), tengen.ones(2, 8, 4), offs=tengen.tensor(ends, dtype=tengen.int32))


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES)
def test_as_torch(torch: Any, case: Any) -> None:
    *shapes, offs = case
    arrays = operands(shapes)
    found = []
    for library in (torch, tengen):
        a, b = [library.from_numpy(x.copy()).requires_grad_() for x in arrays]
        ends = None if offs is None else library.tensor(offs, dtype=library.int32)
        result = library.nn.functional.grouped_mm(a, b, offs=ends)
        (result * result).sum().backward()
        found.append([result.detach().numpy(), a.grad.numpy(), b.grad.numpy()])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
