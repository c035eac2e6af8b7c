"""Invertible maps: what all of them have, their inverses, and maps that are made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tengen.generated.functions import cat, stack, zeros_like

from ..tensors.tensor import Tensor
from . import constraints
from .utils import _sum_rightmost, lazy_property

TOO_FEW = "Too few dimensions on input"


class Transform:
    """A map from ``domain`` to ``codomain``, which are constraints, with its inverse.

    Subclasses give ``_call``, ``_inverse``, and where ``bijective`` is True ``log_abs_det_jacobian``.
    ``sign`` is 1 or -1 where a map of numbers rises or falls. With ``cache_size=1`` the last pair of values
    is kept, so that the inverse of a result is what it was made of, with its history. ValueError for other
    sizes than 0 and 1.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    #: The attributes that the constructor takes, in order, but for the cache's size.
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size:
            self._cached_x_y: tuple[Any, Any] = None, None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The dimensions of an event, before and after. ValueError where these are not as many."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse, whose inverse is this."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    if TYPE_CHECKING:
        sign: Any
    else:

        @property
        def sign(self) -> Any:
            """1 where the map rises, -1 where it falls."""
            raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same map with a cache of this size. NotImplementedError of a class that does not say how."""
        if self._cache_size == cache_size:
            return self
        own = type(self)
        if own.__init__ is Transform.__init__:
            return own(cache_size=cache_size)
        maker: Any = next(c for c in own.__mro__ if "_parameters" in c.__dict__)
        if maker is Transform:
            raise NotImplementedError(f"{own}.with_cache is not implemented")
        return maker(*[getattr(self, name) for name in self._parameters], cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """The value of the map at ``x``."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old  # type: ignore[no-any-return]
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        """What the map takes to ``y``."""
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old  # type: ignore[no-any-return]
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |det dy/dx|`` of each event, where the map takes ``x`` to ``y``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for a value of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the inverse's result for a value of this shape."""
        return shape


class SameClass(Transform):
    """A map that its class says all of."""

    def __eq__(self, other: object) -> bool:
        # The class that says what the map is; subclasses in programs are the same map.
        owner = next(c for c in type(self).__mro__ if "_call" in c.__dict__)
        return isinstance(other, owner)


class _InverseTransform(Transform):
    """The inverse of a transform, which keeps the values of both."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return bool(self._inv.bijective)

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Any:
        return self._inv

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


# -- maps made of others -----------------------------------------------------------------------------


class ComposeTransform(Transform):
    """The transforms ``parts`` one after the other. With a cache, each of them has one."""

    _parameters = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return _joint([(p.domain, p.codomain) for p in reversed(self.parts)])

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return _joint([(p.codomain, p.domain) for p in self.parts])

    @lazy_property
    def bijective(self) -> bool:
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return math.prod([p.sign for p in self.parts])

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        total: Any = 0
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, values, [*values[1:], y], strict=True):
            found = part.log_abs_det_jacobian(before, after)
            total = total + _sum_rightmost(found, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total  # type: ignore[no-any-return]

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join([repr(p) for p in self.parts])
        return f"{type(self).__name__}(\n    {parts}\n)"


def _joint(ends: Sequence[tuple[Any, Any]]) -> Any:
    """The constraint at the last of ``ends``, each (there, before), of events as large as all need."""
    if not ends:
        return constraints.real
    event_dim = ends[0][1].event_dim
    for there, before in ends:
        event_dim = max(event_dim + there.event_dim - before.event_dim, there.event_dim)
    last = ends[-1][0]
    more = event_dim - last.event_dim
    return constraints.independent(last, more) if more else last


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """The same map, with ``reinterpreted_batch_ndims`` more dimensions as parts of an event."""

    _parameters = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError(TOO_FEW)
        return self.base_transform(x)  # type: ignore[no-any-return]

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError(TOO_FEW)
        return self.base_transform.inv(y)  # type: ignore[no-any-return]

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class _Parts(Transform):
    """Transforms of parts of a value along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        for part in tseq:
            if not isinstance(part, Transform):
                raise AssertionError(f"Each element of tseq must be a Transform, got {type(part).__name__}")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _split(self, value: Tensor, size: int) -> Sequence[Tensor]:
        """The parts of a value. AssertionError of one that has not the dimension, or not in this size."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.size(self.dim) != size:
            raise AssertionError(f"size({self.dim}) = {value.size(self.dim)} must equal {size}")
        return ()


class CatTransform(_Parts):
    """The transforms ``tseq`` of slices along ``dim`` of these ``lengths``, by default 1.

    AssertionError of what is no transform, and where there are not as many lengths as transforms.
    """

    _parameters = ("transforms", "dim", "lengths")

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match tseq ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size along the dimension."""
        return sum(self.lengths)

    def _split(self, value: Tensor, size: int = -1) -> Sequence[Tensor]:
        super()._split(value, self.length)
        return value.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return cat([t(part) for t, part in zip(self.transforms, self._split(x), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return cat([t.inv(part) for t, part in zip(self.transforms, self._split(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = [
            _sum_rightmost(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim)
            for t, before, after in zip(self.transforms, self._split(x), self._split(y), strict=True)
        ]
        # Where the dimension is a batch's, it stays; where it is of the events, they are one.
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        return cat(found, dim) if dim < 0 else sum(found[1:], found[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """The transforms ``tseq``, each of an element along ``dim``, as ``stack`` joins them."""

    _parameters = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _split(self, value: Tensor, size: int = -1) -> Sequence[Tensor]:
        super()._split(value, len(self.transforms))
        return value.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return stack([t(part) for t, part in zip(self.transforms, self._split(x), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return stack([t.inv(part) for t, part in zip(self.transforms, self._split(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
