"""Autocast: operators compute in shorter dtypes where that is accurate enough.

What is done for an operator is a tag of its declaration: its floating-point tensors become of autocast's
dtype, of float32, or of the widest of these that one of them has. All else is as without autocast, and so is
what such an operator calls. float64 is never touched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.grad_mode import grad_mode
from ..core.device import device as Device
from ..core.interception import Layer, active, layers
from ..core.scalar_type import bfloat16, dtype as DType, float16, float32, float64
from ..core.tensor_base import TensorBase
from ..core.thread_state import propagated
from .operator import table

if TYPE_CHECKING:
    from ..core.protocols import Operator

#: The kinds of devices for which autocast may be asked, and their dtypes if none is set.
DEFAULTS = {
    **dict.fromkeys(("cpu", "hpu", "maia", "xla"), bfloat16),
    **dict.fromkeys(("cuda", "ipu", "mps", "mtia", "privateuseone", "xpu"), float16),
}
#: Those for which there are tags.
SUPPORTED = ("cpu",)


class AutocastLayer(Layer):
    """Casts the arguments of the operators of one thread, before all other layers see them.

    So batching rules, tangents and graphs are those of the operator on what was cast. While an operator runs
    that it has cast for, it does not intercept.
    """

    before_others = True

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        how = table().AUTOCAST.get(operator.name)
        if how is None:
            return proceed(*arguments)
        try:
            self.leave()
            return proceed(*cast_arguments(operator, arguments, how))
        finally:
            self.resume()


class AutocastState(threading.local):
    """What autocast is set to in a thread."""

    def __init__(self) -> None:
        #: By the type of the device.
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, DType] = {}
        self.cache_enabled = True
        self.nesting = 0
        self.layer = AutocastLayer()
        #: Leaves that were cast, by their id; each is kept, so that its id stays its own.
        self.cache: dict[int, tuple[Any, int, bool, Any]] = {}

    @property
    def intercepts(self) -> bool:
        """Whether operators are cast for: not so inside one that is."""
        return self.layer in active

    def enable(self, device_type: str, enabled: bool, intercept: bool = True) -> None:
        """Set whether there is autocast for a kind of device; without ``intercept`` not in this operator."""
        self.enabled[device_type] = enabled
        if intercept and any([self.enabled.get(device) for device in SUPPORTED]):
            self.layer.resume()
        else:
            self.layer.leave()


state = propagated(AutocastState())


# -- casting


def cast_arguments(operator: Operator, arguments: tuple[Any, ...], how: Any) -> list[Any]:
    """The arguments as the operator's tag has them: "float32", "lower_precision", "widest", or a dtype."""
    if how == "lower_precision":
        wanted = autocast_dtype("cpu")
    elif how == "float32":
        wanted = float32
    elif how == "widest":
        wanted = _widest(operator, arguments)
    else:
        wanted = how
    return [cast_value(value, wanted) for value in arguments]


def is_eligible(tensor: Any, device_type: str = "cpu") -> bool:
    """Whether autocast may cast a tensor: of floating-point numbers on the device, and not of float64."""
    kind = tensor.dtype
    return bool(kind.is_floating_point) and kind is not float64 and tensor.device.type == device_type


def cast_value(value: Any, wanted: DType) -> Any:
    """An argument with its eligible tensors cast, also of those in a list."""
    if isinstance(value, TensorBase):
        if value.dtype is wanted or not is_eligible(value):  # type: ignore[attr-defined]
            return value
        return _cast(value, wanted)
    if value.__class__ in (list, tuple):
        return value.__class__([cast_value(item, wanted) for item in value])
    return value


def _widest(operator: Operator, arguments: tuple[Any, ...]) -> DType:
    shorter = autocast_dtype("cpu")
    found = {t.dtype for t in _tensors_in(arguments) if is_eligible(t)}
    if float32 in found:
        return float32
    if found - {shorter}:
        names = ", ".join(sorted(map(str, found)))
        raise RuntimeError(
            f"{operator.function}: autocast to {shorter} takes tensors of {shorter} and float32, but got "
            f"{names}"
        )
    return shorter


