"""What the tests of nn kernels share: operands, and comparisons with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")


def rand(*shape: int, low: float = -2.0, high: float = 2.0, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(sum(shape) + len(shape)).uniform(low, high, shape).astype(dtype)


def leaf(x: Any) -> Any:
    return torch.tensor(np.asarray(x), requires_grad=True)


def check(ours: Any, theirs: Any) -> None:
    theirs = theirs.detach().numpy()
    assert np.asarray(ours).shape == theirs.shape
    assert np.asarray(ours).dtype == theirs.dtype
    tolerance = 1e-5 if theirs.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def check_gradients(ours: Any, output: Any, inputs: Any, grad: Any) -> None:
    theirs = torch.autograd.grad(output, inputs, torch.tensor(np.asarray(grad)))
    for a, b in zip(ours, theirs, strict=True):
        check(a, b)
