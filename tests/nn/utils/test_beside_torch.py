"""Parametrizations, norms of weights and pruning beside PyTorch's: the same programs, the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from module_programs import PROGRAMS, raised

import tengen

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, torch.Tensor):
        a, b = ours.detach().numpy(), theirs.detach().numpy()
        assert (a.shape, a.dtype, ours.requires_grad) == (b.shape, b.dtype, theirs.requires_grad)
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        same(list(ours.values()), list(theirs.values()))
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif isinstance(theirs, torch.nn.Module):
        assert repr(ours) == repr(theirs)
    else:
        assert ours == (theirs.replace("torch", "tengen") if isinstance(theirs, str) else theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_beside_torch(name: str) -> None:
    results = []
    for library in (tengen, torch):
        library.manual_seed(0)
        results.append(raised(lambda library=library: PROGRAMS[name](library)))
    same(*results)
