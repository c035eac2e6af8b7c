"""Specialise: the methods that are the same for every backend.

Composites call other operators; in-place and out variants run their functional operator and
write its result. They live in TypeDefault, the superclass of all Types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...ir.expressions import Attribute, Call, Constant, Expr, Name, Subscript, dotted, replaced
from ...ir.writer import write
from ..check.names import TENSOR_BUILTINS
from ..derive.derived import Derived
from ..model.annotations import default, parameter_name, return_annotation
from ..model.derived import Saved, Variant
from ..model.metadata import SLOTS
from ..model.methods import CallMethod
from ..model.names import EXPLICIT, FILLS_OUT, IMPLICIT, WARNS_OF_SIZE
from ..model.operators import Kernel, Operator
from ..model.records import Input, kept_metadata, next_edges
from ..model.schema import Argument
from ..read.functions import ABSOLUTE, module_path
from .headers import Parameters, parameters, plain_arguments
from .recording import refused
from .type_methods import alias


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

    def _method(self, variant: Variant, call: str, extra: Parameters = ()) -> CallMethod:
        operator = variant.operator
        return CallMethod(
            name=variant.name.method,
            operator=str(variant.name),
            parameters=parameters(operator) + extra,
            returns=return_annotation(operator.schema.returns, self.structures.get(str(variant.name))),
            call=call,
        )

    def _inplace(self, variant: Variant) -> CallMethod:
        base = self.by_name[str(variant.base)]
        names = [parameter_name(a.name) for a in variant.operator.schema.arguments]
        if base.out == "computed":
            names = ["self.dtype if dtype is None else dtype" if n == "dtype" else n for n in names]
        rest = ", ".join(names[1:]) + ("," if len(names) == 2 else "")
        node = self.derived.nodes.get(str(base.name))
        # What a composite is made of may save anything.
        saves_self = base.is_composite or (
            node is not None and any(s.source == names[0] and s.what == "tensor" for s in node.saved)
        )
        functional = f'operator("{base.name}").proceed'
        own = self.derived.nodes.get(str(variant.name))
        direct = _needs_no_promotion(base)
        if direct is not None:
            functional = f"T.{base.name.method} if {direct} else {functional}"
        if own is not None:
            functional = self._recorded(variant.operator, functional)
            saves_self = any(s.source == names[0] and s.what == "tensor" for s in own.saved)
        given = f'"{variant.name.called}", {names[0]}, {functional}, ({rest}), {saves_self}'
        constant = ", constant=True" if own is None and base.result_kind in ("bool", "int64") else ""
        call = f"run_inplace({given}{_exact_in_place(base)}{_overlap(variant.operator)}{constant})"
        return self._method(variant, call)

    def _recorded(self, operator: Operator, functional: str) -> str:
        """The functional operator, recorded if need be as the in-place one's Node: that has a derivative."""
        names = ", ".join(parameter_name(a.name) for a in operator.schema.arguments)
        written = f"({functional})({names}).to(T.scalar_type)"
        recorded = f"lambda {names}: record_composite(lambda: {written}, {self._recorder(operator)})"
        tensors = [a for a in operator.schema.arguments if a.is_tensor_like]
        if any(str(a.type) != "Tensor" for a in tensors):
            return recorded
        wanted = " or ".join(f"{parameter_name(a.name)}._requires_grad" for a in tensors)
        return f"({recorded}) if {wanted} else {functional}"

    def _out(self, variant: Variant) -> CallMethod:
        base = self.by_name[str(variant.base)]
        many = len(base.schema.returns) > 1
        given = self._given(variant, base)
        exact = {"exact": ", exact=True", "truth": ", truth=True"}.get(base.out, "")
        arguments = ", ".join(given) + ("," if len(given) == 1 else "")
        if variant.operator.schema.writes_list:
            call = f'"{variant.name.called}", operator("{base.name}"), ({arguments}), out{exact}'
            call = f"{write(self._function('shape.write_list'))}({call}{_overlap(variant.operator)})"
            return self._method(variant, call, (("out", "Sequence[Tensor]"),))
        outs = "tuple(out)" if many else "(out,)"
        functional = f'operator("{base.name}").proceed'
        if FILLS_OUT in base.tags:
            functional = f"in_shape_of(out, {functional})"
        call = f'run_out("{variant.name.called}", {functional}, ({arguments}), {outs}'
        call += exact + _overlap(variant.operator) + _warns(base) + ")"
        call += "" if many else "[0]"
        structure = self.structures.get(str(variant.name))
        call = call if structure is None else f"{structure}({call})"
        return self._method(variant, call, (("out", "Sequence[Tensor]" if many else "Tensor"),))

    @staticmethod
    def _given(variant: Variant, base: Operator) -> list[str]:
        """What the functional operator gets of the arguments of the one with ``out``."""
        given: list[str] = []
        kept = {a.name for a in plain_arguments(variant.operator)}
        for a in base.schema.arguments:
            if a.name in kept:
                given.append(parameter_name(a.name))
            else:
                given.append(
                    {"ScalarType?": "out.dtype", "Device?": "out.device"}.get(
                        str(a.type), default(a) or "None"
                    )
                )
        if base.out == "computed":
            given = ["out.dtype if dtype is None else dtype" if n == "dtype" else n for n in given]
        return given

    def _implicit(self, variant: Variant) -> CallMethod:
        """A composite whose derivative is that of its parts."""
        operator = variant.operator
        call = self._call(operator, operator.kernels[IMPLICIT])
        structure = self.structures.get(str(operator.name))
        method = self._method(variant, call if structure is None else f"{structure}({call})")
        return replace(method, widened=self._widened(operator, operator.kernels[IMPLICIT]))

    def _explicit(self, variant: Variant) -> CallMethod:
        """A composite that has a derivative of its own, and is recorded as one Node."""
        operator = variant.operator
        call = self._call(operator, operator.kernels[EXPLICIT])
        widened = self._widened(operator, operator.kernels[EXPLICIT])
        method = replace(self._method(variant, call), widened=widened)
        if str(operator.name) in self.derived.missing:
            inputs = next_edges([Input.of(a) for a in operator.schema.arguments if a.is_tensor_like])
            call = f'run_not_implemented("{operator.name}", lambda: {call}, lambda: {inputs})'
            return replace(method, call=call)
        node = self.derived.nodes.get(str(operator.name))
        call = f"record_composite(lambda: {call}, {self._recorder(operator)})"
        return replace(method, call=call, refused=() if node is None else refused(node))

    def _call(self, operator: Operator, kernel: Kernel) -> str:
        arguments = operator.schema.arguments
        if kernel.function is not None:
            given = tuple([Name(parameter_name(a.name)) for a in arguments])
            return write(Call(self._function(kernel.function), given))
        names: dict[str, Expr] = {a.name: Name(parameter_name(a.name)) for a in arguments}
        for n in kernel.formula.names() - set(names):
            if n in kernel.calls:
                names[n] = self._function(kernel.calls[n])
            elif n not in TENSOR_BUILTINS and n in self.functions:
                names[n] = dotted(self.functions[n])
        return write(replaced(kernel.formula.tree, names))

    def _widened(self, operator: Operator, kernel: Kernel) -> str:
        """The arguments of a composite that reduced types widen; empty where its parts round."""
        if not operator.opmath:
            return ""
        names = [parameter_name(a.name) for a in operator.schema.arguments]
        first = ", first=True" if operator.rounds_to_first else ""
        return f"({', '.join(names)},){first}{', one_step=True' if self._is_one_step(kernel) else ''}"

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

    def _recorder(self, operator: Operator) -> str:
        """What records an explicit composite as one Node, or None."""
        node = self.derived.nodes.get(str(operator.name))
        if node is None:
            return "None"
        inputs = ", ".join(parameter_name(a.name) for a in node.inputs)
        arguments = {a.name: a for a in operator.schema.arguments}
        saved = ", ".join(f'"{s.slot}": {_kept(s, arguments)}' for s in node.saved)
        return f"{node.module}.{node.name}, ({inputs},), {{{saved}}}, {node.outputs}"


