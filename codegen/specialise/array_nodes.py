"""Specialise: Nodes over arrays, for real floating-point tensors.

The same formulas as in ``nodes``, with each operator replaced by its kernel: pointwise
expressions are written out, other kernels are called. A formula that calls a helper, or an
operator without a kernel, has no array form; its Node wraps and uses the form over Tensors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from ..ir.expressions import (
    COMPARISONS,
    Attribute,
    Call,
    Comprehension,
    Conditional,
    Constant,
    Elements,
    Expr,
    Keyword,
    Logical,
    Name,
    Operation,
    Slice,
    Subscript,
    constant,
    count_names,
    dotted,
    free_names,
    replaced,
    walk,
)
from ..ir.writer import write
from ..model.annotations import default_value, parameter_name
from ..model.derived import Gradient, NodeSpec
from ..model.nodes import Branch, NodeClass
from ..model.operators import Operator, Primitive
from ..model.schema import Argument, ListType
from ..parse.formula import gradient_number, metadata_use, result_numbers, saved
from ..read.functions import ABSOLUTE, module_path
from .blocks import call_of, function_of
from .kept_numbers import with_kept_numbers
from .nodes import (
    Rewriter,
    condition_of,
    edge_of,
    gradient_statements,
    results_used,
    takes_tuple,
    unpacked_once,
)
from .optimise import Named, eliminate_common_subexpressions, inline
from .type_methods import Specialiser, alias

#: What formulas call the gradient that comes in, and what they call it when nobody else needs it.
_GRADIENT, _SPARE = "grad", "spare"
#: Of a real tensor, an operator with this tag is the tensor itself.
IDENTITY_ON_REAL = "identity_on_real"


class Unsupported(Exception):
    """The formula has no array form."""


class Kind(Enum):
    """What a value is, where arrays stand for Tensors."""

    ARRAY = auto()
    ARRAYS = auto()  # a list of them
    RESULT = auto()  # what the kernel of a helper gives: an array, or a list's gradients
    DTYPE = auto()  # of an array
    NUMBER = auto()  # a Scalar
    INT = auto()
    FLOAT = auto()
    BOOL = auto()
    LIST = auto()  # of plain values
    PLAIN = auto()  # any other plain value
    UNKNOWN = auto()  # what a function of plain values gives


_PLAIN_KINDS = {"Scalar": Kind.NUMBER, "int": Kind.INT, "float": Kind.FLOAT, "bool": Kind.BOOL}
_NUMBERS = (Kind.NUMBER, Kind.INT, Kind.FLOAT, Kind.BOOL)


def kind_of(argument: Argument) -> Kind:
    """What the value of an operator's argument is."""
    if argument.is_tensor_like:
        return Kind.ARRAYS if argument.is_tensor_list else Kind.ARRAY
    if isinstance(argument.type.required, ListType):
        return Kind.LIST
    return _PLAIN_KINDS.get(str(argument.type), Kind.PLAIN)


@dataclass(frozen=True, slots=True)
class Value:
    """A translated subexpression, and what it is."""

    expr: Expr
    kind: Kind

    @property
    def is_array(self) -> bool:
        """Whether it is one array; a kernel's result is, except as a list's gradients."""
        return self.kind in (Kind.ARRAY, Kind.RESULT)


