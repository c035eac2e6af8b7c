"""``tengen explain`` and ``tengen diff``: what became of an entry, and what became of entries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from conftest import Scratch

    Command = Callable[..., subprocess.CompletedProcess[str]]


def test_everything_that_an_entry_becomes(scratch: Scratch, tengen: Command) -> None:
    done = tengen("explain", "mul.Tensor")
    assert done.returncode == 0, done.stdout
    text = done.stdout
    assert text.startswith("mul.Tensor(Tensor self, Tensor other) -> Tensor\n")
    for said in ("mul_.Tensor, mul.out", "self * other", "grad * other.conj()", "default of self, other"):
        assert said in text
    assert "as derived, and not used" in text
    assert "self (for other)" in text
    places = re.findall(r"((?:generated|declarations)/[\w.]+):(\d+)", text)
    named = {file for file, _ in places}
    for file in ("cpu_types.py", "cpu_nodes.py", "nodes.py", "jvps.py", "operators.py", "tensor_methods.py"):
        assert f"generated/{file}" in named, text
    for file, line in places:
        found = (scratch.root / file).read_text().split("\n")[int(line) - 1]
        assert "mul" in found.lower() or "self * other" in found or "conj" in found, (file, line, found)


def test_code_for_a_dtype(tengen: Command) -> None:
    text = tengen("explain", "exp", "--dtype", "float16").stdout
    assert "xp.exp(T.load(self._array))" in text
    assert "class ExpBackward0" in text
    assert tengen("explain", "exp", "--dtype", "float17").returncode == 2


def test_a_function_has_its_overloads(tengen: Command) -> None:
    text = tengen("explain", "mul").stdout
    assert "mul.Tensor(" in text and "mul.Scalar(" in text


def test_composites_and_kernels(tengen: Command) -> None:
    assert "that of the operators it is made of" in tengen("explain", "vstack").stdout
    assert re.search(
        r"sorted\w*: runtime/kernels/\w+\.py:\d+|sort\w*: runtime/kernels", tengen("explain", "sort").stdout
    )


def test_onnx(tengen: Command) -> None:
    assert re.search(r"ONNX +onnx.Exp\(floating\(self\)\) +derived", tengen("explain", "exp").stdout)
    assert re.search(
        r"ONNX +onnx.Sigmoid\(self\) +declarations/[\w.]+:\d+", tengen("explain", "sigmoid").stdout
    )
    assert "none can be derived: the primitive polygamma" in tengen("explain", "polygamma").stdout


def test_unknown_names(tengen: Command) -> None:
    done = tengen("explain", "mull")
    assert done.returncode == 1
    assert done.stdout.strip() == 'no operator is named "mull": did you mean "mul" or "full"?'
    assert "operators, overloads of" in tengen("explain").stdout


def test_from_generated_code_to_the_declaration(scratch: Scratch, tengen: Command) -> None:
    lines = (scratch.root / "generated" / "nodes.py").read_text().split("\n")
    line = lines.index("class MulBackward0(GeneratedNode):") + 7
    done = tengen("explain", "--where", f"generated/nodes.py:{line}")
    assert done.returncode == 0, done.stdout
    assert "is in MulBackward0.apply_graph" in done.stdout
    found = re.search(
        r"  mul.Tensor: (declarations/[\w.]+):(\d+)\n    derivative: ([\w./]+):(\d+)", done.stdout
    )
    assert found, done.stdout
    assert "mul.Tensor(" in (scratch.root / found[1]).read_text().split("\n")[int(found[2]) - 1]
    assert "mul.Tensor" in (scratch.root / found[3]).read_text().split("\n")[int(found[4]) - 1]
    assert tengen("explain", "--where", "generated/nodes.py:1").returncode == 1
    assert tengen("explain", "--where", "nonsense").returncode == 1
    assert tengen("explain", "--where", "generated/absent.py:3").returncode == 1


def git(scratch: Scratch, *arguments: str) -> None:
    done = scratch.run("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments)
    assert done.returncode == 0, done.stdout


def test_what_changed(scratch: Scratch, tengen: Command) -> None:
    git(scratch, "init", "--quiet")
    git(scratch, "add", "declarations", "runtime")
    git(scratch, "commit", "--quiet", "-m", "before")
    assert tengen("diff").stdout == "nothing changed\n"
    folder = scratch.root / "declarations"
    unary = folder / "native_functions.unary.yaml"
    text = unary.read_text()
    text = text.replace("CPU: xp.cos(self)", "CPU: xp.sin(self + 1.5707963267948966)")
    text = re.sub(r"- func: deg2rad(?:.|\n)*?\n\n", "", text)
    text = text.replace(
        "- func: exp2(Tensor self) -> Tensor", "- func: exp2(Tensor self, *, float base=2.0) -> Tensor"
    )
    unary.write_text(text)
    derivatives = folder / "derivatives.unary.yaml"
    derivatives.write_text(
        re.sub(r"- name: deg2rad(?:.|\n)*?\n\n", "", derivatives.read_text()).replace(
            "self: -grad * self.sin().conj()", "self: -(grad * self.sin().conj())"
        )
    )
    done = tengen("diff")
    assert done.returncode == 0, done.stdout
    assert "Removed\n  BREAKING deg2rad: deg2rad(Tensor self) -> Tensor\n" in done.stdout
    assert "cos: CPU: xp.cos(self) -> xp.sin(self + 1.5707963267948966)" in done.stdout
    assert "cos: self: -grad * self.sin().conj() -> -(grad * self.sin().conj())" in done.stdout
    assert (
        "  exp2: exp2(Tensor self) -> Tensor -> exp2(Tensor self, *, float base=2.0) -> Tensor" in done.stdout
    )
    assert "- **BREAKING** `deg2rad`" in tengen("diff", "--markdown").stdout
    assert tengen("diff", "--exit-code").returncode == 1
    assert tengen("diff", "nonsense").returncode == 2
    git(scratch, "commit", "--quiet", "--all", "-m", "after")
    assert tengen("diff").stdout == "nothing changed\n"  # though the revision before is kept


def test_from_a_class_of_nn(scratch: Scratch, tengen: Command) -> None:
    lines = (scratch.root / "generated" / "pooling_modules.py").read_text().split("\n")
    line = next(i for i, text in enumerate(lines) if text.startswith("class MaxPool2d(")) + 3
    text = tengen("explain", "--where", f"generated/pooling_modules.py:{line}").stdout
    found = re.search(r"MaxPool2d, which calls F\.max_pool2d: (declarations/[\w.]+):(\d+)", text)
    assert found is not None, text
    assert "MaxPool2d" in (scratch.root / found[1]).read_text().split("\n")[int(found[2]) - 1]
