"""The page of helpers has what declarations may name, each with its signature and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tengen.testing import declared

GENERATOR = Path(__file__).resolve().parents[2] / "docs" / "generator"


@pytest.fixture
def helpers(generator: Callable[[str], ModuleType]) -> ModuleType:
    """The module that writes the page."""
    return generator("helpers_page")


def functions(helpers: Any, title: str) -> dict[str, Any]:
    (kind,) = [v for v in helpers.vocabularies() if v.title == title]
    return {h.name: h for found in kind.modules.values() for h in found}


def test_everything_that_declarations_call_is_on_the_page(helpers: Any) -> None:
    formulas = {**functions(helpers, "Formulas"), **functions(helpers, "Batching rules")}
    meta = functions(helpers, "Kernels of Meta")
    called = {n for d in declared.declarations().derivatives for n in d.helpers.values()}
    shapes: set[str] = set()
    for operator in declared.declarations().operators:
        kernel = operator.kernels.get("Meta")
        if kernel is not None and ":" not in (kernel.function or ""):
            shapes |= {*([kernel.function] if kernel.function else ()), *kernel.calls.values()}
    assert len(called) > 50
    assert len(shapes) > 50
    assert {n.rpartition(".")[2] for n in called} - set(formulas) == set()
    shared = functions(helpers, "Kernels of CPU")  # what words the errors of bodies is for all backends
    assert {n.rpartition(".")[2] for n in shapes} - {*meta, *shared} == set()


def test_each_has_a_signature_and_a_sentence(helpers: Any) -> None:
    silent = []
    for kind in helpers.vocabularies():
        for found in kind.modules.values():
            silent += [f"{h.module}.{h.name}" for h in found if not helpers.says(h) or "(" not in h.signature]
    assert silent == []


def test_what_it_says(helpers: Any) -> None:
    restored = functions(helpers, "Formulas")["restored"]
    assert restored.signature == "restored(reduced: Tensor, dim: Dims, keepdim: bool, ndim: int) -> Tensor"
    assert helpers.says(restored) == (
        "The result of a reduction, in a shape that broadcasts with the input's."
    )
    assert helpers.says(functions(helpers, "Kernels of Meta")["meta_trace"]) == "Of the kernel of ``trace``."
    assert "_spread" not in functions(helpers, "Formulas")
    text = helpers.page(lambda place: f"{place.file}:{place.line}")
    assert "`add(x, y)`" in text
    assert 'href="runtime/formulas/reduction.py:' in text


def test_the_first_sentence(helpers: Any) -> None:
    assert helpers.sentence("One (1.5) of\nthem. Two.") == "One (1.5) of them."
    assert helpers.sentence("No point\n\nMore.") == "No point"
