"""Programs: nodes, each of which makes a buffer by loops over a space, and what they read by strides.

The shape of a buffer has no dims of one place, for there is nothing to loop over. A View is what a program
sees of a buffer; an Arg is a View along the loops of the node that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ..expressions import Constant, Expr, Name, Operation, replaced
from ..lower.instructions import Unlowerable
from ..writer import write
from .scalars import Trials
from .views import Shape, contiguous, without_ones

#: What argument expressions of nodes call their operands: ``a0``, ``a1``.
OPERAND = "a"


@dataclass(eq=False, slots=True)
class Node:
    """What makes a buffer: the base of what follows."""

    shape: Shape
    dtype: str
    args: tuple[Arg, ...] = ()
    #: Where the user's program called the operator, and what this is called.
    source: Any = None

    @property
    def space(self) -> Shape:
        """The extents of its loops."""
        return self.shape

    @property
    def is_loops(self) -> bool:
        """Whether it is computed by loops, with others of the same space."""
        return False

    @property
    def elements(self) -> tuple[Arg, ...]:
        """The operands of which it reads one element at each place of its space, which come first."""
        return self.args

    @property
    def elsewhere(self) -> tuple[Arg, ...]:
        """The operands of which it reads other elements."""
        return self.args[len(self.elements) :]


@dataclass(eq=False, slots=True)
class Input(Node):
    """An array that the program is given, by its number: memory with strides."""

    number: int = 0


@dataclass(eq=False, slots=True)
class Table(Node):
    """An array that is the same in all calls."""

    value: Any = None


@dataclass(eq=False, slots=True)
class Fill(Node):
    """One number everywhere: it becomes a part of expressions."""

    value: bool | int | float = 0


@dataclass(eq=False, slots=True)
class Places(Node):
    """All integers: at each place its number, so that what has constant steps is a view of it."""


@dataclass(eq=False, slots=True)
class Pointwise(Node):
    """An expression of one element of each operand: ``a0``, ``a1``; or a cast of one of another dtype."""

    expr: Expr = field(default_factory=lambda: Name("a0"))

    @property
    def is_loops(self) -> bool:
        return True

    @property
    def is_cast(self) -> bool:
        """Whether it is an operand as another dtype."""
        return self.expr == Name("a0") and self.args[0].node.dtype != self.dtype


@dataclass(eq=False, slots=True)
class Reduce(Node):
    """What the elements along some loops come to: ``fold`` is sum, prod, max, min or any."""

    fold: str = "sum"
    loops: Shape = ()
    axes: tuple[int, ...] = ()

    @property
    def space(self) -> Shape:
        return self.loops

    @property
    def is_loops(self) -> bool:
        return True


@dataclass(eq=False, slots=True)
class Pick(Node):
    """Elements of ``args[1]`` further on, by ``step`` for each of ``places`` that ``args[0]`` has."""

    step: int = 1
    places: int = 0

    @property
    def is_loops(self) -> bool:
        return True

    @property
    def elements(self) -> tuple[Arg, ...]:
        return self.args[:1]


@dataclass(eq=False, slots=True)
class Checked(Node):
    """``args[0]``, provided that ``args[1]`` is true: an element of which it is not is an error."""

    @property
    def is_loops(self) -> bool:
        return True


@dataclass(eq=False, slots=True)
class Scatter(Node):
    """A copy of ``args[2]``, all of it, or zeros, changed by ``args[1]`` further on, by ``step`` for each of
    ``places`` that ``args[0]`` has, one after the other.

    ``steps`` are how far on each of the loops goes, and ``how`` is set, add, mul, max or min.
    """

    how: str = "set"
    loops: Shape = ()
    steps: Shape = ()
    step: int = 1
    places: int = 0

    @property
    def space(self) -> Shape:
        return self.loops

    @property
    def is_loops(self) -> bool:
        return True

    @property
    def elements(self) -> tuple[Arg, ...]:
        return self.args[:2]


@dataclass(eq=False, slots=True)
class Product(Node):
    """Products of matrices: ``args[0]`` (*batch, m, k) and ``args[1]`` (*batch, k, n), by BLAS."""

    sizes: tuple[int, int, int] = (1, 1, 1)
    batch: Shape = ()


@dataclass(eq=False, slots=True)
class Pieces(Node):
    """A buffer of which each operand is a part, by its place there; what no part covers is 0."""

    places: tuple[Place, ...] = ()
    covered: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part of a buffer is: its sizes, and strides and offset in the buffer."""

    shape: Shape
    strides: Shape
    offset: int


