"""SGD: stochastic gradient descent, with momentum if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tengen.generated.functions import zeros_like

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .axpy import make_axpy
from .blocks import Array, Update, constants, native_update
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise, State, check_modes, decayed
from .optimizer import Group, Params, number, scalar

__all__ = ["SGD"]


def __dir__() -> list[str]:
    return sorted(__all__)


class SGD(Elementwise):
    """Stochastic gradient descent.

    ``p -= lr * g``; with ``momentum`` the direction is ``b = momentum * b + (1 - dampening) * g``, which
    begins as ``g``, or with ``nesterov`` it is ``g + momentum * b``. ``weight_decay`` adds
    ``weight_decay * p`` to ``g``, ``maximize`` turns its sign. ``foreach`` and ``fused`` choose among
    PyTorch's ways to compute the same, and change nothing here. With ``differentiable`` the step is recorded.

    ValueError for negative numbers, and for ``nesterov`` without momentum or with dampening.
    """

    counters: ClassVar[tuple[str, ...]] = ()
    later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_modes(foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _is_new(self, state: State) -> bool:
        return state.get("momentum_buffer") is None

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        state["momentum_buffer"] = zeros_like(param)

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        rate, momentum, axpy = options["lr"], options["momentum"], make_axpy()
        if momentum == 0:

            def plain(p: Array, g: Array) -> None:
                axpy(-rate, g, p)

            return plain, None
        first, nesterov, share = counts[0] == 1, options["nesterov"], 1 - options["dampening"]
        if (native := kernels.sgd_nesterov if nesterov else kernels.sgd_momentum) is not None and not first:
            return native_update(native, dtype, momentum, share, rate)
        (keep,) = constants(dtype, momentum)
        multiply, copyto = np.multiply, np.copyto

        def kernel(p: Array, g: Array, b: Array) -> None:
            if first:
                copyto(b, g)
            else:
                multiply(b, keep, b)
                axpy(share, g, b)
            axpy(-rate * momentum if nesterov else -rate, b, p)
            if nesterov:
                axpy(-rate, g, p)

        return kernel, 0

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        grad, rate, momentum = decayed(group, param, grad), scalar(group["lr"]), group["momentum"]
        if momentum != 0:
            if first:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer = state["momentum_buffer"]
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        # Elsewhere the rate's value is asked for, which waits for a device, and is not there while traced.
        if isinstance(rate, Tensor) and (rate.requires_grad or rate._type.backend.group is not None):
            param.addcmul_(grad, rate, value=-1)
        else:
            param.add_(grad, alpha=-number(rate))

    _update_sparse = _update
