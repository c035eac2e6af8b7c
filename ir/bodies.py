"""Bodies: what an operator computes of the rows of its operands, and the forms that follow from it.

A row is what an operand has along one dim. Of a body follow the form over arrays of any library, the native
kernels, and, in ``codegen/derive/rows.py``, gradients and tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from . import scans
from .expressions import (
    ELEMENTWISE_COMPARISONS,
    Assigned,
    Call,
    Conditional,
    Constant,
    Elements,
    Expr,
    Lambda,
    Logical,
    Name,
    Operation,
    Parameter,
    Subscript,
    dotted,
    names_in,
    replaced,
    rewritten,
    walk,
)
from .kernels import NativeKernel, Operand
from .scans import Scan
from .stages import staged, together

#: Functions of a row that give a place in it, and the reductions that find what stands there.
PLACES = {"argmax": "max", "argmin": "min"}
#: Functions of a row that give one number, and what Tensors call them.
REDUCTIONS = {
    "sum": "sum",
    "prod": "prod",
    "max": "amax",
    "min": "amin",
    "mean": "mean",
    "any": "any",
    "all": "all",
    **{name: name for name in PLACES},
}
#: In the form over arrays, the fold that gives what stands at a place of a row.
AT = "at"
#: The sum over all rows of what each has in a place, which is the whole of a result.
COLUMN_SUM = "column_sum"
#: What marks a value on which, whatever it is, no result depends: it has no derivative.
CONSTANT = "constant"
#: The length of rows in bodies, and in the form over arrays the functions that reduce and scan, and the axis.
LENGTH, FOLD, SCAN, AXIS = "n", "fold", "scan", "axis"
#: The argument that says which results are asked for, and what it is in the form over arrays.
MASK, ASKED = "output_mask", "asked"
#: The argument that says whether a result that is one number for each row keeps the dim.
KEEPDIM = "keepdim"
#: What stands for the namespace of native kernels in the kernel of a backend.
NATIVE_KERNELS = "native_kernels"
#: What may be all of a body, which is then called by its name.
WHOLE = (*REDUCTIONS, *scans.SCANS)
#: Numbers by their names.
CONSTANTS = ("inf", "nan")
#: What the name of a native kernel ends in whose rows lie side by side, and the dim along which these are.
IN_COLUMNS, DOWN = "_in_columns", "m"
#: What stands in the name of a native kernel of sums over rows, before the numbers of its results.
SUMS = "_sums"


class Along(Enum):
    """How an argument says over which dims rows are."""

    ONE = "one"  # it is a dim
    SEVERAL = "several"  # it lists them; none is all
    LISTED = "[]"  # the same, but where the list is empty there is none: None is all
    SIZES = "sizes"  # it has the sizes of the last ones


class Kind(Enum):
    """What the elements of a value are: of the dtype of the rows, or of which."""

    OWN = "own"
    REAL = "real"  # the same, but real
    TOTAL = "total"  # of that of the rows, of bools and integers int64; the dtype that is asked for
    REAL_TOTAL = "real total"  # the same, but real
    MEAN = "mean"  # the same; of bools and integers there is none
    RUNNING = "running"  # as totals, but there is none as bool
    COLUMNS = "columns"  # totals of what all rows have in a place
    INT64 = "int64"  # counts and places
    CONDITION = "bool"
    TEST = "test"  # bool, but uint8 of uint8

    @property
    def is_condition(self) -> bool:
        """Whether it is true or false."""
        return self in (Kind.CONDITION, Kind.TEST)

    @property
    def in_steps(self) -> bool:
        """Whether it has no derivative: conditions, counts and places."""
        return self.is_condition or self is Kind.INT64


#: Kinds that are real of complex rows, and functions that give such.
_REAL = {Kind.REAL, Kind.REAL_TOTAL}
_GIVE_REAL = ("real", "imag", "abs")
#: Of kinds of results what the operands of native kernels are marked with.
_MARKS = {Kind.INT64: "int64", Kind.CONDITION: "bool", Kind.TEST: "bool"}


@dataclass(frozen=True, slots=True)
class Body:
    """Statements over rows: of arguments and what was computed before, by functions, reductions and scans."""

    dim: str  # the argument that says along which dim rows are, or over which; "" where they are over all
    along: Along  # and how
    rows: tuple[str, ...]  # the operands
    singles: tuple[str, ...]  # those that are one number for each row
    shared: tuple[str, ...]  # those that are one row, for all
    optional: tuple[str, ...]  # those of these that may be None
    numbers: tuple[str, ...]  # arguments that are one number for all rows
    keeps: bool  # whether an argument says that results keep the dim
    takes_dtype: bool  # whether an argument says in which dtype rows are taken
    masked: bool  # whether an argument says which results are asked for
    statements: tuple[tuple[str, Expr], ...]
    results: tuple[str, ...]
    wide: bool = False  # whether all is computed in double precision
    computed: tuple[tuple[str, Expr], ...] = ()  # numbers that functions of kernels give, of n and arguments

    @property
    def names_of_numbers(self) -> tuple[str, ...]:
        """What is one number for all rows: arguments, and what functions give."""
        return (*self.numbers, *[name for name, _ in self.computed])

    @property
    def functions_of_numbers(self) -> frozenset[str]:
        """The functions of kernels that give some of these."""
        called = [expr.function for _, expr in self.computed if isinstance(expr, Call)]
        return frozenset([function.id for function in called if isinstance(function, Name)])

    @property
    def several(self) -> bool:
        """Whether there may be several such dims."""
        return self.along is not Along.ONE

    @property
    def sizes(self) -> bool:
        """Whether an argument has the sizes of these dims, which are the last ones."""
        return self.along is Along.SIZES

    @property
    def keepdim(self) -> Expr:
        """Whether a result that is one number for each row keeps the dim."""
        return Name(KEEPDIM) if self.keeps else Constant(self.sizes)

    @property
    def dims(self) -> Expr:
        """The dims of rows, as formulas write them."""
        if not self.dim:
            return Elements("tuple", ())
        return Call(Name("last_dims"), (Name(self.dim),)) if self.sizes else Name(self.dim)

    @property
    def kept(self) -> tuple[bool, ...]:
        """Of each result whether it has the row; else it has one number for it."""
        numbers = {LENGTH, *self.names_of_numbers, *self.singles}
        for name, expr in self.statements:
            numbers |= {name} if is_number(expr, numbers) else set()
        return tuple([name not in numbers for name in self.results])

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Of each result what its elements are."""
        known = self._kinds()
        return tuple([known[name] for name in self.results])

    def _kinds(self) -> dict[str, Kind]:
        known: dict[str, Kind | None] = dict.fromkeys((LENGTH, *CONSTANTS, *self.names_of_numbers))
        for name, expr in self.statements:
            known[name] = kind_of(expr, known)
        return {name: Kind.OWN if kind is None else kind for name, kind in known.items()}

    @property
    def sums(self) -> tuple[int, ...]:
        """The numbers of the results that are sums over rows."""
        return tuple([i for i, kind in enumerate(self.kinds) if kind is Kind.COLUMNS])

    @property
    def over_tables(self) -> bool:
        """Whether rows are taken as those of tables: with numbers of their own, sums over them, or a mask."""
        return bool(self.singles or self.sums or self.masked)

    @property
    def has_kernels(self) -> bool:
        """Whether machine code may compute it: what is summed over rows needs nothing of whole rows."""
        known = self.inlined()
        apart = [is_elementwise(known[i]) and LENGTH not in names_in(known[i]) for i in self.sums]
        return all(apart)

    @property
    def asked(self) -> Expr:
        """Which results are asked for, as the mask says, and are not those of an operand that is None."""
        if not self.masked:
            return Constant(None)
        last = dict(self.statements)
        found: list[Expr] = []
        for number, name in enumerate(self.results):
            wanted: Expr = Subscript(Name(MASK), Constant(number))
            match last[name]:
                case Conditional(Name(operand), _, Constant(value=None)):
                    wanted = Logical("and", (wanted, is_given(operand)))
            found.append(wanted)
        return Elements("tuple", tuple(found))

    @property
    def alone(self) -> str:
        """The reduction or the scan of the only operand that is all of it; else ""."""
        match self.statements:
            case [(_, Call(Name(name), (Name(row),), ()))] if name in WHOLE and (row,) == self.rows:
                return name
        return ""

    @property
    def together(self) -> str:
        """The reduction that brings results of parts of a row together, means by their weights; else "".

        Of places it is one if they are those of elements of an operand.
        """
        last = dict(self.statements)
        match [last[name] for name in self.results]:
            case [Call(Name(name), (row,))] if name in PLACES:
                return name if row == Name(self.rows[0]) and len(self.statements) == 1 else ""
            case [Call(Name(name), (row,))] if name in REDUCTIONS and not self.shared:
                before = [row, *[e for n, e in self.statements if n != self.results[0]]]
                apart = all([is_elementwise(e) and LENGTH not in names_in(e) for e in before])
                return name if apart else together(self.stages(""))
        return together(self.stages(""))

    def stages(self, name: str) -> tuple[NativeKernel, ...]:
        """The native kernels of the parts of one long row; none where there are no such."""
        return () if any(self.kept) or self.shared or self.optional else staged(self.kernel(name))

    @property
    def nonempty(self) -> str:
        """A reduction for which rows must have elements, an extreme or its place; "" if there is none."""
        return next(filter(None, [_extreme(expr) for _, expr in self.statements]), "")

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
        ways = [absent for n in count for absent in combinations(self.optional, n)]
        of_rows = [self.kernel(name, absent) for absent in ways if len(self.sums) < len(self.results)]
        return [*of_rows, *[kernel for absent in ways for kernel in self._kernels_of_sums(name, absent)]]

    def _kernels_of_sums(self, name: str, absent: Collection[str]) -> list[NativeKernel]:
        """The kernels over columns, for each set of sums over rows that may be asked for together."""
        last = dict(self.statements)
        there = [i for i in self.sums if chosen(last[self.results[i]], absent) != Constant(None)]
        found = []
        for some in [some for n in range(1, len(there) + 1) for some in combinations(there, n)]:
            names = [self.results[i] for i in some]
            inputs = [Operand(row, (DOWN, LENGTH)) for row in self.rows]
            inputs += [Operand(single, (DOWN,)) for single in self.singles]
            inputs += [Operand(row, (LENGTH,)) for row in self.shared if row not in absent]
            inputs += [Operand(n) for n in self.numbers]
            outputs = [Operand(n, (LENGTH,)) for n in names]
            called = f"{name_without(name, absent)}{SUMS}{''.join([f'_{i}' for i in some])}"
            found.append(
                NativeKernel(called, tuple(inputs), tuple(outputs), self._statements_of(names, absent))
            )
        return found

    def _statements_of(
        self, results: Collection[str], absent: Collection[str]
    ) -> tuple[tuple[str, Expr], ...]:
        """The statements of a native kernel with these results, where these operands are None."""
        wanted, known = {*results}, self._kinds()
        found: list[tuple[str, Expr]] = []
        for target, expr in reversed(self.statements):
            if target in wanted:
                found.append((target, _of_machine(expr, absent, known)))
                wanted |= names_in(found[-1][1])
        return tuple(reversed(found))

    def kernel_of_columns(self, name: str) -> NativeKernel | None:
        """The native kernel over rows side by side; None where results have rows, or these share some."""
        if any(self.kept) or self.shared or self.over_tables:
            return None
        plain = self.kernel(name)
        inputs = [Operand(o.name, (DOWN, LENGTH), o.dtype) if o.dims else o for o in plain.inputs]
        outputs = [Operand(o.name, (LENGTH,), o.dtype) for o in plain.outputs]
        statements = [(target, replaced(expr, {LENGTH: Name(DOWN)})) for target, expr in plain.statements]
        name = f"{name}{IN_COLUMNS}"
        return NativeKernel(name, tuple(inputs), tuple(outputs), tuple(statements), wide=self.wide)

    def kernel(self, name: str, absent: Collection[str] = ()) -> NativeKernel:
        """The native kernel, over rows that are contiguous, with what is one number for each of them."""
        inputs = [Operand(row, (LENGTH,)) for row in self.rows]
        inputs += [Operand(single) for single in self.singles]
        inputs += [Operand(row, (LENGTH,)) for row in self.shared if row not in absent]
        inputs += [Operand(n) for n in self.names_of_numbers]
        outputs = [
            Operand(result, (LENGTH,) if kept else (), _MARKS.get(kind, ""))
            for result, kept, kind in zip(self.results, self.kept, self.kinds, strict=True)
            if kind is not Kind.COLUMNS
        ]
        statements = self._statements_of([o.name for o in outputs], absent)
        name = name_without(name, absent)
        return NativeKernel(name, tuple(inputs), tuple(outputs), statements, wide=self.wide)

    def form(self) -> Lambda:
        """The function of what reduces and scans, axes, the length of rows and the operands, over arrays.

        Reductions keep the axes.
        """
        needed = self._needed() if self.masked else {}
        steps: list[Expr] = []
        known: dict[Expr, Expr] = {}
        for target, expr in self.statements:
            value = rewritten(rewritten(_asked(expr), _of_arrays), lambda part: known.get(part, part))
            value = _where_asked(value, needed.get(target, ()))
            known[value] = Name(target)
            steps.append(Assigned(target, value))
        results = [Name(name) for name in self.results]
        last = steps[-1]
        assert isinstance(last, Assigned)
        if self.results == (last.name,):
            steps[-1] = last.value
        else:
            steps.append(results[0] if len(results) == 1 else Elements("tuple", tuple(results)))
        body = steps[0] if len(steps) == 1 else Subscript(Elements("tuple", tuple(steps)), Constant(-1))
        operands = *self.rows, *self.singles, *self.shared, *self.names_of_numbers
        asked = (ASKED,) if self.masked else ()
        return Lambda(tuple(map(Parameter, (FOLD, SCAN, AXIS, LENGTH, *asked, *operands))), body)

    def _needed(self) -> dict[str, tuple[int, ...]]:
        """By what is assigned the numbers of the results that are made of it; none where all are."""
        found = {name: {i} for i, name in enumerate(self.results)}
        for target, expr in reversed(self.statements):
            for name in names_in(expr):
                found.setdefault(name, set()).update(found.get(target, ()))
        every = len(self.results)
        return {name: tuple(sorted(of)) if len(of) < every else () for name, of in found.items()}


