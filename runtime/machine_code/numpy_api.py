"""Loops in machine code as ufuncs, by the C API of NumPy, which ctypes reaches through NumPy's capsules.

Slots and structures are as NumPy 2 has them. What can be asked is asked before anything is used, and a ufunc
is tried out whose loop is known. Whatever is not as expected is ``NotSupported``, with a line that says what.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

#: The binary interface of NumPy 2, and the first version of its functions that has ArrayMethods in it.
ABI, FEATURES = 0x02000000, 0x12
#: Places in NumPy's tables of functions.
_ABI_VERSION, _FEATURE_VERSION = 0, 211
_FROM_FUNC, _FROM_FUNC_AND_SIGNATURE, _ADD_LOOP = 1, 31, 43
_STRIDED_LOOP = 5  # NPY_METH_strided_loop
_NO_FLOATINGPOINT_ERRORS = 2  # NPY_METH_NO_FLOATINGPOINT_ERRORS
_NO_IDENTITY = -1  # PyUFunc_None
_LOOP_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)


class NotSupported(Exception):
    """Why this NumPy's C API is not used."""


class _Spec(ctypes.Structure):
    """PyArrayMethod_Spec."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("casting", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("dtypes", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
    )


class _Slot(ctypes.Structure):
    """PyType_Slot."""

    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Api:
    """The functions of NumPy's that make ufuncs."""

    from_func: Callable[..., Any]
    from_func_and_signature: Callable[..., Any]
    add_loop: Callable[[Any, int], int]

    def ufunc(
        self, name: str, inputs: int, outputs: int, signature: str, loops: Mapping[tuple[str, ...], int]
    ) -> np.ufunc:
        """A ufunc of the addresses of strided loops, by their dtypes; generalised if there is a signature."""
        label, doc = ctypes.create_string_buffer(name.encode()), ctypes.create_string_buffer(b"")
        keep_forever(label, doc)  # NumPy copies neither
        head = (None, None, None, 0, inputs, outputs, _NO_IDENTITY)
        texts = (ctypes.addressof(label), ctypes.addressof(doc), 0)
        if signature:
            made = self.from_func_and_signature(*head, *texts, signature.encode())
        else:
            made = self.from_func(*head, *texts)
        for dtypes, address in loops.items():
            self._add(made, label, inputs, outputs, dtypes, address)
        found: np.ufunc = made
        return found

    def _add(
        self,
        ufunc: Any,
        label: ctypes.Array[Any],
        inputs: int,
        outputs: int,
        dtypes: Sequence[str],
        address: int,
    ) -> None:
        if len(dtypes) != inputs + outputs:
            raise NotSupported(f"a loop of {', '.join(dtypes)} takes {len(dtypes)} operands")
        classes = [type(np.dtype(d)) for d in dtypes]
        pointers = (ctypes.c_void_p * len(classes))(*map(id, classes))
        slots = (_Slot * 2)(_Slot(_STRIDED_LOOP, address), _Slot(0, None))
        spec = _Spec(
            label.value,
            inputs,
            outputs,
            0,  # NPY_NO_CASTING
            _NO_FLOATINGPOINT_ERRORS,
            ctypes.addressof(pointers),
            ctypes.addressof(slots),
        )
        keep_forever(classes, pointers, slots, spec)
        if self.add_loop(ufunc, ctypes.addressof(spec)) < 0:
            raise NotSupported(f"NumPy refuses a loop of {', '.join(dtypes)}")


def keep_forever(*objects: object) -> None:
    """Objects are never freed, not at exit either: threads may still run what points to them."""
    for each in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


@functools.cache
def api() -> Api:
    """NumPy's functions, checked. Raises NotSupported for a NumPy that has not what is expected."""
    unfit = _unfit(np.__version__)
    if unfit:
        raise NotSupported(unfit)
    try:
        found = _api()
    except (AttributeError, ImportError, OSError, TypeError, ValueError) as error:
        raise NotSupported(f"NumPy's C API is not where it is expected: {error}") from error
    _try_out(found)
    return found


def _unfit(version: str) -> str:
    """What speaks against the interpreter and NumPy's version; an empty text if nothing does."""
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}, not CPython"
    if not _is_main_interpreter():  # a call back into Python, as the trial needs it, would wait forever
        return "this is a subinterpreter"
    if sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8 or np.dtype(np.intp).itemsize != 8:
        return "the processor is not a little-endian one of 64 bits"
    if (ctypes.sizeof(_Spec), ctypes.sizeof(_Slot)) != (40, 16):
        return "structures are laid out otherwise than expected"
    if version.partition(".")[0] != "2":
        return f"NumPy is {version}, and its C API is known for 2 only"
    return ""


