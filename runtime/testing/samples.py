"""Declared samples as calls with concrete inputs.

The same sample gives the same numbers wherever it is used: what is random follows from the
operator's name, the sample's text and the argument, and is converted to the dtype of the test.
"""

from __future__ import annotations

import functools
import math
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.annotations import default_value
from tengen.codegen.model.operators import Operator, Sample, ScalarType
from tengen.codegen.model.schema import Argument
from tengen.ir import expressions as ir
from tengen.ir.expressions import Constant, Elements, Expr, Name
from tengen.ir.writer import write

from ..core.scalar_type import dtype, named

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Random:
    """A random input of a shape: what it becomes depends on the dtype of the test."""

    shape: tuple[int, ...]
    low: float
    high: float
    seed: int
    form: str = "plain"  # "plain" | "distinct" | "posdef" | "detached"

    def array(self, kind: dtype) -> Array:
        """The input as an array of this dtype."""
        return _made(self, kind).copy()

    def made(self, kind: dtype) -> Array:
        """As ``array``, made anew."""
        rng = np.random.default_rng(self.seed)
        if kind.category == "bool":
            return rng.integers(0, 2, self.shape).astype(bool)
        if kind.category in ("integral", "unsigned"):
            return self._integers(kind, rng)
        real = self._real(rng)
        if kind.is_complex:
            real = self._turned(real, rng) + 1j * self._turned(self._real(rng), rng)
        if self.form == "posdef":
            adjoint = np.swapaxes(real, -1, -2).conj()
            real = real @ adjoint + self.shape[-1] * np.eye(self.shape[-1])
        wide = np.complex128 if kind.is_complex else np.float64
        return np.asarray(real, dtype=wide).astype(kind.array_dtype)

    def _integers(self, kind: dtype, rng: np.random.Generator) -> Array:
        low = max(math.ceil(self.low), -5 if kind.is_signed else 0)
        high = max(low + 1, min(math.floor(self.high) + 1, 6))
        if self.form == "distinct":
            found = rng.permutation(math.prod(self.shape)).reshape(self.shape)
        else:
            found = rng.integers(low, high, self.shape)
        return np.asarray(found).astype(kind.array_dtype)

    def _real(self, rng: np.random.Generator) -> Any:
        if self.form == "distinct":
            count = math.prod(self.shape)
            steps = (rng.permutation(count) + 0.5 + 0.3 * rng.uniform(-1, 1, count)) / max(count, 1)
            return self.low + (self.high - self.low) * steps.reshape(self.shape)
        return rng.uniform(self.low, self.high, self.shape)

    def _turned(self, part: Any, rng: np.random.Generator) -> Any:
        """A part of complex numbers, on both sides of zero: a domain is of real numbers."""
        turned = self.low >= 0 and self.form != "posdef"
        return part * rng.choice([-1.0, 1.0], self.shape) if turned else part


@functools.lru_cache(maxsize=64)
def _made(random: Random, kind: dtype) -> Array:
    """An input for several uses, one after the other: the operator, its reference, a bound."""
    return random.made(kind)


@dataclass(frozen=True)
class Fixed:
    """An input whose dtype does not depend on the test: indices, masks."""

    value: Any
    follows: bool = False  # values([...]) of floats, which follow the dtype of the test

    def array(self, kind: dtype) -> Array:
        """The input; in the test's dtype where it follows that."""
        if self.follows and kind.is_inexact:
            return np.asarray(self.value.astype(kind.array_dtype))
        return np.asarray(self.value)


@dataclass(frozen=True)
class Buffer:
    """What a forward operator hands to its backward one: result ``number`` of a call, as an array."""

    forward: Callable[[dtype, int], Array]
    number: int

    def array(self, kind: dtype) -> Array:
        """The buffer for inputs of this dtype."""
        return self.forward(kind, self.number)


