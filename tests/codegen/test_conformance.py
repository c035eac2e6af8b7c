"""PyTorch's own declarations are understood to the last key."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tengen.codegen.check.conformance import conformance, main
from tengen.codegen.read.keys import KEYS

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def packaged() -> Path:
    spec = find_spec("torchgen")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("torchgen is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / "packaged"


def test_all_of_it(packaged: Path) -> None:
    found = conformance(packaged)
    assert not found.report.diagnostics
    assert (found.entries, found.parsed, found.same) == (2584, 2584, 2584)
    assert (found.derivatives, found.entry_names + found.variant_names) == (687, 687)
    assert set(found.keys) <= set(KEYS["native"])


def test_the_command(packaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(packaged)]) == 0
    printed = capsys.readouterr().out
    assert "2584 schemas parse, 2584 print back to the same string" in printed
    assert printed.endswith("0 not understood\n")