@dataclass(eq=False, slots=True)
class Eager(Node):
    """The call of an operator's own kernel, of arrays; its results are Results.

    One that ``stays`` is called though nobody reads its results: it draws random numbers.
    """

    call: Any = None
    stays: bool = False


@dataclass(eq=False, slots=True)
class Result(Node):
    """A result of an Eager node, which is ``args[0]``."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Arg:
    """What a node reads of a buffer: an element for each place of its space, or a whole one."""

    node: Node
    strides: Shape
    offset: int = 0

    def is_in_step(self, space: Shape) -> bool:
        """Whether it is the buffer's element at the very place of a space."""
        return not self.offset and self.node.shape == space and self.strides == contiguous(space)


@dataclass(frozen=True, slots=True)
class View:
    """What the program sees of a buffer."""

    node: Node
    shape: Shape
    strides: Shape
    offset: int = 0

    @property
    def dtype(self) -> str:
        return self.node.dtype

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a contiguous buffer in order."""
        full = prod(self.shape) == prod(self.node.shape)
        return full and not self.offset and _alike(self.strides, contiguous(self.shape), self.shape)

    def along(self, shape: Sequence[int]) -> Arg:
        """The Arg of loops over a shape to which this broadcasts."""
        lead = len(shape) - len(self.shape)
        own = (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True)])
        return Arg(self.node, tuple([s for n, s in zip(shape, own, strict=True) if n != 1]), self.offset)

    def with_shape(self, shape: Shape, strides: Shape, offset: int = 0) -> View:
        """Another view of the buffer, further on by an offset."""
        return View(self.node, shape, strides, self.offset + offset)


def _alike(a: Shape, b: Shape, shape: Shape) -> bool:
    return all([x == y or n == 1 for x, y, n in zip(a, b, shape, strict=True)])


def whole(node: Node, shape: Sequence[int]) -> View:
    """All of a node's buffer, under its shape with dims of one place."""
    return View(node, tuple(shape), contiguous(shape))


