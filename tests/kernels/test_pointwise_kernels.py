"""Every pointwise kernel, as its declaration writes it, against PyTorch's operator of that name.

The operands hold the values where rules differ: zeros of both signs, infinities, NaN, halves,
the ends of the integer types. Each dtype that the declaration claims is tried, and PyTorch must
claim the same ones.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from yaml_files import read_yaml

import tengen.codegen
from tengen.kernels import complex as complex_kernels, pointwise, special

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

DECLARATIONS = Path(tengen.codegen.__file__).resolve().parent.parent / "declarations"
FILES = ("unary.yaml", "binary.yaml", "ternary.yaml", "comparison.yaml", "complex.yaml")
DTYPES: dict[str, Any] = {
    "bool": np.bool_, "uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32,
    "int64": np.int64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32,
    "float64": np.float64, "complex64": np.complex64, "complex128": np.complex128,
}  # fmt: skip
CATEGORIES = {
    "all": tuple(DTYPES),
    "bool": ("bool",),
    "integral": ("uint8", "int8", "int16", "int32", "int64"),
    "floating": ("float32", "float64"),
    "reduced": ("float16", "bfloat16"),
    "complex": ("complex64", "complex128"),
    "unsigned": (),  # these have tests of their own: tests/operators/test_limited_dtypes.py
    "float8": (),
    "reduced_complex": (),
}
KERNELS = {
    name: value
    for module in (pointwise, special, complex_kernels)
    for name, value in vars(module).items()
    if callable(value)
}
REALS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -3.7, 0.25, math.inf, -math.inf, math.nan, 20.0]
INTEGERS = [0, 1, 2, 3, 5, 7, 100, 127, -1, -2, -7, -128]
# Where NumPy's and PyTorch's libraries differ in signs of zeros and NaNs of one part, by design.
FINITE_COMPLEX = [0j, 1 + 0j, -1 + 0.5j, 0.3 - 2j, 1.5 + 1.5j, 1e-3 + 2j, -0.7 - 0.2j]


@dataclass(frozen=True)
class Declared:
    name: str
    arguments: tuple[tuple[str, str], ...]  # type and name
    kernel: str
    dtypes: frozenset[str]
    fields: dict[str, Any]

    @property
    def function(self) -> str:
        return self.name.partition(".")[0]


def dtypes_of(text: str) -> frozenset[str]:
    chosen: set[str] = set()
    for word in text.split(","):
        name = word.strip()
        members = set(CATEGORIES.get(name.lstrip("-"), (name.lstrip("-"),)))
        chosen = chosen - members if name.startswith("-") else chosen | members
    return frozenset(chosen & {*DTYPES})


def declared() -> Iterator[Declared]:
    for file in FILES:
        for entry in read_yaml(DECLARATIONS / f"native_functions.{file}"):
            kernel = entry["dispatch"].get("CPU")
            if kernel is None or entry["func"].startswith(("_", "view_as")) or "!" in entry["func"]:
                continue
            name, _, rest = entry["func"].partition("(")
            arguments = re.findall(r"(\w+\??)(?:\(\w\))? (\w+)(?:=[^,)]*)?", rest.rpartition(")")[0])
            dtypes = dtypes_of(entry["dtypes"])
            if name == "complex":  # of float16 it is complex32, which has tests of its own
                dtypes -= {"float16"}
            yield Declared(name, tuple(arguments), kernel, dtypes, entry)


OPERATORS = {d.name: d for d in declared()}


def values(dtype: str) -> np.ndarray[Any, Any]:
    kind = np.dtype(DTYPES[dtype])
    if dtype == "bool":
        return np.array([True, False])
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return np.array(
            [v for v in INTEGERS if limits.min <= v <= limits.max] + [limits.min, limits.max], kind
        )
    if kind.kind == "c":
        return np.array(FINITE_COMPLEX, kind)
    return np.array(REALS).astype(kind)


def to_torch(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)  # keeps the sign of NaN
    return torch.from_numpy(array.copy())


def evaluate(operator: Declared, arguments: dict[str, Any]) -> Any:
    """The kernel's result, reduced operands computed in float32 unless opmath says otherwise."""
    reduced = None
    if operator.fields.get("opmath", True):
        for name, value in arguments.items():
            if isinstance(value, np.ndarray) and value.dtype.itemsize == 2 and value.dtype.kind in "fV":
                reduced = value.dtype
                arguments = {**arguments, name: value.astype(np.float32)}
    names = {"xp": np, **KERNELS, **arguments}
    text = operator.kernel
    result = eval(text, names)
    if callable(result) and isinstance(ast.parse(text, mode="eval").body, ast.Name):
        result = result(*[arguments[name] for _, name in operator.arguments])
    if reduced is not None and np.asarray(result).dtype == np.float32:
        result = np.asarray(result).astype(reduced)
    return np.asarray(result)


