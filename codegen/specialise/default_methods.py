"""Specialise: the methods that are the same for every backend.

Composites call other operators; in-place and out variants run their functional operator and
write its result. They live in TypeDefault, the superclass of all Types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...ir.expressions import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Expr,
    Keyword,
    Lambda,
    Name,
    Parameter,
    Subscript,
    all_of,
    any_of,
    constant,
    dictionary,
    dotted,
    replaced,
)
from ...ir.reader import filled, read_expression
from ...ir.statements import FALSE, NONE, TRUE, call, names, tuple_of
from ..check.names import TENSOR_BUILTINS
from ..derive.derived import Derived
from ..model.annotations import default, parameter_name, return_annotation
from ..model.derived import NodeSpec, Saved, Variant
from ..model.metadata import SLOTS
from ..model.methods import CallMethod
from ..model.names import EXPLICIT, FILLS_OUT, IMPLICIT, WARNS_OF_SIZE
from ..model.operators import Kernel, Operator
from ..model.records import Input, kept_metadata, next_edges
from ..model.schema import Argument
from ..read.functions import ABSOLUTE, alias, module_path
from .headers import Parameters, parameters, plain_arguments
from .operands import forbidden_of
from .recording import refused


class VariantWriter:
    """Makes the methods of TypeDefault."""

    def __init__(self, derived: Derived, structures: Mapping[str, str], functions: Mapping[str, str]) -> None:
        self.derived = derived
        self.structures = structures
        self.functions = functions
        self.modules: dict[str, str] = {}
        self.by_name = {str(v.name): v.operator for v in derived.variants}

    def methods(self, variant: Variant) -> Iterable[CallMethod]:
        """The variant's method in TypeDefault, if it belongs there."""
        match variant.kind:
            case "inplace":
                yield self._inplace(variant)
            case "out":
                yield self._out(variant)
            case "composite":
                yield self._implicit(variant)
            case "functional" | "view" if EXPLICIT in variant.operator.kernels:
                yield self._explicit(variant)

    def _method(self, variant: Variant, call: Expr, extra: Parameters = ()) -> CallMethod:
        operator = variant.operator
        return CallMethod(
            name=variant.name.method,
            operator=str(variant.name),
            parameters=parameters(operator) + extra,
            returns=return_annotation(operator.schema.returns, self.structures.get(str(variant.name))),
            call=call,
        )

    def _of_composite(self, operator: Operator, key: str, method: CallMethod) -> CallMethod:
        """With what a composite does before it: it refuses arguments and widens reduced ones."""
        widened = self._widened(operator, operator.kernels[key])
        return replace(method, forbidden=forbidden_of(operator), widened=widened)

    def _inplace(self, variant: Variant) -> CallMethod:
        base = self.by_name[str(variant.base)]
        first, *rest = names(parameter_name(a.name) for a in variant.operator.schema.arguments)
        if base.out == "computed":
            rest = [filled("self.dtype if dtype is None else dtype") if n == _DTYPE else n for n in rest]
        node = self.derived.nodes.get(str(base.name))
        # What a composite is made of may save anything.
        saves_self = base.is_composite or (node is not None and _saves(node, first))
        functional: Expr = _functional(base)
        own = self.derived.nodes.get(str(variant.name))
        direct = _needs_no_promotion(base)
        if direct is not None:
            functional = Conditional(direct, dotted(f"T.{base.name.method}"), functional)
        if own is not None:
            functional = self._recorded(variant.operator, functional)
            saves_self = _saves(own, first)
        constant = own is None and base.result_kind in ("bool", "int64")
        given = (Constant(variant.name.called), first, functional, tuple_of(rest), Constant(saves_self))
        keywords = (*_exact_in_place(base), *_overlap(variant.operator))
        keywords += (Keyword("constant", TRUE),) if constant else ()
        return self._method(variant, Call(Name("run_inplace"), given, keywords))

    def _recorded(self, operator: Operator, functional: Expr) -> Expr:
        """The functional operator, recorded if need be as the in-place one's Node: that has a derivative."""
        arguments = [parameter_name(a.name) for a in operator.schema.arguments]
        written = filled("f.to(T.scalar_type)", f=Call(functional, names(arguments)))
        composite = self._composite(operator, written)
        recorded = Lambda(tuple([Parameter(name) for name in arguments]), composite)
        tensors = [a for a in operator.schema.arguments if a.is_tensor_like]
        if any(str(a.type) != "Tensor" for a in tensors):
            return recorded
        wanted = any_of([dotted(f"{parameter_name(a.name)}._requires_grad") for a in tensors])
        return Conditional(wanted, recorded, functional)

    def _out(self, variant: Variant) -> CallMethod:
        base = self.by_name[str(variant.base)]
        many = len(base.schema.returns) > 1
        exact = [Keyword(base.out, TRUE)] if base.out in ("exact", "truth") else []
        arguments = tuple_of(self._given(variant, base))
        called, overlap = Constant(variant.name.called), _overlap(variant.operator)
        if variant.operator.schema.writes_list:
            listed = (called, _operator(base), arguments, Name("out"))
            call = Call(self._function("shape.write_list"), listed, (*exact, *overlap))
            return self._method(variant, call, (("out", "Sequence[Tensor]"),))
        outs = filled("tuple(out)" if many else "(out,)")
        functional: Expr = _functional(base)
        if FILLS_OUT in base.tags:
            functional = Call(Name("in_shape_of"), (Name("out"), functional))
        given = (called, functional, arguments, outs)
        written: Expr = Call(Name("run_out"), given, (*exact, *overlap, *_warns(base)))
        written = written if many else Subscript(written, Constant(0))
        structure = self.structures.get(str(variant.name))
        written = written if structure is None else Call(dotted(structure), (written,))
        return self._method(variant, written, (("out", "Sequence[Tensor]" if many else "Tensor"),))

    @staticmethod
    def _given(variant: Variant, base: Operator) -> list[Expr]:
        """What the functional operator gets of the arguments of the one with ``out``."""
        given: list[Expr] = []
        kept = {a.name for a in plain_arguments(variant.operator)}
        for a in base.schema.arguments:
            if a.name in kept:
                given.append(Name(parameter_name(a.name)))
            else:
                given.append(read_expression(_OF_OUT.get(str(a.type)) or default(a) or "None"))
        if base.out == "computed":
            given = [filled("out.dtype if dtype is None else dtype") if n == _DTYPE else n for n in given]
        return given

    def _implicit(self, variant: Variant) -> CallMethod:
        """A composite whose derivative is that of its parts."""
        operator = variant.operator
        call = self._call(operator, operator.kernels[IMPLICIT])
        structure = self.structures.get(str(operator.name))
        method = self._method(variant, call if structure is None else Call(dotted(structure), (call,)))
        return self._of_composite(operator, IMPLICIT, method)

    def _explicit(self, variant: Variant) -> CallMethod:
        """A composite that has a derivative of its own, and is recorded as one Node."""
        operator = variant.operator
        call = self._call(operator, operator.kernels[EXPLICIT])
        method = self._of_composite(operator, EXPLICIT, self._method(variant, call))
        if str(operator.name) in self.derived.missing:
            inputs = next_edges([Input.of(a) for a in operator.schema.arguments if a.is_tensor_like])
            given = (Constant(str(operator.name)), Lambda((), call), Lambda((), inputs))
            return replace(method, call=Call(Name("run_not_implemented"), given))
        node = self.derived.nodes.get(str(operator.name))
        call = self._composite(operator, call)
        return replace(method, call=call, refused=() if node is None else refused(node))

    def _call(self, operator: Operator, kernel: Kernel) -> Expr:
        arguments = operator.schema.arguments
        if kernel.function is not None:
            given = names(parameter_name(a.name) for a in arguments)
            return Call(self._function(kernel.function), given)
        values: dict[str, Expr] = {a.name: Name(parameter_name(a.name)) for a in arguments}
        for n in kernel.formula.names() - set(values):
            if n in kernel.calls:
                values[n] = self._function(kernel.calls[n])
            elif n not in TENSOR_BUILTINS and n in self.functions:
                values[n] = dotted(self.functions[n])
        return replaced(kernel.formula.tree, values)

    def _widened(self, operator: Operator, kernel: Kernel) -> Call | None:
        """What gives the arguments of a composite that reduced types widen; None where its parts round."""
        if not operator.opmath:
            return None
        given = tuple_of(names(parameter_name(a.name) for a in operator.schema.arguments))
        keywords = [Keyword("first", TRUE)] if operator.rounds_to_first else []
        keywords += [Keyword("one_step", TRUE)] if self._is_one_step(kernel) else []
        return Call(Name("widened_call"), (Name("T"), given), tuple(keywords))

    def _is_one_step(self, kernel: Kernel) -> bool:
        """Whether all that is computed is one operator's, which rounds once by itself."""
        if kernel.formula is None:
            return False
        tree = kernel.formula.tree
        call = tree.value if isinstance(tree, Subscript) else tree
        if not isinstance(call, Call) or not isinstance(call.function, Name):
            return False
        called = None if call.function.id in kernel.calls else self.by_name.get(call.function.id)
        given = (*call.arguments, *(k.value for k in call.keywords))
        plain = all(isinstance(a, Name | Constant) for a in given)
        return called is not None and called.opmath and not called.is_composite and plain

    def _function(self, qualified: str) -> Expr:
        module, _, name = qualified.rpartition(".")
        short = alias(module if module.startswith(ABSOLUTE) else f"composite.{module}")
        self.modules[short] = module_path("tengen.composite", module)
        return Attribute(Name(short), name)

    def _composite(self, operator: Operator, call: Expr) -> Expr:
        """What runs an explicit composite, and records it as one Node where it has one."""
        return Call(Name("record_composite"), (Lambda((), call), *self._recorder(operator)))

    def _recorder(self, operator: Operator) -> tuple[Expr, ...]:
        """What records an explicit composite as one Node, or None."""
        node = self.derived.nodes.get(str(operator.name))
        if node is None:
            return (NONE,)
        inputs = tuple_of(names(parameter_name(a.name) for a in node.inputs))
        arguments = {a.name: a for a in operator.schema.arguments}
        saved = dictionary({s.slot: _kept(s, arguments) for s in node.saved})
        return dotted(f"{node.module}.{node.name}"), inputs, saved, constant(tuple(node.outputs))


