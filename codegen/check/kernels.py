"""Check: kernels.  A dispatch value is a function's bare name, an expression, or module:function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...ir.accesses import Access
from ...ir.bodies import LENGTH, NATIVE_KERNELS, Along, Body, kernel_of_body, name_without
from ...ir.body_calls import BodyCall
from ...ir.contractions import FORMS as CONTRACTIONS, Contraction
from ...ir.expressions import (
    Attribute,
    Call,
    Constant,
    Elements,
    Expr,
    Lambda,
    Name,
    Parameter,
    rewritten,
)
from ...ir.factories import FACTORY_FORMS, FULL, Factory
from ...ir.moves import FORMS, Move
from ...ir.views import VIEW_FORMS, View
from ...ir.windows import Window
from ...ir.writer import write
from ..model.diagnostics import Report, one_of, suggestion
from ..model.names import COMPOSITES
from ..model.operators import EXPRESSIONS, Formula, Kernel, Primitive, Said
from ..model.schema import Argument, ListType, Schema
from ..model.source import Located
from ..parse.formula import as_text, length_of, parse_formula, place_of
from ..read.fields import length_of_scalar
from ..read.functions import ABSOLUTE, Arity, Function, FunctionIndex, is_library_function, of_library
from .capabilities import NUMPY
from .expand import Declared
from .instructions import instruction, whole
from .names import (
    BUILTINS,
    TENSOR_BUILTINS,
    OperatorTable,
    Problem,
    TensorVocabulary,
    Vocabulary,
    call_problem,
    check_names,
)
from .operands import MASK, OPERAND, Operands
from .presence import by_presence
from .primitives import Primitives
from .tables import Tables

EMPTY: Mapping[str, frozenset[str]] = {}
# What a pointwise expression may ask of an array itself.
_POINTWISE_ATTRIBUTES = frozenset({"dtype", "real", "imag", "astype", "conj", "conjugate"})


@dataclass(frozen=True, slots=True)
class Sources:
    """Whatever the names in declarations may refer to."""

    tables: Tables
    functions: FunctionIndex
    composite: FunctionIndex
    formulas: FunctionIndex
    symbolics: FunctionIndex
    operators: OperatorTable
    forms: Mapping[str, frozenset[str]]  # the forms that kernels may ask for, those of views ...
    errors: frozenset[str]  # classes of exceptions that the runtime defines
    references: frozenset[str] | None  # those of the tests' references, where there are tests
    home: str = "runtime"  # the folder of these functions, as messages show it
    library: str = ""


def kernel_arguments(schema: Schema, factory: bool) -> tuple[str, ...]:
    """What a kernel is called with: a factory's options collapse to one dtype, the last argument."""
    if not factory:
        return tuple(a.name for a in schema.arguments)
    kept = [a.name for a in schema.arguments if not is_option(a)]
    return (*kept, "dtype")


def is_option(argument: Argument) -> bool:
    """Whether it is one of dtype, layout, device and pin_memory of a creation operator."""
    return argument.kwarg_only and (argument.type.is_option or argument.type.is_dtype)


