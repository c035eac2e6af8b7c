"""What a call depends on of cells, defaults, attributes: where it changes, so does what the call gives.

Each row is a generator: it yields calls, and changes something between them.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import pytest
from tables import Table, x

TABLE = Table()
row, eager = TABLE.row, TABLE.eager


# -- cells, defaults, attributes


@row
def cell() -> Any:
    by = 2.0

    def f(t: Any) -> Any:
        return t * by

    yield f, x()
    by = 3.0
    yield (x(),)


@row
def cell_of_a_called_function() -> Any:
    by = [2.0]
    inner = lambda t: t * by[0]  # noqa: E731
    outer = lambda t: inner(t) + 1  # noqa: E731
    yield outer, x()
    by[0] = 3.0
    yield (x(),)
    inner = lambda t: t - 5  # noqa: E731
    yield (x(),)


@row
def empty_cell() -> Any:
    def f(t: Any) -> Any:
        try:
            return t * later
        except NameError:
            return t

    yield f, x()
    later = 4.0
    yield (x(),)


@row
def defaults() -> Any:
    def f(t: Any, by: float = 2.0, *, plus: float = 1.0) -> Any:
        return t * by + plus

    yield f, x()
    f.__defaults__ = (3.0,)
    yield (x(),)
    f.__kwdefaults__ = {"plus": 9.0}
    yield (x(),)
    f.__kwdefaults__["plus"] = 4.0
    yield (x(),)


@row
def mutable_default() -> Any:
    def f(t: Any, by: Any = [2.0]) -> Any:  # noqa: B006
        return t * by[0]

    yield f, x()
    f.__defaults__[0][0] = 3.0  # type: ignore[index]
    yield (x(),)


@row
def attribute_of_a_function() -> Any:
    def f(t: Any) -> Any:
        return t * f.by  # type: ignore[attr-defined]

    f.by = 2.0  # type: ignore[attr-defined]
    yield f, x()
    f.by = 3.0  # type: ignore[attr-defined]
    yield (x(),)


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


class Child(Scaler):
    pass


@row
def instance_attribute() -> Any:
    scaler = Scaler()
    yield scaler, x()
    scaler.own = 4.0
    yield (x(),)
    scaler.by = 5.0
    yield (x(),)
    del scaler.by
    yield (x(),)


@row
def class_attribute() -> Any:
    scaler = Child()
    yield scaler, x()
    Scaler.by = 4.0
    yield (x(),)
    Child.by = 5.0
    yield (x(),)
    del Child.by
    Scaler.by = 2.0
    yield (x(),)


@row
def bound_method() -> Any:
    scaler = Scaler()
    yield scaler.method, x()
    scaler.by = 3.0
    yield (x(),)
    scaler.twice = lambda t: t * 7  # type: ignore[method-assign]
    yield (x(),)


@row
def class_method() -> Any:
    yield Scaler.of_class, x()
    Scaler.by = 7.0
    yield (x(),)
    Scaler.by = 2.0
    yield (x(),)


@row
def method_is_replaced() -> Any:
    scaler, before = Scaler(), Scaler.twice
    yield (lambda t: scaler.method(t)), x()
    Scaler.twice = staticmethod(lambda t: t * 9)  # type: ignore[method-assign, assignment]
    yield (x(),)
    Scaler.twice = staticmethod(before)  # type: ignore[method-assign]
    yield (x(),)


@row
def property_of_an_instance() -> Any:
    scaler = Scaler()
    yield (lambda t: t * scaler.half), x()
    scaler.own = 9.0
    yield (x(),)


@row
def class_of_an_instance() -> Any:
    class Other(Scaler):
        def method(self, t: Any) -> Any:
            return t - 1

    scaler = Scaler()
    yield (lambda t: scaler.method(t)), x()
    scaler.__class__ = Other
    yield (x(),)


@row
def slots() -> Any:
    class Slotted:
        __slots__ = ("by",)

    box = Slotted()
    box.by = 2.0
    yield (lambda t: t * box.by), x()
    box.by = 3.0
    yield (x(),)


@row
def slots_of_a_dataclass() -> Any:
    @dataclass(slots=True)
    class Options:
        by: float

    options = Options(2.0)
    yield (lambda t: t * options.by), x()
    options.by = 4.0
    yield (x(),)


@row
def getattr_by_name() -> Any:
    box = types.SimpleNamespace(by=2.0)
    yield (lambda t: t * getattr(box, "b" + "y")), x()
    box.by = 3.0
    yield (x(),)


@eager
def vars_of_an_object() -> Any:
    scaler = Scaler()
    yield (lambda t: t * sum(vars(scaler).values())), x()
    scaler.other = 3.0  # type: ignore[attr-defined]
    yield (x(),)


@row
def dynamic_attributes() -> Any:
    class Lazy:
        def __init__(self) -> None:
            self.values = {"by": 2.0}

        def __getattr__(self, name: str) -> Any:
            return self.values[name]

    lazy = Lazy()
    yield (lambda t: t * lazy.by), x()
    lazy.values["by"] = 5.0
    yield (x(),)


@row
def container_of_ones_own() -> Any:
    class Numbers(list[float]):
        pass

    class Names(dict[str, float]):
        def __missing__(self, name: str) -> float:
            return 2.0

    numbers, names = Numbers([1.0, 2.0]), Names()
    yield (lambda t: t * numbers[1] + names["a"]), x()
    numbers[1] = 3.0
    yield (x(),)
    names["a"] = 7.0
    yield (x(),)


@row
def list_in_an_instance() -> Any:
    scaler = Scaler()
    scaler.parts = [Scaler(), Scaler()]  # type: ignore[attr-defined]
    yield (lambda t: sum([p(t) for p in scaler.parts])), x()  # type: ignore[attr-defined]
    scaler.parts[1].own = 8.0  # type: ignore[attr-defined]
    yield (x(),)
    scaler.parts.append(Scaler())  # type: ignore[attr-defined]
    yield (x(),)


@row
def ring_of_objects() -> Any:
    scaler = Scaler()
    scaler.me = scaler  # type: ignore[attr-defined]
    yield (lambda t: t * scaler.me.me.own), x()  # type: ignore[attr-defined]
    scaler.own = 8.0
    yield (x(),)


@pytest.mark.parametrize("name", TABLE.rows)
def test_row(name: str) -> None:
    TABLE.check(name)