@dataclass(slots=True)
class Program:
    """Nodes in the order in which they can be computed; what is alike is computed once."""

    trials: Trials
    #: What finds that a Pointwise node is another one.
    rules: Sequence[Callable[[Expr, tuple[Arg, ...], Shape], Pieces | None]] = ()
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    #: Where the nodes that are made come from.
    source: Any = None
    _known: dict[Any, Node] = field(default_factory=dict)

    def input(self, shape: Sequence[int], strides: Sequence[int], dtype: str) -> View:
        """A new input, which has these strides."""
        node = Input(tuple(without_ones(shape)), dtype, number=len(self.inputs))
        self.inputs.append(node)
        return View(node, tuple(shape), tuple(strides))

    def fill(self, value: float, shape: Sequence[int], dtype: str) -> View:
        """One number everywhere."""
        node = self._made(("fill", repr(value), dtype), lambda: Fill((), dtype, value=value))
        return View(node, tuple(shape), (0,) * len(shape))

    def numbered(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> View:
        """Integers in constant steps along each dim."""
        node = self._made(("places",), lambda: Places((), "int64"))
        return View(node, tuple(shape), tuple(strides), offset)

    def table(self, value: Any, key: Any, shape: Sequence[int], dtype: str) -> View:
        """An array of constants, contiguous; ``key`` is equal for equal ones."""
        node = self._made(("table", key), lambda: Table(without_ones(shape), dtype, value=value))
        return whole(node, shape)

    def pointwise(self, expr: Expr, operands: Sequence[View], shape: Sequence[int], dtype: str) -> View:
        """An expression of operands that broadcast to a shape; numbers become parts of it.

        Raises Unlowerable where there are no instructions for it.
        """
        names: dict[str, Expr] = {}
        args: list[Arg] = []
        for number, operand in enumerate(operands):
            if isinstance(operand.node, Fill):
                names[f"{OPERAND}{number}"] = Constant(operand.node.value)
                continue
            arg = operand.along(shape)
            if arg not in args:
                args.append(arg)
            names[f"{OPERAND}{number}"] = Name(f"{OPERAND}{args.index(arg)}")
        expr = simplified(replaced(expr, names))
        if not self.trials.lowers(expr, tuple([arg.node.dtype for arg in args]), dtype):
            raise Unlowerable(f"{write(expr)} has no native form as {dtype}")
        space = without_ones(shape)
        if expr == Name(f"{OPERAND}0") and args[0].node.dtype == dtype:  # nothing is computed
            return self._seen(args[0], shape)
        for rule in self.rules:
            made = rule(expr, tuple(args), space)
            if made is not None:
                known = ("pieces", made.args, made.places, space, dtype)
                return whole(self._known_as(known, made), shape)
        key = ("pointwise", expr, tuple(args), space, dtype)
        return whole(self._made(key, lambda: Pointwise(space, dtype, tuple(args), expr=expr)), shape)

    def reduce(self, fold: str, operand: View, axes: Sequence[int], dtype: str) -> View:
        """The reduction over axes, which stay with one place each."""
        kept = tuple([1 if d in axes else n for d, n in enumerate(operand.shape)])
        loops = without_ones(operand.shape)
        longer = [d for d, n in enumerate(operand.shape) if n != 1]
        over = tuple([i for i, d in enumerate(longer) if d in axes])
        arg = operand.along(operand.shape)
        key = ("reduce", fold, arg, loops, over, dtype)
        shape = without_ones(kept)
        return whole(
            self._made(key, lambda: Reduce(shape, dtype, (arg,), fold=fold, loops=loops, axes=over)), kept
        )

    def pick(self, array: View, index: View, axis: int) -> View:
        """The elements of an array at an index along an axis, in place of which the index's dims stand."""
        before, behind = array.shape[:axis], array.shape[axis + 1 :]
        shape = (*before, *index.shape, *behind)
        gone = (0,) * len(index.shape)
        beside = (*array.strides[:axis], *gone, *array.strides[axis + 1 :])
        given = View(array.node, shape, beside, array.offset).along(shape)
        args, step, places = (self._beside(index, shape, axis), given), array.strides[axis], array.shape[axis]
        space = without_ones(shape)
        made = self._made(
            ("pick", args, step, places, space),
            lambda: Pick(space, array.dtype, args, step=step, places=places),
        )
        return whole(made, shape)

    def checked(self, operand: View, condition: View) -> View:
        """The operand, provided that a condition holds for each element."""
        args = operand.along(operand.shape), condition.along(operand.shape)
        space = without_ones(operand.shape)
        made = self._made(("checked", args, space), lambda: Checked(space, operand.dtype, args))
        return whole(made, operand.shape)

    def scatter(self, array: View, index: View, values: View, axis: int, how: str) -> View:
        """An array, which is whole, changed at an index along an axis by values of the shape of a pick."""
        own, count = contiguous(array.shape), len(index.shape)
        beside = (*own[:axis], *(0,) * count, *own[axis + 1 :])
        steps = tuple([s for s, n in zip(beside, values.shape, strict=True) if n != 1])
        args: tuple[Arg, ...] = self._beside(index, values.shape, axis), values.along(values.shape)
        if not (isinstance(array.node, Fill) and array.node.value == 0):
            args = (*args, Arg(array.node, (), array.offset))
        step, places, space, loops = (
            own[axis],
            array.shape[axis],
            without_ones(array.shape),
            without_ones(values.shape),
        )
        made = self._made(
            ("scatter", args, how, loops, steps, step, places, space),
            lambda: Scatter(space, array.dtype, args, None, how, loops, steps, step, places),
        )
        return whole(made, array.shape)

    @staticmethod
    def _beside(index: View, shape: Shape, axis: int) -> Arg:
        """An index along a shape in which its dims begin at an axis."""
        behind = len(shape) - axis - len(index.shape)
        strides = (*(0,) * axis, *index.strides, *(0,) * behind)
        return View(index.node, shape, strides, index.offset).along(shape)

    def product(self, a: View, b: View, batch: Shape) -> View:
        """Products of matrices that lie as BLAS takes them; their batches have the same shape."""
        m, k, n = *a.shape[-2:], b.shape[-1]
        args = Arg(a.node, a.strides, a.offset), Arg(b.node, b.strides, b.offset)
        shape = (*batch, m, n)
        key = ("product", args, shape, k)
        made = self._made(
            key, lambda: Product(without_ones(shape), a.dtype, args, sizes=(m, k, n), batch=batch)
        )
        return whole(made, shape)

    def pieces(self, parts: Sequence[tuple[View, Place]], shape: Sequence[int], covered: bool) -> View:
        """A buffer of parts; ``covered`` says that they are all of it."""
        args = tuple([view.along(view.shape) for view, _ in parts])
        places = tuple([place for _, place in parts])
        space, dtype = without_ones(shape), parts[0][0].dtype
        key = ("pieces", args, places, space, dtype)
        made = self._made(key, lambda: Pieces(space, dtype, args, places=places, covered=covered))
        return whole(made, shape)

    def eager(
        self,
        call: Any,
        operands: Sequence[View],
        results: Sequence[tuple[Sequence[int], str]],
        stays: bool = False,
    ) -> list[View]:
        """The call of an operator of whole buffers, and its results by their shapes and dtypes."""
        args = tuple([Arg(v.node, v.strides, v.offset) for v in operands])
        node = Eager((), "", args, self.source, call=call, stays=stays)
        self.nodes.append(node)
        found = []
        for number, (shape, dtype) in enumerate(results):
            result = Result(without_ones(shape), dtype, (Arg(node, ()),), self.source, number=number)
            self.nodes.append(result)
            found.append(whole(result, shape))
        return found

    def copied(self, view: View) -> View:
        """The elements of a view in order in a buffer of their own."""
        space = without_ones(view.shape)
        args: tuple[Arg, ...] = ()
        expr: Expr = Constant(view.node.value) if isinstance(view.node, Fill) else Name(f"{OPERAND}0")
        if not isinstance(view.node, Fill):
            args = (view.along(view.shape),)
        key = ("pointwise", expr, args, space, view.dtype)
        return whole(self._made(key, lambda: Pointwise(space, view.dtype, args, expr=expr)), view.shape)

    @staticmethod
    def _seen(arg: Arg, shape: Sequence[int]) -> View:
        """What an operand of loops over a shape shows, as a view of that shape."""
        strides = iter(arg.strides)
        return View(
            arg.node, tuple(shape), tuple([0 if n == 1 else next(strides) for n in shape]), arg.offset
        )

    def _known_as(self, key: Any, node: Node) -> Node:
        """A node that was made, or the one that is already known by its key."""
        return self._made(key, lambda: node)

    def _made(self, key: Any, make: Callable[[], Node]) -> Node:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = make()
            found.source = self.source
            if not isinstance(found, Fill | Table | Places):
                self.nodes.append(found)
        return found


def simplified(expr: Expr) -> Expr:
    """The expression without what changes no number: a factor or a divisor of 1."""
    match expr:
        case Operation("*", (Constant(value=1), other)) | Operation("*" | "/", (other, Constant(value=1))):
            return other
    return expr


def live(nodes: Sequence[Node], outputs: Sequence[Node]) -> list[Node]:
    """The nodes that outputs need, in order, and those that stay."""
    waiting = [*outputs, *[node for node in nodes if isinstance(node, Eager) and node.stays]]
    needed: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) not in needed:
            needed.add(id(node))
            waiting += [arg.node for arg in node.args]
    return [node for node in nodes if id(node) in needed]
