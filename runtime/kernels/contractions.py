"""Contractions: sums of products of two operands, by what their dims are called.

``i j, j k -> i k`` is the product of matrices, ``*b k, *j k, + -> *b *j`` a linear layer. ``*b`` stands for
any number of dims, which broadcast where both operands and the result have them, ``~`` before an operand
that is conjugated, ``+`` for one that is added. What both operands have and the result has not is summed.
BLAS computes: operands become matrices, or batches of them, by views wherever that can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from ..core.costs import LINEAR_FEW_ROWS, LINEAR_LEAST
from . import sums
from .blas import touch_for, untouched
from .creation import as_number
from .layout import expanded

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Names = tuple[str, ...]
Number = bool | int | float | complex
Shape = tuple[int, ...]
Product = Callable[[Array, Array], Array]
#: Of the shapes of the operands that of the result; it raises errors for what does not fit.
Shapes = Callable[..., Shape]
ADDED, CONJUGATED, SEVERAL = "+", "~", "*"


class Contraction:
    """A contraction, and what computes it of NumPy's arrays: ``numpy(*operands)``, in the order of its text.

    Where one is added and ``beta`` and ``alpha`` follow, it is multiplied with the first, the product with
    the other. RuntimeError for shapes that do not fit, and for a number that integers cannot hold.
    """

    __slots__ = ("_made", "added", "conjugated", "factors", "numpy", "out", "plans", "shapes", "terms")

    def __init__(self, text: str, shapes: Shapes | None = None) -> None:
        """``shapes`` words the errors of what does not fit, and may refuse numbers of dims."""
        given, _, out = text.partition("->")
        operands = [operand.strip() for operand in given.split(",")]
        self.added = operands.index(ADDED) if ADDED in operands else None
        self.factors = [n for n in range(len(operands)) if n != self.added]
        self.conjugated = [operands[n].startswith(CONJUGATED) for n in self.factors]
        first, second = [tuple(operands[n].lstrip(CONJUGATED).split()) for n in self.factors]
        self.terms = first, second
        self.out = tuple(out.split())
        self.shapes = self.shape if shapes is None else shapes
        #: Of operands that fit, and of any, by how many dims they have.
        self.plans: dict[tuple[Any, ...], Plan] = {}
        self._made: dict[tuple[int, int], Plan] = {}
        self.numpy: Callable[..., Array] = self.sum
        if self.added is None:
            self.numpy = self.product if any(map(_several, self.terms)) else self._of_fixed()
        elif self.added == 0:
            self.numpy = lambda added, a, b, *numbers: self.sum(a, b, added, *numbers)
        elif self.added == 1:
            self.numpy = lambda a, added, b, *numbers: self.sum(a, b, added, *numbers)

    def plan(self, *shapes: Shape | None) -> Plan:
        """How operands of these numbers of dims are multiplied. RuntimeError where they do not fit."""
        self.shapes(*shapes)
        order = self.factors if self.added is None else [*self.factors, self.added]
        given = [shapes[n] for n in order]
        made = self.plans[tuple([None if s is None else len(s) for s in given])] = self.made(*shapes)
        return made

    def made(self, *shapes: Shape | None) -> Plan:
        """The plan for operands of these numbers of dims, whether their sizes fit or not."""
        first, second = self._of_factors(shapes)
        key = len(first), len(second)
        if key not in self._made:
            self._made[key] = Plan(self, *key)
        return self._made[key]

    def _of_factors(self, shapes: Sequence[Shape | None]) -> tuple[Shape, Shape]:
        """The shapes of what is multiplied, which is always there."""
        first, second = [shapes[n] for n in self.factors]
        assert first is not None and second is not None
        return first, second

    def names(self, first: int, second: int) -> tuple[Names, Names, Names]:
        """What the dims of both operands, of so many dims, and of the result are called, each by a name.

        RuntimeError for operands of too few dims, or too many.
        """
        return _with_counts(*self.terms, self.out, first, second)

    def equation(self, first: int, second: int) -> str:
        """The same in Einstein's notation, of operands of so many dims: what broadcasts are dots there."""
        given = self.names(first, second)
        broadcast = [n for n in _several(self.out) if all([n in t for t in self.terms])]
        names = dict.fromkeys([n for dims in given for n in dims])
        letters = dict(zip(names, ascii_letters, strict=False))
        if len(broadcast) == 1:
            letters |= {n: "..." for n in names if n.partition(".")[0] == broadcast[0]}
        a, b, out = ["".join(dict.fromkeys([letters[n] for n in dims])) for dims in given]
        return f"{a},{b}->{out}"

    def shape(self, *shapes: Shape | None) -> Shape:
        """The shape of the result. RuntimeError for operands that do not fit."""
        result = self.made(*shapes).shape(*self._of_factors(shapes))
        added = None if self.added is None else shapes[self.added]
        if added is not None:
            expanded(added, added, result)
        return result

    def _of_fixed(self) -> Product:
        """What multiplies operands of which the text says how many dims they have."""
        a, b = map(len, self.terms)
        multiply = Plan(self, a, b).multiply

        def product(first: Array, second: Array) -> Array:
            """RuntimeError for shapes that do not fit."""
            if first.ndim == a and second.ndim == b:
                if untouched:
                    touch_for(second)
                try:
                    return multiply(first, second)
                except ValueError:
                    pass  # it is said below what is wrong
            self.shapes(first.shape, second.shape)
            raise AssertionError("these shapes fit")

        return product

    def product(self, first: Array, second: Array) -> Array:
        """The sums of products. RuntimeError for shapes that do not fit."""
        plan = self.plans.get((first.ndim, second.ndim)) or self.plan(first.shape, second.shape)
        if untouched:
            touch_for(second)
        try:
            return plan.multiply(first, second)
        except ValueError:
            self.shapes(first.shape, second.shape)
            raise

    def sum(self, first: Array, second: Array, added: Array | None, *numbers: Number) -> Array:
        """The product and what is added, of which each may be multiplied with a number.

        RuntimeError for shapes that do not fit, and for a number that integers cannot hold.
        """
        plan = self.plans.get((first.ndim, second.ndim, None if added is None else added.ndim))
        if plan is None:
            plan = self.plan(*self._shapes(added, first, second))
        if untouched:
            touch_for(second)
        try:
            if not numbers:
                product = plan.multiply(first, second)
                return product if added is None else np.add(product, added, out=_into(product))
            beta, alpha = numbers
            if alpha == 0:
                return accumulate(added, None, self.shapes(*self._shapes(added, first, second)), beta, alpha)
            return accumulate(added, plan.multiply(first, second), (), beta, alpha)
        except ValueError:
            self.shapes(*self._shapes(added, first, second))
            raise

    def _shapes(self, added: Array | None, first: Array, second: Array) -> list[Shape | None]:
        """The shapes of the operands, in their order."""
        assert self.added is not None
        shapes = [first.shape, second.shape]
        shapes.insert(self.added, None if added is None else added.shape)
        return shapes


