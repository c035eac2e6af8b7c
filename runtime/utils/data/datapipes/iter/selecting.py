"""A pipe that leaves samples out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from .callable import called


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which ``filter_fn`` gives True; with ``input_col`` it is called with columns of them.

    ValueError where it gives no bool.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], filter_fn: Callable[..., Any], input_col: Any = None
    ) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            kept = called(self.filter_fn, sample, self.input_col)
            if not isinstance(kept, bool):
                raise ValueError(
                    f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(kept)}"
                )
            if kept:
                yield sample
