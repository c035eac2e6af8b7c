"""What programs use of PyTorch that is not public, or not tensors: under ``as_torch`` it is in its place.

``MODULES`` has by name a module of tengen, or what makes the content of a module; ``NAMES`` what ``torch``
has itself; ``INSTEAD`` what there is in place of what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from itertools import takewhile
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from .autograd.grad_mode import grad_mode
from .core.absent import absent
from .core.function_dispatch import state
from .core.storage import UntypedStorage, storage_of
from .distributed import REASON
from .torch_internals import INTERNALS, available_device_type, device_module
from .version import torch_version


class TorchVersion(str):
    """A version that is a str, and is compared as a version with other versions, strs and tuples."""

    def _key(self, other: Any) -> tuple[int, ...] | None:
        if isinstance(other, tuple):
            return tuple(int(part) for part in other)
        if isinstance(other, str) or hasattr(other, "release"):
            return _release(str(other))
        return None

    def _compare(self, other: Any, test: Callable[[Any, Any], bool]) -> Any:
        key = self._key(other)
        if key is None:
            return NotImplemented
        own = _release(str(self))
        length = max(len(own), len(key))
        return test(own + (0,) * (length - len(own)), key + (0,) * (length - len(key)))

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a >= b)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a != b)

    def __hash__(self) -> int:
        return str.__hash__(self)


def _release(text: str) -> tuple[int, ...]:
    parts = (re.match(r"\d+", part) for part in text.partition("+")[0].split("."))
    return tuple(int(m.group()) for m in takewhile(lambda m: m is not None, parts) if m is not None)


def _nothing(*args: Any, **keywords: Any) -> None:
    """Nothing, as there is nothing to switch."""


def _same(fn: Any = None, *args: Any, **keywords: Any) -> Any:
    return (lambda function: function) if fn is None else fn


def _assert(condition: Any, message: str) -> None:
    """Python's ``assert``, which PyTorch can trace."""
    assert condition, message


def _core() -> dict[str, Any]:
    """``torch._C``: the classes, and switches that change nothing."""
    tengen = import_module("tengen")
    overrides = import_module("tengen.overrides")
    switches = (
        *("_jit_set_profiling_executor", "_jit_set_profiling_mode", "_jit_override_can_fuse_on_gpu"),
        *("_jit_override_can_fuse_on_cpu", "_jit_set_texpr_fuser_enabled", "_jit_set_nvfuser_enabled"),
        *("_jit_set_bailout_depth", "_set_graph_executor_optimize", "_debug_set_autodiff_subgraph_inlining"),
        *("_log_api_usage_once", "_get_tracing_state"),
    )
    keys = ("DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard", "_IncludeDispatchKeyGuard")
    return {
        **dict.fromkeys(switches, _nothing),
        **{name: absent("torch._C", name, "tengen finds kernels by types, not by keys") for name in keys},
        "Generator": tengen.Generator,
        "Size": tengen.Size,
        "TensorBase": tengen.Tensor,
        "_TensorBase": tengen.Tensor,
        "_TensorMeta": type(tengen.Tensor),
        "device": tengen.device,
        "dtype": tengen.dtype,
        "layout": tengen.layout,
        "memory_format": tengen.memory_format,
        "Value": import_module("tengen.jit").Value,
        "Graph": import_module("tengen.jit").Graph,
        "Node": import_module("tengen.jit").Node,
        "_nn": SimpleNamespace(**_core_nn()),
        "_VariableFunctions": tengen,
        "_set_grad_enabled": tengen.set_grad_enabled,
        "_get_default_device": lambda: str(tengen.get_default_device()),
        "_get_privateuse1_backend_name": lambda: "privateuseone",
        "_is_tracing": import_module("tengen.jit").is_tracing,
        "_are_functorch_transforms_active": lambda: grad_mode.transforms > 0,
        "_is_alias_of": lambda a, b: storage_of(a) is storage_of(b),
        "_is_torch_function_mode_enabled": lambda: bool(state.modes),
        "_LinAlgError": import_module("tengen.linalg").LinAlgError,
        "DisableTorchFunction": overrides.DisableTengenFunction,
        "DisableTorchFunctionSubclass": overrides.DisableTengenFunctionSubclass,
        "_disabled_torch_function_impl": overrides._disabled_tengen_function_impl,
        "has_mkl": False,
        "has_mkldnn": False,
        "has_openmp": False,
        "has_lapack": True,
    }


