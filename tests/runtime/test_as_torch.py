"""``tengen.as_torch``: what is written for PyTorch imports tengen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tengen


def run(*arguments: Any, folder: Path | None = None) -> str:
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


SCRIPT = """
import importlib.metadata, importlib.util, pickle, sys
import torch, torch.nn as nn, torch.nn.functional as F
import torch._C, torch.nn.modules.utils, torch.overrides, torch.utils._pytree
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataset import Subset

import tengen
assert __name__ == "__main__" and sys.argv[1:] == ["a", "b"]
assert torch.nn is tengen.nn and Tensor is tengen.Tensor and torch.ones(2).tolist() == [1, 1]
assert torch.__version__ >= (1, 8) and torch.__version__ < "10.0" and torch.__version__ == "2.13"
assert str(torch.__version__) == importlib.metadata.version("torch") == "2.13.0"
assert importlib.util.find_spec("torch") and importlib.util.find_spec("torch.package") is None
assert str(torch.float32) == "torch.float32" and torch.ones(1).type() == "torch.FloatTensor"
assert pickle.loads(b"ctorch.nn.functional\\nlinear\\n.") is F.linear
assert not torch.overrides.has_torch_function([torch.ones(1)])
assert nn.modules.utils._pair(3) == (3, 3)

class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})

class Like:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__

seen = []
assert type(torch.ones(2).as_subclass(Named) + 1) is Named and seen == ["add"]
assert torch.add(torch.ones(1), Like()) == "add"

class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__, func(*args, **(kwargs or {}))

with Mode():
    name, made = torch.ones(2)
assert name == "ones" and made.tolist() == [1, 1]

for text, error in (
    ("torch.package", AttributeError), ("import torch.package", ImportError),
    ("from torch.package import PackageExporter", ImportError),
    ("torch.no_such_name", AttributeError), ("from torch import no_such_name", ImportError),
):
    try:
        exec(text)
    except error as e:
        print(type(e).__name__, e)
"""


def test_a_script(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    said = run("-m", "tengen.as_torch", file, "a", "b").splitlines()
    assert len(said) == 5 and all(name in line for name, line in zip(
        (*["torch.package: `tengen.save` writes"] * 3, "no_such", "no_such"),
        said, strict=True,
    ))  # fmt: skip


def test_a_module_and_its_neighbours(tmp_path: Path) -> None:
    package = tmp_path / "written"
    package.mkdir()
    (package / "__init__.py").write_text("import torch\n")
    (package / "other.py").write_text("from torch.nn import Linear\n")
    main = "import sys\nfrom .other import Linear\nprint(Linear.__module__, sys.argv[1:])\n"
    (package / "__main__.py").write_text(main)
    said = run("-m", "tengen.as_torch", "-m", "written", "x", folder=tmp_path)
    assert said == "torch.nn.modules.linear ['x']\n"


def test_in_code_until_it_is_undone() -> None:
    program = """
import sys, tengen
before = list(sys.meta_path)
with tengen.as_torch():
    import torch
    with tengen.as_torch():
        pass
    assert torch.ones is tengen.ones and str(torch.float64) == "torch.float64"
assert sys.meta_path == before and "torch" not in sys.modules and str(tengen.float64) == "tengen.float64"
assert not hasattr(tengen.Tensor, "__torch_function__")
import tengen.as_torch
tengen.as_torch().undo()
"""
    run("-c", program)


def test_it_is_never_there_by_itself() -> None:
    assert run("-c", "import sys, tengen; print('tengen.torch_imports' in sys.modules)") == "False\n"
    assert tengen.as_torch.__module__ == "tengen.torch_imports"


def test_torch_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    program = "import torch, tengen\ntry:\n    tengen.as_torch()\nexcept RuntimeError as e:\n    print(e)"
    assert "PyTorch was imported already" in run("-c", program, folder=tmp_path)


@pytest.mark.parametrize("name", ["nothing", "-h", "-m"])
def test_the_command_says_how_it_is_used(name: str) -> None:
    arguments = [] if name == "nothing" else [name]
    done = subprocess.run(
        [sys.executable, "-m", "tengen.as_torch", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("usage: python -m tengen.as_torch")


def test_distributions_are_those_of_torch() -> None:
    code = """
