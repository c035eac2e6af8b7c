"""Parse: expressions of the declaration language, which are Python expressions.

Formulas of derivatives, kernels written as expressions, references and samples are all parsed
here.  Nothing is evaluated; names are resolved by ``check``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...ir.expressions import (
    Attribute,
    Call,
    Clause,
    Comprehension,
    Constant,
    Expr,
    Name,
    Subscript,
    scoped_parts,
)
from ...ir.reader import read_expression
from ...ir.writer import write
from ..model.diagnostics import Report
from ..model.metadata import METADATA
from ..model.operators import Formula, Operator
from ..model.schema import Return
from ..model.source import Located, Place

# In a formula of an in-place operator: self before the write.
ORIGINAL_SELF = "original_self"


def as_text(value: Located) -> Located:
    """``value`` with its text as a string of one line: line breaks become blanks.

    Offsets into the new text still lead to the right places.
    """
    raw = value.value
    if not isinstance(raw, str):
        return Located(str(raw), value.place, value.key, value.starts)
    text = raw.replace("\n", " ") if "\n" in raw else raw
    stripped = text.strip()
    if stripped == raw:
        return value
    lead = len(text) - len(text.lstrip())
    starts = tuple((max(0, start - lead), place) for start, place in value.starts if start >= lead)
    if lead:
        starts = ((0, value.at(lead)), *starts)
    return Located(stripped, value.place, value.key, starts)


def parse_formula(value: Located, report: Report, what: str = "formula") -> Formula | None:
    """The expression that a YAML value writes; None, and an error reported, if it is none."""
    source = as_text(value)
    if isinstance(value.value, dict | tuple | None) or not source.value:
        message = (
            f"the {what} is empty" if value.value in (None, "") else f"a {what} is an expression, in a string"
        )
        report.error(value.key or value.place, message, expected="an expression")
        return None
    try:
        tree = read_expression(source.value)
    except SyntaxError as error:
        offset = max(0, (error.offset or 1) - 1)
        place = source.at(min(offset, len(source.value)))
        message = f"the {what} is not an expression: {error.msg}"
        expected = "a closing bracket" if "never closed" in error.msg else "a Python expression"
        report.error(place, message, expected=expected, help=_flow_help(value, report))
        return None
    return Formula(source, tree)


def _flow_help(value: Located, report: Report) -> str:
    """A hint for an expression that YAML cut at a comma because it stands in ``{ }``."""
    line = report.sources.get(value.place.file, [""] * value.place.line)[value.place.line - 1]
    cut = "{" in line[: value.place.column] and not value.starts
    return "inside of { } a comma ends a value: quote the expression" if cut else ""


def place_of(formula: Formula, part: Expr) -> Place:
    """Where a part of the formula's tree stands in the declaration file."""
    return formula.source.at(part.span[0])


def length_of(formula: Formula, part: Expr) -> int:
    """How many characters of the formula's text a part takes."""
    return max(1, part.span[1] - part.span[0])


def result_names(returns: tuple[Return, ...]) -> tuple[str, ...]:
    """What formulas call the results: their names, else ``result``, or ``result0``, ``result1`` ..."""
    if len(returns) == 1:
        return (returns[0].name or "result",)
    return tuple(r.name or f"result{number}" for number, r in enumerate(returns))


def result_numbers(returns: tuple[Return, ...]) -> dict[str, int]:
    """Every name by which formulas may call a result, with its number.

    An operator with one result calls it ``result`` whether it is named or not, and ``resultN``
    is always understood.
    """
    numbers = {f"result{number}": number for number in range(len(returns))}
    numbers |= {name: number for number, name in enumerate(result_names(returns))}
    if len(returns) == 1:
        numbers["result"] = 0
    return numbers


# --------------------------------------------------------------------------------------
# What a formula uses


@dataclass(frozen=True, slots=True)
class Saved:
    """What a Node must keep for a formula, in the order of the schema.

    A name stands in one of ``tensors``, ``metadata`` and ``conditional`` only: metadata of a
    tensor whose data is kept anyway is not listed.
    """

    tensors: tuple[str, ...] = ()  # Tensor and Tensor[] arguments whose data is needed
    conditional: tuple[tuple[str, str], ...] = ()  # wrap_opt_if(NAME, CONDITION): the condition's text
    results: tuple[int, ...] = ()  # numbers of the results whose data is needed
    metadata: tuple[tuple[str, str], ...] = ()  # ("self", "shape"); of a list, one for each tensor
    result_metadata: tuple[tuple[int, str], ...] = ()
    values: tuple[str, ...] = ()  # Python values: Scalar, int, int[], bool, str, dtype ...
    gradients: frozenset[int] = frozenset()  # numbers of the results whose gradients are used
    all_gradients: bool = False  # bare ``grads``, which keeps its Nones
    input_mask: bool = False  # grad_input_mask
    retain_variables: bool = False


