"""DataLoader: batches, order, workers and what happens to them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.utils import data


class Squares(data.Dataset[Any]):
    """Numbers with their squares; one of them is an error."""

    def __init__(self, count: int, bad: int | None = None) -> None:
        self.count, self.bad = count, bad

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if index == self.bad:
            raise KeyError("a bad\nsample")
        return tengen.tensor([index, index * index]), str(index)


class Together(Squares):
    """The same, a batch at a time."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [super(Together, self).__getitem__(i) for i in indices]


class Counting(data.IterableDataset[Any]):
    """Numbers that the workers share out."""

    def __init__(self, count: int, length: int | None = None) -> None:
        self.count, self.length = count, length

    def __iter__(self) -> Any:
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.count, step))


class Measured(Counting):
    """One that says how long it is."""

    def __len__(self) -> int:
        assert self.length is not None
        return self.length


class Chance(data.Dataset[Any]):
    """What the generators give, and which worker it is."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        info = data.get_worker_info()
        drawn = random.random(), np.random.rand(), tengen.rand(()).item()
        return (*drawn, info.id, info.seed, len(info.dataset)) if info else drawn


class Slow(data.Dataset[Any]):
    """Takes long."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        time.sleep(30)
        return index


class Fatal(data.Dataset[Any]):
    """Its second half kills the process."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        if index >= 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Strange(Exception):
    """Cannot be made of a text."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


