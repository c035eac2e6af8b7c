"""Pipes of files, beside PyTorch's."""

from __future__ import annotations

import gc
import importlib
from io import StringIO
from pathlib import Path
from typing import Any

import pytest


def pipes(m: Any) -> Any:
    return importlib.import_module(f"{m.__name__}.utils.data.datapipes.iter")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.txt", "a.txt", "c.csv", "inner/e.txt", "inner/d.csv", "another/f.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"what {name} has", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_listed(m: Any, folder: Path) -> None:
    FileLister = pipes(m).FileLister
    assert list(FileLister()) == ["./a.txt", "./b.txt", "./c.csv"]
    assert list(FileLister(masks="*.csv", recursive=True)) == ["./c.csv", "./inner/d.csv"]
    assert list(FileLister(["inner", "a.txt"], ["*.txt", "?.nothing"])) == ["inner/e.txt", "a.txt"]
    whole = [
        str(folder / "another" / "f.txt"),
        str(folder / "inner" / "d.csv"),
        str(folder / "inner" / "e.txt"),
    ]
    assert list(FileLister(["another", "inner"], abspath=True)) == whole
    assert sorted(FileLister(non_deterministic=True)) == list(FileLister())
    given = pipes(m).IterableWrapper(["inner"]).list_files(masks="e*", length=1)
    assert list(given) == ["inner/e.txt"] and len(given) == 1
    with pytest.raises(TypeError, match="instance doesn't have valid length"):
        len(FileLister())
    with pytest.warns(UserWarning, match="nowhere"), pytest.raises(FileNotFoundError):
        list(FileLister("nowhere"))


def test_files_are_opened_and_read(m: Any, folder: Path) -> None:
    listed = pipes(m).FileLister(masks="*.txt")
    assert list(listed.open_files().read_from_stream()) == [
        ("./a.txt", "what a.txt has"),
        ("./b.txt", "what b.txt has"),
    ]
    halves = [read for _, read in listed.open_files(mode="b").read_from_stream(chunk=7)]
    assert halves == [b"what a.", b"txt has", b"what b.", b"txt has"]
    lines = pipes(m).FileOpener(["c.csv"], encoding="utf-8", length=1)
    assert len(lines) == 1
    ((name, stream),) = lines
    assert name == "c.csv" and list(stream) == ["what c.csv has"] and "StreamWrapper" in repr(stream)
    file = stream.file_obj
    assert not file.closed
    del stream
    gc.collect()
    assert file.closed


def test_what_is_read_is_closed_at_its_end(m: Any) -> None:
    stream = StringIO("abcde")
    reader = pipes(m).StreamReader(pipes(m).IterableWrapper([("letters", stream)], deepcopy=False), chunk=2)
    assert list(reader) == [("letters", "ab"), ("letters", "cd"), ("letters", "e")]
    assert stream.closed


def test_what_cannot_be_opened(m: Any) -> None:
    FileOpener = pipes(m).FileOpener
    with pytest.raises(ValueError, match="Invalid mode w"):
        FileOpener(["a"], mode="w")
    with pytest.raises(ValueError, match="binary mode doesn't take an encoding argument"):
        FileOpener(["a"], mode="rb", encoding="utf-8")
    with pytest.raises(TypeError, match=r"Expected string type for pathname, but got <class 'int'>"):
        list(FileOpener([3]))
