"""Modes, transforms and stances: where it changes, the call gives what the function then gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from compared import alike
from tables import scaled, wave, x

import tengen

# -- modes


@pytest.mark.parametrize("first", [True, False])
def test_modes(first: bool) -> None:
    compiled, t = tengen.compile(wave), x().requires_grad_()
    modes: list[Any] = [tengen.enable_grad, tengen.no_grad, tengen.inference_mode]
    for mode in [*modes, *modes] if first else [*modes[::-1], *modes]:
        with mode():
            for _ in range(3):
                found, expected = compiled(t), wave(t)
                assert found.requires_grad is expected.requires_grad
                assert found.is_inference() is expected.is_inference()
                assert bool((found == expected).all())


def test_default_dtype() -> None:
    def f(t: Any) -> Any:
        return t.to(tengen.int64) / 3 + tengen.ones(3)

    compiled = tengen.compile(f)
    try:
        for kind in (tengen.float32, tengen.float64, tengen.float32):
            tengen.set_default_dtype(kind)
            for _ in range(3):
                alike(compiled, f, x())
    finally:
        tengen.set_default_dtype(tengen.float32)


def test_autocast() -> None:
    w = tengen.ones(3, 3)
    compiled = tengen.compile(lambda t: t @ w)
    for kind in (None, tengen.bfloat16, tengen.float16, None):
        with tengen.autocast("cpu", kind or tengen.bfloat16, enabled=kind is not None):
            for _ in range(3):
                assert compiled(x()).dtype is (x() @ w).dtype


def test_default_device() -> None:
    compiled = tengen.compile(lambda t: tengen.ones(3))
    for _ in range(3):
        compiled(x())
    with tengen.device("meta"):
        assert compiled(x()).device.type == "meta"
    assert compiled(x()).device.type == "cpu"


def test_deterministic_algorithms_are_not_stale() -> None:
    compiled = tengen.compile(lambda t: tengen.empty(3).fill_(1) * t)
    for _ in range(3):
        compiled(x())
    tengen.use_deterministic_algorithms(True)
    try:
        alike(compiled, compiled.__wrapped__, x())
    finally:
        tengen.use_deterministic_algorithms(False)


TRANSFORMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "vmap": lambda f: tengen.func.vmap(f),
    "grad": lambda f: tengen.func.grad(lambda t: f(t).sum()),
    "jvp": lambda f: lambda t: tengen.func.jvp(f, (t,), (tengen.ones_like(t),)),
    "vjp": lambda f: lambda t: tengen.func.vjp(f, t)[1](tengen.ones_like(t)),
    "jacrev": lambda f: tengen.func.jacrev(f),
    "jacfwd": lambda f: tengen.func.jacfwd(f),
    "hessian": lambda f: tengen.func.hessian(lambda t: f(t).sum()),
    "twice": lambda f: tengen.func.vmap(tengen.func.vmap(f)),
    "functionalize": lambda f: tengen.func.functionalize(f),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    compiled, transform = tengen.compile(wave), TRANSFORMS[name]
    inside = tengen.compile(transform(wave))
    for _ in range(3):
        alike(transform(compiled), transform(wave), x())
        alike(compiled, wave, x())
        alike(inside, transform(wave), x())


def test_reset() -> None:
    compiled = tengen.compile(wave)
    for _ in range(3):
        compiled(x())
        tengen.compiler.reset()
        assert not compiled.entries


def test_stances() -> None:
    compiled = tengen.compile(wave)
    with tengen.compiler.set_stance("force_eager"):
        alike(compiled, wave, x())
    assert not compiled.entries
    for _ in range(3):
        alike(compiled, wave, x())
    for name in ("eager_on_recompile", "default", "force_eager"):
        with tengen.compiler.set_stance(name):
            alike(compiled, wave, x().double())
    with tengen.compiler.set_stance("fail_on_recompile"):
        alike(compiled, wave, x())
        with pytest.raises(RuntimeError, match="has no program for this call"):
            compiled(x().t())


def test_limit() -> None:
    compiled = tengen.compile(scaled, options={"limit": 2})
    for by in (1, 2, 3, 4, 1, 2):
        for _ in range(2):
            alike(compiled, scaled, x(), by)
    assert len(compiled.entries) == 2
