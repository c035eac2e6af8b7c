"""``view_copy``: what it stands for, and that every view of PyTorch's that has a copying form names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tengen.codegen.commands.affected import plain
from tengen.codegen.model.diagnostics import Report
from tengen.codegen.read.entries import read_entries
from tengen.generated.operators import OVERLOADS

ENTRY = """
- func: shown.int(Tensor(a -> *) self, int dim=0, *, bool flat=False) -> Tensor(a)[]
  variants: function, method
  tags: [core, needs_exact_strides]
  dtypes: complex
  opmath: false
  batching: {dims: dim}
  doc: Views.
  samples: ["[3]", "[3], flat=True for complex64"]
  reference: self
  view_copy: shown_copy.int, shown_copy.int_out
"""


def read(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "native_functions.yaml"
    path.write_text(text)
    report = Report()
    _, copy = read_entries(path, "f", "native", report)
    report.finish()
    return {k: plain(v) for k, v in copy.fields.items()}


def test_what_a_copy_takes_from_the_view(tmp_path: Path) -> None:
    assert read(tmp_path, ENTRY) == {
        "func": "shown_copy.int(Tensor self, int dim=0, *, bool flat=False) -> Tensor[]",
        "tags": ["needs_exact_strides", "view_copy"],
        "dispatch": {"CompositeImplicitAutograd": "copied(self.shown(dim, flat=flat))"},
        "out": "exact",
        "doc": "A copy of what ``shown`` shows.",
        "autogen": ["shown_copy.int_out"],
        "samples": ["[3] for complex", "[3], flat=True for complex64"],
        "reference": "self",
    }


def test_a_view_without_a_method_is_called_as_a_function(tmp_path: Path) -> None:
    made = read(tmp_path, ENTRY.replace("function, method", "function"))
    assert made["dispatch"] == {"CompositeImplicitAutograd": "copied(shown(self, dim, flat=flat))"}


@pytest.mark.oracle
def test_copies_are_those_of_torch() -> None:
    import torch

    names = {n for n in dir(torch) if n.endswith("_copy") and n[0] != "_" and hasattr(torch.ops.aten, n)}
    sparse = {n for n in names if "indices" in n or "values" in n}
    assert names - sparse <= OVERLOADS.keys()
