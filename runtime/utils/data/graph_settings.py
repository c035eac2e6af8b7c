"""What loaders say to the pipes that a pipe is made of."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

from ...core.user_stack import program_stacklevel
from ...random import Generator
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import DataPipe, DataPipeGraph, traverse_dps
from .sampler import random_seed

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_settings", "get_all_graph_pipes"]


def __dir__() -> list[str]:
    return sorted(__all__)


def get_all_graph_pipes(graph: DataPipeGraph) -> list[DataPipe]:
    """All pipes of a graph, each once, a pipe before those that it is made of."""
    return list({id(pipe): pipe for pipe in _pipes(graph)}.values())


def _pipes(graph: DataPipeGraph) -> Iterator[DataPipe]:
    for pipe, below in graph.values():
        yield pipe
        yield from _pipes(below)


def apply_sharding(
    datapipe: DataPipe,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> DataPipe:
    """Have all pipes with a method ``apply_sharding`` take one share of so many; the pipe itself.

    RuntimeError where one such pipe is made of another.
    """

    def visit(graph: DataPipeGraph, above: Any) -> None:
        for pipe, below in graph.values():
            share = getattr(pipe, "apply_sharding", None)
            if not inspect.ismethod(share):
                visit(below, above)
                continue
            if above is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                    f"Sharding already applied to {above} while trying to apply to {pipe}"
                )
            group = {} if len(inspect.signature(share).parameters) < 3 else {"sharding_group": sharding_group}
            share(num_of_instances, instance_id, **group)
            visit(below, pipe)

    visit(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: DataPipe, shuffle: bool | None = None) -> DataPipe:
    """Switch all pipes with ``set_shuffle`` and ``set_seed`` on or off; the pipe itself.

    Where there is none, and ``shuffle`` is True, a shuffled pipe of it, and a warning.
    """
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers: list[Any] = [p for p in pipes if _has(p, "set_shuffle") and _has(p, "set_seed")]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=program_stacklevel(),
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: DataPipe, rng: Generator) -> DataPipe:
    """Seed all pipes with ``set_seed`` by numbers of a generator; the pipe itself."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has(pipe, "set_seed"):
            pipe.set_seed(random_seed(rng))
    return datapipe


def _has(pipe: Any, method: str) -> bool:
    return inspect.ismethod(getattr(pipe, method, None))
