"""That every public name of PyTorch is here, or has a reason not to be."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import names_coverage
import names_page
import pytest

import tengen

RECORDED = names_page.recorded()
REASONS = names_page.reasons()
NAMES = list(names_page.names(RECORDED))

#: Where names are still to come.
UNFINISHED = {"", "masked"}


def test_names_are_recorded() -> None:
    assert len(NAMES) > 4000
    assert {"autograd.grad", "func.vmap", "library.custom_op", "Tensor.backward"} <= set(NAMES)
    assert {"abs", "float64", "unique", "Tensor.__add__", "nn.functional.relu_", "linalg.LinAlgError"} <= set(
        NAMES
    )


def test_what_is_not_public_is_not_recorded() -> None:
    """Modules of others that are imported there, aliases of types, what TorchScript has in C++."""
    last = {n.rpartition(".")[2] for n in NAMES}
    assert not {"np", "math", "sys", "TYPE_CHECKING", "Callable", "boolean_dispatch"} & last
    assert not {"Argument", "AliasDb", "CompilationUnit", "ScriptObject", "TensorType", "AVG"} & last
    assert not {"nn.functional.Tensor", "special.Tensor", "nn.functional.has_torch_function"} & set(NAMES)


@pytest.mark.parametrize("place", [p for p in RECORDED if p not in UNFINISHED])
def test_no_name_is_missing_without_a_reason(place: str) -> None:
    assert names_coverage.coverage({place: RECORDED[place]}, REASONS)[place].absent == []


@pytest.mark.parametrize("name", REASONS)
def test_no_reason_is_stale(name: str) -> None:
    meant = [n for n in NAMES if names_page.matches(n, name)]
    assert meant, "PyTorch has no such name"
    assert [n for n in meant if not names_page.has(n)], "it is here"


def test_patterns() -> None:
    assert names_page.matches("quantize_per_tensor", "quantize_*")
    assert not names_page.matches("Tensor.quantize_me", "quantize_*")
    given = {"quantize_*": "why", "nn.init": "so"}
    assert names_page.reason("quantize_per_tensor", given) == "why"
    assert names_page.reason("nn.init.zeros_", given) == "so"
    assert names_page.reason("zeros", given) is None


def test_a_name_that_is_not_there() -> None:
    for name in (
        "autograd.nothing",
        "nothing.at_all",
        "autograd.Function.nothing",
        "Tensor.grad.nothing.more",
    ):
        assert not names_page.has(name)
    assert (
        names_page.reason("autograd.profiler.EnforceUnique.see", REASONS)
        == REASONS["autograd.profiler.EnforceUnique"]
    )


def test_the_page_has_them_all() -> None:
    text = names_page.page()
    assert "no: None" not in text or UNFINISHED
    for place, members in RECORDED.items():
        section = text.partition(f"## {place or 'torch'}\n")[2].partition("\n## ")[0]
        assert section
        if not place or names_page.has(place):
            assert all(f"| `{name}` |" in section for name in members)


def test_the_table_of_the_coverage() -> None:
    covered = names_coverage.coverage(
        {"": {"abs": "function", "nothing": "function", "mtia": "module"}}, {"mtia": "why"}
    )
    assert covered[""] == names_coverage.Covered(["abs"], {"mtia": "why"}, ["nothing"])
    assert names_coverage.table(covered).splitlines()[-1].split() == ["in", "all", "1", "1", "1"]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert names_coverage.main(["func", "--reasons", "--check"]) == 0
    assert "func.rearrange: " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        names_coverage.main(["nothing"])
    assert "no such places: nothing" in capsys.readouterr().err


@pytest.mark.oracle
def test_the_record_is_of_torch(torch: Any) -> None:
    """In a process of its own: which modules are there depends on what is imported."""
    program = "import json, recorded_names as r; print(json.dumps(r.of_torch()))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == RECORDED, "python tests/names/recorded_names.py records it anew"


@pytest.mark.oracle
def test_attributes_of_tensors_are_of_the_same_kind(torch: Any) -> None:
    """What ``torch.Tensor`` has is a method here where it is one there, or has a reason not to be here."""
    theirs = {n for n in dir(torch.Tensor) if not n.startswith("_")}
    absent = {n for n in theirs if not hasattr(tengen.Tensor, n)}
    assert not {n for n in absent if names_page.reason(f"Tensor.{n}", REASONS) is None}
    kept = sorted(theirs - absent)
    assert len(kept) > 500
    kinds = [(n, callable(getattr(c, n))) for c in (torch.Tensor, tengen.Tensor) for n in kept]
    assert kinds[: len(kept)] == kinds[len(kept) :]
    is_method = {
        n: [callable(inspect.getattr_static(c, n)) for c in (torch.Tensor, tengen.Tensor)] for n in kept
    }
    assert not [n for n, (a, b) in is_method.items() if a != b]