def as_float(array: Any) -> Any:
    return array.astype(np.float32) if array.dtype in (np.float16, ml_dtypes.bfloat16) else array


TOLERANCE = {"bfloat16": 1.6e-2, "float16": 2e-3, "float32": 2e-5, "complex64": 5e-5}


def compare(ours: Any, theirs: Any, dtype: str, expected: str) -> None:
    assert ours.shape == tuple(theirs.shape)
    assert str(ours.dtype) == expected == str(theirs.dtype).removeprefix("torch.")
    other = theirs.float().numpy() if theirs.dtype in (torch.float16, torch.bfloat16) else theirs.numpy()
    if ours.dtype.kind in "biu":
        np.testing.assert_array_equal(ours, other)
        return
    tolerance = TOLERANCE.get(dtype, 1e-8)  # of float64 too: so coarse is trigamma
    np.testing.assert_allclose(as_float(ours), other, rtol=tolerance, atol=tolerance)


def scalars(kind: str) -> list[Any]:
    found: dict[str, list[Any]] = {"b": [True], "i": [0, 1, 3, -2], "u": [0, 1, 3], "c": [2, 0.5, 1.5 - 1j]}
    return found.get(kind, [0, 2, 0.5, -1.5, 0.75])


# Numbers that an argument other than an operand takes.
EXTRA: dict[str, dict[str, list[Any]]] = {
    "logit": {"eps": [None, 0.2]},
    "nan_to_num": {"nan": [None, 1.5], "posinf": [None, 3.0], "neginf": [None, -2.0]},
    "round.decimals": {"decimals": [0, 2, -1]},
    "polygamma": {"n": [0, 1, 2]},
    "clamp": {"min": [None, -1, 1], "max": [0, 2]},
}
# Calls in which PyTorch raises an error, or which are undefined there.
SKIP = {
    "floor_divide": "zero", "floor_divide.Scalar": "zero", "fmod.Tensor": "zero", "fmod.Scalar": "zero",
    "remainder.Tensor": "zero", "remainder.Scalar": "zero", "remainder.Scalar_Tensor": "zero",
}  # fmt: skip
# Where PyTorch's own kernels do not agree with each other: at the poles and the end of polygamma,
# at -inf ** 0.5, where 2 ** 20 leaves float16 before the product, and where complex numbers are
# divided by 0.
LEFT_OUT: dict[tuple[str, str], tuple[complex, ...]] = {
    ("polygamma", "f"): (-1.0, -math.inf, math.inf),
    ("pow.Tensor_Scalar", "f"): (-math.inf,),
    ("ldexp.Tensor", "f"): (20.0,),
    ("addcdiv", "c"): (0j,),
    ("pow.Tensor_Tensor", "c"): (0j,),
    ("pow.Tensor_Scalar", "c"): (0j,),
    ("pow.Scalar", "c"): (0j,),
}


