"""The pipe that decodes files by the extensions of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.decoder import Decoder, Handler, basichandlers, extension_extract_fn, imagehandler

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """Of pairs of a name and bytes, or a binary stream, pairs of the name and what the bytes mean.

    The first handler that knows the extension decodes; without ``handlers`` these are ``basichandlers`` and
    those of images, as tensors. ``key_fn`` makes of a name what handlers get as its extension.
    """

    def __init__(
        self,
        datapipe: Iterable[tuple[str, Any]],
        *handlers: Handler,
        key_fn: Callable[[str], str] = extension_extract_fn,
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)

    def add_handler(self, *handler: Handler) -> None:
        """Have handlers that are asked before the others."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for data in self.datapipe:
            yield data[0], self.decoder(data)[data[0]]

    def __len__(self) -> int:
        return self._length_of(self.datapipe)