class KernelVocabulary(Vocabulary):
    """Expressions over arrays: arguments, kernel functions of the backend, and ``xp``."""

    what = "kernel"

    def __init__(
        self,
        values: Iterable[str],
        index: FunctionIndex,
        modules: frozenset[str],
        primitives: Primitives,
        pointwise: bool,
        generic: bool = False,
        forms: Mapping[str, frozenset[str]] = EMPTY,
    ) -> None:
        """``generic``: functions are given ``xp`` before what the expression says."""
        super().__init__({*values, "xp", *forms})
        self.forms = forms
        self.generic = generic
        self.index, self.modules, self.primitives, self.pointwise = index, modules, primitives, pointwise

    def function(self, name: str) -> Sequence[Arity | None] | None:
        if (primitive := self.primitives.apart(name)) is not None:
            return [arity_of(primitive)]
        found = self.index.find(name, self.modules) if name not in BUILTINS else ()
        arities = [function.arity() for function in found]
        if self.generic:
            arities = [None if arity is None else arity.without_first() for arity in arities]
        return arities or None

    def functions(self) -> Iterable[str]:
        return {*self.index.names(self.modules), *filter(self.primitives.apart, self.primitives.pointwise)}

    def unknown(self, name: str) -> Problem:
        close = suggestion(name, self.values) or suggestion(name, {*self.functions(), *BUILTINS})
        if name in self.primitives.pointwise or name in self.primitives.array:
            close = f'did you mean "xp.{name}"?'
        expected = "an argument, xp, or a function of the backend's kernels"
        return Problem(f'unknown name "{name}" in the kernel', expected, close)

    def attribute(self, expr: Attribute, call: Call | None) -> Problem | None:
        name, known = expr.name, self.primitives
        if isinstance(expr.value, Name) and (forms := self.forms.get(expr.value.id)) is not None:
            close, of = suggestion(name, forms), expr.value.id
            return None if name in forms else Problem(f'no body of "{name}" is among the {of}', help=close)
        if expr.value != Name("xp"):
            if self.pointwise and name not in _POINTWISE_ATTRIBUTES:
                return Problem(
                    f'a pointwise kernel may not use ".{name}"', one_of(sorted(_POINTWISE_ATTRIBUTES))
                )
            return None
        if name in known.constants:
            return None
        if known.apart(name) is not None:
            return Problem(f"{name} is no function of the array namespace", f"{name}(...)")
        if name in known.pointwise:
            if call is None or call.keywords:
                return None
            return call_problem(f"xp.{name}", [arity_of(known.pointwise[name])], call)
        expected = "a pointwise primitive" if self.pointwise else "a primitive"
        if name in known.array:
            return Problem(f"xp.{name} is no pointwise primitive", expected) if self.pointwise else None
        close = suggestion(name, {*known.pointwise, *known.constants, *known.array})
        return Problem(f'"{name}" is not in the vocabulary of primitives.yaml', expected, close)


def _rewritten(formula: Formula, tree: Expr) -> Formula:
    """What a formula has become: itself, or one with the text of its tree."""
    if tree == formula.tree:
        return formula
    return Formula(replace(formula.source, value=write(tree), starts=()), tree)


def arity_of(primitive: Primitive) -> Arity:
    """How a primitive is called."""
    return Arity(tuple("abcd"[: primitive.arguments]), primitive.arguments, primitive.arguments)


class NativeVocabulary(KernelVocabulary):
    """Expressions of native kernels: arguments, ``xp``, and functions that have only routines."""

    what = "native kernel"

    def __init__(self, values: Iterable[str], index: FunctionIndex, primitives: Primitives) -> None:
        super().__init__(values, index, frozenset(), primitives, True)

    def function(self, name: str) -> Sequence[Arity | None] | None:
        of_scalars = self.primitives.routines.get(name)
        if of_scalars is None:
            return None
        operands = next(iter(of_scalars.values())).operands
        return [Arity(operands, len(operands), len(operands))]

    def functions(self) -> Iterable[str]:
        return self.primitives.routines

    def unknown(self, name: str) -> Problem:
        problem = super().unknown(name)
        return replace(problem, expected="an argument, xp, or a function that has routines")


