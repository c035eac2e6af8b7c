"""``tengen.onnx.export``: a function as an ONNX model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tengen.generated.functions import empty

from ..core.promotion import common_dtype
from ..core.protocols import Operator
from ..core.scalar_type import dtype as DType
from ..dispatch.operator import wrapped_number
from ..jit.functionalize import functionalized
from ..jit.graph import Graph, Node, Value, values_in
from ..jit.trace import TracedFunction, record
from ..tensors.creation import as_tensor
from ..tensors.tensor import Tensor
from ..utils.pytree import tree_flatten, tree_unflatten
from ..version import __version__
from .builder import Builder, Ref, constant, element_type, onnx as emit
from .errors import OnnxExporterError, Unsupported, UnsupportedOperatorError
from .exporting import exporting
from .sizes import Axis, Fit, dynamic

#: The oldest opset that symbolics are written for.
OLDEST_OPSET = 20

DynamicAxes = Mapping[str, Mapping[int, str] | Sequence[int]]


def newest_opset() -> int:
    """The newest opset that the onnx package has released: it may have schemas of one to come."""
    return max(version for domain, version in helper.OP_SET_ID_VERSION_MAP if domain == "ai.onnx")


def export(
    model: Callable[..., Any],
    args: Any,
    f: str | os.PathLike[str] | Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Tensor] | None = None,
    export_params: bool = True,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: DynamicAxes | None = None,
    opset_version: int | None = None,
    model_name: str | None = None,
) -> onnx.ModelProto:
    """The function as an ONNX model, which is returned, and written to ``f`` where that is given.

    The function is traced for ``args``, a tuple of arguments (or one tensor). Tensors that it uses
    otherwise are initialisers; those in ``parameters`` have names, and with ``export_params=False``
    are inputs instead. ``dynamic_axes`` names, by input, the axes whose size may vary:
    ``{"x": {0: "batch"}}``; axes of one name have one size. A traced function is exported as it is, and
    takes none.

    The operators are those of ``opset_version``, by default of the newest that the onnx package has
    released.
    The model then asks for the oldest opset in which they mean the same, so that runtimes which do not
    know the newest one run it.

    Raises UnsupportedOperatorError, naming the operator and where it was called, for one that has no
    symbolic, or whose symbolic does not cover the call; OnnxExporterError for what else cannot be
    exported; ValueError for an ``opset_version`` that the onnx package does not know, or that is too old.
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else () if args is None else (args,)
    newest = newest_opset()
    if opset_version is not None and not OLDEST_OPSET <= opset_version <= newest:
        raise ValueError(f"opset_version must be from {OLDEST_OPSET} to {newest}, but is {opset_version}")
    with exporting():
        graph = _graph(model, args, dict(kwargs or {}), parameters, dynamic_axes, input_names)
    exporter = _Exporter(graph, opset_version or newest, export_params, input_names, output_names)
    exporter.run()
    called = model.name if isinstance(model, TracedFunction) else getattr(model, "__name__", None)
    proto = exporter.model(model_name or called or type(model).__name__, dynamic_axes or {}, opset_version)
    onnx.checker.check_model(proto, full_check=True)
    if f is not None:
        data = proto.SerializeToString()
        if isinstance(f, (str, os.PathLike)):
            Path(f).write_bytes(data)
        else:
            f.write(data)
    return proto


# -- the graph --------------------------------------------------------------------------------------


def keeps(node: Node) -> bool:
    """Whether a node stays whole: its operator has a symbolic of its own."""
    return node.operator.name in symbolics()


def symbolics() -> Mapping[str, Callable[..., Any]]:
    """The table of symbolics, which imports this package."""
    from tengen.generated.symbolics import SYMBOLICS

    return SYMBOLICS


def _graph(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    parameters: Mapping[str, Tensor] | None,
    dynamic_axes: DynamicAxes | None,
    input_names: Sequence[str] | None,
) -> Graph:
    """The graph without writes."""
    if isinstance(model, TracedFunction):
        if dynamic_axes:
            raise OnnxExporterError("a traced function has fixed sizes: export the function itself")
        tensors = [leaf for leaf in tree_flatten((args, keywords))[0] if isinstance(leaf, Tensor)]
        return functionalized(model.graph, tensors, keeps).without_bodies().without_dead()
    traced = _traced(model, args, keywords, parameters)
    if not dynamic_axes:
        return traced
    return _dynamic(model, args, keywords, parameters, dynamic_axes, input_names, traced)


