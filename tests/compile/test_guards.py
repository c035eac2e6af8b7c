"""What a call depends on: where it changes, the call gives what the function then gives, not what it gave.

Each row is a generator: it yields calls, and changes something between them. Of each call a program is made
before the next one.
"""

from __future__ import annotations

import functools
import math
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest
from compared import alike, is_ready, reason

import tengen
from tengen import nn

Row = Callable[[], Iterator[Any]]
ROWS: dict[str, Row] = {}
#: Rows of functions that are called as they are written.
EAGER: set[str] = set()


def row(function: Row) -> Row:
    """A row of the table."""
    ROWS[function.__name__] = function
    return function


def eager(function: Row) -> Row:
    """A row of what no program is made of."""
    EAGER.add(function.__name__)
    return row(function)


@pytest.mark.parametrize("name", ROWS)
def test_row(name: str) -> None:
    steps = ROWS[name]()
    function, *args = next(steps)
    compiled = tengen.compile(function)
    calls = 0
    while args is not None:
        keywords = args.pop() if args and isinstance(args[-1], Keywords) else {}
        for _ in range(3):
            alike(compiled, function, *args, **keywords)
        if not calls:
            assert is_ready(compiled) is (name not in EAGER), reason(compiled)
        calls += 1
        args = next(steps, None)
        args = None if args is None else [*args]
    assert calls > 1, "nothing was changed"


class Keywords(dict[str, Any]):
    """The keywords of a call."""


def x() -> Any:
    return tengen.arange(6.0).reshape(2, 3) / 4 - 0.5


# -- arguments: tensors


def wave(t: Any) -> Any:
    return (t * 2 + 1).sin()


@row
def dtype() -> Any:
    yield wave, x()
    yield (x().double(),)
    yield (x().half(),)
    yield (x().to(tengen.int64),)


@row
def shape() -> Any:
    yield wave, x()
    yield (x().reshape(3, 2),)
    yield (x()[:1],)
    yield (x()[:0],)
    yield (x()[0, 0],)


@row
def strides() -> Any:
    yield wave, x()
    yield (x().t().contiguous().t(),)
    yield (x()[:, :1].expand(2, 3),)
    yield (tengen.arange(12.0).reshape(2, 6)[:, ::2],)


@row
def offset() -> Any:
    whole = tengen.arange(20.0)
    yield wave, whole[:6]
    yield (whole[3:9],)
    yield (whole[14:],)


@row
def requires_grad() -> Any:
    yield wave, x()
    yield (x().requires_grad_(),)
    yield (x(),)


@row
def requires_grad_first() -> Any:
    yield wave, x().requires_grad_()
    yield (x(),)


@row
def inner_node() -> Any:
    yield wave, x().requires_grad_()
    leaf = x().requires_grad_()
    yield (leaf,)
    yield ((leaf * 1).detach().requires_grad_(),)


@row
def class_of_a_tensor() -> Any:
    class Mine(tengen.Tensor):
        pass

    yield wave, x()
    yield (nn.Parameter(x()),)
    yield (x().as_subclass(Mine),)


@eager
def conjugate() -> Any:
    yield (lambda t: t * 2), tengen.complex(x(), x())
    yield (tengen.complex(x(), x()).conj(),)


@row
def same_tensor_twice() -> Any:
    a, b = x().requires_grad_(), (x() + 1).requires_grad_()
    yield (lambda p, q: p * q.exp()), a, b
    yield a, a
    yield b, b
    yield b, a


@row
def views_of_one_memory() -> Any:
    whole = tengen.arange(10.0)
    yield (lambda p, q: p + q * 2), whole[:5].clone(), whole[5:].clone()
    yield whole[:5], whole[2:7]
    yield whole[:5], whole[:5]


@row
def written_memory_that_another_shares() -> Any:
    def add(p: Any, q: Any) -> Any:
        p = p.clone()
        p.mul_(0.5)
        return p + q

    whole = tengen.arange(10.0)
    yield add, whole[:5], whole[5:]
    yield whole[:5], whole[:5]


@row
def sparse() -> Any:
    yield (lambda t: t * 2), x()
    yield (x().to_sparse(),)


