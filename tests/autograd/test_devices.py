"""A tensor that moves to another device takes its history along."""

from __future__ import annotations

import pytest

import tengen


def test_gradients_go_back_to_the_device() -> None:
    x = tengen.ones(3, requires_grad=True, device="meta")
    y = (x * 2).to("meta")
    assert y.requires_grad
    moved = tengen.ones(3, requires_grad=True).to("meta")
    assert moved.device.type == "meta" and moved.grad_fn.name() == "ToCopyBackward0"
    assert moved.grad_fn.next_functions[0][0].name() == "AccumulateGrad"


def test_as_another_dtype_at_once() -> None:
    moved = tengen.ones(3, requires_grad=True).to("meta", tengen.float64)
    assert moved.dtype is tengen.float64 and moved.requires_grad
    with tengen.no_grad():
        assert not tengen.ones(3, requires_grad=True).to("meta").requires_grad


def test_integers_have_no_history() -> None:
    assert not tengen.ones(3, requires_grad=True).to("meta", tengen.int64).requires_grad


def test_nothing_comes_out_of_meta() -> None:
    with pytest.raises(NotImplementedError, match="meta"):
        tengen.ones(3, device="meta").to("cpu")
