"""Where parameters and samples may lie: sets of values, which check whether a value is in them.

A constraint says so of each event of a value: of what its last ``event_dim`` dimensions hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from tengen.generated.functions import cat as _cat, full as _full, isclose as _isclose, stack as _stack
from tengen.generated.linalg_functions import (
    cholesky_ex as _cholesky_ex,
    eigvalsh as _eigvalsh,
    vector_norm as _vector_norm,
)

from ..core.scalar_type import bool_ as _bool, finfo as _finfo
from ..tensors.tensor import Tensor

#: A number, or a tensor that broadcasts to the values.
Bound: TypeAlias = Tensor | float


class Constraint:
    """A set of values: ``is_discrete`` where of separate points, with events of ``event_dim`` dimensions."""

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of the value is in the set: bool, without the last ``event_dim`` dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}({self._arguments()})"

    def _arguments(self) -> str:
        """What the repr shows in the parentheses: the bounds."""
        bounds = ("lower_bound", "upper_bound")
        return ", ".join(f"{name}={getattr(self, name)}" for name in bounds if name in self.__dict__)


def _check_constraints(what: str, constraints: Iterable[Any]) -> None:
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise AssertionError(f"{what} must be a Constraint, got {type(constraint).__name__}")


# -- constraints that depend on other values ---------------------------------------------------------


class _Dependent(Constraint):
    """Stands for a constraint that follows from other values, as an upper bound does that is a parameter.

    What is not given of ``is_discrete`` and ``event_dim`` is a NotImplementedError when it is asked for.
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return bool(self._static("is_discrete"))

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return int(self._static("event_dim"))

    def _static(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same, with what is given set: ``dependent(is_discrete=True, event_dim=1)``."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        """ValueError: the set is known only with the other values."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: object) -> bool:
    """Whether a constraint stands for one that follows from other values, and cannot be checked by itself."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of instances which is a dependent constraint of their class.

    Used as ``@dependent_property`` or as ``@dependent_property(is_discrete=False, event_dim=0)``.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# -- constraints made of others ----------------------------------------------------------------------


class _IndependentConstraint(Constraint):
    """Events of ``reinterpreted_batch_ndims`` more dimensions, of which each part satisfies the base.

    AssertionError of a base that is no constraint, and of a number of dimensions that is no int, or negative.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        _check_constraints("base_constraint", [base_constraint])
        if not isinstance(reinterpreted_batch_ndims, int):
            given = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {given}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Whether all parts of each event are valid. ValueError of a value smaller than an event."""
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of_rightmost(found, self.reinterpreted_batch_ndims)

    def _arguments(self) -> str:
        return f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"


def _all_of_rightmost(found: Tensor, count: int) -> Tensor:
    return found.reshape((*found.shape[: found.dim() - count], -1)).all(-1)


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture of components along the last batch dimension: what all of them allow."""

    def __init__(self, base_constraint: Constraint) -> None:
        _check_constraints("base_constraint", [base_constraint])
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Whether each event is possible for every component. ValueError of a value smaller than an event."""
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _all_of_rightmost(found, found.dim() - (value.dim() - self.event_dim))

    def _arguments(self) -> str:
        return repr(self.base_constraint)


class _Parts(Constraint):
    """Constraints of parts of a value along a dimension."""

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        _check_constraints("Each element of cseq", self.cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Parts):
    """Constraints of slices along ``dim`` of these ``lengths``, by default 1 each; as ``cat`` joins them.

    AssertionError of what is no constraint, and where there are not as many lengths as constraints.
    """

    def __init__(
        self, cseq: Iterable[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Tensor) -> Tensor:
        """What the constraints find of their slices, joined again."""
        self._check_dim(value)
        found, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            found.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return _cat(found, self.dim)


class _Stack(_Parts):
    """Constraints of the elements along ``dim``, as ``stack`` joins them."""

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        own = super().event_dim
        return own + 1 if self.dim + own < 0 else own

    def check(self, value: Tensor) -> Tensor:
        """What the constraints find of their elements, stacked again."""
        self._check_dim(value)
        parts = zip(self.cseq, value.unbind(self.dim), strict=False)
        return _stack([constraint.check(part) for constraint, part in parts], self.dim)


# -- discrete values ---------------------------------------------------------------------------------


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of zeros and one 1."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & value.sum(-1).eq(1)


class _IntegerInterval(Constraint):
    """Whole numbers from ``lower_bound`` to ``upper_bound``, both included."""

    is_discrete = True

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerLessThan(Constraint):
    """Whole numbers up to ``upper_bound``, which is included."""

    is_discrete = True

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    """Whole numbers from ``lower_bound``, which is included."""

    is_discrete = True

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Multinomial(Constraint):
    """Vectors of numbers that are not negative, and add up to ``upper_bound`` at most."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(dim=-1) & (value.sum(dim=-1) <= self.upper_bound)


# -- real numbers ------------------------------------------------------------------------------------


class _Real(Constraint):
    """All numbers, the infinite ones too; not NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(Constraint):
    """Numbers greater than ``lower_bound``."""

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class _GreaterThanEq(Constraint):
    """Numbers from ``lower_bound``, which is included."""

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(Constraint):
    """Numbers less than ``upper_bound``."""

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(Constraint):
    """Numbers from ``lower_bound`` to ``upper_bound``, both included."""

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(Constraint):
    """Numbers from ``lower_bound``, which is included, up to ``upper_bound``, which is not."""

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative, and add up to 1, to within 1e-6."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


# -- matrices ----------------------------------------------------------------------------------------


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return _all_of_rightmost(value.tril() == value, 2)


class _LowerCholesky(Constraint):
    """Matrices with zeros above the diagonal, and positive numbers on it."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlations: zeros above a positive diagonal, and rows of length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        # Ten roundings for each number of a row.
        allowed = 10 * value.size(-1) * _finfo(value.dtype).eps
        lengths = _vector_norm(value.detach(), dim=-1)
        return lower_cholesky.check(value) & (lengths - 1).abs().le(allowed).all(dim=-1)


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        rows, columns = value.shape[-2:]
        return _full(value.shape[:-2], rows == columns, dtype=_bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices, to within 1e-6 and a relative 1e-5."""

    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return _isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return _eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices which have a Cholesky factor."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return _cholesky_ex(value).info.eq(0) if symmetric.all() else symmetric


# -- what users write --------------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack

__all__ = sorted(
    name
    for name, value in globals().items()
    if not name.startswith("_")
    and (isinstance(value, Constraint) or (isinstance(value, type) and issubclass(value, Constraint)))
)
__all__ += ["is_dependent"]


def __dir__() -> list[str]:
    return sorted(__all__)