import tengen
tengen.as_torch()
import torch
import torch.distributions as dist
from torch.distributions import constraints, transforms
from torch.distributions.normal import Normal
from torch.distributions.utils import broadcast_all
import torch.distributions.constraints
assert dist is tengen.distributions and dist.Normal is Normal is tengen.distributions.Normal
print(dist.kl_divergence(Normal(0.0, 1.0), Normal(torch.tensor(1.0), 1.0)))
print(Normal(torch.zeros(2), 1.0))
"""
    assert run("-c", code).splitlines() == [
        "tensor(0.5000)",
        "Normal(loc: torch.Size([2]), scale: torch.Size([2]))",
    ]


def test_names_of_absent_packages_can_be_imported_and_refuse_to_be_called() -> None:
    code = """
import tengen
tengen.as_torch()
import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.fx import GraphModule, symbolic_trace
from torch.fx.graph_module import GraphModule as Other
from torch.futures import Future, collect_all, wait_all
from torch._subclasses.fake_tensor import is_fake
def reduce(x, op=dist.ReduceOp.SUM) -> Future[torch.torch.Tensor]: ...
assert not dist.is_available() and not is_fake(torch.ones(1))
assert not isinstance(torch.ones(1), torch.fx.node.Node)
class Mine(GraphModule):
    pass
calls = (GraphModule, Other, Mine, symbolic_trace)
calls += (ZeroRedundancyOptimizer, dist.init_process_group, torch.fx.Tracer)
for call in calls:
    try:
        call(1)
    except RuntimeError as error:
        print(error)
assert collect_all([Future(1), Future(2)]).wait() and wait_all([Future(3)]) == [3]
"""
    lines = run("-c", code).splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("torch.fx.GraphModule is not available: `tengen.jit.trace` records")
    assert all("is not available" in line for line in lines)


SAFETENSORS = """
import sys
import tengen
tengen.as_torch()
import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
path = sys.argv[1]
tensors = {
    "half": torch.arange(6).view(2, 3).bfloat16(), "none": torch.empty(0, 2), "number": torch.tensor(3.5),
    "odd": torch.tensor([1, 0, 1], dtype=torch.bool), "whole": torch.arange(4),
    "eight": torch.ones(3).to(torch.float8_e4m3fn),
}
save_file(tensors, path, {"made": "here"})
for found in (load_file(path), load(save(tensors))):
    assert found.keys() == tensors.keys()
    for name, tensor in found.items():
        assert tensor.dtype == tensors[name].dtype and tensor.shape == tensors[name].shape, name
        assert tensor.double().tolist() == tensors[name].double().tolist(), name
with safe_open(path, framework="pt", device="cpu") as file:
    assert file.metadata() == {"made": "here"} and file.get_slice("half")[:, 1:].tolist() == [[1, 2], [4, 5]]
    found = file.get_tensor("whole")
found += 1
assert load_file(path)["whole"].tolist() == [0, 1, 2, 3] and found.tolist() == [1, 2, 3, 4]
one, other = (torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)) for _ in range(2))
one.append(one[0]), other.append(other[0])
save_model(one, path)
assert load_model(other, path) == (set(), []) and torch.equal(other[0].weight, one[2].weight)
"""


def test_safetensors_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    run("-c", SAFETENSORS, tmp_path / "file")


def test_names_that_transformers_asks_for() -> None:
    """What is an identity without a compiler is one; what records graphs of a GPU's refuses."""
    code = """
import tengen
tengen.as_torch()
import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.nn.modules.module import _EXTRA_STATE_KEY_SUFFIX
assert _EXTRA_STATE_KEY_SUFFIX == "_extra_state"
assert not torch.cuda.is_available() and not torch.cuda.is_current_stream_capturing()
assert not torch.xpu.is_current_stream_capturing() and torch._inductor.list_mode_options() == {}
assert torch._dynamo.assume_constant_result(len) is len and torch._dynamo.mark_static_address(1) is None
def annotated(graph: torch.cuda.CUDAGraph | None) -> torch.export.ExportedProgram | None: ...
seen = torch.arange(6).view(2, 3) > 1
with TransformGetItemToIndex():
    mapped = torch.vmap(torch.vmap(lambda i, j: seen[i, j], (None, 0)), (0, None))
    assert torch.equal(mapped(torch.arange(2), torch.arange(3)), seen)
for call in (torch.cuda.CUDAGraph, lambda: torch.cuda.graph(None), lambda: torch.export.export(None, ())):
    try:
        call()
    except RuntimeError as error:
        print(error)
"""
    assert len(run("-c", code).splitlines()) == 3


