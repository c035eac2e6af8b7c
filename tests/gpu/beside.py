"""What is there beside tengen on the GPU."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType


@cache
def torch_on_cuda() -> ModuleType | None:
    """torch, where it is installed and has a GPU; one for CPUs alone, by its version, is not imported."""
    try:
        torch = None if version("torch").endswith("+cpu") else import_module("torch")
    except (ImportError, PackageNotFoundError):
        return None
    return torch if torch is not None and torch.cuda.is_available() else None
