"""Type promotion of pointwise operators, pair by pair and number by number, as in PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from oracle import NAMES, agree, operand

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# One of each kind of promotion, and those that treat some dtypes apart.
FUNCTIONS = [
    "add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "float_power", "atan2", "maximum",
    "fmin", "eq", "lt", "logical_and", "bitwise_and", "bitwise_left_shift", "xlogy", "logaddexp", "hypot",
    "copysign", "isclose", "clamp_min", "heaviside",
]  # fmt: skip
INPLACE = [
    "add_",
    "mul_",
    "div_",
    "floor_divide_",
    "pow_",
    "eq_",
    "logical_or_",
    "bitwise_xor_",
    "clamp_max_",
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "<", ">=", "&", "|", "^", "<<", ">>"]
NUMBERS = [True, 2, -1, 2.5, 1j]


def unsupported(*operands: Any) -> bool:
    """PyTorch makes complex32 of float16 with complex numbers, and we complex64."""
    complexes = [o for o in operands if isinstance(o, complex) or "complex" in str(o)]
    return bool(complexes) and "float16" in operands


@pytest.mark.parametrize("function", FUNCTIONS)
def test_two_tensors(function: str) -> None:
    for first, second in itertools.product(NAMES, NAMES):
        if unsupported(first, second):
            continue
        for size in (3, None):
            agree(
                f"m.{function}(a, b)",
                torch,
                a=lambda m, d=first: operand(m, d),
                b=lambda m, d=second, s=size: operand(m, d, s),
            )


@pytest.mark.parametrize("method", INPLACE)
def test_in_place(method: str) -> None:
    for first, second in itertools.product(NAMES, NAMES):
        agree(
            f"a.{method}(b)", torch, a=lambda m, d=first: operand(m, d), b=lambda m, d=second: operand(m, d)
        )


@pytest.mark.parametrize("sign", OPERATORS)
def test_tensor_and_number(sign: str) -> None:
    for dtype, number in itertools.product(NAMES, NUMBERS):
        if unsupported(dtype, number):
            continue
        if sign == "**" and dtype == "uint8" and number == -1:
            continue  # -1 is 255 here before pow sees it
        names: dict[str, Any] = {"a": lambda m, d=dtype: operand(m, d), "n": number}
        agree(f"a {sign} n", torch, **names)
        agree(f"n {sign} a", torch, **names)
        if sign not in ("==", "<", ">="):
            agree(f"r = a; r {sign}= n", torch, **names)


@pytest.mark.parametrize("function", ["add", "exp", "eq", "bitwise_or"])
def test_out(function: str) -> None:
    for dtype, out in itertools.product(
        ["float32", "int32", "bool"], ["float32", "float64", "int64", "bool", "complex64"]
    ):
        rest = "" if function == "exp" else ", a"
        agree(
            f"m.{function}(a{rest}, out=b)",
            torch,
            coarse=1e-6,  # computed in float32
            a=lambda m, d=dtype: operand(m, d),
            b=lambda m, d=out: m.empty(3, dtype=getattr(m, d)),
        )


def test_two_bools_are_not_subtracted() -> None:
    for text in ("a - a", "a.sub(a)", "m.rsub(a, a)", "a - True", "True - a", "-a", "+a"):
        agree(text, torch, a=lambda m: m.tensor([True, False]))
