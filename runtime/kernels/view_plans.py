"""Views as bodies declare them. A form, which is made of a body, says of a shape and arguments which dims a
result has, and what they show. Of that and of strides follows the geometry of each result, which is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .dims import wrap_dim, wrap_dims
from .strided import Array, Shape, element_strides, restrided

Form = Callable[..., tuple[Any, ...]]
#: The sizes, the strides and the offset of a view; that counts from the first element of the operand.
Geometry = tuple[Shape, Shape, int]
#: How many plans are kept.
_KEPT = 1024


_plans: dict[Any, tuple[bool, list[Geometry]]] = {}


def viewed(form: Form, self: Array, *arguments: Any) -> Any:
    """The view that a form says of an array, or a tuple of several.

    RuntimeError for dims that are one, negative sizes and strides; IndexError for a dim, or an element, that
    is not there; and what the form raises.
    """
    key: Any = (form, self.shape, self.strides, self.itemsize, arguments)
    try:
        several, found = _plans[key]
    except (KeyError, TypeError):  # of lists there are no hashes
        arguments = tuple([tuple(a) if isinstance(a, list) else a for a in arguments])
        several, found = geometries(form, self.shape, element_strides(self), arguments)
        if len(_plans) >= _KEPT:
            _plans.clear()
        _plans[(*key[:-1], arguments)] = several, found
    return tuple([restrided(self, *one) for one in found]) if several else restrided(self, *found[0])


def geometries(
    form: Form, shape: Shape, strides: Shape, arguments: tuple[Any, ...]
) -> tuple[bool, list[Geometry]]:
    """The geometry of each result of an operand with such strides, and whether there may be several; raises
    what ``viewed`` does."""
    name, dims, each, rule, several = form(tuple(shape), *arguments)
    named = range(len(shape)) if dims is None else dims
    at = tuple([wrap_dim(d, len(shape)) for d in named]) if not each else wrap_dims(named, len(shape))
    if len({*at}) < len(at):
        raise RuntimeError(f"{name} dimensions cannot be identical {', '.join(map(str, named))}")
    sizes = [shape[d] if shape else 1 for d in at]
    if each:
        return False, [_made(shape, strides, [((d,), rule(n)) for d, n in zip(at, sizes, strict=True)])]
    if several is None:
        return False, [_made(shape, strides, [(at, rule(*sizes))])]
    given = [n if isinstance(n, tuple) else (n,) for n in several(*sizes)]
    return True, [_made(shape, strides, [(at, rule(*sizes, *numbers))]) for numbers in given]


def _made(shape: Shape, strides: Shape, rules: Sequence[tuple[Shape, Any]]) -> Geometry:
    """What rules, each of some dims, make of the whole operand. A 0-d one has no dim that could stay."""
    kept = dict(enumerate(zip(shape, strides, strict=True)))
    placed: list[tuple[int, int, int | None]] = []
    offset = 0
    for dims, (holds, staying, new, starts) in rules:
        if holds:
            of = [(shape[d], strides[d]) if shape else (1, 1) for d in dims]
            stay = dict(zip(dims, staying, strict=False)) if shape else {}
            _check([*stay.values(), *[place[1:] for place in new]], starts, [n for n, _ in of])
            for d in dims:
                if d in stay:
                    kept[d] = stay[d][0], _stride(stay[d][1], of)
                else:
                    kept.pop(d, None)
            placed += [(dim, n, _stride(steps, of) if any(steps) else None) for dim, n, steps in new]
            offset += _stride(starts, of)
    made = list(kept.values())
    for number, (dim, size, stride) in enumerate(placed):
        d = wrap_dim(dim, len(made) + 1)
        if len(rules) > 1 and dim >= 0:  # one dim each, one behind the other
            d += number
        if stride is None:  # no index grows with it: of one place it is what stands behind it that is long
            stride = 0 if size != 1 else made[d][0] * made[d][1] if d < len(made) else 1
        made.insert(d, (size, stride))
    if min([s for _, s in made], default=0) < 0:
        raise RuntimeError(f"a view has no negative strides, but got {[s for _, s in made]}")
    sizes = tuple([n for n, _ in made])
    return sizes, tuple([s for _, s in made]), 0 if 0 in sizes else offset


def _stride(steps: Sequence[int], of: Sequence[tuple[int, int]]) -> int:
    """By how much the place in memory grows where indices along dims grow by these steps."""
    return sum([step * stride for step, (_, stride) in zip(steps, of, strict=True)])


def _check(places: Sequence[Any], starts: Sequence[int], sizes: Sequence[int]) -> None:
    """RuntimeError for a negative number of places, IndexError where an index comes to what is no element."""
    least = min([extent for extent, _ in places], default=1)
    if least < 0:
        raise RuntimeError(f"a view has no negative sizes, but got {least}")
    for number, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        reach = [(extent - 1) * steps[number] for extent, steps in places]
        ends = start + sum([min(r, 0) for r in reach]), start + sum([max(r, 0) for r in reach])
        wrong = next((index for index in ends if least and not 0 <= index < size), None)
        if wrong is not None:
            raise IndexError(f"a dimension of size {size} has no element {wrong}")
