"""GradScaler: losses are multiplied, so that gradients in float16 are not too small for it."""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from tengen.generated.functions import full, isfinite

from ..autograd.grad_mode import no_grad
from ..core.scalar_type import float16, float32, int32
from ..core.user_stack import program_stacklevel
from ..dispatch.autocast import SUPPORTED
from ..tensors.tensor import Tensor

__all__ = ["GradScaler", "OptState"]


def __dir__() -> list[str]:
    return sorted(__all__)


class OptState(Enum):
    """What was done with an optimiser since the last ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _new_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, and the gradients back; a step with infinite gradients or NaN is left out.

    ``scaler.scale(loss).backward()``, ``scaler.step(optimizer)``, ``scaler.update()`` is an iteration. The
    scale begins with ``init_scale``. It is multiplied by ``backoff_factor`` after a step that was left out,
    and by ``growth_factor`` after ``growth_interval`` others. With ``enabled=False`` nothing is scaled.

    AssertionError for a growth factor that is not greater than 1, or a backoff factor that is not less. For
    "cuda" it warns, and does nothing.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device not in SUPPORTED:
            warnings.warn(
                f"GradScaler is enabled for {device}, which is not available. Disabling.",
                stacklevel=program_stacklevel(),
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_new_state)

    # -- scaling

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        """The scale and the number of steps with it. AssertionError before the first ``scale``."""
        if self._scale is None or self._growth_tracker is None:
            name = "_scale" if self._scale is None else "_growth_tracker"
            raise AssertionError(
                f"Attempted {funcname} but {name} is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def _scale_on(self, device: Any) -> Tensor:
        """The scale, which the first call makes, on a device."""
        if self._scale is None:
            if self._growth_tracker is not None:
                raise AssertionError("_growth_tracker initialized before _scale")
            self._scale = full((), self._init_scale, dtype=float32, device=device)
            self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=device)
        return self._scale.to(device=device)

    def scale(self, outputs: Any) -> Any:
        """The tensor, or the tensors in a list or another iterable, times the scale.

        ValueError for what is neither.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale_on(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            kind: Any = type(outputs)
            return kind(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Multiply the gradients by ``inv_scale``; by device, 1 where one is infinite or NaN, else 0."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not allow_fp16 and any([grad.dtype is float16 for grad in grads]):
            raise ValueError("Attempting to unscale FP16 gradients.")
        found: dict[Any, Tensor] = {}
        with no_grad():
            for grad in grads:
                values = grad.coalesce().values() if grad.is_sparse else grad
                here = found.setdefault(values.device, found_inf.to(device=values.device, copy=True))
                if not isfinite(values).all().item():
                    here.fill_(1.0)
                stored = grad._values() if grad.is_sparse else grad
                stored.mul_(inv_scale.to(device=values.device))
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimiser's gradients by the scale, to cut them before the step.

        RuntimeError when that was done since the last ``update``; ValueError for gradients in float16;
        AssertionError before the first ``scale``.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        own = self._per_optimizer_states[id(optimizer)]
        if own["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if own["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        found = full((), 0.0, dtype=float32, device=scale.device)
        own["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, False)
        own["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        """Whether gradients are infinite or NaN, which stay as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, zero = (full((), value, dtype=float32, device=scale.device) for value in (1.0, 0.0))
        own = self._per_optimizer_states[id(optimizer)]
        own["found_inf_per_device"] = self._unscale_grads_(optimizer, one, zero, True)
        return self._found_inf_per_device(optimizer)

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        found: dict[Any, Tensor] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found

    # -- steps

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)``, after ``unscale_`` if need be, unless a gradient is infinite.

        RuntimeError for a closure, and when it was called since the last ``update``; AssertionError for an
        optimiser without gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        own = self._per_optimizer_states[id(optimizer)]
        if own["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_scales(optimizer, own, args, kwargs)
        else:
            if own["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not own["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, own, *args, **kwargs)
        own["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(self, optimizer: Any, own: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if sum([found.item() for found in own["found_inf_per_device"].values()]):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_that_scales(
        self, optimizer: Any, own: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A step of an optimiser that divides by ``grad_scale`` and looks at ``found_inf`` itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            return optimizer.step(*args, **{**kwargs, "grad_scaler": self})
        if own["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._get_scale_async()
        if scale is None:
            raise AssertionError("_get_scale_async returned None")
        before = getattr(optimizer, "grad_scale", None)
        found = [value.to(scale.device) for value in own["found_inf_per_device"].values()]
        if own["stage"] is not OptState.UNSCALED:
            before = scale if before is None else scale * before
        optimizer.grad_scale, optimizer.found_inf = before, sum(found)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Set the scale anew, by what the steps since the last time have found, or to ``new_scale``.

        AssertionError when there was no step, and for a ``new_scale`` that is no tensor of one element.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            fits = new_scale.device.type == self._device and new_scale.numel() == 1
            if not fits or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element tengen.FloatTensor with requires_grad=False."
                )
            scale.copy_(new_scale)
        else:
            states = self._per_optimizer_states.values()
            found = [value.item() for own in states for value in own["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, tracker, bool(sum(found)))
        self._per_optimizer_states = defaultdict(_new_state)

    def _adapt(self, scale: Tensor, tracker: Tensor, left_out: bool) -> None:
        if left_out:
            scale.mul_(self._backoff_factor)
            tracker.zero_()
            return
        tracker.add_(1)
        if tracker.item() == self._growth_interval:
            grown = scale * self._growth_factor
            if isfinite(grown).item():
                scale.copy_(grown)
            tracker.zero_()

    # -- what it is set to

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """The scale; 1.0 if it is not enabled."""
        if not self._enabled:
            return 1.0
        scale = self._get_scale_async()
        return self._init_scale if scale is None else float(scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a step that was left out."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after a step that was left out."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    # -- saving

    def state_dict(self) -> dict[str, Any]:
        """The scale, its factors and interval, the number of steps with it; nothing if it is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave. RuntimeError for that of a scaler which was not enabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of "
                "GradScaler."
            )
        self._init_scale = scale = state_dict["scale"]
        self._init_growth_tracker = tracked = state_dict["_growth_tracker"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(tracked)

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the "
                    "end after scaler.update()."
                )
            kept["_init_scale"], kept["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            kept["_scale"] = kept["_growth_tracker"] = None
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
