"""Check: routines of functions, in primitives.yaml.

A routine is arithmetic over the bits and the values of floating-point numbers, without branches, so that
loops over it vectorise. declarations/README.md describes the language. Every value is of a kind that is known
here: a float or an int of the routine's width, a ``wide`` one of twice the width, or a bool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...ir.expressions import ELEMENTWISE_COMPARISONS, Call, Constant, Expr, Foreign, Name, Operation, walk
from ...ir.kernels import SCALARS
from ...ir.reader import read_assignments
from ...ir.routines import FUNCTIONS, REPEAT, Function, Routine
from ..model.diagnostics import Report, one_of, suggestion
from ..model.names import OPERANDS
from ..model.source import Located
from ..read.fields import check_keys, known_word, require_keys
from ..read.keys import Key

#: The dtypes whose ``wide`` is another.
WIDENED = ("float32",)
_WIDE = "float64"

_FUNCTION_KEYS = {
    key.name: key
    for key in (
        Key("arguments", ("number",), "how many arguments it takes"),
        Key("native", ("map",), "its routines, by dtype"),
    )
}
_ROUTINE_KEYS = {
    key.name: key
    for key in (
        Key("ulp", ("number",), "by how many units in the last place it may be wrong"),
        Key("routine", ("str",), "assignments, the last of which is to result"),
    )
}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value of a routine is; a number that is written takes the kind of what it meets."""

    name: str  # "float" | "int" | "bool" | "number", which is an int as written
    is_wide: bool = False

    def __str__(self) -> str:
        return f"wide {self.name}" if self.is_wide else self.name


FLOAT, INT, BOOL = Kind("float"), Kind("int"), Kind("bool")
#: Of what is written: 0.5, inf, 1.
_REAL, _NUMBER = Kind("real"), Kind("number")
_CONSTANTS = ("inf", "nan")
_RESULT = "result"


_FLOAT_OR_INT = ("float", "int")
#: The operators of the language, and the kinds of their operands.
_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "+": _FLOAT_OR_INT,
    "-": _FLOAT_OR_INT,
    "*": _FLOAT_OR_INT,
    "/": ("float",),
    "-x": _FLOAT_OR_INT,
    "<<": ("int",),
    ">>": ("int",),
    "&": ("bool", "int"),
    "|": ("bool", "int"),
    **dict.fromkeys(ELEMENTWISE_COMPARISONS, _FLOAT_OR_INT),
}


#: A routine: the function, and the dtype that it is for.
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Declared:
    """A function with routines as they are read, before their calls are checked."""

    arguments: int
    routines: Mapping[str, Located]
    bounds: Mapping[str, float]


def load_routines(
    primitives: Mapping[str, Located], others: Mapping[str, Located], dtypes: Iterable[str], report: Report
) -> dict[str, dict[str, Routine]]:
    """The routines of primitives and of other functions, by function and dtype; mistakes are reported."""
    known = [d for d in SCALARS if d in dtypes]
    declared = {}
    for name, row in others.items():
        if name in primitives:
            message, expected = f'"{name}" is a primitive', f"its routines in pointwise, at {name}"
            report.error(row.key or row.place, message, length=len(name), expected=expected)
    for name, row in (*others.items(), *primitives.items()):
        if isinstance(row.value, dict) and ("native" in row.value or name not in primitives):
            fields = row.value if name in primitives else _own_fields(name, row, report)
            made = _declared(name, fields, known, report)
            if made is not None:
                declared[name] = made
        elif name not in primitives:
            expected = "{arguments: 1, native: {float32: ..., float64: ...}}"
            report.error(row.place, f'"{name}" is a mapping of keys to values', expected=expected)
    found: dict[str, dict[str, Routine]] = {name: {} for name in declared}
    calls: dict[_Key, set[_Key]] = {}
    for name, function in declared.items():
        for dtype, text in function.routines.items():
            checker = _Checker(name, dtype, function, text, declared, report)
            routine = checker.routine()
            if routine is not None:
                found[name][dtype] = routine
                calls[name, dtype] = checker.calls
    _check_circles(calls, declared, report)
    return {name: routines for name, routines in found.items() if routines}


