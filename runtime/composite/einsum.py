"""einsum: sums of products in Einstein's notation, contracted pair by pair through mm and bmm.

A label stands for a dimension: a letter, or ``("...", k)`` for the k-th dimension from the
right that an ellipsis covers. The steps:

1. ``_parse`` gives each operand and the output their labels;
2. ``_Operand.of`` takes diagonals for repeated labels and drops dimensions of size 1, which
   broadcast, so that afterwards a label has one size wherever it occurs;
3. pairs are contracted, cheapest first, each as one matrix product;
4. what is left is summed, permuted and given its dimensions of size 1 back.

All that depends on shapes only. It is done once for an equation and its shapes, with
``_Planned`` in place of tensors, and what these were asked to do is then done with tensors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Label = str | tuple[str, int]
Labels = list[Label]
Shape = tuple[int, ...]


def einsum(equation: str, tensors: Sequence[Tensor], path: Sequence[int] | None = None) -> Tensor:
    """The sums of products that ``equation`` names.

    ``path``, if given, lists the pairs to contract, as flat positions: operands ``path[0]`` and
    ``path[1]`` first, whose product goes to the end of the list, and so on.
    Raises RuntimeError for no operands, and where ``equation`` does not fit them.
    """
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    shapes = tuple([tuple(t.shape) for t in tensors])
    steps, result = _plan(equation, shapes, None if path is None else tuple(path))
    values = list(tensors)
    for method, source, argument in steps:
        tensor = values[source]
        if method in _BINARY:
            values.append(getattr(tensor, method)(values[argument]))
        elif method == "total":  # within a product, narrow integers stay narrow
            values.append(tensor.sum(argument, dtype=tensor.dtype))
        else:
            values.append(getattr(tensor, method)(*argument))
    return values[result]


_BINARY = frozenset({"mm", "bmm", "mul"})


@lru_cache(maxsize=512)
def _plan(
    equation: str, shapes: tuple[Shape, ...], path: tuple[int, ...] | None
) -> tuple[list[tuple[str, int, Any]], int]:
    """The calls to make, each with the index of its tensor, and the index of the result.

    Indices count the operands first and then the calls' results.
    """
    inputs, output = _parse(equation, [len(shape) for shape in shapes])
    sizes = _label_sizes(inputs, shapes)
    steps: list[tuple[str, int, Any]] = []
    tensors = [_Planned(steps, len(shapes), i, shape) for i, shape in enumerate(shapes)]
    operands = [_Operand.of(t, labels) for t, labels in zip(tensors, inputs, strict=True)]
    wanted = [label for label in output if sizes[label] != 1]
    pairs = _pairs(path, len(operands)) if path is not None else None
    while len(operands) > 1:
        i, j = next(pairs) if pairs is not None else _cheapest(operands, wanted, sizes)
        a, b = operands[i], operands[j]
        operands = [o for k, o in enumerate(operands) if k not in (i, j)]
        elsewhere = {label for o in operands for label in o.labels}.union(wanted)
        operands.append(_contract(a, b, elsewhere))
    return steps, _finish(operands[0], output, wanted, sizes).index


class _Planned:
    """A tensor that is not there yet: it has a shape, and writes down what is asked of it."""

    __slots__ = ("index", "inputs", "shape", "steps")

    def __init__(self, steps: list[tuple[str, int, Any]], inputs: int, index: int, shape: Shape) -> None:
        self.steps = steps
        self.inputs = inputs
        self.index = index
        self.shape = shape

    def _call(self, method: str, argument: Any, shape: Sequence[int]) -> _Planned:
        self.steps.append((method, self.index, argument))
        return _Planned(self.steps, self.inputs, self.inputs + len(self.steps) - 1, tuple(shape))

    def diagonal(self, first: int, second: int) -> _Planned:
        """The diagonal of two dimensions, as the last one."""
        rest = [n for i, n in enumerate(self.shape) if i not in (first, second)]
        return self._call("diagonal", (0, first, second), [*rest, self.shape[first]])

    def reshape(self, shape: Sequence[int]) -> _Planned:
        """Itself if it has that shape."""
        return self if tuple(shape) == self.shape else self._call("reshape", (tuple(shape),), shape)

    def permute(self, order: Sequence[int]) -> _Planned:
        """Itself if it has that order."""
        if list(order) == list(range(len(order))):
            return self
        return self._call("permute", (tuple(order),), [self.shape[i] for i in order])

    def sum(self, dims: Sequence[int], final: bool) -> _Planned:
        """The sum over ``dims``; a ``final`` one widens integers as ``Tensor.sum`` does."""
        shape = [n for i, n in enumerate(self.shape) if i not in dims]
        return self._call("sum", (tuple(dims),), shape) if final else self._call("total", tuple(dims), shape)

    def mul(self, other: _Planned) -> _Planned:
        """Of equal ranks."""
        shape = [m if n == 1 else n for n, m in zip(self.shape, other.shape, strict=True)]
        return self._call("mul", other.index, shape)

    def mm(self, other: _Planned) -> _Planned:
        """A product of matrices."""
        return self._call("mm", other.index, [self.shape[0], other.shape[1]])

    def bmm(self, other: _Planned) -> _Planned:
        """A product of batches of matrices."""
        return self._call("bmm", other.index, [*self.shape[:2], other.shape[2]])


# ---------------------------------------------------------------------------------- parsing


def _parse(equation: str, ndims: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the output. RuntimeError says what is wrong with them."""
    left, arrow, right = equation.partition("->")
    terms, covered = [], 0
    position = 0
    written = left.split(",")
    for i, term in enumerate(written):
        letters = _letters(term, position, f"for operand {i}")
        position += len(term) + 1
        terms.append(letters)
    if len(terms) != len(ndims):
        few = "fewer" if len(terms) > len(ndims) else "more"
        raise RuntimeError(f"einsum(): {few} operands were provided than specified in the equation")
    for i, (letters, ndim) in enumerate(zip(terms, ndims, strict=True)):
        covered = max(covered, _ellipsis_size(letters, ndim, i))
    inputs = [
        _with_ellipsis(letters, _ellipsis_size(letters, ndim, i))
        for i, (letters, ndim) in enumerate(zip(terms, ndims, strict=True))
    ]
    if arrow:
        output = _with_ellipsis(_letters(right, len(left) + 2, "in the output"), covered)
        _check_output(output, inputs)
        return inputs, output
    counts: dict[str, int] = {}
    for letters in terms:
        for letter in letters:
            if letter != "...":
                counts[letter] = counts.get(letter, 0) + 1
    once = sorted([letter for letter, count in counts.items() if count == 1])
    return inputs, _with_ellipsis(["...", *once], covered)


