"""Specialise: the text of each operator's method for each backend and scalar type.

The texts depend on a scalar type only through its category and through whether the operator
has it at all, so that is what they are made by; ``hoist`` then finds the sisters that agree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .annotations import annotation, parameter_name, return_annotation
from .array_results import ArrayResults
from .blocks import Weigher, call_of, elementwise, function_of
from .derive import Derived, result_kind
from .formula import free_names
from .kernels import ABSOLUTE, FunctionIndex, module_path
from .model import (
    Argument,
    Backend,
    Formula,
    Kernel,
    Method,
    NodeSpec,
    Operator,
    OperatorName,
    Primitive,
    Record,
    Result,
    Save,
    SaveGroup,
    ScalarType,
    Schema,
    Variant,
)
from .numbers import with_kept_numbers
from .result_layouts import relaid

COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
#: The scalar types whose recording methods are written flat; the others call the plain method.
FLAT = "floating"
_OPTIONS = {"ScalarType?", "Layout?", "Device?", "bool?"}
_RESULT_TYPES = {"same": "T", "bool": "T.bool_type", "real": "T.real_type", "int64": "T.int64_type"}
# Kinds of promotion that take a category of scalar types to others, which may have the operator.
_PROMOTING = {("int_to_float", "bool"), ("int_to_float", "integral"), ("bool_to_long", "bool")}


def alias(module: str) -> str:
    """The name under which generated code imports a module: ``nn.conv`` -> ``_nn_conv``."""
    return "_" + module.removeprefix(ABSOLUTE).replace(".", "_").replace(":", "__")


def substitute(formula: Formula, names: Mapping[str, str]) -> str:
    """The formula's text with names replaced by what stands for them in generated code."""
    text = formula.text
    if not text.isascii():  # ast counts bytes
        tree, text = formula.tree, ast.unparse(formula.tree)
        tree = ast.parse(text, mode="eval").body
    else:
        tree = formula.tree
    found = [n for n in free_names(tree) if names.get(n.id, n.id) != n.id]
    for n in sorted(found, key=lambda n: n.col_offset, reverse=True):
        text = text[: n.col_offset] + names[n.id] + text[n.end_col_offset :]
    return text


def plain_arguments(operator: Operator) -> tuple[Argument, ...]:
    """The arguments of a Type's method: a factory's dtype and device are the Type itself."""
    arguments = operator.schema.arguments
    if operator.factory is None:
        return arguments
    return tuple(a for a in arguments if str(a.type) not in _OPTIONS or not a.kwarg_only)


