"""The switches and names that programs written for PyTorch touch."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
import warnings
from types import FunctionType, ModuleType
from typing import Any

import pytest

import tengen
from tengen.generated import cpu_nodes, nodes
from tengen.generated.operators import DEPRECATED

PLACES = ("", "nn", "nn.functional", "nn.init", "linalg", "fft", "special", "optim", "utils.data", "func")


def public_functions() -> list[Any]:
    homes = [importlib.import_module(f"tengen.{place}".rstrip(".")) for place in PLACES]
    values = [getattr(home, name) for home in homes for name in dir(home) if not name.startswith("_")]
    methods = [getattr(tengen.Tensor, name) for name in dir(tengen.Tensor) if not name.startswith("__")]
    found = [v for v in values if callable(v) and not isinstance(v, ModuleType)]
    return found + [m for m in methods if isinstance(m, FunctionType)]


def test_functions_classes_and_methods_are_pickled_and_copied_by_name() -> None:
    found = public_functions()
    assert len(found) > 1000
    for function in found:
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


def test_a_module_with_a_function_is_saved() -> None:
    layer = tengen.nn.TransformerEncoderLayer(4, 2, 8, activation=tengen.nn.functional.gelu)
    assert pickle.loads(pickle.dumps(layer)).activation is tengen.nn.functional.gelu


def test_the_class_of_a_node_has_the_name_that_the_node_shows() -> None:
    for module in (nodes, cpu_nodes):
        names = {name: kind.__name__ for name, kind in vars(module).items() if name.endswith("Backward1")}
        assert names
    x = tengen.ones(2, requires_grad=True)
    for y in (x * 2, x * x, x.sum(), x[0], x + 1):
        assert type(y.grad_fn).__name__ == y.grad_fn.name()
    assert type((x * 2).grad_fn).__name__ == "MulBackward0"


# -- devices


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps", "xpu", "hpu", "xla", "vulkan"])
def test_devices_of_pytorch_can_be_made_anywhere(name: str) -> None:
    made = tengen.device(name)
    assert str(made) == name and pickle.loads(pickle.dumps(made)) == made
    assert tengen.device("cpu") != made


def test_what_uses_a_device_that_is_not_there_raises() -> None:
    if tengen.cuda.is_available():
        pytest.skip("there is a GPU")
    for use in (
        lambda: tengen.ones(2, device="cuda"),
        lambda: tengen.ones(2).cuda(),
        lambda: tengen.nn.Linear(2, 2).cuda(),
        lambda: tengen.ones(2).to("mps"),
        lambda: tengen.ones(2).xpu(),
    ):
        with pytest.raises(AssertionError, match=r"Torch not compiled with [A-Z]+ enabled, the device"):
            use()
    for use in (lambda: tengen.device(0), lambda: tengen.ones(2, device=0), lambda: tengen.ones(2).to(0)):
        with pytest.raises(RuntimeError, match="none is available"):
            use()
    with pytest.raises(RuntimeError, match="must be cuda device"):
        tengen.ones(2).cuda("cpu")
    assert not tengen.accelerator.is_available() and tengen.accelerator.current_accelerator() is None


# -- deprecated orders


def test_deprecated_orders_give_what_the_others_do_and_warn_once() -> None:
    from tengen.core.user_stack import Warned

    a, m = tengen.arange(3.0), tengen.arange(9.0).reshape(3, 3)
    cases = [
        (tengen.add, "add", (a, 2, a), a + 2 * a),
        (tengen.sub, "sub", (a, 2, a), a - 2 * a),
        (tengen.addcmul, "addcmul", (a, 2, a, a), a + 2 * a * a),
        (tengen.addcdiv, "addcdiv", (a, 2, a, a + 1), a + 2 * a / (a + 1)),
        (tengen.addmm, "addmm", (2, m, 3, m, m), 2 * m + 3 * m @ m),
        (tengen.addmm, "addmm", (2, m, m, m), 2 * m + m @ m),
        (tengen.addmv, "addmv", (2, a, 3, m, a), 2 * a + 3 * m @ a),
        (tengen.addr, "addr", (2, m, a, a), 2 * m + tengen.outer(a, a)),
        (tengen.baddbmm, "baddbmm", (2, m[None], 3, m[None], m[None]), (2 * m + 3 * m @ m)[None]),
        (tengen.addbmm, "addbmm", (2, m, 3, m[None], m[None]), 2 * m + 3 * m @ m),
    ]
    for function, name, arguments, expected in cases:
        Warned.subjects.discard(f"overload of {name}")
        with pytest.warns(UserWarning, match=f"This overload of {name} is deprecated"):
            assert tengen.equal(function(*arguments), expected)
        first = next(i for i, v in enumerate(arguments) if isinstance(v, tengen.Tensor))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            method = getattr(arguments[first], name)
            assert tengen.equal(method(*arguments[:first], *arguments[first + 1 :]), expected)
    assert {name for _, name, _, _ in cases} < DEPRECATED.keys()
    for bad in (
        lambda: tengen.addmm(m, 2, 3, m, m),
        lambda: tengen.addmm(m, m, m, 2),
        lambda: a.add(2, a, 3),
    ):
        with pytest.raises(TypeError):
            bad()


@pytest.mark.oracle
def test_deprecated_orders_are_pytorchs(torch: Any) -> None:
    results = []
    for package in (torch, tengen):
        a = package.arange(3.0)
        m = package.arange(9.0).reshape(3, 3)
        out = package.empty(3, 3)
        calls = [
            lambda a=a: a.clone().add_(2, a),
            lambda a=a, m=m: a.clone().addmv_(2, m, a),
            lambda m=m: m.clone().addmm_(2, 3, m, m),
            lambda m=m, out=out, p=package: p.addmm(2, m, 3, m, m, out=out),
            lambda a=a, p=package: p.add(a, 2, other=a),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append([call().tolist() for call in calls])
    assert results[0] == results[1]


# -- classes of tensors, storages


def test_classes_of_tensors_of_one_dtype() -> None:
    assert tengen.FloatTensor([1, 2]).tolist() == [1.0, 2.0]
    assert tengen.LongTensor(2, 3).shape == (2, 3) and tengen.LongTensor(1).shape == (1,)
    assert tengen.ByteTensor([1]).dtype is tengen.uint8 and tengen.FloatTensor().shape == (0,)
    assert isinstance(tengen.ones(1), tengen.FloatTensor) and not isinstance(
        tengen.ones(1), tengen.LongTensor
    )
    assert not isinstance(tengen.ones(1), tengen.cuda.FloatTensor)
    assert not issubclass(tengen.FloatTensor, tengen.Tensor)
    assert isinstance(tengen.ones(2).to_sparse(), tengen.sparse.FloatTensor)
    assert tengen.sparse.FloatTensor(2, 3).shape == (2, 3)
    for wanted in ("torch.DoubleTensor", "tengen.DoubleTensor", tengen.DoubleTensor, tengen.float64):
        assert tengen.ones(2).type(wanted).dtype is tengen.float64
    assert tengen.ones(2).type(tengen.Tensor).dtype is tengen.float32
    for wrong in ("DoubleTensor", "torch.FooTensor", "torch.mps.foo.FloatTensor", "torch.float64"):
        with pytest.raises(ValueError, match="invalid type"):
            tengen.ones(2).type(wrong)
    for wrong_arguments in ((1.5,), ("a",), (2.0, 3), (tengen.ones(2).long(),)):
        with pytest.raises(TypeError):
            tengen.FloatTensor(*wrong_arguments)
    if not tengen.cuda.is_available():
        with pytest.raises(TypeError, match=r"type tengen.cuda.FloatTensor not available"):
            tengen.cuda.FloatTensor([1])


def test_default_tensor_type() -> None:
    try:
        with pytest.warns(UserWarning, match="set_default_tensor_type.. is deprecated"):
            tengen.set_default_tensor_type(tengen.DoubleTensor)
        assert tengen.ones(1).dtype is tengen.float64
        with pytest.raises(TypeError, match="only floating-point"), pytest.warns(UserWarning):
            tengen.set_default_tensor_type("torch.LongTensor")
    finally:
        with pytest.warns(UserWarning):
            tengen.set_default_tensor_type("torch.FloatTensor")
    assert tengen.ones(1).dtype is tengen.float32


def test_slices_of_storages_share_their_bytes() -> None:
    x = tengen.arange(3, dtype=tengen.uint8)
    storage = x.untyped_storage()
    part = storage[1:]
    assert part.tolist() == [1, 2] and part.data_ptr() == storage.data_ptr() + 1
    part[0] = 255
    storage[2:] = -1
    assert x.tolist() == [0, 255, 255]
    assert storage.clone().fill_(3).tolist() == [3, 3, 3] and x.tolist() == [0, 255, 255]
    assert storage[5:2].nbytes() == 0 and list(storage) == [0, 255, 255]
    for index, error in (
        (slice(None, None, 2), RuntimeError),
        (20, IndexError),
        ("a", TypeError),
        (True, TypeError),
    ):
        with pytest.raises(error):
            storage[index]
    with pytest.raises(RuntimeError, match="int"):
        storage[0] = 1.5


# -- packages of switches


def test_switches_are_set_for_a_context_and_change_nothing() -> None:
    cudnn = tengen.backends.cudnn
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.version(), cudnn.is_available()) == (
        True,
        False,
        None,
        False,
    )
    with tengen.backends.cuda.sdp_kernel(enable_flash=False):
        assert not tengen.backends.cuda.flash_sdp_enabled()
    assert tengen.backends.cuda.flash_sdp_enabled()


def test_what_is_not_there_says_so_when_it_is_used() -> None:
    assert not tengen.distributed.is_available() and not tengen.distributed.is_initialized()
    with pytest.raises(RuntimeError, match=r"tengen.distributed.init_process_group is not available"):
        tengen.distributed.init_process_group("gloo")
    with pytest.raises(AttributeError):
        tengen.distributed.no_such_name  # noqa: B018
    with pytest.raises(RuntimeError, match=r"no C\+\+ interface"):
        tengen.utils.cpp_extension.load("a", ["b.cpp"])
    with pytest.raises(RuntimeError, match="none is available"):
        tengen.accelerator.synchronize()


def test_functions_are_not_scripted() -> None:
    def double(x: Any) -> Any:
        assert not tengen.jit.is_scripting() and not tengen.compiler.is_compiling()
        tracing.append(tengen.jit.is_tracing())
        return x * 2

    tracing: list[bool] = []
    assert tengen.compile(backend="eager")(double) is double
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tengen.jit.script(double) is double
    double(tengen.ones(1))
    tengen.jit.trace(double, (tengen.ones(1),))
    assert tracing[0] is False and tracing[1] is True
    assert tengen.jit.isinstance([1, 2], list[int]) and not tengen.jit.isinstance({"a": 1}, dict[str, str])
    assert tengen.jit.wait(tengen.jit.fork(double, tengen.ones(1))).item() == 2


SPAWNED = """
import tengen
from tengen.multiprocessing import ProcessExitedException, ProcessRaisedException, spawn

def run(index, kind):
    if kind == "raise" and index == 1:
        raise ValueError("from the process")
    if kind == "exit":
        raise SystemExit(3)

if __name__ == "__main__":
    spawn(run, ("nothing",), nprocs=2)
    for kind, error in (("raise", ProcessRaisedException), ("exit", ProcessExitedException)):
        try:
            spawn(run, (kind,), nprocs=2, start_method="fork")
        except error as e:
            print(type(e).__name__, "from the process" in str(e), getattr(e, "exit_code", None))
"""


def test_spawned_processes_tell_their_errors(tmp_path: Any) -> None:
    file = tmp_path / "spawned.py"
    file.write_text(SPAWNED)
    said = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:2] == ["ProcessRaisedException True None", "ProcessExitedException False 3"]


LATE = ("backends", "distributed", "multiprocessing", "compiler", "mps", "xpu", "accelerator", "types", "cpu")


def test_modules_are_imported_when_they_are_used() -> None:
    names = ("tensors.typed_classes", *LATE)
    program = f"import sys, tengen; print([n for n in {names} if f'tengen.{{n}}' in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
