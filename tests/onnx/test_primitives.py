"""The ONNX form of each primitive gives what NumPy gives: of arrays of all dtypes, and beside numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import tengen.onnx.builder as builder  # noqa: E402
from tengen.codegen.model.operators import Primitive  # noqa: E402
from tengen.core.scalar_type import from_array_dtype  # noqa: E402
from tengen.onnx import symbolics, symbolics_pointwise  # noqa: E402
from tengen.onnx.errors import Unsupported  # noqa: E402
from tengen.onnx.export import newest_opset  # noqa: E402
from tengen.testing.declared import declarations  # noqa: E402
from tengen.testing.primitives import function_of  # noqa: E402
from tengen.testing.symbolics import NOT_ITS, TOLERANCES, session_of  # noqa: E402

HOMES: tuple[ModuleType, ...] = (symbolics, symbolics_pointwise)
FORMS = {name: p for name, p in sorted(declarations().primitives.items()) if p.onnx is not None}
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
#: Inside of the domains, at their ends and outside.
FLOATS = (math.nan, math.inf, -math.inf, 0.0, -0.0, 0.25, -0.25, 0.5, 1.0, -1.0, 1.5, 2.5, -3.5, 3.0)
INTEGERS = (0, 1, 2, 3, 5, 7)
FLOATING = ("float32", "float64")
NUMBERS = (True, 3, 0.75)


def elements(kind: str) -> np.ndarray[Any, Any]:
    """Elements at which functions are worth a look."""
    if kind == "bool":
        return np.array([False, True])
    if kind.startswith("float"):
        return np.array(FLOATS, kind)
    return np.array([*INTEGERS, *([-n for n in INTEGERS[1:]] if kind.startswith("int") else ())], kind)


def grid(kinds: tuple[Any, ...]) -> list[Any]:
    """Operands in which each element of one meets each of the others; numbers stay numbers."""
    arrays = [elements(k) for k in kinds if isinstance(k, str)]
    met = iter([m.reshape(-1) for m in np.meshgrid(*arrays, indexing="ij")])
    return [next(met) if isinstance(k, str) else k for k in kinds]


def operands(count: int) -> Iterator[list[Any]]:
    """Of each dtype; two of different dtypes; and numbers on each side."""
    if count == 3:
        pairs = [
            ("float32", "float32"),
            ("int64", "int64"),
            ("float32", 3),
            (0.5, "int32"),
            ("int8", "float16"),
        ]
        yield from (grid((first, *pair)) for first in ("bool", "float32") for pair in pairs)
        return
    choices = itertools.product((*DTYPES, *NUMBERS), repeat=count)
    for kinds in choices:
        if not any(isinstance(k, str) for k in kinds):
            continue
        given = grid(kinds)
        if count == 2 and all(np.asarray(v).dtype.kind in "biu" for v in given):
            # Integers: ONNX does not say what a division by 0 is, and NumPy refuses negative powers.
            yield kept(given, np.asarray(given[1]) != 0)
            yield kept(given, np.asarray(given[1]) > 0)
        else:
            yield given


def kept(given: list[Any], which: np.ndarray[Any, Any]) -> list[Any]:
    """The operands at some places."""
    return [v[which] if isinstance(v, np.ndarray) and which.ndim else v for v in given]


def value(primitive: Primitive, given: list[Any]) -> Any:
    """The form of these operands, in the graph that is written."""
    form = primitive.onnx
    assert form is not None
    known = {"onnx": builder.onnx, **{k: v for home in HOMES for k, v in vars(home).items()}}
    if form.function is not None:
        return known[form.function.rpartition(".")[2]](*given)
    return eval(form.formula.text, known, dict(zip("xyz", given, strict=False)))


def in_onnxruntime(primitive: Primitive, given: list[Any]) -> np.ndarray[Any, Any] | None:
    """What onnxruntime gives; None where ONNX or it does not have the dtypes."""
    made = builder.Builder(newest_opset())
    names = [f"in{i}" for i in range(len(given))]
    arrays = {n: v for n, v in zip(names, given, strict=True) if isinstance(v, np.ndarray)}
    refs = {n: builder.Ref(n, from_array_dtype(v.dtype), v.shape) for n, v in arrays.items()}
    with made.active():
        try:
            ref = value(primitive, [refs.get(n, v) for n, v in zip(names, given, strict=True)])
        except Unsupported:
            return None
    helper = onnx.helper
    made.nodes.append(helper.make_node("Identity", [ref.name], ["out"]))
    infos = [
        helper.make_tensor_value_info(n, builder.element_type(r.dtype), r.shape) for n, r in refs.items()
    ]
    out = helper.make_tensor_value_info("out", builder.element_type(ref.dtype), None)
    graph = helper.make_graph(made.nodes, "probe", infos, [out], initializer=made.initializers)
    imports = [helper.make_opsetid("", max(20, *made.versions, 14))]
    model = helper.make_model(
        graph, opset_imports=imports, ir_version=helper.find_min_ir_version_for(imports)
    )
    try:
        session = session_of(model)
    except Exception as error:
        if any(word in str(error) for word in NOT_ITS):
            return None
        raise
    found: np.ndarray[Any, Any] = session.run(None, arrays)[0]
    return found


def by_numpy(primitive: Primitive, given: list[Any]) -> np.ndarray[Any, Any] | None:
    """What NumPy gives; None where it refuses. Functions of their own are called with float32 and float64."""
    if primitive.function is not None and any(getattr(v, "dtype", "") not in FLOATING for v in given):
        return None
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function_of(primitive)(*given))
    except (TypeError, ValueError, OverflowError):
        return None


@pytest.mark.parametrize("name", FORMS)
def test_the_form_gives_what_numpy_gives(name: str) -> None:
    primitive = FORMS[name]
    compared = []
    for given in operands(primitive.arguments):
        expected = by_numpy(primitive, given)
        if expected is None:
            continue
        found = in_onnxruntime(primitive, given)
        if found is None:
            continue
        shown = ", ".join(str(v.dtype) if isinstance(v, np.ndarray) else repr(v) for v in given)
        assert found.dtype == expected.dtype, f"{name}({shown}): {found.dtype} is not {expected.dtype}"
        rtol, atol = TOLERANCES.get(expected.dtype.name, (0.0, 0.0))
        a, b = found.astype(np.float64), expected.astype(np.float64)
        close = np.isclose(a, b, rtol, atol, equal_nan=True)
        where = [v[~close][:4] if isinstance(v, np.ndarray) else v for v in given]
        assert close.all(), f"{name}({shown}) at {where}: {a[~close][:4]} is not {b[~close][:4]}"
        compared.append(shown)
    assert compared
