"""Derive: how an operator that is pointwise or has a body is written as ONNX.

Of an expression each primitive is written by its ONNX form, which primitives.yaml has, and each function of
runtime/kernels that it calls by the function of runtime/onnx/symbolics*.py that has the same name. What comes
out is a Rule as ``symbolic`` gives one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...ir.accesses import Access
from ...ir.bodies import CONSTANT, CONSTANTS, LENGTH, PLACES, Along, Body, is_reduction
from ...ir.expressions import (
    BINARY,
    UNARY,
    Attribute,
    Call,
    Conditional,
    Constant,
    Elements,
    Expr,
    Keyword,
    Lambda,
    Logical,
    Name,
    Operation,
    Parameter,
    Subscript,
    free_names,
    replaced,
    walk,
)
from ...ir.factories import FACTORY_FORMS, Factory
from ...ir.moves import Move
from ...ir.scans import Scan
from ...ir.windows import Window
from ...ir.writer import write
from ..check.kernels import kernel_arguments
from ..check.names import BUILTINS
from ..check.onnx_language import ONNX
from ..model.names import OPERANDS
from ..model.operators import EXPRESSIONS, REDUCTION, RESULT, Formula, Kernel, Operator, Primitive, Rule
from ..model.schema import OperatorName, Schema
from ..read.functions import ABSOLUTE, Function, FunctionIndex
from .ufuncs import Ufuncs

#: The function of symbolics that has the steps of a function computed in the dtype that the operator's are.
WIDENED = "widened"
#: The function of symbolics that moves elements.
MOVED = "moved"
#: That which sums windows.
SUMMED = "summed_windows"
#: Those that fill, and that make a tensor of numbers.
FILLED, MADE = "full_result", "made_here"
_RESULT = Name(RESULT)
#: The module of symbolics whose functions cast, which is no step.
CASTS = "symbolics"


class NoForm(Exception):
    """The kernel cannot be written as ONNX; the text says why."""


def with_symbolics(
    operators: Mapping[OperatorName, Operator], primitives: Mapping[str, Primitive], symbolics: FunctionIndex
) -> dict[OperatorName, Operator]:
    """The operators with what follows where entries say no symbolic."""
    return {name: with_symbolic(o, primitives, symbolics) for name, o in operators.items()}


def with_symbolic(operator: Operator, primitives: Mapping[str, Primitive], index: FunctionIndex) -> Operator:
    """An operator whose entry says no symbolic, with what its kernel says; else with the reason why not."""
    composite = any(key.startswith("Composite") for key in operator.kernels)
    if operator.symbolic is not None or not operator.kernels or composite:
        return operator
    if operator.transposes:
        return replace(operator, no_symbolic="it puts elements back")
    if operator.contraction is not None:
        return replace(operator, no_symbolic="no equation says what it multiplies")
    if isinstance(operator.said, Factory) or (operator.factory is not None and _asks_for_form(operator)):
        return replace(operator, symbolic=_symbolic_of_factory(operator, primitives, index))
    bodies = operator.body, operator.move, operator.access
    if EXPRESSIONS.isdisjoint(operator.tags) and not any(bodies):
        return replace(operator, no_symbolic="it is not pointwise")
    try:
        if operator.body is not None:
            rule = _symbolic_of_body(operator, operator.body, primitives, index)
        elif operator.access is not None:
            rule = _symbolic_of_access(operator, operator.access, primitives, index)
        elif operator.move is not None:
            rule = _symbolic_of_move(operator, operator.move, primitives, index)
        else:
            rule = derived_symbolic(
                operator.schema, operator.kernels, operator.opmath, primitives, index, operator.is_loss
            )
    except NoForm as reason:
        return replace(operator, no_symbolic=str(reason))
    return replace(operator, symbolic=rule)


def derived_symbolic(
    schema: Schema,
    kernels: Mapping[str, Kernel],
    opmath: bool,
    primitives: Mapping[str, Primitive],
    index: FunctionIndex,
    is_loss: bool = False,
) -> Rule:
    """The symbolic of a pointwise operator, or of a loss. Raises NoForm where its kernel does not say it."""
    kernel = next((k for k in kernels.values() if k.function is None), None) or next(iter(kernels.values()))
    tree = kernel.formula.tree
    if kernel.function is not None:
        if ":" in kernel.function:
            raise NoForm(f"the function {kernel.function} is none of tengen's")
        tree = Call(Name(kernel.formula.text), tuple([Name(a.name) for a in schema.arguments]))
        kernel = replace(kernel, calls={kernel.formula.text: kernel.function})
    writer = (_LossWriter if is_loss else _Writer)(schema, kernel, opmath, primitives, index)
    return _rule(writer, writer.chosen(tree), schema)


def _symbolic_of_body(
    operator: Operator, body: Body, primitives: Mapping[str, Primitive], index: FunctionIndex
) -> Rule:
    """The symbolic of an operator over rows. Raises NoForm where its body does not say it."""
    if body.over_tables:
        raise NoForm("it sums over rows, or takes numbers of them")
    kernel = next(iter(operator.kernels.values()))
    writer = _RowsWriter(operator.schema, replace(kernel, calls={}), operator.opmath, primitives, index)
    writer.body = body
    return _rule(writer, body.by_presence(writer.results), operator.schema)


def _symbolic_of_move(
    operator: Operator, move: Move | Window, primitives: Mapping[str, Primitive], index: FunctionIndex
) -> Rule:
    """The symbolic of an operator that moves elements. Raises NoForm where a function says its dims."""
    if isinstance(move, Window):
        return _symbolic_of_windows(operator, move, primitives, index)
    if isinstance(move.dims[0], Call):
        raise NoForm("a function says along which dims it moves elements")
    kernel = next(iter(operator.kernels.values()))
    writer = _Writer(operator.schema, replace(kernel, calls={}), False, primitives, index)
    given = Name(move.source), move.fill, Name("result"), *map(Name, move.arguments)
    return _rule(writer, Call(writer.called(MOVED, None), (move.form(), *given)), operator.schema)


def _asks_for_form(operator: Operator) -> bool:
    """Whether kernels make what the body of another operator says."""
    return any([FACTORY_FORMS in kernel.formula.names() for kernel in operator.kernels.values()])


def _symbolic_of_factory(
    operator: Operator, primitives: Mapping[str, Primitive], index: FunctionIndex
) -> Rule:
    """The symbolic of an operator of numbers alone: a constant."""
    kernel = next(iter(operator.kernels.values()))
    writer = _Writer(operator.schema, replace(kernel, calls={}), False, primitives, index)
    if isinstance(operator.said, Factory) and operator.said.filled() is not None:
        return _rule(
            writer, Call(writer.called(FILLED, None), (operator.said.value, _RESULT)), operator.schema
        )
    *numbers, _ = kernel_arguments(operator.schema, factory=True)
    given = Constant(operator.name.method), *map(Name, numbers), _RESULT
    return _rule(writer, Call(writer.called(MADE, None), given), operator.schema)


def _symbolic_of_access(
    operator: Operator, access: Access, primitives: Mapping[str, Primitive], index: FunctionIndex
) -> Rule:
    """The symbolic of an operator that reads or writes at indices: the calls of its kernels' namesakes."""
    kernel = next(iter(operator.kernels.values()))
    writer = _Writer(operator.schema, replace(kernel, calls={}), False, primitives, index)
    call = access.call(lambda name: writer.called(name, None), checked=False)
    return _rule(writer, call, operator.schema)