def _letters(term: str, position: int, where: str) -> list[str]:
    """The letters of a term, and ``...`` for an ellipsis; ``position`` is where it stands."""
    letters: list[str] = []
    i = 0
    while i < len(term):
        character = term[i]
        if character == ".":
            if "..." in letters:
                raise RuntimeError(f"einsum(): found '.' {where} for which an ellipsis was already found")
            if term[i : i + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' {where} that is not part of any ellipsis")
            letters.append("...")
            i += 2
        elif character.isascii() and character.isalpha():
            letters.append(character)
        elif character != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {position + i} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        i += 1
    return letters


def _ellipsis_size(letters: Sequence[str], ndim: int, operand: int) -> int:
    """How many dimensions of an operand its ellipsis stands for; checks their number."""
    named = len(letters) - ("..." in letters)
    if "..." in letters:
        if named > ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) is more than the number of "
                f"dimensions ({ndim}) for operand {operand}"
            )
        return ndim - named
    if named != ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of "
            f"dimensions ({ndim}) for operand {operand} and no ellipsis was given"
        )
    return 0


def _with_ellipsis(letters: Sequence[str], size: int) -> Labels:
    labels: Labels = []
    for letter in letters:
        labels.extend([("...", k) for k in range(size - 1, -1, -1)] if letter == "..." else [letter])
    return labels


def _check_output(output: Labels, inputs: Sequence[Labels]) -> None:
    known = {label for labels in inputs for label in labels}
    for i, label in enumerate(output):
        if label in output[:i]:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in known:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )


def _label_sizes(inputs: Sequence[Labels], shapes: Sequence[Shape]) -> dict[Label, int]:
    """The size of each label; sizes of 1 broadcast between operands, not within one."""
    sizes: dict[Label, int] = {}
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        own: dict[Label, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, "
                    f"{size} != {own[label]}"
                )
        for label, size in own.items():
            seen = sizes.setdefault(label, size)
            if seen == 1:
                sizes[label] = size
            elif size not in (1, seen):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {i} which does not broadcast "
                    f"with previously seen size {seen}"
                )
    return sizes


# ------------------------------------------------------------------------------ contraction


