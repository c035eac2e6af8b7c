"""The linear maps that the runtime itself applies to gradients, differentiable any number of times.

Summing a gradient to a shape, casting it, looking at it through a view: each is a linear map,
so its derivative is its adjoint, which is again such a map. One Node serves them all. They
are not operators: no declaration knows them, and they work on every backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..core.interception import Layer, active, layers
from ..core.protocols import LinearMap as AnyLinearMap
from .edge import Edge, gradient_edge
from .grad_mode import grad_mode
from .node import Node
from .view_paths import Pair

Shape = tuple[int, ...]


class LinearMap:
    """A linear map between arrays."""

    __slots__ = ()

    #: The Node of its results, through which the gradient goes by the adjoint.
    node: ClassVar[type[LinearBackward]]

    def __call__(self, array: Any) -> Any:
        raise NotImplementedError

    def result_type(self) -> Any:
        """The Type of what comes out."""
        raise NotImplementedError

    def adjoint(self) -> LinearMap:
        raise NotImplementedError

    def batched(self, count: int) -> LinearMap:
        """The map of ``count`` arrays at once, which the first dimension numbers."""
        return self


class LinearBackward(Node):
    """The Node of a linear map: ``map`` is the adjoint of what was applied."""

    __slots__ = ("map",)

    def __init__(self, map: LinearMap, edge: Edge | None, shape: Shape, T: Any) -> None:
        super().__init__((edge,), shape, T)
        self.map = map

    def apply(self, grad: Any) -> tuple[Any, ...]:
        return (self.map(grad),)

    def apply_graph(self, grad: Any) -> tuple[Any, ...]:
        return (apply_linear(self.map, grad),)


class SumToBackward0(LinearBackward):
    __slots__ = ()


class ExpandBackward0(LinearBackward):
    __slots__ = ()


class ToCopyBackward0(LinearBackward):
    __slots__ = ()


class CloneBackward0(LinearBackward):
    __slots__ = ()


class AliasBackward0(LinearBackward):
    __slots__ = ()


class AsStridedBackward0(LinearBackward):
    __slots__ = ()


class AsStridedScatterBackward0(LinearBackward):
    __slots__ = ()


class EraseBackward0(LinearBackward):
    __slots__ = ()


class AddBackward0(Node):
    """The Node of a sum of two tensors of one shape and Type."""

    __slots__ = ()

    def apply(self, grad: Any) -> tuple[Any, ...]:
        return grad, grad

    apply_graph = apply


def apply_linear(map: AnyLinearMap, tensor: Any) -> Any:
    """The map applied to a Tensor, recorded when recording is on."""
    if active:
        return _intercepted(layers(), map, tensor)
    return _apply(map, tensor)


def _intercepted(below: tuple[Any, ...], map: AnyLinearMap, tensor: Any) -> Any:
    """The map, run below the interceptors, the newest of which is the last."""
    if not below:
        return _apply(map, tensor)
    layer, rest = below[-1], below[:-1]
    if not isinstance(layer, Layer):
        return _intercepted(rest, map, tensor)
    return layer.linear(map, tensor, lambda given: _intercepted(rest, map, given))


def _apply(map: AnyLinearMap, tensor: Any) -> Any:
    out = map.result_type().wrap(map(tensor._array))
    if tensor._requires_grad and grad_mode.enabled:
        node = map.node(map.adjoint(), gradient_edge(tensor), out._array.shape, out._type)
        out._edge = (node, 0)
        out._requires_grad = True
    return out


def accumulated(old: Any, grad: Any) -> Any:
    """A gradient, a Tensor, added to what there is of it; a copy where that is None."""
    return apply_linear(Copy(grad._type), grad) if old is None else add_tensors(old, grad)


def add_tensors(a: Any, b: Any) -> Any:
    """The sum of two Tensors of one shape and scalar type, recorded when recording is on."""
    if active or a._type is not b._type:  # one may be an inference tensor
        # A layout that takes mixed calls comes second: sums of strided and sparse tensors are strided.
        return b + a if a._type.backend.rank > b._type.backend.rank else a + b
    T = a._type
    out = T.wrap(T.backend.lib.add(a._array, b._array))
    if (a._requires_grad or b._requires_grad) and grad_mode.enabled:
        out._edge = (AddBackward0((gradient_edge(a), gradient_edge(b)), out._array.shape, T), 0)
        out._requires_grad = True
    return out


class ShapeMap(LinearMap):
    """A map between arrays of shape ``source`` and ``target``, both of one Type.

    With ``lead`` the arrays have these dimensions in front, which number such arrays.
    """

    __slots__ = ("lead", "source", "target", "type")

    def __init__(self, T: Any, source: Shape, target: Shape, lead: Shape = ()) -> None:
        self.type = T
        self.source = source
        self.target = target
        self.lead = lead

    def result_type(self) -> Any:
        return self.type

    def batched(self, count: int) -> LinearMap:
        return type(self)(self.type, self.source, self.target, (count, *self.lead))

    def _behind_lead(self, part: int | None, count: int) -> tuple[Any, ...]:
        """The key that takes, or adds, so many dimensions of size 1 behind those of ``lead``."""
        return (*[slice(None)] * len(self.lead), *[part] * count, ...)


class SumTo(ShapeMap):
    """Sums an array of shape ``source`` to ``target``, from which it may have been broadcast."""

    __slots__ = ()

    node = SumToBackward0

    def __call__(self, array: Any) -> Any:
        lib = self.type.backend.lib
        if not self.lead:
            return lib.sum_to(array, self.target)
        missing = len(self.source) - len(self.target)
        summed = lib.sum_to(array, (*self.lead, *[1] * missing, *self.target))
        return summed[self._behind_lead(0, missing)]

    def adjoint(self) -> LinearMap:
        return BroadcastTo(self.type, self.target, self.source, self.lead)


class BroadcastTo(ShapeMap):
    """Broadcasts an array of shape ``source`` to ``target``."""

    __slots__ = ()

    node = ExpandBackward0

    def __call__(self, array: Any) -> Any:
        if self.lead:
            array = array[self._behind_lead(None, len(self.target) - len(self.source))]
        return self.type.backend.lib.broadcast_to(array, (*self.lead, *self.target))

    def adjoint(self) -> LinearMap:
        return SumTo(self.type, self.target, self.source, self.lead)


class Cast(LinearMap):
    """Converts to another Type, also of another backend; complex to real takes the real part."""

    __slots__ = ("source", "target")

    node = ToCopyBackward0

    def __init__(self, source: Any, target: Any) -> None:
        self.source = source
        self.target = target

    def __call__(self, array: Any) -> Any:
        lib, source = self.target.backend.lib, self.source.backend.lib
        if lib is not source:
            if not self.source.backend.is_strided:
                where = self.target.backend.device
                raise NotImplementedError(f"to: only strided tensors are copied to the device {where}")
            array = lib.from_numpy(source.to_numpy(array))
        return lib.cast(array, self.target.dtype)

    def result_type(self) -> Any:
        return self.target

    def adjoint(self) -> LinearMap:
        return Cast(self.target, self.source)


class Identity(LinearMap):
    """The array itself."""

    __slots__ = ("type",)

    node: ClassVar[type[LinearBackward]] = AliasBackward0

    def __init__(self, T: Any) -> None:
        self.type = T

    def __call__(self, array: Any) -> Any:
        return array

    def result_type(self) -> Any:
        return self.type

    def adjoint(self) -> LinearMap:
        return Identity(self.type)


class Placed(Identity):
    """The same values placed otherwise, by a function of arrays, that of ``lead`` more dimensions."""

    __slots__ = ("lead", "place")

    node = CloneBackward0

    def __init__(self, T: Any, place: Callable[[Any, int], Any], lead: int = 0) -> None:
        super().__init__(T)
        self.place = place
        self.lead = lead

    def __call__(self, array: Any) -> Any:
        return self.place(array, self.lead)

    def batched(self, count: int) -> LinearMap:
        return Placed(self.type, self.place, self.lead + 1)


class Copy(Identity):
    """The same values in fresh memory."""

    __slots__ = ()

    node = CloneBackward0

    def __call__(self, array: Any) -> Any:
        return self.type.backend.lib.copy(array)


# -- views -----------------------------------------------------------------------------


class ViewMap(LinearMap):
    """A map between arrays like the base and arrays like the view of a pair."""

    __slots__ = ("pair",)

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    def batched(self, count: int) -> LinearMap:
        return type(self)(self.pair.repeated(count))


class Gather(ViewMap):
    """From an array like the base, what the view shows of it."""

    __slots__ = ()

    node = AsStridedBackward0

    def __call__(self, array: Any) -> Any:
        return self.pair.view_of(array)

    def result_type(self) -> Any:
        return self.pair.view.type

    def adjoint(self) -> LinearMap:
        return Scatter(self.pair)


class Scatter(ViewMap):
    """From an array like the view, one like the base that is zero elsewhere; overlaps add up."""

    __slots__ = ()

    node = AsStridedScatterBackward0

    def __call__(self, array: Any) -> Any:
        return self.pair.spread(array)

    def result_type(self) -> Any:
        return self.pair.base.type

    def adjoint(self) -> LinearMap:
        return Gather(self.pair)


class Erase(ViewMap):
    """An array like the base, with zeros where the view lies."""

    __slots__ = ()

    node = EraseBackward0

    def __call__(self, array: Any) -> Any:
        return self.pair.erase(array)

    def result_type(self) -> Any:
        return self.pair.base.type

    def adjoint(self) -> LinearMap:
        return self