def metadata_use(expr: Expr) -> tuple[str, str] | None:
    """``("self", "shape")`` for ``self.shape``, ``self.numel()`` and the like.

    For a list of tensors the form is ``[t.shape for t in tensors]``, which gives the metadata
    of each.  None for any other expression.
    """
    match expr:
        case Attribute(Name(tensor), name) if name in METADATA and not METADATA[name].method:
            return tensor, name
        case Call(Attribute(Name(tensor), name), (), ()) if name in METADATA and METADATA[name].method:
            return tensor, name
        case Comprehension(_, element, (Clause(Name(each), Name(tensors), ()),)):
            use = metadata_use(element)
            return (tensors, use[1]) if use is not None and use[0] == each else None
    return None


def saved(formula: Formula | Iterable[Formula], operator: Operator) -> Saved:
    """What a Node of ``operator`` keeps so that the formula, or all the formulas, can be run later."""
    uses = _Uses(operator)
    for each in (formula,) if isinstance(formula, Formula) else formula:
        uses.visit(each.tree, frozenset())
    return uses.result()


class _Uses:
    """Walks formulas and notes every use of an argument, a result or a gradient."""

    def __init__(self, operator: Operator) -> None:
        self.schema = operator.schema
        self.arguments = {a.name: a for a in operator.schema.arguments}
        self.results = result_numbers(operator.schema.returns)
        self.data: set[str] = set()
        self.result_data: set[int] = set()
        self.metadata: set[tuple[str, str]] = set()
        self.conditions: dict[str, set[str]] = {}
        self.values: set[str] = set()
        self.gradients: set[int] = set()
        self.flags: set[str] = set()

    def visit(self, expr: Expr, bound: frozenset[str]) -> None:
        use = metadata_use(expr)
        if use is not None and use[0] not in bound and self.is_tensor(use[0]):
            self.metadata.add(use)
            return
        match expr:
            case Name(name):
                if name not in bound:
                    self.name(name)
                return
            case Call(Name("wrap_opt_if"), (Name(tensor), condition)):
                self.conditions.setdefault(tensor, set()).add(write(condition))
                return
        number = gradient_number(expr)
        if number is not None:
            self.gradients.add(number)
            return
        for part, inner in scoped_parts(expr, bound):
            self.visit(part, inner)

    def is_tensor(self, name: str) -> bool:
        argument = self.arguments.get(name)
        return argument.is_tensor_like if argument is not None else name in self.results

    def name(self, name: str) -> None:
        if name == ORIGINAL_SELF:
            name = "self"
        if name in self.arguments:
            (self.data if self.arguments[name].is_tensor_like else self.values).add(name)
        elif name in self.results:
            self.result_data.add(self.results[name])
        elif name == "grad":
            self.gradients.add(0)
        elif name.startswith("grad_") and name.removeprefix("grad_") in self.results:
            self.gradients.add(self.results[name.removeprefix("grad_")])
        elif name in ("grads", "grad_input_mask", "retain_variables"):
            self.flags.add(name)

    def result(self) -> Saved:
        order = list(self.arguments)
        conditional = [
            (name, " or ".join(f"({c})" for c in sorted(texts)) if len(texts) > 1 else next(iter(texts)))
            for name, texts in self.conditions.items()
            if name in self.arguments and name not in self.data
        ]
        kept = self.data | {name for name, _ in conditional}
        of_results = {(self.results[n], a) for n, a in self.metadata if n not in self.arguments}
        return Saved(
            tensors=tuple(sorted(self.data, key=order.index)),
            conditional=tuple(sorted(conditional, key=lambda item: order.index(item[0]))),
            results=tuple(sorted(self.result_data)),
            metadata=tuple(
                sorted(
                    (item for item in self.metadata if item[0] in self.arguments and item[0] not in kept),
                    key=lambda item: (order.index(item[0]), item[1]),
                )
            ),
            result_metadata=tuple(sorted(item for item in of_results if item[0] not in self.result_data)),
            values=tuple(sorted(self.values, key=order.index)),
            gradients=frozenset(self.gradients),
            all_gradients="grads" in self.flags,
            input_mask="grad_input_mask" in self.flags,
            retain_variables="retain_variables" in self.flags,
        )


def gradient_number(expr: Expr) -> int | None:
    """``i`` for ``grads[i]``."""
    match expr:
        case Subscript(Name("grads"), Constant(int(number))):
            return number
    return None
