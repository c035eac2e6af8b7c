"""Tables of what calls depend on, and how a row is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from compared import alike, is_ready, reason

import tengen

Row = Callable[[], Iterator[Any]]


class Keywords(dict[str, Any]):
    """The keywords of a call."""


class Table:
    """Rows: generators that yield calls, and change something between them.

    The first yields a function and arguments, the next ones arguments. Of each call a program is made before
    the next one.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        #: Rows of functions that are called as they are written.
        self.written: set[str] = set()

    def row(self, function: Row) -> Row:
        """A row of the table."""
        self.rows[function.__name__] = function
        return function

    def eager(self, function: Row) -> Row:
        """A row of what no program is made of."""
        self.written.add(function.__name__)
        return self.row(function)

    def check(self, name: str) -> None:
        """The calls of a row give what the function gives; the first has a program, if any has."""
        steps = self.rows[name]()
        function, *args = next(steps)
        compiled = tengen.compile(function)
        calls = 0
        while args is not None:
            keywords = args.pop() if args and isinstance(args[-1], Keywords) else {}
            for _ in range(3):
                alike(compiled, function, *args, **keywords)
            if not calls:
                assert is_ready(compiled) is (name not in self.written), reason(compiled)
            calls += 1
            args = next(steps, None)
            args = None if args is None else [*args]
        assert calls > 1, "nothing was changed"


def x() -> Any:
    """A small matrix."""
    return tengen.arange(6.0).reshape(2, 3) / 4 - 0.5


def wave(t: Any) -> Any:
    """A function of elements."""
    return (t * 2 + 1).sin()


def scaled(t: Any, by: Any = 2) -> Any:
    """A function that has a default."""
    return t * by if isinstance(by, int | float | tengen.Tensor) else t + len(str(by))