def _symbolic_of_windows(
    operator: Operator, window: Window, primitives: Mapping[str, Primitive], index: FunctionIndex
) -> Rule:
    """The symbolic of sums over windows. Raises NoForm of maxima, and where a function says the windows."""
    if window.capability != "sums":
        raise NoForm("ONNX has the maxima of its own windows alone")
    if window.taps is not None or any([isinstance(values, Call) for _, values in window.lists]):
        raise NoForm("a function says what windows it is over")
    kernel = next(iter(operator.kernels.values()))
    writer = _Writer(operator.schema, replace(kernel, calls={}), operator.opmath, primitives, index)
    given = window.form(), Name(window.source), *map(Name, window.arguments)
    return _rule(writer, Call(writer.called(SUMMED, None), given), operator.schema)


def _rule(writer: _Writer, made: Expr, schema: Schema) -> Rule:
    """The rule of what was written. Raises NoForm where a name means two things in it."""
    arguments = {a.name for a in schema.arguments}
    hidden = next((name for name in sorted({*writer.calls, ONNX}) if name in arguments), None)
    if hidden is not None:
        raise NoForm(f'its argument "{hidden}" hides what symbolics call by that name')
    source = replace(writer.kernel.formula.source, value=write(made), starts=())
    return Rule(Formula(source, made), None, writer.calls, derived=True)


