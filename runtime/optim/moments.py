"""Running means of gradients and of their squares, which Adam and its kin begin a step with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensors.tensor import Tensor
from .blocks import Array, constants
from .elementwise import State, as_real, decayed
from .optimizer import Group, number

#: What a step of arrays begins with: called with parameters, gradients, both means and scratch.
Start = Callable[[Array, Array, Array, Array, Array], None]


def moments_numbers(options: Group) -> tuple[float, ...]:
    """The weights of what two means were and of what is new, and the factor of the parameter."""
    beta1, beta2 = map(number, options["betas"])
    decay = 1 - options["lr"] * options["weight_decay"] if options["decoupled_weight_decay"] else 1
    return beta1, 1 - beta1, beta2, 1 - beta2, decay


def moments_start(options: Group, dtype: Any) -> Start:
    """The decoupled decay of a parameter, and what its two means become, as a function of blocks.

    ``p *= 1 - lr * weight_decay``, ``m = b1 * m + (1 - b1) * g`` and ``v = b2 * v + (1 - b2) * g**2``.
    """
    numbers = moments_numbers(options)
    decay = numbers[-1]
    keep1, new1, keep2, new2, shrink = constants(dtype, *numbers)
    multiply, add = np.multiply, np.add

    def start(p: Array, g: Array, m: Array, v: Array, t: Array) -> None:
        if decay != 1:
            multiply(p, shrink, p)
        multiply(g, new1, t)
        multiply(m, keep1, m)
        add(m, t, m)
        update_square_mean(g, v, t, keep2, new2)

    return start


def update_square_mean(x: Array, v: Array, t: Array, keep: Array, new: Array) -> None:
    """Update the running mean ``v`` of a square: ``v = keep * v + new * x * x``. ``t`` is scratch."""
    multiply = np.multiply
    multiply(x, x, t)
    multiply(t, new, t)
    multiply(v, keep, v)
    np.add(v, t, v)


def step_over_root(p: Array, x: Array, square: Array, t: Array, eps: Array, size: Array) -> None:
    """Take a step: ``p -= size * x / (sqrt(square) + eps)``. ``t`` is scratch."""
    np.sqrt(square, t)
    np.add(t, eps, t)
    np.divide(x, t, t)
    np.multiply(t, size, t)
    np.subtract(p, t, p)


def moments_of(
    group: Group, param: Tensor, grad: Tensor, state: State, rate: Any, beta1: Any, beta2: Any
) -> tuple[Tensor, ...]:
    """The same with tensors: a real parameter, its gradient as it is used, and both means, which are new."""
    if group["weight_decay"] != 0 and group["decoupled_weight_decay"]:
        param.mul_(1 - rate * group["weight_decay"])
    grad = decayed(group, param, grad)
    param, grad, mean, square = as_real(param, grad, state["exp_avg"], state["exp_avg_sq"])
    mean.lerp_(grad, 1 - beta1)
    move_square_mean(square, grad, beta2)
    return param, grad, mean, square


def move_square_mean(mean: Tensor, value: Tensor, keep: Any) -> None:
    """``keep * mean + (1 - keep) * value**2``, written into ``mean``. ``keep`` is a number or a tensor."""
    if isinstance(keep, Tensor):
        mean.lerp_(value.square(), 1 - keep)
    else:
        mean.mul_(keep).addcmul_(value, value, value=1 - keep)
