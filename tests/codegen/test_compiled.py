"""What Python would not compile is not written, and the error says which declaration it came from."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from scratch import leave_declarations

from tengen.codegen import gen
from tengen.codegen.emit import compiled
from tengen.codegen.emit.compiled import check_compiles
from tengen.codegen.emit.files import Renderer
from tengen.codegen.model.diagnostics import DeclarationErrors
from tengen.codegen.model.source import OutputFile
from tengen.testing.declared import declarations

GENERATED = Path(__file__).parents[2] / "generated"
DECLARED = declarations()
#: In a file, a line that is replaced by another; and the operator that it is of.
MISTAKES = [
    ("cpu_types.py", "def mul_Tensor(T, self: Tensor, other: Tensor)", "def mul_Tensor(T, T)", "mul.Tensor"),
    ("nodes.py", "            g0 = grad * other.conj()\n", "            g0 = grad * * other\n", "mul.Tensor"),
    ("jvps.py", "def sigmoid(self, self_t, result):", "def sigmoid(self, self_t, self_t):", "sigmoid"),
    ("functions.pyi", "def tril(input: Tensor", "def tril(class: Tensor", "tril"),
    ("type_default.py", "    def exp_(T, self: Tensor)", "    def exp_(T, T: Tensor)", "exp"),
]  # fmt: skip


def files() -> list[OutputFile]:
    return [OutputFile(p.name, p.read_text()) for p in sorted(GENERATED.iterdir()) if p.is_file()]


@pytest.mark.parametrize(("file", "good", "bad", "operator"), MISTAKES)
@pytest.mark.parametrize("there", [True, False])
def test_the_place(file: str, good: str, bad: str, operator: str, there: bool, tmp_path: Path) -> None:
    made = [replace(f, text=f.text.replace(good, bad, 1)) if f.path == file else f for f in files()]
    assert made != files()
    chosen = made if there else [f for f in made if f.path == file]
    with pytest.raises(DeclarationErrors) as caught:
        check_compiles(chosen, GENERATED if there else tmp_path, DECLARED)
    (found,) = caught.value.diagnostics
    wanted = next(o.place for o in DECLARED.operators if str(o.name) == operator)
    assert found.place == wanted
    assert found.related[0][0].file == file


def test_the_same_mistake_in_several_files_is_one_error() -> None:
    made = [replace(f, text=f.text.replace(*MISTAKES[0][1:3])) for f in files()]
    with pytest.raises(DeclarationErrors) as caught:
        check_compiles(made, GENERATED, DECLARED)
    assert len(caught.value.diagnostics) == 1


def test_what_is_of_no_operator(tmp_path: Path) -> None:
    with pytest.raises(DeclarationErrors, match=r"^tables.py:2:1: error: .*never closed"):
        check_compiles([OutputFile("tables.py", "x = 1\ny = (\n")], tmp_path, DECLARED)


def test_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declarations = tmp_path / "declarations"
    shutil.copytree(gen.declarations_dir(), declarations)
    leave_declarations(declarations, "native_functions.scan.yaml")
    whole = Renderer.files
    monkeypatch.setattr(Renderer, "files", lambda r: [*whole(r), OutputFile("zz.py", "def f(a, a): ...\n")])
    arguments = ["--declarations", str(declarations), "--output", str(tmp_path / "generated")]
    assert gen.main(arguments) == 1
    assert not (tmp_path / "generated").exists()
    assert "duplicate argument 'a'" in capsys.readouterr().err


def test_only_what_is_new_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generation takes about a second, and the whole of generated/ takes another to compile."""
    compiled_texts: list[str] = []
    error = compiled._error
    monkeypatch.setattr(compiled, "_error", lambda text: compiled_texts.append(text) or error(text))
    check_compiles(files(), GENERATED, DECLARED)
    assert not compiled_texts
    made = [
        replace(f, text=f.text.replace("g0 = grad * other.conj()\n", "g0 = grad * 2\n", 1)) for f in files()
    ]
    check_compiles(made, GENERATED, DECLARED)
    assert 0 < sum(map(len, compiled_texts)) < 5_000