class ArrayWriter:
    """Makes the NodeClasses over arrays of one backend."""

    def __init__(self, operators: Iterable[Operator], specialiser: Specialiser, scalar_type: str) -> None:
        self.specialiser = specialiser
        self.scalar_type = scalar_type
        self.by_function: dict[str, list[Operator]] = {}
        for o in operators:
            if not o.name.inplace and not o.schema.out:
                self.by_function.setdefault(o.name.function, []).append(o)
        #: The helpers that are, of a real number, the number itself.
        self.identities = frozenset(
            [p.helper for p in specialiser.costs.primitives.values() if p.helper and self._is_identity(p)]
        )

    def _is_identity(self, primitive: Primitive) -> bool:
        return any(IDENTITY_ON_REAL in o.tags for o in self.by_function.get(primitive.operator or "", ()))

    def node(self, spec: NodeSpec) -> NodeClass | None:
        """The class with ``apply`` over arrays; None where it is not worth it or cannot be."""
        if not self.specialiser.is_flat(spec.operator):
            return None
        try:
            found = [self._branch(spec, i) for i in range(len(spec.gradients))]
        except Unsupported:
            return None
        common, branches = unpacked_once(spec, found)
        names = [f"g{i}" for i in range(len(spec.inputs))]
        returned = ", ".join(
            f"*spread({g}, {edge_of(spec, i)})" if spec.inputs[i].is_tensor_list else g
            for i, g in enumerate(names)
        )
        return NodeClass(
            name=spec.name,
            bases=f"{spec.module}.{spec.name}",
            slots=(),
            parameter="grads" if takes_tuple(spec.operator) else "grad",
            gradients=tuple(names),
            common=common,
            branches=branches,
            returned=f"({returned}{',' if len(names) == 1 else ''})",
        )

    def helper(self, qualified: str) -> Expr:
        """A helper of formulas, for calls that no array takes part in."""
        module, _, name = qualified.rpartition(".")
        short = alias(module if module.startswith(ABSOLUTE) else f"formulas.{module}")
        self.specialiser.modules[short] = module_path("tengen.formulas", module)
        return Attribute(Name(short), name)

    def _branch(self, spec: NodeSpec, number: int) -> Branch:
        gradient = spec.gradients[number]
        translation = _Translation(self, spec, gradient)
        if len(gradient.inputs) > 1 and gradient.target is None:
            value = translation.joint(gradient.formula.tree, len(gradient.inputs))
            target = ", ".join(f"g{i}" for i in gradient.inputs)
        else:
            value = translation.value(gradient.formula.tree)
            target = gradient.target or ", ".join(f"g{i}" for i in gradient.inputs)
        several = any(spec.inputs[i].is_tensor_list for i in gradient.inputs)
        if value.kind not in ((Kind.ARRAYS, Kind.RESULT) if several else (Kind.ARRAY, Kind.RESULT)):
            raise Unsupported
        arrays = translation.arrays()
        tree = inline(translation.statements, value.expr)
        named, (tree,) = eliminate_common_subexpressions([tree], arrays)
        numbers = _Numbers(spec, arrays, self.specialiser.closed)
        formula = numbers.kept(tree)
        arrays_only = None if several or ", " in target else self.specialiser.array_results.rewritten(formula)
        last = not any("grad" in g.formula.names() for g in spec.gradients[number + 1 :])
        return Branch(
            condition=condition_of(spec, gradient.inputs),
            prepare=tuple(self._unpack(spec, gradient)),
            targets=target,
            formula=write(arrays_only or formula),
            gives_arrays=arrays_only is not None,
            statements=tuple(f"{name} = {write(numbers.kept(v))}" for name, v in named),
            small=f"{_GRADIENT}.size < LARGE",
            blocked=tuple(self._blocked(translation, target, inline(named, tree), last)),
            several=several,
        )

    def _blocked(self, translation: _Translation, target: str, tree: Expr, last: bool) -> Iterable[str]:
        """The statements that compute in blocks, if that is ever worth it.

        In the last formula that needs the gradient its memory, if nobody else needs it, takes the result.
        """
        runner, arrays = self.specialiser.blocks(), translation.arrays()
        given = {name.id for value in translation.names.values() for name in free_names(value.expr)}
        used = dict.fromkeys(n.id for n in walk(tree) if isinstance(n, Name))
        parameters = [name for name in used if name in given]
        costs = self.specialiser.costs
        if not (runner and translation.elementwise and _GRADIENT in parameters and costs.worth(tree, arrays)):
            return
        function, scratch = function_of(parameters, tree, arrays, costs.primitives)
        into = _SPARE if last and not translation.several else ""
        if into:
            yield f"{into} = {_GRADIENT} if is_callers_only({_GRADIENT}) else None"
        call = call_of(runner, function, [Name(p) for p in parameters], into, scratch)
        yield f"{target} = {write(call)}"

    def _unpack(self, spec: NodeSpec, gradient: Gradient) -> Iterable[str]:
        kept = saved(gradient.formula, spec.operator)
        if kept.conditional or kept.retain_variables:
            raise Unsupported
        if kept.input_mask:
            mask = ", ".join(condition_of(spec, (i,)) for i in gradient.inputs)
            yield f"grad_input_mask = ({mask}{',' if len(gradient.inputs) == 1 else ''})"
        yield from gradient_statements(spec, gradient.formula.tree, Rewriter({}, {}, {}), "materialize_array")
        arguments = {a.name: a for a in spec.operator.schema.arguments}
        for name in (*kept.tensors, *kept.values):
            slot, local = f"node._{name}", parameter_name(name)
            if arguments[name].type.is_tensor:
                yield (
                    f"{local} = {slot}._array if (storage := {slot}._storage) is None "
                    f"or storage.version == {slot}_version else modified({slot}, {slot}_version, node)"
                )
            elif arguments[name].is_tensor_list:
                yield f"{local} = unpack_arrays({slot}, {slot}_version, node)"
            elif arguments[name].is_tensor:
                yield f"{local} = None if {slot} is None else unpack_array({slot}, {slot}_version, node)"
            else:
                yield f"{local} = {slot}"
        for name, number in results_used(spec.operator, gradient):
            yield f"{name} = unpack_result_array(node, node._result{number}, {number})"


