"""Bodies: what an operator computes of the rows of its operands, and the forms that follow from it.

A row is what an operand has along one dim. Of a body follow NumPy's form, which is that of other array
libraries too, the native kernel, and, in ``codegen/derive/rows.py``, gradients and tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import combinations

from .expressions import (
    Assigned,
    Call,
    Conditional,
    Constant,
    Elements,
    Expr,
    Keyword,
    Lambda,
    Name,
    Operation,
    Parameter,
    Subscript,
    dotted,
    replaced,
    rewritten,
)
from .kernels import NativeKernel, Operand
from .scans import Scan

#: Functions of a row that give one number, and what Tensors call them.
REDUCTIONS = {"sum": "sum", "prod": "prod", "max": "amax", "min": "amin", "mean": "mean"}
#: What marks a value on which, whatever it is, no result depends: it has no derivative.
CONSTANT = "constant"
#: The length of rows in bodies, and in NumPy's form the function that scans arrays, and the axis.
LENGTH, SCAN, AXIS = "n", "scan", "axis"
#: The argument that says whether a result that is one number for each row keeps the dim.
KEEPDIM = "keepdim"
#: What stands for the namespace of native kernels in the kernel of a backend.
NATIVE_KERNELS = "native_kernels"
#: Numbers by their names.
CONSTANTS = ("inf", "nan")


@dataclass(frozen=True, slots=True)
class BodyCall:
    """The call of what runs a body on a backend."""

    function: Expr
    kernels: Expr  # the namespace of native kernels, or None
    name: Expr  # of the one that is there, which what operands are given may decide
    form: Lambda
    kept: tuple[bool, ...]
    nonempty: bool  # whether rows must have elements
    dim: Expr
    sizes: str  # of the argument that has the sizes of the last dims, if ``dim`` is that
    keepdim: Expr
    rows: tuple[Expr, ...]
    shared: tuple[Expr, ...]
    numbers: tuple[Expr, ...]

    def written(self) -> Call:
        """The call."""
        kept = Elements("tuple", tuple(map(Constant, self.kept)))
        what = self.kernels, self.name, self.form, kept, Constant(self.nonempty)
        operands = Elements("tuple", self.rows), Elements("tuple", self.shared)
        where = self.dim, Constant(self.sizes), self.keepdim
        return Call(self.function, (*what, *where, *operands, *self.numbers))

    @classmethod
    def read(cls, expr: Expr) -> BodyCall | None:
        """Of such a call; None of another expression."""
        match expr:
            case Call(
                function,
                (
                    kernels,
                    name,
                    Lambda() as form,
                    Elements("tuple", kept),
                    Constant(bool() as nonempty),
                    dim,
                    Constant(str() as sizes),
                    keepdim,
                    Elements("tuple", rows),
                    Elements("tuple", shared),
                    *numbers,
                ),
                (),
            ):
                flags = tuple([k.value for k in kept if isinstance(k, Constant)])
                what = kernels, name, form, flags, nonempty, dim, sizes, keepdim
                return cls(function, *what, rows, shared, tuple(numbers))
        return None


@dataclass(frozen=True, slots=True)
class Body:
    """Statements over rows: of arguments and what was computed before, by functions, reductions and scans."""

    dim: str  # the argument that says along which dim rows are, or over which
    several: bool  # whether it may be several dims, or none for all of them
    sizes: bool  # whether it is the sizes of these dims, which are the last ones
    rows: tuple[str, ...]  # the operands
    shared: tuple[str, ...]  # those that are one row, for all
    optional: tuple[str, ...]  # those of these that may be None
    numbers: tuple[str, ...]  # arguments that are one number for all rows
    keeps: bool  # whether an argument says that results keep the dim
    statements: tuple[tuple[str, Expr], ...]
    results: tuple[str, ...]

    @property
    def keepdim(self) -> Expr:
        """Whether a result that is one number for each row keeps the dim."""
        return Name(KEEPDIM) if self.keeps else Constant(self.sizes)

    @property
    def dims(self) -> Expr:
        """The dims of rows, as formulas write them."""
        return Call(Name("last_dims"), (Name(self.dim),)) if self.sizes else Name(self.dim)

    @property
    def kept(self) -> tuple[bool, ...]:
        """Of each result whether it has the row; else it has one number for it."""
        numbers = {LENGTH, *self.numbers}
        for name, expr in self.statements:
            numbers |= {name} if is_number(expr, numbers) else set()
        return tuple([name not in numbers for name in self.results])

    @property
    def nonempty(self) -> bool:
        """Whether rows must have elements: it takes an extreme of them, be there some or not."""
        return any([_takes_extreme(expr) for _, expr in self.statements])

    def inlined(self, absent: Collection[str] = ()) -> tuple[Expr, ...]:
        """The results for rows that have elements, each as one expression of the arguments, without means.

        ``absent`` are the optional operands that are None.
        """
        known: dict[str, Expr] = {}
        for name, expr in self.statements:
            known[name] = replaced(without_means(chosen(expr, absent)), known)
        return tuple([known[name] for name in self.results])

    def by_presence(self, make: Callable[[tuple[str, ...]], Expr]) -> Expr:
        """What is made of each set of optional operands that are None, chosen by those that are."""

        def made(names: tuple[str, ...], absent: tuple[str, ...]) -> Expr:
            if not names:
                return make(absent)
            first, *others = names
            there, otherwise = made((*others,), absent), made((*others,), (*absent, first))
            return Conditional(is_given(first), there, otherwise)

        return made(self.optional, ())

    def kernels(self, name: str) -> list[NativeKernel]:
        """The native kernels: one for each set of optional operands that are None."""
        count = range(len(self.optional) + 1)
        return [self.kernel(name, absent) for n in count for absent in combinations(self.optional, n)]

    def kernel(self, name: str, absent: Collection[str] = ()) -> NativeKernel:
        """The native kernel, over rows that are contiguous, with what is one number for each of them."""
        inputs = [Operand(row, (LENGTH,)) for row in (*self.rows, *self.shared) if row not in absent]
        inputs += [Operand(n) for n in self.numbers]
        outputs = [
            Operand(result, (LENGTH,) if kept else ())
            for result, kept in zip(self.results, self.kept, strict=True)
        ]
        statements = tuple([(target, _of_machine(expr, absent)) for target, expr in self.statements])
        return NativeKernel(name_without(name, absent), tuple(inputs), tuple(outputs), statements)

    def form(self, of_ufuncs: bool = False) -> Lambda:
        """The function of what scans, axes, the length of rows and the operands, over arrays of one library.

        Reductions keep the axes. ``of_ufuncs``: they are NumPy's, whose ufuncs reduce in half the time of its
        functions.
        """
        changed = _of_numpy if of_ufuncs else _of_arrays
        steps: list[Expr] = [
            Assigned(target, rewritten(_asked(expr), changed)) for target, expr in self.statements
        ]
        results = [Name(name) for name in self.results]
        last = steps[-1]
        assert isinstance(last, Assigned)
        if self.results == (last.name,):
            steps[-1] = last.value
        else:
            steps.append(results[0] if len(results) == 1 else Elements("tuple", tuple(results)))
        body = steps[0] if len(steps) == 1 else Subscript(Elements("tuple", tuple(steps)), Constant(-1))
        return Lambda(
            tuple(map(Parameter, (SCAN, AXIS, LENGTH, *self.rows, *self.shared, *self.numbers))), body
        )


def kernel_of_body(method: str) -> str:
    """The name of the native kernel of an operator's body."""
    return f"{method.lstrip('_')}_of_rows"


