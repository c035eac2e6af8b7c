"""From a name to a ufunc: results, dtypes, laziness, threads, and what happens when there is none."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from machine_tables import KERNELS

from tengen.machine_code import Kernels, is_available, kernels_of
from tengen.machine_code.status import status
from tengen.machine_code.tables import lowering_digest, table_of

Fresh = Callable[[], Kernels]
TABLES = "machine_tables_of_a_test"
llvmlite = pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_ufunc_is_what_its_loop_computes(fresh: Fresh, dtype: str) -> None:
    u = fresh().double_and_add
    x, y = np.arange(12, dtype=dtype).reshape(3, 4), np.arange(4, dtype=dtype)
    assert isinstance(u, np.ufunc) and (u.nin, u.nout, u.__name__) == (2, 1, "double_and_add")
    expected = x * 2 + y
    assert u(x, y).dtype == dtype
    np.testing.assert_array_equal(u(x, y), expected)
    np.testing.assert_array_equal(u(x[:, ::-2], y[::2]), x[:, ::-2] * 2 + y[::2])
    np.testing.assert_array_equal(u(x.T, x[0, 1]), x.T * 2 + x[0, 1])
    assert u(np.empty((0, 4), dtype), y).shape == (0, 4)
    out = np.empty_like(x)
    assert u(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows(fresh: Fresh, dtype: str) -> None:
    u = fresh().total
    x = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    assert u.signature == "(n)->()" and u(x).dtype == dtype
    np.testing.assert_array_equal(u(x), x.sum(-1))
    np.testing.assert_array_equal(u(x, axis=1), x.sum(1))
    np.testing.assert_array_equal(u(x[..., ::2]), x[..., ::2].sum(-1))


def test_an_operand_can_have_a_dtype_of_its_own(fresh: Fresh) -> None:
    u = fresh()._pick
    x, k = np.arange(4, dtype="float32"), np.arange(4)
    assert u(x, k).dtype == "float32"
    np.testing.assert_array_equal(u(x, k), x * x)


def test_other_dtypes_are_errors(fresh: Fresh) -> None:
    with pytest.raises(TypeError, match="double_and_add"):
        fresh().double_and_add(np.ones(2, "float16"), np.ones(2, "float16"))


def test_a_kernel_is_found_once_and_is_then_a_plain_attribute(fresh: Fresh) -> None:
    kernels = fresh()
    assert "total" not in vars(kernels)
    assert kernels.total is vars(kernels)["total"] is kernels.total


def test_unknown_names(fresh: Fresh) -> None:
    with pytest.raises(AttributeError, match=f"{TABLES} has no kernel 'nothing'"):
        fresh().nothing  # noqa: B018
    with pytest.raises(AttributeError):
        fresh().__array__  # noqa: B018


def test_kernels_can_be_copied(fresh: Fresh) -> None:
    kernels = fresh()
    found = kernels.total
    assert copy.copy(kernels).total is found and repr(kernels) == f"Kernels({TABLES!r})"


def test_switched_off(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENGEN_NATIVE", "0")
    kernels = fresh()
    assert [getattr(kernels, name) for name in KERNELS] == [None] * len(KERNELS)
    found = status(TABLES)
    assert (found.used, found.reason, found.failures) == ("numpy", "TENGEN_NATIVE=0", {})
    assert not is_available(TABLES)
    with pytest.raises(AttributeError):
        kernels.nothing  # noqa: B018


def test_status_says_what_is_used(fresh: Fresh) -> None:
    fresh()
    found = status(TABLES)
    assert found.used == "llvmlite" and llvmlite.__version__ in found.description
    assert "none was built" in found.reason and found.kernels[: len(KERNELS)] == tuple(KERNELS)
    assert "double_and_add_bfloat16" in found.kernels  # the form for a reduced type
    assert is_available(TABLES)


def test_without_llvmlite_there_are_no_kernels(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    for name in ("compiler", "just_in_time"):
        monkeypatch.delitem(sys.modules, f"tengen.machine_code.{name}", raising=False)
    assert fresh().total is None
    assert "llvmlite is not installed (pip install 'tengen[compile]')" in status(TABLES).reason


def test_an_import_loads_what_is_needed_later_later() -> None:
    late = ("llvmlite", "tengen.machine_code.f", "tengen.codegen")
    code = "import sys; from tengen.machine_code import Kernels; Kernels('nothing'); "
    code += f"print([m for m in sys.modules if m.startswith({late})])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_all_share_the_kernels_of_a_table() -> None:
    assert kernels_of("tengen.generated.kernels") is kernels_of("tengen.generated.kernels")


def test_a_key_depends_on_all_that_the_code_depends_on(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> tuple[str, str]:
        fresh()
        table = table_of(TABLES)
        return table.key(), table.kernel_key("total")

    first, module = keys(), sys.modules[TABLES]
    with monkeypatch.context() as other:
        other.setitem(module.KERNELS, "_pick", (("x",), ("y",), "", "y = x"))
        assert keys()[0] != first[0] and keys()[1] == first[1]
    with monkeypatch.context() as other:
        other.setitem(module.ROUTINES, "exp", {"float32": "x: result = x"})
        assert keys()[0] != first[0] and keys()[1] != first[1]
    assert keys() == first


def test_keys_depend_on_the_lowering() -> None:
    """On its sources, wherever they are installed."""
    spec = find_spec("tengen.ir")
    assert spec is not None and spec.submodule_search_locations
    folder = Path(next(iter(spec.submodule_search_locations)))
    assert any(folder.glob("lower/*.py")) and lowering_digest()


def test_all_of_tengens_kernels_are_native() -> None:
    """None is refused: by the lowering, by LLVM's checks, or by NumPy."""
    tables = "tengen.generated.kernels"
    found = [getattr(kernels_of(tables), name) for name in table_of(tables).kernels]
    state = status(tables)
    assert not state.failures
    assert all((u is None) == (state.used == "numpy") for u in found)
