"""Several pipes of one."""

from __future__ import annotations

import copy as copying
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .....core.user_stack import program_stacklevel
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


class _Source(IterDataPipe[Any]):
    """What branches have in common: the pipe, and for each branch the samples that wait for it."""

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int) -> None:
        if buffer_size < 0:
            warnings.warn(
                f"Unlimited buffer size is set for `{self.method}`, please be aware of OOM at random places",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
        self.main_datapipe, self.num_instances, self.buffer_size = datapipe, num_instances, buffer_size
        self.reset()

    method = ""

    def reset(self) -> None:
        """Begin with the pipe's first sample."""
        self._samples: Iterator[Any] | None = None
        self._ended = False
        self._done: set[int] = set()
        self._waiting: list[deque[Any]] = [deque() for _ in range(self.num_instances)]

    def __getstate__(self) -> Any:
        """Without the samples that wait: a copy begins anew."""
        return {
            k: v for k, v in self.__dict__.items() if k not in ("_samples", "_waiting", "_done", "_ended")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.reset()

    @property
    def exhausted(self) -> bool:
        """Whether all branches have given all."""
        return self._ended and len(self._done) == self.num_instances

    def branch(self, number: int) -> Iterator[Any]:
        """The samples of one branch."""
        waiting = self._waiting[number]
        try:
            while True:
                if waiting:
                    yield self.given(waiting.popleft())
                    continue
                if self._ended:
                    return
                if self._samples is None:
                    self._samples = iter(self.main_datapipe)
                try:
                    sample = next(self._samples)
                except StopIteration:
                    self._ended = True
                    return
                self.take(sample, number)
        finally:
            self._done.add(number)

    def take(self, sample: Any, number: int) -> None:
        """Have a new sample wait for the branches that get it; ``number`` is that which asks."""
        raise NotImplementedError

    def given(self, sample: Any) -> Any:
        """What a branch gives for a sample."""
        return sample

    def length(self) -> int:
        """The length of a branch, where it is known."""
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


class _Branch(IterDataPipe[Any]):
    """One of the pipes. Iterators of all branches begin anew where a second one of the same begins."""

    def __init__(self, main_datapipe: _Source, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self) -> Iterator[Any]:
        return _later(self.main_datapipe, self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.length()

    def _begin(self) -> int:
        source = self.main_datapipe
        if source._valid_iterator_id is None:
            source._valid_iterator_id = 0
        elif source._valid_iterator_id == self._valid_iterator_id:
            source._valid_iterator_id += 1
            if not source.exhausted:
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the"
                    " buffer and each child DataPipe will read from the start again.",
                    UserWarning,
                    stacklevel=program_stacklevel(),
                )
            source.reset()
        self._valid_iterator_id = source._valid_iterator_id
        return self._valid_iterator_id

    def _is_valid(self, number: int) -> bool:
        return number == self._valid_iterator_id == self.main_datapipe._valid_iterator_id


def _later(source: _Source, number: int) -> Iterator[Any]:
    """The samples of a branch, of the source as it is when the first is asked for."""
    yield from source.branch(number)


class _Forked(_Source):
    method = "fork"

    def __init__(
        self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int, copy: str | None
    ) -> None:
        if copy not in (None, "shallow", "deep"):
            raise ValueError(
                f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`."
            )
        super().__init__(datapipe, num_instances, buffer_size)
        self.copy = copy

    def take(self, sample: Any, number: int) -> None:
        for waiting in self._waiting:
            waiting.append(sample)
        behind = max([len(w) for i, w in enumerate(self._waiting) if i != number])
        if 0 <= self.buffer_size < behind:
            raise BufferError(
                f"ForkerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient."
            )

    def given(self, sample: Any) -> Any:
        if self.copy is None:
            return sample
        return copying.copy(sample) if self.copy == "shallow" else copying.deepcopy(sample)

    def length(self) -> int:
        return self._length_of(self.main_datapipe)


class _Demultiplexed(_Source):
    method = "demux"

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        buffer_size: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool,
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn, self.drop_none = classifier_fn, drop_none

    def take(self, sample: Any, number: int) -> None:
        to = self.classifier_fn(sample)
        if to is None and self.drop_none:
            return
        if to is None or not 0 <= to < self.num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}. "
                f"{to} is returned."
            )
        self._waiting[to].append(sample)
        if to != number and 0 <= self.buffer_size < sum(map(len, self._waiting)):
            raise BufferError(
                f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient."
            )


def _check_count(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """A list of pipes, each of which gives all samples; of one the pipe itself.

    One may be ``buffer_size`` samples ahead of another, more is a BufferError; -1 is any number. ``copy`` is
    None, "shallow" or "deep". ValueError for another, or for no pipe.
    """

    def __new__(
        cls, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        _check_count(num_instances)
        if num_instances == 1:
            return datapipe
        source = _Forked(datapipe, num_instances, buffer_size, copy)
        return [_Branch(source, i) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """A list of pipes, and each sample in the one whose number ``classifier_fn`` gives.

    ``buffer_size`` samples may wait in all, more is a BufferError; -1 is any number. None is a ValueError, as
    another number is, or is dropped with ``drop_none``.
    """

    def __new__(
        cls,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        _check_count(num_instances)
        source = _Demultiplexed(datapipe, num_instances, buffer_size, classifier_fn, drop_none)
        return [_Branch(source, i) for i in range(num_instances)]
