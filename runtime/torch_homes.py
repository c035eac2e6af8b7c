"""``__module__`` under ``as_torch`` says where PyTorch has it: libraries dispatch on it, pickles name it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from inspect import get_annotations
from types import FunctionType, ModuleType
from typing import Any, Final, ForwardRef

from tengen.generated.functions import abs as operator_of_tengen

from . import _SUBMODULES

#: Modules whose classes PyTorch has in another one.
HOMES: Final = {
    "core.storage": "storage",
    **dict.fromkeys(
        [
            f"custom_operators.{name}"
            for name in ("definition", "fake", "inference", "libraries", "registration")
        ],
        "library",
    ),
    **dict.fromkeys(("dispatch.autocast", "settings", "tensors.compressed_creation"), ""),
    "tensors.typed_storage": "storage",
    "torch_functorch": "_functorch.make_functional",
    "autograd.inference_mode": "autograd.grad_mode",
    "autograd.hooks": "utils.hooks",
    "autograd.node": "autograd.graph",
    "autograd.python_function": "autograd.function",
    "autograd.saved_variable_hooks": "autograd.graph",
    "cuda.checkpoint_states": "utils.checkpoint",
    "cpu.amp": "cpu.amp.autocast_mode",
    "cuda.amp": "cuda.amp.autocast_mode",
    "masked": "masked.maskedtensor.core",
    "nn.modules.attention": "nn.modules.activation",
    "nn.modules.conv_nd": "nn.modules.conv",
    "nn.modules.lazy_conv": "nn.modules.conv",
    "nn.modules.norm_base": "nn.modules.batchnorm",
    "nn.modules.parameter_container": "nn.modules.container",
    "nn.modules.prelu": "nn.modules.activation",
    "nn.modules.rnn_base": "nn.modules.rnn",
    "nn.modules.rnn_cells": "nn.modules.rnn",
    "nn.modules.state": "nn.modules.module",
    "nn.modules.transformer_layers": "nn.modules.transformer",
    "optim.lr_scheduler.combined": "optim.lr_scheduler",
    "optim.lr_scheduler.cosine": "optim.lr_scheduler",
    "optim.lr_scheduler.cyclic": "optim.lr_scheduler",
    "optim.lr_scheduler.decay": "optim.lr_scheduler",
    "optim.lr_scheduler.lambdas": "optim.lr_scheduler",
    "optim.lr_scheduler.one_cycle": "optim.lr_scheduler",
    "optim.lr_scheduler.plateau": "optim.lr_scheduler",
    "optim.lr_scheduler.scheduler": "optim.lr_scheduler",
    "optim.swa_utils.model": "optim.swa_utils",
    "optim.swa_utils.schedule": "optim.swa_utils",
    "utils.data.combined": "utils.data.dataset",
    "utils.data.iteration": "utils.data.dataloader",
    "utils.data.worker_pool": "utils.data.dataloader",
    "utils.selective_checkpoint": "utils.checkpoint",
}
_HERE: Final = "tengen"
#: Where what PyTorch alone has is written, by whatever name.
_STAND_INS: Final = "tengen.torch_private"
#: The packages of tengen that PyTorch has: also those that are there for who imports them.
_PACKAGES: Final = _SUBMODULES | {there.partition(".")[0] for there in HOMES.values()}
#: Where PyTorch has operators that are not called as they are shown: ``torch._VF.fft_fft`` is ``fft.fft``.
_OPERATORS: Final = "torch._VF"


def home(module: str) -> str | None:
    """PyTorch's name of a module of tengen; None for those that it has not."""
    first, _, rest = module.partition(".")
    if first != _HERE or (rest and rest not in HOMES and rest.partition(".")[0] not in _PACKAGES):
        return None
    return f"torch.{HOMES.get(rest, rest)}".rstrip(".")


#: The classes of functions, with the C machine or without.
_FUNCTIONS: Final = (FunctionType, type(operator_of_tengen))


