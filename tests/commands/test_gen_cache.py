"""The cache of ``tengen gen``: nothing depends on it but the time."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tengen.codegen import stored
from tengen.codegen.emit.cache import Cache, Kept
from tengen.codegen.model.operators import Declarations
from tengen.testing.declared import declarations

if TYPE_CHECKING:
    from conftest import Scratch

    Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scratch(few: Scratch) -> Scratch:
    """A scratch copy with a few operators: of none are the values asked for."""
    return few


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file()}


def of_files(done: subprocess.CompletedProcess[str]) -> str:
    """What a command says of files: what authors should know is told where something is generated."""
    return "\n".join([line for line in done.stdout.split("\n") if re.search(r"^ *same |^\d+ files", line)])


def test_the_same_with_and_without(scratch: Scratch, tengen: Command) -> None:
    assert tengen("gen").returncode == 0
    before = state(scratch.root / "generated")
    answers = [(of_files(tengen("gen", "--check")), of_files(tengen("gen")))]
    for file in (caches := scratch.root / ".cache").glob("*.*"):
        file.unlink()
    answers.append((of_files(tengen("gen", "--check")), of_files(tengen("gen"))))
    assert len(set(answers)) == 1
    kept = {"generated.json", "declared.pickle", "rendered.json", "lowered.txt", "forms.txt"}
    assert {p.name for p in caches.glob("*.*")} == kept
    assert state(scratch.root / "generated") == before


def test_what_was_rendered_is_written(scratch: Scratch, tengen: Command) -> None:
    """A change of the declarations is seen; the command that looks has rendered what the next one writes."""
    assert tengen("gen").returncode == 0
    assert tengen("gen", "--check").returncode == 0
    path = scratch.root / "declarations" / "native_functions.unary.yaml"
    path.write_text(path.read_text().replace("CPU: xp.cos(self)", "CPU: xp.sin(self)"))
    assert tengen("gen", "--check").returncode == 1
    rendered = (scratch.root / ".cache" / "rendered.json").read_bytes()
    (scratch.root / "generated" / "nodes.py").unlink()
    assert tengen("gen").returncode == 0
    assert (scratch.root / ".cache" / "rendered.json").read_bytes() == rendered
    assert "xp.cos(self" not in (scratch.root / "generated" / "nodes.py").read_text()
    assert tengen("gen", "--check").returncode == 0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', "null", '{"out": null}', '{"out": [1]}'])
def test_a_damaged_cache_knows_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "out").mkdir()
    file = tmp_path / ".cache" / "cache.json"
    cache = Cache(file, [], tmp_path / "out")
    assert not cache.unchanged()
    cache.remember()
    assert cache.unchanged()
    file.write_text(content)
    assert not cache.unchanged()
    cache.remember()
    assert cache.unchanged()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with declarations and nothing else."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "declarations").mkdir()
    return tmp_path / "declarations"


def test_what_is_kept_is_of_the_same_sources(project: Path) -> None:
    kept = Kept("kept", project, None, [project])
    assert kept.read() is None
    kept.write(b"1\n2")
    assert Kept("kept", project, None, [project]).read() == b"1\n2"
    (project / "more.yaml").touch()
    assert Kept("kept", project, None, [project]).read() is None


def test_of_what_is_in_no_project_nothing_is_kept(project: Path) -> None:
    (project.parent / "pyproject.toml").unlink()
    kept = Kept("kept", project, None, [project])
    kept.write(b"1")
    assert kept.read() is None and [p.name for p in project.parent.iterdir()] == ["declarations"]


def test_a_folder_that_cannot_be_written_keeps_nothing(project: Path) -> None:
    (project.parent / ".cache").touch()
    kept = Kept("kept", project, None, [project])
    kept.write(b"1")
    assert kept.read() is None


class Hostile:
    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("exit 1",)


@pytest.mark.parametrize(
    "content", [b"", b"\x80", pickle.dumps(1), pickle.dumps(Hostile()), pickle.dumps(pickle.Unpickler)]
)
def test_what_is_no_declaration_is_not_read(content: bytes) -> None:
    assert stored.loads(content, Declarations) is None


def plain(value: object) -> object:
    """A value as it can be compared: NaN is NaN, and sets have no order."""
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return [(repr(k), plain(v)) for k, v in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(plain(getattr(value, f.name)) for f in fields(value))]
    return repr(value)


def test_what_is_read_back_is_what_was_declared() -> None:
    found = declarations()
    assert plain(stored.loads(stored.dumps(found), Declarations)) == plain(found)


@dataclass(frozen=True, slots=True)
class Base:
    first: int


@dataclass(frozen=True, slots=True)
class Two(Base):
    second: tuple[int, ...]


def test_quick_classes_have_the_same_bytes() -> None:
    """What one process has stored another reads, whichever class of both was met before."""
    made = [Base(1), Two(2, (3, 4))]
    before = pickle.dumps(made)
    for each in (Base, Two):
        stored._quicken(each)
        assert each.__setstate__.__module__ == stored.__name__  # type: ignore[attr-defined]
    assert pickle.dumps(made) == before and pickle.loads(before) == made
    with pytest.raises(ValueError, match="not enough values"):
        Two.__new__(Two).__setstate__([1])  # type: ignore[attr-defined]


@pytest.mark.parametrize("what", ["generated", "templates", "runtime", "orphan", "missing"])
def test_every_change_is_seen(scratch: Scratch, tengen: Command, what: str) -> None:
    assert tengen("gen").returncode == 0
    assert tengen("gen", "--check").returncode == 0
    root = scratch.root
    match what:
        case "generated":
            path = root / "generated" / "nodes.py"
            path.write_text(path.read_text() + "\n")
        case "templates":
            path = root / "templates" / "jvps.py.jinja"
            path.write_text(path.read_text().replace("Forward mode", "Forward-mode"))
        case "runtime":
            path = root / "runtime" / "kernels" / "pointwise.py"
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
