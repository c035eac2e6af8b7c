"""Adam, and with decoupled weight decay AdamW."""

from __future__ import annotations

from typing import Any, ClassVar

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_moments, check_not_negative
from .elementwise import Elementwise, State, check_modes
from .optimizer import Group, Params, scalar

__all__ = ["Adam"]


def __dir__() -> list[str]:
    return sorted(__all__)


Beta = float | Tensor


class Adam(Elementwise):
    """Steps by the ratio of running averages: of the gradient, and of its square's root.

    ``m = b1 * m + (1 - b1) * g`` and ``v = b2 * v + (1 - b2) * g**2`` begin at 0, which is corrected for:
    ``p -= lr * m / (1 - b1**t) / (sqrt(v / (1 - b2**t)) + eps)``. ``amsgrad`` takes the largest ``v`` so far.
    ``weight_decay`` adds ``weight_decay * p`` to ``g``, or if ``decoupled_weight_decay`` it shrinks ``p`` by
    the factor ``1 - lr * weight_decay`` beforehand. ``lr`` and ``betas`` may be tensors of one element.
    ``foreach`` and ``fused`` choose among PyTorch's ways to compute the same, and change nothing here.
    With ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``exp_avg``, ``exp_avg_sq`` and ``max_exp_avg_sq``. ValueError for numbers out of
    range, RuntimeError for ``fused`` with ``foreach`` or ``differentiable``.
    """

    _declared = optimizers.Adam

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[Beta, Beta] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        many = bool(foreach) and not capturable
        _check_one("lr", lr, many)
        check_not_negative("learning rate", lr)
        check_moments(eps, betas, weight_decay)
        kinds = {Tensor if isinstance(b, Tensor) else float if isinstance(b, float) else None for b in betas}
        if len(kinds) != 1 or None in kinds:
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            _check_one(f"betas[{index}]", beta, many)
        check_modes(foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "betas": tuple([scalar(beta) for beta in betas]),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    later_options: ClassVar[dict[str, Any]] = {
        **Elementwise.later_options,
        "amsgrad": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        if group["differentiable"] and state["step"].requires_grad:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        super()._update(group, param, grad, state, first)


def _check_one(name: str, value: Any, many: bool) -> None:
    """Raise ValueError for a tensor of several elements, or one that PyTorch would not take here."""
    if not isinstance(value, Tensor):
        return
    if many:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
    if value.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element")