class _Writer:
    """Writes expressions over arrays as expressions over values of ONNX."""

    def __init__(
        self,
        schema: Schema,
        kernel: Kernel,
        opmath: bool,
        primitives: Mapping[str, Primitive],
        index: FunctionIndex,
    ) -> None:
        self.kernel, self.opmath, self.primitives, self.index = kernel, opmath, primitives, index
        self.tensors = [a.name for a in schema.arguments if a.is_tensor_like]
        self.ufuncs = Ufuncs(primitives)
        #: The functions of symbolics that are called, with where they are.
        self.calls: dict[str, str] = {}
        #: How many operators of ONNX round what has been written since this was 0.
        self.steps = 0

    def chosen(self, expr: Expr) -> Expr:
        """A whole kernel, or one that numbers choose."""
        if isinstance(expr, Conditional) and self.plain(expr.condition):
            return Conditional(
                self.value(expr.condition), self.chosen(expr.then), self.chosen(expr.otherwise)
            )
        self.steps = 0
        made = self.finished(self.value(expr))
        return self.widened(made) if self.opmath and self.steps > 1 else made

    def finished(self, elements: Expr) -> Expr:
        """What is made of the elements in the end."""
        return elements

    def widened(self, made: Expr) -> Expr:
        """The same with float16 and bfloat16 computed in float32, and rounded once."""
        used = {n.id for n in free_names(made)}
        names = [name for name in self.tensors if name in used]
        function = Lambda(tuple([Parameter(n) for n in names]), made)
        return Call(Call(self.called(WIDENED, None), (function,)), tuple([Name(n) for n in names]))

    def plain(self, expr: Expr) -> bool:
        """Whether it is about Python's values alone, or whether a tensor is None."""
        match expr:
            case Operation("is" | "is not", (Name(), Constant(None))):
                return True
            case Logical(_, operands):
                return all(map(self.plain, operands))
        return not any(name.id in self.tensors for name in free_names(expr))

    def value(self, expr: Expr) -> Expr:
        """A part of the kernel. Raises NoForm for what cannot be written."""
        if self.plain(expr):
            return self.unchanged(expr)
        found = self.ufuncs.last(expr)
        if found is not None:
            return self.primitive(*found)
        match expr:
            case Name():
                return expr
            case Conditional(condition, then, otherwise):
                if not self.plain(condition):
                    raise NoForm("it chooses by the values of a tensor")
                return Conditional(self.value(condition), self.value(then), self.value(otherwise))
            case Call(Name(name), operands, keywords) if name in self.kernel.calls:
                return self.function(name, operands, keywords)
            case Call(Name(name), operands, ()) if name in self.primitives:  # Python's own, as abs
                return self.primitive(self.primitives[name], operands)
        raise NoForm(f'"{write(expr)}" is no expression of primitives')

    def unchanged(self, expr: Expr) -> Expr:
        """What Python computes when the model is written."""
        for part in walk(expr):
            match part:
                case Call(Name(name)) if name not in BUILTINS:
                    raise NoForm(f"{name} is called without a tensor")
        return expr

    def primitive(self, primitive: Primitive, operands: Sequence[Expr]) -> Expr:
        """A primitive of operands, by its ONNX form."""
        form = primitive.onnx
        if form is None:
            raise NoForm(f"the primitive {primitive.name} has no ONNX form")
        values = tuple([self.value(operand) for operand in operands])
        self.calls |= form.calls
        if form.function is not None:
            self.steps += 1
            function = form.function.rpartition(".")[2]
            self.calls[function] = form.function
            return Call(Name(function), values)
        self.steps += sum(map(_rounds, walk(form.formula.tree)))
        return replaced(form.formula.tree, dict(zip(OPERANDS, values, strict=False)))

    def function(self, name: str, operands: Sequence[Expr], keywords: Sequence[Keyword]) -> Expr:
        """A function of kernels, by its namesake of symbolics."""
        function = self.called(name, self.kernel.calls[name])
        found = self._namesakes(name, self.kernel.calls[name])[0]
        arity = found.arity()
        given = tuple(k.name for k in keywords if k.name is not None)
        problem = None if arity is None else arity.problem(len(operands), given)
        if problem is not None:
            raise NoForm(f"the function {name} of symbolics {problem}")
        self.steps += found.module != CASTS
        values = tuple([self.value(operand) for operand in operands])
        return Call(function, values, tuple([Keyword(k.name, self.value(k.value)) for k in keywords]))

    def called(self, name: str, kernel: str | None) -> Expr:
        """A function of symbolics, noted as called."""
        found = self._namesakes(name, kernel)
        if not found:
            raise NoForm(f"no function {name} of runtime/onnx/symbolics writes the kernels' {name}")
        self.calls[name] = found[0].qualified
        return Name(name)

    def _namesakes(self, name: str, kernel: str | None) -> list[Function]:
        """The functions of that name: tengen's for a kernel of tengen, a library's for one of a library."""
        of_library = kernel is not None and kernel.startswith(ABSOLUTE)
        found = self.index.functions.get(name, ())
        return [f for f in found if f.module.startswith(ABSOLUTE) == of_library]


