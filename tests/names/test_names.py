"""That every public name of PyTorch's autograd, func and library is here, or has a reason not to be."""

from __future__ import annotations

from typing import Any

import names_page
import pytest
from recorded_names import of_torch

RECORDED = names_page.recorded()
REASONS = names_page.reasons()
NAMES = list(names_page.names(RECORDED))


def test_names_are_recorded() -> None:
    assert len(NAMES) > 250
    assert {"autograd.grad", "func.vmap", "library.custom_op", "Tensor.backward"} <= set(NAMES)


@pytest.mark.parametrize("place", RECORDED)
def test_no_name_is_missing_without_a_reason(place: str) -> None:
    full = [f"{place}.{name}" for name in RECORDED[place]]
    assert not [n for n in full if not names_page.has(n) and names_page.reason(n, REASONS) is None]


@pytest.mark.parametrize("name", REASONS)
def test_no_reason_is_stale(name: str) -> None:
    assert name in NAMES, "PyTorch has no such name"
    assert not names_page.has(name), "it is here"


def test_a_name_that_is_not_there() -> None:
    for name in (
        "autograd.nothing",
        "nothing.at_all",
        "autograd.Function.nothing",
        "Tensor.grad.nothing.more",
    ):
        assert not names_page.has(name)
    assert (
        names_page.reason("autograd.profiler.EnforceUnique.see", REASONS)
        == REASONS["autograd.profiler.EnforceUnique"]
    )


def test_the_page_has_them_all() -> None:
    text = names_page.page()
    assert "None" not in text
    for place, members in RECORDED.items():
        section = text.partition(f"## {place}\n")[2].partition("\n## ")[0]
        assert section
        if names_page.has(place):
            assert all(f"| `{name}` |" in section for name in members)


@pytest.mark.oracle
def test_the_record_is_of_torch(torch: Any) -> None:
    assert of_torch() == RECORDED, "python tests/names/recorded_names.py records it anew"
