"""Specialise: expressions that are computed by native kernels where there is one.

An elementwise expression over arrays of a Type's own dtype, which would pass over memory more than once or is
costly, becomes a kernel of its own: the machine code of it is one loop. Which of the two computes is asked
where the code runs: the namespace of kernels has None where there is no native one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...ir.bodies import Body
from ...ir.expressions import (
    Assigned,
    Attribute,
    Call,
    Conditional,
    Constant,
    Expr,
    Keyword,
    Logical,
    Name,
    Operation,
    free_names,
    mapped,
    replaced,
    rewritten,
    walk,
)
from ...ir.kernels import REDUCED, SCALARS, NativeKernel, Operand
from ...ir.lower.instructions import Instructions, Kind, Unlowerable, Value
from ...ir.lower.kernels import lower, row_of
from ...ir.lower.scalars import NAMED_NUMBERS, Operand as ScalarOperand, ScalarLowering
from ...ir.routines import Routines
from ...ir.types import Dtype, Types
from ..check.lowered import Lowered
from ..model.operators import Primitive
from .blocks import CostModel

#: The namespace of kernels in generated modules, and the name of the one that is called.
KERNELS, KERNEL = "_kernels", "_k"
#: In the place of an array to write to: a new one.
_NEW = Constant(...)


@dataclass(frozen=True, slots=True)
class NativeForm:
    """The kernels of one expression, and what they are given."""

    kernel: Expr  # gives the kernel, or None
    given: tuple[Expr, ...]

    @property
    def there(self) -> Expr:
        """The condition that there is a kernel."""
        return Operation("is not", (Assigned(KERNEL, self.kernel), Constant(None)))

    def plain(self, out: Expr = _NEW) -> Expr:
        """What the kernel gives in a new array, or in ``out``."""
        return Call(Name(KERNEL), self.given, (Keyword("out", out),))

    def in_shares(self, runner: Expr, into: str = "") -> Expr:
        """The same of large arrays, whose work threads share."""
        keywords = (Keyword("into", Name(into)),) if into else ()
        return Call(runner, (Name(KERNEL), *self.given), keywords)

    def of_reduced(self, runner: Expr) -> Expr:
        """What the kernel's form for a reduced type gives for arrays of that."""
        return Call(runner, (Name(KERNELS), Name(KERNEL), *self.given))

    def otherwise(self, call: Expr, numpy: Expr) -> Expr:
        """A call of the kernel where there is one, else NumPy's form."""
        return Conditional(self.there, call, numpy)


