"""Private modules of PyTorch's that packages import: what they give is what it gives there."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import pytest

import tengen
from tengen.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef


def run(code: str) -> str:
    """What a program prints under ``as_torch``."""
    program = f"import tengen\ntengen.as_torch()\nimport torch\n{code}"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# As tensordict does it: containers are leaves, and know how their tensors lose a dimension and get it back.
CONTAINERS = """
import torch._functorch.vmap as steps
from torch._functorch.vmap import _add_batch_dim, _broadcast_to_and_flatten, _get_name
from torch._functorch.vmap import _maybe_remove_batch_dim, tree_flatten, tree_unflatten

class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def split(self, sizes, dim):
        return [Pair(x, y) for x, y in zip(self.x.split(sizes, dim), self.y.split(sizes, dim))]

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        assert func is torch.cat
        pairs, dim = args[0], {"dim": args[1]} if len(args) == 2 else kwargs
        return Pair(torch.cat([p.x for p in pairs], **dim), torch.cat([p.y for p in pairs], **dim))

def is_pair(value):
    return isinstance(value, Pair)

def process(in_dims, args, func):
    flat, spec = tree_flatten(args, is_leaf=is_pair)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    leaf = next(a.x if is_pair(a) else a for a, d in zip(flat, dims) if d is not None)
    return leaf.size(0), dims, flat, spec

def create(dims, flat, level, spec):
    def added(value, dim):
        if dim is None:
            return value
        if is_pair(value):
            return Pair(_add_batch_dim(value.x, dim, level), _add_batch_dim(value.y, dim, level))
        return _add_batch_dim(value, dim, level)
    return tree_unflatten([added(v, d) for v, d in zip(flat, dims)], spec)

def unwrap(outputs, out_dims, level, size, func):
    def removed(value):
        return _maybe_remove_batch_dim(_get_name(func), value, level, size, out_dims)
    return Pair(removed(outputs.x), removed(outputs.y)) if is_pair(outputs) else removed(outputs)

before = steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched
steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched = process, create, unwrap
pair = Pair(torch.arange(6.0).view(3, 2), torch.ones(3, requires_grad=True))
shift = torch.tensor([1.0, 2.0])

def f(p, s):
    assert p.x.shape == (2,) and p.y.shape == ()
    return Pair(p.x * p.y + s, p.y * p.x.sum())

for chunk in (None, 2):
    out = torch.vmap(f, in_dims=(0, None), chunk_size=chunk)(pair, shift)
    assert torch.equal(out.x, pair.x + shift) and torch.equal(out.y, pair.x.sum(1))
out.y.sum().backward()
assert torch.equal(pair.y.grad, pair.x.sum(1))
inner = torch.vmap(lambda p: torch.vmap(lambda q: q * 2)(p.x) + p.y)(pair)
assert torch.equal(inner, pair.x * 2 + pair.y[:, None])

# the steps as they were
steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched = before
assert not steps.replaced()
steps._unwrap_batched = lambda *args: before[2](*args)
assert torch.equal(torch.vmap(lambda x: x + 1, out_dims=1)(pair.x), (pair.x + 1).T)
assert torch.equal(torch.vmap(lambda x: {"a": x, "b": x + 1}, chunk_size=2)(pair.x)["b"], pair.x + 1)
for wrong in (lambda x: 3, lambda x: "a"):
    try:
        torch.vmap(wrong)(pair.x)
    except ValueError as error:
        print(error)
try:
    _add_batch_dim(pair.x, 0, 1)
except RuntimeError as error:
    print(error)
"""


def test_packages_replace_the_steps_of_vmap() -> None:
    said = run(CONTAINERS).splitlines()
    assert len(said) == 3 and "must only return Tensors, got type <class 'int'>" in said[0]
    assert said[2] == "vmap: there is no level 1, 0 levels run"


def test_older_names_of_custom_operators() -> None:
    code = """
