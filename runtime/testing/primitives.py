"""What primitives.yaml says: derivatives against differences, and whether what it names is there.

Operators show little of it: where one has a derivative of its own, that of the primitive is for operators to
come; and of a model that names what ONNX has not, onnxruntime says the same as of a dtype that it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from tengen.codegen.model.names import OPERANDS, POLYNOMIAL
from tengen.codegen.model.operators import Primitive
from tengen.codegen.read.functions import of_library
from tengen.ir.expressions import Attribute, Name, walk
from tengen.ir.writer import write

Array = np.ndarray[Any, Any]

#: Where functions are looked at: on both sides of zero and of one, none where branches meet, no two alike.
POINTS = (-2.9, -1.7, -0.62, -0.31, 0.23, 0.57, 1.3, 2.6)
#: A difference with this step is off by a third derivative times its square, and by rounding divided by it.
STEP = 1e-5
RTOL, ATOL = 1e-5, 1e-7


@dataclass(frozen=True, slots=True)
class Wrong:
    """A mistake: of the derivative by an operand, of the ONNX form in an operator, or of the function."""

    primitive: str
    operand: int | None  # None: in the ONNX form, or the function
    message: str
    got: str = ""
    expected: str = ""


def mistakes(primitives: Mapping[str, Primitive]) -> Iterator[Wrong]:
    """What is wrong about primitives, by their names."""
    scope = {**vars(np), "__builtins__": {}, POLYNOMIAL: lambda x, *factors: np.polyval(factors, x)}
    for name, primitive in primitives.items():
        if primitive.function is not None:
            try:
                scope[name] = function_of(primitive)
            except (ImportError, AttributeError) as error:
                message = f"there is no function {primitive.function}: {error}"
                yield Wrong(name, None, message, primitive.function)
    for primitive in primitives.values():
        yield from _mistakes(primitive, scope)


def function_of(primitive: Primitive) -> Callable[..., Any]:
    """NumPy's function, or that which the primitive says.

    ImportError and AttributeError where there is none.
    """
    module, _, name = of_library(primitive.function or f"numpy:{primitive.name}").partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def _mistakes(primitive: Primitive, scope: Mapping[str, Any]) -> Iterator[Wrong]:
    known = {*scope, *OPERANDS, "result"}
    for number, formula in enumerate(primitive.derivative or ()):
        if formula is not None and {primitive.name, *formula.names()} <= known:
            yield from _derivative(primitive, number, write(formula.tree), scope)
    if primitive.onnx is not None and find_spec("onnx") is not None:
        for name in unknown_operators(primitive.onnx.formula.tree):
            yield Wrong(primitive.name, None, f'ONNX has no operator "{name}"', got=name)


def unknown_operators(tree: Any) -> list[str]:
    """The operators that an expression of ONNX's names, and that ONNX has not."""
    import onnx

    named = [n.name for n in walk(tree) if isinstance(n, Attribute) and n.value == Name("onnx")]
    return [name for name in named if not onnx.defs.has(name)]


def _operands(primitive: Primitive) -> list[Any]:
    """Points; and whole numbers where a function of its own has an operand that nothing flows to."""
    points = [a.ravel() + k / 16 for k, a in enumerate(np.meshgrid(*[POINTS] * primitive.arguments))]
    numbers = [f is None and primitive.function is not None for f in primitive.derivative or ()]
    return [2 if number else a for number, a in zip(numbers, points, strict=True)]


def _derivative(primitive: Primitive, number: int, text: str, known: Mapping[str, Any]) -> Iterator[Wrong]:
    """Of real operands the formula is what the function's difference is, wherever that is finite."""
    function, operands = known[primitive.name], _operands(primitive)
    with np.errstate(all="ignore"):
        ends = []
        for sign in (1, -1):
            moved = [a + sign * STEP * (k == number) for k, a in enumerate(operands)]
            ends.append(np.asarray(function(*moved), np.float64))
        expected = (ends[0] - ends[1]) / (2 * STEP)
        names = dict(zip(OPERANDS, operands, strict=False)) | {"result": function(*operands)}
        got = np.broadcast_to(np.asarray(eval(text, {**known, **names}), np.float64), expected.shape)
        good = np.isclose(got, expected, RTOL, ATOL) | ~np.isfinite(expected)
    if not good.all():
        at = int(np.argmin(good))
        values = [float(np.broadcast_to(a, expected.shape)[at]) for a in operands]
        where = ", ".join(f"{name}={value:.4g}" for name, value in zip(OPERANDS, values, strict=False))
        message = f"the derivative of {primitive.name} by {OPERANDS[number]} is wrong at {where}"
        yield Wrong(primitive.name, number, message, f"{float(got[at]):.6g}", f"{float(expected[at]):.6g}")
