"""The public names of PyTorch, kept in recorded.json.

``python tests/names/recorded_names.py`` asks torch anew and writes the file: for each module, Tensor, and
each public class of autograd, func and library, the names that it has and what each is. What is public
PyTorch says itself (``is_public``).
"""

from __future__ import annotations

import enum
import functools
import inspect
import json
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).resolve().with_name("recorded.json")

#: distributions and the modules of it that are no class of their own.
DISTRIBUTIONS = (
    "distributions",
    "distributions.constraint_registry",
    "distributions.constraints",
    "distributions.kl",
    "distributions.transforms",
    "distributions.utils",
)

#: autograd and the modules of it that have classes.
AUTOGRAD = (
    "autograd",
    "autograd.anomaly_mode",
    "autograd.forward_ad",
    "autograd.function",
    "autograd.functional",
    "autograd.grad_mode",
    "autograd.gradcheck",
    "autograd.graph",
    "autograd.profiler",
)

#: Modules whose names are recorded; "" is the package itself.
MODULES = (
    "",
    "accelerator",
    "amp",
    "amp.autocast_mode",
    "amp.grad_scaler",
    "backends",
    "backends.cpu",
    "backends.cuda",
    "backends.mha",
    "backends.mkl",
    "backends.mps",
    "backends.nnpack",
    "backends.openmp",
    "backends.opt_einsum",
    "compiler",
    "cpu",
    "cpu.amp",
    "cuda",
    "cuda.amp",
    "distributed",
    *DISTRIBUTIONS,
    "export",
    "fft",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "linalg",
    "masked",
    "masked.maskedtensor",
    "monitor",
    "mps",
    "multiprocessing",
    "nested",
    "nn",
    "nn.attention",
    "nn.attention.flex_attention",
    "nn.functional",
    "nn.grad",
    "nn.init",
    "nn.modules.module",
    "nn.parallel",
    "nn.parallel.comm",
    "nn.parameter",
    "nn.utils",
    "nn.utils.clip_grad",
    "nn.utils.convert_parameters",
    "nn.utils.fusion",
    "nn.utils.memory_format",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.rnn",
    "nn.utils.stateless",
    "onnx",
    "onnx.errors",
    "optim",
    "optim.lr_scheduler",
    "optim.optimizer",
    "optim.swa_utils",
    "overrides",
    "package",
    "profiler",
    "quasirandom",
    "random",
    "return_types",
    "serialization",
    "signal",
    "signal.windows",
    "sparse",
    "special",
    "storage",
    "testing",
    "types",
    "utils",
    "utils.backend_registration",
    "utils.benchmark",
    "utils.bundled_inputs",
    "utils.checkpoint",
    "utils.collect_env",
    "utils.cpp_extension",
    "utils.data",
    "utils.data.dataloader",
    "utils.data.dataset",
    "utils.data.distributed",
    "utils.data.sampler",
    "utils.deterministic",
    "utils.dlpack",
    "utils.flop_counter",
    "utils.hooks",
    "utils.mobile_optimizer",
    "utils.module_tracker",
    "utils.throughput_benchmark",
    "utils.weak",
    "xpu",
)

#: Classes whose members are recorded, beside those of the modules of WITH_MEMBERS.
CLASSES = (
    "Generator",
    "Size",
    "amp.GradScaler",
    "device",
    "dtype",
    "finfo",
    "iinfo",
    "nn.Module",
    "nn.ModuleDict",
    "nn.ModuleList",
    "nn.ParameterDict",
    "nn.ParameterList",
    "nn.Sequential",
    "nn.utils.parametrize.ParametrizationList",
    "nn.utils.rnn.PackedSequence",
    "optim.Optimizer",
    "optim.lr_scheduler.LRScheduler",
    "optim.swa_utils.AveragedModel",
    "utils.data.DataLoader",
)

#: Modules of which the members of classes are recorded too.
WITH_MEMBERS = (
    *AUTOGRAD,
    "func",
    "library",
)

#: What nothing in torch tells from what is meant for torch itself: what a Function's context has of C++.
CHOSEN = {"autograd.function.FunctionCtx": "needs_input_grad saved_tensors saved_variables"}

#: Methods with two underscores that every class has.
_OBJECTS = frozenset(dir(object)) | {"__dict__", "__module__", "__weakref__"}


