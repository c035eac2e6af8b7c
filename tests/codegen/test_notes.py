"""A derivative that nobody declares and that does not follow is spoken of, once, with the reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scratch import leave_declarations

from tengen.codegen import gen
from tengen.codegen.read.libraries import library_at

WANTED = {
    "by_function": "its kernel is a function",
    "by_sign": 'sign has no derivative for complex numbers, by "self"',
    "by_second": 'maximum has no derivative for complex numbers, by "self", "other"',
    "hidden": 'it calls the function exp, and "exp" is an argument here',
    "half_": "its kernel is a function",
    "third_": "it is declared in place only",
    "several": "it has several results",
}
ENTRIES = """
- func: by_function(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: twice_here}
- func: by_sign(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: xp.sign(self)}
- func: by_second(Tensor self, Tensor other) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: "xp.maximum(self, other)"}
- func: hidden(Tensor self, Scalar exp) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: xp.exp(self) * exp}
- func: half_(Tensor(a!) self) -> Tensor(a!)
  tags: [pointwise]
  dispatch: {CPU: twice_here}
- func: third_(Tensor(a!) self) -> Tensor(a!)
  tags: [pointwise]
  dispatch: {CPU: self / 3}
- func: several(Tensor self) -> (Tensor first, Tensor second)
  dispatch: {CPU: twice_here}
  samples: ["[3]"]
# Of these there is nothing to say.
- func: optional(Tensor self, Tensor? other=None) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: self * 2 if other is None else self}
- func: declared(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: twice_here}
- func: meant(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: twice_here}
- func: flat(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: twice_here}
- func: integers(Tensor self) -> Tensor
  tags: [pointwise]
  dtypes: integral
  dispatch: {CPU: twice_here}
- func: yes_or_no(Tensor self) -> Tensor
  tags: [pointwise]
  promote: always_bool
  dispatch: {CPU: twice_here}
- func: derived(Tensor self) -> Tensor
  tags: [pointwise]
  dispatch: {CPU: xp.exp(self)}
"""
DERIVATIVES = """
- name: declared
  self: grad * 2
- name: meant
- name: flat
  self: non_differentiable
"""


def test_ours_need_no_notes() -> None:
    found: list[str] = []
    declarations = gen.declarations_dir()
    gen.generated(declarations, None, gen.cache_of(declarations, gen.output_dir()), found.append)
    assert not found


def test_each_has_a_place_and_a_reason(tmp_path: Path) -> None:
    library = tmp_path / "noted"
    for folder in ("declarations", "kernels"):
        (library / "noted" / folder).mkdir(parents=True)
    (library / "pyproject.toml").write_text('[tool.tengen]\nlibrary = "noted"\n')
    (library / "noted/__init__.py").write_text("")
    (library / "noted/declarations/native_functions.yaml").write_text(ENTRIES)
    (library / "noted/declarations/derivatives.yaml").write_text(DERIVATIVES)
    (library / "noted/kernels/k.py").write_text("def twice_here(self):\n    return self * 2\n")
    found: list[str] = []
    gen.generate(None, library_at(library), note=found.append)
    assert len(found) == len(WANTED)
    lines = ENTRIES.split("\n")
    for name, reason in WANTED.items():
        (text,) = [t for t in found if f"note: noted::{name.removesuffix('_')} " in t]
        assert reason in text
        place = text.partition(": note: ")[0].split(":")
        assert lines[int(place[1]) - 1].startswith(f"- func: {name}(")
        assert "expected: an entry in derivatives.yaml" in text


def test_the_command_says_it_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declarations = tmp_path / "declarations"
    shutil.copytree(gen.declarations_dir(), declarations)
    leave_declarations(declarations, "native_functions.scan.yaml")
    text = "- func: by_sign(Tensor self) -> Tensor\n  tags: [pointwise]\n  dispatch: {CPU: xp.sign(self)}\n"
    (declarations / "native_functions.noted.yaml").write_text(text)
    arguments = ["--declarations", str(declarations), "--output", str(tmp_path / "generated")]
    assert gen.main(arguments) == 0
    assert capsys.readouterr().err.count("note: by_sign has no derivative: ") == 1