class Names(importlib.abc.MetaPathFinder):
    """Changes ``__module__``, also in modules that are imported later, and changes it back."""

    def __init__(self, explain: Callable[[ModuleType], Callable[[str], Any]]) -> None:
        self._former: list[tuple[Any, str]] = []
        #: What gives a public module the function that is asked for names it has not.
        self._explain = explain
        self._explained: list[tuple[ModuleType, Any]] = []

    def begin(self) -> None:
        """Rename what there is, and what is to come."""
        for name in [name for name in sys.modules if name.partition(".")[0] == _HERE]:
            self.rename(sys.modules[name])
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        """All names as they were."""
        sys.meta_path.remove(self)
        for value, module in reversed(self._former):
            _set(value, module)
        for module, former in self._explained:
            if former is None:
                del module.__dict__["__getattr__"]
            else:
                module.__dict__["__getattr__"] = former
        self._former.clear()
        self._explained.clear()

    def rename(self, module: ModuleType) -> None:
        """Rename the classes that a module has, and the functions that it shows.

        Those that it hides are how tengen's pickles begin, which are read without this, too. What is shown by
        a module that PyTorch has, and written where it has none, is of the former.
        """
        here = home(module.__name__)
        adopts = here if module.__name__.partition(".")[2] not in HOMES else None
        shown = set(getattr(module, "__all__", [n for n in vars(module) if here and n[0] != "_"]))
        for name, value in list(vars(module).items()):
            is_class = isinstance(value, type) and value.__flags__ & _HEAP_TYPE
            if is_class or (isinstance(value, _FUNCTIONS) and name in shown):
                there = home(str(value.__module__))
                if there is None and adopts and name in shown and value.__module__.startswith(f"{_HERE}."):
                    there = adopts if value.__qualname__ == name else _operators(value)
                if there is not None:
                    self._change(value, there)
        if "." in module.__name__ and home(module.__name__) is not None:
            self._explained.append((module, module.__dict__.get("__getattr__")))
            module.__dict__["__getattr__"] = self._explain(module)

    def adopt(self, name: str, value: Any, there: str) -> None:
        """Have what a module of PyTorch's shows by a name say so, where it is made or written elsewhere."""
        is_class = isinstance(value, type) and value.__flags__ & _HEAP_TYPE
        is_public = not any([part[:1] == "_" for part in (*there.split("."), name)])
        if not is_public or not (is_class or isinstance(value, _FUNCTIONS)):
            return
        module = str(value.__module__)
        if module == _STAND_INS or (value.__qualname__ == name and module.partition(".")[0] == _HERE):
            self._change(value, there)

    def _change(self, value: Any, there: str) -> None:
        self._former.append((value, value.__module__))
        _keep_scope(value)
        _set(value, there)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{_HERE}."):
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(fullname, path, target)
            if found is not None:
                if found.loader is not None:
                    found.loader = _Renaming(found.loader, self)
                return found
        return None


def _operators(value: Any) -> str | None:
    """PyTorch's module of the operators where a function that is shown by another name is one; else None."""
    there = getattr(sys.modules.get(f"{_HERE}.generated.functions"), value.__qualname__, None)
    return _OPERATORS if there is value else None


def _keep_scope(value: Any) -> None:
    """Have a class's annotations that are text read where it was written, whatever it says is its module."""
    annotations = get_annotations(value) if isinstance(value, type) else {}
    for name, text in annotations.items():
        if isinstance(text, str):
            value.__annotations__[name] = ForwardRef(
                text, is_argument=False, module=value.__module__, is_class=True
            )


def _set(value: Any, module: str) -> None:
    base: Any = type if isinstance(value, type) else type(value)
    base.__setattr__(value, "__module__", module)


#: Of ``type.__flags__``: a class that was made by a program and can be changed.
_HEAP_TYPE: Final = 1 << 9


class _Renaming(importlib.abc.Loader):
    """A loader whose modules' classes are renamed when they are there."""

    def __init__(self, loader: Any, names: Names) -> None:
        self.loader, self.names = loader, names

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.names.rename(module)