def operands(operator: Declared, dtype: str) -> Iterator[dict[str, Any]]:
    """Calls: tensors meet in every combination of their values, numbers one after the other."""
    tensors = [name for kind, name in operator.arguments if kind.startswith("Tensor") and name != "condition"]
    mesh = np.meshgrid(*[values(dtype)] * len(tensors), indexing="ij")
    fixed = dict(zip(tensors, [m.ravel() for m in mesh], strict=True))
    kind = np.dtype(DTYPES[dtype]).kind
    left_out = LEFT_OUT.get((operator.name, "f" if kind == "V" else kind), ())
    keep = ~np.any([np.isin(v.astype(complex), left_out) for v in fixed.values()], axis=0)
    fixed = {n: v[keep] for n, v in fixed.items()}
    if operator.name in SKIP and kind in "iu":
        for name in ("self", "other") if "Scalar" not in operator.name else ():
            keep = (fixed["other"] != 0) & ~((fixed["other"] == -1) & (fixed["self"] == values(dtype).min()))
            fixed = {n: v[keep] for n, v in fixed.items()} if name == "other" else fixed
        if operator.name == "remainder.Scalar_Tensor":
            fixed = {"other": fixed["other"][fixed["other"] != 0]}
    if "condition" in [name for _, name in operator.arguments]:
        size = len(next(iter(fixed.values())))
        fixed["condition"] = np.arange(size) % 2 == 0
    choices: dict[str, list[Any]] = {}
    for kind_, name in operator.arguments:
        if name in fixed:
            continue
        if name in EXTRA.get(operator.name, {}):
            choices[name] = [v for v in EXTRA[operator.name][name] if kind != "u" or v is None or v >= 0]
        elif name in ("alpha", "value"):
            choices[name] = [True] if dtype == "bool" else [1, 2]
        elif kind_.startswith("Scalar"):
            found = scalars("f" if kind == "V" else kind)
            choices[name] = [s for s in found if s or operator.name not in SKIP]
        else:
            raise AssertionError(f"{operator.name}: what is {name}?")
    for chosen in itertools.product(*choices.values()):
        yield {**fixed, **dict(zip(choices, chosen, strict=True))}


def call_torch(operator: Declared, arguments: dict[str, Any]) -> Any:
    function = getattr(torch, operator.function, None) or getattr(torch.special, operator.function)
    ordered, keywords = [], {}
    text = operator.fields["func"]
    by_keyword = text[text.find("*,") :] if "*," in text else ""
    for _, name in operator.arguments:
        value = arguments[name]
        value = to_torch(value) if isinstance(value, np.ndarray) else value
        if name == "alpha" or f" {name}" in by_keyword:
            keywords[name] = value
        else:
            ordered.append(value)
    return function(*ordered, **keywords)


def expected_dtype(operator: Declared, dtype: str) -> str:
    promote = operator.fields.get("promote")
    kind = promote.get("kind") if isinstance(promote, dict) else promote
    implied = {"always_bool": "bool", "complex_to_float": "real"}.get(str(kind), "same")
    result = operator.fields.get("result") or implied
    if result == "bool":
        return "bool"
    if result == "real":
        return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    if operator.function in ("complex", "polar"):
        return {"float32": "complex64", "float64": "complex128"}[dtype]
    return dtype


@pytest.mark.parametrize("name", list(OPERATORS))
def test_values(name: str) -> None:
    operator = OPERATORS[name]
    for dtype in sorted(operator.dtypes):
        for arguments in operands(operator, dtype):
            try:
                theirs = call_torch(operator, arguments)
            except RuntimeError as error:
                with pytest.raises(RuntimeError):
                    evaluate(operator, arguments)
                    raise AssertionError(f"{dtype}: torch says {error}") from error
                continue
            try:
                compare(evaluate(operator, arguments), theirs, dtype, expected_dtype(operator, dtype))
            except AssertionError as error:
                plain = {k: v for k, v in arguments.items() if not isinstance(v, np.ndarray)}
                raise AssertionError(f"{name} {dtype} {plain}: {error}") from None


