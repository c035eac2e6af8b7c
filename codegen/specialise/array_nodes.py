"""Specialise: Nodes over arrays, for real floating-point tensors.

The same formulas as in ``nodes``, with each operator replaced by its kernel: pointwise
expressions are written out, other kernels are called. A formula that calls a helper, or an
operator without a kernel, has no array form; its Node wraps and uses the form over Tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...ir.bodies import NATIVE_KERNELS
from ...ir.expressions import (
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
from ...ir.reader import filled
from ...ir.statements import Statement, call, let, let_all
from ...ir.types import (
    ARRAY,
    ARRAYS,
    LIST,
    MASK,
    OWN,
    PLAIN,
    SIZE,
    WEAK,
    Gives,
    Kind,
    Types,
    ValueType,
)
from ..model.annotations import default_value, parameter_name
from ..model.derived import Gradient, NodeSpec
from ..model.names import OTHER_LAYOUT
from ..model.nodes import Branch, Local, NativeCall, NodeClass, Unpacked
from ..model.operators import Formula, Kernel, Operator, Primitive, by_function
from ..model.schema import Argument, ListType
from ..parse.formula import gradient_number, metadata_use, result_numbers, saved
from ..read.functions import ABSOLUTE, alias, module_path
from .blocks import call_of, function_of
from .environments import formula_environment, names_of_formula, of_operators, return_types, type_of
from .kept_numbers import with_kept_numbers
from .native import NativeForm
from .nodes import (
    Rewriter,
    condition_of,
    gradient_statements,
    mask_of,
    results_used,
    returned_by,
    takes_tuple,
    unpacked_once,
)
from .optimise import Named, eliminate_common_subexpressions, inline
from .shared_parts import gradient_of_elements, where_real, with_single_parts_inlined
from .type_methods import Specialiser

#: What formulas call the gradient that comes in when nobody else needs it.
_SPARE = "spare"
#: Of a real tensor, an operator with this tag is the tensor itself.
IDENTITY_ON_REAL = "identity_on_real"


class Unsupported(Exception):
    """The formula has no array form."""


@dataclass(frozen=True, slots=True)
class Value:
    """A translated subexpression, and what it is."""

    expr: Expr
    type: ValueType

    @property
    def is_array(self) -> bool:
        """Whether it is one array."""
        return self.type.is_array


class ArrayWriter:
    """Makes the NodeClasses over arrays of one backend."""

    def __init__(self, operators: Iterable[Operator], specialiser: Specialiser, scalar_type: str) -> None:
        self.specialiser = specialiser
        self.scalar_type = scalar_type
        self.by_function = by_function(o for o in operators if not (o.name.inplace or o.schema.out))
        self.returns = return_types(self.by_function)
        #: The methods that give, of a real number, the number itself.
        self.identities = frozenset(
            [p.method for p in specialiser.costs.primitives.values() if p.method and self._is_identity(p)]
        )

    def _is_identity(self, primitive: Primitive) -> bool:
        return any(IDENTITY_ON_REAL in o.tags for o in self.by_function.get(primitive.operator or "", ()))

    def node(self, spec: NodeSpec) -> NodeClass | None:
        """The class with ``apply`` over arrays; None where it is not worth it or cannot be."""
        if not self.specialiser.is_flat(spec.operator):
            return None
        spec = with_single_parts_inlined(where_real(spec))
        try:
            found = [self._branch(spec, i) for i in range(len(spec.gradients))]
        except Unsupported:
            return None
        common, branches = unpacked_once(spec, found)
        return NodeClass(
            name=spec.name,
            bases=f"{spec.module}.{spec.name}",
            slots=(),
            parameter="grads" if takes_tuple(spec.operator) else "grad",
            gradients=tuple([f"g{i}" for i in range(len(spec.inputs))]),
            common=common,
            branches=branches,
            returned=returned_by(spec),
            shown=spec.shown,
        )

    def gives(self, spec: NodeSpec) -> Gives:
        """What the functions in a Node's formulas give."""
        return of_operators(self.returns, spec.helpers)

    def helper(self, qualified: str) -> Expr:
        """A helper of formulas, for calls that no array takes part in."""
        module, _, name = qualified.rpartition(".")
        short = alias(module if module.startswith(ABSOLUTE) else f"formulas.{module}")
        self.specialiser.modules[short] = module_path("tengen.formulas", module)
        return Attribute(Name(short), name)

    def _branch(self, spec: NodeSpec, number: int) -> Branch:
        gradient = spec.gradients[number]
        translation = _Translation(self, spec, gradient)
        form = self._native_form(spec, gradient, number)
        several = any(spec.inputs[i].is_tensor_list for i in gradient.inputs)
        targets = gradient.targets
        expr = translation.result(gradient, several)
        types = self._types(spec, translation)
        tree = inline(translation.statements, expr)
        named, (tree,) = eliminate_common_subexpressions([tree], types)
        formula = self._with_kept_numbers(spec, tree, types)
        arrays_only = (
            None if several or ", " in targets else self.specialiser.array_results.rewritten(formula)
        )
        grad = gradient_of_elements(spec)
        last = not any(grad.id in g.formula.names() for g in spec.gradients[number + 1 :])
        blocked = tuple(self._blocked(translation, types, targets, inline(named, tree), grad, last))
        chosen = self.specialiser.choosing
        return Branch(
            condition=condition_of(spec, gradient.inputs),
            prepare=tuple(self._unpack(spec, gradient)),
            targets=targets,
            formula=chosen(arrays_only or formula),
            may_be_scalars=arrays_only is None and not several and self._is_strided(gradient.formula),
            named=tuple(
                [Local(name, chosen(self._with_kept_numbers(spec, value, types))) for name, value in named]
            ),
            small=filled("grad.size < LARGE", grad=gradient_of_elements(spec)),
            blocked=blocked,
            native=None if form is None else self._native(form, grad, last),
        )

    def _is_strided(self, formula: Formula) -> bool:
        """Whether what a formula gives is strided: no operator in it gives tensors of another layout."""
        called = [o for name in formula.names() for o in self.by_function.get(name, ())]
        return not any(OTHER_LAYOUT in o.tags for o in called)

    def _types(self, spec: NodeSpec, translation: _Translation) -> Types:
        """The types of what is computed of the names of a formula, which are real numbers of one Type.

        Those that have no gradients may be integers, unless dtypes must agree.
        """
        arguments, same = spec.operator.schema.arguments, spec.operator.same_dtype
        others = {
            Name(parameter_name(a.name))
            for a in arguments
            if a.is_tensor and a not in spec.inputs and a.name not in same
        }
        known: dict[Expr, ValueType] = {n: ARRAY if n in others else OWN for n in translation.arrays()}
        known |= {
            Name(parameter_name(a.name)): WEAK
            for a in arguments
            if a.type.is_scalar or str(a.type) == "float"
        }
        return self.specialiser.types(known)

    def _with_kept_numbers(self, spec: NodeSpec, expr: Expr, types: Types) -> Expr:
        """The same with numbers that the Type of the Node's result keeps, if it has one result."""
        if takes_tuple(spec.operator):
            return expr
        return with_kept_numbers(expr, types, _NUMBERS, self.specialiser.closed)

    def _blocked(
        self, translation: _Translation, types: Types, targets: str, tree: Expr, grad: Name, last: bool
    ) -> Iterable[Statement]:
        """The statements that compute in blocks, if that is ever worth it.

        In the last formula that needs the gradient its memory, if nobody else needs it, takes the result.
        """
        runner, costs = self.specialiser.blocks(), self.specialiser.costs
        given = {name.id for expr in translation.names.values() for name in free_names(expr)}
        used = dict.fromkeys(n.id for n in walk(tree) if isinstance(n, Name))
        parameters = [name for name in used if name in given]
        if not (runner and translation.elementwise and grad.id in parameters and costs.worth(tree, types)):
            return
        function, scratch = function_of(parameters, tree, types, costs.ufuncs)
        into = _SPARE if last and not translation.several else ""
        if into:
            yield _spare(grad)
        function = self.specialiser.choosing(function)
        call = call_of(runner, function, [Name(p) for p in parameters], into, scratch)
        yield let_all(targets, call)

    def _native(self, form: NativeForm, grad: Name, last: bool) -> NativeCall:
        """How a native kernel computes."""
        large = form.in_shares(self.specialiser.shared_by_threads(), _SPARE if last else "")
        spare = (_spare(grad),) if last else ()
        return NativeCall(form.kernel, form.there, form.plain(), large, spare)

    def _native_form(self, spec: NodeSpec, gradient: Gradient, number: int) -> NativeForm | None:
        """How the formula calls a native kernel, which computes what its operators do natively."""
        forms = self.specialiser.native_forms
        joint = len(gradient.inputs) > 1 and gradient.target is None
        if forms is None or takes_tuple(spec.operator) or joint:
            return None
        translation = _Translation(self, spec, gradient, native=True)
        try:
            tree = inline(translation.statements, translation.result(gradient, False))
        except Unsupported:
            return None
        if not translation.elementwise:
            return None
        given = {n.id: n for n in walk(tree) if isinstance(n, Name)}
        name = f"{spec.name}_{number}"
        scalar = dotted("grad.dtype.type")
        return forms.form(name, tree, self._types(spec, translation), given, scalar, translation.declared)

    def _unpack(self, spec: NodeSpec, gradient: Gradient) -> Iterable[Local]:
        kept = saved(gradient.formula, spec.operator)
        if kept.conditional or kept.retain_variables:
            raise Unsupported
        if kept.input_mask:
            yield mask_of(spec, gradient.inputs)
        yield from gradient_statements(spec, gradient.formula.tree, Rewriter({}, {}, {}), "materialize_array")
        arguments = {a.name: a for a in spec.operator.schema.arguments}
        for name in (*kept.tensors, *kept.values):
            yield _unpacked(arguments[name])
        for name, number in results_used(spec.operator, gradient):
            slot = f"_result{number}"
            value = filled(f"unpack_result_array(node, node.{slot}, {number})")
            yield Local(name, value, Unpacked.RESULT, slot)


