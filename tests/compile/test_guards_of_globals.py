"""What a call depends on of globals and callables: where it changes, so does what the call gives.

Each row is a generator: it yields calls, and changes something between them.
"""

from __future__ import annotations

import functools
import math
import types
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tables import Table, x

import tengen

TABLE = Table()
row, eager = TABLE.row, TABLE.eager


class Scaler:
    by = 2.0

    def __init__(self) -> None:
        self.own = 1.0

    def __call__(self, t: Any) -> Any:
        return t * self.by + self.own

    def method(self, t: Any) -> Any:
        return self.twice(t) * self.by

    @staticmethod
    def twice(t: Any) -> Any:
        return t * 2

    @classmethod
    def of_class(cls, t: Any) -> Any:
        return t * cls.by

    @property
    def half(self) -> float:
        return self.own / 2


# -- globals


NUMBER = 2.0
PAIR = (1.0, (2.0, "a"))
LIST = [1.0, 2.0]
NESTED = {"a": [1.0, {"b": 2.0}]}
CHOSEN = {1, 2}
QUEUE = deque([1.0, 2.0])
ORDERED = OrderedDict(a=1.0, b=2.0)
ARRAY = np.ones(3, np.float32)
WEIGHT = tengen.ones(3)
HELPERS = types.ModuleType("helpers")
HELPERS.scale = 2.0  # type: ignore[attr-defined]


def helper(t: Any) -> Any:
    return t * 2


def set_global(**values: Any) -> None:
    globals().update(values)


@row
def global_number() -> Any:
    yield (lambda t: t * NUMBER), x()
    set_global(NUMBER=3.0)
    yield (x(),)
    set_global(NUMBER=3)
    yield (x(),)
    set_global(NUMBER=2.0)
    yield (x(),)


@row
def global_tuple() -> Any:
    yield (lambda t: t * PAIR[1][0]), x()
    set_global(PAIR=(1.0, (5.0, "a")))
    yield (x(),)


@row
def global_function() -> Any:
    before = helper
    yield (lambda t: helper(t) + 1), x()
    set_global(helper=lambda t: t * 7)
    yield (x(),)
    set_global(helper=before)
    yield (x(),)


@row
def code_of_a_global_function() -> Any:
    code = helper.__code__
    yield (lambda t: helper(t) + 1), x()
    helper.__code__ = (lambda t: t * 9).__code__
    yield (x(),)
    helper.__code__ = code
    yield (x(),)


@row
def global_list() -> Any:
    yield (lambda t: t * LIST[1]), x()
    LIST[1] = 5.0
    yield (x(),)
    LIST.insert(0, 9.0)
    yield (x(),)
    LIST[:] = [1.0, 2.0]
    yield (x(),)


@row
def global_dict_nested() -> Any:
    yield (lambda t: t * NESTED["a"][1]["b"]), x()
    NESTED["a"][1]["b"] = 4.0  # type: ignore[index]
    yield (x(),)
    NESTED["a"][1]["c"] = 4.0  # type: ignore[index]
    yield (x(),)


@row
def global_set() -> Any:
    yield (lambda t: t * (5 if 3 in CHOSEN else 2)), x()
    CHOSEN.add(3)
    yield (x(),)
    CHOSEN.discard(3)
    yield (x(),)


@row
def global_deque() -> Any:
    yield (lambda t: t * QUEUE[0]), x()
    QUEUE.appendleft(5.0)
    yield (x(),)


@row
def global_ordered_dict() -> Any:
    yield (lambda t: t * sum([n * v for n, v in enumerate(ORDERED.values())])), x()
    ORDERED.move_to_end("a")
    yield (x(),)


@row
def global_array() -> Any:
    yield (lambda t: t * tengen.from_numpy(ARRAY)), x()
    ARRAY[0] = 9
    yield (x(),)


@row
def global_array_read() -> Any:
    yield (lambda t: t * float(ARRAY[1])), x()
    ARRAY[1] = 9
    yield (x(),)


@row
def global_tensor() -> Any:
    yield (lambda t: t * WEIGHT), x()
    WEIGHT[0] = 9
    yield (x(),)
    set_global(WEIGHT=tengen.full((3,), 4.0))
    yield (x(),)
    set_global(WEIGHT=tengen.full((2, 1), 4.0))
    yield (x(),)
    set_global(WEIGHT=5.0)
    yield (x(),)


