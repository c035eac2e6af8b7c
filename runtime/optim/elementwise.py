"""Optimisers whose change of an element depends on that element, its gradient and its state only.

Of the update, which declarations/optimizers.yaml says, there are two forms: over NumPy's arrays, which is
what usually runs, and with operators, for the rest: steps that are differentiated or that interceptors see,
other dtypes, layouts and backends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tengen.generated.backends import BACKENDS
from tengen.generated.functions import full_like, view_as_real, zeros

from ..autograd.grad_mode import enable_grad, no_grad
from ..composite.updates import Declared, count_dtype
from ..core.interception import active, on_step
from ..core.memory_format import strided
from ..tensors.creation import tensor as make_tensor
from ..tensors.tensor import Tensor
from .optimizer import Group, Optimizer, number, scalar
from .plan import Plan
from .step_kernels import StepKernels

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

    #: What follows from the declaration of the update.
    _declared: ClassVar[Declared]
    #: The options that a group from an older pickle may lack.
    later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def _update_sparse(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        """Change a parameter by a gradient in coordinate format. RuntimeError where there is no way."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        """Make the state of a parameter."""
        declared = self._declared
        initial = declared.initial(group)
        for name in declared.counters:
            state[name] = new_count(group, param, initial[name])
        for name in declared.names(group):
            value = number(initial[name])
            # the imaginary part is a number of its own
            state[name] = full_like(param, complex(value, value) if param.is_complex() else value)

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
            self._update_of(grad)(group, p, grad, *self._state_of(group, p))

    def _state_of(self, group: Group, param: Tensor) -> tuple[State, bool]:
        """The state of a parameter, and whether it was made just now."""
        if not self._declared.counters and not self._declared.names(group):
            return {}, False
        state: State = self.state[param]
        first = all([value is None for value in state.values()])
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
            found = plan.kernels
            if found is None or not found.fits(group):
                found = plan.kernels = StepKernels(self._declared, group)
            found.step()
            plan.run(found.make, grads)
        for i in plan.rest:
            self._update_of(grads[i])(group, params[i], grads[i], plan.states[i], first[i])

    def _plan(
        self, place: int, group: Group, params: list[Tensor], grads: list[Tensor]
    ) -> tuple[Plan, Sequence[bool]]:
        """The passes over the parameters, and which of these have a new state."""
        names, counters = self._declared.names(group), self._declared.counters
        plans: dict[int, Plan] = self.__dict__.setdefault("_plans", {})
        plan = plans.get(place)
        if plan is not None:
            known = self.state
            states = [known[p] for p in params] if names or counters else plan.states
            if plan.fits(params, grads, states, names):
                return plan, _NONE_IS_NEW
        check_group(group, params)
        plans.pop(place, None)
        found = [self._state_of(group, p) for p in params]
        states, first = [s for s, _ in found], [new for _, new in found]
        plan = plans[place] = Plan(params, grads, states, names, counters, first)
        return plan, first

    def _update_of(self, grad: Tensor) -> Callable[..., None]:
        """The update with operators, for the layout of a gradient."""
        return self._update if grad.layout is strided else self._update_sparse

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        """The update with operators, of one parameter; ``first`` says that its state is new."""
        flags, numbers = self._numbers(group, param, state, first)
        declared = self._declared
        names = declared.names(group)
        states = [state[name] if name in names else None for name in declared.states]
        changed = [t if t is None else as_real(t) for t in (param, *states)]
        # what a backward pass needs stays as it is
        given = [t.clone() if t is not None and group["differentiable"] else t for t in changed]
        direction = as_real(decayed(group, param, grad))
        found = declared.step(flags, numbers, given[0], direction, *given[1:])
        for target, value in zip(changed, found, strict=True):
            if target is not None:
                target.copy_(value)

    def _numbers(
        self, group: Group, param: Tensor, state: State, first: bool
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The choices and the numbers of a step with operators, which is counted."""
        declared = self._declared
        counters = [state[name] for name in declared.counters]

        def kept(i: int, value: Any) -> Any:
            return value if isinstance(value, Tensor) else counters[i].dtype.array_dtype.type(value).item()

        def numbers(counts: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
            options = {name: _used(group, group[name], param) for name in declared.options}
            return declared.numbers(options, kept, first, *counts)

        taken: tuple[tuple[Any, ...], tuple[Any, ...]] | None = on_step(self, group, counters, numbers)
        if taken is not None:
            return taken
        flags, found, after = numbers([counted(group, c) for c in counters])
        for counter, value in zip(counters, after, strict=True):
            counter.copy_(value) if isinstance(value, Tensor) else counter.fill_(value)
        return flags, found

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.pop("_plans", None)
        for group in self.param_groups:
            for name, value in self.later_options.items():
                group.setdefault(name, value)
            for p in group["params"]:
                known = self.state.get(p, {})
                for name in self._declared.counters:
                    if known and not isinstance(known[name], Tensor):
                        known[name] = make_tensor(float(known[name]), dtype=count_dtype())


def computed_options(kind: type[Optimizer]) -> frozenset[str]:
    """The options of a class of optimisers of which its steps read only the numbers that they compute."""
    return frozenset(getattr(getattr(kind, "_declared", None), "options", ())) - {"weight_decay"}


def new_count(group: Group, param: Tensor, value: Any = 0.0) -> Tensor:
    """A counter, which is on the CPU unless the group is fused or capturable."""
    if group.get("fused") or group.get("capturable"):
        return zeros((), dtype=count_dtype(True), device=param.device).add_(value)
    return make_tensor(number(value), dtype=count_dtype())


def counted(group: Group, count: Tensor) -> Any:
    """A counter as the step computes with it: a tensor where values are not asked for, else a number."""
    flows = group.get("differentiable") and count.requires_grad
    return count.clone() if group.get("capturable") or flows else count.item()


def count_step(group: Group, state: State) -> Any:
    """Count a step of a parameter; which it is, as ``counted``."""
    state["step"] += 1
    return counted(group, state["step"])


def _used(group: Group, value: Any, param: Tensor) -> Any:
    """A hyperparameter as a step with operators uses it.

    It stays a tensor where a gradient flows to it, and where its value is not asked for: that would wait for
    a device, and is not there while traced.
    """
    if isinstance(value, tuple):
        return tuple([_used(group, v, param) for v in value])
    if not isinstance(value, Tensor):
        return value
    flows = group["differentiable"] and value.requires_grad
    there = value._type.backend.group is not None and value.device == param.device
    return scalar(value) if group.get("capturable") or flows or there else value.item()


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


def as_real(tensor: Tensor) -> Tensor:
    """The tensor, a complex one as a view of its real and imaginary parts."""
    return view_as_real(tensor) if tensor.is_complex() else tensor


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
