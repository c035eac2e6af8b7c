"""Methods of Types where size counts more than speed: each is one call of what is here.

A Type's hooks say how its elements are computed with: ``load`` gives the array that a kernel gets, ``store``
and ``store_computed`` what becomes of the array that it returns. Reduced types compute in another one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import grad_mode
from ..autograd.inference_mode import run_in_mode
from ..autograd.relatives import relate
from ..autograd.view import as_view
from ..core.error_notes import public_name
from ..core.errors import explain
from .operator import by_method
from .view_steps import shared_view, shared_views

Compute = Callable[[], Any]
Convert = Callable[..., Any]
Hook = Convert | None


def in_shape_of(out: Any, functional: Convert) -> Convert:
    """``functional``, with its result in the shape of ``out`` where that has as many elements."""

    def made(*arguments: Any) -> Any:
        result = functional(*arguments)
        return result._type.view(result, out.shape) if result.numel() == out.numel() else result

    return made


def run_kernel(
    T: Any,
    method: str,
    arguments: tuple[Any, ...],
    compute: Compute,
    result_type: Any = None,
    store: Hook = None,
    layout: Hook = None,
    as_array: Hook = None,
) -> Any:
    """What a kernel computes as a Tensor, of the thread's mode.

    ``result_type`` is its Type, by default that of the array. ``as_array`` makes an array of a scalar of the
    array library's, ``store`` converts it to the Type's dtype, ``layout`` gives it PyTorch's strides. An
    error of the kernel's is raised as that of the operator.
    """

    def finish(array: Any) -> Any:
        return _finished(T, array, result_type, store, layout, as_array)

    return _run(T, method, arguments, compute, finish)


def run_kernels(
    T: Any,
    method: str,
    arguments: tuple[Any, ...],
    compute: Compute,
    result_type: Any = None,
    store: Hook = None,
    layouts: Sequence[Hook] | None = None,
    as_array: Hook = None,
) -> Any:
    """As ``run_kernel``, of several results or a list: a tuple, with None where a result is not asked for."""

    def finish(arrays: Sequence[Any]) -> tuple[Any, ...]:
        pairs = zip(arrays, layouts or (None,) * len(arrays), strict=True)
        return tuple([_finished(T, array, result_type, store, layout, as_array) for array, layout in pairs])

    return _run(T, method, arguments, compute, finish)


def run_factory(
    T: Any,
    method: str,
    arguments: tuple[Any, ...],
    compute: Compute,
    result_type: Any = None,
    store: Hook = None,
    layout: Hook = None,
    as_array: Hook = None,
) -> Any:
    """As ``run_kernel``, in the mode that the Type is of."""
    return _finished(T, _computed(method, arguments, compute), result_type, store, layout, as_array)


def run_view(
    T: Any, method: str, arguments: tuple[Any, ...], compute: Compute, result_type: Any = None
) -> Any:
    """A view of the first argument."""
    array = _computed(method, arguments, compute)
    result_type = result_type or T.of_array(array)
    if not T.backend.mutable:
        return shared_view(arguments[0], array, result_type, method, arguments[1:])
    return as_view(arguments[0], array, result_type)


def run_views(T: Any, method: str, arguments: tuple[Any, ...], compute: Compute) -> tuple[Any, ...]:
    """The views of the first argument that an operator returns together."""
    arrays = _computed(method, arguments, compute)
    if not T.backend.mutable:
        return shared_views(arguments[0], arrays, T, method, arguments[1:])
    return tuple([as_view(arguments[0], array, T, True) for array in arrays])


def run_shared(T: Any, method: str, arguments: tuple[Any, ...], compute: Compute) -> Any:
    """What an operator of views gives of a first argument in a layout that has none.

    Who writes to memory that both have writes to both: they have one version.
    """
    out = run_kernel(T, method, arguments, compute)
    _count_together(arguments[0], out)
    return out


def run_shared_list(T: Any, method: str, arguments: tuple[Any, ...], compute: Compute) -> tuple[Any, ...]:
    """As ``run_shared``, of a list."""
    outs: tuple[Any, ...] = run_kernels(T, method, arguments, compute)
    for out in outs:
        _count_together(arguments[0], out)
    return outs


def _count_together(source: Any, out: Any) -> None:
    if source._array.shares_memory(out._array):
        relate(source, out)


def _run(
    T: Any, method: str, arguments: tuple[Any, ...], compute: Compute, finish: Callable[[Any], Any]
) -> Any:
    """What ``finish`` makes of a kernel's result, in the thread's mode."""
    if T.unsettled and T.recording is grad_mode.inference:
        return run_in_mode(T, method, arguments)
    return finish(_computed(method, arguments, compute))


def _computed(method: str, arguments: tuple[Any, ...], compute: Compute) -> Any:
    try:
        return compute()
    except Exception as error:
        operator = by_method(method)
        raise explain(error, method if operator is None else operator.name, *arguments) from None


def running_operator() -> str:
    """The function by which errors tell of the operator whose kernel runs in this thread; "" for none.

    The frames have it: to note it for each kernel, of which few ask, would make all calls slower.
    """
    frame = sys._getframe(1)
    while frame.f_code is not _computed.__code__:
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    operator = by_method(method := frame.f_locals["method"])
    return public_name(method if operator is None else operator.name)


def _finished(T: Any, array: Any, result_type: Any, store: Hook, layout: Hook, as_array: Hook) -> Any:
    if array is None:
        return None
    if as_array is not None:
        array = as_array(array)
    if store is not None:
        array = store(array, T.dtype)
    if layout is not None:
        array = layout(array)
    return (T.of_array(array) if result_type is None else result_type).wrap(array)