class Plan:
    """How a contraction multiplies operands of certain numbers of dims: as matrices, or batches of them.

    Dims are in groups: of both and the result, the batch; of the first and the result; of the second and the
    result; and of both only, which are summed.
    """

    __slots__ = (
        "_names",
        "batch",
        "conjugated",
        "first",
        "left",
        "multiply",
        "order",
        "right",
        "second",
        "summed",
    )

    def __init__(self, of: Contraction, first: int, second: int) -> None:
        a, b, out = self._names = of.names(first, second)
        both = {*of.terms[0]} & {*of.terms[1]}
        self.batch = [n for n in out if n.partition(".")[0] in both]
        self.left = [n for n in out if n in a and n not in self.batch]
        self.right = [n for n in out if n in b and n not in self.batch]
        self.summed = [n for n in a if n in b and n not in out]
        self.first = Matrices(a, self.batch, self.left, self.summed, True)
        self.second = Matrices(b, self.batch, self.summed, self.right, False)
        self.conjugated = of.conjugated
        made = [*self.batch, *self.left, *self.right]
        self.order = None if made == [*out] else [made.index(n) for n in out]
        #: Gives the product of two arrays. ValueError for sizes that differ.
        self.multiply = self._function()

    @property
    def axes(self) -> tuple[list[int], list[int]]:
        """Of both operands the dims that are summed."""
        a, b, _ = self._names
        return [a.index(n) for n in self.summed], [b.index(n) for n in self.summed]

    def shape(self, first: Shape, second: Shape) -> Shape:
        """The shape of the result. RuntimeError where a dim has two sizes, or does not broadcast."""
        a, b, out = self._names
        sizes = dict(zip(a, first, strict=True))
        for name, size in zip(b, second, strict=True):
            known = sizes.setdefault(name, size)
            if known == size:
                continue
            if 1 not in (known, size) or name not in self.batch or not name.startswith(SEVERAL):
                raise RuntimeError(
                    f"a dim has two sizes: {known} in the shape {list(first)}, and {size} in {list(second)}"
                )
            sizes[name] = known * size
        return tuple([sizes[n] for n in out])

    def _function(self) -> Product:
        """What multiplies, with as little as can be around it."""
        if self.order or self.first.axes or self.second.axes or not self.summed:
            return self._product
        return self._of_batches() if self.batch else self._of_rows()

    def _of_rows(self) -> Product:
        """Of operands of which each is one matrix, or has the dims of one."""
        left, right = self.first, self.second
        turned, other_turned = left.turned, right.turned
        conjugated, other_conjugated = self.conjugated
        several, unfold = len(self.summed) != 1, max(len(self.left), len(self.right)) > 1
        fold, other_fold = left.dims != (1, 1), right.dims != (1, 1)
        if not (several or self.left or self.right or other_conjugated):
            return _of_conjugated if conjugated else _of_vectors
        if not (several or fold or any(self.conjugated)) and right.dims in ((1, 1), (1, 0)):
            return _OF_MATRICES[turned, other_turned]

        def product(first: Array, second: Array) -> Array:
            """ValueError for sizes that differ."""
            shape, other = first.shape, second.shape
            if several and shape[left.summed] != other[right.summed]:
                raise ValueError
            if conjugated:
                first = first.conj()
            if other_conjugated:
                second = second.conj()
            if fold:
                first = left.matrix(first)
            if other_fold:
                second = right.matrix(second)
            if turned:
                first = first.T
            if not other_turned:
                found = first.dot(second)
            elif first.ndim == 2:
                found = rows_by_weight(first, second)
            else:
                found = first.dot(second.T)
            return found.reshape(shape[left.kept] + other[right.kept]) if unfold else found

        return product

    def _of_batches(self) -> Product:
        """Of batches of matrices, which broadcast where their dims have one name."""
        left, right = self.first, self.second
        turned, other_turned = left.turned, right.turned
        exact = sum([not n.startswith(SEVERAL) for n in self.batch])
        if exact not in (0, len(self.batch)) or any(self.conjugated):
            return self._product

        def product(first: Array, second: Array) -> Array:
            """ValueError for sizes that differ."""
            if exact and first.shape[:exact] != second.shape[:exact]:
                raise ValueError
            if turned:
                first = first.swapaxes(-1, -2)
            return batched_product(first, second.swapaxes(-1, -2) if other_turned else second)

        return product if left.dims == right.dims == (1, 1) else self._product

    def _product(self, first: Array, second: Array) -> Array:
        shape = self.shape(first.shape, second.shape)
        if self.conjugated[0]:
            first = first.conj()
        if self.conjugated[1]:
            second = second.conj()
        product = self._in_batches(first, second)
        if self.order is None:
            return product if product.shape == shape else product.reshape(shape)
        return np.ascontiguousarray(product.reshape(self.made(shape)).transpose(self.order))

    def made(self, shape: Shape) -> Shape:
        """The shape of the product, of which ``order`` is the order of the result's dims."""
        sizes = dict(zip(self._names[2], shape, strict=True))
        return tuple([sizes[n] for n in (*self.batch, *self.left, *self.right)])

    def _in_batches(self, first: Array, second: Array) -> Array:
        found = []
        for part, operand in ((self.first, first), (self.second, second)):
            if part.axes is not None:
                operand = operand.transpose(part.axes)
            operand = operand.reshape(part.sizes(operand.shape))
            found.append(operand.swapaxes(-1, -2) if part.turned else operand)
        return batched_product(*found)