def name_without(name: str, absent: Collection[str]) -> str:
    """The name of the native kernel where these operands are None."""
    return "_without_".join([name, *absent])


def is_given(name: str) -> Expr:
    """Whether an optional operand is not None."""
    return Operation("is not", (Name(name), Constant(None)))


def is_reduction(expr: Expr) -> bool:
    """Whether it brings a row together."""
    match expr:
        case Call(Name(name)) if name in REDUCTIONS:
            return True
    return False


def without_means(expr: Expr) -> Expr:
    """The same with each mean as a sum, divided by the length."""

    def change(part: Expr) -> Expr:
        match part:
            case Call(Name("mean"), arguments):
                return Operation("/", (Call(Name("sum"), arguments), Name(LENGTH)))
        return part

    return rewritten(expr, change)


def chosen(expr: Expr, absent: Collection[str] = ()) -> Expr:
    """The same of rows that have elements, and without what is for other operands: ``x if n else y`` is x."""

    def change(part: Expr) -> Expr:
        match part:
            case Conditional(Name(condition), then, otherwise):
                return otherwise if condition in absent else then
        return part

    return rewritten(expr, change)


def _asked(expr: Expr) -> Expr:
    """The same with the question whether an operand is None where it chooses."""

    def change(part: Expr) -> Expr:
        match part:
            case Conditional(Name(condition), then, otherwise) if condition != LENGTH:
                return Conditional(is_given(condition), then, otherwise)
        return part

    return rewritten(expr, change)


