"""The public names of PyTorch's autograd, func and library, kept in recorded.json.

``python tests/names/recorded_names.py`` asks torch anew and writes the file: for each module, and each public
class of one, the names that it has and what each is. Public is what ``__all__`` says, and whatever else of
the module itself has a name without an underscore.
"""

from __future__ import annotations

import enum
import inspect
import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).resolve().with_name("recorded.json")

MODULES = (
    "autograd",
    "autograd.anomaly_mode",
    "autograd.forward_ad",
    "autograd.function",
    "autograd.functional",
    "autograd.grad_mode",
    "autograd.gradcheck",
    "autograd.graph",
    "autograd.profiler",
    "func",
    "library",
)

#: What nothing in torch tells from what is meant for torch itself: what Tensors have for autograd, and what a
#: Function's context has of C++.
CHOSEN = {
    "autograd.function.FunctionCtx": "needs_input_grad saved_tensors saved_variables",
    "Tensor": """
        backward data detach detach_ grad grad_dtype grad_fn is_inference is_leaf output_nr register_hook
        register_post_accumulate_grad_hook requires_grad requires_grad_ retain_grad retains_grad
        _base _is_view _version""",
}


def recorded() -> dict[str, dict[str, str]]:
    """What is kept: by modules and classes the names, and what each is."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def public_names(module: ModuleType) -> set[str]:
    """The public names of a module."""
    own = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isroutine(value))
        and value.__module__ == module.__name__
    }
    return own | {name for name in getattr(module, "__all__", ()) if not name.startswith("_")}


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
    import torch

    found: dict[str, dict[str, str]] = {}
    seen: set[type] = set()
    for path in MODULES:
        module = import_module(f"torch.{path}")
        found[path] = {n: kind(getattr(module, n, None)) for n in sorted(public_names(module))}
        for name in found[path].copy():
            cls = getattr(module, name, None)
            if inspect.isclass(cls) and cls.__module__.startswith("torch") and cls not in seen:
                seen.add(cls)
                own = sorted(members(cls, "torch"))
                if own:
                    found[f"{path}.{name}"] = {n: kind(inspect.getattr_static(cls, n)) for n in own}
    homes = {"Tensor": torch.Tensor, "autograd.function.FunctionCtx": torch._C._FunctionBase}
    for path, names in CHOSEN.items():
        chosen = {n: kind(inspect.getattr_static(homes[path], n)) for n in names.split()}
        found[path] = dict(sorted({**found.get(path, {}), **chosen}.items()))
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(of_torch(), indent=1) + "\n", encoding="utf-8")
