"""Specialise: each operator's method for each backend and scalar type.

They depend on a scalar type only through its category and through whether the operator
has it at all, so that is what they are made by; ``hoist`` then finds the siblings that agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ...ir.bodies import NATIVE_KERNELS, Body, kernel_of_body
from ...ir.contractions import FORMS as CONTRACTIONS
from ...ir.expressions import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Elements,
    Expr,
    Keyword,
    Lambda,
    Name,
    Parameter,
    Starred,
    count_names,
    dotted,
    names_in,
    replaced,
    rewritten,
)
from ...ir.factories import FACTORY_FORMS
from ...ir.moves import FORMS
from ...ir.statements import is_none, names, tuple_of
from ...ir.types import Types, ValueType
from ...ir.views import VIEW_FORMS
from ..derive.derived import Derived
from ..model.annotations import parameter_name
from ..model.derived import NodeSpec, Variant
from ..model.methods import KernelMethod, Method, PromotedMethod
from ..model.names import COMPOSITES, DRAWN_BY_ELEMENT, LOSSES, OTHER_LAYOUT, POINTWISE_VALUES, STORED_VALUES
from ..model.operators import (
    EXPRESSIONS,
    REDUCTION,
    Backend,
    Kernel,
    Operator,
    Primitive,
    ScalarType,
)
from ..model.results import Result, ResultKind
from ..model.schema import OperatorName
from ..read.functions import FunctionIndex, alias, generated_name, module_path
from .array_results import ArrayResults
from .blocks import CostModel, call_of, function_of
from .counterparts import apart, counterpart
from .environments import kernel_environment, type_of
from .generic import generic
from .headers import header, plain_arguments
from .kept_numbers import with_kept_numbers
from .layouts import relaid
from .native import NativeForm, NativeForms
from .operands import array_of, forbidden_of, prepared, promoted_type, tensors_of
from .optimise import Named
from .recording import record_of, refused
from .results import RESULT_TYPES, results_of

#: The scalar types whose recording methods are written flat; the others call the plain method.
FLAT = "floating"
#: Those that are computed as float32.
REDUCED = "reduced"
#: The operators with this tag are written generically.
COLD = "cold"
TAKES_REDUCED = "takes_reduced"
#: The tag of operators of one tensor that keep zeros, and the capability of calling them on what is stored.
ZERO_PRESERVING = "zero_preserving"
# Kinds of promotion that take a category of scalar types to others, which may have the operator.
_PROMOTING = {
    ("int_to_float", "bool"),
    ("int_to_float", "integral"),
    ("int_to_float", "unsigned"),
    ("bool_to_long", "bool"),
}


#: The package of what is generated of tengen.
_TENGEN = "tengen.generated"
#: What stands for modules of forms in kernels, these, and what they are called.
_FORMS = (
    (FORMS, "moves", "forms"),
    (VIEW_FORMS, "views", "view_forms"),
    (CONTRACTIONS, "contractions", "contraction_forms"),
    (FACTORY_FORMS, "factories", "factory_forms"),
)


class Specialiser:
    """Makes the methods of one backend's classes."""

    def __init__(
        self,
        derived: Derived,
        backend: Backend,
        functions: FunctionIndex,
        structures: Mapping[str, str],
        primitives: Mapping[str, Primitive],
        reduced: bool,
        array_nodes: frozenset[str] = frozenset(),
        native_forms: NativeForms | None = None,
        package: str = _TENGEN,
    ) -> None:
        """``reduced``: whether the backend has reduced types; ``array_nodes``: its Nodes over arrays.

        ``native_forms`` makes native kernels, for a backend that can call them; ``package`` is where what is
        generated goes.
        """
        self.derived = derived
        self.costs = CostModel(primitives)
        self.native_forms = native_forms
        self.package = package
        self.closed = self.costs.closed() | (frozenset() if native_forms is None else native_forms.functions)
        self.backend = backend
        self.kernel_functions = functions
        self.numbers, self.masks = functions.giving("Number"), functions.giving("Mask")
        self.structures = structures
        #: Whether what computes are NumPy's arrays.
        self.array_results = ArrayResults(primitives)
        self.arrays = backend.capabilities.get("formulas") == "arrays"
        self.modules: dict[str, str] = {}  # modules used: alias -> import path
        self.libraries: dict[
            str, tuple[str, str]
        ] = {}  # functions of other libraries: alias -> (module, name)
        self.array_nodes = array_nodes
        self._modules = frozenset(backend.kernels)
        self._apart = apart(primitives)
        self._reduced = reduced
        self._computed: dict[tuple[OperatorName, bool, bool, bool], Method] = {}
        #: By category, whether it records, and whether it has the scalar type.
        self._made: dict[tuple[str, bool, bool], dict[OperatorName, Method | None]] = {}

    # -- which methods a class has ---------------------------------------------------------

    def computed(self) -> list[Variant]:
        """The variants that this backend has a kernel for."""
        variants = self.derived.variants
        return [
            v for v in variants if v.kind in ("functional", "view") and self.kernel(v.operator) is not None
        ]

    def methods(self, variants: Iterable[Variant], scalar: ScalarType, recording: bool) -> dict[str, Method]:
        """The methods of the class of one scalar type; those that it inherits or lacks are left out."""
        made = [self._made.setdefault((scalar.category, recording, known), {}) for known in (False, True)]
        found: dict[str, Method] = {}
        for variant in variants:
            supported = self.supports(variant.operator, scalar)
            method = made[supported].get(variant.name, ...)
            if method is ...:
                method = self._method(variant, scalar, recording, supported)
                made[supported][variant.name] = method
            if method is not None:
                found[method.name] = method
        return found

    def kernel(self, operator: Operator) -> Kernel | None:
        """What this backend runs for the operator."""
        own = operator.kernels.get(self.backend.name)
        if own is None and self.backend.is_group:
            return counterpart(operator, self.backend, self.kernel_functions, self._apart)
        if own is None and POINTWISE_VALUES in self.backend.capabilities:
            return self._of_values(operator)
        if own is not None or EXPRESSIONS.isdisjoint(operator.tags) or self.backend.group:
            return own
        if operator.is_loss and LOSSES not in self.backend.capabilities:
            return None
        if ZERO_PRESERVING in self.backend.capabilities and ZERO_PRESERVING in operator.tags:
            return next(iter(operator.kernels.values()), None)
        if "pointwise" in self.backend.capabilities or self.backend.capabilities.get("expressions"):
            return next(iter(operator.kernels.values()), None)
        return None

    def _of_values(self, operator: Operator) -> Kernel | None:
        """The kernel of another backend that is called on values: that of an operator of each element."""
        by_element = operator.is_elementwise or DRAWN_BY_ELEMENT in operator.tags
        if not by_element or operator.kernels.keys() & set(COMPOSITES):
            return None
        return operator.kernels.get(str(self.backend.capabilities.get("values_of")))

    def supports(self, operator: Operator, scalar: ScalarType) -> bool:
        """Whether the operator has a kernel for a scalar type."""
        listed = operator.dtypes.get(self.backend.name)
        if listed is None:
            listed = next(iter(operator.dtypes.values()), None)
        return listed is None or scalar.name in listed

    def _method(
        self, variant: Variant, scalar: ScalarType, recording: bool, supported: bool
    ) -> Method | None:
        operator = variant.operator
        if not supported:
            promotes = (operator.promote, scalar.category) in _PROMOTING
            return (
                PromotedMethod(operator.name.method, str(operator.name))
                if promotes and not recording
                else None
            )
        node = self.derived.node(str(operator.name), self.backend.name)
        flat = self.is_flat(operator)
        if recording and (node is None or not flat or scalar.category != FLAT):
            return None
        reduced = scalar.is_reduced if flat else self._reduced
        hooked = reduced and self._widens(operator, variant)
        native = flat and scalar.category == (REDUCED if hooked else FLAT)
        key = (variant.name, hooked, recording, native)
        if key not in self._computed:
            method = self._computing(variant, hooked, node if recording else None, native)
            self._computed[key] = method if flat and not hooked else generic(method)
        return self._computed[key]

    def is_flat(self, operator: Operator) -> bool:
        """Whether floating-point methods are flat; else a generic one serves reduced types too."""
        return self.arrays and COLD not in operator.tags

    def _widens(self, operator: Operator, variant: Variant) -> bool:
        """Whether a method converts reduced types to float32 for the kernel, and its results back."""
        takes_reduced = TAKES_REDUCED in operator.tags or operator.body is not None
        if not operator.opmath or (self.arrays and takes_reduced):
            return False
        return not self.is_view(variant) and self.is_strided(operator)

    def is_view(self, variant: Variant) -> bool:
        """Whether the results share memory with an argument: only strided memory has parts."""
        return variant.kind == "view" and self.backend.is_strided

    def is_strided(self, operator: Operator) -> bool:
        """Whether all that an operator takes and gives here is strided, of one Type or another."""
        return self.backend.is_strided and OTHER_LAYOUT not in operator.tags

    # -- the computation -------------------------------------------------------------------

    def _computing(self, variant: Variant, hooked: bool, node: NodeSpec | None, native: bool) -> KernelMethod:
        operator = variant.operator
        kernel = self.kernel(operator)
        assert kernel is not None
        locals_, call = self._call(operator, kernel, hooked)
        kept = frozenset() if hooked else frozenset([name for name, _ in locals_])
        operands, blocked = self._blocked(operator, kernel, hooked, kept) if variant.exposed else ((), None)
        rewrite = self.arrays and variant.exposed and not hooked
        arrays = self.array_results.rewritten(call) if rewrite else None
        native = native and variant.exposed and not (hooked and operator.is_loss)
        form = self.native_form(operator, kernel, hooked, kept) if native else None
        may_be_scalars = arrays is None or operator.is_loss
        if form is not None:
            operands = operands or tensors_of(operator)
            blocked = blocked or arrays or call
            plain, large = form.plain(), form.in_shares(self._native("native_kernels"))
            if hooked:  # rounded elements: no loss is made of these
                plain = large = form.of_reduced(self._native("reduced_kernels"))
            arrays = form.otherwise(plain, arrays or call)
            blocked = form.otherwise(large, blocked)
        call = arrays or call
        if operator.is_loss:
            call, blocked = self._loss(call), None if blocked is None else self._loss(blocked)
        # Of what kinds of arrays there are several the array tells the Type.
        known = RESULT_TYPES.get(operator.result_kind) if self.backend.is_strided else None
        results = results_of(operator, known, self.is_view(variant), hooked)
        if not self.is_view(variant) and variant.exposed and self._has_layouts(kernel, operator):
            results = self._relaid(operator, kernel, results)
        if not variant.exposed:
            shape = Attribute(_ARRAY_OF_SELF, "shape")
            call = Call(dotted("T.backend.lib.broadcast_to"), (call, shape))
        record = None
        if node is not None:
            record = record_of(operator, node, results, node.name in self.array_nodes)
        return KernelMethod(
            *header(operator, self.structures),
            call=call,
            results=results,
            structure=self.structures.get(str(operator.name)) or "",
            locals=tuple(locals_),
            tensors=tuple([parameter_name(a.name) for a in operator.schema.arguments if a.is_tensor]),
            record=record,
            refused=() if node is None else refused(node),
            arguments=self._given(variant),
            forbidden=forbidden_of(operator),
            operands=operands,
            blocked=blocked,
            may_be_scalars=may_be_scalars
            and "array_class" in self.backend.capabilities
            and self.is_strided(operator),
            shares=variant.kind == "view" and not self.backend.is_strided,
        )

    def _loss(self, elements: Expr) -> Expr:
        """What is made of the elements of a loss, by its argument that says so."""
        first = (_NAMESPACE,) if self.backend.runs_generically else ()
        function = self._named(str(self.backend.capabilities[LOSSES]))
        return Call(function, (*first, elements, Name(REDUCTION)))

    def _given(self, variant: Variant) -> Expr | None:
        """All arguments as a tuple, where the method may be called again with them; else nothing."""
        if variant.operator.factory is not None:
            return None
        if self.is_view(variant) and not self.backend.runs_generically:
            return None
        return tuple_of(names([parameter_name(a.name) for a in plain_arguments(variant.operator)]))

    def computation(self, operator: Operator, kernel: Kernel) -> tuple[list[Named], Expr]:
        """What ``kernel`` computes in the place of the operator's own, and the local names it needs."""
        return self._call(operator, kernel, hooked=False)

    def _call(self, operator: Operator, kernel: Kernel, hooked: bool) -> tuple[list[Named], Expr]:
        """The expression that computes, and the local names it needs."""
        arguments = plain_arguments(operator)
        if kernel is not operator.kernels.get(self.backend.name) and "pointwise" in self.backend.capabilities:
            return [], self._pointwise(operator)
        arrays = {a.name: array_of(a, hooked, self.backend.runs_generically) for a in arguments}
        runner, named = self._on_values(operator, kernel)
        if runner is not None:
            stored = [a for a in arguments if a.type.is_tensor or (named and a.type.is_optional_tensor)]
            given = [arrays[a.name] for a in stored]
            arrays |= {a.name: Name(parameter_name(a.name)) for a in stored}
            _, call = self._kernel_call(operator, kernel, arrays, hooked, named=False)
            function = Lambda(tuple([Parameter(parameter_name(a.name)) for a in stored]), call)
            return [], Call(runner, (*named, function, *given))
        return self._kernel_call(operator, kernel, arrays, hooked)

    def _on_values(self, operator: Operator, kernel: Kernel) -> tuple[Expr | None, tuple[Expr, ...]]:
        """What calls the kernel of another backend on the values that an array stores, where that is done.

        And what it gets first: the operator's name, where it looks at several operands.
        """
        if kernel is operator.kernels.get(self.backend.name):
            return None, ()
        capabilities = self.backend.capabilities
        as_stored = DRAWN_BY_ELEMENT in operator.tags and not operator.opmath
        values = STORED_VALUES if as_stored else POINTWISE_VALUES
        name = capabilities.get(ZERO_PRESERVING, capabilities.get(values))
        if name is None:
            return None, ()
        first = (Constant(operator.name.base),) if POINTWISE_VALUES in capabilities else ()
        return self._named(str(name)), first

    def _kernel_call(
        self,
        operator: Operator,
        kernel: Kernel,
        arrays: Mapping[str, Expr],
        hooked: bool,
        named: bool = True,
    ) -> tuple[list[Named], Expr]:
        """As ``_call``, of a kernel that is called as it is; ``named``: with names for what it uses twice."""
        arguments = plain_arguments(operator)
        arrays = {**arrays, **self.prepared(kernel, arrays)}
        dtype = Attribute(Name("T"), "dtype")
        first = (_NAMESPACE,) if self.backend.runs_generically else ()
        if kernel.function is not None:
            given = [arrays[a.name] for a in arguments]
            given += [] if operator.factory is None else [dtype]
            if first and ":" in kernel.function:
                return [], Call(_of_arrays(kernel.function), tuple(given))
            return [], Call(self._function(kernel.function), (*first, *given))
        counts = count_names([kernel.formula.tree])
        locals_: list[Named] = []
        names: dict[str, Expr] = {}
        for a in arguments:
            value = arrays[a.name]
            names[a.name] = value
            if named and counts.get(a.name, 0) > 1 and (a.is_tensor_like or a.type.required.is_dtype):
                names[a.name] = Name(f"_{a.name}")
                locals_.append((f"_{a.name}", value))
        if operator.factory is not None:
            names["dtype"] = dtype
        if operator.body is not None:
            names[NATIVE_KERNELS] = self.kernels_of_body(operator.name, operator.body)
        names.update(self.forms_of(operator.name, kernel.formula.tree))
        tree = kernel.formula.tree
        foreign = {n for n, qualified in kernel.calls.items() if first and ":" in qualified}
        if first:
            names["xp"] = _NAMESPACE
            of_numbers = operator.body.functions_of_numbers if operator.body is not None else frozenset()
            of_arrays = kernel.calls.keys() - foreign - of_numbers
            tree = rewritten(tree, lambda e: _given_namespace(e, of_arrays))
        for n, qualified in kernel.calls.items():
            names[n] = _of_arrays(qualified) if n in foreign else self._function(qualified)
        call = replaced(tree, names)
        if self.arrays and not hooked:
            values = {names[a.name]: promoted_type(a, operator) for a in arguments}
            call = with_kept_numbers(call, self.types(values), _NUMBERS, self.closed)
        return locals_, self.choosing(call) if operator.of_elements else call

    def prepared(
        self, kernel: Kernel, arrays: Mapping[str, Expr], kept: Collection[str] = ()
    ) -> dict[str, Expr]:
        """The operands that a kernel has looked at before it computes, as they come from that.

        What that gave may be ``kept`` as a local.
        """
        first = (_NAMESPACE,) if self.backend.runs_generically else ()
        return prepared(kernel, arrays, lambda name: self._function(kernel.calls[name]), first, kept)

    def kernels_of_body(self, name: OperatorName, body: Body) -> Expr:
        """The namespace that has the native kernels of a body; None where there are none."""
        if self.native_forms is None:
            return Constant(None)
        return self.native_forms.of_body(kernel_of_body(name.method), body)

    def forms_of(self, name: OperatorName, tree: Expr) -> dict[str, Expr]:
        """The modules of forms that a kernel asks for, noted for import."""
        found: dict[str, Expr] = {}
        used = names_in(tree)
        for forms, module, called in _FORMS:
            if forms in used:
                short = alias(f"{name.namespace}_{called}" if name.namespace else called)
                self.modules[short] = f"{self.package if name.namespace else _TENGEN}.{module}"
                found[forms] = Name(short)
        return found

    def native_form(
        self, operator: Operator, kernel: Kernel, hooked: bool = False, kept: Collection[str] = ()
    ) -> NativeForm | None:
        """How an elementwise operator of the Types that native kernels are made for calls its own.

        ``hooked``: of reduced types, whose numbers are float32; ``kept`` are the names of locals.
        """
        declared = operator.native
        formula = declared or (None if kernel.function is not None else kernel.formula)
        if self.native_forms is None or formula is None or not operator.of_elements:
            return None
        arguments = plain_arguments(operator)
        tree = self._over_parameters(formula.tree, operator, self.native_calls(kernel))
        types = self.types({Name(parameter_name(a.name)): promoted_type(a, operator) for a in arguments})
        arrays = {a.name: array_of(a, hooked=False) for a in arguments}
        arrays |= self.prepared(kernel, arrays, kept)
        given = {parameter_name(name): array for name, array in arrays.items()}
        name = operator.name.method.lstrip("_")
        number = dotted("xp.float32" if hooked else "T.dtype.type")
        return self.native_forms.form(name, tree, types, given, number, declared is not None)

    def _blocked(
        self, operator: Operator, kernel: Kernel, hooked: bool, kept: Collection[str] = ()
    ) -> tuple[tuple[str, ...], Expr | None]:
        """Which operands are small where a kernel is called plainly, and what else; nothing: it always is."""
        runner, operands = self.blocks(), tensors_of(operator)
        if runner is None or not operands or not operator.of_elements:
            return (), None
        types = self._declared_types(operator)
        if kernel.function is None and not self.costs.worth(kernel.formula.tree, types):
            return (), None
        arguments = plain_arguments(operator)
        function, scratch = None, None
        if kernel.function is not None:
            function = self._function(kernel.function)
        else:
            parameters = [parameter_name(a.name) for a in arguments]
            tree = self._over_parameters(kernel.formula.tree, operator, kernel.calls)
            function, scratch = function_of(parameters, tree, types, self.costs.ufuncs)
            function = self.choosing(function)
        arrays = {a.name: array_of(a, hooked) for a in arguments}
        given = {**arrays, **self.prepared(kernel, arrays, kept)}
        return operands, call_of(runner, function, list(given.values()), "", scratch)

    def _declared_types(self, operator: Operator) -> Types:
        """The types of expressions over the arguments of an operator, and over parameters of these names."""
        arguments = plain_arguments(operator)
        both = [(n, a.type) for a in arguments for n in (a.name, parameter_name(a.name))]
        return self.types({Name(name): type_of(declared) for name, declared in both})

    def choosing(self, expr: Expr) -> Expr:
        """The expression with the backend's own function, if it has one, in the place of ``xp.where``."""
        name = self.backend.capabilities.get("choices")
        if name is None:
            return expr
        chooses = self._named(str(name))
        return rewritten(expr, lambda part: chooses if part == _WHERE else part)

    def native_calls(self, kernel: Kernel) -> Mapping[str, str]:
        """The functions that a kernel calls, without those that are primitives with routines."""
        primitives = self.costs.primitives
        native = {name for name, p in primitives.items() if p.function is not None and p.native}
        return {n: qualified for n, qualified in kernel.calls.items() if n not in native}

    def _over_parameters(self, tree: Expr, operator: Operator, calls: Mapping[str, str]) -> Expr:
        """The expression over the parameters of the operator's method, with the functions that it calls."""
        known = {n: self._function(qualified) for n, qualified in calls.items()}
        parameters = {a.name: Name(parameter_name(a.name)) for a in plain_arguments(operator)}
        return replaced(tree, {**known, **parameters})

    def types(self, values: Mapping[Expr, ValueType]) -> Types:
        """The types of expressions over arrays that have these names."""
        return Types(kernel_environment(values, self.closed, self.numbers, self.masks))

    def blocks(self) -> Expr | None:
        """What calls functions on blocks of their operands; None where nothing does."""
        name = self.backend.capabilities.get("blocks")
        return self._named(str(name)) if name else None

    def shared_by_threads(self) -> Expr:
        """What calls native kernels on parts of their operands, in threads."""
        return self._native("native_kernels")

    def _native(self, capability: str) -> Expr:
        """The function of the backend that calls native kernels."""
        return self._named(str(self.backend.capabilities[capability]))

    def _named(self, name: str) -> Expr:
        """The kernel function of a name that a capability gives."""
        return self._function(self.kernel_functions.find(name, self._modules)[0].qualified)

    def kernel_named(self, name: str) -> Expr | None:
        """The kernel function of a name, if there is one."""
        found = self.kernel_functions.find(name, self._modules)
        return self._function(found[0].qualified) if len(found) == 1 else None

    def _pointwise(self, operator: Operator) -> Expr:
        """A backend that computes nothing elementwise needs only to know the operands."""
        function = self.kernel_functions.find(str(self.backend.capabilities["pointwise"]), self._modules)[0]
        arrays = {a.name: array_of(a, False) for a in operator.schema.arguments if a.type.is_tensor}
        own = operator.prepared and counterpart(operator, self.backend, self.kernel_functions, self._apart)
        looked = self.prepared(own, arrays) if own else {}
        given = [looked.get(name, array) for name, array in arrays.items()]
        for a in operator.schema.arguments:
            if a.type.is_optional_tensor:
                name = Name(parameter_name(a.name))
                there = Elements("tuple", (Attribute(name, "_array"),))
                given.append(Starred(Conditional(is_none(name), Elements("tuple", ()), there)))
        result_type = RESULT_TYPES.get(operator.result_kind, Name("T"))
        return Call(
            self._function(function.qualified),
            tuple(given),
            (Keyword("dtype", Attribute(result_type, "dtype")),),
        )

    def _function(self, qualified: str) -> Expr:
        """A kernel function, its module noted for import."""
        called = generated_name(qualified)
        if isinstance(called, Name):
            module, _, name = qualified.partition(":")
            self.libraries[called.id] = (module, name)
        else:
            module = qualified.rpartition(".")[0]
            self.modules[alias(module)] = module_path("tengen.kernels", module)
        return called

    # -- results ---------------------------------------------------------------------------

    def _has_layouts(self, kernel: Kernel, operator: Operator) -> bool:
        """Whether it is known what strides are here, and not all of it is done by what stands for kernels."""
        if "pointwise" in self.backend.capabilities and kernel is not operator.kernels.get(self.backend.name):
            return bool(operator.layout)
        return self.backend.is_strided and (self.arrays or not self.backend.has_data)

    def _relaid(self, operator: Operator, kernel: Kernel, results: Sequence[Result]) -> tuple[Result, ...]:
        return tuple(
            replace(r, relaid=relaid(operator, kernel, i, r.variable, self.arrays))
            if r.kind is ResultKind.TENSOR
            else r
            for i, r in enumerate(results)
        )


_NUMBERS = dotted("T.numbers")
#: The array namespace where it is not the same for all that a class is for.
_NAMESPACE = dotted("T.backend.lib.xp")


def _of_arrays(qualified: str) -> Expr:
    """A function of another library for the arrays of whichever library a Type is for."""
    module, _, name = qualified.partition(":")
    return Call(dotted("T.backend.lib.function"), (Constant(module), Constant(name)))


def _given_namespace(expr: Expr, functions: Collection[str]) -> Expr:
    """A call of one of the functions, with the namespace before its arguments."""
    if isinstance(expr, Call) and isinstance(expr.function, Name) and expr.function.id in functions:
        return replace(expr, arguments=(Name("xp"), *expr.arguments))
    return expr


#: What chooses by a mask, as expressions write it.
_WHERE = dotted("xp.where")
_ARRAY_OF_SELF = dotted("self._array")
