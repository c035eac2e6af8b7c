"""The strides of fresh results beside PyTorch's, for inputs of all layouts."""

from __future__ import annotations

import pytest

import tengen
from tengen.testing.arrangements import arrangements, strides_that_matter, tensors
from tengen.testing.declared import declared_operators, flat, operators, run, writes

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

DECLARED = declared_operators()
#: PyTorch reads the memory of any strides as if it were contiguous, beyond its end.
OUT_OF_BOUNDS = ("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo")
OPERATORS = [
    n
    for n in operators()
    if side.same_schema(DECLARED[n]) and not writes(DECLARED[n]) and n not in OUT_OF_BOUNDS
]


@pytest.mark.parametrize("name", OPERATORS)
def test_same_strides(name: str) -> None:
    """Results that are no views are laid out in memory as PyTorch's."""
    differences = []
    for given in arrangements(name):
        there = tensors(given.arrays, side.from_array)
        theirs = side.outcome(side.run, DECLARED[name], there)
        ours = side.outcome(run, name, tensors(given.arrays, tengen.from_numpy))
        if side.failed(ours) or side.failed(theirs):
            continue  # that errors agree is tested elsewhere
        memory = {t.data_ptr() for t in side.flat(there)}
        for o, t in zip(flat(ours), side.flat(theirs), strict=True):
            if t.data_ptr() in memory or o.shape != t.shape:
                continue
            if strides_that_matter(o) != strides_that_matter(t):
                differences.append(f"{given.text}: strides {o.stride()}, but torch: {t.stride()}")
    side.fail_for(differences, DECLARED[name], "layout")
