"""Check: the bodies of views that one function of the kernels shows at once.

These functions are the C machine's operations on views, under the same names: of the others plans are made.
"""

from __future__ import annotations

from ...ir.expressions import Call, Constant, Expr, Name, Operation, Subscript
from ...ir.views import NDIM, View

_ZERO, _ONE = Constant(0), Constant(1)


def instruction(view: View) -> Call | None:
    """The call that shows what a body says; None where it takes a plan."""
    self = Name(view.source)
    match view:
        case View(each=True, dims=(), several=None, staying=(), placed=()) if _drops_ones(view):
            return _call("without_ones", self)
        case View(each=True, dims=(Call(Name("permutation"), (order, Name(ndim))),)) if ndim == NDIM:
            return _call("with_dims_ordered", self, order) if _is_moved_to_front(view) else None
        case View(each=False, dims=(), placed=(place,), several=None, condition=None, staying=()):
            return _call("with_dim", self, place.at or _ZERO) if place.extent == _ONE else None
        case View(each=False, dims=(Name() as dim,), staying=(), placed=()):
            return _of_one(view, self, dim)
        case View(each=False, dims=(Name() as dim,), staying=(place,), placed=(), condition=None):
            numbers = tuple(map(Name, view.numbers))
            if numbers and (*view.starts, place.extent) == numbers and place.steps == (_ONE,):
                return _parts(view, self, dim)
        case View(each=False, dims=(one, other), several=None, placed=(), condition=None) if _exchanges(view):
            return _call("with_dims_exchanged", self, one, other)
    return None


def whole(view: View) -> Subscript | None:
    """All of the operand, where that is what a body says."""
    shown = not (view.each or view.dims or view.placed or view.several)
    return Subscript(Name(view.source), Constant(...)) if shown else None


def _call(name: str, *arguments: Expr) -> Call:
    return Call(Name(name), arguments)


def _of_one(view: View, self: Expr, dim: Expr) -> Call | None:
    """What goes with one dim: what stands at an index, all that stands there, or a dim of size 1."""
    if view.several is None:
        if _drops_ones(view):
            return _call("without_dim", self, dim)
        match view.starts:
            case (Call(Name("element"), (index, of, along)),) if (of, along) == (self, dim):
                return _call("at_index", self, dim, index) if view.condition is None else None
        return None
    each = _call("indices_along", self, dim)
    if view.several == each and view.starts == (Name(view.numbers[0]),) and view.condition is None:
        return _call("each_along", self, dim)
    return None


def _parts(view: View, self: Expr, dim: Expr) -> Call | None:
    """Parts one behind the other."""
    match view.several:
        case Call(Name("parts"), (lengths, of, along)) if (of, along) == (self, dim):
            return _call("parts_along", self, lengths, dim)
    return None


def _drops_ones(view: View) -> bool:
    """Whether dims go where they have size 1."""
    one = Operation("==", (Name(view.sizes[0]), _ONE))
    return view.condition == one and view.starts == (_ZERO,)


def _is_moved_to_front(view: View) -> bool:
    """Whether the dims come first, in their order."""
    if view.several is not None or view.condition is not None or view.staying or len(view.placed) != 1:
        return False
    (place,) = view.placed
    shown = (place.at, place.extent, place.steps, view.starts)
    return shown == (_ZERO, Name(view.sizes[0]), (_ONE,), (_ZERO,))


def _exchanges(view: View) -> bool:
    """Whether two dims are each what the other was."""
    sizes = tuple(map(Name, view.sizes))
    found = tuple([(p.extent, p.steps) for p in view.staying])
    return found == ((sizes[1], (_ZERO, _ONE)), (sizes[0], (_ONE, _ZERO))) and view.starts == (_ZERO, _ZERO)
