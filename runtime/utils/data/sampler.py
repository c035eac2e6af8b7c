"""In which order the samples of a dataset are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from tengen.generated.functions import empty, multinomial, randint, randperm

from ...core.scalar_type import float64, int64
from ...random import Generator
from ...tensors.creation import as_tensor

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]


def __dir__() -> list[str]:
    return sorted(__all__)


T_co = TypeVar("T_co", covariant=True)
#: How many indices are drawn at a time.
_DRAWN = 32


def random_seed(generator: Generator | None = None) -> int:
    """A number of 63 bits, of a generator."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


class Sampler(Generic[T_co]):
    """Gives the indices of samples, or with ``batch_sampler`` lists of them; a subclass has ``__iter__``."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The indices of a dataset, in their order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices of a dataset at random: all of them once, or each time any (``replacement``).

    ``num_samples`` of them, as many as there are if None; without replacement that is one permutation after
    the other. Without a ``generator`` each iteration has its own, seeded by the default one. TypeError for a
    ``replacement`` that is no bool, ValueError for a ``num_samples`` that is no positive int.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices an iteration gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, wanted, generator = len(self.data_source), self.num_samples, self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(random_seed())
        if not self.replacement:
            for begin in range(0, wanted, count):
                yield from randperm(count, generator=generator).tolist()[: wanted - begin]
            return
        for begin in range(0, wanted, _DRAWN):
            size = min(_DRAWN, wanted - begin)
            yield from randint(high=count, size=(size,), dtype=int64, generator=generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, each once, in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices at random, in proportion to ``weights``; each once unless ``replacement``.

    ValueError for a ``num_samples`` that is no positive int, a ``replacement`` that is no bool, and weights
    that are not of one dimension.
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        check_positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        found = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from found.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of a sampler in lists of ``batch_size``, the last one shorter or left out (``drop_last``).

    ValueError for a ``batch_size`` that is no positive int, and a ``drop_last`` that is no bool.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        check_positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def check_positive(name: str, value: Any) -> None:
    """Raise ValueError for what is no positive int."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