class Specialiser:
    """Makes the methods of one backend's classes."""

    def __init__(
        self,
        derived: Derived,
        backend: Backend,
        native: FunctionIndex,
        structures: Mapping[str, str],
        primitives: Mapping[str, Primitive],
    ) -> None:
        self.derived = derived
        self.weigher = Weigher(primitives)
        self.closed = self.weigher.closed()
        self.backend = backend
        self.native = native
        self.structures = structures
        #: Whether what computes are NumPy's arrays.
        self.array_results = ArrayResults(primitives)
        self.arrays = backend.capabilities.get("formulas") == "arrays"
        self.modules: dict[str, str] = {}  # modules used: alias -> import path
        self.libraries: dict[
            str, tuple[str, str]
        ] = {}  # functions of other libraries: alias -> (module, name)
        self.array_nodes: frozenset[str] = frozenset()
        self._modules = frozenset(backend.kernels)
        self._computed: dict[tuple[OperatorName, bool, bool], Method] = {}
        self._cache: dict[tuple[OperatorName, str, bool, bool], Method | None] = {}
        self.variants = self.computed()

    # -- which methods a class has ---------------------------------------------------------

    def computed(self) -> list[Variant]:
        """The variants that this backend has a kernel for."""
        variants = self.derived.variants
        return [
            v for v in variants if v.kind in ("functional", "view") and self.kernel(v.operator) is not None
        ]

    def methods(self, scalar: ScalarType, recording: bool) -> dict[str, Method]:
        """The methods of the class of one scalar type; those that it inherits or lacks are left out."""
        found: dict[str, Method] = {}
        for variant in self.variants:
            supported = self.supports(variant.operator, scalar)
            key = (variant.name, scalar.category, recording, supported)
            if key not in self._cache:
                self._cache[key] = self._method(variant, scalar, recording, supported)
            method = self._cache[key]
            if method is not None:
                found[method.name] = method
        return found

    def recorder(self, variant: Variant) -> Method | None:
        """The recording method of any scalar type: the plain one, and the Node."""
        operator = variant.operator
        node = self.derived.node(str(operator.name), self.backend.name)
        if node is None and str(operator.name) not in self.derived.missing:
            return None
        names = ", ".join(parameter_name(a.name) for a in plain_arguments(operator))
        method = Method(
            name=operator.name.method,
            operator=str(operator.name),
            signature=signature(operator),
            returns=return_annotation(operator.schema.returns, self.structures.get(str(operator.name))),
            form="fallback",
            call=f"super().{operator.name.method}({names})",
        )
        if node is None:
            inputs = [a for a in operator.schema.arguments if a.is_tensor_like]
            condition = " or ".join(_requires_grad(a) for a in inputs)
            return replace(method, inputs=edges(inputs), condition=condition)
        results, returned = self._results(variant, False)
        record = self._record(operator, node, array_form=False, flat=False)
        return replace(
            method, form="record", results=results, returned=returned, record=record, refused=refused(node)
        )

    def absent(self, variant: Variant) -> Method:
        """What the backend's class has when most scalar types lack the operator."""
        name = variant.name
        return Method(name.method, str(name), "", "", "absent", "")

    def kernel(self, operator: Operator) -> Kernel | None:
        """What this backend runs for the operator."""
        own = operator.kernels.get(self.backend.name)
        if own is not None or "pointwise" not in operator.tags:
            return own
        if "pointwise" in self.backend.capabilities or self.backend.capabilities.get("expressions"):
            return next(iter(operator.kernels.values()), None)
        return None

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
            return self._promoting(operator) if promotes and not recording else None
        node = self.derived.node(str(operator.name), self.backend.name)
        if recording and (node is None or not self.arrays or scalar.category != FLAT):
            return None
        upcast = scalar.category == "reduced" and operator.opmath and variant.kind != "view"
        key = (variant.name, upcast, recording)
        if key not in self._computed:
            self._computed[key] = self._computing(variant, upcast, node if recording else None)
        return self._computed[key]

    def _promoting(self, operator: Operator) -> Method:
        names = ", ".join(parameter_name(a.name) for a in operator.schema.arguments)
        return Method(
            name=operator.name.method,
            operator=str(operator.name),
            signature=signature(operator),
            returns=return_annotation(operator.schema.returns, self.structures.get(str(operator.name))),
            form="promote",
            call=f'operator("{operator.name}")({names})',
        )

    # -- the computation -------------------------------------------------------------------

    def _computing(self, variant: Variant, upcast: bool, node: NodeSpec | None) -> Method:
        operator = variant.operator
        kernel = self.kernel(operator)
        assert kernel is not None
        locals_, call = self._call(operator, kernel, upcast)
        small, blocked = self._blocked(operator, kernel, upcast) if variant.exposed else ("", "")
        rewrite = self.arrays and variant.exposed and not upcast
        arrays = self.array_results.rewritten(call) if rewrite else None
        results, returned = self._results(variant, upcast)
        if variant.kind != "view" and variant.exposed and self._has_layouts(kernel, operator):
            results = self._relaid(operator, kernel, results)
        if not variant.exposed:
            call = f"T.backend.lib.broadcast_to({call}, self._array.shape)"
        return Method(
            name=operator.name.method,
            operator=str(operator.name),
            signature=signature(operator),
            returns=return_annotation(operator.schema.returns, self.structures.get(str(operator.name))),
            form="kernel",
            call=arrays or call,
            gives_arrays=arrays is not None,
            locals=tuple(locals_),
            small=small,
            blocked=blocked,
            tensors="".join(f", {parameter_name(a.name)}" for a in operator.schema.arguments if a.is_tensor),
            results=results,
            returned=returned,
            record=self._record(operator, node, node.name in self.array_nodes) if node is not None else None,
            refused=() if node is None else refused(node),
            arguments="" if variant.kind == "view" or operator.factory is not None else _tuple(operator),
            doc=operator.doc,
        )

    def computation(self, operator: Operator, kernel: Kernel) -> tuple[list[tuple[str, str]], str]:
        """What ``kernel`` computes in the place of the operator's own, and the local names it needs."""
        return self._call(operator, kernel, upcast=False)

    def _call(self, operator: Operator, kernel: Kernel, upcast: bool) -> tuple[list[tuple[str, str]], str]:
        """The expression that computes, and the local names it needs."""
        arguments = plain_arguments(operator)
        if kernel is not operator.kernels.get(self.backend.name) and "pointwise" in self.backend.capabilities:
            return [], self._pointwise(operator)
        arrays = {a.name: _array(a, upcast) for a in arguments}
        if kernel.function is not None:
            texts = [arrays[a.name] for a in arguments]
            if operator.factory is not None:
                texts.append("T.dtype")
            return [], f"{self._function(kernel.function)}({', '.join(texts)})"
        counts: dict[str, int] = {}
        for n in ast.walk(kernel.formula.tree):
            if isinstance(n, ast.Name):
                counts[n.id] = counts.get(n.id, 0) + 1
        locals_: list[tuple[str, str]] = []
        names: dict[str, str] = {}
        for a in arguments:
            text = arrays[a.name]
            if (
                counts.get(a.name, 0) > 1
                and text != a.name
                and (upcast or a.is_tensor_like or "dtype" in text)
            ):
                names[a.name] = f"_{a.name}"
                locals_.append((f"_{a.name}", text))
            else:
                names[a.name] = f"({text})" if " if " in text else text
        if operator.factory is not None:
            names["dtype"] = "T.dtype"
        names.update({n: self._function(qualified) for n, qualified in kernel.calls.items()})
        text = substitute(kernel.formula, names)
        if self.arrays and not upcast:
            numbers = {a.name for a in arguments if str(a.type) == "Scalar" and a.name in operator.promoted}
            ours = _of_type(operator, names)
            text = with_kept_numbers(text, ours, numbers, "T.numbers", self.closed)
        return locals_, text

    def _blocked(self, operator: Operator, kernel: Kernel, upcast: bool) -> tuple[str, str]:
        """When a kernel is called plainly, and else; nothing if blocks are never worth it."""
        arrays = [a for a in operator.schema.arguments if str(a.type) == "Tensor"]
        if "blocks" not in self.backend.capabilities or not arrays or not elementwise(operator):
            return "", ""
        names = {parameter_name(a.name) for a in operator.schema.arguments if a.is_tensor}
        if kernel.function is None and not self.weigher.worth(kernel.formula.tree, names):
            return "", ""
        arguments = plain_arguments(operator)
        if kernel.function is not None:
            function, scratch = self._function(kernel.function), None
        else:
            calls = {n: self._function(qualified) for n, qualified in kernel.calls.items()}
            parameters = {a.name: parameter_name(a.name) for a in arguments}
            tree = ast.parse(substitute(kernel.formula, parameters | calls), mode="eval").body
            function, scratch = function_of(list(parameters.values()), tree, names, self.weigher.primitives)
        small = " and ".join(f"{parameter_name(a.name)}._array.size < LARGE" for a in arrays)
        return small, call_of(self.blocks(), function, [_array(a, upcast) for a in arguments], "", scratch)

    def blocks(self) -> str:
        """The text that names what calls functions on blocks of their operands; empty where nothing does."""
        name = self.backend.capabilities.get("blocks")
        return self._function(self.native.find(str(name), self._modules)[0].qualified) if name else ""

    def kernel_named(self, name: str) -> str | None:
        """The text that names the kernel function of a name, if there is one."""
        found = self.native.find(name, self._modules)
        return self._function(found[0].qualified) if len(found) == 1 else None

    def _pointwise(self, operator: Operator) -> str:
        """A backend that computes nothing elementwise needs only to know the operands."""
        function = self.native.find(str(self.backend.capabilities["pointwise"]), self._modules)[0]
        tensors = [
            f"{parameter_name(a.name)}._array" for a in operator.schema.arguments if str(a.type) == "Tensor"
        ]
        optional = [
            f"*(() if {n} is None else ({n}._array,))"
            for a in operator.schema.arguments
            if str(a.type) == "Tensor?" and (n := parameter_name(a.name))
        ]
        kind = _RESULT_TYPES.get(result_kind(operator), "T")
        return f"{self._function(function.qualified)}({', '.join([*tensors, *optional])}, dtype={kind}.dtype)"

    def _function(self, qualified: str) -> str:
        """The text that names a kernel function, its module noted for import."""
        if ":" in qualified:
            module, _, name = qualified.partition(":")
            short = alias(f"{module}.{name}")
            self.libraries[short] = (module, name)
            return short
        module, _, name = qualified.rpartition(".")
        self.modules[alias(module)] = module_path("tengen.native", module)
        return f"{alias(module)}.{name}"

    # -- results ---------------------------------------------------------------------------

    def _results(self, variant: Variant, upcast: bool) -> tuple[tuple[Result, ...], str]:
        operator = variant.operator
        schema = operator.schema
        kind = result_kind(operator)
        view = variant.kind == "view"
        masked = any(a.name == "output_mask" for a in schema.arguments)
        results: list[Result] = []
        for i, r in enumerate(schema.returns):
            variable = "r" if len(schema.returns) == 1 else f"r{i}"
            many = str(r.type) == "Tensor[]"
            shape = ("views" if many else "view") if view else ("list" if many else "tensor")
            cast = None
            if upcast:
                cast = "always" if kind in ("same", "real") else "maybe" if kind == "dynamic" else None
                if cast == "maybe" and any(str(a.type) == "ScalarType?" for a in plain_arguments(operator)):
                    cast = "undirected"
            results.append(Result(variable, _RESULT_TYPES.get(kind, ""), cast, shape, masked))
        return tuple(results), self._returned(operator, schema)

    def _has_layouts(self, kernel: Kernel, operator: Operator) -> bool:
        """Whether it is known what strides are here, and not all of it is done by what stands for kernels."""
        if "pointwise" in self.backend.capabilities and kernel is not operator.kernels.get(self.backend.name):
            return bool(operator.layout)
        return self.arrays or not self.backend.capabilities.get("data", True)

    def _relaid(self, operator: Operator, kernel: Kernel, results: Sequence[Result]) -> tuple[Result, ...]:
        return tuple(
            replace(r, relaid=relaid(operator, kernel, i, r.variable, self.arrays))
            if r.kind == "tensor"
            else r
            for i, r in enumerate(results)
        )

    def _returned(self, operator: Operator, schema: Schema) -> str:
        count = len(schema.returns)
        if count == 1:
            return "out"
        outs = ", ".join(f"out{i}" for i in range(count))
        structure = self.structures.get(str(operator.name))
        return f"{structure}(({outs}))" if structure else f"({outs})" if count else "None"

    # -- recording -------------------------------------------------------------------------

    def _record(self, operator: Operator, node: NodeSpec, array_form: bool, flat: bool = True) -> Record:
        return Record(
            node=f"{'_array_nodes' if array_form else node.module}.{node.name}",
            condition=" or ".join(_requires_grad(a) for a in node.inputs),
            edges=edges(node.inputs),
            saves=tuple(_saves(operator, node, flat)),
            outputs=node.outputs,
            saves_results=any(s.what == "result" for s in node.saved),
            constants=node.constants,
            undifferentiable=_undifferentiable(operator, node),
        )


