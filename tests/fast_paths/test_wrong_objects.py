"""Whatever stands where fast paths read, they do not crash: what they do is what Python's functions do."""

from __future__ import annotations

import contextlib
import gc
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen import fast_paths

SCRIPT = Path(__file__).with_name("wrong_objects.py")


@pytest.mark.parametrize("part", ["arguments", "tensors", "nodes", "others", "meanwhile"])
def test_the_process_lives(part: str) -> None:
    process = subprocess.run([sys.executable, str(SCRIPT), part], capture_output=True, text=True)
    ended = f"{process.stdout[-2000:]}\n{process.stderr[-4000:]}"
    assert process.returncode == 0, ended
    if part == "arguments":  # private slots of other classes need only not be read beyond
        assert process.stdout.rpartition("wrong:\n")[2].strip() == "0", ended


WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda t: t.add_(1),
    "mul_": lambda t: t.mul_(t.new_ones(())),
    "zero_": lambda t: t.zero_(),
    "fill_": lambda t: t.fill_(2),
    "exp_": lambda t: t.exp_(),
    "abs_": lambda t: t.abs_(),
}


@pytest.mark.parametrize("name", WRITES)
def test_expanded_memory_is_not_written_to(name: str) -> None:
    base = tengen.full((3, 1), -1.0)
    base.abs()
    expanded = base.expand(3, 4)
    ends: list[Any] = []
    for _ in range(3):  # the first call makes the fast path
        with fast_paths.stopped():
            ends.append(ended(lambda: WRITES[name](expanded)))
        expected = base.tolist()
        ends.append(ended(lambda: WRITES[name](expanded)))
        assert ends[-1] == ends[-2] and base.tolist() == expected
    WRITES[name](base)


def ended(run: Callable[[], Any]) -> str:
    try:
        return str(run().tolist())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("join", [tengen.cat, tengen.stack, tengen.block_diag, tengen.hstack])
def test_a_node_is_of_the_list_that_was_computed_with(join: Any, accelerated: bool) -> None:
    """Also where the list changes while it is used: it is of one state of the list."""
    x, y = (tengen.ones(2, 3, requires_grad=True) for _ in range(2))
    other = tengen.full((2, 3), 2.0, requires_grad=True)
    run = (lambda given: join(*given)) if join is tengen.block_diag else join
    run([x, y]).sum().backward()

    def put(given: list[Any]) -> None:
        given[0] = other

    def shorten(given: list[Any]) -> None:
        del given[1:]

    changes: tuple[Callable[[list[Any]], None], ...] = (put, shorten)
    for change, after in itertools.product(changes, range(1, 40)):
        given, x.grad, y.grad, other.grad = [x, y], None, None, None
        with contextlib.nullcontext() if accelerated else fast_paths.stopped():
            out = changed_meanwhile(run, given, change, after)
        node = out.grad_fn
        kept = [v for v in (getattr(node, n, None) for n in slots_of(node)) if is_shapes(v)]
        assert all(len(shapes) == len(node.next_functions) for shapes in kept)
        out.sum().backward()
        assert out.sum() == sum(t.sum() for t in (x, y, other) if t.grad is not None)


def changed_meanwhile(run: Any, given: list[Any], change: Callable[[list[Any]], None], after: int) -> Any:
    """What comes of a list that changes as one of the objects is made that the call makes."""
    before, left = gc.get_threshold(), [after]

    def at(phase: str, _: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            change(given)

    gc.callbacks.append(at)
    gc.set_threshold(1)
    try:
        return run(given)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(at)


def slots_of(node: Any) -> list[str]:
    return [
        name for cls in type(node).__mro__ for name in vars(cls).get("__slots__", ()) if name != "next_edges"
    ]


def is_shapes(value: Any) -> bool:
    return type(value) is tuple and bool(value) and all(type(v) is tuple for v in value)


@pytest.mark.parametrize("contents", [[], [1, 2, 3]], ids=["nothing", "numbers"])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("join", [tengen.cat, tengen.stack])
def test_a_list_that_is_changed_meanwhile(
    join: Callable[[Any], Any], requires_grad: bool, contents: list[Any]
) -> None:
    """Whenever the collector's callback does so: the result is of all that it had, or Python's error."""
    before = gc.get_threshold()
    for after in range(1, 24):
        given = [tengen.ones(2, 3, requires_grad=requires_grad) for _ in range(3)]
        expected, left = join(list(given)).tolist(), [after]

        def change(phase: str, _: Any, given: list[Any] = given, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                given[:] = contents

        gc.callbacks.append(change)
        gc.set_threshold(1)
        try:
            found = join(given)
        except SystemError:  # of NULL without an error, which C must not give
            raise
        except Exception:
            continue
        finally:
            gc.set_threshold(*before)
            gc.callbacks.remove(change)
        assert found.tolist() == expected
