"""Datasets, samplers and collate functions: what they give, beside torch, and their errors."""

from __future__ import annotations

import collections
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.utils import data


class Letters(data.Dataset[str]):
    """Some letters, which may be fetched together."""

    def __init__(self, letters: str) -> None:
        self.letters = letters

    def __len__(self) -> int:
        return len(self.letters)

    def __getitem__(self, index: int) -> str:
        return self.letters[index]

    def __getitems__(self, indices: list[int]) -> list[str]:
        return [self.letters[i].upper() for i in indices]


class Stream(data.IterableDataset[int]):
    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __iter__(self) -> Any:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def test_sets_of_tensors() -> None:
    found = data.TensorDataset(tengen.arange(6).reshape(3, 2), tengen.tensor([5.0, 6.0, 7.0]))
    assert len(found) == 3
    assert [t.tolist() for t in found[1]] == [[2, 3], 6.0]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(tengen.zeros(2), tengen.zeros(3))


def test_sets_of_sets() -> None:
    both = Letters("abc") + Letters("de")
    assert isinstance(both, data.ConcatDataset)
    assert [both[i] for i in (0, 2, 3, 4, -1, -5)] == ["a", "c", "d", "e", "e", "a"]
    assert both.cumulative_sizes == [3, 5]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-6]
    chained = Stream(1, 2) + Stream(3)
    assert (list(chained), len(chained)) == ([1, 2, 3], 3)
    part = data.Subset(Letters("abcde"), [4, 0, 2])
    assert (len(part), part[1], part.__getitems__([0, 2])) == (3, "a", ["E", "C"])
    assert data.Subset(tengen.arange(5) * 10, [4, 0, 2])[[2, 0]].tolist() == [20, 40]
    pairs = data.StackDataset(Letters("ab"), [1, 2])
    assert (len(pairs), pairs[1], pairs.__getitems__([1, 0])) == (2, ("b", 2), [("B", 2), ("A", 1)])
    named = data.StackDataset(letter=Letters("ab"), number=[1, 2])
    assert (named[0], named.__getitems__([1])) == (
        {"letter": "a", "number": 1},
        [{"letter": "B", "number": 2}],
    )