#: What brings back a tensor's array: it is asked here whether the tensor was written to.
_ARRAY = (
    "kept._array if (storage := kept._storage) is None or storage.version == version "
    "else modified(kept, version, node)"
)


def _unpacked(argument: Argument) -> Local:
    """The name for one saved argument, as an array, arrays or a plain value."""
    local, own = parameter_name(argument.name), f"_{argument.name}"
    kept, version = dotted(f"node.{own}"), dotted(f"node.{own}_version")
    if argument.type.is_tensor:
        return Local(local, filled(_ARRAY, kept=kept, version=version), Unpacked.TENSOR, own)
    if argument.is_tensor_list:
        return Local(local, call("unpack_arrays", kept, version, Name("node")))
    if argument.is_tensor:
        text = "None if kept is None else unpack_array(kept, version, node)"
        return Local(local, filled(text, kept=kept, version=version), Unpacked.OPTIONAL, own)
    return Local(local, kept)


class _Translation:
    """One formula's way from Tensors to arrays."""

    def __init__(self, writer: ArrayWriter, spec: NodeSpec, gradient: Gradient, native: bool = False) -> None:
        """``native``: operators are what their native kernels compute, where that is declared."""
        self.writer, self.native = writer, native
        self.declared = False  # whether something that is declared as native is in it
        self.helpers = spec.helpers
        self.several = takes_tuple(spec.operator)
        self.elementwise = True  # whether parts of the arrays would give parts of the gradient
        self.statements: list[Named] = []
        self.temporaries = 0
        arguments = {a.name for a in spec.operator.schema.arguments}
        values = {**names_of_formula(spec.operator), **_gradients_of(spec)}
        self.types = Types(formula_environment(values, writer.gives(spec)))
        #: What the names of the formula are called among arrays.
        self.names = {
            n.id: Name(parameter_name(n.id) if n.id in arguments else n.id)
            for n in values
            if isinstance(n, Name)
        }
        self.metadata = {n for n, _ in saved(gradient.formula, spec.operator).metadata}

    def arrays(self) -> list[Expr]:
        """The names that are arrays."""
        return [expr for name, expr in self.names.items() if self.types.of(Name(name)).is_array]

    # -- expressions -----------------------------------------------------------------------

    def result(self, gradient: Gradient, several: bool) -> Expr:
        """The translation of a whole formula; ``several``: the gradients of a list."""
        tree = gradient.formula.tree
        if len(gradient.inputs) > 1 and gradient.target is None:
            if several:
                raise Unsupported
            return self.joint(tree, len(gradient.inputs))
        if self.types.of(tree).kind not in (Kind.ARRAYS if several else Kind.ARRAY, Kind.RESULT):
            raise Unsupported
        return self.translated(tree)

    def value(self, expr: Expr) -> Value:
        """The translation of an expression, and what it is; Unsupported when it has none."""
        return Value(self.translated(expr), self.types.of(expr))

    def plain(self, expr: Expr) -> Expr:
        """The translation of what must not be an array."""
        if self.types.of(expr).is_array:
            raise Unsupported
        return self.translated(expr)

    def translated(self, expr: Expr) -> Expr:
        """The expression over arrays; Unsupported when there is none."""
        match expr:
            case Constant(complex()):  # gradients are complex here, though the inputs are real
                raise Unsupported
            case Constant():
                return expr
            case Name(name) if name in self.names:
                return self.names[name]
            case Operation():
                return self._operation(expr)
            case Conditional():
                return self._conditional(expr)
            case Logical(symbol, operands):
                return Logical(symbol, self._plain(operands))
            case Elements(_, elements):
                return Elements("tuple", self._plain(elements))
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
                return dotted(f"node._{use[0]}_shape")
            case Call(Name(function), arguments):
                given = [self.value(a) for a in arguments]
                if function in self.helpers and not expr.keywords:
                    return self._helper(function, given)
                return self.apply(function, given, self._keywords(expr.keywords))
        raise Unsupported

    def _plain(self, exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple([self.plain(e) for e in exprs])

    def _helper(self, function: str, given: list[Value]) -> Expr:
        """The call of a helper: of one that arrays are given to, the kernel that has its name."""
        if not any([v.type.may_be_array for v in given]):
            return Call(self.writer.helper(self.helpers[function]), tuple([v.expr for v in given]))
        kernel = self.writer.specialiser.kernel_named(function)
        if kernel is None:
            raise Unsupported
        self.elementwise = False
        return Call(kernel, tuple(map(_whole, given)))

    def _keywords(self, keywords: Iterable[Keyword]) -> dict[str, Value]:
        return {str(k.name): self.value(k.value) for k in keywords}

    def _operation(self, expr: Operation) -> Expr:
        operands = [self.value(operand) for operand in expr.operands]
        if expr.symbol == "not x" and operands[0].is_array:
            raise Unsupported
        return expr.with_parts([o.expr for o in operands])

    def _conditional(self, expr: Conditional) -> Expr:
        condition = self.plain(expr.condition)
        before = len(self.statements)
        a, b = self.value(expr.then), self.value(expr.otherwise)
        if a.is_array is not b.is_array or (len(self.statements) != before and not self.native):
            raise Unsupported
        return Conditional(condition, a.expr, b.expr)

    def _attribute(self, expr: Attribute) -> Expr:
        if isinstance(expr.value, Name) and expr.value.id in self.metadata:
            self.elementwise = False
            shape = dotted(f"node._{expr.value.id}_shape")
            if expr.name == "shape":
                return shape
            if expr.name == "ndim":
                return Call(Name("len"), (shape,))
            raise Unsupported
        value = self.value(expr.value)
        if not value.is_array or expr.name not in ("shape", "ndim", "dtype"):
            raise Unsupported
        self.elementwise = self.elementwise and expr.name == "dtype"
        return Attribute(value.expr, expr.name)

    def _subscript(self, expr: Subscript) -> Expr:
        number = gradient_number(expr)
        if number is not None:
            return Name(f"grad{number}")
        inner = self.plain(expr.value)
        if isinstance(expr.index, Slice):
            raise Unsupported
        return Subscript(inner, self.plain(expr.index))

    def _method(self, inner: Expr, method: str, call: Call) -> Expr:
        size = method == "numel" and not call.arguments
        if isinstance(inner, Name) and inner.id in self.metadata:
            self.elementwise = False
            if size:
                return Call(Name("prod"), (dotted(f"node._{inner.id}_shape"),))
            raise Unsupported
        value = self.value(inner)
        if not value.type.may_be_array and method in self.writer.identities:
            return value.expr
        if not value.is_array:
            raise Unsupported
        if size:
            self.elementwise = False
            return Attribute(value.expr, "size")
        given = [value, *(self.value(a) for a in call.arguments)]
        return self.apply(method, given, self._keywords(call.keywords))

    # -- operators -------------------------------------------------------------------------

    def joint(self, expr: Expr, count: int) -> Expr:
        """The call of an operator that gives the gradients of ``count`` inputs at once."""
        match expr:
            case Call(Name(function), arguments, keywords):
                given = [self.value(a) for a in arguments]
                return self.apply(function, given, self._keywords(keywords), count)
        raise Unsupported

    def apply(self, function: str, given: list[Value], keywords: dict[str, Value], results: int = 1) -> Expr:
        """A call of an operator: its kernel in place of it."""
        for operator in self.writer.by_function.get(function, ()):
            if len(operator.schema.returns) != results:
                continue
            if IDENTITY_ON_REAL in operator.tags and len(given) == 1 and not keywords:
                return given[0].expr
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
                type_ = PLAIN if a.is_tensor_like else type_of(a.type)
                bound[a.name] = Value(constant(default_value(a)), type_)
                continue
            fitted = self._fit(operator, a, value)
            if fitted is None:
                return None
            bound[a.name] = fitted
        return bound if set(keywords) <= {a.name for a in arguments} else None

    def _fit(self, operator: Operator, argument: Argument, value: Value) -> Value | None:
        several = value.type.kind is Kind.ARRAYS
        if argument.is_tensor_list or several:
            return value if argument.is_tensor_list and several else None
        if argument.type.required.is_dtype:
            return value if value.type.kind is Kind.DTYPE else None
        if argument.is_tensor:
            if value.expr == _NONE and argument.type.is_optional:
                return value
            scalar = "pointwise" in operator.tags and value.type.is_number
            return value if value.is_array or scalar else None
        if value.is_array:
            return None
        if value.type.kind is Kind.UNKNOWN:
            return value
        if not isinstance(argument.type.required, ListType):
            return None if value.type.is_list else value
        if value.type.is_list or value.expr == _NONE:
            return value
        single = value.type.kind in (Kind.INT, Kind.NUMBER)
        return Value(Elements("tuple", (value.expr,)), SIZE) if single else None

    def _kernel(self, operator: Operator, bound: Mapping[str, Value]) -> Expr:
        specialiser = self.writer.specialiser
        kernel = specialiser.kernel(operator)
        assert kernel is not None
        self.elementwise = self.elementwise and operator.is_elementwise
        formula = operator.native if self.native else None
        if kernel.function is not None and formula is None:
            given = tuple([_whole(bound[a.name]) for a in operator.schema.arguments])
            return Call(specialiser._function(kernel.function), given)
        self.declared = self.declared or formula is not None
        formula = formula or kernel.formula
        counts = count_names([formula.tree])
        names: dict[str, Expr] = {}
        for name, value in bound.items():
            atomic = isinstance(value.expr, Name) or not value.is_array
            expr = value.expr if self.native or "pointwise" in operator.tags else _whole(value)
            names[name] = expr if atomic or counts.get(name, 0) < 2 else self._temporary(expr)
        names |= self._prepared(kernel, bound, names)
        calls = specialiser.native_calls(kernel) if self.native else kernel.calls
        names.update({n: specialiser._function(q) for n, q in calls.items()})
        if operator.body is not None:
            names[NATIVE_KERNELS] = specialiser.kernels_of_body(operator.name, operator.body)
        names.update(specialiser.forms_of(operator.name, formula.tree))
        return replaced(formula.tree, names)

    def _prepared(
        self, kernel: Kernel, bound: Mapping[str, Value], names: Mapping[str, Expr]
    ) -> dict[str, Expr]:
        """The operands that the kernel has looked at first, but for conditions and numbers that are known."""
        known = {name for name, v in bound.items() if v.type == MASK or isinstance(v.expr, Constant)}
        found = self.writer.specialiser.prepared(kernel, names)
        return {name: expr for name, expr in found.items() if name not in known}

    def _temporary(self, expr: Expr) -> Expr:
        name = f"t{self.temporaries}"
        self.temporaries += 1
        self.statements.append((name, expr))
        return Name(name)


def _spare(grad: Name) -> Statement:
    """The statement that finds the memory of a gradient, where nobody else needs it."""
    return let(_SPARE, filled("grad if is_callers_only(grad) else None", grad=grad))


def _gradients_of(spec: NodeSpec) -> dict[Expr, ValueType]:
    """The types of the gradients that a Node's formulas use, those of its results and those made of them."""
    numbers = result_numbers(spec.operator.schema.returns)
    found: dict[Expr, ValueType] = {Name(f"grad_{n}"): ARRAY for n in numbers}
    found |= {Name(f"grad{i}"): ARRAY for i in numbers.values()}
    found |= {Name(g.target): ARRAY for g in spec.gradients if g.target is not None}
    found |= {Name("grad"): ARRAY, Name("grad_input_mask"): LIST}
    return found | ({Name("grads"): ARRAYS} if takes_tuple(spec.operator) else {})


_NONE = Constant(None)
_NUMBERS = dotted("node.type.numbers")


def _whole(value: Value) -> Expr:
    """A kernel's argument: NumPy makes scalars of what it computes from 0-d arrays."""
    if value.is_array and not isinstance(value.expr, Name):
        return Call(Name("_asarray"), (value.expr,))
    return value.expr
