"""operations.def says what operations do, and what is no fast path is refused before it runs."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tengen import fast_paths
from tengen.fast_paths import machine
from tengen.fast_paths.assembler import Assembler
from tengen.fast_paths.stack import EFFECTS, Effect, Malformed, Stack

FOLDER = Path(fast_paths.__file__).parent
PROJECT = Path(__file__).resolve().parents[2]
#: What the words of a fast path may be, by which the assembler reads them.
KINDS = {
    *("local", "other", "count", "dims", "literal", "global", "path", "attribute", "recipe"),
    *("own", "own_edge", "own_slot", "own_saved", "own_result", "binary", "unary", "comparison"),
}
#: Functions whose fast paths stand in modules that are loaded when something of them is asked for.
LATE = (
    "kernels.shape",
    "kernels.reductions",
    "composite.shape",
)


def function(self: Any, other: Any = None) -> Any:
    """The function that fast paths of these tests are for."""


def assembled(text: str) -> tuple[Any, ...]:
    """The fast path of a text."""
    assert isinstance(function, FunctionType)
    return Assembler(function, text, None).fast_path()


def test_every_word_has_a_kind_that_is_read() -> None:
    kinds = {kind for _, operands, *_ in machine.operations.values() for kind in operands.split()}
    assert kinds == KINDS


def test_every_operation_is_done() -> None:
    """A case of the machine names each, but for what is the last of several, which are told apart before."""
    sources = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("machine.c", "tests.c"))
    unnamed = [name for name in machine.operations if not re.search(rf"\bOP_{name}\b", sources)]
    assert unnamed == ["may_write", "store"]


def test_every_operation_is_written() -> None:
    """By the generator, or by hand: what no fast path may have is not needed."""
    writers = PROJECT / "codegen" / "specialise"
    written = "".join(
        (writers / name).read_text(encoding="utf-8") for name in ("fast_path_code.py", "fast_paths.py")
    )
    by_generator = set(re.findall(r'"(\w+)\b', written))
    used = {line.split(" ")[0] for _, text in by_hand() for line in text.split("; ")}
    assert set(machine.operations) <= by_generator | used | {name for _, name in fast_paths.repeated}


def by_hand() -> list[tuple[Any, str]]:
    """The functions with fast paths that were written by hand."""
    for module in LATE:
        importlib.import_module(f"tengen.{module}")
    return fast_paths.by_hand


def test_fast_paths_by_hand_are_such() -> None:
    """None is left out in silence."""
    texts = [*by_hand(), *[(f, fast_paths.path_of_operation(f, name)) for f, name in fast_paths.repeated]]
    assert len(texts) >= 15
    for made, text in texts:
        assert isinstance(made, FunctionType)
        Assembler(made, text, None).fast_path()


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("--", Effect(0, 0, 0, 0, True)),
        ("a b -- result", Effect(2, 0, 1, 0, True)),
        ("function *n -- result", Effect(1, 1, 1, 0, True)),
        ("tuple -- *n", Effect(1, 0, 0, 1, True)),
        ("result -- never", Effect(1, 0, 0, 0, False)),
    ],
)
def test_effects_are_read(text: str, effect: Effect) -> None:
    assert Effect.of(text) == effect


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("give", "give: it takes 1 values, and there are 0"),
        ("local self; binary +; give", "binary: it takes 2 values, and there are 1"),
        ("local self; call 1; give", "call: it takes 2 values, and there are 1"),
        ("local self; " * (machine.deepest + 1) + "give", f"local: more than {machine.deepest} values"),
        ("local self; is_none self -> L1; pop; L1:; give", "1 values at L1 by one way, 0 by another"),
        ("is_none self -> L1; local self; give; L1:; give", "give: it takes 1 values, and there are 0"),
        ("is_none self -> L1; local self; give", "nothing is called L1"),
        ("L1:; local self; jump -> L1", "0 values at L1 by one way, 1 by another"),
        ("L1:; L1:; local self; give", "L1 is at two places"),
        ("leave; L1:; is_none self -> L1; leave", ""),
        ("jump -> L2; L1:; leave; L2:; jump -> L1", "the height at L1 is unknown"),
        ("locale self; give", "locale is no operation"),
        ("local; give", "local has no local"),
        ("local self other; give", "local has words that are no operands"),
        ("local self -> out; give", "local jumps nowhere"),
    ],
)
def test_what_is_no_fast_path_is_refused(text: str, message: str) -> None:
    if not message:
        assembled(text)
        return
    with pytest.raises(Malformed, match=re.escape(message)):
        assembled(text)
    assert isinstance(function, FunctionType)
    assert fast_paths.assembled(function, text, None) is None


def test_heights_are_compared_where_ways_meet() -> None:
    """A value on one of two ways; and the same, where a kernel is not there, which is not pushed then."""
    stack = Stack(4)
    stack.run("fetch_kernel", 0, "L1")
    assert stack.height == 1 and stack.expected == {"L1": 0}
    stack.run("pop", 0, "")
    stack.place("L1")
    assert stack.height == 0
    stack.run("leave", 0, "")
    assert stack.height is None and not EFFECTS["leave"].stays.goes_on