def kernel_of_body(method: str) -> str:
    """The name of the native kernel of an operator's body."""
    return f"{method.lstrip('_')}_of_rows"


def name_without(name: str, absent: Collection[str]) -> str:
    """The name of the native kernel where these operands are None."""
    return "_without_".join([name, *absent])


def is_given(name: str) -> Expr:
    """Whether an optional operand is not None."""
    return Operation("is not", (Name(name), Constant(None)))


def _where_asked(value: Expr, needed: Sequence[int]) -> Expr:
    """A value that is None unless one of the results that need it, if these are named, is asked for."""
    if not needed:
        return value
    match value:
        case Conditional(_, then, Constant(value=None)):  # such a result is not asked for
            value = then
    asked = tuple([Subscript(Name(ASKED), Constant(i)) for i in needed])
    return Conditional(asked[0] if len(asked) == 1 else Logical("or", asked), value, Constant(None))


def is_reduction(expr: Expr) -> bool:
    """Whether it brings a row together."""
    match expr:
        case Call(Name(name)) if name in REDUCTIONS:
            return True
    return False


def kind_of(expr: Expr, known: Mapping[str, Kind | None]) -> Kind | None:
    """What the elements of an expression are, by the kinds of names; None of numbers that all rows have."""
    match expr:
        case Constant():
            return None
        case Name(name):
            return known.get(name, Kind.OWN)
        case Operation(symbol) if symbol in ELEMENTWISE_COMPARISONS:
            return Kind.CONDITION
        case Call(Name("any" | "all")):
            return Kind.TEST
        case Call(Name(name)) if name in PLACES or name in scans.PLACES:
            return Kind.INT64
        case Subscript(value):
            return kind_of(value, known)
        case Call(Name("sum" | "prod"), (row,)):
            of = kind_of(row, known) or Kind.OWN
            return Kind.INT64 if of.is_condition else Kind.REAL_TOTAL if of in _REAL else Kind.TOTAL
        case Call(Name("mean")):
            return Kind.MEAN
        case Call(Name(name)) if name == COLUMN_SUM:
            return Kind.COLUMNS
        case Call(Name("cumsum" | "cumprod")):
            return Kind.RUNNING
        case Call(Name(name), (value,)) if name == CONSTANT:
            return kind_of(value, known)
        case Call(Name(name)) if name in _GIVE_REAL:
            return Kind.REAL
        case Conditional(_, then):
            return kind_of(then, known)
    operands = expr.arguments if isinstance(expr, Call) else expr.parts
    kinds = {
        kind for part in operands if (kind := kind_of(part, known)) is not None and not kind.is_condition
    }
    if not kinds:
        return None
    return Kind.REAL if kinds <= _REAL else Kind.OWN


