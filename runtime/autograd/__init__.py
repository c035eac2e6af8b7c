"""Automatic differentiation: ``backward``, ``grad``, and the modes of recording.

The modules are named as PyTorch's are in ``csrc/autograd``; generated Nodes reach operators,
nothing here names one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..core.function_dispatch import loosely_overridable
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from . import forward_ad, function, graph
from .anomaly_mode import (
    detect_anomaly,
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
    set_detect_anomaly,
)
from .edge import gradient_edge as gradient_edge
from .engine import execute
from .function import Function
from .grad_mode import (
    check_flag,
    enable_grad,
    enforce_grad_layout_policy,
    is_grad_enabled as is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .graph import GradientEdge
from .hooks import RemovableHandle as RemovableHandle
from .inference_mode import inference_mode, is_inference_mode_enabled as is_inference_mode_enabled
from .node import Node as Node
from .root_gradients import make_grads, metadata_of
from .run_backward import (
    as_tensors,
    backward,
    check_differentiated,
    edge_of,
    grads_for,
    refuse_wrapped,
    root_edges,
)
from .variable import Variable

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

_Key = TypeVar("_Key")

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
#: Imported when they are first used.
_LAZY = {"functional": "functional", "profiler": "profiler", "profiler_util": "profiler_util"}


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY})


@overload
def grad(
    outputs: Any,
    inputs: Mapping[_Key, Any],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> dict[_Key, Tensor]: ...
@overload
def grad(
    outputs: Any,
    inputs: TensorBase | GradientEdge | Sequence[Any],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
@loosely_overridable
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of ``outputs`` with respect to ``inputs``, and no ``grad`` is touched.

    ``inputs`` is a Tensor, a sequence, or a dict; a tuple of Tensors comes back, or a dict with the
    same keys. ``grad_outputs`` has a gradient for each output, of its shape, or None where it is
    a real scalar. An input that the outputs do not depend on is an error, unless
    ``allow_unused``, which gives None, or ``materialize_grads``, which gives zeros.

    Raises RuntimeError as ``backward`` does, ValueError when ``allow_unused=False`` is given together
    with ``materialize_grads``, TypeError for flags that are no bools.
    """
    check_flag("grad", "create_graph", create_graph)
    check_flag("grad", "is_grads_batched", is_grads_batched)
    check_flag("grad", "materialize_grads", materialize_grads)
    if retain_graph is not None:
        check_flag("grad", "retain_graph", retain_graph)
    if allow_unused is not None:
        check_flag("grad", "allow_unused", allow_unused)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
            "gradient for other parts of the graph, please use tengen.autograd.backward.",
            FutureWarning,
            stacklevel=program_stacklevel(),
        )
    keys: list[Any] | None = None
    if isinstance(inputs, Mapping):
        keys = list(inputs)
        inputs = list(inputs.values())
    targets = as_tensors("inputs", inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if is_grads_batched:
        options = retain_graph, create_graph, True, allow_unused, False, materialize_grads
        found = _grad_of_many(as_tensors("outputs", outputs), targets, grad_outputs, options)
        return tuple(found) if keys is None else dict(zip(keys, found, strict=True))
    roots = as_tensors("outputs", outputs)
    refuse_wrapped("grad", roots)
    grads = make_grads(roots, grads_for(roots, grad_outputs))
    edges = root_edges(roots)
    for t in targets:
        check_differentiated(t)
    keep = create_graph if retain_graph is None else retain_graph
    unused_allowed = materialize_grads if allow_unused is None else allow_unused
    wanted = [edge_of(t) for t in targets]
    found = execute(edges, grads, keep, create_graph, wanted, accumulate=False)
    for index, value in enumerate(found):
        if value is None and not unused_allowed:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        if value is None and materialize_grads:
            found[index] = _zeros_like(targets[index], create_graph)
    return tuple(found) if keys is None else dict(zip(keys, found, strict=True))


def _grad_of_many(
    roots: Sequence[Any], targets: Sequence[Any], grad_outputs: Any, options: tuple[Any, ...]
) -> list[Any]:
    """The gradients for each of many ``grad_outputs``, which their first dimension numbers."""
    from ..func.vmap import several_at_once

    given = grads_for(roots, grad_outputs)
    for index, (root, gradient) in enumerate(zip(roots, given, strict=True)):
        if isinstance(gradient, TensorBase):
            shape, found = metadata_of(root)[0], gradient._array.shape
            if found[1:] != shape or not found:
                raise RuntimeError(
                    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
                    "batch dimension. The sizes of the remaining dimensions are expected to match the shape "
                    f"of corresponding output, but a mismatch was detected: grad_output[{index}] has a "
                    f"shape of {list(found)} and output[{index}] has a shape of {list(shape)}."
                )
    missing: list[int] = []

    def for_one(*gradients: Any) -> list[Any]:
        found = grad(roots, targets, gradients, *options)
        missing[:] = [i for i, value in enumerate(found) if value is None]
        return [value for value in found if value is not None]

    in_dims = tuple([None if g is None else 0 for g in given])
    results: list[Any] = several_at_once(for_one, *given, in_dims=in_dims)
    for index in missing:
        results.insert(index, None)
    return results


def _zeros_like(target: Any, requires_grad: bool) -> Any:
    """The gradient of what was not used; of an edge, whose tensor nobody has, RuntimeError."""
    if isinstance(target, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    T = target._type
    zeros = T.wrap(T.backend.lib.zeros(target._array.shape, T.dtype))
    zeros._requires_grad = requires_grad
    return zeros


def __getattr__(name: str) -> Any:
    """``functional``, which is made of operators, and the profiler."""
    if name not in _LAZY:
        raise AttributeError(f"module 'tengen.autograd' has no attribute {name!r}")
    return import_module(f"tengen.autograd.{_LAZY[name]}")
