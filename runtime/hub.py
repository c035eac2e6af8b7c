"""Weights that are downloaded, and kept where PyTorch keeps its own: ``tengen.hub``."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from .serialization import load

if TYPE_CHECKING:
    from .serialization import MAP_LOCATION

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

#: The digits of a SHA-256 in the name of a file: "resnet18-5c106cde.pth".
HASH_REGEX: Final = re.compile(r"-([a-f0-9]+)\.")
#: How many bytes are asked of a server at once.
_PIECE: Final = 1 << 17

_chosen: list[str] = []


def __dir__() -> list[str]:
    return sorted(__all__)


def get_dir() -> str:
    """The folder below which files are kept.

    What ``set_dir`` said, else ``$TORCH_HOME/hub``, which is PyTorch's, so that both find what either has
    downloaded. TORCH_HOME is ``$XDG_CACHE_HOME/torch`` if it is not set, and XDG_CACHE_HOME ``~/.cache``.
    """
    if _chosen:
        return _chosen[-1]
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep files below this folder in place of the usual one."""
    _chosen[:] = [os.path.expanduser(os.fspath(d))]


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file, and have it at the path ``dst`` when all of it is there.

    ``progress`` shows a bar, by tqdm if that is installed. RuntimeError where the SHA-256 of the bytes does
    not begin with the digits ``hash_prefix``, and where fewer bytes came than were announced; ``urllib``'s
    errors for a URL that cannot be read. What was at ``dst`` stays then.
    """
    dst = os.path.expanduser(dst)
    partial = f"{dst}.{uuid.uuid4().hex}.partial"
    digest = hashlib.sha256()
    try:
        with (
            urlopen(Request(url, headers={"User-Agent": "tengen.hub"})) as source,
            open(partial, "xb") as file,
        ):
            announced = source.headers.get("Content-Length")
            total = int(announced) if announced is not None else None
            count = _copy(source, file, digest, total, progress)
        if total is not None and count != total:
            raise RuntimeError(f"download_url_to_file: {url} gave {count} bytes, and announced {total}")
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.replace(partial, dst)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def _copy(source: Any, file: IO[bytes], digest: Any, total: int | None, progress: bool) -> int:
    """Copy all bytes. How many there were."""
    count = 0
    with _bar(total, progress) as bar:
        while piece := source.read(_PIECE):
            file.write(piece)
            digest.update(piece)
            count += len(piece)
            bar(len(piece))
    return count


@contextmanager
def _bar(total: int | None, is_shown: bool) -> Iterator[Any]:
    """What is told how many bytes came, and shows it."""
    try:
        from tqdm import tqdm
    except ImportError:
        is_shown = False
    if not is_shown:
        yield lambda count: None
        return
    with tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024) as bar:
        yield bar.update


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: MAP_LOCATION = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """Load what ``save`` or ``torch.save`` wrote from a URL, downloading it once.

    The file is kept in ``model_dir``, by default "checkpoints" below ``get_dir()``, as ``file_name`` or by
    the last part of the URL. With ``check_hash`` that name ends in the first digits of its SHA-256, as in
    "resnet18-5c106cde.pth", which it must have. ``map_location`` and ``weights_only`` are those of ``load``:
    with ``weights_only=True``, unlike PyTorch's default, a file of unknown origin runs no code.

    ValueError where the URL has no name of a file, and for ``check_hash`` where that has no hash; and what
    ``download_url_to_file`` and ``load`` raise.
    """
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    if not name:
        raise ValueError(
            f"load_state_dict_from_url: {url} does not end in the name of a file: give file_name"
        )
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        if check_hash and found is None:
            raise ValueError(f"load_state_dict_from_url: the name {name!r} has no hash that could be checked")
        os.makedirs(folder, exist_ok=True)
        if progress:
            print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return load(path, map_location, weights_only=weights_only)
