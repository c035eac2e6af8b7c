"""The functions of the CPU library that the runtime relies on."""

from __future__ import annotations

import importlib

import ml_dtypes
import numpy as np
import pytest

from tengen.dispatch.backend import Library
from tengen.generated.backends import BACKENDS
from tengen.kernels import cpu
from tengen.kernels.dims import wrap_dim, wrap_dims

BF16 = np.dtype(ml_dtypes.bfloat16)


def test_root_offset_strides():
    x = np.arange(12.0).reshape(3, 4)
    part = x[1:, 1::2]
    assert cpu.root(part).size == 12 and np.shares_memory(cpu.root(part), x)
    assert cpu.storage_offset(part) == 5 and cpu.strides(part) == (4, 2)
    assert cpu.root(x.T[1:]).tolist() == list(range(12))
    assert cpu.root(x.view(np.complex128)).dtype == np.complex128
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(5), 3)
    assert cpu.root(windows).size == 5
    assert cpu.root(np.broadcast_to(x, (2, 3, 4))).size == 12


def test_as_strided():
    x = np.arange(6.0)
    view = cpu.as_strided(x[2:], (2, 2), (2, 1), 1)
    assert view.tolist() == [[1, 2], [3, 4]] and np.shares_memory(view, x)
    assert cpu.as_strided(x, (0, 3), (3, 1), 100).shape == (0, 3)
    with pytest.raises(
        RuntimeError, match="requiring a storage size of 56 are out of bounds for storage of size 48"
    ):
        cpu.as_strided(x, (3,), (2,), 2)
    with pytest.raises(RuntimeError, match="Negative strides are not supported"):
        cpu.as_strided(x, (2,), (-1,), 2)
    with pytest.raises(RuntimeError, match="mismatch in length of strides and shape"):
        cpu.as_strided(x, (2,), (1, 1), 0)
    with pytest.raises(RuntimeError, match="invalid storage offset -1"):
        cpu.as_strided(x, (2,), (1,), -1)


def test_empty_strided():
    made = cpu.empty_strided((2, 3), (1, 2), np.dtype(np.float32))
    assert cpu.strides(made) == (1, 2) and cpu.root(made).size == 6
    assert cpu.empty_strided((2, 0), (1, 2), np.dtype(np.float32)).size == 0


def test_copy_keeps_a_dense_layout():
    x = np.arange(24.0).reshape(2, 3, 4)
    assert cpu.strides(cpu.copy(x.transpose(2, 0, 1))) == (1, 12, 4)
    assert cpu.strides(cpu.copy(x[:, :, ::2])) == (6, 2, 1)
    assert cpu.strides(cpu.copy(np.broadcast_to(np.zeros((1, 4)), (3, 4)))) == (4, 1)


def test_cast():
    assert cpu.cast(np.array([1 + 2j, 3j]), np.dtype(np.float32)).tolist() == [1, 0]
    assert cpu.cast(np.array([1j, 0]), np.dtype(bool)).tolist() == [True, False]
    x = np.array([1.0])
    assert cpu.cast(x, x.dtype) is x
    assert cpu.full((2,), 300, np.dtype(np.uint8)).tolist() == [44, 44]
    target = np.zeros((2, 2), np.uint8)
    cpu.copyto(target, np.array([-1.0, 300.0]))
    assert target.tolist() == [[255, 44]] * 2


def test_sums():
    x = np.ones((2, 3, 4), np.float32)
    assert cpu.sum_to(x, (3, 1)).tolist() == [[8.0]] * 3 and cpu.sum_to(x, ()).shape == ()
    many = np.full((1000, 1), 1.001, BF16)
    total = cpu.sum_to(many, (1,))
    assert total.dtype == BF16 and float(total[0]) == 1000
    assert cpu.add(np.float32(1), np.float32(2)).shape == ()
    a = np.array([1.0])
    assert cpu.add_(a, a) is a and a[0] == 2


def test_nan_and_layout():
    assert cpu.isnan_any(np.array([1, np.nan])) and cpu.isnan_any(np.array([np.nan], BF16))
    assert not cpu.isnan_any(np.array([1])) and not cpu.isnan_any(np.array([], np.float32))
    assert cpu.same_layout(np.zeros((2, 3)), np.ones((2, 3)))
    assert not cpu.same_layout(np.zeros((2, 3)), np.zeros((3, 2)).T)


def test_dims():
    assert wrap_dim(-1, 3) == 2 and wrap_dim(0, 0) == wrap_dim(-1, 0) == 0
    assert wrap_dims((0, -1), 3) == (0, 2) and wrap_dims((0,), 0) == ()
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 5"):
        wrap_dim(5, 2)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        wrap_dims((1, -1), 2)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", ["float16", "float32", "float64", "int64", "int8", "uint8", "complex64"])
@pytest.mark.parametrize(
    "target",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"],
)
def test_cast_as_torch(source, target):
    torch = pytest.importorskip("torch")
    numbers = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-10, 10).repeat(50)
    numbers = np.concatenate([numbers, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -129.7, 255.5]])
    if source[0] in "iu":
        numbers = np.clip(np.nan_to_num(numbers), -(2.0**62), 2.0**62).astype(np.int64)
    array = numbers.astype(source)
    theirs = torch.from_numpy(array).to(getattr(torch, target))
    ours = cpu.cast(array, BF16 if target == "bfloat16" else np.dtype(target))
    same = torch.from_dlpack(np.ascontiguousarray(ours.view(np.uint8)))
    assert torch.equal(same, theirs.view(torch.uint8)) or np.array_equal(
        ours.astype(np.float64), theirs.to(torch.float64).numpy(), equal_nan=True
    )


@pytest.mark.parametrize("name", BACKENDS)
def test_every_library_has_all_functions(name):
    module, _, member = BACKENDS[name]["library"].partition(":")
    if "extra" in BACKENDS[name]:
        pytest.importorskip(BACKENDS[name]["extra"])
    library = importlib.import_module(module)
    library = getattr(library, member) if member else library
    asked = [member for member in vars(Library) if not member.startswith("_")]
    assert len(asked) > 20 and [member for member in asked if not hasattr(library, member)] == []
