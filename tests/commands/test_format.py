"""``tengen fmt`` and ``tengen fix``: one layout; suggestions taken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tengen.codegen.commands.format import formatted
from tengen.codegen.gen import declarations_dir
from tengen.codegen.read.entries import mechanism_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from conftest import Scratch

    Command = Callable[..., subprocess.CompletedProcess[str]]

FILES = [p for p in sorted(declarations_dir().iterdir()) if mechanism_of(p)]

UNTIDY = """# What this file is about.

# of exp alone
- func: exp(Tensor self) -> Tensor
  dispatch:
    CPU: xp.exp(self)BLANKS
  # how it is called
  variants: function, method



- func: abs(Tensor self) -> Tensor
  doc: >
    The absolute value.

    Of each.
  variants: function

# A second section.

- func: abs_b(Tensor self) -> Tensor
  # at the end
""".replace("BLANKS", "   ")

TIDY = """# What this file is about.

- func: abs(Tensor self) -> Tensor
  variants: function
  doc: >
    The absolute value.

    Of each.

# of exp alone
- func: exp(Tensor self) -> Tensor
  # how it is called
  variants: function, method
  dispatch:
    CPU: xp.exp(self)

# A second section.

- func: abs_b(Tensor self) -> Tensor
  # at the end
"""


def test_keys_and_entries_are_put_in_order_and_comments_stay() -> None:
    assert formatted(UNTIDY, "native") == TIDY
    assert formatted(TIDY, "native") == TIDY


@pytest.mark.parametrize("path", FILES, ids=[p.name for p in FILES])
def test_nothing_is_lost(path: Path) -> None:
    text = path.read_text()
    after = formatted(text, str(mechanism_of(path)))
    assert sorted(filter(None, map(str.rstrip, text.split("\n")))) == sorted(filter(None, after.split("\n")))
    assert formatted(after, str(mechanism_of(path))) == after


def test_the_declarations_are_formatted(tengen: Command) -> None:
    done = tengen("fmt", "--check")
    assert done.returncode == 0, done.stdout


def test_check_shows_what_would_change(scratch: Scratch, tengen: Command) -> None:
    path = scratch.root / "declarations" / "native_functions.unary.yaml"
    good = path.read_text()
    spoilt = good.replace("\n\n- func: exp(", "\n\n\n\n- func: exp(")
    path.write_text(spoilt)
    done = tengen("fmt", "--check")
    assert done.returncode == 1
    assert path.read_text() == spoilt
    assert "1 file would change. To mend it: tengen fmt" in done.stdout
    assert tengen("fmt").returncode == 0
    assert path.read_text() == good


def test_fix_takes_suggestions(scratch: Scratch, tengen: Command) -> None:
    folder = scratch.root / "declarations"
    before = {p: p.read_text() for p in folder.iterdir() if p.is_file()}
    unary, derivatives = folder / "native_functions.unary.yaml", folder / "derivatives.unary.yaml"
    unary.write_text(
        before[unary]
        .replace("[pointwise, core]", "[pontwise, corre]")
        .replace("[pointwise]", "[pointwize]")
        .replace("xp.cos(", "xp.coz(")
    )
    derivatives.write_text(before[derivatives].replace("- name: acosh", "- nmae: acosh"))
    done = tengen("fix", "--dry-run")
    assert done.returncode == 1
    assert '"pointwize" -> "pointwise"' in done.stdout
    told = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if ": " in line]
    first = told.index('"pontwise" -> "pointwise"')
    assert told[first + 1] == '"corre" -> "core"', "both words of a line are told, in order"
    assert "coz" in unary.read_text()
    done = tengen("fix")
    assert done.returncode == 0, done.stdout
    assert "no mistakes are left" in done.stdout
    assert before == {p: p.read_text() for p in before}


def test_fix_leaves_what_it_cannot_mend(scratch: Scratch, tengen: Command) -> None:
    path = scratch.root / "declarations" / "native_functions.unary.yaml"
    wrong = path.read_text().replace("CPU: xp.cos(self)", "CPU: qqqq(self)")
    path.write_text(wrong)
    done = tengen("fix")
    assert done.returncode == 1
    assert 'unknown name "qqqq"' in done.stdout
    assert path.read_text() == wrong