@dataclass(frozen=True)
class Call:
    """A sample with its inputs: one value for each argument of the schema, in order."""

    operator: Operator
    text: str
    values: tuple[Any, ...]
    only: frozenset[dtype] | None = field(default=None, compare=False)  # the dtypes it is for

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments that the values are for."""
        return self.operator.schema.arguments

    def takes(self, kind: dtype) -> bool:
        """Whether the sample is meant for this dtype."""
        return self.only is None or kind in self.only

    def arrays(self, kind: dtype) -> list[Any]:
        """The values with NumPy arrays where tensors belong."""
        return [_array(v, kind) for v in self.values]

    def tensors(self, kind: dtype, make: Callable[[Array], Any] = tengen.from_numpy) -> list[Any]:
        """The values with tensors where they belong, made of arrays by ``make``."""
        return [_map_arrays(v, make) for v in self.arrays(kind)]

    @property
    def hand_picked(self) -> bool:
        """Whether some numbers are given one by one: ties, NaN, where there is no derivative."""
        return any(isinstance(v, Fixed) and v.follows for v in self.values)

    @property
    def follows_dtype(self) -> bool:
        """Whether any input is of the test's dtype."""
        flat = [w for v in self.values for w in (v if isinstance(v, list) else [v])]
        return any(isinstance(v, Random) or (isinstance(v, Fixed) and v.follows) for v in flat)

    def __str__(self) -> str:
        return f"{self.operator.name}({self.text})"


def _array(value: Any, kind: dtype) -> Any:
    if isinstance(value, (Random, Fixed, Buffer)):
        return value.array(kind)
    if isinstance(value, list):
        return [_array(v, kind) for v in value]
    return value