@row
def elements() -> Any:
    yield wave, x()
    yield (x() * 3,)
    yield (x() * math.nan,)


@row
def how_many() -> Any:
    def total(*tensors: Any) -> Any:
        return sum(tensors[1:], tensors[0] * 2)

    yield total, x()
    yield x(), x()
    yield x(), x(), x()


# -- arguments: all else


def scaled(t: Any, by: Any = 2) -> Any:
    return t * by if isinstance(by, int | float | tengen.Tensor) else t + len(str(by))


@row
def number() -> Any:
    yield scaled, x(), 2
    yield x(), 3
    yield x(), 2.0
    yield x(), True
    yield x(), -0.0
    yield x(), math.nan


@row
def integer_becomes_float() -> Any:
    yield scaled, x().to(tengen.int64), 2
    yield x().to(tengen.int64), 2.0
    yield x().to(tengen.int64), True


@row
def string() -> Any:
    yield scaled, x(), "a"
    yield x(), "aa"
    yield x(), None
    yield x(), b"a"


@row
def tensor_becomes_number() -> Any:
    yield scaled, x(), tengen.ones(())
    yield x(), 1.0


@row
def default() -> Any:
    yield scaled, x()
    yield x(), 2
    yield x(), 5
    yield x(), Keywords(by=5)
    yield x(), Keywords(by=6)


@row
def positional_or_keyword() -> Any:
    def f(p: Any, q: Any) -> Any:
        return p - q * 2

    a, b = x(), x() + 1
    yield f, a, b
    yield a, Keywords(q=b)
    yield (Keywords(q=b, p=a),)
    yield (Keywords(p=b, q=a),)


@row
def nested_containers() -> Any:
    def f(tree: Any) -> Any:
        return sum([t * (n + 1) for n, t in enumerate(tree["list"])]) + tree["pair"][0] * tree["pair"][1]

    yield f, {"list": [x(), x()], "pair": (x(), 2)}
    yield ({"list": [x(), x(), x()], "pair": (x(), 2)},)
    yield ({"list": (x(), x()), "pair": (x(), 2)},)
    yield ({"pair": (x(), 3), "list": [x(), x()]},)
    yield ({"pair": (2, x()), "list": [x(), x()]},)


@row
def order_of_a_dict() -> Any:
    def f(tree: Any) -> Any:
        return sum([t * (n + 1) for n, t in enumerate(tree.values())])

    yield f, {"a": x(), "b": x() + 1}
    yield ({"b": x() + 1, "a": x()},)


@row
def tuple_of_sizes() -> Any:
    yield (lambda t, size: t.reshape(size)), x(), (3, 2)
    yield x(), (6, 1)
    yield x(), [6]
    yield x(), tengen.Size([1, 6])


@row
def dtype_argument() -> Any:
    yield (lambda t, kind: t.to(kind)), x(), tengen.float64
    yield x(), tengen.int64
    yield x(), tengen.float32


@row
def function_argument() -> Any:
    yield (lambda t, f: f(t) * 2), x(), tengen.sin
    yield x(), tengen.cos
    yield x(), lambda t: t + 1


@row
def slice_argument() -> Any:
    yield (lambda t, key: t[key] * 2), x(), slice(0, 1)
    yield x(), slice(0, 2)
    yield x(), 1
    yield x(), (slice(None), 1)


@row
def enum_argument() -> Any:
    class Kind(Enum):
        A = 1
        B = 2

    yield (lambda t, kind: t * kind.value), x(), Kind.A
    yield x(), Kind.B


@row
def object_argument() -> Any:
    box = types.SimpleNamespace(by=2.0)

    def f(t: Any, b: Any) -> Any:
        return t * b.by

    yield f, x(), box
    box.by = 3.0
    yield x(), box
    yield x(), types.SimpleNamespace(by=4.0)


@row
def dataclass_argument() -> Any:
    @dataclass
    class Options:
        by: float
        other: float = 1.0

    options = Options(2.0)
    yield (lambda t, o: t * o.by + o.other), x(), options
    options.other = 5.0
    yield x(), options
    yield x(), Options(3.0)


@row
def array_argument() -> Any:
    array = np.ones(3, np.float32)
    yield (lambda t, a: t * tengen.from_numpy(a)), x(), array
    array[1] = 7
    yield x(), array


