"""From a constraint to a map of all real numbers into it: ``biject_to`` and ``transform_to``.

``biject_to(constraint)`` is bijective and has a ``log_abs_det_jacobian``, as variational inference needs it;
``transform_to(constraint)`` may be neither, and is made for optimisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from . import constraints, transforms
from .transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Functions that make transforms, by the class of the constraint that they are for."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}
        super().__init__()

    @overload
    def register(self, constraint: Any, factory: None = None) -> Callable[[Factory], Factory]: ...

    @overload
    def register(self, constraint: Any, factory: Factory) -> Factory: ...

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Has ``factory`` make the transforms for constraints of a class, or of the class of an instance.

        Without ``factory`` this is a decorator. TypeError for what is no constraint.
        """
        if factory is None:
            return lambda given: self.register(constraint, given)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(cls, type) and issubclass(cls, constraints.Constraint)):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> Any:
        """The transform into a constraint. NotImplementedError where none is registered for its class."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _for_both(*kinds: Any) -> Callable[[Factory], Factory]:
    """Registers for constraints of these kinds in both registries."""

    def register(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_for_both(constraints.real)
def _to_real(constraint: Any) -> Transform:
    return transforms.identity_transform


@_for_both(constraints.positive, constraints.nonnegative)
def _to_bounded_below(constraint: Any) -> Transform:
    """Of ``greater_than``, too, whose class that of ``positive`` is."""
    move = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), move])


@_for_both(constraints.less_than)
def _to_bounded_above(constraint: Any) -> Transform:
    turn = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), turn])


@_for_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    stretch = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretch])


@_for_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


def _register_parts(registry: ConstraintRegistry) -> None:
    """What is made of other constraints, by the transforms that the registry itself has for these."""

    @registry.register(constraints.independent)
    def to_independent(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def to_cat(constraint: Any) -> Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def to_stack(constraint: Any) -> Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


_register_parts(biject_to)
_register_parts(transform_to)


def __dir__() -> list[str]:
    return sorted(__all__)
