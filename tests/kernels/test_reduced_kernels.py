"""The forms of elementwise kernels for float16 and bfloat16: float32's results, rounded once."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tengen
from tengen.ir.kernels import NativeKernel, Operand
from tengen.ir.lower.kernels import lower, read_body
from tengen.kernels.blocks import in_reduced
from tengen.kernels.native_kernels import as_bits, kernels
from tengen.machine_code.tables import table_of

TABLE = table_of("tengen.generated.kernels")
COPY = read_body("y = x")
DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
FORMS = sorted(
    name
    for name, kernel in TABLE.kernels.items()
    if not kernel.signature and name.rpartition("_")[0] in TABLE.kernels and name.rpartition("_")[2] in DTYPES
)


@pytest.fixture(autouse=True)
def native() -> None:
    if kernels.tanh is None:
        pytest.skip("no native kernels")


def numbers(dtype: np.dtype[Any], size: int = 300) -> Any:
    rng = np.random.default_rng(3)
    found = (rng.standard_normal(size) * np.exp(rng.standard_normal(size) * 3)).astype(dtype)
    found[:6] = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1], dtype)
    return rng.permutation(found)


def operand(text: str, dtype: np.dtype[Any]) -> Any:
    mark = text.partition(":")[2]
    if mark in ("bool", "int64"):
        return numbers(dtype) > 0 if mark == "bool" else np.arange(300)
    return np.float32(0.75) if mark == "number" else numbers(dtype)


# A third of them: to compile a form takes 20 ms, and what is in all of them is the same.
@pytest.mark.parametrize("name", FORMS[::3])
def test_every_form(name: str) -> None:
    base, _, ending = name.rpartition("_")
    dtype = DTYPES[ending]
    given = [operand(text, dtype) for text in TABLE.kernels[name].inputs]
    wide = [a.astype(np.float32) if getattr(a, "dtype", None) == dtype else a for a in given]
    with np.errstate(all="ignore"):
        expected = getattr(kernels, base)(*wide, out=...)
        if expected.dtype == np.float32:
            expected = expected.astype(dtype)
        whole = getattr(kernels, name)(*map(as_bits, given), out=...)
        strided = getattr(kernels, name)(*[as_bits(a)[::2] if a.ndim else a for a in given], out=...)
    if expected.dtype == dtype:
        whole, strided = whole.view(dtype), strided.view(dtype)
    np.testing.assert_array_equal(whole.astype(np.float32), expected.astype(np.float32))
    np.testing.assert_array_equal(strided.astype(np.float32), expected[::2].astype(np.float32))


def test_there_are_forms() -> None:
    assert {"tanh_float16", "tanh_bfloat16", "gelu_0_bfloat16"} <= {*FORMS}


def loop_of(compiler: Any, symbol: str, given: str, made: str) -> Any:
    """A loop of NumPy's that converts elements of one dtype to another."""
    text = lower(
        NativeKernel(symbol, (Operand.read(f"x{given}"),), (Operand.read(f"y{made}"),), *COPY), {}, "float32"
    )
    linker = compiler.Linker()
    address = linker.link(compiler.object_code({symbol: text}, linker.machine), [symbol])[symbol]
    return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)(address)


def converted(loop: Any, x: Any, dtype: Any) -> Any:
    """What a loop makes of the elements of an array."""
    out = np.empty(len(x), dtype)
    args = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
    steps = (ctypes.c_longlong * 2)(x.itemsize, out.itemsize)
    assert loop(None, args, (ctypes.c_longlong * 1)(len(x)), steps, None) == 0
    return out


@pytest.mark.parametrize("processor", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype: str, processor: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all numbers of 16 bits and of those between two, by the processor and by arithmetic alone."""
    pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")
    from tengen.machine_code import compiler

    if not processor:
        monkeypatch.setattr(compiler, "converts_half", lambda machine: False)
    elif not compiler.converts_half(compiler.machine_here()):
        pytest.skip("this processor has no instructions for them")
    kind, name = DTYPES[dtype], f"{dtype}_{processor}"
    half = np.arange(1 << 16, dtype=np.uint16)
    wide = half.view(kind).astype(np.float32)
    np.testing.assert_array_equal(
        converted(loop_of(compiler, f"widen_{name}", f":{dtype}", ""), half, np.float32), wide
    )
    between = wide.view(np.uint32)[:, None] + (
        np.array([-1, 0, 1, 0x7FF, 0x800, 0x1000, 0x1001, 0x8000, 0x8001])
    ).astype(np.uint32)
    x = between.reshape(-1).view(np.float32)
    with np.errstate(all="ignore"):
        expected = x.astype(kind)
    found = converted(loop_of(compiler, f"narrow_{name}", "", f":{dtype}"), x, np.uint16)
    np.testing.assert_array_equal(found.view(kind).astype(np.float32), expected.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(found.view(kind)), np.signbit(expected))


@pytest.mark.parametrize("dtype", list(DTYPES.values()), ids=list(DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (600, 500)])
def test_arrays_of_any_layout(dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    a = np.resize(numbers(dtype), shape).astype(dtype)
    with np.errstate(all="ignore"):
        for given in (a, a.T, a[::-1] if a.ndim else a):
            found = in_reduced(kernels, kernels.tanh, given)
            expected = kernels.tanh(given.astype(np.float32), out=...).astype(dtype)
            assert (found.dtype, found.shape) == (dtype, given.shape)
            np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_arrays_of_several_dtypes_are_computed_in_float32() -> None:
    a, b = numbers(DTYPES["float16"]), numbers(DTYPES["bfloat16"])
    with np.errstate(all="ignore"):
        found = in_reduced(kernels, kernels.logaddexp, a, b)
        expected = kernels.logaddexp(a.astype(np.float32), b.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_operators_with_and_without_native_kernels(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = tengen.tensor(numbers(np.dtype(np.float32))).to(getattr(tengen, dtype))
    calls = (
        tengen.tanh,
        tengen.nn.functional.gelu,
        tengen.nn.functional.hardswish,
        lambda x: tengen.logaddexp(x, x),
    )
    for call in calls:
        found, wide = call(x), call(x.float())
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.float().numpy(), wide.to(x.dtype).float().numpy())
