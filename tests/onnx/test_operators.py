"""Every operator that has a symbolic: its declared samples, run by onnxruntime, give what tengen gives."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tengen.generated.symbolics import SYMBOLICS
from tengen.testing.aspects import undeclared_warnings
from tengen.testing.declared import operators, variants
from tengen.testing.symbolics import examined, exported

NAMES = sorted(name for name in operators() if name in SYMBOLICS)


@pytest.mark.parametrize("name", NAMES)
def test_onnxruntime_gives_the_same(name: str) -> None:
    """For some call at least: not all are covered by the symbolic, and by onnxruntime."""
    reasons = []
    for case in exported(name):
        with undeclared_warnings(case):
            reasons.append(examined(case))
    assert not all(reasons), reasons


def test_only_declared_operators_have_symbolics() -> None:
    assert set(SYMBOLICS) <= set(variants())
