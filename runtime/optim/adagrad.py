"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

from tengen.generated import optimizers
from tengen.generated.functions import _sparse_coo_tensor_unsafe

from ..tensors.tensor import Tensor
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise, State, check_modes
from .optimizer import Group, Params

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

    _declared = optimizers.Adagrad

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

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        """Sums begin with the optimiser's own value, whatever a group says."""
        name = "initial_accumulator_value"
        super()._begin({**group, name: self.defaults[name]}, param, state)

    def _update_sparse(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        """Only the rows of which there is a gradient move."""
        if group["weight_decay"]:
            raise RuntimeError("Adagrad: weight_decay option is not compatible with sparse gradients")
        _, (eps, size) = self._numbers(group, param, state, first)
        grad = (-grad if group["maximize"] else grad).coalesce()
        indices, values = grad.indices(), grad.values()
        state["sum"].add_(_sparse_coo_tensor_unsafe(indices, values.pow(2), grad.shape, True))
        scale = state["sum"].sparse_mask(grad)._values().sqrt().add(eps)
        param.add_(_sparse_coo_tensor_unsafe(indices, values / scale, grad.shape, True), alpha=-size)