class _Operand(NamedTuple):
    """A tensor and the labels of its dimensions: all different, none of size 1."""

    tensor: _Planned
    labels: Labels

    @classmethod
    def of(cls, tensor: _Planned, labels: Labels) -> _Operand:
        for label in dict.fromkeys(labels):
            while labels.count(label) > 1:
                first = labels.index(label)
                second = labels.index(label, first + 1)
                tensor = tensor.diagonal(first, second)
                labels = [x for i, x in enumerate(labels) if i not in (first, second)] + [label]
        kept = [i for i, size in enumerate(tensor.shape) if size != 1]
        return cls(tensor.reshape([tensor.shape[i] for i in kept]), [labels[i] for i in kept])

    def summed(self, kept: Collection[Label], final: bool) -> _Operand:
        """Without the labels that are not among ``kept``."""
        dims = [i for i, label in enumerate(self.labels) if label not in kept]
        if not dims:
            return self
        return _Operand(self.tensor.sum(dims, final), [label for label in self.labels if label in kept])

    def arranged(self, *groups: Sequence[Label]) -> _Planned:
        """The tensor with one dimension for each group of labels, in that order."""
        sizes = dict(zip(self.labels, self.tensor.shape, strict=True))
        tensor = self.tensor.permute([self.labels.index(label) for group in groups for label in group])
        return tensor.reshape([prod([sizes[label] for label in group]) for group in groups])

    def spread(self, labels: Sequence[Label]) -> _Planned:
        """The tensor with a dimension for each of ``labels``, of size 1 where it has none."""
        tensor = self.arranged(*[[label] for label in labels if label in self.labels])
        shape = iter(tensor.shape)
        return tensor.reshape([next(shape) if label in self.labels else 1 for label in labels])


def _contract(a: _Operand, b: _Operand, kept: Collection[Label]) -> _Operand:
    """The product of two operands, summed over what only they have and nobody keeps."""
    a = a.summed({*kept, *b.labels}, False)
    b = b.summed({*kept, *a.labels}, False)
    batch = [x for x in a.labels if x in b.labels and x in kept]
    inner = [x for x in a.labels if x in b.labels and x not in kept]
    rows = [x for x in a.labels if x not in b.labels]
    columns = [x for x in b.labels if x not in a.labels]
    labels = batch + rows + columns
    if not inner:
        return _Operand(a.spread(labels).mul(b.spread(labels)), labels)
    sizes = dict(zip(a.labels + b.labels, [*a.tensor.shape, *b.tensor.shape], strict=True))
    if batch:
        product = a.arranged(batch, rows, inner).bmm(b.arranged(batch, inner, columns))
    else:
        product = a.arranged(rows, inner).mm(b.arranged(inner, columns))
    return _Operand(product.reshape([sizes[x] for x in labels]), labels)


def _cheapest(
    operands: Sequence[_Operand], wanted: Collection[Label], sizes: dict[Label, int]
) -> tuple[int, int]:
    """The pair whose product is smallest in comparison with its factors, the first of equals."""
    if len(operands) == 2:
        return 0, 1

    def growth(pair: tuple[int, int]) -> int:
        i, j = pair
        both = {*operands[i].labels, *operands[j].labels}
        rest = {x for k, o in enumerate(operands) if k not in pair for x in o.labels}.union(wanted)
        after = prod([sizes[x] for x in both if x in rest])
        return after - prod(operands[i].tensor.shape) - prod(operands[j].tensor.shape)

    return min(combinations(range(len(operands)), 2), key=growth)


class _pairs:
    """The pairs of a flat contraction path, checked against the number of operands left."""

    def __init__(self, path: Sequence[int], count: int) -> None:
        if len(path) != 2 * (count - 1):
            raise RuntimeError(
                f"einsum(): expected contraction path given in path parameter to have size {2 * (count - 1)} "
                f"but got {len(path)}"
            )
        self.path = list(path)
        self.count = count

    def __iter__(self) -> _pairs:
        return self

    def __next__(self) -> tuple[int, int]:
        i, j = self.path[0], self.path[1]
        if i == j or not 0 <= i < self.count or not 0 <= j < self.count:
            raise RuntimeError(f"einsum(): path contains the pair ({i}, {j}) of {self.count} operands")
        del self.path[:2]
        self.count -= 1
        return i, j


def _finish(operand: _Operand, output: Labels, wanted: Labels, sizes: dict[Label, int]) -> _Planned:
    """The last operand, summed over what is not wanted, in the order of the output."""
    tensor = operand.summed(wanted, True).arranged(*[[label] for label in wanted])
    return tensor.reshape([sizes[label] for label in output])


# ---------------------------------------------------------------------- the forms of a call


def equation_of(operands: Sequence[object]) -> tuple[str, list[Tensor]]:
    """The equation and the tensors of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    Numbers from 0 to 51 stand for the letters A..Z and a..z, so that the implicit output is
    in the order of the numbers; ValueError for others.
    """
    pairs = len(operands) // 2
    tensors = [operands[2 * i] for i in range(pairs)]
    terms = [_subscripts(operands[2 * i + 1]) for i in range(pairs)]
    equation = ",".join(terms)
    if len(operands) % 2:
        equation += "->" + _subscripts(operands[-1])
    return equation, tensors  # type: ignore[return-value]  # the operator checks that they are tensors


def _subscripts(labels: object) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    text = []
    for label in labels:  # type: ignore[attr-defined]  # a TypeError says enough
        if label is Ellipsis:
            text.append("...")
        elif 0 <= label < len(letters):
            text.append(letters[label])
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return "".join(text)