class _Numbers:
    """Takes the numbers in a Node's formula from those that the Type of its result keeps."""

    def __init__(self, spec: NodeSpec, arrays: Collection[str], closed: Collection[str]) -> None:
        arguments = spec.operator.schema.arguments
        integers = {parameter_name(a.name) for a in arguments if a.is_tensor and a not in spec.inputs}
        self.arrays = frozenset([Name(n) for n in set(arrays) - integers])
        self.scalars = {parameter_name(a.name) for a in arguments if a.type.is_scalar}
        self.closed = closed
        self.table = None if takes_tuple(spec.operator) else dotted("node.type.numbers")

    def kept(self, expr: Expr) -> Expr:
        if self.table is None:
            return expr
        return with_kept_numbers(expr, self.arrays, self.scalars, self.table, self.closed)


class _Translation:
    """One formula's way from Tensors to arrays."""

    def __init__(self, writer: ArrayWriter, spec: NodeSpec, gradient: Gradient) -> None:
        self.writer = writer
        self.helpers = spec.helpers
        self.several = takes_tuple(spec.operator)
        self.elementwise = True  # whether parts of the arrays would give parts of the gradient
        self.statements: list[Named] = []
        self.temporaries = 0
        self.names: dict[str, Value] = {}
        arguments = spec.operator.schema.arguments
        self.metadata = {n for n, _ in saved(gradient.formula, spec.operator).metadata}
        for n in result_numbers(spec.operator.schema.returns):
            self.names[n] = Value(Name(n), Kind.ARRAY)
            self.names[f"grad_{n}"] = Value(Name(f"grad_{n}"), Kind.ARRAY)
        for a in arguments:
            name = parameter_name(a.name)
            self.names[a.name] = Value(Name(name), kind_of(a))
        for g in spec.gradients:
            if g.target is not None:
                self.names[g.target] = Value(Name(g.target), Kind.ARRAY)
        self.names["grad"] = Value(Name("grad"), Kind.ARRAY)
        if self.several:
            self.names["grads"] = Value(Name("grads"), Kind.ARRAYS)
        self.names["grad_input_mask"] = Value(Name("grad_input_mask"), Kind.LIST)

    def arrays(self) -> set[str]:
        """The names that are arrays."""
        return {v.expr.id for v in self.names.values() if v.is_array and isinstance(v.expr, Name)}

    # -- expressions -----------------------------------------------------------------------

    def value(self, expr: Expr) -> Value:
        """The translation of an expression; Unsupported when it has none."""
        match expr:
            case Constant(complex()):  # gradients are complex here, though the inputs are real
                raise Unsupported
            case Constant(value):
                return Value(expr, Kind.PLAIN if isinstance(value, str) else Kind.NUMBER)
            case Name(name) if name in self.names:
                return self.names[name]
            case Operation():
                return self._operation(expr)
            case Conditional():
                return self._conditional(expr)
            case Logical(symbol, operands):
                return Value(Logical(symbol, self._plain(operands)), Kind.BOOL)
            case Elements(_, elements):
                return Value(Elements("tuple", self._plain(elements)), Kind.LIST)
            case Attribute():
                return self._attribute(expr)
            case Subscript():
                return self._subscript(expr)
            case Call(Attribute(inner, method)):
                return self._method(inner, method, expr)
            case Comprehension() if (use := metadata_use(expr)) is not None and use[0] in self.metadata:
                if use[1] != "shape":
                    raise Unsupported
                self.elementwise = False
                return Value(dotted(f"node._{use[0]}_shape"), Kind.LIST)
            case Call(Name(function), arguments):
                given = [self.value(a) for a in arguments]
                if function in self.helpers and not expr.keywords:
                    return self._helper(function, given)
                return self.apply(function, given, self._keywords(expr.keywords))
        raise Unsupported

    def plain(self, expr: Expr) -> Expr:
        """The translation of what must not be an array."""
        value = self.value(expr)
        if value.is_array:
            raise Unsupported
        return value.expr

    def _plain(self, exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple([self.plain(e) for e in exprs])

    def _helper(self, function: str, given: list[Value]) -> Value:
        """The call of a helper: of one that arrays are given to, the kernel that has its name."""
        if not any(v.is_array or v.kind is Kind.ARRAYS for v in given):
            if self.helpers[function] in self.writer.identities and len(given) == 1:
                return given[0]
            helper = self.writer.helper(self.helpers[function])
            return Value(Call(helper, tuple([v.expr for v in given])), Kind.UNKNOWN)
        kernel = self.writer.specialiser.kernel_named(function)
        if kernel is None:
            raise Unsupported
        self.elementwise = False
        return Value(Call(kernel, tuple(map(_whole, given))), Kind.RESULT)

    def _keywords(self, keywords: Iterable[Keyword]) -> dict[str, Value]:
        return {str(k.name): self.value(k.value) for k in keywords}

    def _operation(self, expr: Operation) -> Value:
        operands = [self.value(operand) for operand in expr.operands]
        made = Operation(expr.symbol, tuple([o.expr for o in operands]))
        array = any([o.is_array for o in operands])
        if array and expr.symbol == "not x":
            raise Unsupported
        if expr.symbol in COMPARISONS:
            return Value(made, Kind.ARRAY if array else Kind.BOOL)
        return Value(made, Kind.ARRAY if array and len(operands) == 2 else operands[0].kind)

    def _conditional(self, expr: Conditional) -> Value:
        condition = self.plain(expr.condition)
        before = len(self.statements)
        a, b = self.value(expr.then), self.value(expr.otherwise)
        if a.is_array is not b.is_array or len(self.statements) != before:
            raise Unsupported
        return Value(Conditional(condition, a.expr, b.expr), a.kind)

    def _attribute(self, expr: Attribute) -> Value:
        if isinstance(expr.value, Name) and expr.value.id in self.metadata:
            self.elementwise = False
            shape = dotted(f"node._{expr.value.id}_shape")
            if expr.name == "shape":
                return Value(shape, Kind.LIST)
            if expr.name == "ndim":
                return Value(Call(Name("len"), (shape,)), Kind.INT)
            raise Unsupported
        value = self.value(expr.value)
        made = Attribute(value.expr, expr.name)
        if value.is_array and expr.name in ("shape", "ndim"):
            self.elementwise = False
            return Value(made, Kind.LIST if expr.name == "shape" else Kind.INT)
        if value.is_array and expr.name == "dtype":
            return Value(made, Kind.DTYPE)
        raise Unsupported

    def _subscript(self, expr: Subscript) -> Value:
        number = gradient_number(expr)
        if number is not None:
            return Value(Name(f"grad{number}"), Kind.ARRAY)
        inner = self.plain(expr.value)
        if isinstance(expr.index, Slice):
            raise Unsupported
        return Value(Subscript(inner, self.plain(expr.index)), Kind.INT)

    def _method(self, inner: Expr, method: str, call: Call) -> Value:
        size = method == "numel" and not call.arguments
        if isinstance(inner, Name) and inner.id in self.metadata:
            self.elementwise = False
            if size:
                return Value(Call(Name("prod"), (dotted(f"node._{inner.id}_shape"),)), Kind.INT)
            raise Unsupported
        value = self.value(inner)
        if not value.is_array:
            raise Unsupported
        if size:
            self.elementwise = False
            return Value(Attribute(value.expr, "size"), Kind.INT)
        given = [value, *(self.value(a) for a in call.arguments)]
        return self.apply(method, given, self._keywords(call.keywords))

    # -- operators -------------------------------------------------------------------------

    def joint(self, expr: Expr, count: int) -> Value:
        """The call of an operator that gives the gradients of ``count`` inputs at once."""
        match expr:
            case Call(Name(function), arguments, keywords):
                given = [self.value(a) for a in arguments]
                return self.apply(function, given, self._keywords(keywords), count)
        raise Unsupported

    def apply(self, function: str, given: list[Value], keywords: dict[str, Value], results: int = 1) -> Value:
        """A call of an operator: its kernel in place of it."""
        for operator in self.writer.by_function.get(function, ()):
            if len(operator.schema.returns) != results:
                continue
            if IDENTITY_ON_REAL in operator.tags and len(given) == 1 and not keywords:
                return given[0]
            bound = self._bind(operator, given, keywords)
            if bound is not None:
                return self._kernel(operator, bound)
        raise Unsupported

    def _bind(
        self, operator: Operator, given: list[Value], keywords: Mapping[str, Value]
    ) -> dict[str, Value] | None:
        """The values of the operator's arguments, if they fit."""
        specialiser = self.writer.specialiser
        kernel = specialiser.kernel(operator)
        supported = operator.dtypes.get(specialiser.backend.name)
        if kernel is None or (supported is not None and self.writer.scalar_type not in supported):
            return None
        if operator.factory is not None:
            return None
        arguments = operator.schema.arguments
        if len(given) > len(operator.schema.positional):
            return None
        bound: dict[str, Value] = {}
        for i, a in enumerate(arguments):
            value = given[i] if i < len(given) else keywords.get(a.name)
            if value is None:
                if a.default is None:
                    return None
                kind = Kind.PLAIN if a.is_tensor_like else kind_of(a)
                bound[a.name] = Value(constant(default_value(a)), kind)
                continue
            fitted = self._fit(operator, a, value)
            if fitted is None:
                return None
            bound[a.name] = fitted
        return bound if set(keywords) <= {a.name for a in arguments} else None

    def _fit(self, operator: Operator, argument: Argument, value: Value) -> Value | None:
        if argument.is_tensor_list or value.kind is Kind.ARRAYS:
            return value if argument.is_tensor_list and value.kind is Kind.ARRAYS else None
        if argument.type.required.is_dtype:
            return value if value.kind is Kind.DTYPE else None
        if argument.is_tensor:
            if value.expr == _NONE and argument.type.is_optional:
                return value
            scalar = "pointwise" in operator.tags and value.kind in _NUMBERS
            return value if value.is_array or scalar else None
        if value.is_array:
            return None
        if value.kind is Kind.UNKNOWN:
            return value
        if not isinstance(argument.type.required, ListType):
            return None if value.kind is Kind.LIST else value
        if value.kind is Kind.LIST or value.expr == _NONE:
            return value
        single = value.kind in (Kind.INT, Kind.NUMBER)
        return Value(Elements("tuple", (value.expr,)), Kind.LIST) if single else None

    def _kernel(self, operator: Operator, bound: Mapping[str, Value]) -> Value:
        specialiser = self.writer.specialiser
        kernel = specialiser.kernel(operator)
        assert kernel is not None
        self.elementwise = self.elementwise and operator.is_elementwise
        if kernel.function is not None:
            given = tuple([_whole(bound[a.name]) for a in operator.schema.arguments])
            many = operator.schema.returns[0].type.is_tensor_list
            call = Call(specialiser._function(kernel.function), given)
            return Value(call, Kind.ARRAYS if many else Kind.ARRAY)
        counts = count_names([kernel.formula.tree])
        names: dict[str, Expr] = {}
        for name, value in bound.items():
            atomic = isinstance(value.expr, Name) or not value.is_array
            expr = value.expr if "pointwise" in operator.tags else _whole(value)
            names[name] = expr if atomic or counts.get(name, 0) < 2 else self._temporary(expr)
        names.update({n: specialiser._function(q) for n, q in kernel.calls.items()})
        return Value(replaced(kernel.formula.tree, names), Kind.ARRAY)

    def _temporary(self, expr: Expr) -> Expr:
        name = f"t{self.temporaries}"
        self.temporaries += 1
        self.statements.append((name, expr))
        return Name(name)


_NONE = Constant(None)


def _whole(value: Value) -> Expr:
    """A kernel's argument: NumPy makes scalars of what it computes from 0-d arrays."""
    if value.is_array and not isinstance(value.expr, Name):
        return Call(Name("_asarray"), (value.expr,))
    return value.expr
