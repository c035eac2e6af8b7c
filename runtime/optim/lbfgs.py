"""L-BFGS: a quasi-Newton method that remembers some of its last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tengen.generated.functions import cat, view_as_real, zeros_like

from ..autograd.grad_mode import enable_grad, no_grad
from ..tensors.tensor import Tensor
from .checks import check_rate
from .line_search import Point, StrongWolfe
from .optimizer import Optimizer, Params, number

__all__ = ["LBFGS"]


def __dir__() -> list[str]:
    return sorted(__all__)


Closure = Callable[[], Any]


class LBFGS(Optimizer):
    """Steps along an estimate of Newton's direction, of the last ``history_size`` steps and gradients.

    A call of ``step`` makes at most ``max_iter`` steps with at most ``max_eval`` calls of its closure (by
    default ``max_iter * 5 // 4``), until no element of the gradient is above ``tolerance_grad``, or the loss
    and the parameters change by less than ``tolerance_change``. They are of length ``lr``, the first one
    shorter, or with ``line_search_fn="strong_wolfe"`` of the length that a line search finds.

    There is one group of parameters: ValueError for more, and for a negative ``lr``.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        found: list[Tensor] = self.param_groups[0]["params"]
        return found

    # -- the parameters as one vector

    def _gradient(self) -> Tensor:
        """The gradients of all parameters, one behind the other; fresh memory."""
        parts = []
        for p in self._params:
            grad = zeros_like(p) if p.grad is None else p.grad
            parts.append((view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return cat(parts)

    def _move(self, t: Any, direction: Tensor) -> None:
        """Add ``t`` times the vector to the parameters."""
        begin, t = 0, number(t)
        for p in self._params:
            p = view_as_real(p) if p.is_complex() else p
            end = begin + p.numel()
            p.add_(direction[begin:end].view(p.shape), alpha=t)
            begin = end

    def _evaluate(
        self, closure: Closure, start: list[Tensor], t: Any, direction: Tensor
    ) -> tuple[float, Tensor]:
        """The loss and the gradient at ``t`` times the direction from where the parameters are."""
        self._move(t, direction)
        loss = float(number(closure()))
        grad = self._gradient()
        for p, before in zip(self._params, start, strict=True):
            p.copy_(before)
        return loss, grad

    # -- the step

    def step(self, closure: Closure | None = None) -> Any:
        """Make up to ``max_iter`` steps; the first loss.

        ``closure`` forgets the gradients, computes the loss anew with its gradients and returns it; TypeError
        without one. RuntimeError for a line search that is not "strong_wolfe".
        """
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        with no_grad():
            return self._step(enable_grad()(closure))

    def _step(self, closure: Closure) -> Any:
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = float(number(first_loss)), 1
        state["func_evals"] += 1
        grad = self._gradient()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        memory = _Memory(state, group["history_size"])
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = memory.direction(grad, state["n_iter"] == 1)
            memory.remember(grad, loss)
            memory.t = number(group["lr"])
            if state["n_iter"] == 1:
                memory.t = min(1.0, 1.0 / grad.abs().sum()) * memory.t
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            start = Point(0, loss, grad, slope)
            last, left = iteration == group["max_iter"], group["max_eval"] - evaluations
            found, used = self._go(closure, start, direction, memory.t, left, last)
            memory.t, loss, grad = found.t, found.loss, found.grad
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"] or self._is_done(found, direction, start.loss):
                break
        memory.save()
        return first_loss

    def _go(
        self, closure: Closure, start: Point, direction: Tensor, t: Any, left: int, last: bool
    ) -> tuple[Point, int]:
        """Move the parameters along the direction; where they are then, and how often ``closure`` was called.

        The loss and the gradient are not computed anew after the ``last`` step of a fixed length.
        """
        method = self.param_groups[0]["line_search_fn"]
        if method is None:
            self._move(t, direction)
            if last:
                return start._replace(t=t), 0
            return Point(t, float(number(closure())), self._gradient(), None), 1
        if method != "strong_wolfe":
            raise RuntimeError(f"only 'strong_wolfe' is supported, but line_search_fn is {method!r}")
        before = [p.clone() for p in self._params]
        search = StrongWolfe(lambda t: self._evaluate(closure, before, t, direction), start, direction, left)
        found = search.search(t)
        self._move(found.t, direction)
        return found, search.evaluations

    def _is_done(self, point: Point, direction: Tensor, loss_before: float) -> bool:
        group = self.param_groups[0]
        change = group["tolerance_change"]
        return bool(
            point.grad.abs().max() <= group["tolerance_grad"]
            or direction.mul(number(point.t)).abs().max() <= change
            or abs(point.loss - loss_before) < change
        )


class _Memory:
    """What is known of former steps, between calls in the state of the first parameter."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state, self.size = state, size
        self.d: Any = state.get("d")
        self.t: Any = state.get("t")
        #: Of each remembered step how the gradient changed, the step, and 1 over their product.
        self.changes: list[Tensor] = state.get("old_dirs") or []
        self.steps: list[Tensor] = state.get("old_stps") or []
        self.inverses: list[Any] = state.get("ro") or []
        self.scale: Any = state.get("H_diag")
        self.grad: Any = state.get("prev_flat_grad")
        self.loss: Any = state.get("prev_loss")

    def direction(self, grad: Tensor, first: bool) -> Tensor:
        """Where to go from a gradient: against it at first, later as the remembered steps suggest."""
        if first:
            self.changes, self.steps, self.inverses, self.scale = [], [], [], 1
            self.d = grad.neg()
        else:
            self._add(grad.sub(self.grad), self.d.mul(number(self.t)))
            self.d = self._two_loops(grad)
        found: Tensor = self.d
        return found

    def _add(self, change: Tensor, step: Tensor) -> None:
        product = change.dot(step)
        if not product > 1e-10:
            return
        if len(self.changes) == self.size:
            for remembered in (self.changes, self.steps, self.inverses):
                remembered.pop(0)
        self.changes.append(change)
        self.steps.append(step)
        self.inverses.append(1.0 / product)
        self.scale = product / change.dot(change)

    def _two_loops(self, grad: Tensor) -> Tensor:
        """The estimate of the inverse Hessian times the gradient, negated."""
        shares = self.state.setdefault("al", [None] * self.size)
        known = len(self.changes)
        d = grad.neg()
        for i in range(known - 1, -1, -1):
            shares[i] = self.steps[i].dot(d) * self.inverses[i]
            d.add_(self.changes[i], alpha=-shares[i].item())
        d = d.mul(self.scale)
        for i in range(known):
            share = self.changes[i].dot(d) * self.inverses[i]
            d.add_(self.steps[i], alpha=(shares[i] - share).item())
        return d

    def remember(self, grad: Tensor, loss: float) -> None:
        """Keep the gradient and the loss from which the next step starts."""
        if self.grad is None:
            self.grad = grad.clone()
        else:
            self.grad.copy_(grad)
        self.loss = loss

    def save(self) -> None:
        """Write all into the state."""
        names = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
        values = (self.d, self.t, self.changes, self.steps, self.inverses, self.scale, self.grad, self.loss)
        self.state.update(zip(names, values, strict=True))
