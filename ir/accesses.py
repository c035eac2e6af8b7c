"""Bodies of operators that read or write at indices: of which operand, along what, and how writes meet.

Of such a body follow the calls of the kernels that all strided backends have for it, the form in ONNX, the
rule of vmap, and the bodies of operators that its derivatives need: reading is the transposed of adding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .expressions import Call, Conditional, Constant, Elements, Expr, Name, Subscript
from .kernels import NativeKernel, Operand
from .reader import read_assignments
from .writer import write

#: How the places are found: along a dim, the other dims of all operands in step; along a dim, one vector of
#: indices for all rows; in all elements, flattened.
ALONG, SLICES, FLAT = "along", "slices", "flat"
#: How a write meets what stands there: it takes its place, or is added; else a word of ``reduce``.
SET, SUM = "set", "sum"
#: The kernels that make the zeros that are added to, and put what was read in the corner of zeros.
ZEROS, CORNER = "zeros_of", "in_corner"
#: Those that put a dim of size 1 where there is none, and take it away.
WITH_DIM, WITHOUT_DIM = "with_dim", "without_dim"
_SET, _TRUE, _FALSE = Constant(SET), Constant(True), Constant(False)
#: The ways to meet what stands there, and what native kernels compute then: as NumPy does at NaN and zeros of
#: either sign.
_WAYS = (
    (SET, "source"),
    (SUM, "out[index] + source"),
    ("prod", "out[index] * source"),
    ("amax", "where((out[index] > source) | (out[index] != out[index]), out[index], source)"),
    ("amin", "where((out[index] < source) | (out[index] != out[index]), out[index], source)"),
)
#: Of each kind the dims of native kernels: of indices, what is written, what is changed; the names' end.
_ALONG = (("n",), ("n",), ("m",), "elements"), (("k", "n"), ("k", "n"), ("m", "n"), "in_columns")
_LOOPS = {ALONG: _ALONG, SLICES: ((("k",), ("k", "n"), ("m", "n"), "rows"),), FLAT: _ALONG[:1]}


@dataclass(frozen=True, slots=True)
class Access:
    """What is read or written at indices.

    ``base`` is what is read, or what is copied and changed: a Tensor, or, of ``sizes``, zeros of these.
    """

    kind: str
    base: str
    sizes: bool  # whether ``base`` are the sizes of zeros
    dim: str  # the argument, or a number; empty for all elements
    check: (
        str  # the function of runtime/kernels that checks arguments, and gives the dim; empty: the usual one
    )
    index: str
    source: str = ""  # what is written: a Tensor or a number; empty for what reads
    single: bool = False  # whether ``source`` is one number, or a Tensor without dims, for all places
    fold: Expr = _SET
    include_self: Expr = _TRUE
    factor: str = ""  # a number by which the source is multiplied
    corner: str = ""  # of what reads, the sizes of zeros in whose front corner it stands
    keeps: Expr = _TRUE  # whether indices, and what is written or read, have the dim; else it is of size 1
    whole: bool = False  # of slices, whether indices have any shape, whose dims stand in the place of the dim
    extents: tuple[Expr, ...] = ()  # the sizes of zeros where no argument lists them
    skipped: str = ""  # the argument that says which slice nothing is written to
    by_count: Expr = _FALSE  # whether what is written is divided by how often its index is there

    @property
    def at_dim(self) -> Expr:
        """The dim, as kernels get it."""
        return Constant(int(self.dim)) if is_number(self.dim) else Name(self.dim)

    @property
    def checked_by(self) -> str:
        """The function that checks arguments, and gives the dim."""
        if self.check or self.kind == FLAT:
            return self.check
        if self.whole:
            return "check_scatter_whole" if self.source else "check_gather_whole"
        if not self.source:
            return "check_gather" if self.kind == ALONG else "check_gather_slices"
        if self.kind == ALONG:
            return "check_scatter"
        return "check_fill_slices" if self.single else "check_scatter_slices"

    @property
    def kernel(self) -> str:
        """The kernel that reads or writes."""
        if self.kind == SLICES and self.single:
            return "fill_slices"
        return f"{'scatter' if self.source else 'gather'}_{self.kind}"

    def call(self, function: Callable[[str], Expr], checked: bool = True) -> Expr:
        """The call of the kernel. ``function``: what a kernel is called by; ``checked``: with its check."""
        base: Expr = Elements("tuple", self.extents) if self.extents else Name(self.base)
        if self.sizes:
            base = Call(function(ZEROS), (base, Name(self.source)))
        given = [function(self.checked_by)] if checked and self.checked_by else []
        given += [base, *([self.at_dim] if self.dim else []), self._with_dim(function, self.index)]
        if self.source:
            source = Name(self.source) if self.single else self._with_dim(function, self.source)
            given += [source, *self._how()]
        elif self.whole:
            given.append(_TRUE)
        made = Call(function(self.kernel), tuple(given))
        if self.corner:
            return Call(function(CORNER), (made, Name(self.corner)))
        return made if self.source else self._by_keeping(made, function, WITHOUT_DIM)

    def _with_dim(self, function: Callable[[str], Expr], operand: str) -> Expr:
        """Indices, or what is written, with the dim."""
        return self._by_keeping(Name(operand), function, WITH_DIM)

    def _by_keeping(self, expr: Expr, function: Callable[[str], Expr], other: str) -> Expr:
        """An expression where the dim is kept, and what a function makes of it where it is not."""
        if self.keeps == _TRUE:
            return expr
        made = Call(function(other), (expr, self.at_dim))
        return made if self.keeps == _FALSE else Conditional(self.keeps, expr, made)

    def _how(self) -> list[Expr]:
        """How the source is written; what is usual is left out at the end."""
        if self.kernel == "fill_slices":
            return []
        usual: list[Expr] = [Constant(None), Constant(True), Constant(False)]
        given = [self.fold, self.include_self, Constant(self.sizes)]
        if self.kind == SLICES:
            usual += [Constant(1), _FALSE, Constant(None)]
            given.append(Name(self.factor) if self.factor else Constant(1))
            given += [self.by_count, Name(self.skipped) if self.skipped else Constant(None)]
        while given[-1] == usual[len(given) - 1]:
            given.pop()
        return given

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels that are called."""
        more = (*([ZEROS] if self.sizes else []), *([CORNER] if self.corner else []))
        return (self.kernel, *more)

    @property
    def of_shapes(self) -> tuple[str, ...]:
        """The functions that are called and ask for shapes alone, so that backends may share them."""
        check = [self.checked_by] if self.checked_by else []
        dims = [] if self.keeps == _TRUE else [WITH_DIM] if self.source else [WITH_DIM, WITHOUT_DIM]
        return (*check, *dims)

    @property
    def adds(self) -> bool:
        """Whether it computes, and does not only read and replace."""
        return bool(self.source) and self.fold != Constant(SET)

    @property
    def ways(self) -> frozenset[str] | None:
        """How writes may meet; None where an argument says it."""
        return _leaves(self.fold)

    def by_fold(self, formula: Callable[[str], str]) -> str:
        """A text for each way in which writes meet, chosen as the body chooses."""

        def chosen(fold: Expr) -> str:
            match fold:
                case Conditional(condition, then, otherwise):
                    a, b = chosen(then), chosen(otherwise)
                    return a if a == b else f"({a}) if {write(condition)} else ({b})"
                case Constant(str(way)):
                    return formula(way)
            raise AssertionError(fold)

        return chosen(self.fold)


