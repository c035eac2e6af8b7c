"""The bits of results depend on nothing but the values, dtypes, shapes and layouts that an operator is given.

Not on what ran before, the number of threads, where memory begins, or what other examples of a batch hold.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bits import aligned, bits, calls_of, computed, float_kind, table

import tengen
from tengen.testing import declared
from tengen.testing.batching import slots_of

NAMES = [
    n
    for n in declared.operators()
    if float_kind(n) is not None and not declared.aliases(declared.operators()[n])
]
pytestmark = pytest.mark.filterwarnings("ignore")


def differing(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    assert set(found) == set(expected)
    return [text for text in found if found[text] != expected[text]]


def test_most_operators_are_called() -> None:
    """An operator that takes none of the larger sizes is not compared; those are few."""
    assert sum(bool(calls_of(name)) for name in NAMES) > 0.8 * len(NAMES)


def test_what_ran_before_does_not_matter() -> None:
    """A process that goes through the operators backwards has the same bits as this one."""
    here = table(NAMES)
    program = Path(__file__).with_name("bits.py")
    there = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert differing(here, json.loads(there.stdout)) == []


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of this library; those of BLAS stay as many as they are."""
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr("tengen.kernels.parallel._count", count)
        monkeypatch.setattr("tengen.kernels.parallel._pool", None)
        found.append({f"{n}({c.text})": computed(n, c) for n in NAMES for c in calls_of(n)})
    assert differing(found[1], found[0]) + differing(found[2], found[0]) == []


@pytest.mark.usefixtures("threads_kept")
def test_the_number_of_threads_of_blas_does_not_matter_to_sums() -> None:
    """Unlike products of matrices, which are BLAS's affair, what is added is cut in one way."""
    names = [n for n in NAMES if "reduction" in declared.operators()[n].tags]
    found = []
    for count in (1, 2, 8):
        tengen.set_num_threads(count)
        found.append({f"{n}({c.text})": computed(n, c) for n in names for c in calls_of(n)})
    assert differing(found[1], found[0]) + differing(found[2], found[0]) == []


def test_where_memory_begins_does_not_matter() -> None:
    wrong = [
        f"{name}({call.text})"
        for name in NAMES
        for call in calls_of(name)
        if computed(name, call) != computed(name, call, lambda array: aligned(array, 1))
    ]
    assert wrong == []


# -- the other examples of a batch ---------------------------------------------------------------------

ODD = (np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0, 1e-30)


def unlike(tensor: Any) -> list[Any]:
    """Examples of other values: not finite and extreme ones, large ones, some that are nearly one, zeros."""
    given = tensor.numpy()
    made = (np.resize(np.array(ODD), given.shape), given * 50, given / 1e3 + 1e3, given * 0)
    return [tengen.from_numpy(np.asarray(a, given.dtype)) for a in made]


def outer_two(name: str, values: list[Any], between: dict[int, Any]) -> list[list[Any]]:
    """The bits of the results of the first and the last of three examples; ``between`` stand other ones."""

    def one(*examples: Any) -> tuple[Any, ...]:
        given = list(values)
        for i, example in zip(between, examples, strict=True):
            given[i] = example
        return tuple(declared.flat(declared.run(name, given)))

    columns = [tengen.stack([values[i], tensor, values[i]]) for i, tensor in between.items()]
    results = tengen.func.vmap(one)(*columns)
    return [[(r[n].shape, bits(r[n])) for r in results] for n in (0, 2)]


@pytest.mark.parametrize("name", [n for n in NAMES if declared.operators()[n].batching])
def test_other_examples_do_not_matter(name: str) -> None:
    """The first and the last of three examples have the same results, whatever is in the one between."""
    for call in calls_of(name):
        values = call.tensors(float_kind(name))
        slots = [i for i, j in slots_of(values) if j is None and values[i].is_floating_point()]
        try:
            expected = outer_two(name, values, {i: values[i] for i in slots})
        except Exception:  # of many examples at once it says that it cannot
            continue
        for others in zip(*[unlike(values[i]) for i in slots], strict=True):
            try:
                found = outer_two(name, values, dict(zip(slots, others, strict=True)))
            except Exception:  # what is not finite may be refused
                continue
            for results, wanted in zip(found, expected, strict=True):
                same = [a == b for a, b in zip(results, wanted, strict=True) if a[0] == b[0]]
                assert all(same), str(call)  # results of other shapes say something of the whole batch
