"""Values at the sizes around which kernels change their way, beside the declared references.

The sizes are found in the modules of the kernels that a call runs, so that a new kernel, or another
threshold, is tried without a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing import declared, sizes
from tengen.testing.aspects import aspects
from tengen.testing.reference import reference
from tengen.testing.samples import Buffer, Call, Fixed, Random

pytestmark = pytest.mark.filterwarnings("ignore")


def along_a_dim(name: str) -> bool:
    """Whether an operator goes along dims by a kernel: a reduction, or one that has an argument for them."""
    operator = declared.operators()[name]
    if operator.is_composite and "reduction" not in operator.tags:
        return False
    named = {a.name for a in operator.schema.arguments}
    of_batching = operator.batching.dims if operator.batching is not None else ()
    return "reduction" in operator.tags or bool(named & {"dim", *of_batching})


NAMES = [n for n in aspects()["value"].operators() if along_a_dim(n)]
KINDS = [tengen.float64, tengen.float32, tengen.float16, tengen.complex128, tengen.int32]
#: Longer lanes take the references too long.
MOST = 8193
#: Of complex results beyond this, products on the way may be infinite, and then NaN.
HUGE = 2.0**500
#: Sizes without a small divisor, at which all samples are tried.
ALL = ((67, 131, 5, 2), (8193, 3, 2, 2))
#: A square matrix, with one row more than whole blocks of 128, and sizes that are products of some length.
FIXED = ((129, 129, 3, 2), (1, 8192, 3, 2), (521, 128, 2, 2), (3, 1002, 5, 2))


def takes(name: str, kind: Any) -> bool:
    """Whether an operator claims a dtype; composites claim none."""
    claimed = declared.dtypes_of(declared.operators()[name])
    return not claimed or kind in claimed


def calls_of(name: str, kind: Any) -> Iterator[Call]:
    """All samples in the sizes of ALL, along each dim, and the first ones in each other size."""
    taken = [c for c in declared.calls(name) if c.takes(kind) and sizes.sizes_of(c) and not c.hand_picked]
    for number, call in enumerate(taken):
        shapes: list[tuple[int, ...]] = []
        if number < (2 if kind is tengen.float64 else 1):
            shapes += FIXED
        if number < 2 and kind in (tengen.float64, tengen.float32):
            lengths = sizes.around(sizes.thresholds(name, call.tensors(kind)), MOST)
            shapes += [(n, 3, 2, 2) if (i + number) % 2 else (2, n, 2, 2) for i, n in enumerate(lengths)]
        pairs = [(c, s) for c in sizes.along_dims(call) for s in ALL] + [(call, s) for s in shapes]
        for each, shape in pairs:
            old = sizes.sizes_of(each)
            ways = sizes.grown(each, {n: shape[min(place, 3)] for place, n in enumerate(old)})
            found = sizes.first_working(ways, kind) or next((c for c in ways if must_work(c, kind)), None)
            if found is not None:
                yield found


def must_work(call: Call, kind: Any) -> bool:
    """Whether shapes say that the operator takes the call: nothing of it was picked for other sizes."""
    values = [w for v in call.values for w in (v if isinstance(v, list) else [v])]
    picked = any(isinstance(v, (Fixed, Buffer)) or getattr(v, "form", "plain") != "plain" for v in values)
    return not picked and sizes.affordable(call, kind) and sizes.works_on_meta(call, kind)


def bound(call: Call, kind: Any, result: Any, expected: Any) -> Any:
    """What rounding can come to in the sum, or the product, of all elements, in whatever order.

    A sum of n terms is rounded n - 1 times, by half an eps of a sum of some of the terms: of n times the
    largest size at most. A product is as far off in proportion to itself. What else is done with an element,
    before or after, is a few operations: the factor of 8, which allows for squares of numbers up to 2, too.
    """
    arrays = [a for v in call.arrays(kind) for a in (v if isinstance(v, list) else [v])]
    floats = [a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind in "fciu" and a.size]
    terms = max([a.size for a in floats], default=1)
    largest = max([np.abs(a).max() for a in floats], default=0)
    return 8 * terms * np.finfo(result.dtype).eps * (np.abs(expected) + terms * largest)


def exact(call: Call, kind: Any, result: Any, expected: Any) -> Any:
    """No bound where what is expected has few binary digits, as the numbers of a ``coarse`` call have.

    It is a sum of them, or of their products, then, and of no sum on the way to it is anything rounded; it
    is itself, once, where the dtype is narrow. Of other results nothing is said.
    """
    size = np.abs(expected).max(initial=0)
    parts = np.array([np.real(expected), np.imag(expected)]) * 64
    if not np.isfinite(size) or size > 2**16 or np.any(parts != np.floor(parts)):
        return np.inf
    return np.abs(expected.astype(result.dtype).astype(np.float64) - expected)


def coarse(call: Call, kind: Any) -> Call:
    """The call with its random numbers rounded to eighths."""

    def rounded(value: Any) -> Any:
        if isinstance(value, list):
            return [rounded(v) for v in value]
        if isinstance(value, Random) and value.form == "plain":
            return Fixed((np.round(value.array(kind) * 8) / 8).astype(kind.array_dtype))
        return value

    return replace(call, text=f"{call.text} of eighths", values=tuple(map(rounded, call.values)))


def check(call: Call, kind: Any, allowed: Callable[..., Any]) -> None:
    """The operator's results are those of its reference in float64, of the same numbers."""
    try:
        expected = reference(call, kind, np.float64)
    except ValueError:  # sizes that do not go together, which the operator alone does not tell
        return
    found = declared.flat(declared.run(str(call.operator.name), call.tensors(kind)))
    for t, e in zip(found, expected if isinstance(expected, (tuple, list)) else [expected], strict=True):
        if e is None:
            continue
        array, e = t.detach().numpy(), np.asarray(e)
        assert array.shape == e.shape, str(call)
        if array.dtype.kind in "fc":
            with np.errstate(invalid="ignore"):
                near = np.abs(array.astype(e.dtype) - e) <= allowed(call, kind, array, e)
            either = np.isnan(array) & np.isnan(e) if e.dtype.kind == "f" else ~(np.abs(e) < HUGE)
            assert np.all(near | (array == e) | either), str(call)
        elif allowed is bound:  # of eighths there are many alike: any of them may be the one that is found
            assert array.dtype == e.dtype or array.dtype.kind != e.dtype.kind, str(call)
            assert np.array_equal(array, e), str(call)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_values_around_thresholds(name: str, kind: Any) -> None:
    if not takes(name, kind):
        return
    for call in calls_of(name, kind):
        if kind is not tengen.float16:  # its bound would say nothing
            check(call, kind, bound)
        if kind in (tengen.float32, tengen.float16):
            check(coarse(call, kind), kind, exact)


def test_most_operators_are_tried() -> None:
    """The sizes are found, and operators take them: it would be no test without."""
    tried = [sum(1 for _ in calls_of(name, tengen.float64)) for name in NAMES if takes(name, tengen.float64)]
    assert sum(n > len(FIXED) for n in tried) > 0.6 * len(NAMES)
