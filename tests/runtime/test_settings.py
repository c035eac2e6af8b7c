"""Settings of a program: the default device, determinism, precision; also beside torch."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import settings as kept


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    yield
    tengen.set_default_device(None)
    tengen.use_deterministic_algorithms(False)
    tengen.set_float32_matmul_precision("highest")


MAKERS: dict[str, Callable[[Any], Any]] = {
    "ones": lambda m: m.ones(2),
    "empty": lambda m: m.empty(2),
    "arange": lambda m: m.arange(3),
    "rand": lambda m: m.rand(1),
    "linspace": lambda m: m.linspace(0, 1, 3),
    "eye": lambda m: m.eye(2),
    "full": lambda m: m.full((2,), 1.0),
    "tensor": lambda m: m.tensor([1.0]),
    "as_tensor": lambda m: m.as_tensor([1.0]),
    "randperm": lambda m: m.randperm(3),
    "empty_strided": lambda m: m.empty_strided((2,), (1,)),
    "scalar_tensor": lambda m: m.scalar_tensor(1.0),
    "tril_indices": lambda m: m.tril_indices(2, 2),
    "zeros_like": lambda m: m.zeros_like(m.ones(1, device="cpu")),
    "new_ones": lambda m: m.ones(1, device="cpu").new_ones(2),
    "named": lambda m: m.ones(1, device="cpu"),
}


def devices(m: Any, name: str) -> list[str]:
    m.set_default_device("meta")
    found = [MAKERS[name](m).device.type]
    with m.device("cpu"):
        found += [MAKERS[name](m).device.type, m.get_default_device().type]
    found.append(m.get_default_device().type)
    m.set_default_device(None)
    return [*found, MAKERS[name](m).device.type, m.get_default_device().type]


def test_default_device() -> None:
    assert devices(tengen, "ones") == ["meta", "cpu", "cpu", "meta", "cpu", "cpu"]
    assert devices(tengen, "named")[0] == "cpu"


def test_default_device_is_of_a_thread() -> None:
    tengen.set_default_device("meta")
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(tengen.ones(1).device.type))
    thread.start()
    thread.join()
    assert found == ["cpu"]


def test_devices_nest_and_end_with_an_error() -> None:
    meta, cpu = tengen.device("meta"), tengen.device("cpu")
    with meta, meta:
        with pytest.raises(ValueError), cpu:
            raise ValueError
        assert tengen.ones(1).device == meta
    assert tengen.ones(1).device == cpu
    with pytest.raises(RuntimeError):
        tengen.set_default_device("nowhere")
    assert tengen.get_default_device() == cpu


def settings(m: Any) -> list[Any]:
    m.use_deterministic_algorithms(True, warn_only=True)
    found = [m.get_deterministic_debug_mode(), m.is_deterministic_algorithms_warn_only_enabled()]
    m.use_deterministic_algorithms(True)
    found += [m.get_deterministic_debug_mode(), m.are_deterministic_algorithms_enabled()]
    for mode in (1, "error", "default"):
        m.set_deterministic_debug_mode(mode)
        found += [m.get_deterministic_debug_mode(), m.is_deterministic_algorithms_warn_only_enabled()]
    m.set_float32_matmul_precision("medium")
    with pytest.warns(UserWarning, match="has no effect"):
        m.set_float32_matmul_precision("low")
    found.append(m.get_float32_matmul_precision())
    m.set_float32_matmul_precision("highest")
    for wrong in (
        lambda: m.use_deterministic_algorithms(1),
        lambda: m.set_deterministic_debug_mode(3),
        lambda: m.set_deterministic_debug_mode("some"),
        lambda: m.set_deterministic_debug_mode(1.0),
        lambda: m.set_flush_denormal(1),
    ):
        with pytest.raises((TypeError, RuntimeError)) as error:
            wrong()
        found.append(error.type)
    return found


def test_settings_are_kept() -> None:
    assert settings(tengen)[:4] == [1, True, 2, True]
    assert tengen.set_flush_denormal(True) is False


@pytest.mark.oracle
@pytest.mark.parametrize("name", MAKERS)
def test_default_device_as_in_torch(name: str) -> None:
    import torch

    assert devices(tengen, name) == devices(torch, name)


@pytest.mark.oracle
def test_settings_as_in_torch() -> None:
    import torch

    assert settings(tengen) == settings(torch)


def test_interop_threads_are_set_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept._Settings, "interop_threads", 0)
    assert tengen.get_num_interop_threads() >= 1
    for wrong in (0, -1, "2", True, 2.0):
        with pytest.raises(RuntimeError, match="set_num_interop_threads"):
            tengen.set_num_interop_threads(wrong)
    tengen.set_num_interop_threads(3)
    assert tengen.get_num_interop_threads() == 3
    with pytest.raises(RuntimeError, match="before"):
        tengen.set_num_interop_threads(4)
    assert tengen.get_num_interop_threads() == 3


def test_warn_always_is_kept() -> None:
    assert tengen.is_warn_always_enabled() is False
    tengen.set_warn_always(True)
    assert tengen.is_warn_always_enabled() is True
    with pytest.raises(RuntimeError, match="bool"):
        tengen.set_warn_always(1)  # type: ignore[arg-type]
    tengen.set_warn_always(False)


#: What is made of memory that is somewhere already, of an array or a tensor of the CPU: where the default
#: device has no say, and where it has.
STAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "from_numpy": lambda m, array, tensor: m.from_numpy(array),
    "from_dlpack": lambda m, array, tensor: m.from_dlpack(array),
    "from_dlpack of a tensor": lambda m, array, tensor: m.from_dlpack(tensor),
    "utils.dlpack": lambda m, array, tensor: m.utils.dlpack.from_dlpack(array),
    "frombuffer": lambda m, array, tensor: m.frombuffer(bytearray(12), dtype=m.float32),
    "get_rng_state": lambda m, array, tensor: m.get_rng_state(),
    "new_tensor": lambda m, array, tensor: tensor.new_tensor([1.0]),
    "an operator": lambda m, array, tensor: m.from_numpy(array) + tensor,
}
GOES: dict[str, Callable[[Any, Any, Any], Any]] = {
    f"{name} of {what}": lambda m, array, tensor, name=name, what=what: getattr(m, name)(
        {"a list": [1.0], "an array": array, "a tensor": tensor}[what]
    )
    for name in ("tensor", "as_tensor", "asarray")
    for what in ("a list", "an array", "a tensor")
}


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("name", [*STAYS, *GOES])
def test_what_the_default_device_has_a_say_in(m: Any, name: str) -> None:
    array, tensor = np.ones(3, np.float32), m.ones(3)
    make = STAYS.get(name) or GOES[name]
    with m.device("meta"):
        inside = make(m, array, tensor)
    m.set_default_device("meta")
    try:
        chosen = make(m, array, tensor)
    finally:
        m.set_default_device(None)
    assert inside.device.type == chosen.device.type == ("cpu" if name in STAYS else "meta")
    assert make(m, array, tensor).device.type == "cpu"


@pytest.mark.filterwarnings("ignore:To copy construct")
def test_without_a_default_device_tensors_stay_where_they_are(m: Any) -> None:
    there = m.ones(3, device="meta")
    for make in (m.tensor, m.as_tensor, m.asarray):
        assert make(there).device.type == "meta"


def warned(m: ModuleType, function: Callable[[], object]) -> list[str]:
    """What is warned of, without the library's name and torch's notes of where it comes from."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    assert {w.filename for w in found} <= {__file__}
    return [
        str(w.message).replace("torch.", "tengen.").partition(". ")[0].partition(" (Trig")[0] for w in found
    ]


