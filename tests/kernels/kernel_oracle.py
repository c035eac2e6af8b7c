"""Runs a kernel over arrays and PyTorch's operator over tensors, and compares what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

import tengen

Array = Any
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {
    "bool": np.dtype(bool), "uint8": np.dtype(np.uint8), "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16), "int32": np.dtype(np.int32), "int64": np.dtype(np.int64),
    "float16": np.dtype(np.float16), "bfloat16": BFLOAT16, "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64), "complex64": np.dtype(np.complex64),
    "complex128": np.dtype(np.complex128),
}  # fmt: skip
COMPLEX = ["complex64", "complex128"]
FLOATING = ["float16", "bfloat16", "float32", "float64"]
REAL = [name for name in DTYPES if name not in COMPLEX]
NUMBERS = [name for name in REAL if name != "bool"]
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Numbers from -4 to 4; integers repeat, so that there are ties."""
    kind = DTYPES[dtype]
    if dtype == "bool":
        values = rng.integers(0, 2, shape)
    elif kind.kind in "iu":
        values = rng.integers(0 if kind.kind == "u" else -4, 5, shape)
    else:
        values = rng.uniform(-4, 4, shape)
        if kind.kind == "c":
            values = values + 1j * rng.uniform(-4, 4, shape)
    return np.asarray(values).astype(kind)


def distinct(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Numbers of which no two are equal."""
    size = int(np.prod(shape))
    return np.asarray(rng.permutation(size).reshape(shape)).astype(DTYPES[dtype])


def layouts(array: Array) -> Iterator[Array]:
    """The same elements in several memory layouts."""
    yield array
    if array.ndim > 1:
        yield np.asfortranarray(array)
        yield np.ascontiguousarray(array[::-1])[::-1]


def to_torch(value: Any) -> Any:
    import torch

    if isinstance(value, np.ndarray):
        if value.dtype == BFLOAT16:
            return torch.from_numpy(value.astype(np.float32)).bfloat16()
        return torch.from_numpy(value.copy())
    if isinstance(value, np.dtype):
        return getattr(torch, next(name for name, dtype in DTYPES.items() if dtype == value))
    return [to_torch(v) for v in value] if isinstance(value, list) else value


def from_torch(value: Any) -> Array:
    import torch

    if value.dtype == torch.bfloat16:
        return value.float().numpy().astype(BFLOAT16)
    return value.resolve_conj().numpy()


def widened(value: Any) -> Any:
    """Half-precision arrays as float32, which is how kernels get them unless declared otherwise."""
    reduced = isinstance(value, np.ndarray) and value.dtype in (BFLOAT16, np.float16)
    return value.astype(np.float32) if reduced else value


def run(kernel: Callable[..., Any], arguments: tuple[Any, ...], opmath: bool) -> tuple[Array, ...]:
    """The kernel's results as arrays, rounded to half precision where the operator does that."""
    halves = {a.dtype for a in arguments if isinstance(a, np.ndarray)} & {BFLOAT16, np.dtype(np.float16)}
    if not opmath or not halves:
        results = kernel(*arguments)
    else:
        results = kernel(*[widened(a) for a in arguments])
    results = results if isinstance(results, tuple) else (results,)
    arrays = [np.asarray(r) for r in results]
    if opmath and halves:
        (half,) = halves
        arrays = [a.astype(half) if a.dtype == np.float32 else a for a in arrays]
    return tuple(arrays)


def compare(
    kernel: Callable[..., Any],
    operator: Callable[..., Any],
    *arguments: Any,
    opmath: bool = True,
    only_values: bool = False,
) -> None:
    """Both give the same values, dtypes and shapes, or both raise, ours an error of torch's class.

    ``only_values`` leaves the indices of a selection aside, which ties leave open.
    """
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        expected = operator(*[to_torch(a) for a in arguments])
        raised = None
    except Exception as error:
        raised = error
    try:
        found = run(kernel, arguments, opmath)
    except Exception as error:
        assert raised is not None, f"only the kernel raises, for {arguments}"
        assert isinstance(error, type(raised)), f"{error!r} instead of {raised!r}"
        return
    finally:
        for a, b in zip(arguments, before, strict=True):
            assert not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes(), "an argument was changed"
    assert raised is None, f"only torch raises, for {arguments}: {raised!r}"
    expected = tuple(expected) if isinstance(expected, (tuple, list)) else (expected,)
    assert len(expected) == len(found)
    for e, f in list(zip(expected, found, strict=True))[: 1 if only_values else None]:
        same(f, from_torch(e))


def same(found: Array, expected: Array) -> None:
    """Equal dtype and shape, and equal values as far as the dtype's precision goes."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    tolerance = TOLERANCE.get("bfloat16" if found.dtype == BFLOAT16 else str(found.dtype), 1e-9)
    if found.dtype == BFLOAT16:
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def of_arrays(name: str, a: Any, *arguments: Any, **keywords: Any) -> Any:
    """What an operator makes of an array, as arrays."""
    a = np.array(a, order="K")
    of = tengen.tensor(a.astype("f"), dtype=tengen.bfloat16) if a.dtype.char == "E" else tengen.from_numpy(a)
    found = getattr(tengen, name)(of, *arguments, **keywords)
    return tuple(t._array for t in found) if isinstance(found, tuple) else found._array
