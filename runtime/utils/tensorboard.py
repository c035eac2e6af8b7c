"""Logs for TensorBoard, which the package tensorboardX writes: ``pip install tensorboardX``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.needed_package import needed_package
from ..tensors.tensor import Tensor

try:
    from tensorboardX import FileWriter as FileWriter, SummaryWriter as _SummaryWriter
except ModuleNotFoundError as error:
    raise needed_package(__name__, "tensorboardX") from error

__all__ = ["FileWriter", "SummaryWriter"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _plain(value: Any) -> Any:
    """The arrays of tensors, in lists, tuples and dicts too."""
    if isinstance(value, Tensor):
        return np.asarray(value.detach().cpu().resolve_conj().numpy())
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


class SummaryWriter(_SummaryWriter):  # type: ignore[misc]
    """tensorboardX's writer, whose methods take tensors. ``add_graph`` is not there."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("add_"):
            return found
        return lambda *args, **keywords: found(*map(_plain, args), **_plain(keywords))

    def add_graph(self, model: Any, input_to_model: Any = None, *args: Any, **keywords: Any) -> None:
        """NotImplementedError: ``tengen.onnx.export`` writes graphs for viewers of ONNX."""
        raise NotImplementedError("add_graph: tengen.onnx.export writes the graph, for a viewer of ONNX")