class Matrices:
    """How an operand becomes matrices."""

    __slots__ = ("axes", "count", "dims", "kept", "summed", "turned")

    def __init__(
        self,
        names: Names,
        batch: Sequence[str],
        rows: Sequence[str],
        columns: Sequence[str],
        keeps_rows: bool,
    ) -> None:
        """``rows`` and ``columns`` are the dims of the matrices, in this order or turned; one is summed."""
        there = [n for n in batch if n in names]
        straight, turned = [*there, *rows, *columns], [*there, *columns, *rows]
        self.turned = [*names] == turned != straight
        self.axes = None if [*names] in (straight, turned) else [names.index(n) for n in straight]
        self.count = len(there)
        self.dims = (len(columns), len(rows)) if self.turned else (len(rows), len(columns))
        middle = self.count + self.dims[0]
        parts = slice(self.count, middle), slice(middle, None)
        of_rows, of_columns = parts[::-1] if self.turned else parts
        self.kept, self.summed = (of_rows, of_columns) if keeps_rows else (of_columns, of_rows)

    def matrix(self, operand: Array) -> Array:
        """The operand with one dim for each group that has some."""
        shape, at = operand.shape, self.dims[0]
        if self.dims[1] == 1 and at:
            return operand.reshape(prod(shape[:-1]), shape[-1])
        if at and self.dims[1]:
            return operand.reshape(prod(shape[:at]), prod(shape[at:]))
        return operand.reshape(prod(shape))

    def sizes(self, shape: Shape) -> Shape:
        """The shape of the operand, its dims in order, with those of the batch, and one for each group."""
        middle = self.count + self.dims[0]
        return *shape[: self.count], prod(shape[self.count : middle]), prod(shape[middle:])


