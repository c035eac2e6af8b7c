"""Training by several processes, by PyTorch's names: the class can be named, and not be made."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from itertools import chain
from typing import Any

from ...core.tensor_base import TensorBase
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


def __dir__() -> list[str]:
    return sorted(__all__)


class DistributedDataParallel(Module):
    """Training by several processes, which is not available here: RuntimeError when it is made.

    The class is there for programs that ask whether a module is one.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        import_module("tengen.distributed").init_process_group()


def _find_tensors(obj: Any) -> Any:
    """The tensors in lists, tuples, dicts and dataclasses that are in each other."""
    if isinstance(obj, TensorBase):
        return [obj]
    if isinstance(obj, (list, tuple)):
        return chain.from_iterable([_find_tensors(item) for item in obj])
    if isinstance(obj, dict):
        return chain.from_iterable([_find_tensors(item) for item in obj.values()])
    if dataclasses.is_dataclass(obj):
        return chain.from_iterable([_find_tensors(getattr(obj, f.name)) for f in dataclasses.fields(obj)])
    return []