class _LossWriter(_Writer):
    """Writes losses, whose elements are brought together."""

    def finished(self, elements: Expr) -> Expr:
        self.steps += 1
        return Call(self.called("finished", None), (elements, Name(REDUCTION)))


class _RowsWriter(_Writer):
    """Writes bodies."""

    body: Body

    def results(self, absent: Collection[str]) -> Expr:
        """The results where these operands are None."""
        results: list[Expr] = []
        for expr, row in zip(self.body.inlined(absent), self.body.kept, strict=True):
            made = self.chosen(expr)
            if not row:
                given = made, Name(self.body.rows[0]), self.dims, self.body.keepdim
                made = Call(self.called("one_for_each_row", None), given)
            results.append(made)
        return results[0] if len(results) == 1 else Elements("tuple", tuple(results))

    @property
    def dims(self) -> Expr:
        """The dims of rows."""
        match self.body.dims:
            case Call(Name(name), sizes):
                return Call(self.called(name, None), sizes)
        return self.body.dims

    def value(self, expr: Expr) -> Expr:
        match expr:
            case Name(name) if name in self.body.shared:
                operands = expr, Name(self.body.rows[0]), self.dims
                return Call(self.called("beside", None), operands)
            case Call(Name(name), (row,)) if name == CONSTANT:
                return self.value(row)
            case Call() if (scan := Scan.read(expr)) is not None:
                if scan.name not in _SCANS:
                    raise NoForm(f"ONNX has no {scan.name}")
                self.steps += 1
                row, way = self.value(scan.row), Constant(scan.reverse)
                return Call(
                    self.called("scanned", None), (Constant(_SCANS[scan.name]), row, Name(self.body.dim), way)
                )
            case Call(Name(name), (row,)) if name in PLACES:
                if self.body.dim and self.body.several:
                    raise NoForm(f"ONNX has {name} along one dim, or of all")
                self.steps += 1
                dim = Name(self.body.dim) if self.body.dim else Constant(None)
                where = self.value(row), dim, Constant(True), Constant(name == "argmax")
                return Call(self.called("position", None), where)
            case Subscript(row, place):
                self.steps += 1
                found = self.value(row), Name(self.body.dim), self.value(place)
                return Call(self.called("at_place", None), found)
            case Call(Name(name), (row,)) if is_reduction(expr):
                if name not in _REDUCTIONS:
                    raise NoForm(f"ONNX has no {name} of rows")
                self.steps += 1
                if self.body.along is Along.LISTED:
                    raise NoForm("ONNX has no reduction over no dims")
                given = Constant(_REDUCTIONS[name]), self.value(row), self.dims, Constant(True)
                return Call(self.called("reduced", None), given)
        return super().value(expr)

    def unchanged(self, expr: Expr) -> Expr:
        known: dict[str, Expr] = {name: Call(Name("float"), (Constant(name),)) for name in CONSTANTS}
        made = super().unchanged(expr)
        if any(name.id == LENGTH for name in free_names(made)):
            known[LENGTH] = Call(self.called("row_length", None), (Name(self.body.rows[0]), self.dims))
        return replaced(made, known)


#: ONNX's scans and reductions.
_SCANS = {"cumsum": "CumSum", "cumprod": "CumProd"}
_REDUCTIONS = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


def _rounds(expr: Expr) -> bool:
    """Whether a part of an ONNX form is an operator of ONNX."""
    match expr:
        case Attribute(Name(module)):
            return module == ONNX
        case Operation(symbol):
            return symbol in BINARY or symbol in UNARY
    return False