def _undifferentiable(operator: Operator, node: NodeSpec) -> str:
    """What becomes of a result whose dtype, which an argument says, has no gradients; "" if none can be."""
    if not any(str(a.type) == "ScalarType?" for a in operator.schema.arguments):
        return ""
    copies = all(g.formula.text == "grad" for g in node.gradients)
    return "nothing" if copies else "error"


def _tuple(operator: Operator) -> str:
    """The arguments of a Type's method as a tuple."""
    return "".join(["(", *(f"{parameter_name(a.name)}, " for a in plain_arguments(operator))]).rstrip() + ")"


def signature(operator: Operator) -> str:
    """The parameters of a Type's method, annotated."""
    return ", ".join(f"{parameter_name(a.name)}: {annotation(a.type)}" for a in plain_arguments(operator))


def _array(argument: Argument, upcast: bool) -> str:
    """The array, or the plain value, that a kernel gets for an argument."""
    name = parameter_name(argument.name)
    match str(argument.type):
        case "Tensor":
            return _upcast(name) if upcast else f"{name}._array"
        case "Tensor?":
            return f"None if {name} is None else {_upcast(name) if upcast else f'{name}._array'}"
        case "ScalarType":
            return f"{name}.array_dtype"
        case "ScalarType?":
            return f"None if {name} is None else {name}.array_dtype"
    if argument.is_tensor_list:
        item = _upcast("t") if upcast else "t._array"
        return (
            f"[None if t is None else {item} for t in {name}]"
            if "?" in str(argument.type)
            else f"[{item} for t in {name}]"
        )
    return name


