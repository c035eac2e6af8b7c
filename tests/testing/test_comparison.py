"""``assert_close`` and ``make_tensor``: the same outcomes as ``torch.testing``'s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen

Program = Callable[[Any], Any]  # of the library, tengen or torch


def comparisons() -> dict[str, Program]:
    """What is compared, by what it shows."""

    def of(*arguments: Callable[[Any], Any], **keywords: Any) -> Program:
        return lambda lib: lib.testing.assert_close(*(a(lib) for a in arguments), **keywords)

    def t(*values: Any, **keywords: str) -> Callable[[Any], Any]:
        return lambda lib: lib.tensor(*values, **{k: getattr(lib, v) for k, v in keywords.items()})

    def plain(value: Any) -> Callable[[Any], Any]:
        return lambda lib: value

    nan = float("nan")
    return {
        "equal": of(t([1.0, 2.0]), t([1.0, 2.0])),
        "near": of(t([1.0, 2.0]), t([1.0, 2.000001])),
        "values": of(t([1.0, 2.0]), t([1.0, 2.5])),
        "matrix": of(t([[1.0, 2.0], [3.0, 4.0]]), t([[1.0, 2.0], [3.0, 5.0]])),
        "zero": of(t([0.0, 1.0]), t([0.5, 1.0])),
        "0-d": of(t(1.0), t(1.5)),
        "integers": of(t([1, 2]), t([1, 3])),
        "large integers": of(t([2**60, 3]), t([2**60 + 1, 3])),
        "large integers, near": of(t([2**60, 3]), t([2**60 + 1, 3]), rtol=0, atol=1),
        "large integers, 0-d": of(t(2**62 + 1), t(2**62)),
        "large numbers": of(plain(2**60), plain(2**60 + 1)),
        "ends of int64": of(t([-(2**63), 2**63 - 1]), t([2**63 - 1, -(2**63)])),
        "unsigned, near": of(t([0, 255], dtype="uint8"), t([1, 254], dtype="uint8"), rtol=0, atol=1),
        "bools": of(t([True, False]), t([True, True])),
        "complex": of(t([1 + 1j]), t([1 + 2j])),
        "shapes": of(t([1.0, 2.0]), t([1.0])),
        "dtypes": of(t([1.0]), t([1.0], dtype="float64")),
        "dtypes unchecked": of(t([1.0]), t([1.0], dtype="float64"), check_dtype=False),
        "half": of(t([1.0], dtype="float16"), t([1.0005], dtype="float64"), check_dtype=False),
        "nan": of(t([nan]), t([nan])),
        "equal nan": of(t([nan]), t([nan]), equal_nan=True),
        "infinity": of(t([float("inf")]), t([float("inf")])),
        "one tolerance": of(t([1.0]), t([1.0]), rtol=1.0),
        "tolerances": of(t([1.0]), t([1.5]), rtol=0.0, atol=0.6),
        "empty": of(t([]), t([])),
        "numbers": of(plain(1.0), plain(2.0)),
        "ints": of(plain(1), plain(2)),
        "types of numbers": of(plain(1), plain(1.0)),
        "truth": of(plain(True), plain(False)),
        "none": of(plain(None), plain(1)),
        "strings": of(plain("a"), plain("a")),
        "tensor and number": of(t([1.0]), plain(1.0)),
        "arrays": of(plain(np.array([1.0])), plain(np.array([2.0]))),
        "lengths": of(plain([1.0]), plain([1.0, 2.0])),
        "list and tuple": of(plain([1.0]), plain((1.0,))),
        "keys": of(plain({"a": 1}), plain({"b": 1})),
        "more keys": of(plain({"a": 1, "b": 1}), plain({"a": 1})),
        "fewer keys": of(plain({"a": 1}), plain({"a": 1, "b": 1})),
        "nested": of(plain({"a": [1.0, 2.0]}), plain({"a": [1.0, 3.0]})),
        "message": of(t([1.0]), t([2.0]), msg="no"),
        "made message": of(t([1.0]), t([2.0]), msg=lambda text: f"no: {len(text) > 5}"),
    }


COMPARISONS = comparisons()


def outcome(program: Program, library: Any) -> str:
    """What comes of a comparison: nothing, or an error's class and the head of its text."""
    try:
        program(library)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).replace('torch.Size', 'tengen.Size')}"
    return "close"


