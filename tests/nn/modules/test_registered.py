"""Attributes that classes of modules have for their parameters: as those that ``__getattr__`` finds."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import tengen
from tengen import nn
from tengen.nn.modules.base import Registered

MADE: dict[type[nn.Module], Any] = {
    nn.Linear: lambda: nn.Linear(2, 3),
    nn.Bilinear: lambda: nn.Bilinear(2, 3, 4),
    nn.Conv2d: lambda: nn.Conv2d(1, 2, 3),
    nn.ConvTranspose1d: lambda: nn.ConvTranspose1d(1, 2, 3),
    nn.BatchNorm1d: lambda: nn.BatchNorm1d(3),
    nn.InstanceNorm1d: lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True),
    nn.LayerNorm: lambda: nn.LayerNorm(3),
    nn.GroupNorm: lambda: nn.GroupNorm(1, 3),
    nn.RMSNorm: lambda: nn.RMSNorm(3),
    nn.PReLU: lambda: nn.PReLU(),
    nn.Embedding: lambda: nn.Embedding(3, 2),
    nn.EmbeddingBag: lambda: nn.EmbeddingBag(3, 2),
    nn.GRUCell: lambda: nn.GRUCell(2, 3),
    nn.MultiheadAttention: lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True),
}


def attributes(cls: type[nn.Module]) -> list[str]:
    """The names that the class has a Registered for."""
    return [n for base in cls.__mro__ for n, v in vars(base).items() if isinstance(v, Registered)]


@pytest.mark.parametrize("cls", MADE, ids=lambda c: c.__name__)
def test_they_are_what_is_registered(cls: type[nn.Module]) -> None:
    made = MADE[cls]()
    members = {**dict(made.named_parameters(recurse=False)), **dict(made.named_buffers(recurse=False))}
    members |= dict(made.named_children())
    assert {n for n in attributes(cls) if getattr(made, n, None) is not None} == members.keys()
    assert all(getattr(made, name) is value for name, value in members.items())
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert all(getattr(other, n) is not getattr(made, n) for n in members)
    assert not any(hasattr(cls, name) for name in members)
    assert len(dir(made)) == len(set(dir(made)))


def test_what_else_has_the_name() -> None:
    """A plain tensor, a buffer, or nothing: as without the class's attribute."""
    made = nn.Linear(2, 3)
    del made.weight
    assert not hasattr(made, "weight")
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weight'"):
        _ = made.weight
    with pytest.raises(AttributeError, match="type object 'Linear' has no attribute 'weight'"):
        _ = nn.Linear.weight
    made.weight = tengen.ones(3, 2)
    assert made.__dict__["weight"] is made.weight
    del made.weight
    made.register_buffer("weight", tengen.zeros(3, 2))
    assert made.weight is made._buffers["weight"]
