"""Calls with operands of different dtypes: which operators have them, and their arguments."""

from __future__ import annotations

from typing import Any

from tengen.codegen.model.operators import Operator
from tengen.core.scalar_type import named
from tengen.testing import declared
from tengen.testing.declared import calls, kind_of, operators, variants
from tengen.testing.samples import Random

DTYPES = [named(s.dtype) for s in declared.scalar_types()]
PROMOTING = {n: o for n, o in operators().items() if o.promote is not None and "pointwise" in o.tags}
NUMBERS = (True, 3, 2.5, 1 + 2j)


def operands(operator: Operator) -> list[int]:
    """Where the promoted operands stand among the arguments; samples must give them all."""
    arguments = operator.schema.arguments
    return [i for i, a in enumerate(arguments) if a.name in operator.promoted and a.default is None]


def of_tensors(operator: Operator) -> bool:
    """Whether the operator takes two tensors that promote, neither being a list."""
    places = operands(operator)
    return len(places) == 2 and all(operator.schema.arguments[i].is_tensor for i in places)


def with_number(operator: Operator) -> bool:
    """Whether the operator takes a tensor and a number that promote."""
    types = {str(operator.schema.arguments[i].type) for i in operands(operator)}
    return types == {"Tensor", "Scalar"}


def tensor_and_number(operator: Operator) -> tuple[int, int]:
    """Where the tensor and where the number stands that such an operator takes."""
    tensor = next(i for i in operands(operator) if operator.schema.arguments[i].is_tensor)
    return tensor, next(i for i in operands(operator) if i != tensor)


BINARY = [n for n, o in PROMOTING.items() if of_tensors(o)]
NUMBERED = [n for n, o in PROMOTING.items() if with_number(o)]
#: The in-place variants with the operators that they are of.
INPLACE = {n: str(v.base) for n, v in variants().items() if kind_of(v) == "inplace" and str(v.base) in BINARY}


def given(name: str, kinds: dict[int, Any], shapes: dict[int, Any]) -> list[Any]:
    """The arrays of an operator's first sample, its operands being of these dtypes and shapes."""
    call = calls(name)[0]
    values = call.arrays(DTYPES[-1])
    for i, kind in kinds.items():
        random = call.values[i]
        low, high = (random.low, random.high) if isinstance(random, Random) else (0.0, 3.0)
        values[i] = Random(shapes[i], low, high, 7 + i).array(kind)
    return values
