"""Kernels over ragged arrays that combine elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import bodies
from ..dims import wrap_dims
from ..reductions import (
    all_dims,
    amax,
    amin,
    any_dims,
    argmax,
    argmin,
)
from .array import Array, JaggedArray, RaggedArray
from .shape import inner_dim, over

Dims = Any


def _flat(self: RaggedArray) -> Array:
    """All elements of all components."""
    if isinstance(self, JaggedArray) and not self.is_dense:
        return np.concatenate([component.reshape(-1) for component in self.components()])
    return self.values.reshape(-1)


def nested_all(self: RaggedArray, dim: Dims, keepdim: bool) -> Any:
    """Whether no element is zero, over what bodies go; over none, whether each is not."""
    return (
        self.with_values(all_dims(self.values, dim, keepdim))
        if dim == ()
        else _reduced(all_dims, self, dim, keepdim)
    )


def nested_any(self: RaggedArray, dim: Dims, keepdim: bool) -> Any:
    """Whether an element is not zero, over what bodies go; over none, whether each is not."""
    return (
        self.with_values(any_dims(self.values, dim, keepdim))
        if dim == ()
        else _reduced(any_dims, self, dim, keepdim)
    )


def nested_argmax(self: RaggedArray, dim: int | None, keepdim: bool) -> Any:
    """Where in each component the greatest element along a dimension stands; without one, among all."""
    return _reduced(argmax, self, None if dim is None else (dim,), keepdim)


def nested_argmin(self: RaggedArray, dim: int | None, keepdim: bool) -> Any:
    """Where in each component the least element along a dimension stands; without one, among all."""
    return _reduced(argmin, self, None if dim is None else (dim,), keepdim)


def max_of_nested(self: RaggedArray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The greatest elements along a dimension of the components, and where they stand."""
    return _reduced(amax, self, (dim,), keepdim), nested_argmax(self, dim, keepdim)


def min_of_nested(self: RaggedArray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The least elements along a dimension of the components, and where they stand."""
    return _reduced(amin, self, (dim,), keepdim), nested_argmin(self, dim, keepdim)


Kernel = Callable[[Array, Any, bool], Array]


def _reduced(kernel: Kernel, self: RaggedArray, dim: Dims, keepdim: bool) -> Any:
    """A reduction: nested where the dimensions that are left are ragged, else strided."""
    chosen = range(self.ndim) if not dim else wrap_dims(tuple(dim), self.ndim)
    if len(chosen) == self.ndim:
        total = np.asarray(kernel(_flat(self), None, False))
        return total.reshape((1,) * self.ndim) if keepdim else total
    if not isinstance(self, JaggedArray):
        return _over_last(kernel, self, chosen, keepdim)
    r = self.ragged_idx
    if 0 in chosen and r not in chosen:
        raise RuntimeError(
            "reducing along the batch dimension but not the ragged dimension is not supported for "
            "nested tensors"
        )
    if r in chosen and 0 not in chosen and len(chosen) > 1:
        raise RuntimeError(
            "reducing along a ragged and non-batch dimension is not supported for nested tensors"
        )
    inner = tuple([d - 1 for d in chosen if d])
    if 0 in chosen:
        whole = self.values if self.is_dense else np.concatenate(self.components(), r - 1)
        total = kernel(whole, inner, keepdim)
        return total[None] if keepdim else total
    if r in chosen:
        return np.stack([np.asarray(kernel(component, inner, keepdim)) for component in self.components()])
    values = kernel(self.values, inner, keepdim)
    return self.turned(values, r if keepdim else r - len([d for d in chosen if d < r]))


def _over_last(kernel: Kernel, self: RaggedArray, chosen: Sequence[int], keepdim: bool) -> Any:
    """Over the last dimension of each component, which is all that PyTorch has for the layout strided."""
    if list(chosen) != [self.ndim - 1] or not keepdim:
        raise RuntimeError(
            f"a nested tensor of the layout strided can only be reduced over its last dimension, "
            "with "
            f"keepdim=True, or over all, but got dim={list(chosen)}, keepdim={keepdim}"
        )
    return self.with_components(
        [kernel(component, (component.ndim - 1,), True) for component in self.components()]
    )


def run_body(
    kernels: None,
    name: str,
    form: Callable[..., Any],
    results: bodies.Results,
    dim: int | Dims,
    sizes: str,
    keepdim: bool,
    dtype: Any,
    rows: Sequence[RaggedArray],
    shared: Sequence[Array | None],
    *numbers: float,
) -> Any:
    """``kernels.bodies.run_body`` of each component. RuntimeError for bodies with several results, or with
    operands that rows share, or rows over dims by their sizes."""
    kept = results[0]
    if shared or sizes or len(kept) > 1 or (len(rows) > 1 and not kept[0]):
        raise RuntimeError(f"{name} has no form for nested tensors")

    def of_arrays(at: Any, keep: bool, *arrays: Array) -> Any:
        return bodies.run_body(kernels, name, form, results, at, "", keep, dtype, arrays, (), *numbers)

    first, *others = rows
    dims = (dim,) if isinstance(dim, int) else dim
    if kept[0]:
        at = tuple([inner_dim(first, d) for d in (dims or range(first.ndim))])
        return over(first, at, lambda *arrays: of_arrays(at, keepdim, *arrays), *others)
    return _reduced(lambda array, chosen, keep: of_arrays(chosen, keep, array), first, dims, keepdim)
