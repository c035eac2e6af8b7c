"""``tengen.hub``: files from a server of this machine."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

import tengen
from tengen import hub


def weights() -> bytes:
    file = io.BytesIO()
    tengen.save({"weight": tengen.arange(3.0)}, file)
    return file.getvalue()


DATA = weights()
HASH = hashlib.sha256(DATA).hexdigest()
FILES = {
    "/weights.pt": DATA,
    f"/net-{HASH[:8]}.pt": DATA,
    "/net-00000000.pt": DATA,
    "/other.pt": b"no archive",
}


class Handler(http.server.BaseHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 - of all requests

    def do_GET(self) -> None:
        self.asked.append(self.path)
        found = FILES.get(self.path.partition("?")[0])
        self.send_response(404 if found is None else 200)
        if found is not None:
            self.send_header("Content-Length", str(len(found) + self.path.endswith("?short")))
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(hub, "_chosen", [])
    Handler.asked.clear()
    return tmp_path


def test_weights_are_downloaded_once(server: str, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        found = hub.load_state_dict_from_url(f"{server}/weights.pt")
        assert found["weight"].tolist() == [0.0, 1.0, 2.0]
    path = home / "hub" / "checkpoints" / "weights.pt"
    assert Handler.asked == ["/weights.pt"] and path.read_bytes() == DATA
    assert os.listdir(path.parent) == ["weights.pt"]
    assert f'Downloading: "{server}/weights.pt" to {path}' in capfd.readouterr().err
    meta = hub.load_state_dict_from_url(
        f"{server}/weights.pt?a=1", str(home), "meta", progress=False, file_name="x.pt"
    )
    assert meta["weight"].is_meta and (home / "x.pt").exists() and not capfd.readouterr().err


def test_hashes(server: str, home: Path) -> None:
    found = hub.load_state_dict_from_url(f"{server}/net-{HASH[:8]}.pt", check_hash=True, progress=False)
    assert found["weight"].shape == (3,)
    with pytest.raises(RuntimeError, match=f'expected "00000000", got "{HASH}"'):
        hub.load_state_dict_from_url(f"{server}/net-00000000.pt", check_hash=True, progress=False)
    with pytest.raises(ValueError, match=r"'weights.pt' has no hash"):
        hub.load_state_dict_from_url(f"{server}/weights.pt", check_hash=True)
    assert os.listdir(home / "hub" / "checkpoints") == [f"net-{HASH[:8]}.pt"]


def test_what_goes_wrong_leaves_what_was_there(server: str, home: Path) -> None:
    path = home / "kept.pt"
    path.write_bytes(b"before")
    for address, error, text in (
        (f"{server}/nothing.pt", HTTPError, "404"),
        (
            f"{server}/weights.pt?short",
            RuntimeError,
            f"gave {len(DATA)} bytes, and announced {len(DATA) + 1}",
        ),
    ):
        with pytest.raises((error, ConnectionError), match=text):
            hub.download_url_to_file(address, str(path), progress=False)
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file(f"{server}/weights.pt", str(path), "abc", progress=False)
    assert path.read_bytes() == b"before" and os.listdir(home) == ["kept.pt"]
    hub.download_url_to_file(f"{server}/weights.pt", str(path), HASH[:10], progress=False)
    assert path.read_bytes() == DATA
    with pytest.raises(pickle.UnpicklingError, match="no zip archive"):
        hub.load_state_dict_from_url(f"{server}/other.pt", progress=False)
    with pytest.raises(ValueError, match="does not end in the name of a file"):
        hub.load_state_dict_from_url(f"{server}/")


def test_folders(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert hub.get_dir() == str(home / "hub")
    hub.set_dir(home / "mine")
    assert hub.get_dir() == str(home / "mine")
    monkeypatch.setattr(hub, "_chosen", [])
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert hub.get_dir() == str(home / "torch" / "hub")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert hub.get_dir() == os.path.expanduser("~/.cache/torch/hub")