def _of_type(operator: Operator, names: Mapping[str, str]) -> frozenset[str]:
    """The texts of the arrays that are of the Type."""
    agree = {a.name for a in operator.schema.arguments if str(a.type) == "Tensor"}
    agree &= {"self", *operator.promoted, *operator.same_dtype}
    return frozenset(names[name] for name in agree)


def _upcast(name: str) -> str:
    """A reduced operand in the type computed in; operands of other types stay as they are."""
    return f"upcast({name}._array)"


def _requires_grad(argument: Argument) -> str:
    name = parameter_name(argument.name)
    match str(argument.type):
        case "Tensor":
            return f"{name}._requires_grad"
        case "Tensor?":
            return f"({name} is not None and {name}._requires_grad)"
    return f"any_requires_grad({name})"


def refused(node: NodeSpec) -> tuple[tuple[str, str], ...]:
    """The arguments that may not require gradients, each with the test of whether it does."""
    return tuple((a.name, _requires_grad(a)) for a in node.refused)


def edges(inputs: Iterable[Argument]) -> str:
    """The expression of a Node's ``next_edges``."""
    inputs = tuple(inputs)
    parts: list[str] = []
    for a in inputs:
        name = parameter_name(a.name)
        match str(a.type):
            case "Tensor" if len(inputs) == 1:  # it is asked only where that requires gradients
                parts.append(f"{name}._edge or gradient_edge({name})")
            case "Tensor":
                parts.append(f"{name}._edge or (gradient_edge({name}) if {name}._requires_grad else None)")
            case "Tensor?":
                parts.append(f"None if {name} is None else {name}._edge or gradient_edge({name})")
            case _:
                parts.append(f"*gradient_edges({name})")
    if len(parts) == 1 and parts[0].startswith("*"):
        return parts[0][1:]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _saves(operator: Operator, node: NodeSpec, flat: bool) -> Iterable[SaveGroup]:
    """The statements that fill a Node's saved slots, each only where a formula will ask."""
    lists = any(a.is_tensor_list for a in node.inputs)
    arguments = {a.name: a for a in operator.schema.arguments}
    groups: dict[str | None, list[Save]] = {}
    for saved in node.saved:
        condition = _with_mask(saved.condition, node.inputs) or None
        if not lists and 0 < len(saved.needed_by) < len(node.inputs):
            wanted = " or ".join(f"edges[{i}] is not None" for i in saved.needed_by)
            condition = f"({wanted}) and ({condition})" if condition else wanted
        group = groups.setdefault(condition, [])
        if saved.what == "result":
            name = "" if len(operator.schema.returns) == 1 else str(saved.index)
            group.append(Save(saved.slot, f"r{name}" if flat else f"out{name}._array"))
            continue
        argument = arguments[saved.source]
        name = parameter_name(argument.name)
        if saved.what in ("tensor", "tensors"):
            group.append(Save(saved.slot, f"tuple({name})" if saved.what == "tensors" else name))
            group.append(Save(f"{saved.slot}_version", _version(argument, name), otherwise="0"))
        elif saved.what == "value":
            group.append(Save(saved.slot, name))
        else:
            group.append(Save(saved.slot, _metadata(saved.what, argument, name)))
    return [SaveGroup(condition, tuple(saves)) for condition, saves in groups.items()]


def _with_mask(condition: str, inputs: Sequence[Argument]) -> str:
    """A condition of what is saved; in ``grad_input_mask`` it asks which inputs need their gradients."""
    return re.sub(
        r"\bgrad_input_mask\[(\d+)\]",
        lambda match: _requires_grad(inputs[int(match[1])]),
        condition,
    )


def _version(argument: Argument, name: str) -> str:
    if argument.is_tensor_list:
        return f"versions({name})"
    version = f"0 if {name}._storage is None else {name}._storage.version"
    return f"0 if {name} is None else ({version})" if str(argument.type) == "Tensor?" else version


def _metadata(what: str, argument: Argument, name: str) -> str:
    """What is kept of a tensor, or of each of a list, in place of its data."""
    of = {
        "shape": "{}._array.shape",
        "type": "{}._type",
        "stride": "T.backend.lib.strides({}._array)",
        "storage_offset": "T.backend.lib.storage_offset({}._array)",
    }[what]
    if argument.is_tensor_list:
        return f"tuple([{of.format('t')} for t in {name}])"
    text = of.format(name)
    return f"None if {name} is None else {text}" if str(argument.type) == "Tensor?" else text
