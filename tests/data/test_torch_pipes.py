"""Pipes beside PyTorch's."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def parity(number: int) -> int:
    return number % 2


Pipes = Any
#: What is made of the modules of pipes, by index and not.
CASES: list[Callable[[Pipes, Pipes], Any]] = [
    lambda it, mp: it.IterableWrapper(range(9)).map(str).batch(2),
    lambda it, mp: it.IterableWrapper(range(9)).filter(lambda n: n > 3).batch(2, drop_last=True),
    lambda it, mp: it.IterableWrapper(range(9)).filter(lambda n: n),
    lambda it, mp: it.IterableWrapper(range(9)).shuffle().set_seed(3),
    lambda it, mp: it.IterableWrapper(range(9)).shuffle(buffer_size=4).set_seed(3),
    lambda it, mp: it.IterableWrapper(range(9)).shuffle(buffer_size=1).set_shuffle(False),
    lambda it, mp: it.IterableWrapper(range(9)).shuffle(buffer_size=0),
    lambda it, mp: it.IterableWrapper(range(9)).batch(2).shuffle(unbatch_level=1).set_seed(1),
    lambda it, mp: it.IterableWrapper(range(9)).batch(2).batch(2).unbatch(-1),
    lambda it, mp: it.IterableWrapper(range(9)).batch(2).unbatch(2),
    lambda it, mp: it.IterableWrapper(range(9)).batch(2).unbatch(-2),
    lambda it, mp: it.IterableWrapper(range(9)).batch(0),
    lambda it, mp: it.IterableWrapper(range(3)).concat(it.IterableWrapper("ab")),
    lambda it, mp: it.IterableWrapper(range(3)).zip(it.IterableWrapper("ab")),
    lambda it, mp: it.IterableWrapper(range(3)).mux(it.IterableWrapper("ab")),
    lambda it, mp: it.IterableWrapper(range(3)).zip([1]),
    lambda it, mp: it.Concater(),
    lambda it, mp: it.IterableWrapper(range(9)).groupby(parity, group_size=2, keep_key=True),
    lambda it, mp: it.IterableWrapper(range(9)).groupby(parity, buffer_size=3),
    lambda it, mp: it.IterableWrapper(range(9)).groupby(lambda n: n % 4, buffer_size=3, group_size=2),
    lambda it, mp: it.IterableWrapper(range(9)).groupby(
        lambda n: n % 4, buffer_size=3, group_size=2, drop_remaining=True
    ),
    lambda it, mp: it.IterableWrapper(range(9)).groupby(parity, guaranteed_group_size=2),
    lambda it, mp: [list(p) for p in it.IterableWrapper(range(9)).fork(3)],
    lambda it, mp: [list(p) for p in it.IterableWrapper(range(9)).fork(2, buffer_size=3)],
    lambda it, mp: list(zip(*it.IterableWrapper([[1], [2]]).fork(2, 1, copy="deep"), strict=True)),
    lambda it, mp: it.IterableWrapper(range(9)).fork(2, copy="some"),
    lambda it, mp: it.IterableWrapper(range(9)).fork(0),
    lambda it, mp: [list(p) for p in it.IterableWrapper(range(9)).demux(2, parity)],
    lambda it, mp: [list(p) for p in it.IterableWrapper(range(9)).demux(2, parity, buffer_size=3)],
    lambda it, mp: [list(p) for p in it.IterableWrapper(range(9)).demux(2, lambda n: n)],
    lambda it, mp: [
        list(p) for p in it.IterableWrapper(range(9)).demux(1, lambda n: None if n else 0, drop_none=True)
    ],
    lambda it, mp: it.IterableWrapper([(1, 2, 3)]).map(lambda a, b: a + b, input_col=[0, 2]),
    lambda it, mp: it.IterableWrapper([(1, 2, 3)]).map(lambda a, b: a + b, input_col=[0, 2], output_col=-1),
    lambda it, mp: it.IterableWrapper([{"a": 1}]).map(lambda a: a + 1, input_col="a", output_col="b"),
    lambda it, mp: it.IterableWrapper([[1, 2]]).filter(lambda a: a == 2, input_col=1),
    lambda it, mp: it.IterableWrapper([1]).map(str, output_col=1),
    lambda it, mp: it.Sampler(it.IterableWrapper(range(3))),
    lambda it, mp: [t.tolist() for t in it.IterableWrapper(range(4)).batch(2).collate()],
    lambda it, mp: mp.SequenceWrapper(range(7)).map(str).batch(3),
    lambda it, mp: mp.SequenceWrapper(range(7)).shuffle().set_seed(3),
    lambda it, mp: mp.SequenceWrapper(range(7)).shuffle(indices=[5, 2]).set_shuffle(False),
    lambda it, mp: mp.SequenceWrapper([1, 2]).concat(mp.SequenceWrapper([3])).zip(mp.SequenceWrapper("abc")),
    lambda it, mp: mp.SequenceWrapper({"a": 1})["a"],
    lambda it, mp: mp.SequenceWrapper([1])[3],
]


def outcome(library: str, make: Callable[[Pipes, Pipes], Any]) -> Any:
    """The samples and the length of a pipe, or the class of the error."""
    modules = [importlib.import_module(f"{library}.utils.data.datapipes.{kind}") for kind in ("iter", "map")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pipe = make(*modules)
            samples = (
                [list(x) if isinstance(x, list) else x for x in pipe] if hasattr(pipe, "__iter__") else pipe
            )
            if hasattr(pipe, "__getitem__") and not isinstance(pipe, (list, tuple)):
                samples = [pipe[i] for i in range(len(pipe))]
        except Exception as error:
            return type(error)
        try:
            return samples, len(pipe)
        except TypeError:
            return samples, None


@pytest.mark.parametrize("case", range(len(CASES)))
def test_samples_lengths_and_errors(case: int) -> None:
    assert outcome("tengen", CASES[case]) == outcome("torch", CASES[case])


def test_names() -> None:
    for kind in ("iter", "map"):
        theirs = importlib.import_module(f"torch.utils.data.datapipes.{kind}")
        ours = importlib.import_module(f"tengen.utils.data.datapipes.{kind}")
        assert set(ours.__all__) == set(theirs.__all__)
    for name in ("graph", "graph_settings", "datapipes.datapipe", "datapipes.utils.decoder"):
        theirs = importlib.import_module(f"torch.utils.data.{name}")
        ours = importlib.import_module(f"tengen.utils.data.{name}")
        deprecated = {"traverse", "apply_shuffle_seed"}
        assert set(ours.__all__) == set(theirs.__all__) - deprecated
