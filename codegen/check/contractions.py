"""Check: bodies of operators that are contractions.

    over mm_shape(self, mat2)
    out[i, k] = sum(self[i, j] * mat2[j, k])

The first line, which may be missing, names a function that words the errors of shapes. The other says by the
names of dims what is multiplied and summed, and what is added to that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...ir.contractions import SEVERAL, Contraction, Factor, in_text
from ...ir.expressions import Call, Elements, Expr, Name, Operation, Starred, Subscript
from ..model.diagnostics import Report, one_of, suggestion
from ..model.schema import Schema
from ..model.source import Entry, Located, Place
from ..read.fields import report_scalar
from ..read.functions import FunctionIndex
from .body_text import RESULT, BodyReader

_DIMS = r"\[\*?\w+(?:, *\*?\w+)*\]"
_IS_CONTRACTION = re.compile(rf"^{RESULT}(?:{_DIMS})? *= .*\bsum\((?:conj\()?\w+\[", re.M)
_LINE = f"{RESULT}[i, k] = sum(self[i, j] * other[j, k])"
_NUMBERS = ("Scalar", "float", "int")


def is_contraction(body: Located) -> bool:
    """Whether a body says what is multiplied and summed along dims that have names."""
    return _IS_CONTRACTION.search(str(body.value)) is not None


def read_contraction(
    schema: Schema, located: Located, functions: FunctionIndex, report: Report
) -> Contraction | None:
    """The body that a text says; None where it is wrong, which is reported."""
    return _Reader(schema, located, functions, report).contraction()


class _Reader(BodyReader):
    """Reads one body."""

    head = _LINE

    def __init__(
        self, schema: Schema, located: Located, functions: FunctionIndex | None, report: Report
    ) -> None:
        super().__init__(schema, located, functions, report)
        self.optional = {a.name for a in schema.arguments if a.is_tensor and a.type.is_optional}
        self.numbers = [a.name for a in schema.arguments if str(a.type) in _NUMBERS]

    def contraction(self) -> Contraction | None:
        """The body, if all of it is right."""
        if (found := self.parsed()) is None:
            return None
        over, lines = found
        if len(lines) != 1:
            report_scalar(self.located, "a contraction is one line", _LINE, self.report)
            return None
        ((target, value),) = lines
        out = self.out(target)
        beta, added, alpha, product = self.terms(value)
        factors = self.factors(product, value)
        uses = [f.name for f in factors or ()] + [added] * bool(added)
        operands = tuple([name for name in self.tensors for used in uses if used == name])
        if over is not None:
            self.function(over, operands if factors else self.tensors)
        if factors is None or not self.good:
            return None
        self.dims(factors, out, target)
        self.operands(operands, value)
        made = Contraction(over, factors, out, added, added in self.optional, beta, alpha, operands)
        return made if self.good else None

    def function(self, over: Expr, operands: Sequence[str]) -> None:
        """Report what is no call of a kernel function with the operands."""
        match over:
            case Call(Name(name), arguments, ()):
                functions = self.functions
                if functions is not None and len(functions.find(name)) != 1:
                    help = suggestion(name, functions.names())
                    expected = "a function of runtime/kernels/ that takes shapes, and gives the result's"
                    self.wrong(f'unknown function "{name}"', over, expected, help)
                elif list(arguments) != [Name(o) for o in operands]:
                    self.wrong(
                        f"{name} gets the shapes of all operands, in their order",
                        over,
                        f"over {name}({', '.join(operands)})",
                    )
            case _:
                expected = f"over shapes({', '.join(operands)}), a function that words errors"
                self.wrong("this says nothing of shapes", over, expected)

    def out(self, target: Expr) -> tuple[str, ...]:
        """The dims of the result."""
        match target:
            case Name(name) if name == RESULT:
                return ()
            case Subscript(Name(name), index) if name == RESULT:
                return self.named(index)
        self.wrong("this is not the result", target, _LINE)
        return ()

    def named(self, index: Expr) -> tuple[str, ...]:
        """The names of dims in an index."""
        found: list[str] = []
        for part in index.elements if isinstance(index, Elements) else (index,):
            match part:
                case Name(name):
                    found.append(name)
                case Starred(Name(name)):
                    found.append(f"{SEVERAL}{name}")
                case _:
                    self.wrong("each dim has a name", part, "i, or *b for any number of dims")
                    continue
            if found[-1] in found[:-1]:
                self.wrong(f'"{found[-1]}" is there already', part, "each dim once")
        return tuple(found)

    def terms(self, value: Expr) -> tuple[str, str, str, Expr]:
        """The number and the operand that are added, the number of the product, and that."""
        beta = added = ""
        match value:
            case Operation("+", (first, second)):
                one, other = (second, first) if _is_product(first) else (first, second)
                value = other
                match one:
                    case Operation("*", (Name(beta), Name(added))):
                        self.number(beta, one)
                    case Name(added):
                        pass
                    case _:
                        self.wrong("this cannot be added", one, one_of([f"beta * {t}" for t in self.tensors]))
                if added and added not in self.tensors:
                    self.wrong(
                        f'"{added}" is no Tensor', one, one_of(self.tensors), suggestion(added, self.tensors)
                    )
        alpha = ""
        match value:
            case Operation("*", (Name(alpha), product)):
                self.number(alpha, value)
                value = product
        if alpha and not added:
            self.wrong("a product alone has no number", value, f"beta * operand + {alpha} * sum(...)")
        return beta, added, alpha, value

    def number(self, name: str, at: Expr) -> None:
        """Report a factor that is no argument for a number."""
        if name not in self.numbers:
            self.wrong(f'"{name}" is no number', at, one_of(self.numbers or ["a Scalar argument"]))

    def factors(self, product: Expr, at: Expr) -> tuple[Factor, Factor] | None:
        """The two operands that are multiplied."""
        match product:
            case Call(Name("sum"), (Operation("*", (first, second)),), ()):
                found = [self.factor(first), self.factor(second)]
                return None if None in found else (found[0], found[1])  # type: ignore[return-value]
        self.wrong("this is no sum of products of two operands", product, _LINE)
        return None

    def factor(self, expr: Expr) -> Factor | None:
        """``self[i, j]``, or ``conj(self[i, j])``."""
        match expr:
            case Call(Name("conj"), (inner,), ()):
                made = self.factor(inner)
                return None if made is None else replace(made, conjugated=not made.conjugated)
            case Subscript(Name(name), index) if name in self.tensors and name not in self.optional:
                return Factor(name, self.named(index), False)
            case Subscript(Name(name)):
                there = [t for t in self.tensors if t not in self.optional]
                self.wrong(
                    f'"{name}" is no Tensor that is always there',
                    expr,
                    one_of(there),
                    suggestion(name, there),
                )
                return None
        self.wrong("this is no operand with its dims", expr, "self[i, j], or conj(self[i, j])")
        return None

    def dims(self, factors: tuple[Factor, Factor], out: tuple[str, ...], target: Expr) -> None:
        """Report dims that could not be found, or summed."""
        first, second = factors
        for name in out:
            if name not in (*first.dims, *second.dims):
                self.wrong(f'no operand has the dim "{name}"', target, one_of([*first.dims, *second.dims]))
        for one, other in ((first, second), (second, first)):
            for name in one.dims:
                if name not in (*other.dims, *out):
                    self.wrong(
                        f'"{name}" is summed of {one.name} alone',
                        target,
                        "the sum of it before, or a dim of both",
                    )
            known = len(other.several) < 2 and {*other.several} & {*one.several}
            if len(one.several) > (2 if known else 1):
                self.wrong(
                    f"how many dims of {one.name} are which is not known",
                    target,
                    "one *name that the other operand has not",
                )
        if not {*first.dims} & {*second.dims} - {*out}:
            self.wrong("nothing is summed", target, "a dim of both operands that the result has not")

    def operands(self, used: Sequence[str], at: Expr) -> None:
        """Report Tensors that are not used."""
        for name in self.tensors:
            if name not in used:
                self.wrong(f'"{name}" is not used', at, "each Tensor")


def _is_product(expr: Expr) -> bool:
    """Whether it is the sum of products, or a number times that."""
    match expr:
        case Call(Name("sum")) | Operation("*", (_, Call(Name("sum")))):
            return True
    return False


# ------------------------------------------------------------------------------ what follows


def follows_of_contractions(schema: Schema, body: Located) -> Mapping[str, Located]:
    """The fields of an entry that follow from such a body, where the entry says nothing else."""
    tensors = [a.name for a in schema.arguments if a.is_tensor]
    follows = {
        "dtypes": Located("all, -bool", body.place),
        "same_dtype": Located(tuple([Located(t, body.place) for t in tensors]), body.place),
        "result": Located("same", body.place),
    }
    made = _Reader(schema, body, None, Report()).contraction()
    if made is not None:
        follows["batching"] = Located(_batching(made, body.place), body.place)
        follows["symbolic"] = Located(_symbolic(made), body.place)
    return follows


def derivatives_of_contraction(schema: Schema, body: Located, place: Place) -> list[Entry]:
    """The gradients and the tangent of an operator with such a body."""
    made = _Reader(schema, body, None, Report()).contraction()
    if made is None:
        return []
    gradients = [(f.name, _gradient(made, n)) for n, f in enumerate(made.factors)]
    tangent = f"{_product(made, '_t', '_p')} + {_product(made, '_p', '_t')}"
    if made.alpha:
        tangent = f"scaled_by({tangent}, {made.alpha})"
    if made.added:
        gradients += [(made.added, f"scaled_by(grad, {made.beta}.conjugate())" if made.beta else "grad")]
        moved = f"scaled_by({made.added}_t, {made.beta})" if made.beta else f"{made.added}_t"
        moved = f"({moved} if {made.added}_p is not None else 0)" if made.optional else moved
        tangent = f"{tangent} + {moved}"
    name, key = str(replace(schema.name, namespace="")), body.key
    formulas = {used: " + ".join([g for other, g in gradients if other == used]) for used, _ in gradients}
    fields = {"name": name, **formulas, "result": tangent}
    return [Entry("derivatives", place, {k: Located(v, place, key) for k, v in fields.items()})]


def _product(made: Contraction, first: str = "", second: str = "") -> str:
    """The products, of operands with these suffixes."""
    a, b = made.factors
    given = [
        f"{f.name}{suffix}{'.conj()' if f.conjugated else ''}" for f, suffix in ((a, first), (b, second))
    ]
    return f"contracted('{in_text(a.dims, b.dims, made.out)}', {', '.join(given)})"


def _gradient(made: Contraction, which: int) -> str:
    """The gradient of one of the factors."""
    own, other = made.factors[which], made.factors[1 - which]
    given = other.name if other.conjugated else f"{other.name}.conj()"
    found = f"contracted('{in_text(made.out, other.dims, own.dims)}', grad, {given})"
    found += ".conj()" if own.conjugated else ""
    return f"scaled_by({found}, {made.alpha}.conjugate())" if made.alpha else found


def _batching(made: Contraction, place: Place) -> dict[str, Located]:
    """The rule: of one factor whose first dims are any, and the result's, more of them; else its parts."""
    parts = {"decompose": Located(_decomposed(made), place)}
    for one, other in (made.factors, made.factors[::-1]):
        first = one.dims[:1]
        own = first == one.several[:1] and not {*first} & {*other.dims}
        if first == made.out[:1] and own and made.operands.count(one.name) == 1:
            return {one.name: Located("leading", place), "else": Located(parts, place)}
    return parts


def _decomposed(made: Contraction) -> str:
    """The same by operators that vmap knows."""
    product = _product(made)
    if not made.added:
        return product
    total = f"scaled_sum({made.added}, {product}, {made.beta or 1}, {made.alpha or 1})"
    return f"{product} if {made.added} is None else {total}" if made.optional else total


def _symbolic(made: Contraction) -> str:
    """The same over values of ONNX, where nothing is complex."""
    a, b = made.factors
    text = in_text(a.dims, b.dims, made.out)
    product = f"contracted('{text}', {a.name}, {b.name}, result)"
    if not made.added:
        return product
    product = f"scaled({product}, {made.alpha})" if made.alpha else product
    added = f"scaled({made.added}, {made.beta})" if made.beta else made.added
    total = f"{added} + {product}"
    if made.beta:
        total = f"{total} if {made.beta} else {product}"
    return f"{product} if {made.added} is None else {total}" if made.optional else total
