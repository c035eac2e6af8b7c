"""``cuda.amp`` and ``cpu.amp``: the names that programs import."""

from __future__ import annotations

from typing import Any

import pytest

import tengen


def test_on_the_cpu_they_are_those_of_amp() -> None:
    x = tengen.ones(2, 2)
    with pytest.warns(FutureWarning, match=r"use `tengen.amp.autocast\('cpu', args...\)`"):
        casting = tengen.cpu.amp.autocast()
    with casting:
        assert (x @ x).dtype is tengen.bfloat16
    with pytest.warns(FutureWarning):
        casting = tengen.cpu.amp.autocast(dtype=tengen.float16)
    with casting:
        assert (x @ x).dtype is tengen.float16
    with pytest.warns(FutureWarning):
        scaler = tengen.cpu.amp.GradScaler(init_scale=8.0)
    assert isinstance(scaler, tengen.amp.GradScaler) and scaler.get_scale() == 8.0


def test_without_a_gpu_they_do_nothing() -> None:
    from tengen.cuda.amp import GradScaler, autocast, custom_bwd, custom_fwd

    x = tengen.ones(2, 2)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="not available"):
        casting = autocast()
    assert isinstance(casting, tengen.autocast)
    with casting:
        assert (x @ x).dtype is tengen.float32
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="not available"):
        scaler = GradScaler()
    assert not scaler.is_enabled()
    with pytest.warns(FutureWarning):

        class Double(tengen.autograd.Function):
            @staticmethod
            @custom_fwd(cast_inputs=tengen.float16)
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            @custom_bwd
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

    x.requires_grad_()
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