def native_kernels(accesses: Iterable[Access]) -> dict[str, NativeKernel]:
    """The native kernels by name: bodies that are alike share them."""
    made = [kernel for access in accesses for kernel in _native(access)]
    return {kernel.name: kernel for kernel in made}


def _native(access: Access) -> Iterator[NativeKernel]:
    """Those that a body needs: of reads along a dim, and of writes that are no copies of whole slices."""
    if not access.source:
        if access.kind == ALONG:
            yield _reads("pick", ("m",), ("n",))
            yield _reads("pick_in_columns", ("m", "n"), ("n",))
        return
    ways = access.ways or {way for way, _ in _WAYS if way != SET}
    for way, text in _WAYS:
        if way in ways and (way, access.kind) != (SET, SLICES):
            for loop in _LOOPS[access.kind]:
                yield _writes(way, text, *loop)


def _reads(name: str, dims: tuple[str, ...], along: tuple[str, ...]) -> NativeKernel:
    inputs = Operand("x", dims), Operand("index", along, "int64")
    outputs = Operand("y", along), Operand("wrong", (), "bool")
    lines = read_assignments("y = x[index]\nwrong = any((index < 0) | (index >= m))")
    statements = tuple([(target.id, value) for target, value in lines if isinstance(target, Name)])
    return NativeKernel(name, inputs, outputs, statements)


def _writes(
    way: str, text: str, at: tuple[str, ...], dims: tuple[str, ...], table: tuple[str, ...], ending: str
) -> NativeKernel:
    inputs = Operand("index", at, "int64"), Operand("source", dims)
    lines = read_assignments(f"out[index] = {text}")
    updates = tuple([(target, value) for target, value in lines if isinstance(target, Subscript)])
    return NativeKernel(f"{way}_{ending}", inputs, (Operand("out", table),), (), updates)


def _leaves(fold: Expr) -> frozenset[str] | None:
    match fold:
        case Conditional(_, then, otherwise):
            a, b = _leaves(then), _leaves(otherwise)
            return None if a is None or b is None else a | b
        case Constant(str(way)):
            return frozenset({way})
    return None


def is_number(dim: str) -> bool:
    """Whether a dim is a number, and no argument."""
    return dim.lstrip("-").isdigit()


def body_that_reads(access: Access, base: str, corner: str = "") -> str:
    """The text of a body that reads at the same indices."""
    index, over = access.index, _over(access, [base, access.index])
    return f"over {over}\nout = {base}[{index}]" + (f" in zeros({corner})" if corner else "")


def body_that_adds(access: Access, sizes: str, source: str) -> str:
    """The text of a body that adds to zeros at the same indices."""
    index, over = access.index, _over(access, [f"zeros({sizes})", access.index, source])
    return f"over {over}\nout[{index}] = out[{index}] + {source}"


def _over(access: Access, operands: Sequence[str]) -> str:
    """The first line, of other operands."""
    first, index, *sources = operands
    along, keeps = f"{access.dim}: " if access.dim else "", access.keeps
    of_index = along if access.kind == ALONG else ""
    n = "n" if keeps == _TRUE else "1" if keeps == _FALSE else f"n if {write(keeps)} else 1"
    if access.whole:
        along, n = "", "*n"
    size = f"{access.dim}: m" if access.dim else "m"
    return ", ".join([f"{first}[{size}]", f"{index}[{of_index}{n}]", *[f"{s}[{along}{n}]" for s in sources]])
