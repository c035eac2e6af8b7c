"""A scalar type that is declared works: one more float8 of ml_dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Scratch

ENTRY = """
- name: Float8_e4m3
  dtype: float8_e4m3
  category: float8
  array: ml_dtypes:float8_e4m3
  opmath: Float
  promotes_to: []
"""
PROGRAM = """
import tengen, pickle
t = tengen.float8_e4m3
x = tengen.tensor([1.0, -2.6, 1000.0, 0.3], dtype=t)
assert (t.itemsize, t.is_floating_point, t.abbr) == (1, True, "f8e4m3"), t.abbr
assert x.to(tengen.float32).tolist() == [1.0, -2.5, float("inf"), 0.3125]
assert "dtype=tengen.float8_e4m3" in repr(x)
assert x.to(tengen.float8_e4m3fn).to(t)[1].item() == -2.5
assert tengen.stack([x, x]).clone().reshape(8)[5].item() == -2.5 and (x == x).all()
assert tengen.equal(pickle.loads(pickle.dumps(x)), x)
assert x.to("meta").dtype is t and x.view(tengen.uint8).view(t).dtype is t
for wrong in (lambda: x + x, lambda: x.sum(), lambda: x + tengen.ones(4)):
    try:
        wrong()
    except (NotImplementedError, RuntimeError, TypeError) as error:
        assert "Float8_e4m3" in str(error), error
    else:
        raise AssertionError("float8 is not computed with")
"""


def test_one_more_float8(scratch: Scratch) -> None:
    table = scratch.root / "declarations" / "scalar_types.yaml"
    table.write_text(table.read_text(encoding="utf-8") + ENTRY, encoding="utf-8")
    done = scratch.python("-m", "tengen.codegen.gen")
    assert done.returncode == 0, done.stdout
    done = scratch.python("-c", PROGRAM)
    assert done.returncode == 0, done.stdout