class NativeForms:
    """Makes the native forms of expressions, and collects their kernels."""

    def __init__(self, routines: Routines, primitives: Mapping[str, Primitive], lowered: Lowered) -> None:
        self.routines, self.lowered = routines, lowered
        self.costs = CostModel(primitives)
        #: Of arrays of the Type's own dtype they give arrays of it.
        self.functions = frozenset([name for name, found in routines.items() if found.keys() >= set(SCALARS)])
        self.kernels: dict[str, NativeKernel] = {}
        self.bodies: set[str] = set()  # those of which the kernels are made already

    def form(
        self,
        name: str,
        tree: Expr,
        types: Types,
        given: Mapping[str, Expr],
        scalar: Expr,
        forced: bool = False,
    ) -> NativeForm | None:
        """The form of an expression over names; None where it has none, or is not worth one.

        ``given`` are the expressions that the names stand for, ``scalar`` is the function that makes a number
        one of the dtype. ``forced``: it is declared as a native form, whose worth nobody asks.
        """
        reader = _Reader(types)
        try:
            branches = list(reader.branches(tree))
        except Unlowerable:
            return None
        inputs = tuple(reader.inputs.values())
        if all([operand.dtype for operand in inputs]):
            return None
        forced = forced or any([operand.dtype == "bool" for operand in inputs])  # NumPy chooses slowly
        kernels = []
        for number, (_, branch) in enumerate(branches):
            suffix = f"_{number}" if len(branches) > 1 else ""
            made = NativeKernel(f"{name}{suffix}", inputs, (Operand("result"),), (("result", branch),))
            worth = forced or len(branches) == 1 or self.costs.worth(branch, types)
            kernels.append(made if worth and branch != Constant(None) else None)
        some = [k for k in kernels if k is not None]
        fresh = [k for k in some if k.name not in self.kernels]
        if not (forced or self.costs.worth(tree, types)) or not all([self._lowers(k) for k in fresh]):
            return None
        assert all([self.kernels.get(k.name, k) == k for k in some]), name
        self.kernels.update({k.name: k for k in some})
        named = _kernel_of(kernels[-1])
        for (condition, _), kernel in zip(reversed(branches[:-1]), reversed(kernels[:-1]), strict=True):
            named = Conditional(_asked(condition, given), _kernel_of(kernel), named)
        tested = _tested(branches)
        optional = {
            operand.name: name
            for expr, operand in reader.inputs.items()
            for name in tested & {part.id for part in free_names(expr)}
            if any([Name(operand.name) not in walk(k.statements[0][1]) for k in some])
        }
        arguments = _Arguments(reader.inputs, given, scalar, optional)
        return NativeForm(named, arguments.all())

    def of_body(self, name: str, body: Body) -> Expr:
        """The namespace with the kernels of a body, for each scalar type; None where it has none."""
        if name not in self.bodies:
            kernels = body.kernels(name) if body.has_kernels else []
            if not kernels or not all(map(self._lowers_whole, kernels)):
                return Constant(None)
            columns = body.kernel_of_columns(name)
            kernels += [columns] if columns is not None and self._lowers_whole(columns) else []
            reduced = () if body.over_tables else REDUCED
            made = [k for kernel in kernels for k in (kernel, *map(kernel.reduced, reduced))]
            made += body.stages(name) if body.together.endswith(";") else ()
            self.kernels.update({k.name: k for k in made})
            self.bodies.add(name)
        return Name(KERNELS)

    def _lowers_whole(self, kernel: NativeKernel) -> bool:
        """Whether a kernel over rows or columns has machine code, for each scalar type."""
        return self.lowered.knows(str(row_of(kernel)), lambda: self._sees_whole(kernel))

    def _lowers(self, kernel: NativeKernel) -> bool:
        """Whether all that a kernel computes has a native form, for each scalar type."""
        return self.lowered.knows(f"{row_of(kernel)} by element", lambda: self._sees(kernel))

    def _sees_whole(self, kernel: NativeKernel) -> bool:
        try:
            for scalar in SCALARS:
                lower(kernel, self.routines, scalar)
        except Unlowerable:
            return False
        return True

    def _sees(self, kernel: NativeKernel) -> bool:
        kinds = {"bool": Kind.BOOL, "int64": Kind.LONG}
        for scalar in SCALARS:
            lowering = ScalarLowering(Instructions(), scalar, self.routines)
            env: dict[str, ScalarOperand] = {
                o.name: Value(f"%{o.name}", kinds.get(o.dtype, Kind.FLOAT)) for o in kernel.inputs
            }
            try:
                result = lowering.run(kernel.statements, env)["result"]
            except (Unlowerable, ValueError):
                return False
            if isinstance(result, Value) and result.kind is not Kind.FLOAT:
                return False
        return True


@dataclass(frozen=True, slots=True)
class _Arguments:
    """What kernels are given of the operands of an expression."""

    operands: Mapping[Expr, Operand]
    given: Mapping[str, Expr]  # what the names of the expression stand for
    scalar: Expr  # the function that makes a number one of the dtype
    optional: Mapping[str, str]  # of operands that kernels may not look at, the name that is then None

    def all(self) -> tuple[Expr, ...]:
        return tuple([self._argument(expr, operand) for expr, operand in self.operands.items()])

    def _argument(self, expr: Expr, operand: Operand) -> Expr:
        value, number = replaced(expr, self.given), operand.dtype == "number"
        if operand.name in self.optional:
            other: Expr = Constant(0 if number else False)
            if not operand.dtype:
                first = (e for e, o in self.operands.items() if not o.dtype and o.name not in self.optional)
                other = replaced(next(first), self.given)
            match value:
                case Conditional(_, Constant(value=None), there):
                    value = there
            absent = Operation("is", (Name(self.optional[operand.name]), Constant(None)))
            value = Conditional(absent, other, value)
        return Call(self.scalar, (value,)) if number else value