def is_elementwise(expr: Expr) -> bool:
    """Whether each element is made of those in its place."""
    return not any([is_reduction(part) or Scan.read(part) is not None for part in walk(expr)])


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


def _extreme(expr: Expr) -> str:
    """An extreme, or its place, that an expression takes of rows whether they have elements or not, or ""."""
    match expr:
        case Conditional(Name(condition)) if condition == LENGTH:  # of none it is something else
            return ""
        case Call(Name(name)) if name in PLACES or name in PLACES.values():
            return name
    return next(filter(None, map(_extreme, expr.parts)), "")


def is_number(expr: Expr, numbers: Collection[str]) -> bool:
    """Whether it is one number of each row, or of all: the names of those are ``numbers``."""
    match expr:
        case Name(name):
            return name in numbers or name in CONSTANTS
        case Subscript():
            return True
        case Call(_, arguments):
            return is_reduction(expr) or all([is_number(a, numbers) for a in arguments])
        case Conditional(_, then, otherwise):
            return is_number(then, numbers) and is_number(otherwise, numbers)
    return all([is_number(part, numbers) for part in expr.parts])


def _of_machine(expr: Expr, absent: Collection[str], known: Mapping[str, Kind | None]) -> Expr:
    """An expression of a body as native kernels have it, where these operands are None."""

    def change(part: Expr) -> Expr:
        match part:
            case Call(Name(name), (value,)) if name == CONSTANT:
                return value
            case Call(Name(name), rows) if name == COLUMN_SUM:
                return Call(Name("sum"), rows)
            case Call(Name("sum"), (row,)) if _is_condition(row, known):
                return Call(Name("count"), (row,))
            case Call(Name(name), (row,)) if name in PLACES:
                found = Operation("==", (row, Call(Name(PLACES[name]), (row,))))
                return Call(Name("where_first"), (Operation("|", (found, Operation("!=", (row, row)))),))
            case Call(Name("any" | "all" as name), (row,)):
                return _tested(name, row, _is_condition(row, known))
        scan = Scan.read(part)
        return part if scan is None else scan.native()

    return rewritten(without_means(chosen(expr, absent)), change)