# ---------------------------------------------------------------------------- names of dims


def _with_counts(a: Names, b: Names, out: Names, first: int, second: int) -> tuple[Names, Names, Names]:
    """The names with one for each dim: ``*b.2`` and ``*b.1`` are the last two of several that are called b.

    RuntimeError for operands of too few dims, or too many.
    """
    if len(_several(a)) > 1:
        of_b = _lengths(b, second, {})
        of_a = _lengths(a, first, of_b)
    else:
        of_a = _lengths(a, first, {})
        of_b = _lengths(b, second, of_a)
    of_out = {n: max(of_a.get(n, 0), of_b.get(n, 0)) for n in out}
    return _each(a, of_a), _each(b, of_b), _each(out, of_out)


def _several(names: Names) -> Names:
    """Those that stand for any number of dims."""
    return tuple([n for n in names if n.startswith(SEVERAL)])


def _lengths(names: Names, ndim: int, known: dict[str, int]) -> dict[str, int]:
    """How many dims each name stands for that stands for several, of an operand of so many dims.

    Of several such ``known`` has all but one.
    """
    several = _several(names)
    found = {n: known[n] for n in several if n in known and len(several) > 1}
    left = ndim - (len(names) - len(several)) - sum(found.values())
    if left < 0 or (left and not several):
        raise RuntimeError(f"an operand with the dims {' '.join(names)} has not {ndim} of them")
    return {**found, **{n: left for n in several if n not in found}}


def _each(names: Names, lengths: dict[str, int]) -> Names:
    found: list[str] = []
    for n in names:
        found += [f"{n}.{k}" for k in range(lengths[n], 0, -1)] if n.startswith(SEVERAL) else [n]
    return tuple(found)


# --------------------------------------------------------------------------------- products


def _of_vectors(first: Array, second: Array) -> Array:
    """The sum of products of two vectors, in blocks: so each partial sum rounds less."""
    if first.shape != second.shape:
        raise ValueError
    return sums.blocked_dot(first, second) if first.dtype.char in "fd" else first.dot(second)


def _of_conjugated(first: Array, second: Array) -> Array:
    """The same, with the first conjugated. ValueError for two lengths."""
    if first.shape != second.shape:
        raise ValueError
    return np.vdot(first, second)


#: Of two matrices, by whether each is turned, what multiplies.
_OF_MATRICES: dict[tuple[bool, bool], Product] = {
    (False, False): np.ndarray.dot,
    (False, True): lambda first, second: rows_by_weight(first, second),
    (True, False): lambda first, second: first.T.dot(second),
    (True, True): lambda first, second: rows_by_weight(first.T, second),
}


def batched_product(first: Array, second: Array) -> Array:
    """As np.matmul, which for columns with rows calls BLAS for each pair, and takes several times as long."""
    return (np.multiply if first.shape[-1] == 1 else np.matmul)(first, second, order="C")


def rows_by_weight(rows: Array, weight: Array) -> Array:
    """``rows @ weight.T`` of matrices, contiguous."""
    if is_few_rows(len(rows), weight):
        return np.ascontiguousarray(weight.dot(rows.T).T)
    return rows.dot(weight.T)


def linear(rows: Array, weight: Array, bias: Array | None) -> Array:
    """``rows @ weight.T + bias`` of matrices, contiguous."""
    product = rows_by_weight(rows, weight)
    return product if bias is None else np.add(product, bias, out=product)


def is_few_rows(rows: int, weight: Array) -> bool:
    """Whether BLAS should have the weight as the first factor, or as a contiguous second one."""
    return 1 < rows <= LINEAR_FEW_ROWS and rows * weight.size >= LINEAR_LEAST


def accumulate(self: Array | None, product: Array | None, shape: Shape, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * product`` in the dtype of ``self``; None stands for zeros.

    RuntimeError for a number that an integral dtype cannot hold.
    """
    if product is None:
        assert self is not None
        product = np.zeros(shape, self.dtype)
    elif alpha != 1:
        product = np.multiply(product, _factor(alpha, product.dtype), out=_into(product))
    if beta == 0 or self is None:
        return product
    return np.add(product, self if beta == 1 else self * _factor(beta, self.dtype), out=_into(product))


def _into(product: Array) -> Array | None:
    """Where a result may be written that is made of a product: a sum of vectors is none of NumPy's arrays."""
    return product if product.ndim else None


def _factor(value: Number, dtype: np.dtype[Any]) -> Number:
    """A scale factor in the array's dtype. Raises RuntimeError where an integral one cannot hold it."""
    return as_number(value, dtype) if dtype.kind != "b" else value
