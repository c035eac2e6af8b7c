"""Classes that programs derive from keep the names free that PyTorch's leave free: subclasses use these."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest

import tengen

CLASSES = ("nn.Module", "optim.Optimizer", "optim.lr_scheduler.LRScheduler", "utils.data.DataLoader")


@pytest.mark.oracle
@pytest.mark.parametrize("name", CLASSES)
def test_helpers_have_names_that_no_subclass_has(name: str, torch: Any) -> None:
    ours, theirs = attrgetter(name)(tengen), attrgetter(name)(torch)
    words = {word for word in dir(ours) if not word.startswith(("__", "_tengen_"))}
    assert words <= set(dir(theirs)) | set(dir(torch.nn.Module()))


def test_a_subclass_has_attributes_of_any_other_name() -> None:
    class Metric(tengen.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._persistent = {"total": False}
            self.register_buffer("total", tengen.ones(2))

    assert list(Metric().state_dict()) == ["total"]