def _traced(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    parameters: Mapping[str, Tensor] | None,
) -> Graph:
    tensors = [leaf for leaf in tree_flatten((args, keywords))[0] if isinstance(leaf, Tensor)]
    copies = [t.detach().clone() for t in tensors]
    name = getattr(model, "__name__", type(model).__name__)
    traced = record(model, args, keywords, name, parameters)
    return functionalized(traced.graph, copies, keeps).without_bodies().without_dead()


def _dynamic(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    parameters: Mapping[str, Tensor] | None,
    dynamic_axes: DynamicAxes,
    input_names: Sequence[str] | None,
    graph: Graph,
) -> Graph:
    """The graph with Sizes where an int follows from a dynamic axis.

    The function is traced for other sizes, too: with each axis changed alone, and with all changed. What
    differs between the graphs must be ints, and follow from the sizes.
    """
    names = list(input_names or ()) + [v.name or "" for v in graph.inputs][len(input_names or ()) :]
    groups = _groups(dynamic_axes, names, graph)
    leaves, structure = tree_flatten((args, keywords))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    start = [max(2, int(leaves[places[inputs[0][0]]].shape[inputs[0][1]])) for inputs in groups.values()]
    runs = [start, *[[n + (3 if i == k else 0) for i, n in enumerate(start)] for k in range(len(start))]]
    runs.append([n + 1 + i for i, n in enumerate(start)])
    made = []
    for sizes in runs:
        changed = list(leaves)
        for (_, inputs), size in zip(groups.items(), sizes, strict=True):
            for number, axis in inputs:
                changed[places[number]] = _resized(changed[places[number]], axis, size)
        given, words = tree_unflatten(changed, structure)
        made.append(_traced(model, given, words, parameters))
    axes: list[Axis] = [(names[inputs[0][0]], inputs[0][1]) for inputs in groups.values()]
    return _fitted(made, Fit(axes, runs))


def _groups(
    dynamic_axes: DynamicAxes, names: Sequence[str], graph: Graph
) -> dict[str, list[tuple[int, int]]]:
    """By the name of a size, the inputs' axes that have it. ValueError for what is no input or axis."""
    groups: dict[str, list[tuple[int, int]]] = {}
    for name, axes in dynamic_axes.items():
        if name not in names:
            continue  # an output's: they follow
        number = names.index(name)
        shape = graph.inputs[number].shape
        for axis, size in _named_axes(name, axes):
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"dynamic_axes: {name} has {len(shape)} dimensions, and no axis {axis}")
            groups.setdefault(size, []).append((number, axis % len(shape)))
    if not groups:
        raise ValueError(f"dynamic_axes names no input: they are {', '.join(names)}")
    return groups


def _named_axes(name: str, axes: Mapping[int, str] | Sequence[int]) -> Iterator[tuple[int, str]]:
    if isinstance(axes, Mapping):
        yield from axes.items()
    else:
        yield from ((axis, f"{name}_dynamic_axes_{i + 1}") for i, axis in enumerate(axes))


def _resized(tensor: Tensor, axis: int, size: int) -> Tensor:
    """A tensor of another size along an axis, made of the same slices over and over."""
    count = int(tensor.shape[axis])
    if count == 0:
        raise OnnxExporterError("an example must not be empty along a dynamic axis")
    index = as_tensor([i % count for i in range(size)])
    return tensor.detach().index_select(axis, index).requires_grad_(tensor.requires_grad)


def _fitted(graphs: list[Graph], fit: Fit) -> Graph:
    """The first of several graphs of one program, with Sizes."""
    first = graphs[0]
    if any(len(g.nodes) != len(first.nodes) or len(g.constants) != len(first.constants) for g in graphs):
        raise OnnxExporterError(
            "the function calls other operators for other sizes of the dynamic axes; its graph for one size "
            "would be wrong for another"
        )
    for columns in zip(*[[*g.inputs, *[c.value for c in g.constants]] for g in graphs], strict=True):
        _fit_value(columns, fit, "an input or constant")
    for constants in zip(*[g.constants for g in graphs], strict=True):
        _check_constants(constants)
    for nodes in zip(*[g.nodes for g in graphs], strict=True):
        node = nodes[0]
        what = f"{node.operator.name}, called at {node.source}"
        if any(n.operator is not node.operator for n in nodes):
            raise OnnxExporterError(f"{what}: for other sizes of the dynamic axes another operator is called")
        arguments = list(node.arguments)
        for position, column in enumerate(zip(*[n.arguments for n in nodes], strict=True)):
            if not any(True for _ in values_in(column)):
                try:
                    arguments[position] = fit(list(column))
                except ValueError as error:
                    parameter = node.operator.parameters[position].name
                    raise OnnxExporterError(
                        f"{what}: {parameter} {error} for sizes {fit.sizes} of the dynamic axes, and it is "
                        "not known how it follows from them"
                    ) from None
        node.arguments = tuple(arguments)
        for values in zip(*[n.outputs for n in nodes], strict=True):
            _fit_value(values, fit, what)
    return first