def _kept(saved: Saved, arguments: Mapping[str, Argument]) -> str:
    """How a value is kept, and the value itself, or a result's number."""
    if saved.what == "result":
        return f'("result", {saved.index})'
    name = parameter_name(saved.source)
    if saved.what in SLOTS:
        return f'("value", {kept_metadata(saved.what, name, Input.of(arguments[saved.source]).kind)})'
    return f'("{saved.what}", {name})'


def _needs_no_promotion(operator: Operator) -> str | None:
    """The test that the other operands of a pointwise operator are of the first one's Type."""
    if "pointwise" not in operator.tags or not operator.promote or operator.promote == "int_to_float":
        return None
    tests = []
    for a in operator.schema.arguments[1:]:
        name = parameter_name(a.name)
        match str(a.type):
            case "Tensor":
                tests.append(f"{name}._type is T")
            case "Scalar" if a.name in operator.promoted:
                tests.append(f"{name}.__class__ in T.weak")
            case _ if a.name in operator.promoted:
                return None
    return " and ".join(tests) or None


def _warns(base: Operator) -> str:
    """What says whether there is a warning where an output of another size is resized."""
    return ", warns=False" if base.factory and WARNS_OF_SIZE not in base.tags else ""


def _exact_in_place(base: Operator) -> str:
    """What says that a result must have the dtype of the tensor that it is written into.

    Elsewhere the kind of promotion, with that tensor, gives a dtype that goes into it, or is an error.
    """
    exact = base.out == "computed" or base.promote == "complex_to_float"
    return ", exact=True" if exact else ""


def _overlap(operator: Operator) -> str:
    """What arguments may share with what is written, by number."""
    words = operator.overlap
    rules = {i: words[a.name] for i, a in enumerate(operator.schema.arguments) if a.name in words}
    if "out" in words:
        rules[-1] = words["out"]
    return f", overlap={rules}".replace("'", '"') if rules else ""
