"""What a call depends on among its arguments: where it changes, the call gives what the function then gives.

Each row is a generator: it yields calls, and changes something between them.
"""

from __future__ import annotations

import math
import types
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest
from tables import Keywords, Table, scaled, wave, x

import tengen
from tengen import nn

TABLE = Table()
row, eager = TABLE.row, TABLE.eager


# -- arguments: tensors


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


@pytest.mark.parametrize("name", TABLE.rows)
def test_row(name: str) -> None:
    TABLE.check(name)