class Generous(data.Dataset[Any]):
    """Gives one sample more than it is asked for."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        return index

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [*indices, 0]


def test_another_number_of_samples_than_asked_for() -> None:
    for stacked in (data.StackDataset(Generous()), data.StackDataset(a=Generous())):
        with pytest.raises(ValueError, match=r"output size mismatch\. Expected 2, got 3"):
            stacked.__getitems__([0, 1])


def test_bad_sets_of_sets() -> None:
    for make, kind, text in (
        (lambda: data.ConcatDataset([]), AssertionError, "datasets should not be an empty iterable"),
        (lambda: data.ConcatDataset([Stream(1)]), AssertionError, "does not support IterableDataset"),
        (lambda: list(data.ChainDataset([[1]])), AssertionError, "only supports IterableDataset"),
        (lambda: data.StackDataset([1], [1, 2]), ValueError, "Size mismatch between datasets"),
        (lambda: data.StackDataset(), ValueError, "At least one dataset should be passed"),
        (lambda: data.StackDataset([1], a=[1]), ValueError, "both types are given"),
        (lambda: data.Dataset()[0], NotImplementedError, "should implement __getitem__"),
        (lambda: iter(data.IterableDataset()), NotImplementedError, "should implement __iter__"),
    ):
        with pytest.raises(kind, match=text):
            make()


def test_splits() -> None:
    parts = data.random_split(range(10), [3, 7], tengen.Generator().manual_seed(1))
    again = data.random_split(range(10), [0.3, 0.7], tengen.Generator().manual_seed(1))
    assert [list(p) for p in parts] == [list(p) for p in again]
    assert sorted([*parts[0], *parts[1]]) == list(range(10))
    assert [len(p) for p in data.random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        data.random_split(range(10), [1.25, -0.25])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(1), [0.5, 0.5])


def test_samplers() -> None:
    """What is drawn once is drawn once; weights of 0 never."""
    tengen.manual_seed(0)
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(data.RandomSampler(range(9))) == list(range(9))
    drawn = list(data.RandomSampler(range(4), num_samples=10))
    assert [sorted(drawn[:4]), sorted(drawn[4:8]), len(drawn)] == [[0, 1, 2, 3], [0, 1, 2, 3], 10]
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=70))
    assert (set(drawn), len(drawn)) == ({0, 1, 2}, 70)
    assert sorted(data.SubsetRandomSampler([7, 3, 5])) == [3, 5, 7]
    assert set(data.WeightedRandomSampler([0.0, 1.0, 3.0], 40)) == {1, 2}
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    for drop, wanted in ((False, [[0, 1], [2, 3], [4]]), (True, [[0, 1], [2, 3]])):
        batches = data.BatchSampler(data.SequentialSampler(range(5)), 2, drop)
        assert (list(batches), len(batches)) == (wanted, len(wanted))
    generator = tengen.Generator().manual_seed(3)
    first = list(data.RandomSampler(range(20), generator=generator))
    assert first != list(data.RandomSampler(range(20), generator=generator))
    assert first == list(data.RandomSampler(range(20), generator=generator.manual_seed(3)))


BAD_SAMPLERS: list[tuple[str, tuple[Any, ...], str]] = [
    ("RandomSampler", ([1], 3), "replacement should be a boolean value, but got replacement=3"),
    (
        "RandomSampler",
        ([1], True, 0),
        "num_samples should be a positive integer value, but got num_samples=0",
    ),
    ("RandomSampler", ([],), "num_samples should be a positive integer value, but got num_samples=0"),
    ("WeightedRandomSampler", ([1.0], True), "num_samples should be a positive integer value"),
    ("WeightedRandomSampler", ([1.0], 1, 2), "replacement should be a boolean value, but got replacement=2"),
    ("WeightedRandomSampler", ([[1.0]], 1), "weights should be a 1d sequence but given weights have shape"),
    ("BatchSampler", ([1], 0, False), "batch_size should be a positive integer value, but got batch_size=0"),
    ("BatchSampler", ([1], 1, 0), "drop_last should be a boolean value, but got drop_last=0"),
]


@pytest.mark.parametrize(("name", "arguments", "text"), BAD_SAMPLERS, ids=str)
def test_bad_samplers(name: str, arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        getattr(data, name)(*arguments)


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "arguments", "text"), BAD_SAMPLERS, ids=str)
def test_bad_samplers_are_torchs(name: str, arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        getattr(pytest.importorskip("torch.utils.data"), name)(*arguments)


@pytest.mark.oracle
@pytest.mark.parametrize("drop_last", [False, True])
def test_shares_are_torchs(drop_last: bool) -> None:
    theirs = pytest.importorskip("torch.utils.data")
    for count in (0, 1, 5, 6, 7):
        for rank in range(3):
            found = [
                list(m.DistributedSampler(range(count), 3, rank, shuffle=False, drop_last=drop_last))
                for m in (data, theirs)
            ]
            assert found[0] == found[1]


def test_shares_take_turns() -> None:
    """Each rank takes every so many-th index; what is missing for equal shares is the first ones again."""
    shares = [list(data.DistributedSampler(range(7), 3, rank, shuffle=False)) for rank in range(3)]
    assert shares == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    fewer = [data.DistributedSampler(range(7), 3, rank, shuffle=False, drop_last=True) for rank in range(3)]
    assert [list(s) for s in fewer] == [[0, 3], [1, 4], [2, 5]]


def test_shares_of_a_shuffle() -> None:
    """The shares of all ranks are the dataset; another epoch is another order."""
    samplers = [data.DistributedSampler(range(9), 3, rank, seed=5) for rank in range(3)]
    drawn = [list(s) for s in samplers]
    assert sorted(i for d in drawn for i in d) == list(range(9))
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != drawn[0]
    with pytest.raises(ValueError, match=r"Invalid rank 3, rank should be in the interval \[0, 2\]"):
        data.DistributedSampler(range(9), 3, 3)
    with pytest.raises(RuntimeError, match="Requires distributed package"):
        data.DistributedSampler(range(9))


Point = collections.namedtuple("Point", "x y")
Record = collections.OrderedDict

BATCHES: dict[str, Any] = {
    "tensors": lambda m: [m.ones(2), m.zeros(2)],
    "floats": lambda m: [1.5, 2.5],
    "ints": lambda m: [1, 2],
    "bools": lambda m: [True, False],
    "strings": lambda m: ["a", "b"],
    "bytes": lambda m: [b"a", b"b"],
    "arrays": lambda m: [np.ones(2, np.float32), np.zeros(2, np.float32)],
    "numpy scalars": lambda m: [np.float32(1), np.float32(2)],
    "numpy bools": lambda m: [np.bool_(True), np.bool_(False)],
    "dicts": lambda m: [{"a": 1, "b": [2.0, "x"]}, {"a": 3, "b": [4.0, "y"]}],
    "ordered dicts": lambda m: [Record(a=1), Record(a=2)],
    "tuples": lambda m: [(1, m.ones(1)), (2, m.zeros(1))],
    "lists": lambda m: [[1, 2], [3, 4]],
    "named": lambda m: [Point(1, 2.0), Point(3, 4.0)],
    "empty": lambda m: [[], []],
    "deques": lambda m: [collections.deque([1, 2]), collections.deque([3, 4])],
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", BATCHES)
def test_collated_as_torch_does(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch.utils.data")
    for function in ("default_collate", "default_convert"):
        here, there = (
            repr(getattr(u, function)(BATCHES[name](m))) for m, u in ((tengen, data), (torch, theirs))
        )
        assert here.replace("tengen.", "") == there.replace("torch.", "")


def test_collate() -> None:
    found = data.default_collate([{"a": (1, tengen.ones(2))}, {"a": (2, tengen.zeros(2))}])
    assert [t.tolist() for t in found["a"]] == [[1, 2], [[1.0, 1.0], [0.0, 0.0]]]
    assert found["a"][0].dtype is tengen.int64
    assert data.default_collate([0.5, 1.5]).dtype is tengen.float64
    pairs, lists = data.default_collate([(1, 2), (3, 4)]), data.default_collate([[1, 2], [3, 4]])
    assert type(pairs) is type(lists) is list  # a tuple becomes a list, as in PyTorch
    sample: Any = {"a": 1, "b": [2]}
    data.default_collate([sample, sample])
    assert sample == {"a": 1, "b": [2]}
    converted = data.default_convert({"a": np.array([1, 2]), "b": ["x", np.float32(3)]})
    assert converted["a"].tolist() == [1, 2]
    assert converted["b"][1].dtype is tengen.float32
    with pytest.raises(TypeError, match=r"default_collate: batch must contain tensors.*found .*object"):
        data.default_collate([object(), object()])
    with pytest.raises(TypeError, match="found <U1"):
        data.default_collate([np.array(["a"]), np.array(["b"])])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])


def test_collate_functions_of_types(m: ModuleType = tengen) -> None:
    from tengen.utils.data._utils.collate import collate, default_collate_fn_map

    def joined(batch: Any, *, collate_fn_map: Any = None) -> str:
        return "+".join(batch)

    chosen = {**default_collate_fn_map, str: joined}
    found = collate([{"a": "x", "b": 1}, {"a": "y", "b": 2}], collate_fn_map=chosen)
    assert (found["a"], found["b"].tolist()) == ("x+y", [1, 2])
