"""What PyTorch gives, kept in recorded.json, so that it is compared where torch is not installed.

``python tests/operators/recorded.py`` asks torch anew and writes the file. It says of operators

    defaults    the defaults of their arguments;
    dtypes      for each dtype of the inputs the dtypes of the results of all samples;
    tensors     for each two dtypes that of the result of two tensors, the second of which is 0-d, too;
    numbers     for each dtype that of the result of a tensor, a 0-d one too, with numbers of each class;
    in place    for each two dtypes that of the first tensor after the operator wrote to it.

A dtype is one of CODES; those of several results stand together, those of several samples behind ``/``.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from promoting import BINARY, DTYPES, INPLACE, NUMBERED, NUMBERS, given, operands, tensor_and_number

import tengen
from tengen.testing.declared import calls, declared_operators, operators, run

FILE = Path(__file__).resolve().with_name("recorded.json")

CODES = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float16": "e",
    "bfloat16": "E",
    "float32": "f",
    "float64": "d",
    "complex32": "C",
    "complex64": "F",
    "complex128": "D",
}
#: No result, but an error; and a dtype that tengen has not.
ERROR, UNKNOWN = "-", "."

#: Makes a tensor of an array, and calls an operator, or a variant of one, with its arguments.
Make = Callable[[Any], Any]
Call = Callable[[str, Any, list[Any]], Any]


class Library:
    """One of the libraries that are asked."""

    def __init__(self, make: Make, call: Call) -> None:
        self.make, self._call = make, call

    def code(self, name: str, operator: str, values: Iterable[Any]) -> str:
        """The dtypes of a call's results. The values have arrays where tensors belong."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                result = self._call(name, operators()[operator], [self._made(v) for v in values])
            except Exception:
                return ERROR
        return "".join([CODES.get(str(t.dtype).rpartition(".")[2], UNKNOWN) for t in _flat(result)])

    def _made(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.make(value.copy())
        return [self._made(v) for v in value] if isinstance(value, list) else value


TENGEN = Library(tengen.from_numpy, lambda name, operator, values: run(name, values))


def _flat(result: Any) -> list[Any]:
    if hasattr(result, "dtype"):
        return [result]
    return [t for r in result for t in _flat(r)] if isinstance(result, (list, tuple)) else []


def dtypes(library: Library, name: str) -> str:
    """What is said of an operator's samples. Of a dtype in which one of them is an error, only that."""
    found = []
    for kind in DTYPES:
        codes = [library.code(name, name, c.arrays(kind)) for c in calls(name) if c.takes(kind)]
        found.append(ERROR if ERROR in codes else "/".join(dict.fromkeys(codes)))
    return " ".join(found)


def tensors(library: Library, name: str) -> str:
    """What is said of two tensors."""
    first, second = operands(operators()[name])

    def code(one: Any, other: Any, shape: tuple[int, ...]) -> str:
        return library.code(
            name, name, given(name, {first: one, second: other}, {first: (3,), second: shape})
        )

    return " ".join(["".join([code(a, b, s) for b in DTYPES for s in ((3,), ())]) for a in DTYPES])


def numbers(library: Library, name: str) -> str:
    """What is said of a tensor and a number."""
    tensor, number = tensor_and_number(operators()[name])

    def code(kind: Any, shape: tuple[int, ...], value: Any) -> str:
        values = given(name, {tensor: kind}, {tensor: shape})
        values[number] = value
        return library.code(name, name, values)

    return " ".join(["".join([code(k, s, n) for s in ((3,), ()) for n in NUMBERS]) for k in DTYPES])


def in_place(library: Library, name: str) -> str:
    """What is said of an in-place variant."""
    base = INPLACE[name]
    first, second = operands(operators()[base])

    def code(one: Any, other: Any) -> str:
        return library.code(name, base, given(base, {first: one, second: other}, {first: (3,), second: (3,)}))

    return " ".join(["".join([code(a, b) for b in DTYPES]) for a in DTYPES])


TABLES: dict[str, tuple[Callable[[Library, str], str], Callable[[], Iterable[str]]]] = {
    "dtypes": (dtypes, operators),
    "tensors": (tensors, lambda: BINARY),
    "numbers": (numbers, lambda: NUMBERED),
    "in place": (in_place, lambda: INPLACE),
}


# -- defaults --------------------------------------------------------------------------------


#: Types of arguments whose values are numbers in one library and names in the other.
_ENUMERATIONS = ("ScalarType", "MemoryFormat", "Layout")


def defaults(name: str, of: Callable[[int, Any], Any]) -> str:
    """The defaults of an operator's arguments as text: ``dim=-1 keepdim=False``.

    ``of`` gives the default of the argument at a place. A number may be 1 in one library, 1.0 in the other.
    """
    found = []
    for place, argument in enumerate(declared_operators()[name].schema.arguments):
        if argument.default is not None and str(argument.type).rstrip("?") not in _ENUMERATIONS:
            value = of(place, argument)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            value = list(value) if isinstance(value, tuple) else value
            found.append(f"{argument.name}={float(value) if number else value!r}")
    return " ".join(found)


# -- the file --------------------------------------------------------------------------------


@functools.cache
def recorded() -> dict[str, dict[str, str]]:
    """What is kept: the texts of each table by operators."""
    tables = json.loads(FILE.read_text(encoding="utf-8"))
    return {t: {n: text for text, names in g.items() for n in names} for t, g in tables.items()}


def write(tables: Mapping[str, Mapping[str, str]]) -> None:
    """Write the file: what is said alike of several operators stands once, before their names."""
    found: dict[str, dict[str, list[str]]] = {}
    for table, texts in tables.items():
        groups = found[table] = {}
        for name, text in sorted(texts.items()):
            groups.setdefault(text, []).append(name)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def of_torch() -> dict[str, dict[str, str]]:
    """The tables as torch has them. It must be installed."""
    import torch_side as side

    library = Library(side.from_array, side.call)

    def arguments(name: str) -> Any:
        return side.overload(name)._schema.arguments

    same = {n for n, o in declared_operators().items() if side.same_schema(o)}
    found = {
        table: {
            n: text(library, n) for n in names() if INPLACE.get(n, n) in same and side.overload(n) is not None
        }
        for table, (text, names) in TABLES.items()
    }
    texts = {n: defaults(n, lambda i, _, n=n: arguments(n)[i].default_value) for n in same}
    return {"defaults": {n: t for n, t in texts.items() if t}, **found}


if __name__ == "__main__":
    write(of_torch())
