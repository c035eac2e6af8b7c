"""Of which pipes a pipe is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

DataPipe = IterDataPipe[Any] | MapDataPipe[Any]
DataPipeGraph = dict[int, tuple[DataPipe, Any]]

__all__ = ["traverse_dps"]


def __dir__() -> list[str]:
    return sorted(__all__)


def traverse_dps(datapipe: DataPipe) -> DataPipeGraph:
    """The pipe by its ``id``, with such a graph of the pipes in its attributes, or in lists and dicts there.

    RuntimeError for what is no pipe.
    """
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    return _graph(datapipe, frozenset())


def _graph(pipe: DataPipe, above: frozenset[int]) -> DataPipeGraph:
    if id(pipe) in above:
        return {}
    below: DataPipeGraph = {}
    for part in _pipes_in(list(vars(pipe).values())):
        below.update(_graph(part, above | {id(pipe)}))
    return {id(pipe): (pipe, below)}


def _pipes_in(value: Any) -> Iterator[DataPipe]:
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
    elif isinstance(value, dict):
        yield from _pipes_in([*value, *value.values()])
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from _pipes_in(each)