class Raising(data.Dataset[Any]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        if index:
            return lambda: None  # which cannot be sent
        raise Strange(1, 2)


def rows(loader: Any) -> list[Any]:
    return [[first.tolist(), names] for first, names in loader]


def test_workers_give_what_one_process_gives() -> None:
    """The order of the sampler, the last batch shorter or left out, and by what is fetched together."""
    for options in ({"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}):
        here = data.DataLoader(Squares(7), collate_fn=None, **options)
        there = data.DataLoader(Together(7), num_workers=2, **options)
        assert rows(here) == rows(there)
        assert len(here) == len(there) == len(rows(here))


def test_shuffles_follow_the_generator() -> None:
    seen = []
    for workers in (0, 2):
        for _ in range(2):
            generator = tengen.Generator().manual_seed(4)
            loader = data.DataLoader(Squares(9), 2, True, num_workers=workers, generator=generator)
            seen.append([n for epoch in range(2) for _, names in loader for n in names])
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert sorted(seen[0][:9]) == [str(i) for i in range(9)]
    assert seen[0][:9] != seen[0][9:]


def test_iterable_data_sets() -> None:
    """Workers give their shares in turn; those with more to give go on."""
    flat = [b.tolist() for b in data.DataLoader(Counting(9), batch_size=2)]
    assert flat == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    flat = [b.tolist() for b in data.DataLoader(Counting(9), batch_size=2, num_workers=2)]
    assert flat == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    flat = [b.tolist() for b in data.DataLoader(Counting(9), batch_size=2, num_workers=2, drop_last=True)]
    assert flat == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert list(data.DataLoader(Counting(3), batch_size=None)) == [0, 1, 2]
    with pytest.raises(TypeError, match="len"):
        len(data.DataLoader(Counting(3)))
    loader = data.DataLoader(Measured(5, 3), batch_size=2)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2 .* but 3 samples have been fetched"):
        list(loader)


def test_seeds_of_workers() -> None:
    """Each worker draws other numbers, and all the same ones after the same seed."""

    def drawn() -> list[Any]:
        tengen.manual_seed(11)
        return [tuple(s) for s in data.DataLoader(Chance(), batch_size=None, num_workers=2)]

    first = drawn()
    assert first == drawn()
    assert {s[3] for s in first} == {0, 1}
    assert first[0][4] + 1 == first[1][4]
    assert len({s[i] for s in first for i in range(3)}) == 24
    assert data.get_worker_info() is None


def test_a_workers_error_has_its_traceback() -> None:
    """The batches after it come all the same."""
    for workers in (0, 2):
        batches = iter(data.DataLoader(Squares(8, bad=3), batch_size=2, num_workers=workers))
        assert next(batches)[1] == ("0", "1")
        with pytest.raises(KeyError) as raised:
            next(batches)
        assert [names for _, names in batches] == [("4", "5"), ("6", "7")]
    text = str(raised.value)
    assert "Caught KeyError in DataLoader worker process 1.\nOriginal Traceback" in text
    assert 'raise KeyError("a bad\\nsample")' in text


def test_errors_that_cannot_be_sent() -> None:
    batches = iter(data.DataLoader(Raising(), batch_size=None, num_workers=1))
    with pytest.raises(RuntimeError, match=r"Caught Strange in DataLoader worker process 0"):
        next(batches)
    with pytest.raises(Exception, match=r"in DataLoader worker process 0[\s\S]*pickle"):
        next(batches)


class RaisingItsOwn(Raising):
    def __getitem__(self, index: int) -> Any:
        class Own(Exception):
            """Nobody finds it by its name."""

        raise Own("of this call")


def test_errors_of_classes_that_have_no_name() -> None:
    with pytest.raises(RuntimeError, match=r"in DataLoader worker process 0[\s\S]*Own: of this call"):
        next(iter(data.DataLoader(RaisingItsOwn(), batch_size=None, num_workers=1)))


def failing_init(worker: int) -> None:
    raise ValueError(f"worker {worker} is not well")


def test_the_first_function_of_workers() -> None:
    loader = data.DataLoader(Squares(4), num_workers=2, worker_init_fn=failing_init)
    with pytest.raises(
        ValueError, match=r"Caught ValueError in DataLoader worker process 0.[\s\S]*is not well"
    ):
        list(loader)


def test_a_worker_that_is_killed_is_an_error() -> None:
    loader = data.DataLoader(Fatal(), batch_size=2, num_workers=2)
    seen = []
    with pytest.raises(
        RuntimeError, match=r"DataLoader worker \(pid\(s\) .*exit code -9.* exited unexpectedly"
    ):
        seen.extend(b.tolist() for b in loader)


def test_a_worker_that_is_silent_is_an_error() -> None:
    begun = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        list(data.DataLoader(Slow(), num_workers=1, timeout=0.2))
    assert time.monotonic() - begun < 25  # the worker was not waited for


def test_workers_that_live_on() -> None:
    """The same processes in each epoch, also after one that was left early; then none is left."""
    loader = data.DataLoader(Squares(8), batch_size=2, num_workers=2, persistent_workers=True)
    wanted = rows(loader)
    workers = loader._workers
    pids = [p.pid for p in workers.processes]
    next(iter(loader))
    assert rows(loader) == wanted
    assert [p.pid for p in loader._workers.processes] == pids
    workers.shut_down()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert rows(loader) == wanted  # by new ones
    loader._workers.shut_down()


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_an_epoch_that_is_left_gives_nothing_to_the_next(taken: int) -> None:
    """Of workers that live on: each epoch has every sample once, in its own order, and begins anew."""
    generator = tengen.Generator().manual_seed(5)
    options: Any = {"batch_size": 2, "num_workers": 2, "persistent_workers": True}
    shuffled = data.DataLoader(Squares(8), shuffle=True, generator=generator, **options)
    counted = data.DataLoader(Counting(8), **options)
    for _ in range(2):
        for loader in (shuffled, counted):
            left = iter(loader)
            for _ in range(taken):
                next(left)
        assert sorted(n for _, names in shuffled for n in names) == [str(i) for i in range(8)]
        assert [b.tolist() for b in counted] == [[0, 2], [1, 3], [4, 6], [5, 7]]
    for loader in (shuffled, counted):
        loader._workers.shut_down()


def test_an_epoch_that_is_left_leaves_no_process() -> None:
    batches = iter(data.DataLoader(Squares(8), num_workers=2))
    next(batches)
    pids = [p.pid for p in batches.processes]
    del batches
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_large_messages_both_ways() -> None:
    """Indices and batches larger than what a pipe holds."""
    rows = tengen.arange(120_000)
    loader = data.DataLoader(data.TensorDataset(rows), batch_size=40_000, num_workers=2, collate_fn=first)
    assert [b.tolist() for b in loader] == [[0, 40_000], [40_000, 40_000], [80_000, 40_000]]


def first(samples: list[Any]) -> Any:
    return tengen.tensor([samples[0][0].item(), len(samples)])


def test_workers_end_with_their_parent() -> None:
    """The parent is killed: no worker is left, whatever it was doing."""
    program = textwrap.dedent("""
        import os, signal, time
        from tengen.utils import data

        class Slow(data.Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, index):
                if index:
                    time.sleep(60)
                return index

        batches = iter(data.DataLoader(Slow(), num_workers=2))
        next(batches)
        print(*[p.pid for p in batches.processes], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    pids = [int(p) for p in out.stdout.split()]
    assert len(pids) == 2, out.stderr
    deadline = time.monotonic() + 20
    while any(map(runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(runs, pids))


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie, which whoever has taken it on may leave."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_other_ways_to_start() -> None:
    loader = data.DataLoader(
        data.TensorDataset(tengen.arange(4)), batch_size=2, num_workers=1, multiprocessing_context="spawn"
    )
    assert [b[0].tolist() for b in loader] == [[0, 1], [2, 3]]


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
    ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified"),
    ({"num_workers": 1, "prefetch_factor": -2}, ValueError, "prefetch_factor option should be non-negative"),
    ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
    ({"shuffle": True, "sampler": [1]}, ValueError, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, ValueError, "batch_size=None option disables auto-batching"),
    ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
    ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
    ({"num_workers": 1, "multiprocessing_context": "no"}, ValueError, "should specify a valid start method"),
    ({"num_workers": 1, "multiprocessing_context": 3}, TypeError, "should be a valid context object"),
]


@pytest.mark.parametrize(("options", "kind", "text"), BAD, ids=str)
def test_bad_options(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        data.DataLoader([1, 2, 3], **options)


@pytest.mark.oracle
@pytest.mark.parametrize(("options", "kind", "text"), BAD, ids=str)
def test_bad_options_are_torchs(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    loader = pytest.importorskip("torch.utils.data").DataLoader
    with pytest.raises(kind, match=text):
        loader([1, 2, 3], **options)


def test_orders_of_iterable_data_sets_are_their_own() -> None:
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        (name,) = options
        with pytest.raises(ValueError, match=f"expected unspecified {name} option"):
            data.DataLoader(Counting(3), **options)


def test_what_is_fixed() -> None:
    loader = data.DataLoader([1, 2, 3])
    for name in ("batch_size", "sampler", "dataset", "drop_last", "batch_sampler", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader"):
            setattr(loader, name, None)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        list(data.DataLoader([1], pin_memory=True))


@pytest.mark.oracle
def test_batches_are_torchs() -> None:
    """Without chance the same batches, by every option."""
    pytest.importorskip("torch")
    import torch.utils.data

    def seen(m: ModuleType) -> list[Any]:
        samples = [(m.full((2,), float(i)), {"n": i, "x": i / 2}, [str(i), (i, float(i))]) for i in range(7)]
        found = []
        for options in (
            {"batch_size": 3},
            {"batch_size": 3, "drop_last": True},
            {"batch_size": None},
            {"batch_sampler": [[0, 2], [1], [6, 5, 4]]},
            {"sampler": [3, 1, 2], "batch_size": 2},
            {"sampler": [3, 1], "batch_size": None},
            {"collate_fn": len, "batch_size": 4},
            {"batch_size": 2, "num_workers": 2, "in_order": False, "batch_sampler": None},
        ):
            loader = m.utils.data.DataLoader(samples, **options)
            batches = [repr(b).replace("torch.", "").replace("tengen.", "") for b in loader]
            found.append((len(loader), sorted(batches)))
        return found

    assert seen(tengen) == seen(torch)
