"""Arrays in another dtype or shape, and numbers as arrays hold them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.kernels import cpu, reduced
from tengen.kernels.creation import as_number
from tengen.kernels.reductions import folded
from tengen.testing import declared
from tengen.testing.arrangements import arrangements, tensors

SHAPES = [s for n in range(4) for s in itertools.product((1, 2, 3), repeat=n)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.complex128])
def test_sums_to_a_shape(dtype: Any) -> None:
    """What broadcasting would repeat is added, for every two shapes that go together."""
    for found, shape in itertools.product(SHAPES, SHAPES):
        try:
            fits = np.broadcast_shapes(found, shape) == found
        except ValueError:
            continue
        if fits:
            array = np.arange(np.prod(found, dtype=int)).reshape(found).astype(dtype)
            axes = [*range(array.ndim - len(shape))]
            axes += [d for d in range(len(axes), array.ndim) if shape[d - len(axes)] == 1]
            expected = array.sum(tuple(axes), keepdims=True).reshape(shape)
            result = cpu.sum_to(array, shape)
            assert result.dtype == dtype and result.shape == shape
            np.testing.assert_array_equal(result, expected, f"{found} to {shape}")


def test_float64_is_rounded_to_half_precision_by_way_of_float32() -> None:
    """As in PyTorch: what float32 rounds to the middle of two halves becomes the even one of these."""
    above, below = 1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40
    found = cpu.cast(np.array([above, -above, below]), np.dtype(np.float16))
    assert found.tolist() == [1, -1, 1 + 2.0**-9]
    assert np.float16(above) == 1 + 2.0**-10  # what one rounding would give


@pytest.mark.parametrize("number", [0, 1, 255, -1, -128, -255, 3.9, True])
def test_negative_numbers_wrap_in_unsigned_bytes(number: Any) -> None:
    assert as_number(number, np.dtype(np.uint8)) == int(number) % 256
    if number != 255 and abs(number) < 128:
        assert as_number(number, np.dtype(np.int8)) == int(number)


def test_complex32_has_parts_of_float16() -> None:
    """Both parts are rounded as numbers of float32 are; those of complex128 by way of float32."""
    import ml_dtypes

    complex32 = np.dtype(ml_dtypes.complex32)
    bits = np.arange(0, 2**32, 2**12 + 1, dtype=np.uint64).astype(np.uint32)
    parts = np.stack([bits.view(np.float32), bits.view(np.float32)[::-1]], 1)
    values = parts.reshape(-1).view(np.complex64)
    with np.errstate(all="ignore"):
        expected = parts.astype(np.float16)
        found = cpu.cast(values, complex32)
        np.testing.assert_array_equal(found.view(np.float16).reshape(-1, 2), expected)
        double = cpu.cast(values.astype(np.complex128), complex32)
        np.testing.assert_array_equal(double.view(np.float16).reshape(-1, 2), expected)
        np.testing.assert_array_equal(
            cpu.cast(found, np.dtype(np.float32)), expected[:, 0].astype(np.float32)
        )
        back = cpu.cast(found, np.dtype(np.complex64)).view(np.float32).reshape(-1, 2)
        np.testing.assert_array_equal(back, expected.astype(np.float32))
        np.testing.assert_array_equal(cpu.cast(found, np.dtype(bool)), (expected != 0).any(1))
    real = cpu.cast(np.array([1, -2, 70000]), complex32)
    assert real.tolist() == [1, -2, complex(np.inf, 0)]


def test_complex32_is_true_where_it_is_not_zero() -> None:
    import ml_dtypes

    values = np.array([[0, 0.5], [1e-3j, 0]], ml_dtypes.complex32)
    assert folded(None, "all", values, 0).tolist() == [[False, False]]
    assert folded(None, "any", values, 0).tolist() == [[True, True]]


DECLARED = declared.declared_operators()
POINTWISE = [
    name
    for name in declared.operators()
    if "pointwise" in DECLARED[name].tags and not declared.writes(DECLARED[name])
]


def of_dtype(array: Any, dtype: Any) -> Any:
    """A tensor of floats of another dtype, with the same strides."""
    made = tengen.from_numpy(array)
    if array.dtype != np.float64:
        return made
    once = tuple([slice(None) if step else slice(1) for step in array.strides])
    return made[once].to(dtype).expand(array.shape)


def strides_of(name: str, given: Any, dtype: Any) -> Any:
    """Those of what an operator gives; None where it has no such dtype."""
    try:
        found = declared.flat(declared.run(name, tensors(given.arrays, lambda a: of_dtype(a, dtype))))
    except (RuntimeError, NotImplementedError):
        return None
    return [(t.shape, t.stride()) for t in found]


@pytest.mark.parametrize("name", POINTWISE)
def test_strides_over_expanded_halves_are_those_over_floats(name: str) -> None:
    """With native kernels as in NumPy's form, which widens operands first."""
    expanded = [given for given in arrangements(name) if given.text.endswith("all expanded")]
    for given in expanded[:2]:
        expected = strides_of(name, given, tengen.float32)
        for dtype in (tengen.float16, tengen.bfloat16):
            found = strides_of(name, given, dtype)
            assert None in (found, expected) or found == expected, given.text


def test_expanded_arrays_are_converted_as_kernels_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of what is converted, and its elements, do not depend on whether there is a kernel."""
    for dtype in (np.dtype(np.float16), tengen.bfloat16.array_dtype):
        narrow = np.arange(24, dtype=np.float32).reshape(2, 3, 4).astype(dtype)
        arrays = [np.broadcast_to(narrow[:1], (5, 3, 4)), np.broadcast_to(narrow[:, :1], (2, 6, 4))]
        arrays += [a.transpose(2, 0, 1) for a in arrays] + [np.broadcast_to(narrow[:1, :1, :1], (2, 3, 4))]
        found = [reduced.upcast(a) for a in arrays]
        with monkeypatch.context() as without:
            for name in ("from_float16", "from_bfloat16"):
                without.setattr(reduced.kernels, name, None)
            for array, expected in zip(arrays, found, strict=True):
                again = reduced.upcast(array)
                assert again.strides == expected.strides and (again == expected).all()
