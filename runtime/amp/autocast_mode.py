"""The context manager and decorator ``autocast``, and decorators for Functions."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..core.scalar_type import bfloat16, dtype as DType, float16
from ..core.user_stack import program_stacklevel
from ..dispatch.autocast import (
    SUPPORTED,
    autocast_decrement_nesting,
    autocast_dtype,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    is_eligible,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    state,
)
from ..tensors.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: What autocast may compute in.
_DTYPES = (bfloat16, float16)


def _check_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


class autocast:
    """``with autocast("cpu"):`` operators compute in the dtypes that are best for them.

    Matrix products, convolutions and the like compute in ``dtype``, bfloat16 (the default) or float16;
    losses, decompositions, transforms and others in float32; all else in the dtypes of its tensors. Call
    ``backward`` outside: gradients have the dtypes of what was computed. ``@autocast("cpu")`` does so for the
    calls of a function. With ``enabled=False`` there is none inside. ``cache_enabled`` says whether leaves
    are cast once.

    ValueError for a device type that is no str, RuntimeError for one that has no autocast. For another dtype,
    and for "cuda", it warns, and does nothing.
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        _check_device_type(device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        problem = self._problem() if enabled else ""
        if problem:
            warnings.warn(problem, stacklevel=program_stacklevel())
        self._enabled = enabled and not problem
        self._before: list[tuple[bool, bool, DType, bool]] = []

    def _problem(self) -> str:
        """Why nothing can be cast, or nothing."""
        if self.device not in SUPPORTED:
            return f"Autocast for {self.device.upper()} is not available. Disabling autocast."
        if self.fast_dtype in _DTYPES:
            return ""
        name = self.device.upper()
        return (
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of {', '.join(map(str, _DTYPES))} currently."
        )

    def __enter__(self) -> autocast:
        device = self.device
        enabled = state.enabled.get(device, False)
        before = (enabled, state.intercepts or not enabled, autocast_dtype(device), state.cache_enabled)
        self._before.append(before)
        autocast_increment_nesting()
        set_autocast_dtype(device, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        set_autocast_enabled(device, self._enabled)
        return self

    def __exit__(self, *error: object) -> None:
        enabled, intercepts, dtype, cached = self._before.pop()
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        state.enable(self.device, enabled, intercepts)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(cached)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function with autocast in its calls. TypeError for what cannot be called."""
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use "
                "autocast as a context manager? For example:\n    with tengen.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called within ``autocast_instance``."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """The value with all tensors of floating-point numbers cast, also in collections; float64 stays."""
    if isinstance(value, Tensor):
        return value.to(dtype) if is_eligible(value, device_type) else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        items: Any = (_cast(item, device_type, dtype) for item in value)
        kind: Any = type(value)
        return kind(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Any:
    """Decorate the ``forward`` of a Function: it computes as autocast is set, and ``backward`` will know it.

    With ``cast_inputs``, where autocast is on, the floating-point arguments are cast to that dtype, and
    ``forward`` runs without autocast. ValueError for a device type that is no str.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        context, on = args[0], is_autocast_enabled(device_type)
        context._dtype = get_autocast_dtype(device_type)
        context._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            given = [_cast(value, device_type, cast_inputs) for value in args]
            return fwd(*given, **{k: _cast(v, device_type, cast_inputs) for k, v in kwargs.items()})

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a Function: it computes with autocast as ``forward`` did.

    ValueError for a device type that is no str.
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        with autocast(device_type, enabled=context._fwd_used_autocast, dtype=context._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
