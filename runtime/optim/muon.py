"""Muon."""

from __future__ import annotations

import math

from tengen.generated.functions import addmm, zeros_like

from ..tensors.tensor import Tensor
from .elementwise import State
from .optimizer import Group, Params, number
from .parameterwise import Parameterwise

__all__ = ["Muon"]


def __dir__() -> list[str]:
    return sorted(__all__)


Coefficients = tuple[float, float, float]
ADJUSTMENTS = ("original", "match_rms_adamw")


class Muon(Parameterwise):
    """Gradient descent with momentum, each step made nearly orthogonal: for matrices of hidden layers.

    ``b += (1 - momentum) * (g - b)``, or with ``nesterov`` a mean of that and ``g``, is brought near the
    closest matrix with orthonormal rows or columns by ``ns_steps`` iterations ``x = a*x + (b*xx' +
    c*(xx')**2) x`` with ``a, b, c = ns_coefficients``, in bfloat16, after division by its norm, at least
    ``eps``. The parameter shrinks by ``1 - lr * weight_decay``, and goes that way by ``lr`` times a factor of
    its shape (A, B): ``sqrt(max(1, A / B))`` with ``adjust_lr_fn`` None or ``"original"``, ``0.2 *
    sqrt(max(A, B))`` with ``"match_rms_adamw"``.

    The state is ``momentum_buffer``. ValueError for numbers out of range, for other names of
    ``adjust_lr_fn``, and for parameters that are not of two dimensions. In ``step`` ValueError for 100 or
    more ``ns_steps``, and for coefficients that are not three; RuntimeError for complex parameters and
    sparse gradients.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Coefficients = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for what, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{what} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def _check_group(self, group: Group) -> None:
        """Raise ValueError for options of the iteration that it cannot have."""
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State) -> None:
        rate, momentum = number(group["lr"]), group["momentum"]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(grad)
        mean = state["momentum_buffer"]
        mean.lerp_(grad, 1 - momentum)
        direction = grad.lerp(mean, momentum) if group["nesterov"] else mean
        update = _orthogonal(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        param.mul_(1 - rate * group["weight_decay"])
        param.add_(update, alpha=-rate * _factor(group["adjust_lr_fn"], *param.shape))


def _orthogonal(matrix: Tensor, coefficients: Coefficients, steps: int, eps: float) -> Tensor:
    """The matrix with singular values near 1, by Newton-Schulz iterations in bfloat16."""
    a, b, c = coefficients
    x = matrix.bfloat16()
    tall = matrix.size(0) > matrix.size(1)
    if tall:
        x = x.t()
    x = x.div(x.norm().clamp(min=eps))  # the largest singular value is at most 1
    for _ in range(steps):
        gram = x @ x.t()
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x


def _factor(name: str | None, rows: int, columns: int) -> float:
    """What a rate is multiplied by for a matrix of a shape."""
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
