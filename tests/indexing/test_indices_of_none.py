"""Indices without elements, which may be of any dtype where PyTorch asks for none."""

from __future__ import annotations

import pytest

import tengen


@pytest.mark.parametrize("dtype", [tengen.uint8, tengen.float32, tengen.bool, tengen.int16])
def test_nothing_is_gathered_and_scattered_by_any_index(dtype: tengen.dtype) -> None:
    none, x = tengen.empty(0, dtype=dtype), tengen.arange(5.0).requires_grad_()
    assert x.gather(0, none).shape == (0,)
    assert tengen.take_along_dim(x, none).shape == (0,)
    for result in (x.scatter(0, none, x.detach()), x.scatter_add(0, none, x), x.scatter(0, none, 1.0)):
        assert tengen.equal(result, x)
    x.gather(0, none).sum().backward()
    assert x.grad is not None and not x.grad.any()
    for call in (lambda: x.take(none), lambda: x.index_select(0, none), lambda: x.index_add(0, none, x[:0])):
        with pytest.raises(RuntimeError, match="index"):
            call()
    with pytest.raises(RuntimeError, match="index"):
        x.gather(0, tengen.zeros(1, dtype=dtype))


def test_batches_of_none_are_reflected() -> None:
    pad = tengen.nn.functional.pad
    assert pad(tengen.zeros(0, 3, 3), (1, 2), mode="reflect").shape == (0, 3, 6)
    with pytest.raises(RuntimeError, match="Padding size should be less"):
        pad(tengen.zeros(0, 3, 3), (1, 3), mode="reflect")
