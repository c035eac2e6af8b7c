"""Where the rows of arrays are whose dims have names, as bodies say it (``ir/named_dims.py``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from .bodies import check_shared, check_singles, one_shape
from .reductions import check_nonempty

Array = Any
Shape = tuple[int, ...]
#: Of each dim the names that it is taken as; of any number of dims "*" and a name.
Dims = tuple[tuple[str, ...], ...]
#: The dims of what has rows, the names that tell rows apart, and what has sizes that are given; and the dims
#: of what has a number for each row, of what rows share, and of results, () of those that are no sums.
Names = tuple[Dims, tuple[str, ...], tuple[str, ...], tuple[Dims, ...], tuple[Dims, ...], tuple[Dims, ...]]


class Seen(NamedTuple):
    """An array whose dims have names."""

    shape: Shape
    beside: Shape  # with a dim for each name, of size 1 where it has not that


class Plan(NamedTuple):
    """Where rows are in arrays of a shape."""

    rows: Seen
    axes: Shape  # those along which they are, where each name is a dim
    length: int
    singles: tuple[Seen, ...]
    shared: tuple[Seen, ...]
    others: tuple[Seen, ...]  # both
    shapes: tuple[Shape, ...]  # of all operands
    results: tuple[Seen, ...]
    laid: Shape | None  # (b, c, p), where rows are told apart along c alone

    def fits(self, dtype: Any, operands: Sequence[Array | None]) -> bool:
        """Whether all operands are of a dtype, and of the shapes that they should have."""
        for array, shape in zip(operands, self.shapes, strict=True):
            if array is None:
                continue
            if array.shape != shape or (array.dtype is not dtype and array.dtype != dtype):
                return False
        return True

    def along(self, beside: Shape) -> Shape:
        """The shape of what some rows share, with a value for each element of a row."""
        return tuple([n if d in self.axes else beside[d] for d, n in enumerate(self.rows.beside)])

    def check(
        self,
        rows: Sequence[Array],
        singles: Sequence[Array | None],
        shared: Sequence[Array | None],
        nonempty: str,
    ) -> None:
        """RuntimeError for other shapes, IndexError for rows without elements that should have some."""
        one_shape([tuple(a.shape) for a in rows])
        for seen, array in zip(self.singles, singles, strict=True):
            check_singles(seen.shape, [] if array is None else [tuple(array.shape)])
        for seen, array in zip(self.shared, shared, strict=True):
            check_shared(seen.shape, [] if array is None else [tuple(array.shape)])
        if nonempty and 0 in self.rows.shape:
            check_nonempty(self.rows.beside, self.axes, nonempty)

    @property
    def rows_end(self) -> bool:
        """Whether rows are along the last dims."""
        return self.axes[:1] == (len(self.rows.beside) - len(self.axes),)


def plan_of(names: Names, count: int, kept: Sequence[bool], shape: Shape, given: tuple[int, ...]) -> Plan:
    """The plan for ``count`` operands with rows of a shape, where arguments have given these sizes.

    ``kept`` says which results have elements along rows. RuntimeError for a shape that the names do not fit.
    """
    rows, by, sized, singles, shared, sums = names
    sizes = sizes_of(rows, shape, sized, given)
    seen = partial(_seen, sizes)
    whole, single = seen(rows), seen(tuple([(name,) for name in sizes if name.removeprefix("*") in by]))
    order = [name.removeprefix("*") in by for name in sizes]
    first, behind = order.index(True), order.index(True) + sum(order)
    laid = None
    if all(order[first:behind]):
        cut = whole.beside[:first], whole.beside[first:behind], whole.beside[behind:]
        laid = tuple(map(math.prod, cut))
    axes = tuple([d for d, tells in enumerate(order) if not tells])
    of_sums = zip(kept, sums, strict=True)
    others = tuple(map(seen, (*singles, *shared)))
    return Plan(
        whole,
        axes,
        math.prod([whole.beside[d] for d in axes]),
        others[: len(singles)],
        others[len(singles) :],
        others,
        (*[whole.shape] * count, *[each.shape for each in others]),
        tuple([seen(dims) if dims else whole if row else single for row, dims in of_sums]),
        laid,
    )


def _seen(sizes: dict[str, Shape], dims: Dims) -> Seen:
    """An array that has these dims."""
    shape = [sizes[dim[0]] if dim[0][0] == "*" else (math.prod([sizes[n][0] for n in dim]),) for dim in dims]
    own = [name for dim in dims for name in dim]
    beside = [math.prod(size) if name in own else 1 for name, size in sizes.items()]
    return Seen(tuple([n for of in shape for n in of]), tuple(beside))


def beside_of(rows: Dims, shape: Shape, sized: Sequence[str], given: Sequence[int], dims: Dims) -> Shape:
    """The shape with a dim for each name of what has ``dims``, beside rows. Errors of ``sizes_of``."""
    return _seen(sizes_of(rows, shape, sized, given), dims).beside


def sizes_of(rows: Dims, shape: Shape, sized: Sequence[str], given: Sequence[int]) -> dict[str, Shape]:
    """By the names of dims their sizes, any number of dims having several; those of ``sized`` are given.

    RuntimeError for a shape that the names do not fit.
    """
    known = dict(zip(sized, given, strict=True))
    many = [dim for dim in rows if dim[0][0] == "*"]
    count = len(shape) - len(rows) + len(many)
    if count < 0 or (count and not many):
        raise RuntimeError(f"expected dims {_written(rows)}, but got an operand of shape {[*shape]}")
    found: dict[str, Shape] = {}
    left = shape
    for dim in rows:
        if dim in many:
            own, left = left[:count], left[count:]
            _parts((dim[0][1:],), math.prod(own), known)
            found[dim[0]] = own
        else:
            found |= _parts(dim, left[0], known)
            left = left[1:]
    return found


def _parts(dim: tuple[str, ...], size: int, given: dict[str, int]) -> dict[str, Shape]:
    """The sizes of what a dim is taken as, of which one may follow from the others."""
    known = math.prod([given[name] for name in dim if name in given])
    unknown = [name for name in dim if name not in given]
    fits = (known > 0 and size % known == 0) if unknown else size == known
    whole = " * ".join(dim)
    if len(unknown) > 1 or not fits or given.get(whole, size) != size:
        sizes = ", ".join(
            [f"{name} = {given[name]}" for name in dict.fromkeys((*dim, whole)) if name in given]
        )
        raise RuntimeError(f"expected a dim of {_written((dim,))}, where {sizes}, but got one of size {size}")
    return {name: (given[name] if name in given else size // known,) for name in dim}


def _written(dims: Dims) -> str:
    return f"[{', '.join([' * '.join(dim) for dim in dims])}]"