def claims(operator: Declared, dtype: str) -> bool:
    """Whether PyTorch computes in this dtype."""
    ones = np.ones(2, DTYPES[dtype])
    number: Any = bool(1) if dtype == "bool" else 1
    plain = {"Tensor": ones, "Tensor?": ones, "Scalar": number, "int": 1}
    arguments = {n: plain.get(k) for k, n in operator.arguments}
    if "condition" in arguments:
        arguments["condition"] = np.ones(2, bool)
    if operator.function == "clamp":  # of bools only with one bound
        arguments |= {"min": number if operator.name == "clamp" else ones, "max": None}
    try:
        result = call_torch(operator, arguments)
    except RuntimeError:
        return False
    return not str(result.dtype).startswith("torch.complex32")


@pytest.mark.parametrize("name", list(OPERATORS))
def test_dtypes(name: str) -> None:
    operator = OPERATORS[name]
    promote = str(operator.fields.get("promote"))
    for dtype in DTYPES:
        if "int_to_float" in promote and dtype in (*CATEGORIES["bool"], *CATEGORIES["integral"]):
            continue  # computed in the default dtype
        if "bool_to_long" in promote and dtype == "bool":
            continue
        assert claims(operator, dtype) == (dtype in operator.dtypes), dtype


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8])
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_division_of_integers(dtype: Any, mode: str) -> None:
    a, b = [m.ravel() for m in np.meshgrid(values(np.dtype(dtype).name), values(np.dtype(dtype).name))]
    keep = (b != 0) & ~((b == -1) & (a == np.iinfo(dtype).min)) if np.dtype(dtype).kind == "i" else b != 0
    a, b = a[keep], b[keep]
    ours = pointwise.div_rounded(a, b, mode)
    theirs = torch.div(torch.from_numpy(a), torch.from_numpy(b), rounding_mode=mode).numpy()
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_division_of_floats(mode: str) -> None:
    a, b = [m.ravel() for m in np.meshgrid(values("float32"), values("float32"))]
    theirs = torch.div(torch.from_numpy(a), torch.from_numpy(b), rounding_mode=mode).numpy()
    np.testing.assert_array_equal(pointwise.div_rounded(a, b, mode), theirs)


@pytest.mark.parametrize("kernel", [pointwise.floor_divide, pointwise.remainder, pointwise.fmod])
def test_integers_divided_by_zero(kernel: Any) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        kernel(np.array([1, 2]), np.array([1, 0]))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        kernel(np.array([1, 2]), 0)
    assert kernel(np.array([], np.int64), 0).shape == (0,)


def test_alpha_must_fit() -> None:
    ints = np.array([1, 2])
    with pytest.raises(RuntimeError, match="must not be a floating point"):
        pointwise.scaled(ints, 2.5)
    with pytest.raises(RuntimeError, match="must not be a complex"):
        pointwise.scaled(np.ones(2), 2j)
    assert pointwise.scaled(ints.astype(np.uint8), 3).dtype == np.uint8
    assert pointwise.scaled(np.array([True, False]), 1).dtype == np.bool_


def test_where_wants_a_bool() -> None:
    with pytest.raises(RuntimeError, match="boolean tensor"):
        pointwise.truth(np.ones(2, np.float32), "where", "condition")


def test_a_kernel_never_returns_its_operand() -> None:
    for operator in OPERATORS.values():
        for dtype in operator.dtypes & {"bool", "int64", "float32"}:
            arguments = next(operands(operator, dtype))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    result = evaluate(operator, arguments)
                except RuntimeError:
                    continue
            arrays = [v for v in arguments.values() if isinstance(v, np.ndarray)]
            assert not any(np.may_share_memory(result, v) for v in arrays), operator.name
