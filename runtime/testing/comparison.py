"""``assert_close``: whether tensors, numbers, and containers of them are alike. As in ``torch.testing``.

``assert_allclose`` is what it was before.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tengen

from ..core.user_stack import program_stacklevel

Message = str | Callable[[str], str] | None

#: rtol and atol by dtype; what is not here must be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
}
#: Those of ``assert_allclose``.
_WIDE_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}
_NUMBERS = (bool, int, float, complex)


@dataclass(frozen=True, slots=True)
class Options:
    """The keywords of ``assert_close``."""

    subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    device: bool
    dtype: bool
    layout: bool
    stride: bool
    message: Message


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Assert that ``actual`` is ``expected`` up to ``|actual - expected| <= atol + rtol * |expected|``.

    Both are Tensors, NumPy arrays, numbers, None, or sequences and mappings of these, to any depth. Tensors
    must agree in shape, in device, dtype and layout unless that is switched off, and in strides with
    ``check_stride``. The tolerances follow from the dtype, the wider one of two, and are zero for integers
    and bools; either both or none of them are given. NaN is close to NaN with ``equal_nan``. Without
    ``allow_subclasses`` the types must be the same. ``msg`` is the error's text, or makes one of it.

    Raises AssertionError when they are not close, TypeError for what cannot be compared, and ValueError for
    one tolerance alone.
    """
    if (rtol is None) is not (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    options = Options(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride, msg
    )
    _compare(actual, expected, options, ())


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Assert what ``assert_close`` does of what is made tensors, whatever their dtypes; deprecated for that.

    Without tolerances these are wider than those of ``assert_close``, and NaN is close to NaN.
    """
    warnings.warn(
        "tengen.testing.assert_allclose() is deprecated. Please use tengen.testing.assert_close() instead.",
        FutureWarning,
        stacklevel=program_stacklevel(),
    )
    if not isinstance(actual, tengen.Tensor):
        actual = tengen.tensor(actual)
    if not isinstance(expected, tengen.Tensor):
        expected = tengen.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = (max(pair) for pair in zip(_allowed(actual), _allowed(expected), strict=True))
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


def _allowed(tensor: Any) -> tuple[float, float]:
    """The tolerances that ``assert_allclose`` has for a dtype, relative and absolute."""
    return _WIDE_TOLERANCES.get(tensor.dtype.name, (0.0, 0.0))


def _compare(actual: Any, expected: Any, options: Options, path: tuple[Any, ...]) -> None:
    if _is(Mapping, actual, expected):
        _mappings(actual, expected, options, path)
    elif _is(Sequence, actual, expected) and not isinstance(actual, str) and not isinstance(expected, str):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", options, path)
        for number, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, options, (*path, number))
    elif actual is None or expected is None:
        if actual is not expected:
            _fail(f"None mismatch: {actual} is not {expected}", options, path)
    elif _is(_NUMBERS, actual, expected):
        _numbers(actual, expected, options, path)
    elif _is(tengen.Tensor, actual, expected) or _is(np.ndarray, actual, expected):
        if not options.subclasses and type(actual) is not type(expected):
            _incomparable(actual, expected)
        _tensors(tengen.as_tensor(actual), tengen.as_tensor(expected), options, path)
    else:
        _incomparable(actual, expected)


def _is(kind: Any, a: Any, b: Any) -> bool:
    return isinstance(a, kind) and isinstance(b, kind)


def _incomparable(actual: Any, expected: Any) -> None:
    raise TypeError(
        f"assert_close: nothing compares inputs of type {type(actual)} and {type(expected)}; it takes "
        "Tensors, arrays, numbers, None, and sequences and mappings of them."
    )


def _fail(text: str, options: Options, path: tuple[Any, ...]) -> None:
    if path:
        text += f"\n\nThe failure occurred for item {''.join(f'[{part!r}]' for part in path)}"
    message = options.message
    raise AssertionError(text if message is None else message if isinstance(message, str) else message(text))


def _mappings(
    actual: Mapping[Any, Any], expected: Mapping[Any, Any], options: Options, path: tuple[Any, ...]
) -> None:
    missing = [k for k in expected if k not in actual]
    additional = [k for k in actual if k not in expected]
    if missing or additional:
        text = "The keys of the mappings do not match:"
        text += f"\nMissing keys in the actual mapping: {missing}" if missing else ""
        text += f"\nAdditional keys in the actual mapping: {additional}" if additional else ""
        _fail(text, options, path)
    for key in expected:
        _compare(actual[key], expected[key], options, (*path, key))


def _tolerances(options: Options, *names: str) -> tuple[float, float]:
    """rtol and atol: what is given, else the widest of these dtypes."""
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    found = [_TOLERANCES.get(name, (0.0, 0.0)) for name in names]
    return max(r for r, _ in found), max(a for _, a in found)


def _numbers(actual: Any, expected: Any, options: Options, path: tuple[Any, ...]) -> None:
    if _is(bool, actual, expected):
        if actual is not expected:
            _fail(f"Booleans mismatch: {actual} is not {expected}", options, path)
        return
    if options.dtype and type(actual) is not type(expected):
        _fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", options, path)
    names = ["float64" if isinstance(x, float | complex) else "int64" for x in (actual, expected)]
    rtol, atol = _tolerances(options, *names)
    difference = abs(actual - expected)
    nan = options.equal_nan and actual != actual and expected != expected
    good = math.isfinite(difference) and difference <= atol + rtol * abs(expected)
    if not (nan or actual == expected or good):
        relative = difference / abs(expected) if expected else math.inf
        _fail(_scalars(actual, expected, (difference, relative), (atol, rtol)), options, path)


def _scalars(actual: Any, expected: Any, errors: tuple[Any, Any], allowed: tuple[float, float]) -> str:
    """The text for two numbers, or tensors without dimensions, with their absolute and relative errors."""
    inexact = any(allowed)
    lines = [
        f"Scalars are not {'close' if inexact else 'equal'}!",
        "",
        f"Expected {expected} but got {actual}.",
    ]
    for name, error, limit in zip(("Absolute", "Relative"), errors, allowed, strict=True):
        lines.append(f"{name} difference: {error}" + (f" (up to {limit} allowed)" if inexact else ""))
    return "\n".join(lines)


def _tensors(actual: Any, expected: Any, options: Options, path: tuple[Any, ...]) -> None:
    checked = {
        "shape": True,
        "device": options.device,
        "dtype": options.dtype,
        "layout": options.layout,
        "stride()": options.stride,
    }
    for name, wanted in checked.items():
        values = [getattr(x, name.removesuffix("()")) for x in (actual, expected)]
        a, e = (v() if name.endswith("()") else v for v in values)
        if wanted and a != e:
            _fail(f"The values for attribute '{name}' do not match: {a} != {e}.", options, path)
    if all(x._type.backend.has_data for x in (actual, expected)):
        _values(actual, expected, options, path)


def _values(actual: Any, expected: Any, options: Options, path: tuple[Any, ...]) -> None:
    rtol, atol = _tolerances(options, actual.dtype.name, expected.dtype.name)
    a, e = (_wide(x) for x in (actual, expected))
    with np.errstate(all="ignore"):
        difference, size = _difference(a, e), np.abs(e.astype(np.float64) if e.dtype.kind in "iu" else e)
        if difference.dtype.kind == "u":
            good = (difference == 0) | (difference <= atol + rtol * size)
        else:
            good = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
        if np.all(good):
            return
        relative = difference / size
    if not actual.ndim:
        errors = np.asarray(difference).item(), np.asarray(relative).item()
        _fail(_scalars(actual.item(), expected.item(), errors, (atol, rtol)), options, path)
    bad = ~np.asarray(good)
    inexact = bool(rtol or atol)
    count = int(np.sum(bad))
    lines = [
        f"Tensor-likes are not {'close' if inexact else 'equal'}!",
        "",
        f"Mismatched elements: {count} / {bad.size} ({100 * count / bad.size:.1f}%)",
    ]
    for name, errors, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        masked = np.where(bad, np.where(np.isnan(errors), np.inf, errors), -1.0)
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(masked)), bad.shape))
        at = f" at index {index}" if index else ""
        up_to = f" (up to {allowed} allowed)" if inexact else ""
        lines.append(f"Greatest {name} difference: {np.asarray(errors)[index].item()}{at}{up_to}")
    _fail("\n".join(lines), options, path)


def _difference(a: Any, e: Any) -> Any:
    """How far the values are apart; of integers without rounding, as uint64."""
    if a.dtype.kind in "iu" and a.dtype == e.dtype:
        return np.subtract(np.maximum(a, e), np.minimum(a, e)).astype(np.uint64)
    return np.abs(np.subtract(a, e, dtype=np.result_type(a, e)))


def _wide(tensor: Any) -> Any:
    """The values, in the largest dtype of their kind."""
    array = tensor.detach().numpy()
    if tensor.is_complex():
        return array.astype(np.complex128)
    if tensor.is_floating_point():
        return array.astype(np.float64)
    return array if array.dtype == np.uint64 else array.astype(np.int64)