def _tensors_in(values: Any) -> list[Any]:
    found = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif value.__class__ in (list, tuple):
            found += _tensors_in(value)
    return found


def _cast(tensor: Any, wanted: DType) -> Any:
    """The tensor as the dtype. A leaf's result is kept until the end of autocast: weights are cast once."""
    kept = (
        state.cache_enabled
        and tensor.dtype is float32
        and wanted is not float32
        and tensor._requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and not [found for found in layers() if not getattr(found, "observer", False)]
    )
    if not kept:
        return tensor.to(wanted)
    key, recorded, version = id(tensor), grad_mode.enabled, tensor._version
    found = state.cache.get(key)
    if found is not None and found[1:3] == (version, recorded) and found[3].dtype is wanted:
        return found[3]
    made = tensor.to(wanted)
    state.cache[key] = (tensor, version, recorded, made)
    return made


# -- what users ask and set


def _checked(function: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"{function}(): argument 'device_type' must be str, not {type(device_type).__name__}")
    kind = device_type if device_type in DEFAULTS else Device(device_type).type
    if kind not in DEFAULTS:
        raise RuntimeError(f"{function}: unsupported autocast device type: {kind}")
    return kind


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast may be asked for on this kind of device; it casts on the CPU. TypeError for no str."""
    if not isinstance(device_type, str):
        raise TypeError(f"is_autocast_available(): argument must be str, not {type(device_type).__name__}")
    return (device_type if device_type in DEFAULTS else Device(device_type).type) in DEFAULTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for this kind of device, in this thread. TypeError, RuntimeError for others."""
    kind = _checked("is_autocast_enabled", device_type)
    return state.enabled.get(kind, False) and (kind not in SUPPORTED or state.intercepts)


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Turn autocast on or off for this kind of device, in this thread; alone, a bool is meant for "cuda".

    TypeError for what is no str, or no bool, RuntimeError for a kind of device that has none.
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' must be bool, not {type(enabled).__name__}"
        )
    state.enable(_checked("set_autocast_enabled", device_type), enabled)


def autocast_dtype(device_type: str) -> DType:
    """The dtype of this kind of device, as it is set."""
    return state.dtypes.get(device_type, DEFAULTS[device_type])


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that autocast computes in on this kind of device: bfloat16 on "cpu", if none is set."""
    return autocast_dtype(_checked("get_autocast_dtype", device_type))


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the dtype that autocast computes in on this kind of device. TypeError for what is no dtype."""
    if not isinstance(dtype, DType):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' must be tengen.dtype, not {type(dtype).__name__}"
        )
    state.dtypes[_checked("set_autocast_dtype", device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether autocast keeps leaves that it has cast until its end."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether autocast keeps leaves that it has cast until its end. TypeError for what is no bool."""
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_cache_enabled(): argument 'enabled' must be bool, not {type(enabled).__name__}"
        )
    state.cache_enabled = enabled


def autocast_increment_nesting() -> int:
    """Count one more autocast that runs in this thread, and return how many there are."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Count one autocast less, and return how many there are."""
    state.nesting -= 1
    return state.nesting


def clear_autocast_cache() -> None:
    """Forget what autocast has cast in this thread."""
    state.cache = {}


def is_autocast_cpu_enabled() -> bool:
    """The same as ``is_autocast_enabled("cpu")`` gives."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The same as ``set_autocast_enabled("cpu", enabled)``."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DType:
    """The same as ``get_autocast_dtype("cpu")`` gives."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """The same as ``set_autocast_dtype("cpu", dtype)``."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DType:
    """The same as ``get_autocast_dtype("cuda")`` gives."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """The same as ``set_autocast_dtype("cuda", dtype)``."""
    set_autocast_dtype("cuda", dtype)
