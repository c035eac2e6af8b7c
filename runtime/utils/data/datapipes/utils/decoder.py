"""Decoders: what the bytes of a file mean, by the extension of its name."""

from __future__ import annotations

import io
import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from .....core.needed_package import needed_package
from .....serialization import load
from .....tensors.creation import tensor

__all__ = [
    "Decoder",
    "ImageHandler",
    "MatHandler",
    "audiohandler",
    "basichandlers",
    "extension_extract_fn",
    "handle_extension",
    "imagehandler",
    "mathandler",
    "videohandler",
]

#: Gives what the bytes of a file with an extension mean; None where it does not know.
Handler = Callable[[str, Any], Any]
#: A name without an extension is one of a text.
_TEXTS = ("", "txt", "text", "transcript")
_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_IMAGES = ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm")
_AUDIO = ("flac", "mp3", "sox", "wav", "m4a", "ogg", "wma")
_VIDEO = ("mp4", "ogv", "mjpeg", "avi", "mov", "h264", "mpg", "webm", "wmv")
_MODES = ("l", "rgb", "rgba")
#: What images become, by their specification: of which library, whether numbers from 0 to 1, in which mode.
_SPECIFICATIONS = {
    **{f"{mode}8": ("numpy", False, mode) for mode in _MODES},
    **{mode: ("numpy", True, mode) for mode in _MODES},
    **{f"torch{mode}8": ("torch", False, mode) for mode in _MODES},
    **{f"torch{mode}": ("torch", True, mode or "rgb") for mode in ("", *_MODES)},
    **{f"pil{mode}": ("pil", False, mode or "rgb") for mode in ("", *_MODES)},
}


def basichandlers(extension: str, data: bytes) -> Any:
    """Texts, numbers of classes, JSON, pickles, and what ``save`` wrote; None for other files."""
    if extension in _TEXTS:
        return data.decode("utf-8")
    if extension in _NUMBERS:
        try:
            return int(data)
        except ValueError:
            return None
    if extension in ("json", "jsn"):
        return json.loads(data)
    if extension in ("pyd", "pickle"):
        return pickle.loads(data)
    return load(io.BytesIO(data)) if extension == "pt" else None


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Handler:
    """A handler of the files with one of the extensions, which spaces separate: "seg.jpg" is one, too."""
    known = [known.split(".") for known in extensions.lower().split()]

    def handler(key: str, data: Any) -> Any:
        parts = key.lower().split(".")
        return f(data) if any([parts[-len(end) :] == end for end in known]) else None

    return handler


class ImageHandler:
    """Images by Pillow, as ``imagespec`` says: "torchrgb" is a tensor (3, H, W) of numbers from 0 to 1.

    "torch", "pil" (an image of Pillow) or nothing (an array (H, W, 3)), then "l", "rgb" or "rgba", and "8"
    for uint8. AssertionError for others, ModuleNotFoundError without Pillow.
    """

    def __init__(self, imagespec: str) -> None:
        if imagespec not in _SPECIFICATIONS:
            known = ", ".join(_SPECIFICATIONS)
            raise AssertionError(f"unknown image specification: {imagespec}, expected one of {known}")
        self.imagespec = imagespec

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension.lower() not in _IMAGES:
            return None
        library, scaled, mode = _SPECIFICATIONS[self.imagespec]
        images = _package("PIL.Image", "the decoder of images", "Pillow")
        with io.BytesIO(data) as stream:
            image = images.open(stream).convert(mode.upper())
        if library == "pil":
            return image
        pixels = np.asarray(image)
        if library == "numpy":
            return pixels.astype(np.float32) / 255 if scaled else pixels
        found = tensor(np.atleast_3d(pixels).transpose(2, 0, 1).copy())
        return found / 255.0 if scaled else found


def imagehandler(imagespec: str) -> ImageHandler:
    """The same as ``ImageHandler``."""
    return ImageHandler(imagespec)


class MatHandler:
    """Files of MATLAB, by ``scipy.io.loadmat``, which gets the keywords."""

    def __init__(self, **loadmat_kwargs: Any) -> None:
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension != "mat":
            return None
        return import_module("scipy.io").loadmat(io.BytesIO(data), **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    """The same as ``MatHandler``."""
    return MatHandler(**loadmat_kwargs)


def videohandler(extension: str, data: bytes) -> Any:
    """Videos, by torchvision. ModuleNotFoundError without it."""
    read = "torchvision.io", "read_video"
    return _from_file(extension, data, *read) if extension in _VIDEO else None


def audiohandler(extension: str, data: bytes) -> Any:
    """Sounds, by torchaudio. ModuleNotFoundError without it."""
    return _from_file(extension, data, "torchaudio", "load") if extension in _AUDIO else None


def _from_file(extension: str, data: bytes, module: str, function: str) -> Any:
    """What a function makes of a file of its own with these bytes."""
    library = _package(module, f"the decoder of {extension}", module.partition(".")[0])
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, f"file.{extension}")
        with open(name, "wb") as stream:
            stream.write(data)
        return getattr(library, function)(name)


def _package(module: str, what: str, install: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise needed_package(what, module.partition(".")[0], install) from error


def extension_extract_fn(pathname: str) -> str:
    """The extension of a name, without its dot."""
    return os.path.splitext(pathname)[1][1:]


class Decoder:
    """What the bytes of files mean, by the first of the handlers that knows: else the bytes themselves.

    ``key_fn`` makes of a name what handlers get as the extension.
    """

    def __init__(self, *handler: Handler, key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Handler) -> None:
        """Have handlers that are asked before the others."""
        self.handlers = [*handler, *self.handlers]

    def decode1(self, key: str, data: Any) -> Any:
        """What the bytes of one file, or a stream of them, mean; a stream is closed."""
        if not data:
            return data
        if isinstance(getattr(data, "file_obj", data), io.BufferedIOBase | io.RawIOBase):
            stream, data = data, b"".join(data)
            stream.close()
        found = (handler(key, data) for handler in self.handlers)
        return next((value for value in found if value is not None), data)

    def decode(self, data: tuple[str, Any] | Iterable[tuple[str, Any]] | None) -> dict[str, Any]:
        """Of a pair of a name and bytes, or of several, what these mean by name.

        Bytes whose name begins with an underscore are text.
        """
        pairs: Iterable[tuple[str, Any]] | Sequence[Any] = [data] if isinstance(data, tuple) else data or ()
        return {
            name: value.decode("utf-8")
            if name[0] == "_" and isinstance(value, bytes)
            else self.decode1(self.key_fn(name), value)
            for name, value in pairs
        }

    __call__ = decode
