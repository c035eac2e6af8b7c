"""Arrays that broadcast to components, and the sums over what was broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import cpu
from ..layout import broadcast_shapes
from .array import Array, JaggedArray, NestedArray, RaggedArray

Shape = tuple[Any, ...]


def expanded_to(self: Any, like: RaggedArray) -> RaggedArray:
    """An array in the sizes of ``like``.

    A strided one broadcasts to these, and may be padded in ragged dimensions, as ``to_padded_tensor`` gives
    it. RuntimeError for sizes that do not go together.
    """
    if isinstance(self, RaggedArray):
        return _components_expanded(self, like)
    shape = (1,) * (like.ndim - self.ndim) + self.shape
    if len(shape) > like.ndim or shape[0] not in (1, like.shape[0]):
        raise _misfit(self, like)
    whole = np.broadcast_to(self.reshape(shape), (like.shape[0], *shape[1:]))
    components = like.components()
    return like.with_components(
        [_fitted(one, component.shape, self, like) for one, component in zip(whole, components, strict=True)]
    )


def _components_expanded(self: RaggedArray, like: RaggedArray) -> RaggedArray:
    if self.shape == like.shape:
        return self
    if self.shape[0] != like.shape[0] or self.ndim != like.ndim:
        raise _misfit(self, like)
    pairs = zip(self.components(), like.components(), strict=True)
    return like.with_components([_fitted(one, component.shape, self, like) for one, component in pairs])


def _fitted(one: Array, shape: Shape, self: Any, like: RaggedArray) -> Array:
    """A component in its shape: what is padded is cut off, and sizes of 1 are broadcast."""
    if any([n < m and n != 1 for n, m in zip(one.shape, shape, strict=True)]):
        raise _misfit(self, like)
    cut = one[tuple([slice(None) if n == 1 else slice(m) for n, m in zip(one.shape, shape, strict=True)])]
    return np.broadcast_to(cut, shape)


def _misfit(self: Any, like: RaggedArray) -> RuntimeError:
    return RuntimeError(
        f"a tensor of size {list(self.shape)} does not expand to the nested size {list(like.shape)}"
    )


def sum_to(a: RaggedArray, shape: Shape) -> Any:
    """The sum over what was broadcast from ``shape`` to the sizes of ``a``, strided or of such components."""
    lead = a.ndim - len(shape)
    goal = (1,) * lead + tuple(shape)
    if isinstance(goal[0], int) and goal[0] == 1 and a.shape[0] != 1:
        total = _sum_of_components(a, goal[1:])
        return total.reshape(shape)
    components = [_reduced(component, a.shape[1:], goal[1:]) for component in a.components()]
    if all([n.__class__ is int for n in goal]):
        return np.stack(components).reshape(shape) if components else np.zeros(shape, a.values.dtype)
    return a.with_components(components)


def _reduced(component: Array, found: Shape, goal: Shape) -> Array:
    """A component summed over the dimensions whose size is to be 1."""
    kept = tuple(
        [1 if m == 1 and n != 1 else own for own, n, m in zip(component.shape, found, goal, strict=True)]
    )
    return cpu.sum_to(component, kept)


def _sum_of_components(a: RaggedArray, goal: Shape) -> Array:
    if isinstance(a, JaggedArray) and a.is_dense:
        own = list(a.values.shape)
        return cpu.sum_to(a.values, tuple([1 if m == 1 else n for n, m in zip(own, goal, strict=True)]))
    components = [_reduced(component, a.shape[1:], goal) for component in a.components()]
    return np.sum(components, 0, dtype=a.values.dtype) if components else np.zeros(goal, a.values.dtype)


def stacked(components: Sequence[Array], like: RaggedArray) -> Any:
    """Components of one shape as one strided array; of several as components like those of ``like``."""
    if isinstance(like, NestedArray):
        return like.with_components(components)
    return np.stack(components)


def common_shape(a: Shape, b: Shape) -> Shape:
    """The shape to which both broadcast."""
    return broadcast_shapes(a, b)
