"""Values at the sizes around which kernels change their way, beside the declared references.

The sizes are found in the modules of the kernels that a call runs, so that a new kernel, or another
threshold, is tried without a line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing import declared, sizes
from tengen.testing.aspects import aspects
from tengen.testing.samples import Call
from tengen.testing.values import reference

pytestmark = pytest.mark.filterwarnings("ignore")


def along_a_dim(name: str) -> bool:
    """Whether an operator goes along dims: a reduction, or one whose batching names them."""
    operator = declared.operators()[name]
    return "reduction" in operator.tags or (operator.batching is not None and bool(operator.batching.dims))


NAMES = [n for n in aspects()["value"].operators() if along_a_dim(n)]
#: Longer lanes take the references too long.
MOST = 8193
#: A matrix with one row more than whole blocks of 128, a square one, and sizes without a small divisor.
FIXED = ((129, 129), (8193, 3), (67, 131), (1, 8192), (521, 128))


def calls_of(name: str, kind: Any) -> Iterator[Call]:
    """The calls of the first samples in each of the sizes."""
    takes = [c for c in declared.calls(name) if c.takes(kind) and sizes.sizes_of(c) and not c.hand_picked]
    for number, call in enumerate(takes[: 2 if kind is tengen.float64 else 1]):
        lengths = sizes.around(sizes.thresholds(name, call.tensors(kind)), MOST)
        shapes = [*FIXED, *[(n, 3) if (i + number) % 2 else (2, n) for i, n in enumerate(lengths)]]
        for shape in shapes:
            old = sizes.sizes_of(call)
            changed = {n: shape[min(place, 1)] + max(place - 1, 0) for place, n in enumerate(old)}
            found = sizes.first_working(sizes.grown(call, changed), kind)
            if found is not None:
                yield found


def bound(call: Call, kind: Any, expected: Any) -> Any:
    """What rounding can come to in the sum, or the product, of all elements, in whatever order.

    A sum of n terms is rounded n - 1 times, by half an eps of a sum of some of the terms: of n times the
    largest size at most. A product is as far off in proportion to itself. What else is done with an element,
    before or after, is a few operations: the factor of 8, which allows for squares of numbers up to 2, too.
    """
    arrays = [a for v in call.arrays(kind) for a in (v if isinstance(v, list) else [v])]
    floats = [a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind == "f" and a.size]
    terms = max([a.size for a in floats], default=1)
    largest = max([np.abs(a).max() for a in floats], default=0)
    return 8 * terms * np.finfo(kind.array_dtype).eps * (np.abs(expected) + terms * largest)


def check(call: Call, kind: Any) -> None:
    """The operator's results are those of its reference in float64, of the same numbers."""
    found = declared.flat(declared.run(str(call.operator.name), call.tensors(kind)))
    try:
        expected = reference(call, kind, np.float64)
    except ValueError:  # sizes that do not go together, which the operator alone does not tell
        return
    for t, e in zip(found, expected if isinstance(expected, (tuple, list)) else [expected], strict=True):
        if e is None:
            continue
        array, e = t.detach().numpy(), np.asarray(e)
        assert array.shape == e.shape, str(call)
        if array.dtype.kind == "f":
            near = np.abs(array.astype(np.float64) - e) <= bound(call, kind, e)
            assert np.all(near | (array == e) | (np.isnan(array) & np.isnan(e))), str(call)
        else:
            assert array.dtype == e.dtype or array.dtype.kind != e.dtype.kind, str(call)
            assert np.array_equal(array, e), str(call)


@pytest.mark.parametrize("kind", [tengen.float64, tengen.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_values_around_thresholds(name: str, kind: Any) -> None:
    has = declared.dtypes_of(declared.operators()[name])
    if not has or kind in has:
        for call in calls_of(name, kind):
            check(call, kind)


def test_most_operators_are_tried() -> None:
    """The sizes are found, and operators take them: it would be no test without."""
    tried = [sum(1 for _ in calls_of(name, tengen.float64)) for name in NAMES]
    assert sum(n > len(FIXED) for n in tried) > 0.6 * len(NAMES)
