"""Adam of gradients in coordinate format, which moves the elements that have one."""

from __future__ import annotations

from tengen.generated.functions import _sparse_coo_tensor_unsafe, zeros_like

from ..core.memory_format import sparse_coo, strided
from ..tensors.tensor import Tensor
from .checks import check_moments, check_rate
from .elementwise import State
from .optimizer import Group, Params, number
from .parameterwise import Parameterwise

__all__ = ["SparseAdam"]


def __dir__() -> list[str]:
    return sorted(__all__)


class SparseAdam(Parameterwise):
    """Adam for gradients in coordinate format: averages and parameters change where these have elements.

    ``m += (1 - b1) * (g - m)`` and ``v += (1 - b2) * (g**2 - v)``, and
    ``p -= lr * sqrt(1 - b2**t) / (1 - b1**t) * m / (sqrt(v) + eps)``; ``maximize`` turns the gradient's sign.
    Embeddings with ``sparse=True`` have such gradients.

    The states are ``step``, ``exp_avg`` and ``exp_avg_sq``. ValueError for numbers out of range and for
    parameters that are sparse, RuntimeError for a strided gradient.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        check_moments(eps, betas, 0)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if p.layout is not strided
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )

    def _check_gradient(self, param: Tensor) -> None:
        if param.grad is not None and param.grad.layout is not sparse_coo:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State) -> None:
        if not state:
            state.update(step=0, exp_avg=zeros_like(param), exp_avg_sq=zeros_like(param))
        state["step"] += 1
        grad = (-grad if group["maximize"] else grad).coalesce()
        indices, values = grad.indices(), grad.values()
        if not values.numel():
            return
        (beta1, beta2), step = group["betas"], state["step"]
        rate = number(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)

        def moved(to: Tensor, by: Tensor) -> None:
            to.add_(_sparse_coo_tensor_unsafe(indices, by, grad.shape, True))

        averages = []
        for name, beta, new in (("exp_avg", beta1, values), ("exp_avg_sq", beta2, values.pow(2))):
            old = state[name].sparse_mask(grad)._values()
            change = (new - old).mul(1 - beta)
            moved(state[name], change)
            averages.append(old + change)
        mean, square = averages
        moved(param, mean.div(square.sqrt().add(group["eps"])).mul(-rate))
