"""DLPack: what is exported and imported, by which words, and what is refused, in tengen and in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({}, "dltensor"),
        ({"stream": None}, "dltensor"),
        ({"max_version": (0, 8)}, "dltensor"),
        ({"max_version": (1, 0)}, "dltensor_versioned"),
        ({"max_version": (2, 0)}, "dltensor_versioned"),
        ({"dl_device": (1, 0), "copy": False, "max_version": (1, 1)}, "dltensor_versioned"),
    ],
)
def test_capsules(m: Any, words: dict[str, Any], name: str) -> None:
    x = m.arange(3.0)
    assert f'"{name}"' in repr(x.__dlpack__(**words))
    back = m.from_dlpack(x.__dlpack__(**words))
    back[0] = 9
    assert x[0].item() == 9


def test_names(m: Any) -> None:
    kinds = m.utils.dlpack.DLDeviceType
    kind, index = m.ones(2).__dlpack_device__()
    assert kind is kinds.kDLCPU and (int(kind), index) == (1, 0)
    assert m.from_dlpack(m.to_dlpack(m.ones(2))).tolist() == [1, 1]


@pytest.mark.oracle
def test_the_kinds_of_devices(torch: Any) -> None:
    ours, theirs = (lib.utils.dlpack.DLDeviceType for lib in (tengen, torch))
    assert {k.name: int(k) for k in ours} == {k.name: int(k) for k in theirs}


@pytest.mark.parametrize("words", [{}, {"copy": None}, {"copy": False}, {"device": "cpu"}, {"device": None}])
@pytest.mark.parametrize("source", ["tensor", "array"])
def test_memory_is_shared(m: Any, words: dict[str, Any], source: str) -> None:
    x = m.arange(3.0) if source == "tensor" else np.arange(3.0)
    y = m.from_dlpack(x, **words)
    y[1] = 7
    assert float(x[1]) == 7


@pytest.mark.parametrize("words", [{"copy": True}, {"copy": True, "device": "cpu"}])
@pytest.mark.parametrize("source", ["tensor", "array", "bfloat16"])
def test_copies(m: Any, words: dict[str, Any], source: str) -> None:
    x = np.arange(3.0) if source == "array" else m.arange(3.0)
    x = x.to(m.bfloat16) if source == "bfloat16" else x
    y = m.from_dlpack(x, **words)
    y[1] = 7
    assert float(x[1]) == 1 and y.tolist() == [0, 7, 2]


def test_a_copy_of_what_is_read_only_is_not(m: Any) -> None:
    array = np.ones(2)
    array.setflags(write=False)
    copy = m.from_dlpack(array, copy=True)
    copy[0] = 5
    assert copy.tolist() == [5, 1] and array.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.ones(2, requires_grad=True).__dlpack__(), BufferError),
        (lambda m: m.from_dlpack(m.ones(2, requires_grad=True)), BufferError),
        (lambda m: m.ones(2, device="meta").__dlpack__(), BufferError),
        (lambda m: m.ones(2, device="meta").__dlpack_device__(), ValueError),
        (lambda m: m.from_dlpack(m.ones(2), device="meta"), BufferError),
        (lambda m: m.from_dlpack(m.to_dlpack(m.ones(2)), copy=True), AssertionError),
        (lambda m: m.from_dlpack(m.to_dlpack(m.ones(2)), device="cpu"), AssertionError),
        (lambda m: m.ones(2).__dlpack__(stream=1), AssertionError),
        (lambda m: m.ones(2).__dlpack__(stream="1"), TypeError),
        (lambda m: m.ones(2).__dlpack__(stream=True), TypeError),
        (lambda m: m.ones(2).__dlpack__(copy=1), TypeError),
        (lambda m: m.ones(2).__dlpack__(None), TypeError),
        (lambda m: m.from_dlpack(m.ones(2), "cpu"), TypeError),
        (lambda m: m.from_dlpack(3), RuntimeError),
    ],
)
def test_what_is_refused(m: Any, call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(m)


def layouts(m: Any) -> list[Any]:
    """Tensors of all ways to lie in memory."""
    x = m.arange(24.0).reshape(2, 3, 4)
    return [x, x.permute(2, 0, 1), x[:, ::2], x[1:], m.tensor(2.5), m.ones(0, 3), m.ones(1).expand(3)]


def test_layouts_there_and_back(m: Any) -> None:
    for x in layouts(m):
        for words in ({}, {"max_version": (1, 0)}):
            y = m.from_dlpack(x.__dlpack__(**words))
            assert y.tolist() == x.tolist() and y.stride() == x.stride() and y.shape == x.shape
        if 0 not in x.stride():
            array = np.from_dlpack(x)
            assert array.shape == tuple(x.shape) and array.tolist() == x.tolist()


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*DTYPES, "complex64", "complex128"])
def test_exchange_with_torch(torch: Any, name: str) -> None:
    """In both directions, in every dtype and layout, the memory is one."""
    for here, there in ((tengen, torch), (torch, tengen)):
        for x in layouts(here):
            x = x.to(getattr(here, name))
            y = there.from_dlpack(x)
            assert str(y.dtype).rpartition(".")[2] == name and y.tolist() == x.tolist()
            assert tuple(y.shape) == tuple(x.shape) and (y.stride() == x.stride() or not x.numel())
            assert not x.numel() or y.data_ptr() == x.data_ptr()
            assert there.from_dlpack(x, copy=True).tolist() == x.tolist()


@pytest.mark.oracle
def test_what_exchange_refuses(torch: Any) -> None:
    for here, there in ((tengen, torch), (torch, tengen)):
        with pytest.raises(BufferError):
            there.from_dlpack(here.ones(2, requires_grad=True))
    with pytest.raises(BufferError):
        tengen.from_dlpack(torch.ones(2, dtype=torch.complex64).conj())
    capsule = tengen.to_dlpack(tengen.ones(2))
    torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError):
        tengen.from_dlpack(capsule)
