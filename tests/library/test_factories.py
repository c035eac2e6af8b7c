"""A library whose operators make tensors, declared by what elements are: all that should follow is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
OPERATORS = f"""\
- func: ramp_of(int steps, float slope=1.0, {_OPTIONS}) -> Tensor
  autogen: ramp_of.out
  body: out[k in steps] = slope * k
  samples: ["4", "3, 0.5", "0"]
  errors: ["-1: RuntimeError", "2, dtype=bool: RuntimeError"]
  reference: slope * np.arange(steps)

- func: circle_of(int steps, {_OPTIONS}) -> Tensor
  body: |
    step = 2 * pi / steps if steps else 0
    out[k in steps, i in 2] = where(i == 0, cos(k * step), sin(k * step))
  dtypes: floating, reduced
  samples: ["4", "0"]
  reference: >
    np.stack([f(np.arange(steps) * 2 * np.pi / steps) for f in (np.cos, np.sin)], 1)
  tolerance: {{float64: 1.0e-6}}

- func: vandermonde_of(int rows, int columns, {_OPTIONS}) -> Tensor
  body: out[i in rows, j in columns] = i ** j
  factory: {{dtype: int64}}
  dtypes: all, -bool
  samples: ["4, 3", "0, 2"]
  reference: np.vander(np.arange(rows), columns, increasing=True)

- func: banded_of(int n, int width, {_OPTIONS}) -> Tensor
  body: out[i in n, j in n] = abs(i - j) <= width
  dtypes: all
  samples: ["4, 1", "1, 0"]
  reference: (np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= width) * 1.0

- func: rows_of(int n, {_OPTIONS}) -> Tensor
  body: out[i in n, j in 3] = i + i0e(i)
  dtypes: floating
  samples: ["4"]
  reference: np.tile((np.arange(n) + scipy.special.i0e(np.arange(n)))[:, None], (1, 3))
  tolerance: {{float64: 1.0e-6}}

- func: halves_of(int[] size, Scalar value=1, {_OPTIONS}) -> Tensor
  body: out[*size] = value / 2
  samples: ["(2, 3)", "(), 3", "(0,)"]
  errors: ["(-1,): RuntimeError"]
  reference: np.full(size, value / 2)
"""
FOLLOWS = """
import tengen, factorylib
import numpy as np

ops = tengen.ops.factorylib
CALLS = (
    ("ramp_of", (4, 0.5)), ("circle_of", (5,)), ("vandermonde_of", (4, 3)), ("banded_of", (4, 1)),
    ("rows_of", (3,)), ("halves_of", ((2, 3), 3)),
)
for name, arguments in CALLS:
    f = getattr(ops, name)
    here = f(*arguments)
    assert here.dtype == (tengen.int64 if name == "vandermonde_of" else tengen.float32), name
    assert here.is_contiguous(), name
    there = f(*arguments, device="dask")
    assert there.dtype == here.dtype and tengen.equal(there.cpu(), here), name
    meta = f(*arguments, dtype=tengen.float64, device="meta")
    assert meta.shape == here.shape and meta.dtype == tengen.float64, name
out = tengen.empty(4)
assert ops.ramp_of(4, 2.0, out=out) is out and out.tolist() == [0, 2, 4, 6]
with tengen.device("meta"):
    assert ops.ramp_of(3).is_meta

from tengen.generated.symbolics import SYMBOLICS
assert {f"factorylib::{name}" for name, _ in CALLS} <= set(SYMBOLICS), sorted(SYMBOLICS)[:9]
"""


def test_all_that_follows(workshop: Workshop) -> None:
    workshop.library("factorylib", declarations__native_functions__yaml=OPERATORS)
    workshop.tengen("gen", folder="factorylib")
    names = ("ramp", "circle", "vandermonde", "banded", "rows", "halves")
    found = workshop.tengen(
        "verify", "--strict", *[f"factorylib::{n}_of" for n in names], folder="factorylib"
    )
    assert "6 operators verified" in found
    workshop.python(FOLLOWS)
