"""Check: what ``refuse`` says: the operands that are an error, and conditions over other arguments."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.expressions import Attribute, Constant, Expr, Logical, Name, Operation
from ...ir.writer import write
from ..model.diagnostics import Report, one_of, suggestion
from ..model.names import CATEGORIES
from ..model.operators import Forbidden, fields_of
from ..model.schema import Schema
from ..model.source import Located
from ..parse.formula import length_of, parse_formula, place_of
from ..read.fields import known_words, report_scalar
from .expand import Declared

#: The types of arguments that may take part in promotion.
OPERANDS = ("Tensor", "Tensor?", "Scalar", "Scalar?")
_EXPECTED = (
    "a category, args, or a condition over arguments, of a Tensor its ndim, of a Tensor? whether it is None"
)


def refusals(
    declared: Declared, report: Report
) -> tuple[dict[str, str], tuple[str, ...], tuple[Forbidden, ...]]:
    """By category, why operands are an error even where they would be promoted, the operands all of which
    must be so, none where any one may be, and what arguments may not be, of Tensors how many dimensions."""
    located = declared.fields.get("refuse")
    categories: dict[str, str] = {}
    operands: tuple[str, ...] = ()
    forbidden: list[Forbidden] = []
    for name, value in located.value.items() if located is not None else ():
        text = " ".join(str(value.value).split())
        if name == "args":
            known = [a.name for a in declared.schema.arguments if str(a.type) in OPERANDS]
            operands = known_words(value, known, "Tensor or Scalar argument", report)
        elif name in CATEGORIES:
            categories[name] = text
        else:
            found = _forbidden(declared.schema, name, value, text, report)
            forbidden += [] if found is None else [found]
    return categories, operands, tuple(forbidden)


def _forbidden(schema: Schema, condition: str, value: Located, text: str, report: Report) -> Forbidden | None:
    """The condition that a key writes, with its text; None where it is wrong, which is reported."""
    formula = parse_formula(Located(condition, value.key or value.place), report, "condition")
    if formula is None:
        return None
    known = [write(v) for v in _values(schema)]
    wrong = _unknown(formula.tree, known)
    if wrong is not None:
        close = suggestion(wrong.id, [*known, *CATEGORIES]) if isinstance(wrong, Name) else ""
        named = isinstance(wrong, Name | Attribute)
        what = f'"{write(wrong)}" is no such argument' if named else "it is no comparison"
        place, length = place_of(formula, wrong), length_of(formula, wrong)
        report.error(place, what, length=length, expected=_EXPECTED, help=close)
        return None
    try:
        strange = [name for name in fields_of(text) if name not in known]
    except ValueError as error:
        report_scalar(value, f"the text has braces that do not fit: {error}", "{beta}, or {{ and }}", report)
        return None
    if strange:
        report_scalar(
            value, f'"{strange[0]}" is no such argument', one_of(known) if known else "no braces", report
        )
        return None
    return Forbidden(formula.tree, text)


def _values(schema: Schema) -> Iterator[Expr]:
    """What a condition may ask: arguments, and how many dimensions Tensors have."""
    for argument in schema.arguments:
        name = Name(argument.name)
        if str(argument.type) == "Tensor":
            yield Attribute(name, "ndim")
        elif argument.is_tensor:
            yield Operation("is", (name, Constant(None)))
        elif not argument.is_tensor_like:
            yield name


def _unknown(expr: Expr, known: list[str]) -> Expr | None:
    """The first part that is neither one of these values nor made of such by operators."""
    if write(expr) in known:
        return None
    match expr:
        case Name() | Attribute(Name()):
            return expr
        case Constant() | Operation() | Logical():
            return next((w for part in expr.parts if (w := _unknown(part, known)) is not None), None)
    return expr
