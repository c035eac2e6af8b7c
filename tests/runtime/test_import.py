"""What ``import tengen`` brings, and what it must not."""

from __future__ import annotations

import math
import os
import pkgutil
import re
import subprocess
import sys

import pytest

import tengen
from tengen.core.missing_name import LACKING


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "module",
    [
        *("yaml", "jinja2", "scipy", "numpy.random", "tempfile", "importlib.resources", "tengen.codegen"),
        *("tengen.generated.operators", "tengen.generated.cpu_types", "tengen.generated.nodes"),
        *("tengen.generated.return_types", "tengen.generated.kernels", "llvmlite"),
        "tengen.machine_code.finder",
    ],
)
def test_import_leaves_out(module):
    assert run(f"import sys, tengen; print({module!r} in sys.modules)").strip() == "False"


@pytest.mark.parametrize("collecting", [True, False])
def test_import_leaves_the_collector_as_it_was(collecting):
    first = "gc.enable()" if collecting else "gc.disable()"
    assert run(f"import gc; {first}; import tengen; print(gc.isenabled())").strip() == str(collecting)


def test_import_leaves_frozen_what_was():
    code = "import gc; gc.freeze(); before = gc.get_freeze_count(); import tengen; "
    assert run(code + "print(0 <= before - gc.get_freeze_count() < before / 10)").strip() == "True"
    # Python 3.12 has some frozen when it begins.
    code = "import gc; before = gc.get_freeze_count(); import tengen; "
    assert run(code + "print(gc.get_freeze_count() <= before)").strip() == "True"


def test_kernels_are_imported_when_they_are_first_called():
    loaded = "[m for m in ('tengen.kernels.sorting', 'tengen.generated.nodes') if m in sys.modules]"
    out = run(f"import sys, tengen; x = tengen.ones(2); print({loaded}); x.sort(0); print({loaded})")
    assert out.split("\n")[:2] == ["[]", "['tengen.kernels.sorting']"]


def test_modules_do_not_hide_what_they_are_named_for():
    assert tengen.tensor([1]).shape == (1,)
    assert tengen.device("cpu").type == "cpu"
    assert tengen.Size([1]).numel() == 1
    out = run("import tengen; tengen.special; tengen.utils; print(tengen.tensor(1), tengen.device('cpu'))")
    assert out.strip() == "tensor(1) cpu"


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'tengen' has no attribute 'foo'"):
        tengen.foo  # noqa: B018


@pytest.mark.parametrize("missing", ["sofmax", "zeross", "Tensr", "no_gard", "autgrad"])
def test_a_name_that_was_probably_meant_is_in_the_text(missing):
    """Python itself suggests one only of modules with at most 750 names."""
    with pytest.raises(AttributeError) as caught:
        getattr(tengen, missing)
    (meant,) = re.findall(r"Did you mean: '(\w+)'\?$", str(caught.value))
    assert hasattr(tengen, meant)
    assert not hasattr(tengen, missing)
    assert caught.value.name == missing


def test_whether_there_is_a_name_costs_no_look_at_files(monkeypatch):
    def look(*given, **words):
        raise AssertionError("a file was looked at")

    for name in ("stat", "lstat", "scandir", "listdir"):
        monkeypatch.setattr(os, name, look)
    assert not hasattr(tengen, "missing") and not hasattr(tengen, "_missing_too")


def test_modules_of_pytorch_that_are_not_there():
    with pytest.raises(AttributeError, match="'export': tengen lacks this module of PyTorch's"):
        tengen.export  # noqa: B018


@pytest.mark.oracle
def test_all_modules_of_pytorch_that_are_not_there(torch):
    theirs = {m.name for m in pkgutil.iter_modules(torch.__path__) if not m.name.startswith("_")}
    assert {name for name in theirs if not hasattr(tengen, name)} == LACKING


def test_as_a_program():
    done = subprocess.run([sys.executable, "-m", "tengen", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"tengen {tengen.__version__}\n")


def test_constants():
    assert tengen.inf > 1 and tengen.nan != tengen.nan and tengen.newaxis is None
    assert (tengen.pi, tengen.e) == (math.pi, math.e)


def test_what_was_meant_of_a_tensor_is_printed() -> None:
    """Python says it below a traceback, of objects with at most 750 names: Tensors must not have more.

    A ``__getattr__`` of the class could say it in the text, and would slow the attributes that are there.
    """
    code = """
import sys, tengen
for thing in (tengen.ones(1), tengen.nn.Parameter(tengen.ones(1)), tengen.ones(2).to_sparse()):
    try:
        thing.sofmax
    except AttributeError:
        sys.__excepthook__(*sys.exc_info())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.count("Did you mean: 'softmax'?") == 3, done.stderr
