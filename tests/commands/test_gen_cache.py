"""The cache of ``tengen gen``: nothing depends on it but the time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tengen.codegen.emit.cache import Cache

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from conftest import Scratch

    Command = Callable[..., subprocess.CompletedProcess[str]]


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file()}


def test_the_same_with_and_without(scratch: Scratch, tengen: Command) -> None:
    cache = scratch.root / ".cache" / "generated.json"
    assert tengen("gen").returncode == 0
    assert cache.is_file()
    before = state(scratch.root / "generated")
    answers = []
    for damage in (None, "", "{", "[]", '{"a": 1}', "null"):
        if damage is None:
            cache.unlink()
        else:
            cache.write_text(damage)
        answers.append((tengen("gen", "--check").stdout, tengen("gen").stdout))
        assert cache.is_file()
    answers.append((tengen("gen", "--check").stdout, tengen("gen").stdout))  # from the cache
    assert len(set(answers)) == 1
    assert state(scratch.root / "generated") == before


@pytest.mark.parametrize("what", ["declarations", "generated", "templates", "runtime", "orphan", "missing"])
def test_every_change_is_seen(scratch: Scratch, tengen: Command, what: str) -> None:
    assert tengen("gen").returncode == 0
    assert tengen("gen", "--check").returncode == 0
    root = scratch.root
    match what:
        case "declarations":
            path = root / "declarations" / "native_functions.unary.yaml"
            path.write_text(path.read_text().replace("CPU: xp.cos(self)", "CPU: xp.sin(self)"))
        case "generated":
            path = root / "generated" / "nodes.py"
            path.write_text(path.read_text() + "\n")
        case "templates":
            path = root / "templates" / "jvps.py.jinja"
            path.write_text(path.read_text().replace("Forward mode", "Forward-mode"))
        case "runtime":
            path = root / "runtime" / "native" / "pointwise.py"
            path.write_text(path.read_text().replace("def sign(", "def sign_of("))
        case "orphan":
            (root / "generated" / "more.py").write_text("x = 1\n")
        case "missing":
            (root / "generated" / "nodes.py").unlink()
    assert tengen("gen", "--check").returncode == 1


def test_the_names_of_files_count(tmp_path: Path) -> None:
    """What stands in a file of another name is another thing: a part file, a module."""
    (tmp_path / "out").mkdir()
    sources = tmp_path / "in"
    sources.mkdir()
    (sources / "one.yaml").write_text("1")
    cache = tmp_path / "cache.json"
    Cache(cache, [sources], tmp_path / "out").remember()
    assert Cache(cache, [sources], tmp_path / "out").unchanged()
    (sources / "one.yaml").rename(sources / "other.yaml")
    assert not Cache(cache, [sources], tmp_path / "out").unchanged()


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache.json", [tmp_path / "in"], tmp_path)
    cache.remember()
    assert not cache.unchanged()
