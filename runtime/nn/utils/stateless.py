"""Calls of modules with other parameters, at their older place."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ...core.user_stack import program_stacklevel
from ...func.module_state import functional_call as _call
from ...tensors.tensor import Tensor

__all__ = ["functional_call"]


def __dir__() -> list[str]:
    return sorted(__all__)


def functional_call(
    module: Any,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """As ``tengen.func.functional_call``, with a warning."""
    warnings.warn(
        "`tengen.nn.utils.stateless.functional_call` is deprecated. Please use `tengen.func.functional_call` "
        "instead.",
        FutureWarning,
        stacklevel=program_stacklevel(),
    )
    return _call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