_DTYPE = Name("dtype")
#: What an output says in place of arguments, by their types.
_OF_OUT = {"ScalarType?": "out.dtype", "Layout?": "out.layout", "Device?": "out.device"}


def _operator(operator: Operator) -> Call:
    """What finds an operator by its name."""
    return call("operator", Constant(str(operator.name)))


def _functional(operator: Operator) -> Expr:
    """What runs an operator as a whole."""
    return Attribute(_operator(operator), "proceed")


def _saves(node: NodeSpec, argument: Expr) -> bool:
    """Whether a Node saves an argument's data."""
    return any(Name(s.source) == argument and s.what == "tensor" for s in node.saved)


def _kept(saved: Saved, arguments: Mapping[str, Argument]) -> Expr:
    """How a value is kept, and the value itself, or a result's number."""
    if saved.what == "result":
        return constant(("result", saved.index))
    name = parameter_name(saved.source)
    if saved.what in SLOTS:
        kept = kept_metadata(saved.what, name, Input.of(arguments[saved.source]).kind)
        return tuple_of([Constant("value"), kept])
    return tuple_of([Constant(saved.what), Name(name)])


def _needs_no_promotion(operator: Operator) -> Expr | None:
    """The test that the other operands of a pointwise operator are of the first one's Type."""
    if "pointwise" not in operator.tags or not operator.promote or operator.promote == "int_to_float":
        return None
    tests = []
    for a in operator.schema.arguments[1:]:
        x = Name(parameter_name(a.name))
        match str(a.type):
            case "Tensor":
                tests.append(filled("x._type is T", x=x))
            case "Scalar" if a.name in operator.promoted:
                tests.append(filled("x.__class__ in T.weak", x=x))
            case _ if a.name in operator.promoted:
                return None
    return all_of(tests) if tests else None


def _warns(base: Operator) -> tuple[Keyword, ...]:
    """What says whether there is a warning where an output of another size is resized."""
    quiet = base.factory and WARNS_OF_SIZE not in base.tags
    return (Keyword("warns", FALSE),) if quiet else ()


def _exact_in_place(base: Operator) -> tuple[Keyword, ...]:
    """What says that a result must have the dtype of the tensor that it is written into.

    Elsewhere the kind of promotion, with that tensor, gives a dtype that goes into it, or is an error.
    """
    exact = base.out == "computed" or base.promote == "complex_to_float"
    return (Keyword("exact", TRUE),) if exact else ()


def _overlap(operator: Operator) -> tuple[Keyword, ...]:
    """What arguments may share with what is written, by number."""
    words = operator.overlap
    rules = {i: words[a.name] for i, a in enumerate(operator.schema.arguments) if a.name in words}
    if "out" in words:
        rules[-1] = words["out"]
    written = dictionary({i: Constant(word) for i, word in rules.items()})
    return (Keyword("overlap", written),) if rules else ()