def _core_functorch() -> dict[str, Any]:
    """``torch._C._functorch``: what tells tensors of ``vmap`` from others."""
    batched = import_module("tengen.func.batched")

    def is_batchedtensor(tensor: Any) -> bool:
        return isinstance(tensor, batched.BatchedTensor)

    parts = import_module("tengen.func.vmap_parts")

    def get_unwrapped(tensor: Any) -> Any:
        if not is_batchedtensor(tensor):
            raise RuntimeError("get_unwrapped: the tensor is no wrapper of a transform")
        return batched.debug_unwrap(tensor, recurse=False)

    def maybe_get_bdim(tensor: Any) -> int:
        return tensor._bdim if is_batchedtensor(tensor) else -1

    def maybe_get_level(tensor: Any) -> int:
        return tensor._layer.level if is_batchedtensor(tensor) else -1

    return {
        "_add_batch_dim": parts._add_batch_dim,
        "_remove_batch_dim": parts._remove_batch_dim,
        "get_unwrapped": get_unwrapped,
        "is_batchedtensor": is_batchedtensor,
        "maybe_get_bdim": maybe_get_bdim,
        "maybe_get_level": maybe_get_level,
    }


def _core_nn() -> dict[str, Any]:
    """``torch._C._nn``: the functions of modules, and how ``Module.to`` reads its arguments."""
    functional = import_module("tengen.nn.functional")
    arguments = import_module("tengen.nn.modules.to_arguments")
    names = {name: getattr(functional, name) for name in dir(functional) if not name.startswith("__")}

    def _parse_to(*args: Any, **keywords: Any) -> Any:
        return arguments.parse_to(args, keywords)

    return {**names, "_parse_to": _parse_to}


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """The elements of all tensors in one."""
    return import_module("tengen").cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """A flat tensor in the shapes of others."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view_as(t) for part, t in zip(parts, tensors, strict=True))


def _utils() -> dict[str, Any]:
    return {
        "_flatten_dense_tensors": _flatten_dense_tensors,
        "_unflatten_dense_tensors": _unflatten_dense_tensors,
        "_get_available_device_type": available_device_type,
        "_get_device_module": device_module,
        "_get_device_index": lambda device, *_: import_module("tengen").device(device).index or 0,
        "is_compiling": lambda: False,
    }


def _jit_internal() -> dict[str, Any]:
    import typing

    jit = import_module("tengen.jit")
    names = ("Any", "Dict", "List", "Optional", "Tuple", "Union", "Final")
    return {
        **{name: getattr(typing, name) for name in names},
        **{name: getattr(jit, name) for name in ("Future", "export", "ignore", "is_scripting", "unused")},
        "_copy_to_script_wrapper": _same,
        "_overload": jit._overload,
        "_overload_method": jit._overload_method,
        "boolean_dispatch": _boolean_dispatch,
        **{f"BroadcastingList{n}": typing.List for n in range(1, 7)},  # noqa: UP006  it is subscripted
    }


def _boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Any,
    if_false: Any,
    module_name: str,
    func_name: str,
) -> Any:
    """A function that calls one of two, as an argument says."""

    def chosen(*args: Any, **keywords: Any) -> Any:
        flag = keywords.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **keywords)

    chosen.__name__ = func_name
    return chosen


def _pytree() -> dict[str, Any]:
    """``torch.utils._pytree``: the trees, their paths, and their text."""
    trees, paths = import_module("tengen.utils.pytree"), import_module("tengen.utils.pytree_paths")

    def register(
        cls: type, flatten_fn: Any, unflatten_fn: Any, to_str_fn: Any = None, maybe_from_str_fn: Any = None,
        **keywords: Any,
    ) -> None:  # fmt: skip
        trees.register_pytree_node(cls, flatten_fn, unflatten_fn, **keywords)

    return {
        **{name: value for name, value in (vars(trees) | vars(paths)).items() if name[:2] != "__"},
        **{name: getattr(import_module("tengen.utils.pytree_text"), name) for name in _OF_TEXT},
        "Context": Any,
        "LeafSpec": trees.treespec_leaf,
        "PyTree": Any,
        "SUPPORTED_NODES": trees.CONTAINERS,
        **{name: part for kind in trees.CONTAINERS for name, part in _node_parts(kind).items()},
        "__file__": trees.__file__,
        "_get_node_type": trees.node_type,
        "_is_leaf": trees.tree_is_leaf,
        "_register_pytree_node": register,
    }


def _node_parts(kind: Any) -> dict[str, Any]:
    """``_list_flatten``, ``_list_flatten_with_keys``, ``_list_unflatten``: of one kind of nodes."""
    paths = import_module("tengen.utils.pytree_paths")
    container = import_module("tengen.utils.pytree").CONTAINERS[kind]

    def flatten(node: Any) -> tuple[list[Any], Any]:
        children, context = container.flatten_fn(node)
        return list(children), context

    def flatten_with_keys(node: Any) -> tuple[list[tuple[Any, Any]], Any]:
        return paths.children_with_keys(node, kind), container.flatten_fn(node)[1]

    name = f"_{kind.__name__.lower()}"
    return {
        f"{name}_flatten": flatten,
        f"{name}_flatten_with_keys": flatten_with_keys,
        f"{name}_unflatten": lambda children, context: container.unflatten_fn(list(children), context),
    }


_OF_TEXT: Final = ("treespec_dumps", "treespec_loads")


def _eval_frame() -> dict[str, Any]:
    compiled = import_module("tengen.compilation.optimized_module")
    return {"OptimizedModule": compiled.OptimizedModule, "is_dynamo_supported": lambda: True}


def _dynamo() -> dict[str, Any]:
    compiler = import_module("tengen.compiler")
    return {
        "config": SimpleNamespace(suppress_errors=False, cache_size_limit=8, capture_scalar_outputs=False),
        **_eval_frame(),
        "eval_frame": SimpleNamespace(**_eval_frame()),
        "allow_in_graph": _same,
        "assume_constant_result": _same,
        "disable": compiler.disable,
        "disallow_in_graph": _same,
        "graph_break": _nothing,
        "is_compiling": compiler.is_compiling,
        "mark_dynamic": _nothing,
        "mark_static": _nothing,
        "mark_static_address": _nothing,
        "maybe_mark_dynamic": _nothing,
        "reset": compiler.reset,
    }


def _inductor() -> dict[str, Any]:
    return {
        "config": SimpleNamespace(triton=SimpleNamespace(), coordinate_descent_tuning=False),
        "list_mode_options": lambda mode=None, dynamic=None: {},
    }


def _nvtx() -> dict[str, Any]:
    class Range(nullcontext[None]):
        def __init__(self, message: str, *args: Any, **keywords: Any) -> None:
            super().__init__()

    return {"range": Range, "range_push": _nothing, "range_pop": _nothing, "mark": _nothing}


def _futures() -> dict[str, Any]:
    Future: Any = import_module("tengen.jit").Future

    def wait_all(futures: Sequence[Any]) -> list[Any]:
        return [future.wait() for future in futures]

    return {"Future": Future, "collect_all": lambda futures: Future(list(futures)), "wait_all": wait_all}


def _ntuple(n: int) -> Callable[[Any], Any]:
    def parse(x: Any) -> Any:
        return tuple(x) if hasattr(x, "__iter__") else (x,) * n

    return parse


def _module_utils() -> dict[str, Any]:
    return {
        "_ntuple": lambda n, name="parse": _ntuple(n),
        "_single": _ntuple(1),
        "_pair": _ntuple(2),
        "_triple": _ntuple(3),
        "_quadruple": _ntuple(4),
        "_reverse_repeat_tuple": lambda t, n: tuple(x for x in reversed(t) for _ in range(n)),
    }


def _wrap(fn_or_name: Any) -> Any:
    """The function or name, as it is: a tracer of PyTorch's would not look into it."""
    if not isinstance(fn_or_name, str) and not callable(fn_or_name):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name, "
            f"got {type(fn_or_name).__name__}"
        )
    return fn_or_name


