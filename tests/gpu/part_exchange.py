"""What lies between tengen and the rest of the GPU: memory, streams, events, DLPack, seeds; and writes.

Each check raises where something is not as it should be. Those with torch are left out where that has no GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from beside import torch_on_cuda
from worker import Item

SKIPPED = "skipped"
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
WRITES = Path(__file__).resolve().parents[1] / "backends"
CHECKS: dict[str, Callable[[Any, Any], dict[str, Any] | None]] = {}
Check = Callable[[Any, Any], dict[str, Any] | None]


def check(function: Check) -> Check:
    """A check, of tengen and CuPy, named after what it checks."""
    CHECKS[function.__name__.replace("_", " ")] = function
    return function


def items(options: Mapping[str, Any]) -> dict[str, Item]:
    import tengen

    def item(function: Check) -> dict[str, Any]:
        return function(tengen, import_module("cupy")) or {}

    return {name: partial(item, function) for name, function in CHECKS.items()} | writes()


def writes() -> dict[str, Item]:
    """The programs of tests/backends/test_writes.py, which write to tensors in every way."""
    sys.path.append(str(WRITES))
    module = import_module("test_writes")

    def item(program: Callable[[str], list[Any]]) -> dict[str, Any]:
        module.compare(program, "cuda")
        return {}

    return {f"writes: {p.__name__.replace('_', ' ')}": partial(item, p) for p in module.PROGRAMS}


# -- devices and memory


@check
def tensors_go_there_and_back(tengen: Any, cupy: Any) -> None:
    for name in DTYPES:
        here = tengen.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(tengen, name))
        there = here.cuda()
        assert there.is_cuda and there.dtype is here.dtype and isinstance(there._array, cupy.ndarray)
        assert tengen.equal(there.cpu(), here) and tengen.equal(here.to("cuda:0").to("cpu"), here), name


@check
def what_cupy_has_not_is_refused(tengen: Any, cupy: Any) -> dict[str, Any]:
    said = {}
    for name in ("bfloat16", "float8_e4m3fn"):
        try:
            tengen.ones(2, dtype=getattr(tengen, name)).cuda()
        except (NotImplementedError, RuntimeError, TypeError) as error:
            said[name] = type(error).__name__
    assert len(said) == 2, said
    return {"refused": said}


@check
def operands_of_two_devices_are_refused(tengen: Any, cupy: Any) -> None:
    there = tengen.ones(2, device="cuda")
    assert tengen.equal((there + tengen.tensor(1.0)).cpu(), tengen.full((2,), 2.0))  # but of no dimension
    try:
        there + tengen.ones(2)
    except RuntimeError:
        return
    raise AssertionError("there was no error")


@check
def modules_move(tengen: Any, cupy: Any) -> None:
    here = tengen.nn.Linear(4, 3).double()
    x = tengen.arange(8.0, dtype=tengen.float64).reshape(2, 4)
    expected = here(x).detach()
    module = here.to("cuda")
    assert all(p.is_cuda and p.is_leaf for p in module.parameters())
    module(x.cuda()).sum().backward()
    assert all(p.grad is not None and p.grad.is_cuda for p in module.parameters())
    tengen.testing.assert_close(module(x.cuda()).detach().cpu(), expected)


@check
def memory_is_counted(tengen: Any, cupy: Any) -> dict[str, Any]:
    tengen.cuda.empty_cache()
    before = tengen.cuda.memory_allocated()
    x = tengen.zeros(1 << 20, device="cuda")
    held = tengen.cuda.memory_allocated() - before
    assert held >= x.nbytes or cupy.__version__ == "stand-in", held
    del x
    free, total = tengen.cuda.mem_get_info()
    assert 0 < free <= total and tengen.cuda.memory_allocated() <= before + held
    assert tengen.cuda.memory_reserved() >= tengen.cuda.memory_allocated()
    return {"held": held}


@check
def seeds_give_the_numbers_of_the_cpu(tengen: Any, cupy: Any) -> None:
    for draw in (tengen.rand, tengen.randn):
        tengen.cuda.manual_seed(3)
        there = draw(5, device="cuda").cpu()
        tengen.manual_seed(3)
        assert tengen.equal(there, draw(5))


# -- streams and events


@check
def work_goes_to_the_stream_that_is_chosen(tengen: Any, cupy: Any) -> None:
    cuda = tengen.cuda
    x = tengen.arange(1000.0, device="cuda")
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        assert cuda.current_stream().cuda_stream == side.cuda_stream == cupy.cuda.get_current_stream().ptr
        y = (x * 2 + 1).sum()
        done = side.record_event()
    assert cuda.current_stream().cuda_stream == cuda.default_stream().cuda_stream
    done.wait()
    assert float(y) == 1000 * 999 + 1000
    side.synchronize()
    assert side.query() and done.query()


@check
def backward_runs_on_a_stream(tengen: Any, cupy: Any) -> None:
    side = tengen.cuda.Stream()
    with tengen.cuda.stream(side):
        x = tengen.arange(1000.0, device="cuda").requires_grad_()
        (x * x).sum().backward()
    tengen.cuda.current_stream().wait_stream(side)
    assert tengen.equal(x.grad.cpu(), 2 * tengen.arange(1000.0))


@check
def events_measure(tengen: Any, cupy: Any) -> dict[str, Any]:
    begin, end = (tengen.cuda.Event(enable_timing=True) for _ in range(2))
    x = tengen.ones(1 << 20, device="cuda")
    begin.record()
    for _ in range(10):
        x = x * 1.0
    end.record()
    end.synchronize()
    assert begin.query() and end.query()
    milliseconds = begin.elapsed_time(end)
    assert milliseconds > 0
    return {"milliseconds": milliseconds}


@check
def a_device_is_chosen(tengen: Any, cupy: Any) -> None:
    cuda = tengen.cuda
    with cuda.device(0):
        assert cuda.current_device() == 0
    cuda.set_device("cuda:0")
    cuda.synchronize()
    with cuda.device_of(tengen.ones(1, device="cuda")):
        assert cuda.current_device() == 0


# -- DLPack


@check
def dlpack_with_cupy_shares(tengen: Any, cupy: Any) -> None:
    array = cupy.arange(6.0)
    made = tengen.from_dlpack(array)
    assert made.is_cuda and made.data_ptr() == array.data.ptr
    back = cupy.from_dlpack(made)
    assert back.data.ptr == array.data.ptr and tuple(made.__dlpack_device__()) == (2, 0)
    assert np.array_equal(cupy.asnumpy(back), np.arange(6.0))


@check
def dlpack_from_torch_shares(tengen: Any, cupy: Any) -> dict[str, Any] | None:
    torch = torch_on_cuda()
    if torch is None:
        return {"outcome": SKIPPED, "text": "torch has no GPU here"}
    for name in ("float32", "float16", "int64", "complex64"):
        theirs = torch.arange(6, device="cuda").to(getattr(torch, name))
        ours = tengen.from_dlpack(theirs)
        assert ours.data_ptr() == theirs.data_ptr() and ours.dtype is getattr(tengen, name)
        assert ours.tolist() == theirs.tolist(), name
    return None


@check
def dlpack_to_torch_shares(tengen: Any, cupy: Any) -> dict[str, Any] | None:
    torch = torch_on_cuda()
    if torch is None:
        return {"outcome": SKIPPED, "text": "torch has no GPU here"}
    for name in ("float32", "float16", "int64", "complex64"):
        ours = tengen.arange(6, device="cuda").to(getattr(tengen, name))
        theirs = torch.from_dlpack(ours)
        assert ours.data_ptr() == theirs.data_ptr() and theirs.dtype is getattr(torch, name)
        assert ours.tolist() == theirs.tolist(), name
    return None


@check
def dlpack_on_another_stream(tengen: Any, cupy: Any) -> dict[str, Any] | None:
    """What torch reads is written, though on a stream of its own."""
    torch = torch_on_cuda()
    if torch is None:
        return {"outcome": SKIPPED, "text": "torch has no GPU here"}
    x = tengen.zeros(1 << 24, device="cuda")
    for _ in range(50):
        x = x + 1
    with torch.cuda.stream(torch.cuda.Stream()):
        theirs = torch.from_dlpack(x)
        assert bool((theirs == 50).all())
    return None
