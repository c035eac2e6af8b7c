"""Modules whose parameters are not set."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module

__all__ = ["skip_init"]


def __dir__() -> list[str]:
    return sorted(__all__)


def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """A module of the class, made with the arguments, whose parameters and buffers are not set (``empty``).

    RuntimeError for what is no class of modules, and for one whose constructor has no argument ``device``: on
    "meta" nothing is computed for them.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