@row
def set_argument() -> Any:
    chosen = {1, 2}
    yield (lambda t, s: t * sum(s)), x(), chosen
    chosen.add(5)
    yield x(), chosen


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


@row
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


EAGER.add("cached")


# -- modules


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
        self.register_buffer("shift", tengen.ones(2))
        self.scale = 1.5
        self.sizes = [1.0, 2.0]

    def forward(self, t: Any) -> Any:
        h = self.rest(self.norm(self.first(t)))
        return h * self.scale * self.sizes[1] + self.shift


def net() -> Any:
    tengen.manual_seed(0)
    return Net().eval()


@row
def submodule() -> Any:
    model = net()
    yield model, x()
    model.first = nn.Linear(3, 4)
    yield (x(),)
    model.rest[0] = nn.Tanh()
    yield (x(),)
    model.rest.append(nn.Tanh())
    yield (x(),)
    del model.rest[0]
    yield (x(),)


@row
def parameter() -> Any:
    model = net()
    yield model, x()
    model.first.weight = nn.Parameter(tengen.ones(4, 3))
    yield (x(),)
    model.first.weight.data = tengen.full((4, 3), 0.25)
    yield (x(),)
    with tengen.no_grad():
        model.first.weight.mul_(2)
    yield (x(),)
    model.first.weight.requires_grad_(False)
    yield (x(),)
    model.first.bias = None
    yield (x(),)


@row
def buffer() -> Any:
    model = net()
    yield model, x()
    model.shift = tengen.full((2,), 3.0)
    yield (x(),)
    model.shift += 1
    yield (x(),)
    model.register_buffer("shift", tengen.zeros(1))
    yield (x(),)


@row
def attribute_of_a_net() -> Any:
    model = net()
    yield model, x()
    model.scale = 3.0
    yield (x(),)
    model.sizes[1] = 5.0
    yield (x(),)
    model.norm.eps = 0.5
    yield (x(),)


@row
def hooks() -> Any:
    model = net()
    yield model, x()
    handle = model.first.register_forward_hook(lambda m, args, out: out * 2)
    yield (x(),)
    handle.remove()
    yield (x(),)
    handle = model.rest[1].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    yield (x(),)
    handle.remove()
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, out: out + 1)
    yield (x(),)
    handle.remove()
    yield (x(),)


@row
def forward_is_patched() -> Any:
    model = net()
    yield model, x()
    model.first.forward = lambda t: t.new_ones(2, 4)
    yield (x(),)
    del model.first.forward
    yield (x(),)


@row
def forward_of_the_class() -> Any:
    model, before = net(), Net.forward
    yield model, x()
    Net.forward = lambda self, t: self.first(t)  # type: ignore[method-assign]
    yield (x(),)
    Net.forward = before  # type: ignore[method-assign]
    yield (x(),)


@row
def dtype_of_a_net() -> Any:
    model = net()
    yield model, x()
    model.double()
    yield (x().double(),)
    model.float()
    yield (x(),)


@row
def state_is_loaded() -> Any:
    model = net()
    yield model, x()
    model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()})
    yield (x(),)


@row
def parametrization() -> Any:
    class Twice(nn.Module):
        def forward(self, t: Any) -> Any:
            return t * 2

    model = net()
    yield model, x()
    nn.utils.parametrize.register_parametrization(model.first, "weight", Twice())
    yield (x(),)


@row
def class_of_a_module() -> Any:
    class Other(Net):
        def forward(self, t: Any) -> Any:
            return self.first(t)

    model = net()
    yield model, x()
    model.__class__ = Other
    yield (x(),)


@row
def module_list() -> Any:
    class Many(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
            self.named = nn.ModuleDict({"a": nn.Tanh()})

        def forward(self, t: Any) -> Any:
            for part in self.parts:
                t = part(t)
            for part in self.named.values():
                t = part(t)
            return t

    model = Many()
    yield model, x()
    model.parts.append(nn.Linear(3, 3))
    yield (x(),)
    model.named["b"] = nn.ReLU()
    yield (x(),)


def test_training_mode() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).train()
    compiled = tengen.compile(model)
    for mode in (True, False, True, False):
        model.train(mode)
        for _ in range(4):
            alike(compiled, model, x())