import torch._custom_ops as custom_ops
from torch import Tensor
@custom_ops.custom_op("own::twice")
def twice(x: Tensor) -> Tensor:
    raise AssertionError
@custom_ops.impl("own::twice")
def compute(x):
    return x * 2
@custom_ops.impl_abstract("own::twice")
def shapes(x):
    return torch.empty_like(x)
assert custom_ops.get_ctx() is None
assert torch.ops.own.twice(torch.ones(2)).tolist() == [2, 2]
assert torch.ops.own.twice(torch.ones(2, 3, device="meta")).shape == (2, 3)
custom_ops.custom_op("own::thrice", "(Tensor x) -> Tensor")
custom_ops.impl("own::thrice", device_types="cpu", func=lambda x: x * 3)
assert torch.ops.own.thrice(torch.ones(1)).item() == 3
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
assert isinstance(torch.ops.own.thrice, OpOverloadPacket)
assert isinstance(torch.ops.own.thrice.default, OpOverload)
assert not isinstance(torch.add, HigherOrderOperator)
"""
    run(code)


def test_small_modules() -> None:
    code = """
from torch._tensor_str import PRINT_OPTS, _tensor_str
assert _tensor_str(torch.tensor([[0.5, 1.0], [2.0, 3.0]]), 0) == "[[0.5000, 1.0000],\\n [2.0000, 3.0000]]"
torch.set_printoptions(precision=2)
assert PRINT_OPTS.precision == 2
import torch._utils
assert torch._utils._get_available_device_type() is None or torch.cuda.is_available()
assert torch._utils._get_device_module("cpu") is torch.cpu
from torch.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
class Wrapper(torch.Tensor):
    def __tensor_flatten__(self): ...
    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride): ...
assert is_traceable_wrapper_subclass(torch.ones(1).as_subclass(Wrapper))
assert not is_traceable_wrapper_subclass(torch.ones(1)) and not is_traceable_wrapper_subclass(3)
class Counting(_DecoratorContextManager):
    count = 0
    def __enter__(self): Counting.count += 1
    def __exit__(self, *error): pass
@Counting()
def once(): return Counting.count
assert (once(), once()) == (1, 2)
class Bare(_NoParamDecoratorContextManager):
    def __enter__(self): Counting.count += 10
    def __exit__(self, *error): pass
@Bare
def more(): return Counting.count
assert more() == 12
with Bare():
    assert Counting.count == 22
seen = []
from torch.nn.modules.module import _global_parameter_registration_hooks as hooks
handle = torch.nn.modules.module.register_module_parameter_registration_hook(lambda *a: seen.append(a[1]))
assert len(hooks) == 1 and torch.nn.Linear(1, 1) is not None and seen == ["weight", "bias"]
handle.remove()
assert not hooks
pytree = torch.utils._pytree
children, context = pytree._list_flatten([1, 2])
assert (children, pytree._list_unflatten(children, context)) == ([1, 2], [1, 2])
assert pytree._dict_flatten_with_keys({"a": 1})[0] == [(pytree.MappingKey("a"), 1)]
assert pytree._list_flatten_with_keys([5])[0] == [(pytree.SequenceKey(0), 5)]
from torch.utils.model_zoo import load_url
assert load_url is torch.hub.load_state_dict_from_url
for refused in (lambda: torch.ao.quantization.QuantStub(), lambda: torch.qint8(),
                lambda: TorchDispatchMode()):
    try:
        refused()
    except RuntimeError as error:
        print(error)
"""
    said = run(code).splitlines()
    assert len(said) == 3 and all("is not available" in line for line in said)


def test_a_programs_own_decorator_of_what_is_refused_stops_no_import(tmp_path: Any) -> None:
    (tmp_path / "remote.py").write_text("""
import torch.distributed as dist
def initialized(func):
    return dist.rpc.api._require_initialized(func)
@initialized
def gather(): ...

