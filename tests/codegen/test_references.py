"""Where a project and a library have references: in files beside the tests, and in a folder of their own."""

from __future__ import annotations

from pathlib import Path

from tengen.codegen.read.references import has_references, reference_files

THERE = ("references.py", "references_more.py", "references/nn.py")
OTHERS = ("test_references.py", "near.py", "references.md", "references/notes.txt", "deep/references.py")


def test_where_references_are(tmp_path: Path) -> None:
    for name in (*THERE, *OTHERS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert {path.relative_to(tmp_path).as_posix() for path in reference_files(tmp_path)} == {*THERE}
    assert reference_files(tmp_path / "nowhere") == []


def test_a_file_that_is_gone_was_one() -> None:
    """As git says of a change, of which the references are to be verified anew."""
    tests = Path("tests")
    assert [name for name in (*THERE, *OTHERS) if has_references(tests / name, tests)] == [*THERE]