def recorded() -> dict[str, dict[str, str]]:
    """What is kept: by modules and classes the names, and what each is."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def public_names(module: ModuleType) -> set[str]:
    """The public names of a module."""
    return {name for name in dir(module) if not name.startswith("_") and is_public(module, name)}


def is_public(module: ModuleType, name: str) -> bool:
    """Whether users are meant to use a name that a module has.

    They are if ``__all__`` lists it, if torch may be overridden there, or if it is defined in the module or
    in its package and has a docstring. They are not meant to use what pybind11 makes of C++ classes,
    TorchScript's, which ``torch.__all__`` lists because they are in ``torch._C``; nor modules of others.
    """
    value = getattr(module, name)
    home = str(getattr(value, "__module__", ""))
    if inspect.ismodule(value):
        return value.__name__ == f"{module.__name__}.{name}"
    if "pybind11_type" in (type(value).__name__, type(type(value)).__name__):
        return False
    if name in getattr(module, "__all__", ()) or _is_constant(value):
        return True
    if inspect.isclass(value):
        # A class with a private name stands in for another package's that is not installed.
        private = value.__name__.startswith("_")
        return (_within(home, module.__name__) and not private) or home == "torch._C"
    if callable(value):
        if name.endswith("_") and hasattr(module, name[:-1]):
            return is_public(module, name[:-1])
        return id(value) in _overridable() or (_within(home, module.__name__) and bool(value.__doc__))
    return False


def _within(home: str, package: str) -> bool:
    return home == package or home.startswith(f"{package}.")


def _is_constant(value: Any) -> bool:
    import torch

    return isinstance(value, (torch.dtype, torch.layout, torch.memory_format, torch.qscheme))


@functools.cache
def _overridable() -> frozenset[int]:
    """The identities of the functions that PyTorch lets be overridden."""
    from torch.overrides import get_testing_overrides

    return frozenset(map(id, get_testing_overrides()))


def names_of_tensors() -> set[str]:
    """The public names of Tensor, and the operators and protocols that it has."""
    import torch

    def is_special(name: str) -> bool:
        return name.startswith("__") and name not in _OBJECTS

    more = {"_base", "_is_view", "_version"}
    return {n for n in dir(torch.Tensor) if not n.startswith("_") or is_special(n)} | more


def members(cls: type, package: str) -> set[str]:
    """The public methods and attributes that a class has in Python, those of its bases in the package too."""
    homes = [
        k for k in cls.__mro__ if k.__module__.split(".")[0] == package and k.__module__ != f"{package}._C"
    ]
    if issubclass(cls, enum.Enum):
        return set(cls.__members__)
    return {n for k in homes for n in vars(k) if not n.startswith("_")}


def kind(value: Any) -> str:
    """What a name stands for, in a word."""
    if inspect.isclass(value):
        return "class"
    if inspect.ismodule(value):
        return "module"
    return "function" if callable(value) or isinstance(value, (classmethod, staticmethod)) else "attribute"


def of_torch() -> dict[str, dict[str, str]]:
    """The names as torch has them. It must be installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of deprecated names, which are looked at, too
        return _of_torch()


def _of_torch() -> dict[str, dict[str, str]]:
    import torch

    found: dict[str, dict[str, str]] = {}
    seen: set[type] = set()
    modules = {
        path: import_module(f"torch.{path}" if path else "torch") for path in (*MODULES, *WITH_MEMBERS)
    }
    for path, module in modules.items():
        found[path] = {n: kind(getattr(module, n)) for n in sorted(public_names(module))}
        for name in found[path].copy() if path in WITH_MEMBERS else ():
            cls = getattr(module, name)
            if inspect.isclass(cls) and cls.__module__.startswith("torch") and cls not in seen:
                seen.add(cls)
                own = sorted(members(cls, "torch"))
                if own:
                    found[f"{path}.{name}"] = {n: kind(inspect.getattr_static(cls, n)) for n in own}
    for path in CLASSES:
        home, _, name = path.rpartition(".")
        cls = getattr(import_module(f"torch.{home}" if home else "torch"), name)
        own = sorted(n for n in dir(cls) if not n.startswith("_"))
        found[path] = {n: kind(inspect.getattr_static(cls, n)) for n in own}
    found["Tensor"] = {n: kind(inspect.getattr_static(torch.Tensor, n)) for n in sorted(names_of_tensors())}
    homes = {"autograd.function.FunctionCtx": torch._C._FunctionBase}
    for path, names in CHOSEN.items():
        chosen = {n: kind(inspect.getattr_static(homes[path], n)) for n in names.split()}
        found[path] = dict(sorted({**found.get(path, {}), **chosen}.items()))
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(of_torch(), indent=1) + "\n", encoding="utf-8")
