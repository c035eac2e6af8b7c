"""``tengen new``: an entry in its place, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scratch import Scratch, copy_project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Command = Callable[..., subprocess.CompletedProcess[str]]

UNARY = "declarations/native_functions.unary.yaml"
SCHEMA = "clamp_abs(Tensor self, Scalar bound) -> Tensor"
KERNEL = "xp.clip(self, -bound, bound)"


def test_an_entry_in_its_place(scratch: Scratch, tengen: Command) -> None:
    before = (scratch.root / UNARY).read_text()
    done = tengen("new", SCHEMA, "--kernel", KERNEL, "--dtypes", "floating", "--sample", "[3], 1.0")
    assert done.returncode == 0, done.stdout
    assert f"wrote clamp_abs to {UNARY}:" in done.stdout
    after = (scratch.root / UNARY).read_text()
    functions = [line.split("(")[0] for line in after.split("\n") if line.startswith("- func:")]
    assert [f.split(".")[0] for f in functions] == sorted(f.split(".")[0] for f in functions)
    entry = next(block for block in after.split("\n\n") if "clamp_abs" in block)
    assert set(after.split("\n\n")) - set(before.split("\n\n")) == {entry}
    assert entry.split("\n")[0] == f"- func: {SCHEMA}"
    assert f"    CPU: {KERNEL}" in entry
    assert "  tags: [pointwise]" in entry


def test_a_mistake_writes_nothing(scratch: Scratch, tengen: Command) -> None:
    before = {p: p.read_bytes() for p in (scratch.root / "declarations").iterdir() if p.is_file()}
    wrong_kernel = tengen("new", SCHEMA, "--kernel", "xp.clop(self, -bound, bound)")
    assert wrong_kernel.returncode == 1
    assert '"clop" is not in the vocabulary of primitives.yaml' in wrong_kernel.stdout
    wrong_schema = tengen("new", "clamp_abs(Tensor self, Scalar bound -> Tensor", "--kernel", KERNEL)
    assert wrong_schema.returncode == 1
    assert 'expected "," after an argument' in wrong_schema.stdout
    twice = tengen("new", "exp(Tensor self) -> Tensor", "--kernel", "xp.exp(self)")
    assert twice.returncode == 1
    assert '"exp" is listed twice' in twice.stdout
    no_file = tengen("new", SCHEMA, "--kernel", KERNEL, "--file", "derivatives.unary.yaml")
    assert no_file.returncode == 1
    assert before == {p: p.read_bytes() for p in before}


def test_dry_run_prints_the_entry(scratch: Scratch, tengen: Command) -> None:
    before = (scratch.root / UNARY).read_text()
    done = tengen("new", SCHEMA, "--kernel", KERNEL, "--dry-run")
    assert done.stdout.startswith(f"- func: {SCHEMA}\n")
    assert (scratch.root / UNARY).read_text() == before


COMPOSITE = [
    *(
        "dot_twice(Tensor self, Tensor other) -> Tensor",
        "--composite",
        "--kernel",
        "(self * other).sum() * 2",
    ),
    *("--sample", "[3], [3]", "--reference", "(self * other).sum() * 2"),
    *("--doc", "Twice the product: of vectors, say.", "--file", "native_functions.mine.yaml"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A copy in which two operators were made and generated, by commands that went well."""
    copy = copy_project(tmp_path_factory.mktemp("made") / "project")
    pointwise = [SCHEMA, "--kernel", KERNEL, "--dtypes", "floating, reduced", "--sample", "[3], 1.0"]
    for arguments in (["new", *pointwise], ["new", *COMPOSITE], ["gen"]):
        done = copy.python("-m", "tengen.codegen.cli", *arguments)
        assert done.returncode == 0, done.stdout
    return copy


def test_it_runs_and_has_a_derivative(made: Scratch) -> None:
    program = """
import tengen
x = tengen.tensor([-3.0, 0.5, 4.0], requires_grad=True)
y = x.clamp_abs(2)
y.sum().backward()
print(y.tolist(), x.grad.tolist(), y.grad_fn.name())
"""
    ran = made.python("-c", program)
    assert ran.stdout.strip() == "[-2.0, 0.5, 2.0] [0.0, 1.0, 0.0] ClampAbsBackward0"


def test_a_composite_and_its_own_file(made: Scratch) -> None:
    text = (made.root / "declarations" / "native_functions.mine.yaml").read_text()
    assert text.startswith("- func: dot_twice(")
    assert '  doc: "Twice the product: of vectors, say."' in text  # a colon needs quotes
    ran = made.python("-c", "import tengen; print(tengen.dot_twice(tengen.ones(3), tengen.ones(3)).item())")
    assert ran.stdout.strip() == "6.0"
