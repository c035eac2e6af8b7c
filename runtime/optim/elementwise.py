"""Optimisers whose change of an element depends on that element, its gradient and its state only.

Each has its update twice: as a kernel over NumPy's arrays, which is what usually runs, and with operators,
for the rest: steps that are differentiated or that interceptors see, other dtypes, layouts and backends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tengen.generated.backends import BACKENDS
from tengen.generated.functions import view_as_real, zeros, zeros_like

from ..autograd.grad_mode import enable_grad, no_grad
from ..core.interception import active
from ..core.memory_format import strided
from ..tensors.creation import tensor as make_tensor
from ..tensors.tensor import Tensor
from .blocks import Array, Kernel, Update, constants
from .optimizer import Group, Optimizer, count_dtype, number, scalar
from .plan import Maker, Plan

State = dict[str, Any]


class _Nowhere(Sequence[bool]):
    """False for all indices."""

    def __getitem__(self, index: Any) -> Any:
        return False

    def __len__(self) -> int:
        return 0


_NONE_IS_NEW = _Nowhere()


class Elementwise(Optimizer):
    """What these optimisers share: the step, and which way it takes."""

    #: The states of one element, the first of which counts the steps.
    counters: ClassVar[tuple[str, ...]] = ("step",)
    #: The options that a group from an older pickle may lack.
    later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    # -- what an optimiser says of itself

    def _names(self, group: Group) -> tuple[str, ...]:
        """The states that are like the parameter, in the order in which the kernel takes them."""
        raise NotImplementedError

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        """The update ``kernel(param, grad, *states, *scratch)``, and how many scratch arrays it takes.

        It may write to all but the gradient, to which ``maximize`` and coupled weight decay were applied.
        """
        raise NotImplementedError

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        """The same with operators, of one parameter; ``first`` says that its state is new."""
        raise NotImplementedError

    def _updating(self, grad: Tensor) -> Callable[..., None]:
        """The update with operators, for the layout of a gradient."""
        return self._update if grad.layout is strided else self._update_sparse

    def _update_sparse(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        """As ``_update``, of a gradient in coordinate format. RuntimeError where there is none."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _is_new(self, state: State) -> bool:
        """Whether the state of a parameter is still to be made."""
        return not state

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        """Make the state of a parameter."""
        state["step"] = new_count(group, param)
        for name in self._names(group):
            state[name] = zeros_like(param)

    def _advance(self, options: Group, counters: Sequence[Array]) -> Sequence[Array]:
        """Count a step; returns the counts that the step is computed with."""
        for counter in counters:
            counter += 1
        return counters

    # -- the step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters that have gradients.

        ``closure`` computes the loss anew, with gradients, and returns it; so does the step then.
        """
        loss = self._tengen_loss_of(closure)
        differentiable = self.defaults["differentiable"]
        with (enable_grad if differentiable else no_grad)():  # which undo it whatever interrupts the step
            for place, group in enumerate(self.param_groups):
                if active or differentiable:
                    self._step_by_operators(group)
                else:
                    self._step_by_arrays(place, group)
        return loss

    def _step_by_operators(self, group: Group) -> None:
        params = [p for p in group["params"] if p.grad is not None]
        if params:
            check_group(group, params)
        for p in params:
            grad = p.grad
            assert grad is not None
            state, first = self._state_of(group, p)
            self._updating(grad)(group, p, grad, state, first)

    def _state_of(self, group: Group, param: Tensor) -> tuple[State, bool]:
        """The state of a parameter, and whether it was made just now."""
        if not self.counters and not self._names(group):
            return {}, False
        state: State = self.state[param]
        first = self._is_new(state)
        if first:
            self._begin(group, param, state)
        return state, first

    def _step_by_arrays(self, place: int, group: Group) -> None:
        params, grads = [], []
        for p in group["params"]:
            meta = p._meta
            if meta is not None and meta.grad is not None:
                params.append(p)
                grads.append(meta.grad)
        if not params:
            return
        plan, first = self._plan(place, group, params, grads)
        if plan.passes:
            options = {k: v.item() if isinstance(v, Tensor) else v for k, v in group.items()}
            plan.run(self._maker(options), lambda counters: self._advance(options, counters), grads)
        for i in plan.rest:
            self._updating(grads[i])(group, params[i], grads[i], plan.states[i], first[i])

    def _plan(
        self, place: int, group: Group, params: list[Tensor], grads: list[Tensor]
    ) -> tuple[Plan, Sequence[bool]]:
        """The passes over the parameters, and which of these have a new state."""
        names = self._names(group)
        plans: dict[int, Plan] = self.__dict__.setdefault("_plans", {})
        plan = plans.get(place)
        if plan is not None:
            known = self.state
            states = [known[p] for p in params] if names or self.counters else plan.states
            if plan.fits(params, grads, states, names):
                return plan, _NONE_IS_NEW
        check_group(group, params)
        plans.pop(place, None)
        found = [self._state_of(group, p) for p in params]
        states, first = [s for s, _ in found], [new for _, new in found]
        plan = plans[place] = Plan(params, grads, states, names, self.counters, first)
        return plan, first

    def _maker(self, options: Group) -> Maker:
        """What makes kernels that take the gradient as it is: one for all passes with the same counts."""
        maximize = options["maximize"]
        decay = 0 if options.get("decoupled_weight_decay") else options.get("weight_decay", 0)
        known: dict[Any, Update] = {}

        def make(counts: Sequence[float], dtype: Any) -> Update:
            found = known.get((dtype, *counts))
            if found is None:
                found = self._kernel(options, counts, dtype)
                if maximize or decay != 0:
                    found = _adjusting(found[0], decay, maximize, dtype), (found[1] or 0) + 1
                known[dtype, *counts] = found
            return found

        return make

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.pop("_plans", None)
        for group in self.param_groups:
            for name, value in self.later_options.items():
                group.setdefault(name, value)
            for p in group["params"]:
                known = self.state.get(p, {})
                for name in self.counters:
                    if known and not isinstance(known[name], Tensor):
                        known[name] = make_tensor(float(known[name]), dtype=count_dtype())


def _adjusting(kernel: Kernel, decay: float, maximize: bool, dtype: Any) -> Kernel:
    """A kernel that gives ``kernel`` the gradient with its sign turned, and the decayed parameter added."""
    (factor,) = constants(dtype, decay)
    multiply, negative = np.multiply, np.negative
    combine = np.subtract if maximize else np.add

    def adjusted(p: Array, g: Array, *others: Array) -> None:
        *rest, changed = others
        if decay == 0:
            negative(g, changed)
        else:
            multiply(p, factor, changed)
            combine(changed, g, changed)
        kernel(p, changed, *rest)

    return adjusted


def new_count(group: Group, param: Tensor, value: Any = 0.0) -> Tensor:
    """A counter, which is on the CPU unless the group is fused or capturable."""
    if group.get("fused") or group.get("capturable"):
        return zeros((), dtype=count_dtype(True), device=param.device).add_(value)
    return make_tensor(number(value), dtype=count_dtype())


def counted(group: Group, count: Tensor) -> Any:
    """A counter as the step computes with it: a tensor where values are not asked for, else a number."""
    return count.clone() if group.get("capturable") else count.item()


def factor_of(group: Group, factor: Tensor) -> Any:
    """A state that is a factor of the step: a number, or a tensor where a gradient flows to it."""
    return factor.clone() if group["differentiable"] and factor.requires_grad else counted(group, factor)


def count_step(group: Group, state: State) -> Any:
    """Count a step of a parameter; which it is, as ``counted``."""
    state["step"] += 1
    return counted(group, state["step"])


def rate_of(group: Group) -> Any:
    """The learning rate as the step computes with it."""
    rate = scalar(group["lr"])
    return rate if group.get("capturable") else number(rate)


def add_scaled(param: Tensor, change: Tensor, scale: Any) -> None:
    """``param += scale * change``, for a number or a tensor ``scale``."""
    if isinstance(scale, Tensor):
        param.add_(change.mul(scale))
    else:
        param.add_(change, alpha=scale)


def add_quotient(param: Tensor, change: Tensor, divisor: Tensor, scale: Any) -> None:
    """``param += scale * change / divisor``, for a number or a tensor ``scale``."""
    if isinstance(scale, Tensor):
        param.add_(change.div(divisor).mul(scale))
    else:
        param.addcdiv_(change, divisor, value=scale)


def check_group(group: Group, params: Sequence[Tensor]) -> None:
    """Raise where the group's options ask for what its parameters cannot have."""
    if group.get("capturable"):
        for p in params:
            if p._type.backend.group is None:
                devices = sorted({row["device"] for row in BACKENDS.values() if "group" in row})
                raise AssertionError(
                    f"If capturable=True, params and state_steps must be on supported devices: {devices}, "
                    f"but got params on {p.device.type}."
                )
    if group.get("fused"):
        for p in params:
            if not (p.is_floating_point() and isinstance(p._array, np.ndarray)):
                raise RuntimeError(
                    "`fused=True` requires all the params to be floating point Tensors with data, but got "
                    f"{p.dtype} and {p.device.type}"
                )


def check_modes(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """Raise RuntimeError for ways of computing that exclude each other."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def as_real(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, complex ones as views of their real and imaginary parts."""
    return tuple([view_as_real(t) if t.is_complex() else t for t in tensors])


def decayed(group: Group, param: Tensor, grad: Tensor) -> Tensor:
    """The gradient with the sign of the direction to go, and coupled weight decay added; by operators."""
    if group["maximize"]:
        grad = -grad
    decay = group.get("weight_decay", 0)
    if isinstance(decay, Tensor) and decay.requires_grad:
        return grad.addcmul(param.clone(), decay)
    if decay != 0 and not group.get("decoupled_weight_decay"):
        return grad.add(param, alpha=number(decay))
    return grad