TENSORS = "AssertionError: Tensor-likes are not "
SCALARS = "AssertionError: Scalars are not "
KEYS = "AssertionError: The keys of the mappings do not match"
EXPECTED = {
    "equal": "close",
    "near": "close",
    "values": TENSORS + "close!",
    "matrix": TENSORS + "close!",
    "zero": TENSORS + "close!",
    "0-d": SCALARS + "close!",
    "integers": TENSORS + "equal!",
    "large integers": TENSORS + "equal!",
    "large integers, near": "close",
    "large integers, 0-d": SCALARS + "equal!",
    "large numbers": SCALARS + "equal!",
    "ends of int64": TENSORS + "equal!",
    "unsigned, near": "close",
    "bools": TENSORS + "equal!",
    "complex": TENSORS + "close!",
    "shapes": "AssertionError: The values for attribute 'shape' do not match",
    "dtypes": "AssertionError: The values for attribute 'dtype' do not match",
    "dtypes unchecked": "close",
    "half": "close",
    "nan": TENSORS + "close!",
    "equal nan": "close",
    "infinity": "close",
    "one tolerance": "ValueError: Both 'rtol' and 'atol' must be either specified or omitted",
    "tolerances": "close",
    "empty": "close",
    "numbers": SCALARS + "close!",
    "ints": SCALARS + "equal!",
    "types of numbers": "AssertionError: The (d)types do not match",
    "truth": "AssertionError: Booleans mismatch: True is not False",
    "none": "AssertionError: None mismatch: None is not 1",
    "strings": "TypeError: ",
    "tensor and number": "TypeError: ",
    "arrays": TENSORS + "close!",
    "lengths": "AssertionError: The length of the sequences mismatch: 1 != 2",
    "list and tuple": "close",
    "keys": KEYS,
    "more keys": KEYS,
    "fewer keys": KEYS,
    "nested": SCALARS + "close!",
    "message": "AssertionError: no",
    "made message": "AssertionError: no: True",
}


#: rtol and atol, as PyTorch's documentation lists them; integers and bools are compared exactly.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
    "int64": (0.0, 0.0),
    "bool": (0.0, 0.0),
}


@pytest.mark.parametrize("library", ["tengen", pytest.param("torch", marks=pytest.mark.oracle)])
@pytest.mark.parametrize("wide", ["float64", "complex128"])
@pytest.mark.parametrize("name", TOLERANCES)
def test_the_wider_of_two_tolerances_is_allowed(library: str, wide: str, name: str) -> None:
    """``|actual - expected| <= atol + rtol |expected|``, just within and just beyond."""
    lib = pytest.importorskip(library)
    rtol, atol = (max(pair) for pair in zip(TOLERANCES[name], TOLERANCES[wide], strict=True))
    actual = lib.tensor([1.0], dtype=getattr(lib, name))
    for part, near in ((0.99, True), (1.01, False)):
        # Of what differs from 1 by this part of what is allowed.
        for expected in ((1 + part * atol) / (1 - part * rtol), (1 - part * atol) / (1 + part * rtol)):
            pair = actual, lib.tensor([expected], dtype=getattr(lib, wide))
            found = outcome(lambda lib, pair=pair: lib.testing.assert_close(*pair, check_dtype=False), lib)
            assert (found == "close") is near, found


def test_every_comparison_has_an_outcome() -> None:
    assert set(EXPECTED) == set(COMPARISONS)


@pytest.mark.parametrize("name", EXPECTED)
def test_outcomes(name: str) -> None:
    assert outcome(COMPARISONS[name], tengen).startswith(EXPECTED[name])


@pytest.mark.oracle
@pytest.mark.parametrize("name", COMPARISONS)
def test_outcomes_are_torchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (outcome(COMPARISONS[name], lib) for lib in (tengen, torch))
    assert ours.split("\n")[0].split(".")[0][:40] == theirs.split("\n")[0].split(".")[0][:40] or (
        ours.startswith("TypeError") and theirs.startswith("TypeError")
    )
    if "Mismatched" in theirs:
        assert ours.split("\n")[2] == theirs.split("\n")[2]


def test_the_worst_element_is_told() -> None:
    with pytest.raises(AssertionError) as raised:
        tengen.testing.assert_close(
            tengen.tensor([[1.0, 2.0], [3.0, 4.5]]), tengen.tensor([[1.0, 2.0], [3.0, 4.0]])
        )
    assert "Mismatched elements: 1 / 4 (25.0%)" in str(raised.value)
    assert "Greatest absolute difference: 0.5 at index (1, 1) (up to 1e-05 allowed)" in str(raised.value)


