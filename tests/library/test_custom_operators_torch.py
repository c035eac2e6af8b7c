"""Operators that programs define, beside torch: results, gradients, errors and warnings."""

from __future__ import annotations

from typing import Any

import pytest
from operator_programs import PROGRAMS, SAYS_ITS_OWN, outcome

import tengen


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_with_torch(torch: Any, name: str) -> None:
    expected, found = outcome(torch, name), outcome(tengen, name)
    if name in SAYS_ITS_OWN:
        assert expected["error"] is not None and found["error"] is not None
        expected["error"], found["error"] = expected["error"][0], found["error"][0]
    assert found == expected


def test_what_says_its_own_is_a_program() -> None:
    assert not SAYS_ITS_OWN - PROGRAMS.keys()
