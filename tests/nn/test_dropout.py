"""Dropout: what is kept, what it is multiplied with, and its gradient."""

from __future__ import annotations

import warnings
from types import ModuleType

import numpy as np
import pytest

import tengen
import tengen.nn.functional as F


def test_dropout_is_random_and_scaled() -> None:
    tengen.manual_seed(3)
    x = tengen.full((100, 100), 3.0, requires_grad=True)
    out = F.dropout(x, 0.25)
    kept = (out != 0).numpy()
    assert abs(kept.mean() - 0.75) < 0.03
    np.testing.assert_allclose(out.detach().numpy(), 3 * kept / np.float32(0.75), rtol=1e-6)
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), kept / np.float32(0.75), rtol=1e-6)
    tengen.manual_seed(3)
    assert (F.dropout(x, 0.25) == out).all()
    channels = F.dropout2d(tengen.ones(20, 30, 2, 2), 0.5).numpy().reshape(600, 4)
    assert set(channels.sum(1)) == {0.0, 8.0}
    noise = F.alpha_dropout(tengen.randn(300, 300), 0.3, training=True).numpy()
    assert abs(noise.mean()) < 0.05 and abs(noise.std() - 1) < 0.05


@pytest.mark.filterwarnings("ignore:dropout3d. Received a")  # which the next test looks at
@pytest.mark.parametrize("shape", [(40,), (40, 3), (40, 3, 2), (40, 3, 2, 2)])
def test_dropout3d_of_an_image_alone_drops_along_its_first_dimension(shape: tuple[int, ...]) -> None:
    """As in PyTorch, which takes for a batch what has five dimensions."""
    tengen.manual_seed(3)
    rows = F.dropout3d(tengen.ones(shape), 0.5).numpy().reshape(40, -1)
    assert (rows == rows[:, :1]).all() and set(rows.ravel()) == {0.0, 2.0}


@pytest.mark.parametrize("dims", range(1, 6))
@pytest.mark.parametrize("name", ["dropout2d", "dropout3d"])
@pytest.mark.parametrize("training", [True, False])
def test_inputs_of_other_dims_are_warned_of(m: ModuleType, name: str, dims: int, training: bool) -> None:
    """As in PyTorch; the warning points at the program."""
    taken = {"dropout2d": (4,), "dropout3d": (4, 5)}[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(m.nn.functional, name)(m.ones([2] * dims), 0.0, training)
    ours = [w for w in caught if name in str(w.message)]
    assert len(ours) == (dims not in taken)
    if m is tengen:
        assert all(w.filename == __file__ for w in ours)
