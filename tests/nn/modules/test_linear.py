"""Linear, Bilinear, Identity, and the module whose sizes are those of its input."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tengen


def test_linear(m: Any) -> None:
    n = m.nn.Linear(3, 2, dtype=m.float64)
    x = m.arange(6, dtype=m.float64).reshape(2, 3)
    assert m.allclose(n(x), x @ n.weight.t() + n.bias)
    assert repr(n) == "Linear(in_features=3, out_features=2, bias=True)"
    plain = m.nn.Linear(3, 2, bias=False, device="meta")
    assert plain.bias is None and plain(m.ones(5, 3, device="meta")).shape == (5, 2)
    assert [*plain.state_dict()] == ["weight"]


def test_linear_starts_within_bounds(m: Any) -> None:
    m.manual_seed(1)
    n = m.nn.Linear(16, 500)
    for values in (n.weight.detach().numpy(), n.bias.detach().numpy()):
        assert 0.24 < abs(values).max() <= 0.25 and abs(values.std() - 0.5 / np.sqrt(12)) < 0.01


def test_bilinear(m: Any) -> None:
    n = m.nn.Bilinear(2, 3, 4)
    x, y = m.randn(5, 2), m.randn(5, 3)
    wanted = m.einsum("bi,kij,bj->bk", x, n.weight, y) + n.bias
    assert m.allclose(n(x, y), wanted, atol=1e-5)
    assert repr(n) == "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)"
    with pytest.raises(ValueError, match="in1_features must be > 0, but got"):
        m.nn.Bilinear(0, 3, 4)


def test_identity(m: Any) -> None:
    x = m.ones(1)
    assert m.nn.Identity(3, unused=4)(x) is x


def test_lazy_linear(m: Any) -> None:
    n = m.nn.Sequential(m.nn.LazyLinear(2))
    assert repr(n[0]) == "LazyLinear(in_features=0, out_features=2, bias=True)"
    assert n[0].has_uninitialized_params() and m.nn.parameter.is_lazy(n.state_dict()["0.weight"])
    untouched, pickled = copy.deepcopy(n), pickle.loads(pickle.dumps(n))
    assert n(m.ones(4, 3)).shape == (4, 2) and type(n[0]) is m.nn.Linear and n[0].in_features == 3
    assert not n[0]._forward_pre_hooks and not hasattr(n[0], "_load_hook")
    untouched.load_state_dict(n.state_dict())
    assert m.equal(untouched(m.ones(4, 3)), n(m.ones(4, 3))) and type(untouched[0]) is m.nn.Linear
    assert pickled(m.ones(4, 5)).shape == (4, 2)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        n.load_state_dict(m.nn.Sequential(m.nn.LazyLinear(2)).state_dict())


def test_lazy_modules_that_do_not_say_how(m: Any) -> None:
    class Lazy(m.nn.modules.lazy.LazyModuleMixin, m.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.p = m.nn.UninitializedParameter()

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Lazy"):
        Lazy()(1)
    Lazy.initialize_parameters = lambda self, x: None
    with pytest.raises(RuntimeError, match="module Lazy has not been fully initialized"):
        Lazy()(1)


def test_training() -> None:
    """A network of modules learns a line."""
    tengen.manual_seed(0)
    n = tengen.nn.Sequential(tengen.nn.Linear(1, 8), tengen.nn.Linear(8, 1))
    optimiser = tengen.optim.Adam(n.parameters(), lr=0.05)
    x = tengen.linspace(-1, 1, 20).reshape(20, 1)
    for _ in range(150):
        optimiser.zero_grad()
        loss = tengen.nn.functional.mse_loss(n(x), 3 * x - 1)
        loss.backward()
        optimiser.step()
    assert loss.item() < 1e-2
