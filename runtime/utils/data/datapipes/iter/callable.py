"""Pipes that call a function with each sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


def called(function: Callable[..., Any], sample: Any, columns: Any) -> Any:
    """What a function gives for a sample, or for one or several columns of it."""
    if columns is None:
        return function(sample)
    if isinstance(columns, (list, tuple)):
        return function(*[sample[column] for column in columns])
    return function(sample[columns])


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """What ``fn`` gives for each sample.

    With ``input_col`` it is called with one or several columns (indices or keys) of the sample, and what it
    gives takes the place of these, or is the column ``output_col``; -1 appends it. ValueError for
    ``output_col`` alone, or of several columns.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.datapipe, self.fn = datapipe, fn
        self.input_col, self.output_col = input_col, output_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            result = called(self.fn, sample, self.input_col)
            yield result if self.input_col is None else self._with(sample, result)

    def _with(self, sample: Any, result: Any) -> Any:
        """The sample with the result in its place."""
        changed = list(sample) if isinstance(sample, tuple) else sample
        several = isinstance(self.input_col, (list, tuple))
        if self.output_col == -1:
            changed.append(result)
        elif self.output_col is not None:
            changed[self.output_col] = result
        else:
            first, *others = self.input_col if several else [self.input_col]
            changed[first] = result
            for column in sorted(others, reverse=True):
                del changed[column]
        return tuple(changed) if isinstance(sample, tuple) else changed

    def __len__(self) -> int:
        return self._length_of(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """What a function makes of each batch; ``default_collate`` makes tensors."""

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        conversion: Callable[..., Any] = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(datapipe, conversion if collate_fn is None else collate_fn)
