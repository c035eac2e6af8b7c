"""A step by a native kernel is what NumPy's form of it gives, of special numbers too, in both dtypes."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import machine_code
from tengen.kernels.native_kernels import kernels

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"maximize": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.8}),
    ("RMSprop", {"centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "momentum": 0.8}),
    ("Adagrad", {"lr_decay": 0.1}),
    ("Adadelta", {"lr": 0.5}),
    ("Adamax", {}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("ASGD", {"t0": 3}),
    ("Rprop", {"lr": 0.1}),
]
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30)


class _Asked(SimpleNamespace):
    """Kernels that note which of them were asked for, or that are not there."""

    def __init__(self, there: bool) -> None:
        self.there, self.names = there, set()

    def __getattr__(self, name: str) -> Any:
        found = getattr(kernels, name) if self.there else None
        self.names.add(name)
        return found


def stepped(
    name: str, options: dict[str, Any], dtype: Any, there: bool, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], set[str]]:
    """The parameter and its states after some steps, and the kernels that were asked for."""
    asked, kind = _Asked(there), getattr(tengen.optim, name)
    for module in [m for key, m in sys.modules.items() if key.startswith("tengen.optim.")]:
        if hasattr(module, "kernels"):
            monkeypatch.setattr(module, "kernels", asked)
    rng = np.random.default_rng(0)
    p = tengen.tensor(rng.standard_normal(100).astype(dtype), requires_grad=True)
    optimizer = kind([p], **options)
    for number in range(8):  # RAdam rectifies from the sixth on
        grad = rng.standard_normal(100).astype(dtype)
        if number == 6:
            grad[: len(SPECIAL)] = SPECIAL
        p.grad = tengen.tensor(grad)
        with np.errstate(all="ignore"):
            optimizer.step()
    state = optimizer.state[p]
    return [p.detach().numpy(), *[state[key].numpy() for key in sorted(state) if key != "step"]], asked.names


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_both_forms_agree(
    name: str, options: dict[str, Any], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not machine_code.is_available():
        pytest.skip("there is no machine code here: llvmlite is not installed, or TENGEN_NATIVE=0")
    (native, names), (numpy, _) = [stepped(name, options, dtype, w, monkeypatch) for w in (True, False)]
    assert names, f"{name} asks for no kernel"
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for a, b in zip(native, numpy, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
