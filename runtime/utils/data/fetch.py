"""A batch of a dataset: fetched by indices, or taken from an iterator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

Fetch = Callable[[Any], Any]


def make_fetch(
    dataset: Any, iterable: bool, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
) -> Fetch:
    """A function that makes a batch of its indices; of an iterable dataset of their number.

    StopIteration where an iterable dataset has no more.
    """
    if not iterable:

        def by_index(indices: Any) -> Any:
            if not auto_collation:
                return collate_fn(dataset[indices])
            if callable(getattr(dataset, "__getitems__", None)):
                return collate_fn(dataset.__getitems__(indices))
            return collate_fn([dataset[i] for i in indices])

        return by_index
    samples = iter(dataset)

    def following(indices: Sequence[Any] | None) -> Any:
        if not auto_collation:
            return collate_fn(next(samples))
        assert indices is not None
        batch = list(islice(samples, len(indices)))
        if not batch or (drop_last and len(batch) < len(indices)):
            raise StopIteration
        return collate_fn(batch)

    return following
