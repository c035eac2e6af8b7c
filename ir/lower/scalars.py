"""Lower: expressions over scalars to instructions.

An expression is of operands, numbers, Python's operators, the machine's functions below, and functions that
have routines. What is written as a multiplication and an addition rounds twice; only ``fma`` may round once,
and sums of products: "contract" stands at both (``reductions``). So vectorised loops, their remainders and
strided loops give the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..expressions import ELEMENTWISE_COMPARISONS, Attribute, Call, Constant, Expr, Name, Operation
from ..kernels import Operand as ArrayOperand
from ..routines import FUNCTIONS, REPEAT, TO_INDEX, Routine, Routines
from .called import called
from .instructions import WIDTHS, Instructions, Kind, Unlowerable, Value, Width, float_constant

#: A value, or a number that takes the kind of what it meets.
Operand = Value | float | int

#: Instructions by Python's operators: of floating-point numbers, of integers, of conditions.
_INSTRUCTIONS = {
    "+": ("fadd", "add", ""),
    "-": ("fsub", "sub", ""),
    "*": ("fmul contract", "mul", ""),
    "/": ("fdiv", "", ""),
    "&": ("", "and", "and"),
    "|": ("", "or", "or"),
    "^": ("", "xor", "xor"),
    "<<": ("", "shl", ""),
    ">>": ("", "ashr", ""),
}
#: How comparisons are called, of floating-point numbers and of integers.
_COMPARED = dict(
    zip(
        ELEMENTWISE_COMPARISONS,
        (("oeq", "eq"), ("une", "ne"), ("olt", "slt"), ("ole", "sle"), ("ogt", "sgt"), ("oge", "sge")),
        strict=True,
    )
)
#: What is written as an operation on numbers alone is a number.
_OF_NUMBERS: Mapping[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "-x": operator.neg,
}
#: The intrinsics that LLVM calls otherwise than the language.
_RENAMED = {"abs": "fabs", "fma": "fmuladd"}
_FLOATING = (Kind.FLOAT, Kind.WIDE)
#: Names of numbers.
NAMED_NUMBERS = {"inf": float("inf"), "nan": float("nan")}


class ScalarLowering:
    """Puts out the instructions of expressions, for one scalar type."""

    def __init__(self, body: Instructions, width: str | Width, routines: Routines) -> None:
        self.body, self.routines = body, routines
        self.width = WIDTHS[width] if isinstance(width, str) else width

    def run(self, statements: Sequence[tuple[str, Expr]], env: Mapping[str, Operand]) -> dict[str, Operand]:
        """The values of all names after the statements."""
        found = dict(env)
        for name, expr in statements:
            match expr:
                case Call(Name(function), (first, condition, following)) if function == REPEAT:
                    found[name] = self._repeated(name, first, condition, following, found)
                case _:
                    found[name] = self.lower(expr, found)
        return found

    def _repeated(
        self, name: str, first: Expr, condition: Expr, following: Expr, env: Mapping[str, Operand]
    ) -> Value:
        """A loop that goes on as long as the condition holds in one of the lanes."""
        value, loop = self.value(self.lower(first, env)), self.body.name("repeat")
        now, type_ = Value(f"%now.{loop}", value.kind), self.type_of(value.kind)
        after = f"%after.{loop}"
        for label in (f"first.{loop}", loop):
            self.body.put(f"br label %{label}")
            self.body.label(label)
        self.body.put(f"{now.text} = phi {type_} [{value.text}, %first.{loop}], [{after}, %in.{loop}]")
        holds = self.lower(condition, {**env, name: now})
        assert isinstance(holds, Value)
        self.body.put(f"br i1 {self._any(holds)}, label %in.{loop}, label %end.{loop}")
        self.body.label(f"in.{loop}")
        then = self.text(self.lower(following, {**env, name: now}), value.kind)
        chooses = f"{self.type_of(Kind.BOOL)} {holds.text}"
        self.body.put(f"{after} = select {chooses}, {type_} {then}, {type_} {now.text}")
        self.body.put(f"br label %{loop}")
        self.body.label(f"end.{loop}")
        return now

    def _any(self, condition: Value) -> str:
        """Whether a condition holds in one of the lanes."""
        if not self.width.lanes:
            return condition.text
        name, type_ = f"llvm.vector.reduce.or.v{self.width.lanes}i1", self.type_of(Kind.BOOL)
        self.body.intrinsics.add(f"declare i1 @{name}({type_})")
        return self.body.add(f"call i1 @{name}({type_} {condition.text})")

    def lower(self, expr: Expr, env: Mapping[str, Operand]) -> Operand:
        """The value of an expression."""
        if isinstance(expr, Name) and expr.id in env:
            return env[expr.id]
        return self.computed(expr, lambda part: self.lower(part, env))

    def computed(self, expr: Expr, value: Callable[[Expr], Operand]) -> Operand:
        """The value of an expression, by ``value`` of what it is computed of."""
        match expr:
            case Constant(bool(number)):
                return Value(self.width.splat("i1", "true" if number else "false"), Kind.BOOL)
            case Constant(int() | float() as number):
                return number
            case Name(name) if name in NAMED_NUMBERS:
                return NAMED_NUMBERS[name]
            case Operation(symbol, operands):
                return self.operation(symbol, list(map(value, operands)))
            case Call(Name(name) | Attribute(Name("xp"), name), arguments, ()):
                return self.call(name, list(map(value, arguments)))
        raise Unlowerable(f"{type(expr).__name__.lower()} has no native form")

    # -- operators ---------------------------------------------------------------------------

    def operation(self, symbol: str, operands: Sequence[Operand]) -> Operand:
        """The value of an operator of Python's."""
        if not any([isinstance(o, Value) for o in operands]) and symbol in _OF_NUMBERS:
            return _OF_NUMBERS[symbol](*operands)
        if symbol == "-x":
            return self._negated(operands[0])
        if symbol == "+x":
            return operands[0]
        if symbol == "~x":
            return self._inverted(operands[0])
        if symbol == "**":
            return self._power(*operands)
        a, b = operands = self._without_conditions(operands)
        kind = self._common(operands)
        if symbol in _COMPARED:
            return self._comparison(symbol, a, b, kind)
        column = 0 if kind in _FLOATING else 2 if kind is Kind.BOOL else 1
        instruction = _INSTRUCTIONS.get(symbol, ("", "", ""))[column]
        if not instruction:
            raise Unlowerable(f"{symbol} of {kind.value} values has no native form")
        text = f"{instruction} {self.type_of(kind)} {self.text(a, kind)}, {self.text(b, kind)}"
        return Value(self.body.add(text), kind)

    def _without_conditions(self, operands: Sequence[Operand]) -> Sequence[Operand]:
        """Conditions that meet floating-point numbers as 1 and 0."""
        if _kinds(operands) != {Kind.BOOL, Kind.FLOAT}:
            return operands
        return [
            Value(self._converted("uitofp", o, self.type_of(Kind.FLOAT)), Kind.FLOAT)
            if isinstance(o, Value) and o.kind is Kind.BOOL
            else o
            for o in operands
        ]

    def _negated(self, operand: Operand) -> Operand:
        if not isinstance(operand, Value):
            return -operand
        if operand.kind in (Kind.INT, Kind.LONG):
            zero = self.text(0, operand.kind)
            text = f"sub {self.type_of(operand.kind)} {zero}, {operand.text}"
            return Value(self.body.add(text), operand.kind)
        if operand.kind is Kind.BOOL:
            raise Unlowerable("- of bool values has no native form")
        return Value(self.body.add(f"fneg {self.type_of(operand.kind)} {operand.text}"), operand.kind)

    def _inverted(self, operand: Operand) -> Operand:
        if not isinstance(operand, Value) or operand.kind not in (Kind.BOOL, Kind.INT):
            raise Unlowerable("~ of floating-point values has no native form")
        is_bool = operand.kind is Kind.BOOL
        ones = self.width.splat("i1" if is_bool else self.width.integer, "true" if is_bool else "-1")
        return Value(self.body.add(f"xor {self.type_of(operand.kind)} {operand.text}, {ones}"), operand.kind)

    def _power(self, base: Operand, exponent: Operand) -> Operand:
        """Python's ``**``: the exponents that array libraries compute in shorter ways, and others."""
        if exponent == 2:
            return self.operation("*", (base, base))
        if exponent == 1:
            return base
        if exponent == 0.5:
            return self.call("sqrt", (base,))
        return self.call("power", (base, exponent))

    def _comparison(self, symbol: str, a: Operand, b: Operand, kind: Kind) -> Value:
        of_floats, of_integers = _COMPARED[symbol]
        how = f"fcmp {of_floats}" if kind in _FLOATING else f"icmp {of_integers}"
        text = f"{how} {self.type_of(kind)} {self.text(a, kind)}, {self.text(b, kind)}"
        return Value(self.body.add(text), Kind.BOOL)

    # -- functions ---------------------------------------------------------------------------

    def call(self, name: str, operands: Sequence[Operand]) -> Operand:
        """The value of a function: of the machine, or of its routine."""
        is_wide = self.width.scalar == "float32" and Kind.WIDE in _kinds(operands)
        width = replace(WIDTHS["float64"], lanes=self.width.lanes) if is_wide else self.width
        routine = self.routines.get(name, {}).get(width.scalar)
        if routine is not None:
            given = [self.value(o, Kind.WIDE if is_wide else Kind.FLOAT) for o in operands]
            if is_wide or routine.repeats:
                return self._routine(name, routine, width, given)
            return self.run(routine.statements, dict(zip(routine.operands, given, strict=True)))["result"]
        if name not in FUNCTIONS and name != TO_INDEX:
            raise Unlowerable(f"{name} has no routine for {self.width.scalar}")
        own: Callable[[Sequence[Operand]], Operand] | None = getattr(self, f"_{name}", None)
        return self._intrinsic(name, operands) if own is None else own(operands)

    def _routine(self, name: str, routine: Routine, width: Width, operands: Sequence[Value]) -> Value:
        """What a routine for a width gives, by a function where it repeats something."""
        kind = self._common(operands)
        if kind not in _FLOATING:
            raise Unlowerable(f"{name} of {kind.value} values has no native form")

        def put(body: Instructions, width: Width, given: Sequence[str]) -> str:
            lowering = ScalarLowering(body, width, self.routines)
            env = {o: Value(text, Kind.FLOAT) for o, text in zip(routine.operands, given, strict=True)}
            return lowering.text(lowering.run(routine.statements, env)["result"], Kind.FLOAT)

        given = [o.text for o in operands]
        how = partial(called, name, routine, put) if routine.repeats else put
        return Value(how(self.body, width, given), kind)

    def _intrinsic(self, name: str, operands: Sequence[Operand]) -> Value:
        kind = self._common(operands, Kind.FLOAT)
        if kind not in _FLOATING:
            raise Unlowerable(f"{name} of {kind.value} values has no native form")
        width = self.width if kind is Kind.FLOAT else WIDTHS["float64"]
        lanes = f"v{self.width.lanes}" if self.width.lanes else ""
        intrinsic = f"llvm.{_RENAMED.get(name, name)}.{lanes}{width.suffix}"
        given = [self.text(o, kind) for o in operands]
        return Value(self.body.intrinsic(self.type_of(kind), intrinsic, given), kind)

    def _where(self, operands: Sequence[Operand]) -> Operand:
        condition, a, b = operands
        if not isinstance(condition, Value) or condition.kind is not Kind.BOOL:
            raise Unlowerable("where needs a condition")
        kind = self._common((a, b), Kind.FLOAT)
        type_ = self.type_of(kind)
        given = f"{type_} {self.text(a, kind)}, {type_} {self.text(b, kind)}"
        chooses = f"{self.type_of(Kind.BOOL)} {condition.text}"
        return Value(self.body.add(f"select {chooses}, {given}"), kind)

    def _maximum(self, operands: Sequence[Operand]) -> Operand:
        return self._greater("ogt", operands)

    def _minimum(self, operands: Sequence[Operand]) -> Operand:
        return self._greater("olt", operands)

    def _greater(self, how: str, operands: Sequence[Operand]) -> Operand:
        """The first operand, unless the second compares so or is NaN: fewer steps than LLVM's intrinsic."""
        kind = self._common(operands, Kind.FLOAT)
        if kind not in _FLOATING:
            raise Unlowerable(f"an extreme of {kind.value} values has no native form")
        a, b = [self.text(o, kind) for o in operands]
        type_, chooses = self.type_of(kind), self.type_of(Kind.BOOL)
        is_b = self.body.add(f"fcmp {how} {type_} {b}, {a}")
        found = self.body.add(f"select {chooses} {is_b}, {type_} {b}, {type_} {a}")
        is_nan = self.body.add(f"fcmp uno {type_} {b}, {b}")
        return Value(self.body.add(f"select {chooses} {is_nan}, {type_} {b}, {type_} {found}"), kind)

    def _poly(self, operands: Sequence[Operand]) -> Operand:
        """Horner's scheme: the point, and the coefficients from the highest on."""
        x, value, *others = operands
        for coefficient in others:
            value = self.call("fma", (value, x, coefficient))
        return value

    def _bits(self, operands: Sequence[Operand]) -> Value:
        return self._to_integer("bitcast", operands[0])

    def _to_int(self, operands: Sequence[Operand]) -> Value:
        return self._to_integer("fptosi", operands[0])

    def _to_index(self, operands: Sequence[Operand]) -> Value:
        value = self.value(operands[0])
        narrow = self.body.add(
            f"fptosi {self.type_of(value.kind)} {value.text} to {self.width.vector_of('i32')}"
        )
        long = self.type_of(Kind.LONG)
        return Value(self.body.add(f"sext {self.width.vector_of('i32')} {narrow} to {long}"), Kind.LONG)

    def _from_bits(self, operands: Sequence[Operand]) -> Value:
        return self._to_floating("bitcast", operands[0])

    def _to_float(self, operands: Sequence[Operand]) -> Value:
        return self._to_floating("sitofp", operands[0])

    def _to_integer(self, how: str, operand: Operand) -> Value:
        """An integer as wide as a floating-point value."""
        value = self.value(operand)
        kind = Kind.LONG if value.kind is Kind.WIDE else Kind.INT
        return Value(self._converted(how, value, self.type_of(kind)), kind)

    def _to_floating(self, how: str, operand: Operand) -> Value:
        """A floating-point value as wide as an integer."""
        value = operand if isinstance(operand, Value) else Value(self.text(operand, Kind.INT), Kind.INT)
        kind = Kind.WIDE if value.kind is Kind.LONG and self.width.scalar == "float32" else Kind.FLOAT
        return Value(self._converted(how, value, self.type_of(kind)), kind)

    def _wide(self, operands: Sequence[Operand]) -> Operand:
        value = self.value(operands[0])
        if self.width.scalar == "float64" or value.kind is Kind.WIDE:
            return value
        return Value(self._converted("fpext", value, self.type_of(Kind.WIDE)), Kind.WIDE)

    def _narrow(self, operands: Sequence[Operand]) -> Operand:
        value = self.value(operands[0])
        if value.kind is not Kind.WIDE:
            return value
        return Value(self._converted("fptrunc", value, self.type_of(Kind.FLOAT)), Kind.FLOAT)

    def _converted(self, how: str, value: Value, to: str) -> str:
        return self.body.add(f"{how} {self.type_of(value.kind)} {value.text} to {to}")

    # -- kinds -------------------------------------------------------------------------------

    def type_of(self, kind: Kind) -> str:
        """The type in LLVM of a kind of value."""
        return self.width.vector_of(self._element_of(kind))

    def _element_of(self, kind: Kind) -> str:
        own = {Kind.FLOAT: self.width.llvm, Kind.INT: self.width.integer}
        others = {Kind.WIDE: "double", Kind.LONG: "i64", Kind.BOOL: "i1"}
        return own.get(kind) or others[kind]

    def _common(self, operands: Sequence[Operand], default: Kind = Kind.FLOAT) -> Kind:
        """The kind of all operands that are no numbers."""
        kinds = _kinds(operands)
        if kinds == {Kind.FLOAT, Kind.WIDE}:
            raise Unlowerable("values of two widths meet: wide and narrow convert them")
        if len(kinds) > 1:
            raise Unlowerable(f"{' and '.join(sorted([k.value for k in kinds]))} values meet")
        return kinds.pop() if kinds else default

    def value(self, operand: Operand, kind: Kind = Kind.FLOAT) -> Value:
        """The operand as a value; a number as one of the kind."""
        return operand if isinstance(operand, Value) else Value(self.text(operand, kind), kind)

    def stored(self, operand: Operand, result: ArrayOperand) -> str:
        """The text of what is written to an operand of a kernel."""
        kind = {"bool": Kind.BOOL, "int64": Kind.LONG}.get(result.dtype, Kind.FLOAT)
        if isinstance(operand, Value) and operand.kind is not kind:
            raise Unlowerable(f"{result.name} is a {operand.kind.value} value")
        return self.text(operand, kind)

    def text(self, operand: Operand, kind: Kind) -> str:
        """The text of an operand where a value of the kind stands."""
        if isinstance(operand, Value):
            return operand.text
        if kind in (Kind.INT, Kind.LONG):
            if operand != int(operand):
                raise Unlowerable(f"{operand} meets an integer")
            return self.width.splat(self._element_of(kind), str(int(operand)))
        if kind is Kind.BOOL:
            raise Unlowerable(f"{operand} meets a condition")
        constant = float_constant(operand, self.width if kind is Kind.FLOAT else WIDTHS["float64"])
        return self.width.splat(self._element_of(kind), constant)


def _kinds(operands: Iterable[Operand]) -> set[Kind]:
    """The kinds of operands that are no numbers."""
    return {o.kind for o in operands if isinstance(o, Value)}