@row
def grad_of_a_global_tensor() -> Any:
    set_global(WEIGHT=tengen.ones(3))
    yield (lambda t: t * WEIGHT), x()
    WEIGHT.requires_grad_()
    yield (x(),)
    WEIGHT.data = tengen.full((2, 1), 3.0)
    yield (x(),)


@eager
def global_appears() -> Any:
    globals().pop("APPEARS", None)
    yield (lambda t: t * (globals().get("APPEARS") or 2)), x()
    set_global(APPEARS=5)
    yield (x(),)


@row
def builtin_is_shadowed() -> Any:
    yield (lambda t: t * abs(-2)), x()
    set_global(abs=lambda n: 7)
    yield (x(),)
    globals().pop("abs")
    yield (x(),)


@row
def attribute_of_a_module() -> Any:
    yield (lambda t: t * HELPERS.scale), x()
    HELPERS.scale = 3.0  # type: ignore[attr-defined]
    yield (x(),)


@row
def attribute_of_the_standard_library() -> Any:
    before = math.pi
    yield (lambda t: t * math.pi), x()
    math.pi = 3.0  # type: ignore[misc]
    yield (x(),)
    math.pi = before  # type: ignore[misc]
    yield (x(),)


# -- callables of all sorts


@row
def partial() -> Any:
    parts = [2.0]
    yield functools.partial(lambda p, t: t * p[0], parts), x()
    parts[0] = 3.0
    yield (x(),)


@row
def partial_of_an_instance() -> Any:
    scaler = Scaler()
    yield functools.partial(Scaler.__call__, scaler), x()
    scaler.own = 3.0
    yield (x(),)


@row
def decorated() -> Any:
    by = [2.0]

    def decorator(f: Any) -> Any:
        @functools.wraps(f)
        def wrapped(*args: Any) -> Any:
            return f(*args) * by[0]

        return wrapped

    @decorator
    def f(t: Any) -> Any:
        return t + 1

    yield f, x()
    by[0] = 5.0
    yield (x(),)


@eager
def cached() -> Any:
    calls = [2.0]

    @functools.cache
    def factor() -> float:
        return calls[0]

    yield (lambda t: t * factor()), x()
    calls[0] = 5.0
    yield (x(),)
    factor.cache_clear()
    yield (x(),)


@row
def closures_of_a_loop() -> Any:
    functions = [lambda t, n=n: t * n for n in range(3)]
    yield (lambda t: sum([f(t) for f in functions])), x()
    functions[1] = lambda t: t * 50
    yield (x(),)


@row
def functions_from_a_generator() -> Any:
    scale = [1.0, 2.0]

    def each() -> Any:
        for s in scale:
            yield lambda t, s=s: t * s

    yield (lambda t: sum([f(t) for f in each()])), x()
    scale.append(5.0)
    yield (x(),)


@row
def table_of_functions() -> Any:
    table: dict[str, Any] = {"a": tengen.sin}
    yield (lambda t: table["a"](t)), x()
    table["a"] = tengen.cos
    yield (x(),)


@row
def singledispatch() -> Any:
    @functools.singledispatch
    def f(t: Any) -> Any:
        return t * 2

    yield (lambda t: f(t)), x()
    f.register(tengen.Tensor, lambda t: t * 3)
    yield (x(),)


@row
def environment() -> Any:
    import os

    os.environ.pop("TENGEN_TEST_SCALE", None)
    yield (lambda t: t * float(os.environ.get("TENGEN_TEST_SCALE", "2"))), x()
    os.environ["TENGEN_TEST_SCALE"] = "5"
    yield (x(),)
    del os.environ["TENGEN_TEST_SCALE"]
    yield (x(),)


@row
def function_of_tengen() -> Any:
    before = tengen.nn.functional.relu

    yield (lambda t: tengen.nn.functional.relu(t) + 1), x()
    try:
        tengen.nn.functional.relu = tengen.nn.functional.relu6  # type: ignore[assignment]
        yield (x() * 100,)
    finally:
        tengen.nn.functional.relu = before


@pytest.fixture(autouse=True)
def globals_as_they_were() -> Iterator[None]:
    """What rows change of this module's globals is as it was for the next one."""
    before = dict(globals())
    yield
    for name in globals().keys() - before.keys():
        del globals()[name]
    globals().update(before)


@pytest.mark.parametrize("name", TABLE.rows)
def test_row(name: str) -> None:
    TABLE.check(name)
