"""What generated code says of an optimiser's update, and what it calls.

An update is declared in declarations/optimizers.yaml; the generator writes it as loops over NumPy's arrays,
as native kernels and as operators over Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tengen.generated.functions import where

from ..core.scalar_type import float32, float64, get_default_dtype
from ..tensors.creation import tensor as make_tensor
from ..tensors.tensor import Tensor

#: Rounds what a counter becomes, which is given by its number, as the counter keeps it.
Kept = Callable[[int, Any], Any]


@dataclass(frozen=True, slots=True)
class Form:
    """The update over arrays where all choices are made."""

    kernel: str  # the native kernel
    function: Callable[..., None]  # the same of numbers, parameter, gradient, states and scratch arrays
    scratch: int
    takes: tuple[int, ...]  # which of the step's numbers


@dataclass(frozen=True, slots=True)
class Declared:
    """An optimiser's update. Its states are those of one element, the counters, and those like the parameter.

    ``numbers(options, kept, first, *counts)`` gives the choices, the numbers of a step, and what the counters
    become. ``step(choices, numbers, param, grad, *states)`` gives the parameter and the states anew; of a
    state that is not there it is given None.
    """

    options: tuple[str, ...]
    counters: tuple[str, ...]
    states: tuple[str, ...]
    names: Callable[[Mapping[str, Any]], tuple[str, ...]]  # the states that are there
    initial: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    numbers: Callable[..., tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]]
    step: Callable[..., tuple[Tensor, ...]]
    forms: Mapping[tuple[Any, ...], Form]


def count_dtype(fused: bool | None = None) -> Any:
    """The dtype in which steps are counted."""
    return float64 if not fused and get_default_dtype() is float64 else float32


def known(value: Any) -> bool:
    """Whether a value is there, and not in a tensor."""
    return not isinstance(value, Tensor)


def maximum(value: Any, least: float) -> Any:
    """The value, and at least ``least``."""
    return value.clamp(min=least) if isinstance(value, Tensor) else max(value, least)


def rounded(value: Any) -> Any:
    """A number in the dtype in which steps are counted; a tensor has its own."""
    return value if isinstance(value, Tensor) else count_dtype().array_dtype.type(value).item()


def either(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """One of two values, of which the other is not computed, unless a tensor decides."""
    if isinstance(condition, Tensor):
        return where(condition, then(), otherwise())
    return then() if condition else otherwise()


def as_tensor(value: Any, like: Tensor) -> Tensor:
    """A number as a tensor, of the dtype and on the device of another."""
    return value if isinstance(value, Tensor) else make_tensor(value, dtype=like.dtype, device=like.device)


def plus(value: Tensor, change: Tensor, scale: Any) -> Tensor:
    """``value + change * scale``, for a number or a tensor ``scale``."""
    return value + change * scale if isinstance(scale, Tensor) else value.add(change, alpha=scale)


def plus_product(value: Tensor, a: Tensor, b: Tensor, scale: Any) -> Tensor:
    """``value + a * b * scale``, for a number or a tensor ``scale``."""
    return value + a * b * scale if isinstance(scale, Tensor) else value.addcmul(a, b, value=scale)


def plus_quotient(value: Tensor, a: Tensor, b: Tensor, scale: Any) -> Tensor:
    """``value + a / b * scale``, for a number or a tensor ``scale``."""
    return value + a / b * scale if isinstance(scale, Tensor) else value.addcdiv(a, b, value=scale)