def _is_condition(expr: Expr, known: Mapping[str, Kind | None]) -> bool:
    kind = kind_of(expr, known)
    return kind is not None and kind.is_condition


def _tested(name: str, row: Expr, is_condition: bool) -> Expr:
    """``any`` and ``all`` of numbers or conditions, as native kernels have them: any of conditions."""
    if name == "any":
        return Call(Name("any"), (row if is_condition else Operation("!=", (row, Constant(0))),))
    fails = Operation("~x", (row,)) if is_condition else Operation("==", (row, Constant(0)))
    return Operation("~x", (Call(Name("any"), (fails,)),))


def _of_arrays(expr: Expr) -> Expr:
    """A part of a body as a function of the array namespace."""
    if (scan := Scan.read(expr)) is not None:
        return scan.called(Name(SCAN), Name(AXIS))
    match expr:
        case Call(Name(name), (value,)) if name == CONSTANT:
            return value
        case Call(Name(name), (row,)) if is_reduction(expr) or name == COLUMN_SUM:
            return Call(Name(FOLD), (Constant(name), row, Name(AXIS)))
        case Subscript(row, place):
            return Call(Name(FOLD), (Constant(AT), row, Name(AXIS), place))
        case Call(Name(name), arguments):
            return Call(dotted(f"xp.{name}"), arguments)
        case Name(name) if name in CONSTANTS:
            return dotted(f"xp.{name}")
    return expr
