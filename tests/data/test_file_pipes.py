"""Pipes of files, beside PyTorch's."""

from __future__ import annotations

import gc
import importlib
import pickle
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from scipy.io import savemat


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


@pytest.mark.filterwarnings("ignore:.RoutedDecoderIterDataPipe:FutureWarning")
def test_files_are_decoded_by_their_extensions(m: Any) -> None:
    files = [
        ("a.txt", b"words"),
        ("plain", b"words"),
        ("b.cls", b"7"),
        ("c.json", b'{"x": [1]}'),
        ("d.pickle", pickle.dumps((1, 2))),
        ("e.other", b"\x00\x01"),
        ("f.txt", BytesIO(b"a\nb")),
        ("g.index", b"no number"),
    ]
    decoded = pipes(m).IterableWrapper(files, deepcopy=False).routed_decode()
    assert len(decoded) == len(files)
    assert list(decoded) == [
        ("a.txt", "words"),
        ("plain", "words"),
        ("b.cls", 7),
        ("c.json", {"x": [1]}),
        ("d.pickle", (1, 2)),
        ("e.other", b"\x00\x01"),
        ("f.txt", "a\nb"),
        ("g.index", b"no number"),
    ]
    decoded = pipes(m).RoutedDecoder([("a.b", b"1")], lambda key, data: (key, data), key_fn=str.upper)
    assert list(decoded) == [("a.b", ("A.B", b"1"))]
    decoded.add_handler(lambda key, data: 5)
    assert list(decoded) == [("a.b", 5)]


def test_decoders(m: Any) -> None:
    decoder = importlib.import_module(f"{m.__name__}.utils.data.datapipes.utils.decoder")
    assert decoder.Decoder(decoder.basichandlers).decode([("_a", b"x"), ("b.id", b"3")]) == {
        "_a": "x",
        "b.id": 3,
    }
    handler = decoder.handle_extension("seg.jpg", lambda data: len(data))
    assert handler("x.SEG.jpg", b"abc") == 3 and handler("x.jpg", b"abc") is None
    with pytest.raises(AssertionError, match="unknown image specification: cmyk"):
        decoder.imagehandler("cmyk")
    m.save(m.tensor([1.0, 2.0]), stream := BytesIO())
    if m.__name__ == "tengen":  # PyTorch takes the file for a text
        assert decoder.basichandlers("pt", stream.getvalue()).tolist() == [1, 2]
    assert decoder.audiohandler("mp4", b"") is None and decoder.videohandler("wav", b"") is None
    savemat(stream := BytesIO(), {"x": [[1.0, 2.0]]})
    assert decoder.mathandler()("mat", stream.getvalue())["x"].tolist() == [[1, 2]]


@pytest.mark.parametrize("specification", ["l8", "rgb", "torch", "torchrgb8", "torchrgba", "pilrgb"])
def test_images_are_decoded(m: Any, specification: str) -> None:
    pytest.importorskip("PIL")
    decoder = importlib.import_module(f"{m.__name__}.utils.data.datapipes.utils.decoder")
    image = decoder.imagehandler(specification)("ppm", b"P6 2 1 255 " + bytes([255, 0, 0, 51, 51, 51]))
    shapes = {
        "l8": (1, 2),
        "rgb": (1, 2, 3),
        "torch": (3, 1, 2),
        "torchrgb8": (3, 1, 2),
        "torchrgba": (4, 1, 2),
    }
    if specification == "pilrgb":
        assert image.size == (2, 1) and image.getpixel((1, 0)) == (51, 51, 51)
        return
    assert tuple(image.shape) == shapes[specification]
    last = image.ravel()[-1].item()
    assert last == pytest.approx({"l8": 51, "torchrgb8": 51, "torchrgba": 1}.get(specification, 0.2))