def _own_fields(name: str, row: Located, report: Report) -> dict[str, Located]:
    """The fields of a function of the section ``native``."""
    require_keys(row.value, ("arguments", "native"), _FUNCTION_KEYS, row.place, report)
    return check_keys(row.value, _FUNCTION_KEYS, f"the function {name}", report)


def _declared(
    name: str, fields: Mapping[str, Located], dtypes: Sequence[str], report: Report
) -> _Declared | None:
    """A function's routines, not yet understood."""
    count, native = fields.get("arguments"), fields.get("native")
    if count is None or native is None or not isinstance(native.value, dict):
        return None
    if count.value not in range(1, len(OPERANDS) + 1):
        report.error(count.place, f"a routine of {count.value} operands", expected=f"1 to {len(OPERANDS)}")
        return None
    routines, bounds = {}, {}
    for dtype, row in native.value.items():
        if not known_word(dtype, row.key or row.place, dtypes, "dtype of a routine", report):
            continue
        if not isinstance(row.value, dict):
            expected = "{ulp: 1, routine: ...}"
            report.error(row.place, "a routine has a bound and a text", expected=expected)
            continue
        keys = check_keys(row.value, _ROUTINE_KEYS, f"the routine of {name}", report)
        require_keys(row.value, _ROUTINE_KEYS, _ROUTINE_KEYS, row.place, report)
        if "ulp" in keys and not keys["ulp"].value > 0:
            place = keys["ulp"].place
            report.error(place, f"a bound of {keys['ulp'].value} ulp", expected="a number above 0, as 1")
        elif "ulp" in keys and "routine" in keys:
            routines[dtype], bounds[dtype] = keys["routine"], float(keys["ulp"].value)
    return _Declared(int(count.value), routines, bounds)


def _check_circles(
    calls: Mapping[_Key, set[_Key]], declared: Mapping[str, _Declared], report: Report
) -> None:
    """Reports routines that call themselves, through others or not."""
    for key in calls:
        reached: set[_Key] = set()
        waiting = [key]
        while waiting:
            fresh = calls.get(waiting.pop(), set()) - reached
            reached |= fresh
            waiting += fresh
        if key in reached:
            name, dtype = key
            message = f"the routine of {name} calls itself"
            report.error(declared[name].routines[dtype].place, message, expected="routines without circles")


