"""Pipes: datasets that are made of datasets, their iterators, and what loaders say to them."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tengen.utils.data import (
    DataLoader,
    DFIterDataPipe,
    IterDataPipe,
    MapDataPipe,
    argument_validation,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
    runtime_validation,
    runtime_validation_disabled,
)
from tengen.utils.data.datapipes import iter as pipes, map as maps
from tengen.utils.data.graph import traverse_dps
from tengen.utils.data.graph_settings import apply_sharding, apply_shuffle_settings, get_all_graph_pipes


def wrapped(count: int = 10) -> Any:
    return pipes.IterableWrapper(range(count))


def is_even(number: int) -> bool:
    return number % 2 == 0


def doubled(number: int) -> int:
    return 2 * number


@pytest.fixture
def names() -> Iterator[None]:
    """What a test registers is forgotten."""
    before = [dict(base.functions) for base in (IterDataPipe, MapDataPipe)]
    yield
    for base, functions in zip((IterDataPipe, MapDataPipe), before, strict=True):
        base.functions.clear()
        base.functions.update(functions)


@pytest.mark.usefixtures("names")
def test_a_class_becomes_a_method_of_pipes() -> None:
    @functional_datapipe("repeated_so_often")
    class Repeated(IterDataPipe[int]):
        """Each sample several times."""

        def __init__(self, source: Any, times: int) -> None:
            self.source, self.times = source, times

        def __iter__(self) -> Iterator[int]:
            for sample in self.source:
                yield from [sample] * self.times

    made = wrapped(2).repeated_so_often(times=2)
    assert isinstance(made, Repeated) and list(made) == [0, 0, 1, 1] and repr(made).endswith("Repeated")
    assert "repeated_so_often" in dir(made) and "Each sample" in wrapped().repeated_so_often.__doc__
    with pytest.raises(Exception, match="repeated_so_often as it is already taken"):
        functional_datapipe("repeated_so_often")(Repeated)
    with pytest.raises(TypeError, match="can only decorate classes of pipes"):
        functional_datapipe("other")(int)
    IterDataPipe.register_function("first_of", lambda pipe: next(iter(pipe)))
    assert wrapped().first_of() == 0
    with pytest.raises(AttributeError, match="IterableWrapperIterDataPipe' object has no attribute"):
        wrapped().nothing  # noqa: B018


def test_only_the_newest_iterator_is_valid() -> None:
    pipe = wrapped()
    first = iter(pipe)
    assert next(first) == 0
    assert list(pipe) == list(range(10)) and pipe._number_of_samples_yielded == 10
    with pytest.raises(RuntimeError, match=r"invalidated because another iterator .*IterableWrapper"):
        next(first)


def test_an_iteration_begins_with_a_reset() -> None:
    class Counting(IterDataPipe[int]):
        def __init__(self) -> None:
            self.resets, self.number = 0, 0

        def reset(self) -> None:
            self.resets, self.number = self.resets + 1, 0

        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            self.number += 1
            if self.number > 3:
                raise StopIteration
            return self.number

    pipe = Counting()
    assert [list(pipe), list(pipe)] == [[1, 2, 3]] * 2 and pipe.resets == 2


def test_pipes_are_pickled_with_what_they_are_made_of() -> None:
    pipe = wrapped(6).filter(is_even).map(doubled).shuffle().set_seed(3).batch(2)
    copy = pickle.loads(pickle.dumps(pipe))
    batches = list(copy)
    assert batches == list(pipe) and sorted(n for batch in batches for n in batch) == [0, 4, 8]
    _, second = wrapped(4).fork(2)
    assert list(pickle.loads(pickle.dumps(second))) == [0, 1, 2, 3]


def test_branches_begin_anew_together() -> None:
    first, second = wrapped(3).fork(2)
    assert list(first) == [0, 1, 2]
    with pytest.warns(UserWarning, match="not exhausted when __iter__ is called"):
        assert list(first) == [0, 1, 2]
    assert list(second) == [0, 1, 2]
    old = iter(first)
    next(old)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        list(second), list(second)
    with pytest.raises(RuntimeError, match="invalidated"):
        next(old)


def test_the_graph_of_a_pipe() -> None:
    source = wrapped()
    pipe = source.map(doubled).zip(source.shuffle())
    graph = traverse_dps(pipe)
    found = get_all_graph_pipes(graph)
    assert [repr(p) for p in found] == [
        "ZipperIterDataPipe", "MapperIterDataPipe", "IterableWrapperIterDataPipe", "ShufflerIterDataPipe",
    ]  # fmt: skip
    assert graph[id(pipe)][0] is pipe and len(graph[id(pipe)][1]) == 2
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe` or `MapDataPipe`, but"):
        traverse_dps([pipe])  # type: ignore[arg-type]


def test_shares() -> None:
    pipe = wrapped().map(doubled).sharding_filter()
    assert apply_sharding(pipe, 3, 1) is pipe and list(pipe) == [2, 8, 14] and len(pipe) == 3
    with pytest.raises(ValueError, match=r"instance_id\(3\) should be smaller"):
        apply_sharding(pipe, 3, 3)
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline"):
        apply_sharding(pipe.sharding_filter(), 2, 0)


def test_a_pipe_is_shuffled_where_nothing_in_it_is() -> None:
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        made = apply_shuffle_settings(wrapped(), True)
    assert isinstance(made, pipes.Shuffler) and sorted(made) == list(range(10))
    assert apply_shuffle_settings(made, False) is made and list(made) == list(range(10))


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_shuffle_and_divide(workers: int) -> None:
    pipe = wrapped(40).shuffle().sharding_filter().map(doubled)
    loader = DataLoader(
        pipe, batch_size=5, shuffle=True, num_workers=workers, persistent_workers=bool(workers)
    )
    epochs = [[n for batch in loader for n in batch.tolist()] for _ in range(2)]
    assert [sorted(e) for e in epochs] == [list(range(0, 80, 2))] * 2
    assert epochs[0] != epochs[1] and epochs[0] != sorted(epochs[0])
    straight = DataLoader(pipe, batch_size=5, shuffle=False)
    assert [n for batch in straight for n in batch.tolist()] == list(range(0, 80, 2))


def test_loaders_take_pipes_by_index() -> None:
    loader = DataLoader(maps.SequenceWrapper(range(6)).map(doubled), batch_size=4)
    assert [batch.tolist() for batch in loader] == [[0, 2, 4, 6], [8, 10]]


def test_determinism() -> None:
    @non_deterministic
    class Noisy(IterDataPipe[int]):
        pass

    made: Any = Noisy
    assert isinstance(made(), IterDataPipe)
    with guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="Noisy is non-deterministic"):
        made()
    assert isinstance(made(), IterDataPipe)
    with pytest.raises(TypeError, match="Only `IterDataPipe` can be decorated"):
        non_deterministic(int)  # type: ignore[arg-type]
    assert DFIterDataPipe()._is_dfpipe()


class _Checked(IterDataPipe[object]):
    def __init__(self, kind: object = None) -> None:
        if kind is not None:
            self.type = kind

    @runtime_validation
    def __iter__(self) -> Iterator[object]:
        yield from (1, "a")


class _Ints:
    def issubtype_of_instance(self, sample: object) -> bool:
        return isinstance(sample, int)


def test_samples_are_what_a_pipe_says() -> None:
    assert list(_Checked()) == [1, "a"]
    with pytest.raises(RuntimeError, match=r"Expected an instance as subtype of .*_Ints.*, but found a"):
        list(_Checked(_Ints()))
    with runtime_validation_disabled():
        assert list(_Checked(_Ints())) == [1, "a"]
    with pytest.raises(RuntimeError, match="Expected an instance"):
        list(_Checked(_Ints()))
    with pytest.raises(TypeError, match="Can not decorate function len with 'runtime_validation'"):
        runtime_validation(len)  # type: ignore[arg-type]


def test_arguments_are_pipes() -> None:
    @argument_validation
    def count(pipe: IterDataPipe, more: int = 0) -> int:  # type: ignore[type-arg]
        return len(list(pipe)) + more

    assert count(_Checked(), more=1) == 3
    with pytest.raises(TypeError, match="argument 'pipe' as a IterDataPipe, but found <class 'int'>"):
        count(3)
