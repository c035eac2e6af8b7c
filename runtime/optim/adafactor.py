"""Adafactor."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import zeros_like

from ..composite.updates import count_dtype
from ..core.scalar_type import finfo
from ..tensors.creation import tensor as make_tensor
from ..tensors.tensor import Tensor
from .elementwise import State, count_step
from .optimizer import Group, Params, number, options_of
from .parameterwise import Parameterwise

__all__ = ["Adafactor"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Adafactor(Parameterwise):
    """Steps by the root of a mean square that is kept, of matrices, as a row and a column only.

    With ``b = 1 - t**beta2_decay`` the means of ``g**2`` along the last dimension and along the one before,
    ``row_var`` and ``col_var``, move by ``1 - b`` towards the present ones; their product, over the mean of
    ``row_var``, stands for all elements' mean squares. Parameters of fewer dimensions keep these themselves,
    as ``variance``. The update ``u = g / max(sqrt(v), eps[0])`` is divided by ``max(1, rms(u) / d)``, and ``p
    -= max(eps[1], rms(p)) * min(lr, 1 / sqrt(t)) * u``. ``weight_decay`` shrinks ``p`` by the factor ``1 - lr
    * weight_decay`` beforehand. ``eps[0]`` is the parameter's ``finfo.eps`` if None. ``maximize`` turns the
    gradient's sign; ``foreach`` chooses among PyTorch's ways to compute the same, and changes nothing.

    The states are ``step``, and ``row_var`` and ``col_var`` or ``variance``. ValueError for numbers out of
    range, RuntimeError in ``step`` for complex parameters and sparse gradients.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        _check(lr, beta2_decay, eps, d, weight_decay)
        super().__init__(params, options_of(locals()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                known = self.state.get(p, {})
                if known and not isinstance(known["step"], Tensor):
                    known["step"] = make_tensor(float(known["step"]), dtype=count_dtype())

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State) -> None:
        if not state:
            _begin(grad, state)
        if group["maximize"]:
            grad = -grad
        rate, (least, smallest) = number(group["lr"]), group["eps"]
        if least is None:
            least = finfo(param.dtype).eps
        count = count_step(group, state)
        if not param.numel():
            return
        size = max(smallest, _rms(param)) * min(rate, 1 / count**0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - rate * group["weight_decay"])
        square = _mean_square(grad, state, count ** group["beta2_decay"], least)
        update = square.clamp_(min=least * least).rsqrt_().mul_(grad)
        param.add_(update, alpha=-size / max(1.0, _rms(update) / group["d"]))


def _begin(grad: Tensor, state: State) -> None:
    """Make the state of a parameter."""
    state["step"] = make_tensor(0.0, dtype=count_dtype())
    if grad.dim() > 1:
        shape = list(grad.shape)
        state["row_var"] = grad.new_zeros([*shape[:-1], 1])
        state["col_var"] = grad.new_zeros([*shape[:-2], 1, shape[-1]])
    else:
        state["variance"] = zeros_like(grad)


def _mean_square(grad: Tensor, state: State, new: float, least: float) -> Tensor:
    """The running mean squares, moved; of matrices what row and column say of them."""
    if grad.dim() <= 1:
        state["variance"].lerp_(grad * grad, new)
        found: Tensor = state["variance"].clone()
        return found
    row, column = state["row_var"], state["col_var"]
    for mean, dim in ((row, -1), (column, -2)):
        mean.lerp_(grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim)), new)
    product: Tensor = row @ column
    return product.div_(row.mean(dim=-2, keepdim=True).clamp_(min=least))


def _rms(x: Tensor) -> float:
    """The root of the mean square."""
    length: float = x.norm(2).item()
    root: float = x.numel() ** 0.5
    return length / root


def _check(lr: Any, beta2_decay: float, eps: tuple[float | None, float], d: float, decay: float) -> None:
    """Raise ValueError for numbers out of range."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
    if not beta2_decay <= 0.0:
        raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
    for number_of, value in enumerate(eps, 1):
        if not (value is None and number_of == 1) and not value >= 0.0:  # type: ignore[operator]
            raise ValueError(f"epsilon{number_of} should be >= 0 but is: {value}")
    if not d >= 1.0:
        raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
    if not decay >= 0.0:
        raise ValueError(f"weight_decay should be >= 0 but is: {decay}")
