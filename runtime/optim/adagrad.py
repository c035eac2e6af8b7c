"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tengen.generated.functions import _sparse_coo_tensor_unsafe, full_like

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise, State, as_real, check_modes, count_step, decayed, new_count
from .moments import step_over_root
from .optimizer import Group, Params, number

__all__ = ["Adagrad"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Adagrad(Elementwise):
    """Steps by the gradient over the root of the sum of all its squares.

    ``s += g**2`` begins at ``initial_accumulator_value``, and ``p -= lr / (1 + (t - 1) * lr_decay) * g /
    (sqrt(s) + eps)``. ``weight_decay`` adds ``weight_decay * p`` to ``g``, ``maximize`` turns its sign.
    ``foreach`` and ``fused`` choose among PyTorch's ways to compute the same, and change nothing here. With
    ``differentiable`` the step is recorded.

    The states are ``step`` and ``sum``; they are made at once. ValueError for negative numbers, RuntimeError
    for ``fused`` with ``foreach`` or ``differentiable``.
    """

    later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        check_modes(foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(group, p, self.state[p])

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("sum",)

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        value = self.defaults["initial_accumulator_value"]
        state["step"] = new_count(group, param)
        state["sum"] = full_like(param, complex(value, value) if param.is_complex() else value)

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        numbers = options["eps"], _rate(options, counts[0])
        if kernels.adagrad is not None:
            return native_update(kernels.adagrad, dtype, *numbers)
        eps, size = constants(dtype, *numbers)

        def kernel(p: Array, g: Array, s: Array, t: Array) -> None:
            np.multiply(g, g, t)
            np.add(s, t, s)
            step_over_root(p, g, s, t, eps, size)

        return kernel, 1

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        rate = _rate(group, count_step(group, state))
        param, grad, total = as_real(param, decayed(group, param, grad), state["sum"])
        total.addcmul_(grad, grad)
        param.addcdiv_(grad, total.sqrt().add(group["eps"]), value=-rate)

    def _update_sparse(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        """Only the rows of which there is a gradient move."""
        if group["weight_decay"]:
            raise RuntimeError("Adagrad: weight_decay option is not compatible with sparse gradients")
        rate = _rate(group, count_step(group, state))
        grad = (-grad if group["maximize"] else grad).coalesce()
        indices, values = grad.indices(), grad.values()
        state["sum"].add_(_sparse_coo_tensor_unsafe(indices, values.pow(2), grad.shape, True))
        scale = state["sum"].sparse_mask(grad)._values().sqrt().add(group["eps"])
        param.add_(_sparse_coo_tensor_unsafe(indices, values / scale, grad.shape, True), alpha=-rate)


def _rate(options: Group, step: float) -> Any:
    """The learning rate at a step."""
    return number(options["lr"]) / (1 + (step - 1) * options["lr_decay"])
