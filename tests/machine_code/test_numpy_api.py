"""NumPy's C API is used where it is as expected, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tengen.machine_code import Kernels, numpy_api
from tengen.machine_code.numpy_api import NotSupported, api
from tengen.machine_code.status import status

Fresh = Callable[[], Kernels]


@pytest.fixture
def unasked() -> Any:
    api.cache_clear()
    yield
    api.cache_clear()


def header(name: str) -> str:
    path = Path(np.get_include()) / "numpy" / name
    if not path.is_file():
        pytest.skip("this NumPy comes without its headers")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("PyUFunc_FromFuncAndData", numpy_api._FROM_FUNC),
        ("PyUFunc_FromFuncAndDataAndSignature", numpy_api._FROM_FUNC_AND_SIGNATURE),
        ("PyUFunc_AddLoopFromSpec", numpy_api._ADD_LOOP),
        ("PyArray_GetNDArrayCVersion", numpy_api._ABI_VERSION),
        ("PyArray_GetNDArrayCFeatureVersion", numpy_api._FEATURE_VERSION),
    ],
)
def test_functions_are_where_the_headers_have_them(name: str, place: int) -> None:
    text = header("__ufunc_api.h" if name.startswith("PyUFunc") else "__multiarray_api.h")
    found = re.search(rf"#define {name} \\\n.*\\\n\s*Py\w+_API\[(\d+)\]", text)
    assert found is not None and int(found[1]) == place


@pytest.mark.parametrize(
    ("name", "value"),
    [("NPY_METH_strided_loop", numpy_api._STRIDED_LOOP), ("NPY_METH_NO_FLOATINGPOINT_ERRORS", 1 << 1)],
)
def test_constants_are_as_the_headers_have_them(name: str, value: int) -> None:
    found = re.search(rf"{name}\s*=?\s*([\d <]+)", header("dtype_api.h"))
    assert found is not None and eval(found[1]) == value
    assert numpy_api._NO_FLOATINGPOINT_ERRORS == 1 << 1


def test_it_is_asked_once() -> None:
    assert api() is api()


@pytest.mark.parametrize("version", ["1.26.4", "3.0.0"])
def test_another_numpy_means_numpys_forms(
    fresh: Fresh, unasked: None, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(np, "__version__", version)
    assert fresh().double_and_add is None
    found = status("machine_tables_of_a_test")
    assert found.used == "numpy"
    assert found.reason == f"NumPy is {version}, and its C API is known for 2 only"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ABI", 0x03000000, "binary interface is 0x2000000, not 0x3000000"),
        ("FEATURES", 0x1000, "older than 0x1000"),
        ("_functions", lambda capsule: None, "not where it is expected"),
        ("_column", lambda *given: np.zeros(100), "wrong results"),
        ("_longs", lambda *given: 1 / 0, "was made to try it"),
        ("_Spec", numpy_api._Slot, "laid out otherwise"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_is_unexpected_means_numpys_forms(
    fresh: Fresh, unasked: None, monkeypatch: pytest.MonkeyPatch, name: str, value: object, told: str
) -> None:
    monkeypatch.setattr(numpy_api, name, value)
    assert fresh().double_and_add is None
    assert told in status("machine_tables_of_a_test").reason


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floating_point_errors_are_not_told(fresh: Fresh, dtype: str) -> None:
    """As of torch's kernels: neither a warning, nor an error where NumPy is asked for one."""
    pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")
    kernels = fresh()
    x = np.array([[np.inf, -np.inf, 1], [np.finfo(dtype).max] * 3], dtype)
    with np.errstate(all="ignore"):
        views = [(view, view + view - view) for view in (x, x[:, ::-1], x.T, x[0])]
    with np.errstate(all="raise"):
        for view, expected in views:
            np.testing.assert_array_equal(kernels.double_and_add(view, -view), expected)
        np.testing.assert_array_equal(kernels.total(x), [np.nan, np.inf])
        np.testing.assert_array_equal(kernels.total(x[:, ::-1]), [np.nan, np.inf])
        with pytest.raises(FloatingPointError):
            np.multiply(x, 2)


def test_a_loop_that_numpy_refuses() -> None:
    with pytest.raises(NotSupported, match="float64 takes 1"):
        api().ufunc("narrow", 1, 1, "", {("float64",): 1})
    with pytest.raises(TypeError, match="already"):
        api().ufunc("twice", 1, 1, "", {("float64", "float64"): 1, ("d", "d"): 1})