def test_masks_of_bytes_are_old(m: ModuleType) -> None:
    """Indexing warns each time, and for each mask; ``where`` once, or always where that is asked for."""
    x, mask = m.arange(4.0), m.tensor([1, 0, 1, 0], dtype=m.uint8)
    square, target = m.ones(4, 4), m.zeros(4)
    for _ in range(2):
        assert [len(warned(m, lambda: x[mask])), len(warned(m, lambda: square[mask, mask]))] == [1, 2]
        assert len(warned(m, lambda: target.__setitem__(mask, m.ones(2)))) == 1
        assert len(warned(m, lambda: target.index_put_((mask,), m.ones(2)))) == 1
        assert len(warned(m, lambda: x[np.array([1, 0, 1, 0], dtype=np.uint8)])) == 1
        assert warned(m, lambda: x[mask.bool()]) == []
    assert "indexing with dtype tengen.uint8 is now deprecated" in warned(m, lambda: x[mask])[0]
    try:
        m.set_warn_always(True)
        for _ in range(2):
            (text,) = warned(m, lambda: m.where(mask, x, x))
            assert text == "where received a uint8 condition tensor"
        m.set_warn_always(False)
        warned(m, lambda: m.where(mask, x, x))
        large = m.ones(300_000, dtype=m.uint8)
        for condition, other in ((mask, x), (large, large.float())):
            assert warned(m, lambda c=condition, o=other: m.where(c, o, o)) == []
    finally:
        m.set_warn_always(False)
    for refused in ("masked_fill", "masked_scatter"):
        with pytest.raises(RuntimeError, match="only supports boolean masks"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's masked_scatter warns, too
            getattr(x, refused)(mask, m.tensor(1.0))


#: Functions that PyTorch keeps for old programs, and calls of others without what they should be given.
OLD: dict[str, Callable[[Any], Any]] = {
    "cross": lambda m: m.cross(m.ones(2, 3), m.ones(2, 3)),
    "cholesky": lambda m: m.cholesky(m.eye(2)),
    "qr": lambda m: m.qr(m.eye(2)),
    "lu": lambda m: m.lu(m.eye(2)),
    "the method lu": lambda m: m.eye(2).lu(),
    "lu_solve": lambda m: m.lu_solve(m.ones(2, 1), *m.linalg.lu_factor(m.eye(2))),
    "triangular_solve": lambda m: m.triangular_solve(m.ones(2, 1), m.eye(2)),
    "chain_matmul": lambda m: m.chain_matmul(m.eye(2), m.eye(2)),
    "meshgrid": lambda m: m.meshgrid(m.ones(2), m.ones(3)),
}


def told(function: Callable[[], Any]) -> list[str]:
    """The texts of the UserWarnings, wherever torch sees the program."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        function()
    return [str(w.message) for w in found if w.category is UserWarning]


@pytest.mark.parametrize("name", OLD)
def test_old_functions_warn(m: Any, name: str) -> None:
    m.set_warn_always(True)
    try:
        for _ in range(2):
            (text,) = told(lambda: OLD[name](m))
            assert name.split()[-1] in text
    finally:
        m.set_warn_always(False)
    told(lambda: OLD[name](m))
    assert told(lambda: OLD[name](m)) == []  # it was told before


def test_forms_that_are_not_old_warn_of_nothing(m: Any) -> None:
    x = m.ones(2, 3)
    assert told(lambda: (m.cross(x, x, dim=1), m.meshgrid(x[0], x[1], indexing="ij"))) == []


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_variances_without_degrees_of_freedom_warn(m: Any, name: str) -> None:
    deviation = getattr(m, name)
    for x, dim, correction in ((m.ones(1), None, 1), (m.ones(2, 3), 1, 3), (m.ones(0, 2), 0, 1)):
        (text,) = told(lambda x=x, d=dim, c=correction: deviation(x, d, correction=c))
        assert text.startswith(f"{name}(): degrees of freedom is <= 0")
        assert told(lambda x=x, d=dim: deviation(x, d, correction=-1)) == []


def test_errors_of_warnings_leave_everything() -> None:
    x, mask = tengen.arange(4.0), tengen.tensor([1, 0, 1, 0], dtype=tengen.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="indexing with dtype"):
            x[mask] = tengen.ones(2)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