LIGHTNING = """
import tengen
tengen.as_torch()
import typing
import torch
from torch import ScriptModule
from torch._dynamo import OptimizedModule
from torch.autograd.profiler import emit_nvtx
from torch.utils.flop_counter import FlopCounterMode

class Model(torch.nn.Module):
    size: "int"

assert typing.get_type_hints(Model)["size"] is int
assert typing.get_type_hints(torch.nn.Module)["training"] is bool
for kind in (ScriptModule, OptimizedModule, torch._dynamo.eval_frame.OptimizedModule, emit_nvtx):
    assert not isinstance(Model(), kind)
typing.Union[torch.profiler.profile, emit_nvtx]
assert not torch.profiler.kineto_available()
with FlopCounterMode(display=False) as counter:
    torch.nn.Linear(3, 4)(torch.ones(2, 3))
assert counter.get_total_flops() == 2 * 2 * 3 * 4
try:
    emit_nvtx()
except RuntimeError:
    pass
else:
    raise AssertionError(emit_nvtx)
"""


def test_names_that_lightning_asks_for_and_annotations_that_are_read() -> None:
    run("-c", LIGHTNING)


def test_a_missing_name_is_pytorchs_in_every_module() -> None:
    code = """
import tengen
with tengen.as_torch():
    import torch.nn.modules.module as module, torch.nn.functional as F, torch.utils
    for place, name in ((module, "NoSuch"), (F, "no_such"), (torch.utils, "no_such"), (torch, "no_such")):
        assert not hasattr(place, name)
        try:
            getattr(place, name)
        except AttributeError as error:
            assert "'Coming from PyTorch' in tengen's documentation" in str(error) and error.name == name
            print(str(error).partition(":")[0])
    assert not hasattr(F, "__path__")
assert "__getattr__" not in vars(module)
"""
    said = run("-c", code).splitlines()
    there = "tengen, which stands in for torch, has no torch."
    names = ("nn.modules.module.NoSuch", "nn.functional.no_such", "utils.no_such", "no_such")
    assert said == [there + name for name in names]


DEFINING = """
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

KEYS = dist.Backend("gloo") | dist.Backend.register("x")

class Kept:
    options = dist.ReduceOptions(wait=True)
    held: dist.Work[int] = None

@record
def main():
    return 1

@dist.rpc.functions.async_execution(timeout=3)
class Remote:
    pass
"""


def test_what_is_refused_at_class_level_or_as_a_decorator_stops_no_import(tmp_path: Path) -> None:
    (tmp_path / "defining.py").write_text(DEFINING)
    (tmp_path / "stated.py").write_text("import torch.distributed as dist\ndist.init_process_group()\n")
    (tmp_path / "program.py").write_text("""
import torch.distributed as dist
import defining

def call():
    return dist.barrier(len)

def stated():
    import stated

@dist.reduce_op
def decorated():
    return 1

for used in (defining.main, defining.Remote, defining.Kept.options, call, stated, decorated):
    try:
        used()
    except RuntimeError as error:
        print("is not available: tengen computes in one process" in str(error))
try:
    list(dist.Work)
except TypeError:
    print(True)
""")
    assert run("-m", "tengen.as_torch", tmp_path / "program.py").split() == ["True"] * 7


def test_classes_and_functions_say_where_pytorch_has_them() -> None:
    code = """
import io, pickle, tengen
with tengen.as_torch():
    import torch
    from torch.optim.lr_scheduler import StepLR
    places = [c.__module__ for c in (torch.Tensor, torch.nn.Conv2d, torch.nn.GRUCell, StepLR, torch.device)]
    print(*places, torch.nn.utils.parameters_to_vector.__module__)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    written, file = pickle.dumps(model), io.BytesIO()
    assert b"torch.nn.modules.container" in written and b"tengen.nn.modules.linear" not in written
    assert torch.equal(pickle.loads(written)[0].weight, model[0].weight)
    assert str(torch.nn.Parameter(torch.ones(1))).endswith("tensor([1.], requires_grad=True)")
    torch.save(model, file)
    tensor = pickle.dumps(torch.ones(2))
file.seek(0)
assert type(tengen.load(file, weights_only=False)) is tengen.nn.Sequential
assert pickle.loads(tensor).tolist() == [1, 1]
print(tengen.Tensor.__module__, tengen.nn.Conv2d.__module__)
"""
    first, after = run("-c", code).splitlines()
    assert first.split() == [
        *("torch", "torch.nn.modules.conv", "torch.nn.modules.rnn", "torch.optim.lr_scheduler", "torch"),
        "torch.nn.utils.convert_parameters",
    ]
    assert after.split() == ["tengen", "tengen.nn.modules.conv_nd"]