def _takes_extreme(expr: Expr) -> bool:
    match expr:
        case Conditional(Name(condition)) if condition == LENGTH:  # of none it is something else
            return False
        case Call(Name("max" | "min")):
            return True
    return any(map(_takes_extreme, expr.parts))


def is_number(expr: Expr, numbers: Collection[str]) -> bool:
    """Whether it is one number of each row, or of all: the names of those are ``numbers``."""
    match expr:
        case Name(name):
            return name in numbers or name in CONSTANTS
        case Call(_, arguments):
            return is_reduction(expr) or all([is_number(a, numbers) for a in arguments])
        case Conditional(_, then, otherwise):
            return is_number(then, numbers) and is_number(otherwise, numbers)
    return all([is_number(part, numbers) for part in expr.parts])


def _of_machine(expr: Expr, absent: Collection[str]) -> Expr:
    """An expression of a body as native kernels have it, where these operands are None."""

    def change(part: Expr) -> Expr:
        match part:
            case Call(Name(name), (value,)) if name == CONSTANT:
                return value
        scan = Scan.read(part)
        return part if scan is None else scan.native()

    return rewritten(without_means(chosen(expr, absent)), change)


def _of_numpy(expr: Expr) -> Expr:
    """A part of a body as a function of NumPy."""
    match expr:
        case Call(Name("mean")):
            total, length = without_means(expr).parts
            return Operation("/", (_of_numpy(total), length))
        case Call(Name(name), arguments) if is_reduction(expr):
            keepdims = Keyword("keepdims", Constant(True))
            return Call(dotted(f"xp.{_UFUNCS[name]}.reduce"), (*arguments, Name(AXIS)), (keepdims,))
    return _of_arrays(expr)


#: NumPy's ufuncs that reduce.
_UFUNCS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def _of_arrays(expr: Expr) -> Expr:
    """A part of a body as a function of the array namespace."""
    if (scan := Scan.read(expr)) is not None:
        return scan.called(Name(SCAN), Name(AXIS))
    match expr:
        case Call(Name(name), (value,)) if name == CONSTANT:
            return value
        case Call(Name(name), arguments) if is_reduction(expr):
            keywords = Keyword("axis", Name(AXIS)), Keyword("keepdims", Constant(True))
            return Call(dotted(f"xp.{name}"), arguments, keywords)
        case Call(Name(name), arguments):
            return Call(dotted(f"xp.{name}"), arguments)
        case Name(name) if name in CONSTANTS:
            return dotted(f"xp.{name}")
    return expr