class Refused(ModuleType):
    """A module of PyTorch's of which all names can be imported, and none be called."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name)
        self.__dict__.update(KEPT.get(name, {}))
        self.__path__: list[str] = []
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(self.__name__, name, self._reason)


_NO_QUANTISED: Final = "there are no quantised tensors"

#: Packages that programs import for a part which they may never come to: why nothing of them is available.
REFUSED: Final[dict[str, str]] = {
    "torch.ao": _NO_QUANTISED,
    "torch.quantization": _NO_QUANTISED,
    "torch.distributed": REASON,
    "torch.export": "`tengen.onnx.export` and `tengen.jit.trace` make graphs",
    "torch.fx": "`tengen.jit.trace` records the graph of a function or module",
    **dict.fromkeys(
        ("torch.onnx.symbolic_helper", *[f"torch.onnx.symbolic_opset{n}" for n in range(7, 21)]),
        "`tengen.onnx.export` writes operators by what they declare",
    ),
}

#: What there is in these packages all the same: it means nothing but to who records graphs.
KEPT: Final[dict[str, dict[str, Any]]] = {
    "torch.fx": {"wrap": _wrap},
    "torch.fx._compatibility": {"compatibility": lambda is_backward_compatible: _same},
}


def refusal(fullname: str) -> str | None:
    """Why nothing of a module is available; None for other modules."""
    if fullname in MODULES:
        return None
    return next((why for name, why in REFUSED.items() if f"{fullname}.".startswith(f"{name}.")), None)


#: By PyTorch's name: a module of tengen, or what gives the names in one that is made.
MODULES: Final[dict[str, str | Callable[[], dict[str, Any]]]] = {
    "functorch": "tengen.torch_functorch",
    "torch._C": _core,
    "torch._C._functorch": _core_functorch,
    "torch._C._nn": _core_nn,
    "torch._VF": "tengen.generated.functions",
    "torch._dynamo": _dynamo,
    "torch._dynamo.eval_frame": _eval_frame,
    # Tensors in an index always go to the operator here, also where vmap maps them.
    "torch._dynamo._trace_wrapped_higher_order_op": lambda: {"TransformGetItemToIndex": nullcontext},
    "torch._inductor": _inductor,
    "torch._jit_internal": _jit_internal,
    "torch._subclasses": dict,
    "torch._subclasses.fake_tensor": lambda: {
        "is_fake": lambda x: False,
        "FakeTensor": absent("torch", "FakeTensor", "operators compute, or are run on the device meta"),
    },
    "torch._tensor": lambda: {"Tensor": import_module("tengen").Tensor},
    "torch._utils": _utils,
    "torch.cuda.nvtx": _nvtx,
    "torch.cuda.memory": "tengen.cuda",
    "torch.cuda.random": "tengen.cuda",
    "torch.futures": _futures,
    "torch.jit.annotations": _jit_internal,
    "torch.nn.modules.utils": _module_utils,
    "torch.torch_version": lambda: {"TorchVersion": TorchVersion},
    "torch.utils._pytree": _pytree,
    **INTERNALS,
}

_QUANTISED: Final = ("qint8", "qint32", "quint2x4", "quint4x2", "quint8")

#: What modules of PyTorch have beside what tengen's of the same name have.
FRONTS: Final[dict[str, dict[str, Any]]] = {
    "functorch": {"__version__": TorchVersion(torch_version)},
    "torch.autograd.profiler": {
        "emit_nvtx": absent("torch.autograd.profiler", "emit_nvtx", "`profile` notes operators")
    },
    "torch.onnx": {"register_custom_op_symbolic": _nothing, "unregister_custom_op_symbolic": _nothing},
    "torch.overrides": {"__version__": TorchVersion(torch_version)},
    "torch.version": {"__version__": TorchVersion(torch_version)},
}

#: What ``torch`` has beside what ``tengen`` has.
NAMES: Final[dict[str, Any]] = {
    "_assert": _assert,
    "_is_functional_tensor": lambda t: False,
    **{name: absent("torch", name, _NO_QUANTISED) for name in _QUANTISED},
    "StorageBase": UntypedStorage,
    "ScriptModule": absent("torch.jit", "ScriptModule", "functions and modules run as Python"),
    "PyTorchFileReader": absent("torch", "PyTorchFileReader", "`torch.load` reads files, mapped if asked to"),
    "has_cuda": False,
    "has_cudnn": False,
    "has_lapack": True,
    "has_mkl": False,
    "has_mkldnn": False,
    "has_mps": False,
    "has_openmp": False,
    "is_vulkan_available": lambda: False,
}

#: By PyTorch's name, without ``torch.``, what there is in place of what is not here.
INSTEAD: Final[dict[str, str]] = {
    "package": "`tengen.save` writes modules and state dicts",
    "utils.mobile_optimizer": "`tengen.onnx.export` writes models for other runtimes",
    "mtia": "no backend has Meta's devices",
}
