"""That checkers find ``tengen`` in a clone as editors run them: from its root, told by pyproject.toml."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkers import mypy_cache

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import tengen as torch
from tengen.nn import functional as F

x = torch.randn(2, 3, requires_grad=True)
F.softmax(x, dim=1).sum().backward()
values: torch.Tensor = torch.max(x, dim=1).values
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like a clone after ``dev.py check``, with a program at its root."""
    root = tmp_path_factory.mktemp("clone")
    for name in ("runtime", "codegen", "declarations", "generated", "ir", "templates"):
        (root / name).symlink_to(PROJECT / name)
    for name in ("pyproject.toml", "dev.py"):
        shutil.copy(PROJECT / name, root)
    subprocess.run([sys.executable, "-c", "import dev; dev.tree()"], cwd=root, check=True)
    (root / "right.py").write_text(PROGRAM)
    (root / "wrong.py").write_text(f"{PROGRAM}torch.zeross(2)\n")
    return root


def said(checker: str, clone: Path, file: str, *options: str) -> tuple[int, str]:
    """The exit status and the output of a checker that no variable helps."""
    if importlib.util.find_spec(checker) is None or (checker == "pyright" and shutil.which("node") is None):
        pytest.skip(f"{checker} is not installed, or node, which pyright needs")
    kept = {k: v for k, v in os.environ.items() if k not in ("MYPYPATH", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-m", checker, *options, file], cwd=clone, env=kept, capture_output=True, text=True
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_program_in_a_clone(checker: str, clone: Path) -> None:
    options = ["--pythonpath", sys.executable]
    if checker == "mypy":
        options = ["--cache-dir", str(mypy_cache(clone / "mypy"))]
    status, text = said(checker, clone, "right.py", *options)
    assert status == 0, text
    status, text = said(checker, clone, "wrong.py", *options)
    assert status == 1
    assert "zeross" in text
    assert text.count("error:") == 1, text


def test_pyright_judges_the_runtime_in_the_package_of_links(clone: Path) -> None:
    """Where it is met below one name, classes are one; a mistake is the only error."""
    tree = clone / ".cache" / "tree"
    status, text = said("pyright", tree, "tengen/nn/loss.py", "--pythonpath", sys.executable)
    assert status == 0, text
    wrong = "from tengen.generated.functions import exp\n\nfrom .tensors.tensor import Tensor\n\n"
    (tree / "tengen" / "wrong.py").write_text(
        f"{wrong}right: Tensor = exp(Tensor())\nwrong: int = exp(right)\n"
    )
    status, text = said("pyright", tree, "tengen/wrong.py", "--pythonpath", sys.executable)
    assert status == 1
    assert text.count("error:") == 1 and "wrong.py:6:" in text, text