def _map_arrays(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return function(value.copy())
    if isinstance(value, list):
        return [_map_arrays(v, function) for v in value]
    return value


def strided(array: Array, make: Callable[[Array], Any] = tengen.from_numpy) -> Any:
    """A tensor of these values over every second element, but not the first, of a transposed array."""
    if array.ndim == 0:
        return make(np.stack([array, array]))[1]
    wide = np.zeros([2 * n for n in reversed(array.shape)], dtype=array.dtype)
    view = wide.T[tuple(slice(1, None, 2) for _ in array.shape)]
    view[...] = array
    return make(view)


def expanded(array: Array, make: Callable[[Array], Any] = tengen.from_numpy) -> Any:
    """A tensor of the first of these values along the first dimension, of stride 0 there."""
    if array.ndim == 0 or not array.shape[0]:
        return make(array)
    # Not by broadcast_to, whose arrays are read-only: tensors of these warn.
    return make(np.lib.stride_tricks.as_strided(array, strides=(0, *array.strides[1:])))


def repeated(array: Array) -> Any:
    """The same values in memory of their own."""
    return expanded(array, lambda view: tengen.from_numpy(view.copy()))


def backward_call(
    operator: Operator,
    kinds: list[dtype],
    call: Call,
    names: list[str],
    forward: Callable[[dtype, int], Array],
) -> Call:
    """The call of a backward operator of these dtypes that belongs to one of its forward operator.

    ``names`` are the forward operator's results, the first of which is the output, and ``forward``
    computes them.
    """
    given = dict(zip((a.name for a in call.arguments), call.values, strict=True))
    shape = forward(tengen.float64, 0).shape if call.takes(tengen.float64) else ()
    given["grad_output"] = Random(shape, -2.0, 2.0, zlib.crc32(str(call).encode()))
    given |= {name: Buffer(forward, number) for number, name in enumerate(names) if number}
    given["output_mask"] = (True,) * len(operator.schema.returns)
    only = frozenset(filter(call.takes, kinds))
    return Call(operator, call.text, tuple(given[a.name] for a in operator.schema.arguments), only)


class CallMaker:
    """Makes Calls of samples."""

    def __init__(self, scalar_types: Iterable[ScalarType]) -> None:
        self.dtypes = {s.name: named(s.dtype) for s in scalar_types}
        names: dict[str, Any] = {a: named(s.dtype) for s in scalar_types for a in (s.dtype, *s.aliases)}
        # float and complex are Python's here: float("nan") is written so.
        self.names = names | {
            "math": math,
            "inf": math.inf,
            "nan": math.nan,
            "float": float,
            "complex": complex,
        }

    def call(self, operator: Operator, sample: Sample) -> Call:
        """The sample's inputs; what it does not give has its default."""
        arguments = operator.schema.arguments
        given: dict[str, Expr] = {}
        for argument, node in zip(operator.schema.positional, sample.call.arguments, strict=False):
            given[argument.name] = node
        given.update({str(k.name): k.value for k in sample.call.keywords})
        text = str(sample.source.value)
        values = []
        for position, a in enumerate(arguments):
            seed = zlib.crc32(f"{operator.name} {text} {position}".encode())
            absent = a.name not in given
            values.append(
                plain(a, default_value(a)) if absent else self._value(operator, a, given[a.name], seed)
            )
        only = None if sample.dtypes is None else frozenset(self.dtypes[n] for n in sample.dtypes)
        return Call(operator, text, tuple(values), only)

    def _value(self, operator: Operator, argument: Argument, node: Expr, seed: int) -> Any:
        interval = _interval(operator.domain.get(argument.name))
        if argument.is_tensor_list:
            assert isinstance(node, Elements)
            return [self._tensor(n, interval, seed + 7919 * (i + 1)) for i, n in enumerate(node.elements)]
        if argument.is_tensor:
            return self._tensor(node, interval, seed)
        return _listed(argument, plain(argument, self._evaluate(node)))

    def _tensor(self, node: Expr, interval: tuple[float, float], seed: int) -> Any:
        if node == Constant(None):
            return None
        if isinstance(node, Elements):
            return Random(tuple(self._evaluate(node)), *interval, seed)
        assert isinstance(node, ir.Call) and isinstance(node.function, Name)
        given = [self._evaluate(a) for a in node.arguments]
        rng = np.random.default_rng(seed)
        match node.function.id:
            case "ints":
                return Fixed(rng.integers(given[1], given[2], tuple(given[0])))
            case "bools":
                return Fixed(rng.integers(0, 2, tuple(given[0])).astype(bool))
            case "perm":
                return Fixed(rng.permutation(given[0]).astype(np.int64))
            case "posdef" | "distinct" | "detached" as form:
                return replace(Random(tuple(given[0]), *interval, seed), form=form)
            case "values":
                keywords = {k.name: self._evaluate(k.value) for k in node.keywords}
                array = np.array(given[0], dtype=getattr(keywords.get("dtype"), "array_dtype", None))
                return Fixed(array, follows=array.dtype.kind in "fc" and not keywords)
        raise AssertionError(f"unknown sample helper {node.function.id}")

    def _evaluate(self, node: Expr) -> Any:
        return eval(write(node), {"__builtins__": {}}, self.names)


def plain(argument: Argument, value: Any) -> Any:
    """A value that is no tensor, as the library takes it."""
    if isinstance(value, str):
        match str(argument.type).rstrip("?"):
            case "ScalarType":
                return named(value)
            case "Device":
                return tengen.device(value)
    return value


def _listed(argument: Argument, value: Any) -> Any:
    """A list as a tuple; one number for an ``int[2]`` as two."""
    bare = str(argument.type).rstrip("?")
    if bare.endswith("]") and isinstance(value, (list, tuple)):
        return tuple(value)
    if "[" in bare and isinstance(value, int):
        return (value,) * int(re.findall(r"\[(\d+)\]", bare)[0])
    return value


def _interval(text: str | None) -> tuple[float, float]:
    """The bounds that random values keep to: a little inside of an open end."""
    if text is None:
        return -2.0, 2.0
    low, high = (float(part) for part in text.strip("[]() ").split(","))
    low = max(low, min(high, 2.0) - 4.0) if math.isinf(low) else low
    high = low + 3.0 if math.isinf(high) else high
    margin = 0.02 * (high - low)
    return low + (margin if text.startswith("(") else 0), high - (margin if text.endswith(")") else 0)