import torch
from torch.onnx import symbolic_opset11
from torch.onnx.symbolic_helper import parse_args
@parse_args("v", "i")
def symbolic(g, x, n):
    return symbolic_opset11.squeeze(g, x, n)
def register():
    torch.onnx.register_custom_op_symbolic("torchvision::nms", symbolic, 11)
register()
""")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import remote
for late in (remote.gather, remote.symbolic, lambda: remote.initialized(remote.gather)):
    try:
        late()
    except RuntimeError as error:
        print("is not available" in str(error))
"""
    assert run(code).split() == ["True"] * 3


@pytest.mark.oracle
def test_states_of_workers_are_pytorchs() -> None:
    from torch.utils.data._utils.worker import _generate_state as theirs

    from tengen.utils.data.worker import _generate_state

    for seed, worker in ((0, 0), (123, 5), (2**63 - 1, 2), (2**40 + 7, 11)):
        assert _generate_state(seed, worker) == theirs(seed, worker)


def test_a_tensor_is_swapped() -> None:
    from tengen.func.module_state import swap_tensor

    layer, other = tengen.nn.Linear(2, 2), tengen.ones(2, 2)
    before = swap_tensor(layer, "weight", other)
    assert isinstance(before, tengen.nn.Parameter) and layer.weight is other
    assert swap_tensor(layer, "weight", before) is other and layer.weight is before
    absent = swap_tensor(layer, "more", other, allow_missing=True)
    assert layer.more is other
    assert swap_tensor(layer, "more", absent) is other and not hasattr(layer, "more")
    wrong: Any
    for name, wrong, error, said in (
        ("more", other, AttributeError, "Linear has no attribute `more`"),
        ("training", other, TypeError, "attribute `training`: True is not an instance"),
        ("weight", 3, TypeError, "weight: 3 is not an instance"),
        ("a.b", other, KeyError, "tensor name can"),
    ):
        with pytest.raises(error, match=said):
            swap_tensor(layer, name, wrong)


def test_dicts_with_tensors_as_keys() -> None:
    first, second = tengen.ones(2), tengen.ones(2)
    held = WeakIdKeyDictionary({first: 1})
    held[second] = 2
    assert len(held) == 2 and held[first] == 1 and first in held and 3 not in held
    assert held.get(tengen.ones(2)) is None and [*held.values()] == [1, 2]
    copied = held.copy() | {first: 5}
    assert (copied[first], held[first], held.pop(second), len(held)) == (5, 1, 2, 1)
    held |= {second: 3}
    assert held[second] == 3 and [r() is t for r, t in zip(held.keyrefs(), (first, second), strict=True)] == [
        True,
        True,
    ]
    with pytest.raises(TypeError, match="weak reference"):
        held[3] = 1
    with pytest.raises(KeyError):
        held[tengen.ones(2)]
    del second
    gc.collect()
    assert len(held) == 1 and len(copied) == 1
    del held[first]
    assert not held


def test_weak_references_are_of_one_object() -> None:
    tensor, other = tengen.ones(2), tengen.ones(2)
    assert WeakIdRef(tensor) == WeakIdRef(tensor) != WeakIdRef(other) and hash(WeakIdRef(tensor)) == id(
        tensor
    )
    gone = WeakIdRef(other)
    assert TensorWeakRef(tensor)() is tensor
    with pytest.raises(TypeError, match="expected a Tensor, but got int"):
        TensorWeakRef(3)  # type: ignore[arg-type]
    del other
    gc.collect()
    assert gone() is None and gone == gone and gone != WeakIdRef(tensor)


def test_whether_an_export_runs() -> None:
    pytest.importorskip("onnx")
    seen: list[bool] = []

    def function(x: Any) -> Any:
        seen.append(tengen.onnx.is_in_onnx_export())
        return x + 1

    function(tengen.ones(2))
    tengen.onnx.export(function, tengen.ones(2))
    assert seen == [False, True] and not tengen.onnx.is_in_onnx_export()