def _repeats(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function == Name(REPEAT)


class _Checker:
    """Checks the text of one routine."""

    def __init__(
        self,
        name: str,
        dtype: str,
        function: _Declared,
        text: Located,
        declared: Mapping[str, _Declared],
        report: Report,
    ) -> None:
        self.name, self.dtype, self.function, self.text = name, dtype, function, text
        self.declared, self.report = declared, report
        self.operands = OPERANDS[: function.arguments]
        #: The kinds of names; None after a mistake.
        self.kinds: dict[str, Kind | None] = dict.fromkeys(self.operands, FLOAT)
        self.calls: set[_Key] = set()
        self.good = True

    def routine(self) -> Routine | None:
        """The routine, if nothing is wrong with it."""
        try:
            assignments = read_assignments(self.text.value)
        except SyntaxError as error:
            lines = self.text.value.split("\n")[: (error.lineno or 1) - 1]
            offset = sum(len(line) + 1 for line in lines) + max(0, (error.offset or 1) - 1)
            place = self.text.at(min(offset, len(self.text.value)))
            message = f"the routine is not made of assignments: {error.msg}"
            self.report.error(place, message, expected="name = expression, one a line")
            return None
        statements = []
        for target, value in assignments:
            if isinstance(target, Name):
                self.assign(target, value)
                statements.append((target.id, value))
            else:
                self.error(target, "a routine is made of assignments", expected="name = expression")
        self.check_whole(assignments)
        if not self.good:
            return None
        return Routine(self.operands, tuple(statements), self.function.bounds[self.dtype])

    def assign(self, target: Name, value: Expr) -> None:
        """Checks an assignment, and notes the kind of its name."""
        name = target.id
        kind = self.repeated(name, value) if _repeats(value) else self.kind(value)
        if name in self.kinds or name in (*_CONSTANTS, REPEAT) or name in FUNCTIONS:
            self.error(target, f'"{name}" has a meaning already', expected="a name that is assigned once")
        self.kinds[name] = kind

    def repeated(self, name: str, value: Expr) -> Kind | None:
        """The kind of a name that stands for the value so far in the condition and in what follows."""
        assert isinstance(value, Call)
        if len(value.arguments) != 3:
            return self.error(
                value, f"{REPEAT} is called with {len(value.arguments)} arguments", "3 arguments"
            )
        first, condition, following = value.arguments
        known = self.kinds.copy()
        kind = self.kind(first)
        kind = FLOAT if kind in (_REAL, _NUMBER) else kind
        self.kinds[name] = kind
        holds, then = self.kind(condition), self.kind(following)
        self.kinds = known
        if kind is None or holds is None or then is None:
            return None
        if holds != BOOL:
            return self.error(condition, f"a condition of the kind {holds}", expected="bool")
        if then not in (kind, _NUMBER) and (then, kind) != (_REAL, FLOAT):
            return self.error(following, f"what follows is of the kind {then}", expected=str(kind))
        return kind

    def check_whole(self, assignments: Sequence[tuple[Expr, Expr]]) -> None:
        """Whether the last assignment is to the result, and every name is used."""
        used = {node.id for _, value in assignments for node in walk(value) if isinstance(node, Name)}
        last = assignments[-1][0] if assignments else None
        if not self.good:
            return
        if last != Name(_RESULT):
            self.good = False
            place = self.text.place if last is None else self.text.at(last.span[0])
            expected = f"{_RESULT} = expression, as the last line"
            self.report.error(place, f"the routine of {self.name} has no {_RESULT}", expected=expected)
        elif self.kinds[_RESULT] not in (FLOAT, _REAL, _NUMBER):
            given = self.kinds[_RESULT]
            self.error(assignments[-1][1], f"the {_RESULT} is of the kind {given}", expected=str(FLOAT))
        for target, _ in assignments:
            if isinstance(target, Name) and target.id not in used and target != last:
                self.error(target, f'"{target.id}" is not used', expected="a name that a later line uses")
        for operand in self.operands:
            if operand not in used:
                self.good = False
                message = f"the routine of {self.name} does not use {operand}"
                self.report.error(self.text.place, message, expected="a routine of all operands")

    # -- kinds ---------------------------------------------------------------------------------

    def kind(self, expr: Expr) -> Kind | None:
        """The kind of an expression; None if there is a mistake in it, which is reported."""
        match expr:
            case Constant(value) if type(value) in (int, float):
                return _NUMBER if isinstance(value, int) else _REAL
            case Name(name):
                return self.name_kind(expr, name)
            case Operation(symbol, operands) if symbol in _OPERATIONS:
                kinds = [self.kind(o) for o in operands]
                known = [k for k in kinds if k is not None]
                return self.operation(expr, symbol, known) if len(known) == len(kinds) else None
            case Call(Name(), arguments, ()):
                kinds = [self.kind(a) for a in arguments]
                known = [k for k in kinds if k is not None]
                return self.call(expr, known, len(known) == len(kinds))
        what = "a statement" if isinstance(expr, Foreign) else "this"
        message = f"{what} is not in the language of routines"
        symbols = " ".join(_OPERATIONS)
        return self.error(expr, message, expected=f"a call, a number, a name, or one of {symbols}")

    def name_kind(self, expr: Expr, name: str) -> Kind | None:
        """The kind of a name."""
        if name in _CONSTANTS:
            return _REAL
        if name in self.kinds:
            return self.kinds[name]
        expected = "an operand, a name that is assigned before, inf or nan"
        close = suggestion(name, [*self.kinds, *_CONSTANTS])
        return self.error(expr, f'unknown name "{name}" in the routine of {self.name}', expected, close)

    def operation(self, expr: Expr, symbol: str, kinds: Sequence[Kind]) -> Kind | None:
        """The kind of an operation."""
        if symbol == "-x" and kinds[0] in (_NUMBER, _REAL):
            return kinds[0]
        if all(k in (_NUMBER, _REAL) for k in kinds):
            return self.error(expr, "an operation on numbers alone", expected="the number that it gives")
        common = self.common(expr, kinds, _OPERATIONS[symbol])
        return BOOL if common is not None and symbol in ELEMENTWISE_COMPARISONS else common

    def call(self, expr: Call, kinds: Sequence[Kind], good: bool) -> Kind | None:
        """The kind of a call's result."""
        assert isinstance(expr.function, Name)
        name = expr.function.id
        if name == REPEAT:
            return self.error(expr, f"{REPEAT} stands in something else", f"name = {REPEAT}(...)")
        function = FUNCTIONS.get(name)
        if function is None:
            is_wide = any([kind.is_wide for kind in kinds])
            function = self.declared_function(expr.function, _WIDE if is_wide else self.dtype)
        if function is None:
            return None
        count = len(expr.arguments)
        if count < len(function.takes) or (count > len(function.takes) and not function.repeats):
            takes = f"{len(function.takes)}{' or more' if function.repeats else ''}"
            return self.error(expr, f"{name} is called with {count} arguments", f"{takes} arguments")
        if not good:
            return None
        if function.takes[0] == "bool" and kinds[0] != BOOL:
            return self.error(expr.arguments[0], f"a condition of the kind {kinds[0]}", expected="bool")
        others = kinds[1:] if function.takes[0] == "bool" else kinds
        allowed = _FLOAT_OR_INT if function.takes[-1] == "any" else function.takes[-1:]
        common = self.common(expr, others, allowed)
        if common is None:
            return None
        kind = Kind(common.name if function.gives == "any" else function.gives, common.is_wide)
        return self.widened(expr, kind, function.widens) if function.widens else kind

    def widened(self, expr: Expr, kind: Kind, widens: int) -> Kind | None:
        """The kind of the result of ``wide`` and ``narrow``."""
        expected = "wide of a float, narrow of a wide float"
        if self.dtype not in WIDENED:
            return self.error(expr, f"nothing is wider than {self.dtype}", expected)
        if kind.is_wide == (widens > 0):
            return self.error(expr, f"this is of the kind {kind} already", expected)
        return Kind(kind.name, widens > 0)

    def declared_function(self, name: Name, dtype: str) -> Function | None:
        """A function that has a routine for a dtype."""
        found = self.declared.get(name.id)
        if found is not None and dtype in found.routines:
            self.calls.add((name.id, dtype))
            return Function(("float",) * found.arguments, "float")
        with_routines = [n for n, f in self.declared.items() if dtype in f.routines]
        known = [*FUNCTIONS, *with_routines]
        message = f'unknown function "{name.id}" in the routine of {self.name}'
        expected = f"{one_of(FUNCTIONS)}, or one with a {dtype} routine"
        self.error(name, message, expected, suggestion(name.id, known))
        return None

    def common(self, expr: Expr, kinds: Sequence[Kind], allowed: Sequence[str]) -> Kind | None:
        """The kind of operands that must be of one; numbers that are written are of the others' kind."""
        given = {k for k in kinds if k not in (_NUMBER, _REAL)}
        if not given:  # numbers alone, as operands of a function
            given = {FLOAT if "float" in allowed else INT}
        if len(given) > 1:
            shown = " and ".join(sorted(map(str, given)))
            return self.error(expr, f"operands of different kinds: {shown}", expected="operands of one kind")
        kind = next(iter(given))
        if kind.name not in allowed or (_REAL in kinds and kind.name != "float"):
            given_kind = FLOAT if kind.name in allowed else kind
            expected = str(kind) if kind.name in allowed else " or ".join(allowed)
            return self.error(expr, f"an operand of the kind {given_kind}", expected)
        return kind

    def error(self, expr: Expr, message: str, expected: str, help: str = "") -> Kind | None:
        """Reports a mistake at an expression, of which there is then no kind."""
        self.good = False
        start, end = expr.span
        line_end = self.text.value.find("\n", start)
        length = max(1, min(end, line_end if line_end >= 0 else end) - start)
        self.report.error(self.text.at(start), message, length=length, expected=expected, help=help)
        return None
