"""Kernels over ragged arrays that combine elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.sym_int import SymInt
from .. import bodies
from ..dims import LISTED, wrap_dims
from ..reductions import reduced
from ..row_tables import COLUMNS
from .array import Array, JaggedArray, RaggedArray
from .shape import inner_dim, over

Dims = Any


def _flat(self: RaggedArray) -> Array:
    """All elements of all components."""
    if isinstance(self, JaggedArray) and not self.is_dense:
        return np.concatenate([component.reshape(-1) for component in self.components()])
    return self.values.reshape(-1)


def nested_argmax(self: RaggedArray, dim: int | None, keepdim: bool) -> Any:
    """Where in each component the greatest element along a dimension stands; without one, among all."""
    return _reduced(partial(reduced, "argmax"), self, None if dim is None else (dim,), keepdim)


def nested_argmin(self: RaggedArray, dim: int | None, keepdim: bool) -> Any:
    """Where in each component the least element along a dimension stands; without one, among all."""
    return _reduced(partial(reduced, "argmin"), self, None if dim is None else (dim,), keepdim)


def max_of_nested(self: RaggedArray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The greatest elements along a dimension of the components, and where they stand."""
    return _reduced(partial(reduced, "max"), self, (dim,), keepdim), nested_argmax(self, dim, keepdim)


def min_of_nested(self: RaggedArray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The least elements along a dimension of the components, and where they stand."""
    return _reduced(partial(reduced, "min"), self, (dim,), keepdim), nested_argmin(self, dim, keepdim)


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
    form: bodies.Form,
    results: bodies.Results,
    dim: int | Dims,
    sizes: str,
    keepdim: bool,
    dtype: Any,
    rows: Sequence[RaggedArray],
    singles: Sequence[Any],
    shared: Sequence[Array | None],
    *numbers: float,
) -> Any:
    """``kernels.bodies.run_body`` of each component. NotImplementedError for bodies with several results, or
    with operands that rows share, unless rows are over the last dims by their sizes."""
    kept = results[0]
    if sizes and sizes != LISTED:
        assert isinstance(dim, Sequence)
        run = partial(bodies.run_body, kernels, name, form, results)
        return _over_last_sizes(run, results, tuple(dim), sizes, dtype, rows, singles, shared, numbers)
    if singles or shared or len(kept) > 1 or (len(rows) > 1 and not kept[0]):
        raise NotImplementedError("not implemented for nested tensors: it has several results or operands")

    def of_arrays(at: Any, keep: bool, *arrays: Array) -> Any:
        return bodies.run_body(kernels, name, form, results, at, sizes, keep, dtype, arrays, (), (), *numbers)

    first, *others = rows
    if sizes and dim == ():
        return first.with_values(of_arrays(dim, keepdim, first.values))
    dims = (dim,) if isinstance(dim, int) else dim
    if kept[0]:
        at = tuple([inner_dim(first, d) for d in (dims or range(first.ndim))])
        return over(first, at, lambda *arrays: of_arrays(at, keepdim, *arrays), *others)
    return _reduced(lambda array, chosen, keep: of_arrays(chosen, keep, array), first, dims, keepdim)


def is_over_ragged(self: RaggedArray, count: int) -> bool:
    """Whether of the dimensions of components one of the last is ragged, and none of those before."""
    if not 0 < count < self.ndim or any([isinstance(n, SymInt) for n in self.shape[1:-count]]):
        return False
    return any([isinstance(n, SymInt) for n in self.shape[-count:]])


def _over_last_sizes(
    run: Callable[..., Any],
    results: bodies.Results,
    dims: tuple[int, ...],
    sizes: str,
    dtype: Any,
    operands: Sequence[RaggedArray],
    singles: Sequence[Any],
    shared: Sequence[Array | None],
    numbers: Sequence[float],
) -> Any:
    """A body over the last dimensions: of all rows, sums of which are strided. Where one of these is ragged,
    of each component; then what is one number for each row is strided, with an element for each.

    RuntimeError where the sizes are others than those of the first operand, and beside a ragged dimension for
    what rows share, for which it has no size, and for sums over rows.
    """
    first, count, (kept, kinds, *_, asked) = operands[0], len(dims), results
    if not is_over_ragged(first, count):
        rows, each = [[a.rows(count) for a in of] for of in (operands, singles)]
        found = bodies.several(run(dims, sizes, True, dtype, rows, each, shared, *numbers))
        strided = [a is None or kind == COLUMNS for a, kind in zip(found, kinds, strict=True)]
        return bodies.given(
            [a if plain else first.of_rows(a, count) for a, plain in zip(found, strided, strict=True)]
        )
    if dims != first.shape[-count:]:
        raise RuntimeError(
            f"expected {sizes} to be the last sizes of the nested tensor, "
            f"{list(first.shape[-count:])}, but got {list(dims)}"
        )
    wanted = asked or (True,) * len(kept)
    if any([w and kind == COLUMNS for w, kind in zip(wanted, kinds, strict=True)]):
        raise RuntimeError("there is no sum over rows of several lengths")
    beside = next((a for a in shared if a is not None), None)
    if beside is not None:
        raise RuntimeError(
            "expected nothing that rows share where they are over a ragged dimension, but got one of "
            f"{list(beside.shape)}"
        )
    made = []
    for own in zip(*[a.components() for a in operands], *singles, strict=True):
        groups = own[: len(operands)], own[len(operands) :], shared
        made.append(bodies.several(run(own[0].shape[-count:], sizes, True, dtype, *groups, *numbers)))
    parted = zip(*made, strict=True) if made else [() for _ in kept]
    of_none = np.empty(0, first.values.dtype)
    return bodies.given(
        [
            (first.with_components(parts) if row else np.stack(parts) if parts else of_none)
            if asked
            else None
            for row, parts, asked in zip(kept, parted, wanted, strict=True)
        ]
    )