LIBRARIES = ["tengen", pytest.param("torch", marks=pytest.mark.oracle)]
DTYPES = ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", DTYPES)
def test_made_tensors(library: str, name: str) -> None:
    lib = pytest.importorskip(library)
    dtype = getattr(lib, name)
    make = lib.testing.make_tensor
    found = make((20, 30), dtype=dtype, device="cpu")
    assert found.shape == (20, 30) and found.dtype is dtype
    values = (found.real if dtype.is_complex else found).to(lib.float64)
    low, high = (0, 1) if name == "bool" else (0 if name == "uint8" else -9, 9)
    assert low <= values.min().item() < values.max().item() <= high
    spread = make(3, 4, dtype=dtype, device="cpu", noncontiguous=True)
    assert spread.shape == (3, 4) and spread.stride() == (8, 2)
    if name != "bool":
        bounded = make(500, dtype=dtype, device="cpu", low=1, high=3)
        parts = lib.view_as_real(bounded) if dtype.is_complex else bounded.to(lib.float64)
        assert parts.min().item() >= 1 and parts.max().item() < 3
        assert (make(99, dtype=dtype, device="cpu", low=0, high=2, exclude_zero=True) != 0).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_tensors_that_cannot_be_made(library: str) -> None:
    lib = pytest.importorskip(library)
    make = lib.testing.make_tensor
    with pytest.raises(ValueError, match="`low` must be less than `high`, but got 3 >= 1"):
        make((2,), dtype=lib.float32, device="cpu", low=3, high=1)
    with pytest.raises(ValueError, match="cannot be NaN"):
        make((2,), dtype=lib.float32, device="cpu", low=float("nan"))
    with pytest.raises(ValueError, match="only supports"):
        make((2,), dtype=lib.float32, device="cpu", low=1e40, high=1e41)
    with pytest.raises(ValueError, match="not supported for boolean and integral dtypes"):
        make((2,), dtype=lib.int64, device="cpu", requires_grad=True)
    with pytest.raises(ValueError, match="mutually exclusive"):
        make((2,), dtype=lib.float32, device="cpu", noncontiguous=True, memory_format=lib.channels_last)
    assert make((2,), dtype=lib.float32, device="cpu", requires_grad=True).requires_grad


ALLCLOSE: dict[str, Callable[[Any], Any]] = {
    "equal": lambda m: m.testing.assert_allclose(m.tensor([1.0]), [1.0]),
    "within": lambda m: m.testing.assert_allclose(m.tensor([1.0]), m.tensor([1.00009])),
    "beyond": lambda m: m.testing.assert_allclose(m.tensor([1.0]), m.tensor([1.0002])),
    "of two dtypes": lambda m: m.testing.assert_allclose(m.tensor([1.0]), m.tensor([1.0]).double()),
    "nan": lambda m: m.testing.assert_allclose(float("nan"), float("nan")),
    "nan is none": lambda m: m.testing.assert_allclose(float("nan"), float("nan"), equal_nan=False),
    "integers": lambda m: m.testing.assert_allclose([1, 2], [1, 3]),
    "half": lambda m: m.testing.assert_allclose(m.tensor([1.0]).half(), m.tensor([1.001]).half()),
    "given": lambda m: m.testing.assert_allclose(1.0, 1.5, rtol=0.0, atol=0.6),
    "one given": lambda m: m.testing.assert_allclose(1.0, 1.5, atol=0.6),
    "shapes": lambda m: m.testing.assert_allclose([1.0], 1.0),
    "message": lambda m: m.testing.assert_allclose([1.0], [2.0], msg="ours"),
}


@pytest.mark.parametrize("name", ALLCLOSE)
def test_allclose_is_deprecated(name: str) -> None:
    with pytest.warns(FutureWarning, match="assert_close"):
        said_of(lambda: ALLCLOSE[name](tengen))


def said_of(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__} {error}" if str(error) == "ours" else type(error).__name__
    return "close"


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ALLCLOSE)
def test_allclose_as_in_torch(name: str) -> None:
    import torch

    assert said_of(lambda: ALLCLOSE[name](tengen)) == said_of(lambda: ALLCLOSE[name](torch))