def _fit_value(values: tuple[Value, ...], fit: Fit, what: str) -> None:
    try:
        shape = fit([tuple(int(n) for n in v.shape) for v in values])
    except ValueError as error:
        raise OnnxExporterError(
            f"{what}: its shape {error} for sizes {fit.sizes} of the dynamic axes"
        ) from None
    values[0].shape = shape


def _check_constants(constants: tuple[Any, ...]) -> None:
    """A constant must not depend on a dynamic axis: Python made it of the size."""
    first = constants[0].tensor
    for other in constants[1:]:
        tensor = other.tensor
        same = tensor is first or np.array_equal(_array(tensor), _array(first), equal_nan=True)
        if not same or tensor.dtype is not first.dtype:
            raise OnnxExporterError(
                "the function makes a tensor with other elements for other sizes of the dynamic axes, by no "
                "operator; its graph for one size would be wrong for another"
            )


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    made: np.ndarray[Any, Any] = np.asarray(tensor.detach().cpu().numpy())
    return made


# -- the model --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    """What an operator's result is to be, as symbolics see it."""

    dtype: DType
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class _Exporter:
    """Writes a graph with a Builder."""

    def __init__(
        self,
        graph: Graph,
        opset: int,
        export_params: bool,
        input_names: Sequence[str] | None,
        output_names: Sequence[str] | None,
    ) -> None:
        self.graph = graph
        self.builder = Builder(opset)
        self.refs: dict[Value, Ref] = {}
        self.inputs: list[tuple[str, Value]] = []
        self.outputs: list[tuple[str, Value]] = []
        self.export_params = export_params
        self.input_names = list(input_names or ())
        self.output_names = list(output_names or ())
        if len(self.input_names) > len(graph.inputs):
            raise ValueError(f"{len(self.input_names)} input_names for {len(graph.inputs)} inputs")
        if len(self.output_names) > len(graph.outputs):
            raise ValueError(f"{len(self.output_names)} output_names for {len(graph.outputs)} outputs")

    def run(self) -> None:
        """Write everything."""
        builder, names = self.builder, self.graph.names()
        wanted = self.input_names + [names[v] for v in self.graph.inputs[len(self.input_names) :]]
        outputs = self.output_names + [
            f"output{i}" if len(self.graph.outputs) > 1 else "output"
            for i in range(len(self.output_names), len(self.graph.outputs))
        ]
        if len({*wanted, *outputs}) < len(wanted) + len(outputs):
            raise ValueError(f"names of inputs and outputs must differ: {', '.join([*wanted, *outputs])}")
        builder.taken.update(outputs)
        with builder.active():
            for name, value in zip(wanted, self.graph.inputs, strict=True):
                self._input(name, value)
            for constant_ in self.graph.constants:
                name = names[constant_.value]
                name = name if constant_.named else f"constant_{name}"
                if constant_.named and not self.export_params:
                    self._input(name, constant_.value)
                else:
                    array = _array(constant_.tensor)
                    self.refs[constant_.value] = builder.initializer(array, name)
            builder.inputs = {name: self.refs[v] for name, v in self.inputs}
            for node in self.graph.nodes:
                self.node(node)
            for name, value in zip(outputs, self.graph.outputs, strict=True):
                # An Identity gives the output its name, whatever else it is.
                builder.nodes.append(helper.make_node("Identity", [self.refs[value].name], [name], name=name))
                self.outputs.append((name, value))
            builder.versions.add(14)

    def _input(self, name: str, value: Value) -> None:
        self.refs[value] = Ref(self.builder.name(name), value.dtype, value.shape)
        self.inputs.append((self.refs[value].name, value))

    def node(self, node: Node) -> None:
        """Write one call."""
        operator = node.operator
        symbolic = symbolics().get(operator.name)
        if symbolic is None:
            raise UnsupportedOperatorError(
                f"ONNX export: the operator {operator.name} has no symbolic; it was called at {_place(node)}"
            )
        self.builder.scope = operator.function
        self.builder.place = "" if node.source is None else node.source.short
        try:
            arguments = self._promoted(operator, [self._given(a) for a in node.arguments])
            results = [Result(v.dtype, v.shape) for v in node.outputs]
            single = isinstance(node.result, Value)
            made = symbolic(*arguments, results[0] if single else results)
            refs = [made] if single else list(made)
            for value, ref in zip(node.outputs, refs, strict=False):
                self.refs[value] = self._as(ref, value)
        except Unsupported as error:
            called = f"{operator.name}, as it is called at {_place(node)}"
            raise UnsupportedOperatorError(f"ONNX export: {called}, cannot be exported: {error}") from error

    def _as(self, made: Any, value: Value) -> Ref:
        """A result in the dtype that the operator gives, and its shape, which is known."""
        ref = made if isinstance(made, Ref) else constant(made, value.dtype)
        if ref.dtype is not value.dtype:
            ref = emit.Cast(ref, to=value.dtype)
        return Ref(ref.name, ref.dtype, value.shape, ref.data)

    def _given(self, argument: Any) -> Any:
        if isinstance(argument, Value):
            return self.refs[argument]
        if isinstance(argument, (list, tuple)):
            return tuple(self._given(a) for a in argument)
        return argument

    def _promoted(self, operator: Operator, arguments: list[Any]) -> list[Any]:
        """The arguments, those that promote cast to their common dtype."""
        if not operator.promote:
            return arguments
        part: list[Any] = []
        for i in operator.promoted:
            value = arguments[i]
            part += list(value) if isinstance(value, tuple) else [] if value is None else [value]
        standing = [empty((1,) * min(v.ndim, 1), dtype=v.dtype) if isinstance(v, Ref) else v for v in part]
        common = common_dtype(standing, operator.promote)
        for i in operator.promoted:
            arguments[i] = self._cast(arguments[i], common, operator.parameters[i].type == "Tensor")
        return arguments

    def _cast(self, value: Any, common: DType, tensor: bool) -> Any:
        if value is None:
            return None
        if isinstance(value, tuple):
            return tuple(self._cast(v, common, tensor) for v in value)
        if isinstance(value, Ref):
            return value if value.dtype is common else emit.Cast(value, to=common)
        if dynamic(value):
            return constant(value, common)
        number = wrapped_number(common, value)
        return constant(number, common) if tensor else number

    def model(self, name: str, dynamic_axes: DynamicAxes, opset: int | None) -> onnx.ModelProto:
        """The finished model."""
        labels: dict[Axis, str] = {}
        shapes: dict[str, list[Any]] = {}
        for given, axes in dynamic_axes.items():
            for axis, label in _named_axes(given, axes):
                for input_name, value in self.inputs:
                    if input_name == given:
                        labels[given, axis % len(value.shape)] = label
        for wanted, value in (*self.inputs, *self.outputs):
            shapes[wanted] = [_dimension(n, labels) for n in value.shape]
            for axis, label in _named_axes(wanted, dynamic_axes.get(wanted, {})):
                shapes[wanted][axis] = label
        inputs, outputs = [
            [helper.make_tensor_value_info(n, element_type(v.dtype), shapes[n]) for n, v in part]
            for part in (self.inputs, self.outputs)
        ]
        builder = self.builder
        used = {n for node in builder.nodes for n in node.input}
        kept = [i for i in builder.initializers if i.name in used]
        made = helper.make_graph(builder.nodes, name, inputs, outputs, initializer=kept)
        imports = [helper.make_opsetid("", opset or max(OLDEST_OPSET, *builder.versions))]
        version = helper.find_min_ir_version_for(imports)
        return helper.make_model(
            made,
            opset_imports=imports,
            ir_version=version,
            producer_name="tengen",
            producer_version=__version__,
        )


def _dimension(size: int, labels: Mapping[Axis, str]) -> Any:
    """A size of a shape as ONNX writes it: a number, the name of a dynamic axis, or nothing."""
    if not dynamic(size):
        return int(size)
    terms = size.terms  # type: ignore[attr-defined]
    if len(terms) == 1:
        ((monomial, count),) = terms.items()
        if count == 1 and len(monomial) == 1:
            return labels.get(monomial[0])
    return None


def _place(node: Node) -> str:
    return "an unknown place" if node.source is None else str(node.source)