class KernelChecker:
    """Makes the kernels of operators."""

    def __init__(self, sources: Sources, report: Report) -> None:
        self.sources, self.report = sources, report
        backends = sources.tables.backends
        self.modules = {name: frozenset(b.kernels) for name, b in backends.items()}
        #: Backends whose kernels are given the namespace before the arguments.
        self.generic = frozenset(name for name, b in backends.items() if b.runs_generically)

    def kernel(
        self, schema: Schema, key: str, value: Located, tags: frozenset[str], factory: bool
    ) -> Kernel | None:
        """What a dispatch value means; None when it is wrong, which is reported."""
        source = as_text(value)
        if is_library_function(source.value):
            name = source.value.partition(":")[2]
            return Kernel(Formula(source, Name(name)), source.value)
        formula = parse_formula(value, self.report, "kernel")
        if formula is None:
            return None
        composite, generic = key in COMPOSITES, key in self.generic
        index = self.sources.composite if composite else self.sources.functions
        modules = None if composite else self.modules[key]
        given = tuple(a.name for a in schema.arguments) if composite else kernel_arguments(schema, factory)
        if isinstance(formula.tree, Name) and formula.tree.id not in given:
            return self.function(formula, key, index, modules, ("xp", *given) if generic else given)
        if composite:
            vocabulary: Vocabulary = TensorVocabulary("composite", given, self.sources.operators, index)
        else:
            primitives = self.sources.tables.primitives
            assert modules is not None
            pointwise = not EXPRESSIONS.isdisjoint(tags)
            forms = EMPTY if pointwise or schema.name.namespace else self.sources.forms
            vocabulary = KernelVocabulary(given, index, modules, primitives, pointwise, generic, forms)
        check_names(formula, vocabulary, self.report)
        self.results(formula, schema)
        operands = None
        if not composite and not EXPRESSIONS.isdisjoint(tags):
            operands = self.operands(formula, schema, index, modules)
            formula = _rewritten(formula, operands.tree)
        calls = {}
        builtins = TENSOR_BUILTINS if composite else BUILTINS
        looked = operands.functions if operands else frozenset[str]()
        for name in sorted((formula.names() | looked) - set(given) - builtins):
            found = index.find(name, modules)
            primitive = None if composite else self.sources.tables.primitives.apart(name)
            if primitive is not None:
                calls[name] = self.primitive(primitive, found, formula.source, generic)
            elif found:
                calls[name] = found[0].qualified
                self.unique(found, formula.source, key)
        optional = [a.name for a in schema.arguments if a.type.is_optional]
        if optional and not EXPRESSIONS.isdisjoint(tags):
            formula = _rewritten(formula, by_presence(formula.tree, optional))
        if operands is None:
            return Kernel(formula, None, calls)
        return Kernel(formula, None, calls, operands.prepared, operands.masks)

    def operands(
        self, formula: Formula, schema: Schema, index: FunctionIndex, modules: frozenset[str] | None
    ) -> Operands:
        """The operands that the expression of a kernel has looked at before; misplaced ones are reported."""

        def gives(name: str) -> str:
            found = index.find(name, modules)
            return next((word for word in (OPERAND, MASK) if found and found[0].gives(word)), "")

        tensors = [a.name for a in schema.arguments if a.type.is_tensor or a.type.is_optional_tensor]
        found = Operands(formula.tree, schema.name.base, tensors, gives)
        if found.wrong is not None:
            self.report.error(
                place_of(formula, found.wrong),
                f"{found.wrong.id} is a condition elsewhere, and so no number",
                length=length_of(formula, found.wrong),
                expected=f"a condition: xp.where({found.wrong.id}, a, b), also of ~ & | ^",
            )
        return found

    def primitive(
        self, primitive: Primitive, found: Sequence[Function], source: Located, generic: bool
    ) -> str:
        """The function that a primitive is; a kernel of a library that has its name is reported."""
        own = [f for f in found if f.module.startswith(ABSOLUTE)]
        if own:
            message = f'the kernel "{primitive.name}" has the name of a primitive'
            help = f"it is defined in the module {own[0].home}"
            length = length_of_scalar(source)
            self.report.error(source.place, message, length=length, expected="another name", help=help)
        assert primitive.function is not None
        if not generic:
            return primitive.function
        return found[0].qualified if found else of_library(primitive.function)

    def of_bodies(self, declared: Declared, said: Said | None) -> dict[str, Kernel]:
        """The kernels that a body of any kind says, of all backends that run such."""
        match said:
            case Body():
                return self.bodies(declared.schema, declared.fields["body"], said)
            case Move() | Window():
                return self.moves(declared, said)
            case View():
                return self.views(declared, said)
            case Contraction():
                return self.contractions(declared, said)
            case Access():
                return self.accesses(declared.fields["body"], said)
            case Factory():
                return self.factories(declared, said)
        return {}

    def bodies(self, schema: Schema, source: Located, body: Body) -> dict[str, Kernel]:
        """The kernels that run a body, of each backend that has one for that."""
        found = {}
        native = kernel_of_body(schema.name.method)
        sizes = {Along.SIZES: body.dim, Along.LISTED: Along.LISTED.value}
        for backend in self.sources.tables.backends.values():
            name = "" if backend.group else str(backend.capabilities.get("bodies", ""))
            functions = self.sources.functions.find(name, self.modules[backend.name]) if name else ()
            if functions:
                form, calls = self.with_primitives(body.form())
                numbers = [self.sources.functions.find(name)[0] for name in body.functions_of_numbers]
                calls |= {f.name: f.qualified for f in numbers}
                alone = body.alone
                call = BodyCall(
                    Name(name),
                    Name(NATIVE_KERNELS),
                    body.by_presence(lambda absent: Constant(name_without(native, absent))),
                    Constant(alone) if alone else form,
                    body.kept,
                    tuple([kind.value for kind in body.kinds]),
                    body.together,
                    body.nonempty,
                    body.asked,
                    body.wide,
                    Name(body.dim) if body.dim else body.dims,
                    sizes.get(body.along, ""),
                    body.keepdim,
                    Name("dtype") if body.takes_dtype else Constant(None),
                    tuple(map(Name, body.rows)),
                    tuple(map(Name, body.singles)),
                    tuple(map(Name, body.shared)),
                    (*map(Name, body.numbers), *[_of_length(expr) for _, expr in body.computed]),
                )
                formula = Formula(source, call.written())
                found[backend.name] = Kernel(formula, None, {name: functions[0].qualified, **calls})
        return found

    def with_primitives(self, form: Lambda) -> tuple[Lambda, dict[str, str]]:
        """A form in which functions are the array namespace's, with those that it lacks, which are given."""
        calls: dict[str, str] = {}

        def change(part: Expr) -> Expr:
            match part:
                case Attribute(Name("xp"), name):
                    primitive = self.sources.tables.primitives.apart(name)
                    if primitive is not None and primitive.function is not None:
                        calls[name] = primitive.function
                        return Name(name)
            return part

        changed = rewritten(form, change)
        assert isinstance(changed, Lambda)
        return changed, calls

    def moves(self, declared: Declared, move: Move | Window) -> dict[str, Kernel]:
        """The kernels of each backend that do what a body says of places, or the transposed."""
        of = declared.transposes or declared
        form = Attribute(Name(FORMS), of.schema.name.method)
        operand = move.operand
        if isinstance(move, Move):
            layout = declared.fields.get("layout")
            order = "K" if layout is not None and str(layout.value).startswith("like(") else "C"
            operand = Constant(order), *operand
        if of is not declared:
            operand = self.put_back(declared)
        return self.by_forms(declared, move.capability, (form, *operand, *map(Name, move.arguments)))

    def views(self, declared: Declared, view: View) -> dict[str, Kernel]:
        """The kernels that show what the body of a view says, or put it back: of each backend that can."""
        of = declared.transposes or declared
        arguments: tuple[Expr, ...] = tuple(map(Name, view.arguments))
        operand: tuple[Expr, ...] = (Name(view.source),)
        if of is not declared:
            operand = self.put_back(declared)
        elif (shown := whole(view)) is not None:
            return self.by_forms(declared, "views", None, shown)
        elif (call := instruction(view)) is not None:
            return self.by_forms(declared, "views", None, call)
        form = Attribute(Name(VIEW_FORMS), of.schema.name.method)
        return self.by_forms(declared, "views", (form, *operand, *arguments))

    def factories(self, declared: Declared, factory: Factory) -> dict[str, Kernel]:
        """The kernels that make the tensors that a body says, of each backend that can."""
        if (filled := factory.filled()) is not None:
            return self.by_forms(declared, "factories", None, Call(Name(FULL), tuple(filled)))
        form = Attribute(Name(FACTORY_FORMS), declared.schema.name.method)
        return self.by_forms(declared, "factories", (form, *map(Name, factory.arguments)))

    @staticmethod
    def put_back(declared: Declared) -> tuple[Expr, ...]:
        """What the kernel of a transposed operator is given: the gradient, the operand's sizes, buffers."""
        of = declared.transposes or declared
        gradient, source, *others = declared.schema.arguments
        sizes = Attribute(Name(source.name), "shape") if source.is_tensor else Name(source.name)
        return Name(gradient.name), sizes, *[Name(b.name) for b in others[len(of.schema.arguments) - 1 :]]

    def by_forms(
        self, declared: Declared, capability: str, arguments: Sequence[Expr] | None, tree: Expr | None = None
    ) -> dict[str, Kernel]:
        """The kernels of backends that have the capability: it is called with a form and more.

        Without arguments it is ``tree``: another call, or an expression.
        """
        of = declared.transposes or declared
        body = of.fields["body"]
        if of is not declared:
            body = replace(body, value=f"the transposed of {of.schema.name.function}", starts=())
        found = {}
        for backend in self.sources.tables.backends.values():
            name = "" if backend.group else str(backend.capabilities.get(capability, ""))
            name += "_back" if name and of is not declared else ""
            kernel = tree if arguments is None else Call(Name(name), tuple(arguments))
            called = kernel.function if isinstance(kernel, Call) else None
            functions: Sequence[Function] = ()
            if name and isinstance(called, Name):
                functions = self.sources.functions.find(called.id, self.modules[backend.name])
            if name and kernel is not None and (functions or called is None):
                calls = {f.name: f.qualified for f in functions[:1]}
                found[backend.name] = Kernel(Formula(body, kernel), None, calls)
        return found

    def contractions(self, declared: Declared, contraction: Contraction) -> dict[str, Kernel]:
        """The kernels that multiply and sum, of each backend that has such."""
        form = Attribute(Name(CONTRACTIONS), declared.schema.name.method)
        numbers = [Name(n) if n else Constant(1) for n in (contraction.beta, contraction.alpha)]
        given: tuple[Expr, ...] = tuple(map(Name, contraction.operands))
        given += (*numbers,) if contraction.beta or contraction.alpha else ()
        found = {}
        for backend in self.sources.tables.backends.values():
            name = "" if backend.group else str(backend.capabilities.get("contractions", ""))
            functions = self.sources.functions.find(name, self.modules[backend.name]) if name else ()
            if name == NUMPY:
                own = Attribute(Name(CONTRACTIONS), f"{declared.schema.name.method}_of_{name}")
                call, calls = Call(own, given), {}
            elif functions:
                call, calls = Call(Name(name), (form, *given)), {name: functions[0].qualified}
            else:
                continue
            found[backend.name] = Kernel(Formula(declared.fields["body"], call), None, calls)
        return found

    def accesses(self, source: Located, access: Access) -> dict[str, Kernel]:
        """The kernels that read or write at indices, of each backend whose modules have functions for it."""
        call = Formula(source, access.call(Name))
        backends = [b for b in self.sources.tables.backends.values() if not b.group]
        find = self.sources.functions.find
        anywhere = {n: [find(n, self.modules[b.name]) for b in backends] for n in access.of_shapes}
        found = {}
        for backend in backends:
            modules = self.modules[backend.name]
            functions = [find(name, modules) for name in (*access.kernels, *access.of_shapes)]
            if not backend.runs_generically:
                own = functions[len(access.kernels) :]
                shared = [next(filter(None, of_name), []) for of_name in anywhere.values()]
                functions[len(access.kernels) :] = [a or b for a, b in zip(own, shared, strict=True)]
            if all(functions):
                calls = {each[0].name: each[0].qualified for each in functions}
                found[backend.name] = Kernel(call, None, calls)
        return found

    def native(self, schema: Schema, value: Located) -> Formula | None:
        """The expression of a native kernel; None when it is wrong, which is reported."""
        formula = parse_formula(value, self.report, "native kernel")
        if formula is not None:
            primitives = self.sources.tables.primitives
            given = tuple(a.name for a in schema.arguments)
            check_names(formula, NativeVocabulary(given, self.sources.functions, primitives), self.report)
        return formula

    def results(self, formula: Formula, schema: Schema) -> None:
        """Reports a tuple of another number of results than the schema has."""
        tree, count = formula.tree, len(schema.returns)
        listed = count == 1 and isinstance(schema.returns[0].type, ListType)
        if not isinstance(tree, Elements) or tree.kind != "tuple" or listed or len(tree.elements) == count:
            return
        self.report.error(
            place_of(formula, tree),
            f"the kernel gives {len(tree.elements)} results, and {schema.name} has {count}",
            length=length_of(formula, tree),
            expected=f"a tuple of {count}" if count > 1 else "one array",
        )

    def function(
        self,
        formula: Formula,
        key: str,
        index: FunctionIndex,
        modules: frozenset[str] | None,
        given: tuple[str, ...],
    ) -> Kernel | None:
        """A kernel that is a function by its bare name."""
        source, name = formula.source, formula.text
        found = index.find(name, modules)
        if not found:
            where = f"{self.sources.home}/composite/" if key in COMPOSITES else "the kernel modules of " + key
            self.report.error(
                source.place,
                f'no kernel "{name}" for {key}',
                length=length_of_scalar(source),
                expected=f"a function of {where}, or an expression",
                help=suggestion(name, [*index.names(modules), *given]),
            )
            return None
        self.unique(found, source, key)
        arity = found[0].arity()
        problem = None if arity is None else arity.problem(len(given), ())
        if problem is not None:
            self.report.error(
                source.place,
                f"the kernel {name} {problem}",
                length=len(name),
                expected=f"{name}({', '.join(given)})",
                help=f"it is defined in the module {found[0].home}",
            )
        return Kernel(formula, found[0].qualified)

    def unique(self, found: Sequence[Function], source: Located, key: str) -> None:
        if len(found) > 1:
            modules = " and ".join(function.home for function in found)
            self.report.error(
                source.place,
                f'{key} has two kernels "{found[0].name}"',
                length=length_of_scalar(source),
                expected="one function of that name",
                help=f"they are in the modules {modules}",
            )


def _of_length(expr: Expr) -> Lambda:
    """The function of the length of rows that gives a number."""
    return Lambda((Parameter(LENGTH),), expr)
