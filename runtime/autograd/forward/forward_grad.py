"""ForwardLevel, which computes the tangents of tensors, and what they are.

A tensor with a tangent is a dual number. A ``ForwardLevel`` is a layer (``tengen.core.interception``): an
operator on duals of that level is run as it is, and then once more as its forward formula, which gives
the tangents of the results. Levels nest: each knows its own tangents only, and those of the older levels
are tensors like any other to it, so that a tangent may have tangents of older levels.

What transforms are made of::

    with ForwardLevel() as level:
        dual = level.make_dual(primal, tangent)      # a view of the primal; its tangents of others stay
        result = function(dual)
        value, tangent = level.unpack(result)        # the tangent is None where it is zero
    # here no tensor has a tangent of the level any more; value and tangent are what they were

A tensor that wraps another (``wraps``, of vmap) has no tangent itself: it is the wrapped tensor's. The
tangent of a tensor that wraps none may be one that does. ``tangent_of`` handles this. No operator is
named here: forward formulas are generated, and other computations with tangents are in
``tengen.autograd.forward.operators`` and ``tengen.autograd.forward.tangents``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.interception import AliasKind
from ...core.tensor_base import TensorBase
from ..autograd_meta import meta_of
from ..edge import gradient_edge
from ..forward_mode import DualLevel, ForwardGrad, forward_mode, levels as dual_levels
from ..grad_mode import grad_mode
from ..linear_maps import AliasBackward0, Identity, apply_linear
from ..saved_variable import alias
from ..view import as_view, differentiable
from ..writes import share

if TYPE_CHECKING:
    from ...core.protocols import LinearMap, Operator

_UNKNOWN: Any = object()


def levels() -> list[ForwardLevel]:
    """The levels of this thread, the newest last."""
    found: Any = dual_levels()
    return found  # type: ignore[no-any-return]


def wraps(tensor: Any) -> bool:
    """Whether a tensor wraps another one, which has its tangents."""
    found: bool = getattr(tensor, "_wraps", False)
    return found


def tangent_of(tensor: Any, level: ForwardLevel) -> Any:
    """The tangent of a tensor at a level, or None.

    The tangent of a view, if it was not set, is a view of its base's.
    """
    if wraps(tensor):
        from .batched import batched_tangent

        return batched_tangent(tensor, level)
    meta = tensor._meta
    if meta is not None and meta.forward_grad is not None:
        found = meta.forward_grad.tangents.get(level, _UNKNOWN)
        if found is not _UNKNOWN:
            return found
    base = tensor._base
    if base is None or not differentiable(tensor._type):
        return None
    whole = tangent_of(base, level)
    if whole is None:
        return None
    from .tangents import view_like

    with level.disabled(), _OlderLevelsEnabled(level):
        found = view_like(whole, base, tensor)
    level.set(tensor, found)
    return found


def levels_of(arguments: Sequence[Any]) -> list[tuple[ForwardLevel, list[Any]]]:
    """The levels at which an argument has a tangent, the oldest first, with the tangents there."""
    if not forward_mode.is_on():
        return []
    found = []
    for level in levels():
        if level.disabled_depth:
            continue
        tangents = [tangent_of(a, level) if isinstance(a, TensorBase) else None for a in arguments]
        if any([t is not None for t in tangents]):
            found.append((level, tangents))
    return found


def _may_have_tangent(tensor: Any, level: ForwardLevel) -> bool:
    """Whether a tensor or its base has a tangent. This computes none."""
    for known in (tensor, tensor._base):
        meta = None if known is None else known._meta
        if meta is not None and meta.forward_grad is not None and level in meta.forward_grad.tangents:
            return True
    return False


class _OlderLevelsEnabled:
    """A context in which the levels older than one are enabled, although they may be disabled outside.

    For tangents that are computed late, when the older levels are disabled already: they have tangents of
    these levels nevertheless.
    """

    __slots__ = ("disabled_depths", "level")

    def __init__(self, level: ForwardLevel) -> None:
        self.level = level

    def __enter__(self) -> None:
        found = levels()
        older = found[: found.index(self.level)]
        self.disabled_depths = [(each, each.disabled_depth) for each in older]
        # No call from here on, where an interrupt could come.
        for each in older:
            each.disabled_depth = 0

    def __exit__(self, *error: object) -> None:
        for each, disabled_depth in self.disabled_depths:
            each.disabled_depth = disabled_depth


class _Disabled:
    """A context in which a level computes no tangents."""

    __slots__ = ("level",)

    def __init__(self, level: ForwardLevel) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.level.disabled_depth += 1

    def __exit__(self, *error: object) -> None:
        self.level.disabled_depth -= 1


class ForwardLevel(DualLevel):
    """A dual level: a set of tangents that are computed together, and the layer that computes them."""

    gradients = True

    def __init__(self) -> None:
        #: How many contexts have disabled it.
        self.disabled_depth = 0
        self._tracked: list[weakref.ref[ForwardGrad]] = []
        self._limit = 64

    # -- the layer

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        """Run an operator, and its forward formula if an operand has a tangent."""
        if self.disabled_depth or not self._tracked or not forward_mode.is_on():
            return proceed(*arguments)
        from .operators import run

        return run(self, operator, arguments, proceed)

    def linear(self, map: LinearMap, tensor: Any, proceed: Callable[[Any], Any]) -> Any:
        """Apply a linear map to the tensor and to its tangent."""
        out = proceed(tensor)
        if self.disabled_depth or wraps(tensor) or not forward_mode.is_on():
            return out
        tangent = tangent_of(tensor, self)
        if tangent is not None:
            with self.disabled():
                self.set(out, apply_linear(map, tangent))
        return out

    def tangent(self, tensor: Any) -> Any:
        """The tensor's tangent at this level, or None."""
        return tangent_of(tensor, self)

    def on_alias(self, tensor: Any, out: Any, how: AliasKind, map: LinearMap | None) -> None:
        """Give another handle with the same history the tangent, or the map of it."""
        if how is AliasKind.DETACHED or (how is AliasKind.COPIED and map is None) or wraps(out):
            return
        found = tangent_of(tensor, self)
        if found is not None:
            with self.disabled(), _OlderLevelsEnabled(self):
                self.set(out, found if map is None else apply_linear(map, found))

    def leave(self) -> None:
        """Stop computing, and drop all tangents of this level."""
        super().leave()
        held, self._tracked = self._tracked, []
        for ref in held:
            found = ref()
            if found is not None:
                found.tangents.pop(self, None)

    def disabled(self) -> _Disabled:
        """A context in which this level computes no tangents."""
        return _Disabled(self)

    def index(self) -> int:
        """How many older levels there are."""
        return levels().index(self)

    # -- the tangents

    def set(self, tensor: Any, tangent: Any) -> None:
        """Set the tangent of a tensor at this level; None says that it has none."""
        if wraps(tensor):
            from .batched import set_batched_tangent

            set_batched_tangent(tensor, tangent, self)
            return
        meta = meta_of(tensor)
        found: ForwardGrad | None = meta.forward_grad
        if found is None:
            found = meta.forward_grad = ForwardGrad()
        if self not in found.tangents:
            self.track(found)
        found.tangents[self] = tangent

    def track(self, found: ForwardGrad) -> None:
        """Record a ForwardGrad from which the tangents of this level are removed in the end."""
        if len(self._tracked) >= self._limit:
            self._tracked = [ref for ref in self._tracked if ref() is not None]
            self._limit = 2 * len(self._tracked) + 64
        self._tracked.append(weakref.ref(found))

    def make_dual(self, primal: Any, tangent: Any) -> Any:
        """A view of ``primal`` with the tangent ``tangent``, which has its shape.

        Raises RuntimeError when the primal, or the tangent, has a tangent of this level already, and
        for a tangent of another shape.
        """
        if not forward_mode.is_on():
            return self._view(primal)
        self._check_dual(primal, tangent)
        if wraps(primal):
            from .batched import make_batched_dual

            return make_batched_dual(primal, tangent, self)
        from .tangents import match_layout

        dual = self._view(primal)
        with self.disabled():
            self.set(dual, match_layout(tangent, dual))
        return dual

    def unpack(self, dual: Any) -> tuple[Any, Any]:
        """A view of the tensor without its tangent, and the tangent, which is None where there is none."""
        if wraps(dual):
            from .batched import unpack_batched_dual

            return unpack_batched_dual(dual, self)
        tangent = tangent_of(dual, self) if forward_mode.is_on() else None
        return self._view(dual), tangent

    def primal_of(self, tensor: Any, found: list[ForwardLevel] | None = None) -> Any:
        """The primal that formulas use: the tensor without the tangents of this level and of newer ones.

        ``found`` are the levels of this thread.
        """
        if wraps(tensor):
            return tensor
        if found is None:
            found = levels()
        own = found.index(self)
        if not any([_may_have_tangent(tensor, level) for level in found[own:]]):
            return tensor
        out = alias(tensor, gradient_edge(tensor) if tensor._requires_grad else None, tangents=False)
        for level in found[:own]:
            tangent = tangent_of(tensor, level)
            if tangent is not None:
                level.set(out, tangent)
        return out

    def _view(self, tensor: Any) -> Any:
        """A view of the tensor that has no tangent of this level."""
        T = tensor._type
        out = as_view(tensor, tensor._array, T)
        if not T.backend.mutable:
            share(tensor, out)
        if tensor._requires_grad and grad_mode.enabled:
            node = AliasBackward0(Identity(T), gradient_edge(tensor), out._array.shape, T)
            out._edge, out._requires_grad = (node, 0), True
        for level in levels():
            if level is not self:
                level.on_alias(tensor, out, AliasKind.ALIAS, None)
        self.set(out, None)
        return out

    def _check_dual(self, primal: Any, tangent: Any) -> None:
        if tangent_of(primal, self) is not None:
            raise RuntimeError(
                "Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
                f"level {self.index()} is not supported."
            )
        if tangent_of(tangent, self) is not None:
            raise RuntimeError(
                "Setting a forward grad that itself has a forward gradient at the same level "
                f"{self.index()} is not supported."
            )
        check_tangent_size(primal, tangent)


def check_tangent_size(primal: Any, tangent: Any) -> None:
    """Raise RuntimeError for a tangent of another size than the tensor's."""
    if tangent._array.shape != primal._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(primal._array.shape)} while the "
            f"given forward gradient is of size {list(tangent._array.shape)}."
        )