def _asked(condition: Expr, given: Mapping[str, Expr]) -> Expr:
    """The condition of what the names stand for; whether an operand is None is asked of itself."""

    def change(part: Expr) -> Expr:
        match part:
            case Operation(
                "is" | "is not" as symbol, (Conditional(Operation("is", absent)), Constant(value=None))
            ):
                return Operation(symbol, absent)
        return part

    return rewritten(replaced(condition, given), change)


def _tested(branches: Iterable[tuple[Expr, Expr]]) -> set[str]:
    """The names of which conditions ask whether they are None."""
    found = set()
    for condition, _ in branches:
        for part in walk(condition):
            match part:
                case Operation("is" | "is not", (Name(name), Constant(value=None))):
                    found.add(name)
    return found


def _kernel_of(kernel: NativeKernel | None) -> Expr:
    """What gives a kernel; None for a way that has none."""
    return Constant(None) if kernel is None else Attribute(Name(KERNELS), kernel.name)


def _is_constant(expr: Expr) -> bool:
    """Whether a number is made of written ones alone."""
    return isinstance(expr, Constant | Operation) and all(map(_is_constant, expr.parts))


def _known(condition: Expr) -> bool | None:
    """Whether a condition holds that compares what is written, as a word that a formula gives."""
    match condition:
        case Operation("==" | "!=" as symbol, (Constant(a), Constant(b))):
            return (a == b) is (symbol == "==")
    return None


def _ways(expr: Expr, condition: Expr) -> tuple[Expr, Expr]:
    """The expression where a condition holds, and where it does not."""

    def choose(part: Expr, holds: bool) -> Expr:
        if not isinstance(part, Conditional) or part.condition != condition:
            return part
        return part.then if holds else part.otherwise

    return rewritten(expr, lambda part: choose(part, True)), rewritten(expr, lambda part: choose(part, False))


class _Reader:
    """Reads which operands an expression has, and which ways it may go."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.inputs: dict[Expr, Operand] = {}

    def branches(self, expr: Expr, *held: Expr) -> Iterator[tuple[Expr, Expr]]:
        """The ways of an expression, each with the condition that it is the first to fulfil."""
        choice = self._choice(expr)
        if choice is None:
            condition = Logical("and", held) if len(held) > 1 else held[0] if held else Constant(True)
            yield condition, self.operand(expr)
            return
        then, otherwise = _ways(expr, choice.condition)
        if (holds := _known(choice.condition)) is not None:
            yield from self.branches(then if holds else otherwise, *held)
            return
        yield from self.branches(then, *held, choice.condition)
        yield from self.branches(otherwise, *held)

    def _choice(self, expr: Expr) -> Conditional | None:
        """The first part of an expression that plain values choose."""
        for part in walk(expr):
            if isinstance(part, Conditional) and not self.types.of(part.condition).may_be_array:
                return part
        return None

    def operand(self, expr: Expr) -> Expr:
        """The expression with operands of the kernel for what is computed before it."""
        type_ = self.types.of(expr)
        if expr == Constant(None):  # this way is left to NumPy's form
            return expr
        if isinstance(expr, Constant) and type_.is_number:
            return expr
        if isinstance(expr, Name) and type_.may_be_array:
            return self._array(expr)
        if isinstance(expr, Attribute) and expr.value == Name("xp") and expr.name in NAMED_NUMBERS:
            return Name(expr.name)
        if type_.is_number:
            return expr if _is_constant(expr) else self._input(expr, "number")
        if not type_.may_be_array:
            raise Unlowerable("it is neither an array nor a number")
        if type_.dtype is Dtype.BOOL and isinstance(expr, Call):  # of a function that looks at a condition
            return self._input(expr, "bool")
        if isinstance(expr, Call):
            return Call(expr.function, tuple(map(self.operand, expr.arguments)), expr.keywords)
        return mapped(expr, self.operand)

    def _array(self, expr: Name) -> Expr:
        dtype = self.types.of(expr).dtype
        if dtype is Dtype.BOOL:
            return self._input(expr, "bool")
        if dtype is not Dtype.OWN:
            raise Unlowerable("an array of another dtype")
        return self._input(expr, "")

    def _input(self, expr: Expr, dtype: str) -> Expr:
        if expr not in self.inputs:
            name = expr.id if isinstance(expr, Name) else f"s{len(self.inputs)}"
            self.inputs[expr] = Operand(name, (), dtype)
        return Name(self.inputs[expr].name)