def _is_main_interpreter() -> bool:
    current, number = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_GetID
    current.restype, number.argtypes, number.restype = ctypes.c_void_p, (ctypes.c_void_p,), ctypes.c_int64
    return bool(number(current()) == 0)


def _api() -> Api:
    umath = import_module("numpy._core._multiarray_umath")
    arrays, ufuncs = _functions(umath._ARRAY_API), _functions(umath._UFUNC_API)
    number = ctypes.PYFUNCTYPE(ctypes.c_uint)
    if (abi := number(arrays[_ABI_VERSION])()) != ABI:
        raise NotSupported(f"NumPy's binary interface is {abi:#x}, not {ABI:#x}")
    if (features := number(arrays[_FEATURE_VERSION])()) < FEATURES:
        raise NotSupported(f"NumPy's C API is of version {features:#x}, older than {FEATURES:#x}")
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
    arguments = (pointer, pointer, pointer, integer, integer, integer, integer, text, text, integer)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)
    make_signed = ctypes.PYFUNCTYPE(ctypes.py_object, *arguments, ctypes.c_char_p)
    add = ctypes.PYFUNCTYPE(integer, ctypes.py_object, pointer)
    return Api(
        make(ufuncs[_FROM_FUNC]), make_signed(ufuncs[_FROM_FUNC_AND_SIGNATURE]), add(ufuncs[_ADD_LOOP])
    )


def _functions(capsule: object) -> Any:
    """The table of functions that a capsule of NumPy's holds."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


# -- the trial --------------------------------------------------------------------------------------


def _try_out(found: Api) -> None:
    """Compare ufuncs of a known loop with NumPy. Raises NotSupported."""
    try:
        right = all(
            _elementwise_is_right(found, s) and _rows_are_right(found, s) for s in ("float32", "float64")
        )
    except Exception as error:
        raise NotSupported(f"a ufunc that was made to try it fails: {error}") from error
    if not right:
        raise NotSupported("a ufunc that was made to try it gives wrong results")


def _elementwise_is_right(found: Api, scalar: str) -> bool:
    def loop(context: int, arguments: int, sizes: int, strides: int, data: int) -> int:
        n, steps = _longs(sizes, 1)[0], _longs(strides, 3)
        a, b, y = (_column(p, s, n, scalar) for p, s in zip(_longs(arguments, 3), steps, strict=True))
        y[...] = a - b * 2
        return 0

    trial = found.ufunc("trial", 2, 1, "", {(scalar,) * 3: _address(loop)})
    a = np.arange(12, dtype=scalar)[::2]
    b = np.array(3, scalar)
    out = np.full(12, -1, scalar)[::2]
    shape = (trial.nin, trial.nout, trial.signature, trial(a, b).dtype.name)
    return shape == (2, 1, None, scalar) and np.array_equal(trial(a, b, out=out), a - 6)


def _rows_are_right(found: Api, scalar: str) -> bool:
    def loop(context: int, arguments: int, sizes: int, strides: int, data: int) -> int:
        (outer, n), (row, out, step) = _longs(sizes, 2), _longs(strides, 3)
        x, y = _longs(arguments, 2)
        for i in range(outer):
            _column(y + i * out, 0, 1, scalar)[0] = _column(x + i * row, step, n, scalar).sum()
        return 0

    trial = found.ufunc("trial", 1, 1, "(n)->()", {(scalar,) * 2: _address(loop)})
    x = np.arange(24, dtype=scalar).reshape(4, 6)[:, ::2]
    out = np.full(4, -1, scalar)
    return trial.signature == "(n)->()" and np.array_equal(trial(x, out=out), x.sum(1))


def _address(loop: Callable[..., int]) -> int:
    called = _LOOP_TYPE(loop)
    keep_forever(called)
    return ctypes.cast(called, ctypes.c_void_p).value or 0


def _longs(address: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address))


def _column(address: int, step: int, count: int, scalar: str) -> np.ndarray[Any, Any]:
    """Numbers in memory, as an array."""
    memory: Any = (ctypes.c_char * (step * max(count - 1, 0) + np.dtype(scalar).itemsize)).from_address(
        address
    )
    return np.ndarray((count,), scalar, memory, strides=(step,))
