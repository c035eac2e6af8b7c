"""Chunked tensors without a cluster: tengen.dask, and what is wrong with its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen

pytest.importorskip("dask", reason="NOT TESTED: Dask is not installed")

import dask
import dask.array as da

import tengen.dask as td


def test_arrays_go_to_tensors_and_back() -> None:
    array = da.arange(10, chunks=4)
    x = td.from_dask(array)
    assert x.dtype is tengen.int64 and x.device == tengen.device("dask")
    assert td.to_dask_array(x) is array and td.chunks(x) == ((4, 4, 2),)


def test_chunks_are_asked_for_and_changed() -> None:
    x = tengen.arange(12.0, requires_grad=True)
    there = x.reshape(4, 3).to("dask", chunks=(3, -1))
    assert td.chunks(there) == ((3, 1), (3,))
    assert td.chunks(there.to("dask", tengen.float64, chunks={-1: 1})) == ((3, 1), (1, 1, 1))
    (td.rechunk(there, 2) * there).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0 * i for i in range(12)]
    assert td.chunks(tengen.vmap(lambda row: td.rechunk(row, 2))(there.detach())) == ((3, 1), (2, 1))
    value, tangent = tengen.func.jvp(lambda t: td.rechunk(t, 1) * 2, (there.detach(),), (there.detach(),))
    assert td.compute(value).tolist() == td.compute(tangent).tolist()


def test_ragged_and_empty_chunks_are_reshaped() -> None:
    for shape in ((3, 2), (1, 5), (0, 3), (4, 0, 2), (2, 2, 3)):
        here = tengen.arange(float(np.prod(shape))).reshape(shape)
        there = here.to("dask", chunks=tuple([((1, n - 1) if n > 1 else (n,)) for n in shape]))
        for wanted in ((here.numel(),), (1, here.numel()), (*shape[::-1],), (*shape, 1)):
            assert there.reshape(wanted).tolist() == here.reshape(wanted).tolist()
    assert tengen.ones(1, 1).to("dask").reshape(()).item() == 1


def test_computing_together_computes_once() -> None:
    calls = []

    def counted(block: Any) -> Any:
        calls.append(1)
        return block + 1

    array = da.map_blocks(counted, da.zeros(4, chunks=2), dtype=np.float64, meta=np.empty(0))
    x = td.from_dask(array).requires_grad_()
    y = x * 2
    found = td.compute({"y": y, "more": [y.sum(), tengen.ones(1), "text"]}, scheduler="sync")
    assert len(calls) == 2
    assert found["y"].tolist() == [2, 2, 2, 2] and not found["y"].requires_grad
    assert found["more"][0].device.type == "cpu" and found["more"][2] == "text"
    kept = td.persist(y, scheduler="sync")
    assert len(calls) == 4
    kept.sum().backward()
    assert x.grad.tolist() == [2, 2, 2, 2] and len(calls) == 4


x = tengen.ones(2, 3)
there = x.to("dask")
lazy = tengen.tensor([0, 9]).to("dask")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: td.from_dask(np.ones(3)),
        TypeError,
        "from_dask(): argument 'array' must be dask.array.Array, not numpy",
    ),
    (
        lambda: td.from_dask(da.ones(3)[da.ones(3) > 0]),
        ValueError,
        "from_dask(): argument 'array' has chunks of unkn",
    ),
    (
        lambda: td.from_dask(da.ones(3, dtype="M8[s]")),
        TypeError,
        "argument 'array' has the dtype datetime64[s]",
    ),
    (
        lambda: td.to_dask_array(x),
        TypeError,
        "to_dask_array(): argument 'tensor' must be a Tensor on dask, not a T",
    ),
    (lambda: td.to_dask_array(x.requires_grad_().to("dask")), RuntimeError, "'tensor' requires grad"),
    (lambda: td.chunks(3), TypeError, "chunks(): argument 'tensor' must be a Tensor on dask, not int"),
    (
        lambda: td.rechunk(x, 1),
        TypeError,
        "rechunk(): argument 'tensor' must be a Tensor on dask, not a Tensor on cp",
    ),
    (
        lambda: td.rechunk(there, ((1, 2), 3)),
        ValueError,
        "rechunk(): argument 'chunks' (((1, 2), 3)) does not fit",
    ),
    (lambda: td.rechunk(there, {2: 1}), ValueError, "does not fit the shape (2, 3): there is no dimension 2"),
    (lambda: td.rechunk(there, 0), ValueError, "rechunk(): argument 'chunks' (0) must have no size 0"),
    (lambda: td.rechunk(there, 1.5), TypeError, "rechunk(): argument 'chunks' must be an int"),
    (
        lambda: x.to("dask", chunks=(1,)),
        ValueError,
        "to(): argument 'chunks' ((1,)) does not fit the shape (2, 3)",
    ),
    (lambda: x.to("cpu", chunks=1), TypeError, "to() received an invalid combination of arguments"),
    (lambda: there + x, RuntimeError, "add: Expected all tensors to be on the same device"),
    (lambda: td.compute(there[lazy]), IndexError, "index 9 is out of bounds for dimension 0 with size 2"),
    (lambda: td.compute(there.gather(0, lazy[:, None])), RuntimeError, "gather: index 9 is out of bounds"),
    (
        lambda: td.compute(tengen.nn.functional.embedding(lazy, there)),
        IndexError,
        "embedding: index out of range",
    ),
    (
        lambda: td.compute(tengen.nn.functional.cross_entropy(there, lazy)),
        IndexError,
        "cross_entropy: Target 9 is out of bounds",
    ),
    (
        lambda: td.compute(there.masked_scatter(there > 0, lazy.float())),
        RuntimeError,
        "masked_scatter: Number of elements of source < number of ones in mask",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_what_is_wrong_is_told(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with dask.config.set(scheduler="sync"), pytest.raises(error, match=re.escape(text)):
        call()
    assert there.tolist() == [[1, 1, 1], [1, 1, 1]]