# -- modes


@pytest.mark.parametrize("first", [True, False])
def test_modes(first: bool) -> None:
    compiled, t = tengen.compile(wave), x().requires_grad_()
    modes: list[Any] = [tengen.enable_grad, tengen.no_grad, tengen.inference_mode]
    for mode in [*modes, *modes] if first else [*modes[::-1], *modes]:
        with mode():
            for _ in range(3):
                found, expected = compiled(t), wave(t)
                assert found.requires_grad is expected.requires_grad
                assert found.is_inference() is expected.is_inference()
                assert bool((found == expected).all())


def test_default_dtype() -> None:
    def f(t: Any) -> Any:
        return t.to(tengen.int64) / 3 + tengen.ones(3)

    compiled = tengen.compile(f)
    try:
        for kind in (tengen.float32, tengen.float64, tengen.float32):
            tengen.set_default_dtype(kind)
            for _ in range(3):
                alike(compiled, f, x())
    finally:
        tengen.set_default_dtype(tengen.float32)


def test_autocast() -> None:
    w = tengen.ones(3, 3)
    compiled = tengen.compile(lambda t: t @ w)
    for kind in (None, tengen.bfloat16, tengen.float16, None):
        with tengen.autocast("cpu", kind or tengen.bfloat16, enabled=kind is not None):
            for _ in range(3):
                assert compiled(x()).dtype is (x() @ w).dtype


def test_default_device() -> None:
    compiled = tengen.compile(lambda t: tengen.ones(3))
    for _ in range(3):
        compiled(x())
    with tengen.device("meta"):
        assert compiled(x()).device.type == "meta"
    assert compiled(x()).device.type == "cpu"


def test_deterministic_algorithms_are_not_stale() -> None:
    compiled = tengen.compile(lambda t: tengen.empty(3).fill_(1) * t)
    for _ in range(3):
        compiled(x())
    tengen.use_deterministic_algorithms(True)
    try:
        alike(compiled, compiled.__wrapped__, x())
    finally:
        tengen.use_deterministic_algorithms(False)


TRANSFORMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "vmap": lambda f: tengen.func.vmap(f),
    "grad": lambda f: tengen.func.grad(lambda t: f(t).sum()),
    "jvp": lambda f: lambda t: tengen.func.jvp(f, (t,), (tengen.ones_like(t),)),
    "vjp": lambda f: lambda t: tengen.func.vjp(f, t)[1](tengen.ones_like(t)),
    "jacrev": lambda f: tengen.func.jacrev(f),
    "jacfwd": lambda f: tengen.func.jacfwd(f),
    "hessian": lambda f: tengen.func.hessian(lambda t: f(t).sum()),
    "twice": lambda f: tengen.func.vmap(tengen.func.vmap(f)),
    "functionalize": lambda f: tengen.func.functionalize(f),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    compiled, transform = tengen.compile(wave), TRANSFORMS[name]
    inside = tengen.compile(transform(wave))
    for _ in range(3):
        alike(transform(compiled), transform(wave), x())
        alike(compiled, wave, x())
        alike(inside, transform(wave), x())


def test_reset() -> None:
    compiled = tengen.compile(wave)
    for _ in range(3):
        compiled(x())
        tengen.compiler.reset()
        assert not compiled.entries


def test_stances() -> None:
    compiled = tengen.compile(wave)
    with tengen.compiler.set_stance("force_eager"):
        alike(compiled, wave, x())
    assert not compiled.entries
    for _ in range(3):
        alike(compiled, wave, x())
    for name in ("eager_on_recompile", "default", "force_eager"):
        with tengen.compiler.set_stance(name):
            alike(compiled, wave, x().double())
    with tengen.compiler.set_stance("fail_on_recompile"):
        alike(compiled, wave, x())
        with pytest.raises(RuntimeError, match="has no program for this call"):
            compiled(x().t())


def test_limit() -> None:
    compiled = tengen.compile(scaled, options={"limit": 2})
    for by in (1, 2, 3, 4, 1, 2):
        for _ in range(2):
            alike(compiled, scaled, x(), by)
    assert len(compiled.entries) == 2
